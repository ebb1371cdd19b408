"""Corners of the definition, on small files: failing calls, collections, streams of streams."""

from __future__ import annotations

from .case import MILLISECOND, SECOND, Case, at, edges, steps
from .network import flows, packets

SCANS = """
CREATE STREAM scans (ts_us BIGINT, src_ip STRING, dst_ip STRING, dst_port BIGINT, proto STRING,
                     service STRING, conn_state STRING, orig_bytes BIGINT, orig_pkts BIGINT)
TIMESTAMP BY ts_us UNIT MICROSECOND FROM parquet('{data}/network/flows_*.parquet');
"""

BARS = """
CREATE STREAM bars (ts_us BIGINT, symbol STRING, open DOUBLE, close DOUBLE, volume BIGINT)
TIMESTAMP BY ts_us UNIT MICROSECOND FROM parquet('{data}/market/minute_bars_20131007.parquet');
"""

ROAD = """
CREATE STREAM start (type INT, time_s INT, vid INT, speed_mph INT, lane INT, dir INT, segment INT)
TIMESTAMP BY time_s FROM parquet('{data}/benchmarks/linear_road_20s.parquet');
"""

WEATHER = """
CREATE STREAM weather (ts TIMESTAMP, origin STRING, temp DOUBLE, wind_gust DOUBLE, precip DOUBLE)
TIMESTAMP BY ts FROM parquet('{data}/web/weather_nyc_201301.parquet');
"""

CASES = (
    Case(
        "a_failing_call_is_null",
        packets("p2p", "gnutella_p2p")
        + """
        CREATE QUERY q AS
        SELECT src_ip, CAST(split_part(src_ip, '.', 4) AS TINYINT) AS host,
               frame_len / (dst_port - 53) AS ratio, frame_len DIV nullif(proto, 6) AS part,
               coalesce(frame_len % (proto - 17), -1) AS rest
        FROM p2p [RANGE 2 SECONDS] WHERE 100 / (ttl - 64) < 5 OR ttl IS NULL;
        """,
        """
        SELECT src_ip, TRY_CAST(split_part(src_ip, '.', 4) AS TINYINT) AS host,
               frame_len / nullif(dst_port - 53, 0) AS ratio,
               (frame_len // nullif(proto, 6))::BIGINT AS part,
               coalesce(frame_len % nullif(proto - 17, 0), -1) AS rest
        FROM '{data}/network/gnutella_p2p.parquet'
        WHERE ts_us BETWEEN $tau - 2000000 AND $tau
          AND (ttl IS NULL OR ttl <> 64 AND 100 / nullif(ttl - 64, 0) < 5)
        """,
        (21, 22, 2000022, 2000023, *edges(90827847, 2 * SECOND), 287429698, 700000000),
    ),
    Case(
        "files_of_a_folder_are_one_source",
        SCANS
        + """
        CREATE QUERY q AS
        SELECT proto, conn_state, count(*) AS flows, sum(orig_bytes) AS bytes,
               count(service) AS known
        FROM scans [UNBOUNDED] GROUP BY proto, conn_state;
        """,
        """
        WITH f AS (
          FROM read_parquet('{data}/network/flows_*.parquet', file_row_number = true,
                            filename = true)
        ), k AS (
          SELECT *, max(ts_us) OVER (ORDER BY filename, file_row_number
                      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest FROM f
        )
        SELECT proto, conn_state, count(*) AS flows, sum(orig_bytes) AS bytes,
               count(service) AS known
        FROM k WHERE ts_us <= $tau AND (latest IS NULL OR ts_us >= latest) GROUP BY ALL
        """,
        (
            272255421,
            928943456,
            928943457,
            956065098,
            1700828213098447,
            1700828213098448,
            1700828217922313,
            1800000000000000,
        ),
    ),
    Case(
        "total_of_everything_has_its_row_from_the_first_arrival",
        flows("vertical", "flows_vertical_scan")
        + flows("horizontal", "flows_horizontal_scan")
        + """
        CREATE QUERY q AS
        SELECT count(*) AS flows, sum(v.orig_bytes) AS bytes, max(v.conn_state) AS state,
               (SELECT count(*) FROM horizontal [RANGE 2 SECONDS]) AS others
        FROM vertical [RANGE 1 SECOND] AS v WHERE v.proto = 'tcp';
        """,
        """
        SELECT count(*) AS flows, sum(orig_bytes) AS bytes, max(conn_state) AS state,
               (SELECT count(*) FROM '{data}/network/flows_horizontal_scan.parquet'
                WHERE ts_us BETWEEN $tau - 2000000 AND $tau) AS others
        FROM '{data}/network/flows_vertical_scan.parquet'
        WHERE ts_us BETWEEN $tau - 1000000 AND $tau AND proto = 'tcp'
        HAVING $tau >= 1700828213098448
        """,
        (
            928943456,
            928943457,
            956065098,
            1700828213098447,
            1700828213098448,
            *edges(1700828217922313, SECOND),
            1800000000000000,
        ),
    ),
    Case(
        "collections_are_sorted",
        ROAD
        + """
        CREATE QUERY q AS
        SELECT dir, collect_list(speed_mph) AS speeds, collect_set(lane) AS lanes,
               mode(segment) AS usual, min_by(vid, speed_mph) AS slowest, any_value(vid) AS some,
               percentile(speed_mph, 0.25) AS quarter, median(segment) AS middle,
               bool_or(speed_mph > 40) AS fast
        FROM start [RANGE 3] WHERE type = 0 GROUP BY dir;
        """,
        """
        WITH r AS (
          SELECT *, min(speed_mph) OVER (PARTITION BY dir) AS least,
                 count(*) OVER (PARTITION BY dir, segment) AS copies
          FROM '{data}/benchmarks/linear_road_20s.parquet'
          WHERE time_s BETWEEN $tau - 3 AND $tau AND type = 0
        ), m AS (SELECT dir, max(copies) AS most FROM r GROUP BY dir)
        SELECT dir::INT AS dir, list(speed_mph::INT ORDER BY speed_mph) AS speeds,
               list_sort(list(DISTINCT lane::INT)) AS lanes,
               min(segment) FILTER (copies = most) AS usual,
               min(vid) FILTER (speed_mph = least) AS slowest, min(vid) AS some,
               quantile_cont(speed_mph, 0.25) AS quarter, median(segment) AS middle,
               bool_or(speed_mph > 40) AS fast
        FROM r JOIN m USING (dir) GROUP BY dir
        """,
        (-1, 0, 3, 4, 10, 20, 23, 24),
    ),
    Case(
        "money_divided",
        BARS
        + """
        CREATE QUERY q AS
        SELECT ts_us, symbol, CAST(open AS DECIMAL(8, 2)) / 3 AS third,
               CAST(open AS DECIMAL(8, 2)) * CAST(1.005 AS DECIMAL(4, 3)) AS marked_up,
               CAST(close AS DECIMAL(8, 2)) - CAST(open AS DECIMAL(9, 3)) AS change,
               round(CAST(close AS DECIMAL(8, 2)), 1) AS rounded,
               CAST(CAST(close AS DECIMAL(8, 2)) AS INT) AS whole
        FROM bars [RANGE 3 MINUTES];
        """,
        """
        WITH r AS (
          SELECT *, CAST(open * 100 AS BIGINT) AS o, CAST(close * 100 AS BIGINT) AS c
          FROM '{data}/market/minute_bars_20131007.parquet'
          WHERE ts_us BETWEEN $tau - 180000000 AND $tau
        )
        SELECT ts_us, symbol,
               ((2 * o * 10000 + 3) // 6)::DECIMAL(18, 0) * 0.000001 AS third,
               (o * 1005)::DECIMAL(18, 0) * 0.00001 AS marked_up,
               ((c - o) * 10)::DECIMAL(18, 0) * 0.001 AS change,
               ((c + 5) // 10)::DECIMAL(18, 0) * 0.1 AS rounded, (c // 100)::INT AS whole
        FROM r
        """,
        (
            1381118399999999,
            *edges(1381118400000000, 180 * SECOND),
            *edges(1381149660000000, 180 * SECOND),
            1381175940000000 + 180 * SECOND + 1,
        ),
    ),
    Case(
        "window_on_a_filtered_stream",
        flows("mixed", "flows_mixed")
        + """
        CREATE QUERY q AS
        SELECT d.dst_ip, d.ts_us, t.flows
        FROM (SELECT dst_ip, ts_us FROM mixed WHERE service = 'dns') [ROWS 6] AS d
        FULL JOIN (SELECT dst_ip, count(*) AS flows
                   FROM (SELECT dst_ip FROM mixed WHERE resp_bytes > 0) [ROWS 40] AS w
                   GROUP BY dst_ip) AS t
          ON d.dst_ip = t.dst_ip;
        """,
        """
        WITH f AS (FROM '{data}/network/flows_mixed.parquet' WHERE ts_us <= $tau),
             d AS (FROM f WHERE service = 'dns' ORDER BY ts_us DESC LIMIT 6),
             w AS (FROM f WHERE resp_bytes > 0 ORDER BY ts_us DESC LIMIT 40),
             t AS (SELECT dst_ip, count(*) AS flows FROM w GROUP BY dst_ip)
        SELECT d.dst_ip, d.ts_us, t.flows FROM d FULL JOIN t ON d.dst_ip = t.dst_ip
        """,
        (18836740, 18836741, 50000000, 99188715, 146542868, 253556106, 900000000),
    ),
    Case(
        "unbounded_join_answers_as_a_stream",
        flows("vertical", "flows_vertical_scan")
        + flows("horizontal", "flows_horizontal_scan")
        + """
        CREATE QUERY q AS
        SELECT h.dst_ip, v.dst_port, h.proto
        FROM horizontal AS h JOIN vertical [ROWS UNBOUNDED] AS v
          ON h.dst_port = v.dst_port AND h.proto = v.proto;
        """,
        """
        SELECT h.dst_ip, v.dst_port, h.proto
        FROM '{data}/network/flows_horizontal_scan.parquet' h
        JOIN '{data}/network/flows_vertical_scan.parquet' v
          ON h.dst_port = v.dst_port AND h.proto = v.proto
        WHERE greatest(h.ts_us, v.ts_us) = $tau
        """,
        (
            956065098,
            1700828213098448,
            1700828213195373,
            1700828217719692,
            1700828217922313,
            1700828218120966,
            1700828218126877,
            1700828218126878,
        ),
    ),
    Case(
        "window_shorter_than_its_slide",
        WEATHER
        + """
        CREATE QUERY q AS
        SELECT origin, ts, extract(HOUR FROM ts) AS hour, date_trunc('DAY', ts) AS day,
               temp, wind_gust IS NULL AS calm, precip > 0 OR wind_gust > 25 AS bad
        FROM weather [RANGE 2 HOURS SLIDE 6 HOURS];
        """,
        """
        SELECT origin, ts, extract(HOUR FROM ts)::INT AS hour,
               date_trunc('day', ts)::TIMESTAMP AS day, temp, wind_gust IS NULL AS calm,
               precip > 0 OR wind_gust > 25 AS bad
        FROM '{data}/web/weather_nyc_201301.parquet'
        WHERE epoch_us(ts) >= ($tau // 21600000000) * 21600000000 - 7200000000
          AND epoch_us(ts) < ($tau // 21600000000) * 21600000000
        """,
        (
            at("2013-01-01 05:59:59"),
            at("2013-01-01 11:59:59"),
            *steps(at("2013-01-01 12:00:00")),
            *steps(at("2013-01-16 18:00:00")),
            at("2013-01-31 00:01:00"),
            *steps(at("2013-02-01 12:00:00")),
        ),
    ),
    Case(
        "rows_in_pairs_and_empty_subqueries",
        packets("alexa", "alexa_home")
        + """
        CREATE QUERY q AS
        SELECT src_ip, dst_ip, proto,
               (SELECT max(frame_len) FROM alexa [RANGE 1 SECOND] AS o
                WHERE o.src_ip = a.dst_ip) AS largest_back,
               (SELECT ttl FROM alexa [NOW] AS n WHERE n.proto = a.proto) AS ttl_now
        FROM alexa [RANGE 400 MILLISECONDS] AS a
        WHERE (src_ip, dst_ip) IN (SELECT dst_ip, src_ip FROM alexa [RANGE 400 MILLISECONDS])
           OR src_ip IS NULL
              AND src_ip NOT IN (SELECT dst_ip FROM alexa [NOW] WHERE frame_len > 9000);
        """,
        """
        WITH f AS (FROM '{data}/network/alexa_home.parquet' WHERE ts_us <= $tau),
             a AS (FROM f WHERE ts_us >= $tau - 400000)
        SELECT src_ip, dst_ip, proto,
               (SELECT max(frame_len) FROM f
                WHERE ts_us >= $tau - 1000000 AND f.src_ip = a.dst_ip) AS largest_back,
               (SELECT CASE WHEN count(*) = 1 THEN any_value(ttl) END FROM f
                WHERE ts_us = $tau AND f.proto = a.proto) AS ttl_now
        FROM a
        WHERE src_ip IS NULL
           OR EXISTS (FROM a AS b WHERE b.dst_ip = a.src_ip AND b.src_ip = a.dst_ip)
        """,
        (
            1490976022526782,
            *edges(1490976022526783, 400 * MILLISECOND),
            *edges(1490976095006696, 400 * MILLISECOND),
            *edges(1490976048620673, 400 * MILLISECOND),
            1490976199176069,
        ),
    ),
    Case(
        "limit_alone_orders_by_all_columns",
        packets("kakao", "kakaotalk_mobile")
        + """
        CREATE QUERY q AS
        SELECT tcp_flags, src_port, frame_len FROM kakao [RANGE 1 SECOND] LIMIT 6 OFFSET 2;
        """,
        """
        SELECT tcp_flags, src_port, frame_len FROM '{data}/network/kakaotalk_mobile.parquet'
        WHERE ts_us BETWEEN $tau - 1000000 AND $tau
        ORDER BY tcp_flags NULLS FIRST, src_port NULLS FIRST, frame_len NULLS FIRST
        LIMIT 6 OFFSET 2
        """,
        (
            1430069140120550,
            *edges(1430069140453803, SECOND),
            *edges(1430069181967963, SECOND),
            1430069216559027 + SECOND,
            1430069216559027 + SECOND + 1,
        ),
    ),
    Case(
        "nulls_at_the_ends_of_an_order",
        packets("alexa", "alexa_home")
        + """
        CREATE QUERY q AS
        SELECT ISTREAM dst_port, proto, count(*) AS frames FROM alexa [RANGE 30 SECONDS]
        GROUP BY ALL ORDER BY dst_port DESC NULLS FIRST, proto LIMIT 5;
        """,
        """
        (SELECT dst_port, proto, count(*) AS frames FROM '{data}/network/alexa_home.parquet'
         WHERE ts_us BETWEEN $tau - 30000000 AND $tau GROUP BY ALL
         ORDER BY dst_port DESC NULLS FIRST, proto NULLS FIRST, frames LIMIT 5)
        EXCEPT ALL
        (SELECT dst_port, proto, count(*) AS frames FROM '{data}/network/alexa_home.parquet'
         WHERE ts_us BETWEEN $tau - 30000001 AND $tau - 1 GROUP BY ALL
         ORDER BY dst_port DESC NULLS FIRST, proto NULLS FIRST, frames LIMIT 5)
        """,
        (
            *edges(1490976022526783, 30 * SECOND),
            *edges(1490976048620673, 30 * SECOND),
            *edges(1490976120063154, 30 * SECOND),
            1490976198776068 + 30 * SECOND + 1,
        ),
    ),
    Case(
        "rstream_of_a_join_where_either_side_changes",
        ROAD
        + """
        CREATE QUERY q AS
        SELECT RSTREAM a.vid, b.vid AS other FROM start [RANGE 2] AS a JOIN start [NOW] AS b
          ON a.segment = b.segment AND a.dir = b.dir AND a.vid <> b.vid
        WHERE a.type = 0;
        """,
        """
        SELECT a.vid::INT AS vid, b.vid::INT AS other
        FROM '{data}/benchmarks/linear_road_20s.parquet' a
        JOIN '{data}/benchmarks/linear_road_20s.parquet' b
          ON a.segment = b.segment AND a.dir = b.dir AND a.vid <> b.vid
        WHERE a.type = 0 AND a.time_s BETWEEN $tau - 2 AND $tau AND b.time_s = $tau
        """,
        (-1, 0, 1, 7, 13, 20, 21, 22),
    ),
    Case(
        "stream_of_seconds_in_a_query_of_microseconds",
        ROAD
        + packets("p2p", "gnutella_p2p")
        + """
        CREATE QUERY fast AS SELECT vid, speed_mph FROM start WHERE speed_mph > 30;
        CREATE QUERY q AS
        SELECT f.vid, f.speed_mph, p.frame_len
        FROM fast [RANGE 250 MILLISECONDS] AS f
        JOIN p2p [RANGE 5 SECONDS] AS p ON f.speed_mph % 10 = p.frame_len % 10
        UNION ALL
        SELECT vid, segment, NULL FROM start [RANGE 1] WHERE segment > 80;
        """,
        """
        SELECT r.vid::INT AS vid, r.speed_mph::INT AS speed_mph, p.frame_len
        FROM '{data}/benchmarks/linear_road_20s.parquet' r
        JOIN '{data}/network/gnutella_p2p.parquet' p
          ON r.speed_mph % 10 = p.frame_len % 10
        WHERE r.speed_mph > 30 AND r.time_s * 1000000 BETWEEN $tau - 250000 AND $tau
          AND p.ts_us BETWEEN $tau - 5000000 AND $tau
        UNION ALL
        SELECT vid, segment, NULL FROM '{data}/benchmarks/linear_road_20s.parquet'
        WHERE segment > 80 AND time_s * 1000000 BETWEEN $tau - 1000000 AND $tau
        """,
        (
            -1,
            0,
            22,
            *edges(10 * SECOND, 250 * MILLISECOND),
            *edges(16 * SECOND, 250 * MILLISECOND),
            *edges(12 * SECOND, SECOND),
            21 * SECOND,
            21 * SECOND + 1,
        ),
    ),
)
