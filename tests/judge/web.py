"""Requests, edits and flights: rows out of order, rows without a time, much text."""

from __future__ import annotations

from .case import HOUR, MINUTE, SECOND, Case, at, edges, steps

ACCESS = """
CREATE STREAM access (ts TIMESTAMP, client_ip STRING, method STRING, path STRING, status INT,
                      bytes BIGINT, user_agent STRING)
TIMESTAMP BY ts {slack} FROM parquet('{data}/web/apache_access.parquet');
"""

EDITS = """
CREATE STREAM edits (ts TIMESTAMP, channel STRING, page STRING, user STRING, isRobot BOOLEAN,
                     isMinor BOOLEAN, countryName STRING, namespace STRING, delta BIGINT,
                     added BIGINT, deleted BIGINT)
TIMESTAMP BY ts FROM parquet('{data}/web/wikipedia_edits_20150912.parquet');
"""

WEATHER = """
CREATE STREAM weather (ts TIMESTAMP, origin STRING, temp DOUBLE, wind_speed DOUBLE, precip DOUBLE,
                       visib DOUBLE)
TIMESTAMP BY ts FROM parquet('{data}/web/weather_nyc_201301.parquet');
"""

FLIGHTS = """
CREATE STREAM flights (ts_sched TIMESTAMP, ts_dep TIMESTAMP, carrier STRING, flight INT,
                       origin STRING, dest STRING, dep_delay DOUBLE, distance BIGINT)
TIMESTAMP BY {time} FROM parquet('{data}/web/flights_nyc_201301.parquet');
"""

CASES = (
    Case(
        "requests_half_a_minute_late_at_most",
        ACCESS.replace("{slack}", "SLACK 30 SECONDS")
        + """
        CREATE QUERY q AS
        SELECT status, CASE WHEN path LIKE '%.png' OR path LIKE '%.j_g' THEN 'image'
                            WHEN path RLIKE '[.](css|js)([?].*)?$' THEN 'code'
                            ELSE 'page' END AS kind,
               count(*) AS requests, sum(bytes) AS bytes, count(DISTINCT client_ip) AS clients
        FROM access [RANGE 2 HOURS]
        GROUP BY status, CASE WHEN path LIKE '%.png' OR path LIKE '%.j_g' THEN 'image'
                              WHEN path RLIKE '[.](css|js)([?].*)?$' THEN 'code'
                              ELSE 'page' END;
        """,
        """
        WITH f AS (
          SELECT *, max(ts) OVER (ORDER BY file_row_number
                      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest
          FROM read_parquet('{data}/web/apache_access.parquet', file_row_number = true)
        )
        SELECT status::INT AS status,
               CASE WHEN path LIKE '%.png' OR path LIKE '%.j_g' THEN 'image'
                    WHEN regexp_matches(path, '[.](css|js)([?].*)?$') THEN 'code'
                    ELSE 'page' END AS kind,
               count(*) AS requests, sum(bytes) AS bytes, count(DISTINCT client_ip) AS clients
        FROM f
        WHERE (latest IS NULL OR ts >= latest - INTERVAL 30 SECOND)
          AND epoch_us(ts) BETWEEN $tau - 7200000000 AND $tau
        GROUP BY ALL
        """,
        (
            at("2015-05-17 10:04:59"),
            *edges(at("2015-05-17 10:05:03"), 2 * HOUR),
            *edges(at("2015-05-19 03:05:37"), 2 * HOUR),
            at("2015-05-20 23:05:59"),
            at("2015-05-20 23:05:59") + 1,
        ),
    ),
    Case(
        "last_requests_without_slack",
        ACCESS.replace("{slack}", "")
        + """
        CREATE QUERY q AS
        SELECT ts, client_ip, upper(method) AS method, split_part(path, '/', 2) AS top,
               substring(user_agent, 1, 12) AS agent
        FROM access [ROWS 30] WHERE user_agent NOT RLIKE '(?i)bot|spider|crawl';
        """,
        """
        WITH f AS (
          SELECT *, max(ts) OVER (ORDER BY file_row_number
                      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest
          FROM read_parquet('{data}/web/apache_access.parquet', file_row_number = true)
        ), r AS (
          FROM f WHERE (latest IS NULL OR ts >= latest) AND epoch_us(ts) <= $tau
          ORDER BY ts DESC, file_row_number DESC LIMIT 30
        )
        SELECT ts, client_ip, upper(method) AS method, split_part(path, '/', 2) AS top,
               substring(user_agent, 1, 12) AS agent
        FROM r WHERE NOT regexp_matches(user_agent, '(?i)bot|spider|crawl')
        """,
        (
            at("2015-05-17 10:05:02"),
            at("2015-05-17 10:05:03"),
            at("2015-05-17 10:05:59"),
            at("2015-05-18 07:05:04"),
            at("2015-05-19 03:05:37"),
            at("2015-05-19 04:00:00"),
            at("2015-05-21 00:00:00"),
        ),
    ),
    Case(
        "all_requests_in_a_minute_of_slack",
        ACCESS.replace("{slack}", "SLACK 1 MINUTE")
        + """
        CREATE QUERY q AS
        SELECT client_ip, path FROM access [RANGE 10 SECONDS] WHERE status >= 300
        UNION ALL
        SELECT client_ip, path FROM access [RANGE 1 MINUTE] WHERE bytes > 100000
        UNION ALL
        SELECT client_ip, path FROM access [NOW] WHERE method <> 'GET' OR bytes IS NULL;
        """,
        """
        WITH f AS (SELECT *, epoch_us(ts) AS us FROM '{data}/web/apache_access.parquet')
        SELECT client_ip, path FROM f WHERE us BETWEEN $tau - 10000000 AND $tau AND status >= 300
        UNION ALL
        SELECT client_ip, path FROM f WHERE us BETWEEN $tau - 60000000 AND $tau AND bytes > 100000
        UNION ALL
        SELECT client_ip, path FROM f WHERE us = $tau AND (method <> 'GET' OR bytes IS NULL)
        """,
        (
            at("2015-05-17 10:04:59"),
            *edges(at("2015-05-17 10:05:03"), 10 * SECOND),
            *edges(at("2015-05-18 07:05:04"), MINUTE),
            at("2015-05-20 21:06:59") + 1,
        ),
    ),
    Case(
        "busiest_wikis_every_quarter_of_an_hour",
        EDITS
        + """
        CREATE QUERY q AS
        SELECT channel, count(*) AS edits, count(DISTINCT user) AS users, sum(delta) AS delta,
               avg(added - deleted) AS growth, every(isRobot) AS robots_only,
               max(countryName) AS country
        FROM edits [RANGE 1 HOUR SLIDE 15 MINUTES]
        WHERE namespace = 'Main' GROUP BY channel
        HAVING count(DISTINCT user) > 1
        ORDER BY count(*) DESC, channel LIMIT 10;
        """,
        """
        SELECT channel, count(*) AS edits, count(DISTINCT "user") AS users, sum(delta) AS delta,
               avg(added - deleted) AS growth, bool_and(isRobot) AS robots_only,
               max(countryName) AS country
        FROM '{data}/web/wikipedia_edits_20150912.parquet'
        WHERE namespace = 'Main'
          AND epoch_us(ts) >= ($tau // 900000000) * 900000000 - 3600000000
          AND epoch_us(ts) < ($tau // 900000000) * 900000000
        GROUP BY channel HAVING count(DISTINCT "user") > 1 ORDER BY edits DESC, channel LIMIT 10
        """,
        (
            at("2015-09-12 00:46:58"),
            *steps(at("2015-09-12 01:00:00")),
            *steps(at("2015-09-12 13:30:00")),
            at("2015-09-12 18:29:05"),
            *steps(at("2015-09-13 01:00:00")),
        ),
    ),
    Case(
        "pages_with_several_editors",
        EDITS
        + """
        CREATE QUERY q AS
        SELECT e.page, e.user, e.delta FROM edits [RANGE 5 MINUTES] AS e
        WHERE NOT e.isRobot
          AND e.channel IN ('#fr.wikipedia', '#ru.wikipedia', '#es.wikipedia', '#it.wikipedia')
          AND e.channel IN (SELECT channel FROM edits [RANGE 20 MINUTES]
                            WHERE countryName IS NOT NULL)
          AND EXISTS (SELECT o.user FROM edits [RANGE 10 MINUTES] AS o
                      WHERE o.page = e.page AND o.channel = e.channel AND o.user <> e.user);
        """,
        """
        WITH f AS (SELECT *, epoch_us(ts) AS us FROM '{data}/web/wikipedia_edits_20150912.parquet'
                   WHERE epoch_us(ts) BETWEEN $tau - 1200000000 AND $tau)
        SELECT e.page, e."user", e.delta FROM f e
        WHERE e.us >= $tau - 300000000 AND NOT e.isRobot
          AND e.channel IN ('#fr.wikipedia', '#ru.wikipedia', '#es.wikipedia', '#it.wikipedia')
          AND e.channel IN (SELECT channel FROM f WHERE countryName IS NOT NULL)
          AND EXISTS (FROM f o WHERE o.page = e.page AND o.channel = e.channel
                        AND o."user" <> e."user" AND o.us >= $tau - 600000000)
        """,
        (
            at("2015-09-12 00:46:58"),
            at("2015-09-12 10:44:36.001999"),
            at("2015-09-12 10:44:36.002"),
            at("2015-09-12 10:44:36.871"),
            at("2015-09-12 10:44:36.871001"),
            at("2015-09-12 21:21:16.465"),
            at("2015-09-12 21:21:16.465") + 1,
            at("2015-09-13 00:04:59.200") + 1,
        ),
    ),
    Case(
        "flights_under_the_weather_of_the_hour",
        FLIGHTS.replace("{time}", "ts_sched")
        + WEATHER
        + """
        CREATE QUERY q AS
        SELECT origin, f.carrier, f.flight, w.temp, w.wind_speed * 1.609344 AS kmh,
               f.dep_delay > 15 AND w.visib < 10 AS blame
        FROM flights [RANGE 30 MINUTES] AS f LEFT JOIN weather [RANGE 59 MINUTES] AS w
          USING (origin);
        """,
        """
        SELECT f.origin, f.carrier, f.flight::INT AS flight, w.temp, w.wind_speed * 1.609344 AS kmh,
               f.dep_delay > 15 AND w.visib < 10 AS blame
        FROM '{data}/web/flights_nyc_201301.parquet' f
        LEFT JOIN (FROM '{data}/web/weather_nyc_201301.parquet'
                   WHERE epoch_us(ts) BETWEEN $tau - 3540000000 AND $tau) w ON f.origin = w.origin
        WHERE epoch_us(f.ts_sched) BETWEEN $tau - 1800000000 AND $tau
        """,
        (
            at("2013-01-01 05:59:59"),
            at("2013-01-01 06:00:00"),
            *edges(at("2013-01-01 10:15:00"), 30 * MINUTE),
            *edges(at("2013-01-16 18:00:00"), 59 * MINUTE),
            at("2013-02-01 05:29:00"),
            at("2013-02-01 05:29:00") + 1,
        ),
    ),
    Case(
        "weather_nobody_flew_in",
        FLIGHTS.replace("{time}", "ts_sched")
        + WEATHER
        + """
        CREATE QUERY q AS
        SELECT w.origin, w.ts, w.precip FROM weather [RANGE 6 HOURS] AS w
        LEFT ANTI JOIN flights [RANGE 6 HOURS] AS f
          ON w.origin = f.origin AND f.ts_sched BETWEEN w.ts AND w.ts + INTERVAL 1 HOUR;
        """,
        """
        SELECT w.origin, w.ts, w.precip FROM '{data}/web/weather_nyc_201301.parquet' w
        WHERE epoch_us(w.ts) BETWEEN $tau - 21600000000 AND $tau AND NOT EXISTS (
          FROM '{data}/web/flights_nyc_201301.parquet' f
          WHERE epoch_us(f.ts_sched) BETWEEN $tau - 21600000000 AND $tau
            AND f.origin = w.origin AND f.ts_sched >= w.ts AND f.ts_sched <= w.ts + INTERVAL 1 HOUR)
        """,
        (
            at("2013-01-01 05:59:59"),
            *edges(at("2013-01-01 10:15:00"), 6 * HOUR),
            *edges(at("2013-01-16 06:00:00"), 6 * HOUR),
            at("2013-01-25 03:30:00"),
            at("2013-02-01 10:00:00") + 1,
        ),
    ),
    Case(
        "departures_late_or_without_a_time",
        FLIGHTS.replace("{time}", "ts_dep SLACK 20 MINUTES")
        + """
        CREATE QUERY q AS
        SELECT carrier, flight, ts_dep, dep_delay FROM flights [ROWS 25] WHERE dep_delay > 0;
        """,
        """
        WITH f AS (
          SELECT *, max(ts_dep) OVER (ORDER BY file_row_number
                      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest
          FROM read_parquet('{data}/web/flights_nyc_201301.parquet', file_row_number = true)
        ), r AS (
          FROM f WHERE (latest IS NULL OR ts_dep >= latest - INTERVAL 20 MINUTE)
            AND epoch_us(ts_dep) <= $tau
          ORDER BY ts_dep DESC, file_row_number DESC LIMIT 25
        )
        SELECT carrier, flight::INT AS flight, ts_dep, dep_delay FROM r WHERE dep_delay > 0
        """,
        (
            at("2013-01-01 10:00:00"),
            at("2013-01-01 10:17:00"),
            at("2013-01-01 12:00:00"),
            at("2013-01-08 22:05:00"),
            at("2013-01-16 17:51:00"),
            at("2013-01-16 17:51:00") - 1,
            at("2013-03-01 00:00:00"),
        ),
    ),
)
