"""Keyed sensors: integer seconds and SQL timestamps, tables in CSV beside the streams."""

from __future__ import annotations

from .case import DAY, HOUR, Case, at, edges, steps

LOOPS = """
CREATE STREAM loops (epoch_s INT, detector INT, volume INT, speed INT, occupancy INT, status INT)
TIMESTAMP BY epoch_s UNIT SECOND
FROM parquet('{data}/sensors/freeway_loops_20110915.parquet');
CREATE TABLE detectors (
  detectorid INT, highwayid INT, milepost DECIMAL(6, 2), locationtext STRING, lanenumber INT,
  stationid INT
) KEY (detectorid) FROM csv('{data}/sensors/freeway_detectors.csv', header = true);
CREATE TABLE stations (
  stationid INT, milepost DECIMAL(6, 2), locationtext STRING, upstream INT, downstream INT,
  length_mid STRING
) FROM csv('{data}/sensors/freeway_stations.csv', header = true);
CREATE TABLE highways (highwayid INT, direction STRING, highwayname STRING)
FROM csv('{data}/sensors/freeway_highways.csv', header = true);
"""

NAB = """
CREATE STREAM nab (timestamp TIMESTAMP, series STRING, value DOUBLE)
TIMESTAMP BY timestamp FROM parquet('{data}/sensors/nab_series.parquet');
"""

AIR = """
CREATE STREAM air (ts TIMESTAMP, ws DOUBLE, wd DOUBLE, nox DOUBLE, no2 DOUBLE, o3 DOUBLE,
                   pm10 DOUBLE)
TIMESTAMP BY ts FROM parquet('{data}/sensors/london_air_hourly.parquet');
"""

CASES = (
    Case(
        "mean_speed_per_station_sliding",
        LOOPS
        + """
        CREATE QUERY q AS
        SELECT s.stationid, s.locationtext, h.highwayname, sum(l.volume) AS cars,
               avg(l.speed) AS speed, count(l.speed) AS measured, max(s.milepost) AS milepost
        FROM loops [RANGE 3 MINUTES SLIDE 1 MINUTE] AS l
        JOIN detectors AS d ON l.detector = d.detectorid
        JOIN stations AS s ON d.stationid = s.stationid
        JOIN highways AS h USING (highwayid)
        GROUP BY s.stationid, s.locationtext, h.highwayname;
        """,
        """
        SELECT s.stationid, s.locationtext, h.highwayname, sum(l.volume) AS cars,
               avg(l.speed) AS speed, count(l.speed) AS measured,
               max(s.milepost)::DECIMAL(6, 2) AS milepost
        FROM '{data}/sensors/freeway_loops_20110915.parquet' l,
             '{data}/sensors/freeway_detectors.csv' d,
             '{data}/sensors/freeway_stations.csv' s,
             '{data}/sensors/freeway_highways.csv' h
        WHERE l.epoch_s >= $tau - $tau % 60 - 180 AND l.epoch_s < $tau - $tau % 60
          AND l.detector = d.detectorid AND d.stationid = s.stationid
          AND d.highwayid = h.highwayid
        GROUP BY ALL
        """,
        (
            1316069999,
            1316070059,
            1316070060,
            1316121599,
            1316121600,
            1316156399,
            1316156580,
        ),
    ),
    Case(
        "queues_from_a_query_over_a_query",
        LOOPS
        + """
        CREATE QUERY station_speed AS
        SELECT d.stationid, avg(l.speed) AS speed
        FROM loops [RANGE 1 MINUTE] AS l JOIN detectors AS d ON l.detector = d.detectorid
        GROUP BY d.stationid;
        CREATE QUERY q AS
        SELECT a.stationid, s.downstream, a.speed - b.speed AS difference
        FROM station_speed AS a
        JOIN stations AS s ON a.stationid = s.stationid
        JOIN station_speed AS b ON s.downstream = b.stationid
        WHERE abs(a.speed - b.speed) > 15;
        """,
        """
        WITH v AS (
          SELECT stationid, avg(speed) AS speed
          FROM '{data}/sensors/freeway_loops_20110915.parquet'
          JOIN '{data}/sensors/freeway_detectors.csv' ON detector = detectorid
          WHERE epoch_s BETWEEN $tau - 60 AND $tau GROUP BY stationid
        )
        SELECT a.stationid, s.downstream, a.speed - b.speed AS difference
        FROM v a JOIN '{data}/sensors/freeway_stations.csv' s USING (stationid)
        JOIN v b ON s.downstream = b.stationid WHERE abs(a.speed - b.speed) > 15
        """,
        (
            1316069999,
            *edges(1316104160, 60),
            1316138990,
            1316156380 + 61,
        ),
    ),
    Case(
        "above_the_mean_of_its_own_series",
        NAB
        + """
        CREATE QUERY q AS
        SELECT n.timestamp, n.series, n.value
        FROM nab [RANGE 30 MINUTES] AS n
        WHERE n.value > (SELECT avg(b.value) + stddev(b.value) FROM nab [RANGE 6 HOURS] AS b
                         WHERE b.series = n.series);
        """,
        """
        SELECT n.timestamp, n.series, n.value FROM '{data}/sensors/nab_series.parquet' n
        WHERE epoch_us(n.timestamp) BETWEEN $tau - 1800000000 AND $tau
          AND n.value > (
            SELECT avg(b.value) + stddev_samp(b.value) FROM '{data}/sensors/nab_series.parquet' b
            WHERE epoch_us(b.timestamp) BETWEEN $tau - 21600000000 AND $tau
              AND b.series = n.series)
        """,
        (
            at("2013-07-03 23:59:59"),
            *edges(at("2014-02-17 09:55:00"), HOUR // 2),
            *edges(at("2015-03-15 19:22:53"), 6 * HOUR),
            at("2015-09-17 17:10:00"),
            at("2015-09-17 17:40:00") + 1,
        ),
    ),
    Case(
        "readings_inside_labelled_windows",
        NAB
        + """
        CREATE TABLE labels (series STRING, anomaly_start TIMESTAMP, anomaly_end TIMESTAMP)
        FROM csv('{data}/sensors/nab_anomaly_windows.csv', header = true);
        CREATE QUERY q AS
        SELECT n.series, w.anomaly_end, count(*) AS readings, max(n.value) AS peak,
               max_by(n.timestamp, n.value) AS when
        FROM nab [RANGE 1 DAY SLIDE 6 HOURS] AS n
        JOIN labels AS w
          ON n.series = w.series AND n.timestamp BETWEEN w.anomaly_start AND w.anomaly_end
        GROUP BY n.series, w.anomaly_end;
        """,
        """
        WITH r AS (
          SELECT n.series, w.anomaly_end, n.value, n.timestamp,
                 max(n.value) OVER (PARTITION BY n.series, w.anomaly_end) AS top
          FROM '{data}/sensors/nab_series.parquet' n
          JOIN '{data}/sensors/nab_anomaly_windows.csv' w
            ON n.series = w.series AND n.timestamp BETWEEN w.anomaly_start AND w.anomaly_end
          WHERE epoch_us(n.timestamp) >= ($tau // 21600000000) * 21600000000 - 86400000000
            AND epoch_us(n.timestamp) < ($tau // 21600000000) * 21600000000
        )
        SELECT series, anomaly_end, count(*) AS readings, max(value) AS peak,
               min(timestamp) FILTER (value = top) AS when
        FROM r GROUP BY series, anomaly_end
        """,
        (
            at("2013-07-04 00:00:00"),
            *steps(at("2013-12-11 06:00:00")),
            *steps(at("2014-02-09 12:00:00")),
            at("2015-03-04 03:33:33"),
            *steps(at("2015-09-18 00:00:00")),
            at("2015-10-01 00:00:00"),
        ),
    ),
    Case(
        "labels_as_a_stream_with_late_rows",
        """
        CREATE STREAM labels (series STRING, anomaly_start TIMESTAMP, anomaly_end TIMESTAMP)
        TIMESTAMP BY anomaly_start SLACK 300 DAYS
        FROM csv('{data}/sensors/nab_anomaly_windows.csv', header = true);
        CREATE QUERY q AS
        SELECT series, anomaly_start, anomaly_end - anomaly_start > INTERVAL '1' DAY AS long
        FROM labels [ROWS 5];
        """,
        """
        WITH r AS (SELECT *, row_number() OVER () AS n
                   FROM read_csv('{data}/sensors/nab_anomaly_windows.csv')),
             k AS (SELECT *, max(anomaly_start) OVER (
                          ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest
                   FROM r)
        SELECT series, anomaly_start, anomaly_end - anomaly_start > INTERVAL 1 DAY AS long
        FROM k WHERE (latest IS NULL OR anomaly_start >= latest - INTERVAL 300 DAY)
          AND epoch_us(anomaly_start) <= $tau
        ORDER BY anomaly_start DESC, n DESC LIMIT 5
        """,
        (
            at("2013-01-01 00:00:00"),
            at("2013-12-10 06:25:00") - 1,
            at("2013-12-10 06:25:00"),
            at("2014-06-01 00:00:00"),
            at("2015-03-30 00:00:00"),
            at("2015-09-02 00:00:00"),
            at("2016-01-01 00:00:00"),
        ),
    ),
    Case(
        "pollution_by_wind_sector_and_week",
        AIR
        + """
        CREATE QUERY q AS
        SELECT floor(wd / 90) AS sector, count(*) AS hours, avg(no2) AS no2, max(pm10) AS pm10,
               variance(ws) AS ws_variance, corr(no2, o3) AS no2_o3, covar_pop(nox, no2) AS together
        FROM air [RANGE 7 DAYS SLIDE 1 DAY] GROUP BY floor(wd / 90);
        """,
        """
        SELECT CAST(floor(wd / 90) AS BIGINT) AS sector, count(*) AS hours, avg(no2) AS no2,
               max(pm10) AS pm10, var_samp(ws) AS ws_variance,
               CASE WHEN regr_count(no2, o3) > 1 THEN corr(no2, o3) END AS no2_o3,
               covar_pop(nox, no2) AS together
        FROM '{data}/sensors/london_air_hourly.parquet'
        WHERE epoch_us(ts) >= ($tau // 86400000000 - 7) * 86400000000
          AND epoch_us(ts) < ($tau // 86400000000) * 86400000000
        GROUP BY ALL
        """,
        (
            at("1997-12-31 23:59:59"),
            at("1998-01-01 23:00:00"),
            *steps(at("1998-01-02 00:00:00")),
            *steps(at("2001-09-27 00:00:00")),
            at("2003-08-10 21:00:00"),
            at("2005-06-30 00:00:00"),
            at("2005-07-01 00:00:00"),
        ),
    ),
    Case(
        "dust_far_above_the_month",
        AIR
        + """
        CREATE QUERY q AS
        SELECT CAST(ts AS DATE) AS day, count(*) AS hours,
               sum(pm10) / (SELECT avg(pm10) FROM air [RANGE 30 DAYS]) AS ratio
        FROM air [RANGE 48 HOURS]
        WHERE pm10 > 1.5 * (SELECT avg(pm10) FROM air [RANGE 30 DAYS])
        GROUP BY CAST(ts AS DATE);
        """,
        """
        WITH month AS (SELECT avg(pm10) AS mean FROM '{data}/sensors/london_air_hourly.parquet'
                       WHERE epoch_us(ts) BETWEEN $tau - 2592000000000 AND $tau)
        SELECT CAST(ts AS DATE) AS day, count(*) AS hours, sum(pm10) / any_value(mean) AS ratio
        FROM '{data}/sensors/london_air_hourly.parquet', month
        WHERE epoch_us(ts) BETWEEN $tau - 172800000000 AND $tau AND pm10 > 1.5 * mean
        GROUP BY ALL
        """,
        (
            at("1997-12-31 23:00:00"),
            *edges(at("1999-11-14 15:00:00"), 2 * DAY),
            *edges(at("2003-08-10 21:00:00"), 2 * DAY),
            at("2001-09-27 06:30:00"),
            at("2005-06-25 12:00:00") + 1,
        ),
    ),
)
