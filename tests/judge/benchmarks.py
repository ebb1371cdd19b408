"""Linear Road and AQSIOS: integer seconds and microseconds, also in one query."""

from __future__ import annotations

from .case import SECOND, Case, edges

ROAD = """
CREATE STREAM road (time_s INT, vid INT, speed_mph INT, dir INT, segment INT, pos_ft INT,
                    p_lane0 DOUBLE)
TIMESTAMP BY time_s UNIT SECOND
FROM parquet('{data}/benchmarks/linear_road_5min_1xway.parquet');
"""

START = """
CREATE STREAM start (type INT, time_s INT, vid INT, speed_mph INT, lane INT, dir INT, segment INT)
TIMESTAMP BY time_s FROM parquet('{data}/benchmarks/linear_road_20s.parquet');
"""

AQSIOS = """
CREATE STREAM sensors (arrival_us BIGINT, location STRING, temperature SMALLINT, humidity SMALLINT)
TIMESTAMP BY arrival_us UNIT MICROSECOND
FROM parquet('{data}/benchmarks/aqsios_sensor_realtcp.parquet');
"""

CASES = (
    Case(
        "slow_segments",
        ROAD
        + """
        CREATE QUERY q AS
        SELECT dir, segment, avg(speed_mph) AS speed, count(DISTINCT vid) AS cars,
               sum(p_lane0) AS entering,
               CASE WHEN avg(speed_mph) < 40 THEN 2 * (count(DISTINCT vid) - 5)
                 * (count(DISTINCT vid) - 5) ELSE 0 END AS toll
        FROM road [RANGE 45] GROUP BY dir, segment HAVING count(DISTINCT vid) > 5;
        """,
        """
        SELECT dir, segment, avg(speed_mph) AS speed, count(DISTINCT vid) AS cars,
               sum(p_lane0) AS entering,
               CASE WHEN avg(speed_mph) < 40 THEN 2 * (count(DISTINCT vid) - 5)
                 * (count(DISTINCT vid) - 5) ELSE 0 END AS toll
        FROM '{data}/benchmarks/linear_road_5min_1xway.parquet'
        WHERE time_s BETWEEN $tau - 45 AND $tau
        GROUP BY dir, segment HAVING count(DISTINCT vid) > 5
        """,
        (-1, 0, 44, 45, 46, 150, 299, 299 + 45, 299 + 46),
    ),
    Case(
        "cars_that_hardly_move",
        ROAD
        + """
        CREATE QUERY q AS
        SELECT vid, dir, max(pos_ft) - min(pos_ft) AS feet, count(*) AS reports,
               (max(pos_ft) - min(pos_ft)) / (max(time_s) - min(time_s)) AS feet_per_second,
               (max(pos_ft) - min(pos_ft)) DIV 7 AS sevenths,
               (max(pos_ft) - min(pos_ft)) % 7 AS rest
        FROM road [PARTITION BY vid, dir ROWS 3]
        GROUP BY vid, dir HAVING count(*) = 3 AND max(pos_ft) - min(pos_ft) < 3000;
        """,
        """
        WITH r AS (
          FROM '{data}/benchmarks/linear_road_5min_1xway.parquet' WHERE time_s <= $tau
          QUALIFY row_number() OVER (PARTITION BY vid, dir ORDER BY time_s DESC) <= 3
        )
        SELECT vid, dir, max(pos_ft) - min(pos_ft) AS feet, count(*) AS reports,
               (max(pos_ft) - min(pos_ft)) / (max(time_s) - min(time_s)) AS feet_per_second,
               ((max(pos_ft) - min(pos_ft)) // 7)::BIGINT AS sevenths,
               (max(pos_ft) - min(pos_ft)) % 7 AS rest
        FROM r GROUP BY vid, dir HAVING count(*) = 3 AND max(pos_ft) - min(pos_ft) < 3000
        """,
        (-1, 0, 60, 89, 90, 200, 299, 1000),
    ),
    Case(
        "cars_that_changed_segment",
        START
        + """
        CREATE QUERY q AS
        SELECT vid, dir FROM start [RANGE 30] WHERE type = 0
        EXCEPT
        SELECT vid, dir FROM start [RANGE 5] WHERE speed_mph > 25;
        """,
        """
        SELECT vid, dir FROM '{data}/benchmarks/linear_road_20s.parquet'
        WHERE time_s BETWEEN $tau - 30 AND $tau AND type = 0
        EXCEPT
        SELECT vid, dir FROM '{data}/benchmarks/linear_road_20s.parquet'
        WHERE time_s BETWEEN $tau - 5 AND $tau AND speed_mph > 25
        """,
        (-1, 0, 5, 6, 15, 20, 25, 26, 30, 31, 50, 51),
    ),
    Case(
        "hot_and_humid_as_bags",
        AQSIOS
        + """
        CREATE QUERY q AS
        SELECT location, temperature FROM sensors [RANGE 500 MILLISECONDS] WHERE temperature > 10
        INTERSECT ALL
        SELECT location, temperature FROM sensors [RANGE 2 SECONDS] WHERE humidity > 50;
        """,
        """
        SELECT location, temperature FROM '{data}/benchmarks/aqsios_sensor_realtcp.parquet'
        WHERE arrival_us BETWEEN $tau - 500000 AND $tau AND temperature > 10
        INTERSECT ALL
        SELECT location, temperature FROM '{data}/benchmarks/aqsios_sensor_realtcp.parquet'
        WHERE arrival_us BETWEEN $tau - 2000000 AND $tau AND humidity > 50
        """,
        (
            15443,
            *edges(15444, SECOND // 2),
            *edges(124908454, SECOND // 2),
            *edges(240512336, 2 * SECOND),
            400001768 + SECOND // 2 + 1,
        ),
    ),
    Case(
        "a_coarser_query_read_at_its_own_instants",
        AQSIOS
        + ROAD
        + """
        CREATE QUERY traffic AS
        SELECT dir, count(*) AS cars FROM road [RANGE 10] WHERE segment < 50 GROUP BY dir;
        CREATE QUERY q AS
        SELECT t.dir, t.cars, s.location, count(*) AS readings, avg(s.humidity) AS humidity
        FROM sensors [RANGE 300 MILLISECONDS] AS s CROSS JOIN traffic AS t
        WHERE s.temperature >= t.cars % 20
        GROUP BY t.dir, t.cars, s.location;
        """,
        """
        WITH t AS (
          SELECT dir, count(*) AS cars FROM '{data}/benchmarks/linear_road_5min_1xway.parquet'
          WHERE segment < 50 AND time_s <= $tau // 1000000 AND time_s >= $tau // 1000000 - 10
          GROUP BY dir
        )
        SELECT t.dir, t.cars, s.location, count(*) AS readings, avg(s.humidity) AS humidity
        FROM '{data}/benchmarks/aqsios_sensor_realtcp.parquet' s, t
        WHERE s.arrival_us BETWEEN $tau - 300000 AND $tau AND s.temperature >= t.cars % 20
        GROUP BY ALL
        """,
        (
            0,
            15444,
            999_999,
            1_000_000,
            *edges(124908454, 300_000),
            309_999_999,
            310_000_000,
        ),
    ),
    Case(
        "latest_report_beside_the_mean_of_many",
        ROAD
        + """
        CREATE QUERY q AS
        SELECT r.vid, r.speed_mph,
               r.speed_mph - (SELECT avg(speed_mph) FROM road [ROWS 1000]) AS above,
               (SELECT count(*) FROM road [RANGE 2] AS o WHERE o.segment = r.segment) AS near
        FROM road [PARTITION BY segment ROWS 1] AS r WHERE r.segment < 60
        ORDER BY speed_mph DESC, vid LIMIT 7;
        """,
        """
        WITH f AS (
          FROM read_parquet('{data}/benchmarks/linear_road_5min_1xway.parquet',
                            file_row_number = true) WHERE time_s <= $tau
        ), r AS (
          FROM f QUALIFY row_number() OVER (
            PARTITION BY segment ORDER BY time_s DESC, file_row_number DESC) = 1
        ), k AS (FROM f ORDER BY time_s DESC, file_row_number DESC LIMIT 1000)
        SELECT r.vid, r.speed_mph, r.speed_mph - (SELECT avg(speed_mph) FROM k) AS above,
               (SELECT count(*) FROM f WHERE f.segment = r.segment AND f.time_s >= $tau - 2) AS near
        FROM r WHERE r.segment < 60 ORDER BY speed_mph DESC, vid LIMIT 7
        """,
        (-1, 0, 1, 30, 31, 150, 299, 301, 302, 1000),
    ),
    Case(
        "highways_nobody_reports_from",
        START
        + """
        CREATE TABLE highways (highwayid INT, direction STRING, highwayname STRING)
        FROM csv('{data}/sensors/freeway_highways.csv', header = true);
        CREATE QUERY q AS
        SELECT h.highwayid, h.highwayname, s.vid
        FROM (SELECT vid, segment FROM start [RANGE 2] WHERE speed_mph > 25) AS s
        RIGHT JOIN highways AS h ON s.segment = h.highwayid AND h.direction <> 'SOUTH';
        """,
        """
        SELECT h.highwayid::INT AS highwayid, h.highwayname, s.vid::INT AS vid
        FROM (FROM '{data}/benchmarks/linear_road_20s.parquet'
              WHERE time_s BETWEEN $tau - 2 AND $tau AND speed_mph > 25) s
        RIGHT JOIN '{data}/sensors/freeway_highways.csv' h
          ON s.segment = h.highwayid AND h.direction <> 'SOUTH'
        WHERE $tau >= 0
        """,
        (-1, 0, 3, 8, 13, 20, 22, 23),
    ),
)
