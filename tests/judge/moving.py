"""Things that move: positions by SQL timestamp, grids, zones and late pickups."""

from __future__ import annotations

from .case import HOUR, MINUTE, SECOND, Case, at, edges, steps

BUS = """
CREATE STREAM bus (ts TIMESTAMP, vehicle_id INT, trip_id BIGINT, lat DOUBLE, lon DOUBLE,
                   bearing DOUBLE, direction STRING)
TIMESTAMP BY ts FROM parquet('{data}/moving/bus_liverpool_14.parquet');
"""

SHIPS = """
CREATE STREAM ships (ts TIMESTAMP, vessel BIGINT, lat DOUBLE, lon DOUBLE)
TIMESTAMP BY ts FROM parquet('{data}/moving/ais_suez_2021.parquet');
"""

BEIJING = """
CREATE STREAM taxis (ts TIMESTAMP, vehicle BIGINT, lat DOUBLE, lon DOUBLE, speed DOUBLE)
TIMESTAMP BY ts FROM parquet('{data}/moving/taxi_beijing_2009.parquet');
"""

NYC = """
CREATE STREAM trips (
  medallion STRING, pickup_ts TIMESTAMP, dropoff_ts TIMESTAMP, trip_s BIGINT, trip_miles DOUBLE,
  pickup_lon DOUBLE, pickup_lat DOUBLE, dropoff_lon DOUBLE, dropoff_lat DOUBLE, payment STRING,
  fare DOUBLE, tip DOUBLE, total DOUBLE
) TIMESTAMP BY {time} FROM parquet('{data}/moving/taxi_nyc_20130101.parquet');
"""

CASES = (
    Case(
        "where_each_bus_is",
        BUS
        + """
        CREATE QUERY q AS
        SELECT vehicle_id, direction, ts, round(lat, 3) AS lat, round(lon, 3) AS lon,
               CASE WHEN bearing < 45 OR bearing >= 315 THEN 'N' WHEN bearing < 135 THEN 'E'
                    WHEN bearing < 225 THEN 'S' ELSE 'W' END AS heading
        FROM bus [PARTITION BY vehicle_id ROWS 1];
        """,
        """
        SELECT vehicle_id::INT AS vehicle_id, direction, ts, round(lat, 3) AS lat,
               round(lon, 3) AS lon,
               CASE WHEN bearing < 45 OR bearing >= 315 THEN 'N' WHEN bearing < 135 THEN 'E'
                    WHEN bearing < 225 THEN 'S' ELSE 'W' END AS heading
        FROM '{data}/moving/bus_liverpool_14.parquet' WHERE ts <= make_timestamp($tau)
        QUALIFY row_number() OVER (PARTITION BY vehicle_id ORDER BY ts DESC) = 1
        """,
        (
            at("2026-01-26 15:55:11"),
            at("2026-01-26 15:55:12"),
            at("2026-01-26 16:33:43") - 1,
            at("2026-01-26 16:33:43"),
            at("2026-01-26 17:06:03"),
            at("2026-01-26 17:38:55"),
            at("2026-01-27 00:00:00"),
        ),
    ),
    Case(
        "turns_counted_by_a_query_over_a_stream",
        BUS
        + """
        CREATE QUERY turns AS
        SELECT ISTREAM vehicle_id, direction FROM bus [PARTITION BY vehicle_id ROWS 1];
        CREATE QUERY q AS
        SELECT vehicle_id, count(*) AS turns, max(direction) AS last
        FROM turns [RANGE 1 HOUR] GROUP BY vehicle_id;
        """,
        """
        WITH turns AS (
          SELECT vehicle_id::INT AS vehicle_id, direction, ts
          FROM '{data}/moving/bus_liverpool_14.parquet'
          QUALIFY direction IS DISTINCT FROM
            lag(direction, 1, 'none') OVER (PARTITION BY vehicle_id ORDER BY ts)
        )
        SELECT vehicle_id, count(*) AS turns, max(direction) AS last FROM turns
        WHERE epoch_us(ts) BETWEEN $tau - 3600000000 AND $tau GROUP BY vehicle_id
        """,
        (
            at("2026-01-26 15:55:11"),
            *edges(at("2026-01-26 15:55:12"), HOUR),
            at("2026-01-26 16:33:43"),
            at("2026-01-26 17:06:03"),
            at("2026-01-26 18:00:00"),
            at("2026-01-27 00:00:00"),
        ),
    ),
    Case(
        "stopped_ships_per_zone",
        SHIPS
        + """
        CREATE QUERY q AS
        WITH stopped AS (
          SELECT vessel, avg(lat) AS lat, count(*) AS fixes FROM ships [RANGE 2 HOURS]
          GROUP BY vessel
          HAVING max(lat) - min(lat) < 0.002 AND max(lon) - min(lon) < 0.002 AND count(*) > 2
        )
        SELECT CASE WHEN lat < 29.95 THEN 'Suez' WHEN lat < 31.2 THEN 'canal'
                    ELSE 'Port Said' END AS zone,
               count(*) AS ships, sum(fixes) AS fixes
        FROM stopped GROUP BY 1;
        """,
        """
        SELECT CASE WHEN lat < 29.95 THEN 'Suez' WHEN lat < 31.2 THEN 'canal'
                    ELSE 'Port Said' END AS zone,
               count(*) AS ships, sum(fixes) AS fixes
        FROM (
          SELECT vessel, avg(lat) AS lat, count(*) AS fixes
          FROM '{data}/moving/ais_suez_2021.parquet'
          WHERE ts BETWEEN make_timestamp($tau) - INTERVAL 2 HOUR AND make_timestamp($tau)
          GROUP BY vessel
          HAVING max(lat) - min(lat) < 0.002 AND max(lon) - min(lon) < 0.002 AND count(*) > 2)
        GROUP BY zone
        """,
        (
            at("2021-03-19 23:59:59"),
            *edges(at("2021-03-20 18:25:00"), 2 * HOUR),
            *edges(at("2021-03-23 06:07:00"), 2 * HOUR),
            at("2021-03-24 14:52:00"),
            at("2021-03-24 14:52:00") + 1,
        ),
    ),
    Case(
        "ships_that_left_the_zone",
        SHIPS
        + """
        CREATE QUERY q AS
        SELECT DSTREAM DISTINCT vessel FROM ships [RANGE 30 MINUTES]
        WHERE lat BETWEEN 29.8 AND 30.2;
        """,
        """
        WITH z AS (SELECT epoch_us(ts) AS us, vessel FROM '{data}/moving/ais_suez_2021.parquet'
                   WHERE lat BETWEEN 29.8 AND 30.2)
        SELECT DISTINCT vessel FROM z WHERE us BETWEEN $tau - 1800000001 AND $tau - 1
        EXCEPT
        SELECT vessel FROM z WHERE us BETWEEN $tau - 1800000000 AND $tau
        """,
        (
            at("2021-03-20 00:00:00"),
            *edges(at("2021-03-20 08:15:00"), 30 * MINUTE),
            *edges(at("2021-03-20 11:07:00"), 30 * MINUTE),
            at("2021-03-20 02:42:00"),
            at("2021-03-20 02:42:00") + 1,
            *edges(at("2021-03-24 12:52:00"), 30 * MINUTE),
        ),
    ),
    Case(
        "taxis_with_company",
        BEIJING
        + """
        CREATE QUERY q AS
        SELECT t.vehicle, t.ts, t.speed FROM taxis [RANGE 30 SECONDS] AS t
        WHERE EXISTS (
          SELECT * FROM taxis [RANGE 30 SECONDS] AS o
          WHERE o.vehicle <> t.vehicle
            AND power(o.lat - t.lat, 2) + power((o.lon - t.lon) * cos(radians(t.lat)), 2) < 0.0001
        ) AND NOT EXISTS (SELECT 1 FROM taxis [RANGE 2 MINUTES] AS s
                          WHERE s.vehicle = t.vehicle AND s.speed > 60);
        """,
        """
        WITH r AS (SELECT *, epoch_us(ts) AS us FROM '{data}/moving/taxi_beijing_2009.parquet'
                   WHERE epoch_us(ts) BETWEEN $tau - 120000000 AND $tau)
        SELECT t.vehicle, t.ts, t.speed FROM r t
        WHERE t.us >= $tau - 30000000
          AND EXISTS (
            FROM r o WHERE o.us >= $tau - 30000000 AND o.vehicle <> t.vehicle
              AND (o.lat - t.lat) ** 2 + ((o.lon - t.lon) * cos(radians(t.lat))) ** 2 < 0.0001)
          AND t.vehicle NOT IN (SELECT vehicle FROM r WHERE speed > 60)
        """,
        (
            at("2009-01-05 14:00:01"),
            *edges(at("2009-01-05 14:00:02"), 30 * SECOND),
            *edges(at("2009-01-06 02:01:58"), 30 * SECOND),
            at("2009-01-06 08:04:49"),
            at("2009-01-06 14:00:29") + 1,
        ),
    ),
    Case(
        "pickups_too_late_for_their_slack",
        NYC.replace("{time}", "pickup_ts SLACK 10 MINUTES")
        + """
        CREATE QUERY q AS
        SELECT floor((pickup_lon + 74.02) / 0.02) AS x, floor((pickup_lat - 40.6) / 0.02) AS y,
               count(*) AS trips, sum(CAST(total AS DECIMAL(9, 2))) AS money,
               max(CAST(tip AS DECIMAL(9, 2))) AS best_tip
        FROM trips [RANGE 5 MINUTES] WHERE pickup_lon <> 0
        GROUP BY floor((pickup_lon + 74.02) / 0.02), floor((pickup_lat - 40.6) / 0.02)
        HAVING count(*) >= 10;
        """,
        """
        WITH f AS (
          SELECT *, max(pickup_ts) OVER (ORDER BY file_row_number
                      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest
          FROM read_parquet('{data}/moving/taxi_nyc_20130101.parquet', file_row_number = true)
        )
        SELECT CAST(floor((pickup_lon + 74.02) / 0.02) AS BIGINT) AS x,
               CAST(floor((pickup_lat - 40.6) / 0.02) AS BIGINT) AS y,
               count(*) AS trips, sum(CAST(total AS DECIMAL(9, 2))) AS money,
               max(CAST(tip AS DECIMAL(9, 2))) AS best_tip
        FROM f
        WHERE (latest IS NULL OR pickup_ts >= latest - INTERVAL 10 MINUTE) AND pickup_lon <> 0
          AND epoch_us(pickup_ts) BETWEEN $tau - 300000000 AND $tau
        GROUP BY ALL HAVING count(*) >= 10
        """,
        (
            at("2012-12-31 23:00:00"),
            *edges(at("2013-01-01 00:10:00"), 5 * MINUTE),
            *edges(at("2013-01-01 00:37:00"), 5 * MINUTE),
            at("2013-01-01 01:30:00"),
        ),
    ),
    Case(
        "tips_by_payment",
        NYC.replace("{time}", "dropoff_ts")
        + """
        CREATE QUERY q AS
        SELECT payment, count(*) AS trips, avg(tip / fare) AS tip_rate, median(trip_miles) AS miles,
               count_if(trip_s > 900) AS long_trips, sum(total) FILTER (WHERE tip > 0) AS tipped,
               max_by(medallion, total) AS champion
        FROM trips [HOP 15 MINUTES, 5 MINUTES] WHERE fare > 0 GROUP BY payment;
        """,
        """
        WITH r AS (
          SELECT *, max(total) OVER (PARTITION BY payment) AS top
          FROM '{data}/moving/taxi_nyc_20130101.parquet'
          WHERE fare > 0 AND epoch_us(dropoff_ts) >= ($tau // 300000000) * 300000000 - 900000000
            AND epoch_us(dropoff_ts) < ($tau // 300000000) * 300000000
        )
        SELECT payment, count(*) AS trips, avg(tip / fare) AS tip_rate, median(trip_miles) AS miles,
               count(*) FILTER (trip_s > 900) AS long_trips,
               sum(total) FILTER (tip > 0) AS tipped,
               min(medallion) FILTER (total = top) AS champion
        FROM r GROUP BY payment
        """,
        (
            at("2013-01-01 00:01:59"),
            at("2013-01-01 00:02:00"),
            *steps(at("2013-01-01 00:05:00")),
            *steps(at("2013-01-01 00:30:00")),
            at("2013-01-01 00:47:11"),
            *steps(at("2013-01-01 01:15:00")),
        ),
    ),
)
