"""Packets and flows: integer event times in microseconds, many NULLs."""

from __future__ import annotations

from .case import MILLISECOND, SECOND, Case, edges, steps

BERKELEY = """
CREATE STREAM tcp (
  ts_us BIGINT, src_ip STRING, src_port BIGINT, dst_ip STRING, dst_port BIGINT,
  flags STRING, ack BOOLEAN, tcp_payload BIGINT
) TIMESTAMP BY ts_us UNIT MICROSECOND
FROM parquet('{data}/network/tcp_berkeley_2003.parquet');
"""


def packets(name: str, file: str) -> str:
    """The declaration of one of the packet tables, which all have the same columns."""
    return (
        f"CREATE STREAM {name} (ts_us BIGINT NOT NULL, src_ip STRING, dst_ip STRING, "
        "proto SMALLINT, src_port INT, dst_port INT, frame_len INT, ip_len INT, "
        "tcp_flags INT, tcp_payload INT, ttl SMALLINT, app_proto STRING) "
        "TIMESTAMP BY ts_us UNIT MICROSECOND "
        f"FROM parquet('{{data}}/network/{file}.parquet');\n"
    )


def flows(name: str, file: str) -> str:
    """The declaration of one of the flow tables."""
    return (
        f"CREATE STREAM {name} (ts_us BIGINT, src_ip STRING, dst_ip STRING, dst_port BIGINT, "
        "proto STRING, service STRING, duration DOUBLE, orig_bytes BIGINT, resp_bytes BIGINT, "
        "conn_state STRING) TIMESTAMP BY ts_us UNIT MICROSECOND "
        f"FROM parquet('{{data}}/network/{file}.parquet');\n"
    )


CASES = (
    Case(
        "talkers_in_the_last_half_minute",
        BERKELEY
        + """
        CREATE QUERY q AS
        SELECT dst_ip, count(*) AS packets, sum(tcp_payload) AS bytes,
               avg(tcp_payload) AS mean, min(src_port) AS low, max(src_port) AS high
        FROM tcp [RANGE 30 SECONDS]
        GROUP BY dst_ip HAVING count(*) > 5 AND sum(tcp_payload) > 0;
        """,
        """
        SELECT dst_ip, count(*) AS packets, sum(tcp_payload) AS bytes,
               avg(tcp_payload) AS mean, min(src_port) AS low, max(src_port) AS high
        FROM '{data}/network/tcp_berkeley_2003.parquet'
        WHERE ts_us BETWEEN $tau - 30000000 AND $tau
        GROUP BY dst_ip HAVING count(*) > 5 AND sum(tcp_payload) > 0
        """,
        (
            1054843347152494,
            *edges(1054843595235292, 30 * SECOND),
            1054843700000000,
            1054844559509932 + 30 * SECOND,
            1054844559509932 + 30 * SECOND + 1,
        ),
    ),
    Case(
        "handshakes_by_self_join",
        BERKELEY
        + """
        CREATE QUERY q AS
        SELECT s.src_ip, s.src_port, s.dst_ip, s.dst_port, a.ts_us - s.ts_us AS wait_us
        FROM tcp [RANGE 20 SECONDS] AS s
        JOIN tcp [RANGE 5 SECONDS] AS a
          ON s.src_ip = a.dst_ip AND s.dst_ip = a.src_ip
         AND s.src_port = a.dst_port AND s.dst_port = a.src_port
        WHERE s.flags = 'S' AND NOT s.ack AND a.flags = 'S' AND a.ack AND a.ts_us >= s.ts_us;
        """,
        """
        WITH r AS (FROM '{data}/network/tcp_berkeley_2003.parquet' WHERE flags = 'S')
        SELECT s.src_ip, s.src_port, s.dst_ip, s.dst_port, a.ts_us - s.ts_us AS wait_us
        FROM (FROM r WHERE ts_us BETWEEN $tau - 20000000 AND $tau AND NOT ack) s,
             (FROM r WHERE ts_us BETWEEN $tau - 5000000 AND $tau AND ack) a
        WHERE s.src_ip = a.dst_ip AND s.dst_ip = a.src_ip
          AND s.src_port = a.dst_port AND s.dst_port = a.src_port AND a.ts_us >= s.ts_us
        """,
        (
            1054843347152494,
            *edges(1054843347152495, 20 * SECOND),
            *edges(1054843576424311 + 977, 5 * SECOND),
            *edges(1054843577408319, 20 * SECOND),
            1054844600000000,
        ),
    ),
    Case(
        "syn_without_answer_by_anti_join",
        BERKELEY
        + """
        CREATE QUERY q AS
        SELECT s.src_ip, s.dst_ip, s.dst_port
        FROM (SELECT * FROM tcp [RANGE 1 MINUTE] WHERE flags = 'S' AND NOT ack) AS s
        LEFT ANTI JOIN (SELECT * FROM tcp [RANGE 1 MINUTE] WHERE flags = 'S' AND ack) AS a
          ON s.src_ip = a.dst_ip AND s.src_port = a.dst_port;
        """,
        """
        WITH r AS (
          FROM '{data}/network/tcp_berkeley_2003.parquet'
          WHERE flags = 'S' AND ts_us >= $tau - 60000000 AND ts_us <= $tau
        )
        SELECT s.src_ip, s.dst_ip, s.dst_port FROM r s
        WHERE NOT s.ack AND NOT EXISTS (
          FROM r a WHERE a.ack AND s.src_ip = a.dst_ip AND s.src_port = a.dst_port)
        """,
        (
            1054843347152494,
            1054843347152495,
            1054843347166984,
            1054843347166985,
            1054843600000000,
            1054843783739750,
            1054844559509932 + 60 * SECOND + 1,
        ),
    ),
    Case(
        "flood_sources_per_tumbling_second",
        packets("flood", "syn_flood_spoofed")
        + """
        CREATE QUERY q AS
        SELECT count(DISTINCT src_ip) AS sources, count(*) AS packets, count(DISTINCT ttl) AS ttls,
               stddev(frame_len) AS spread, max(ts_us) AS latest
        FROM flood [TUMBLE 1 SECOND];
        """,
        """
        SELECT count(DISTINCT src_ip) AS sources, count(*) AS packets, count(DISTINCT ttl) AS ttls,
               stddev_samp(frame_len) AS spread, max(ts_us) AS latest
        FROM '{data}/network/syn_flood_spoofed.parquet'
        WHERE ts_us >= ($tau // 1000000) * 1000000 - 1000000 AND ts_us < ($tau // 1000000) * 1000000
        HAVING $tau >= 1619605821099510
        """,
        (
            1619605821099509,
            1619605821099510,
            *steps(1619605822000000),
            *steps(1619605823000000),
            1619605846000000,
        ),
    ),
    Case(
        "amplifiers_top_five_hopping",
        packets("dns", "dns_amplification")
        + """
        CREATE QUERY q AS
        SELECT src_ip, sum(ip_len) AS bytes, count(*) AS fragments
        FROM dns [HOP 5 SECONDS, 2 SECONDS]
        GROUP BY src_ip
        ORDER BY bytes DESC, src_ip LIMIT 5;
        """,
        """
        SELECT src_ip, sum(ip_len) AS bytes, count(*) AS fragments
        FROM '{data}/network/dns_amplification.parquet'
        WHERE ts_us >= ($tau // 2000000) * 2000000 - 5000000
          AND ts_us < ($tau // 2000000) * 2000000
        GROUP BY src_ip ORDER BY bytes DESC, src_ip LIMIT 5
        """,
        (
            1632239124430030,
            1632239124430031,
            *steps(1632239126000000),
            *steps(1632239138000000),
            1632239145123456,
            *steps(1632239160000000),
        ),
    ),
    Case(
        "scanned_ports_per_source",
        packets("scan", "syn_port_scan")
        + """
        CREATE QUERY q AS
        SELECT src_ip, dst_ip, count(DISTINCT dst_port) AS ports, min(dst_port) AS low,
               max(dst_port) AS high, bit_or(tcp_flags) AS flags
        FROM scan [RANGE 500 MILLISECONDS]
        WHERE proto = 6
        GROUP BY src_ip, dst_ip;
        """,
        """
        SELECT src_ip, dst_ip, count(DISTINCT dst_port) AS ports, min(dst_port) AS low,
               max(dst_port) AS high, bit_or(tcp_flags) AS flags
        FROM '{data}/network/syn_port_scan.parquet'
        WHERE ts_us BETWEEN $tau - 500000 AND $tau AND proto = 6
        GROUP BY src_ip, dst_ip
        """,
        (
            1278275056274869,
            *edges(1278275056274870, 500 * MILLISECOND),
            *edges(1278275060006823, 500 * MILLISECOND),
            1278275079360213 + 500 * MILLISECOND + 1,
        ),
    ),
    Case(
        "new_flows_as_a_stream",
        packets("p2p", "gnutella_p2p")
        + """
        CREATE QUERY q AS SELECT DISTINCT src_ip, dst_ip, proto FROM p2p;
        """,
        """
        SELECT src_ip, dst_ip, proto FROM '{data}/network/gnutella_p2p.parquet'
        GROUP BY ALL HAVING min(ts_us) = $tau
        """,
        (21, 22, 9752390, 9752391, 90827847, 111487370, 287429698, 600247227),
    ),
    Case(
        "long_frames_as_a_stream",
        packets("kakao", "kakaotalk_mobile")
        + """
        CREATE QUERY q AS
        SELECT ts_us, src_ip, frame_len, frame_len - ip_len AS overhead
        FROM kakao WHERE frame_len BETWEEN 60 AND 200 AND proto <> 6 OR tcp_payload > 40;
        """,
        """
        SELECT ts_us, src_ip, frame_len, frame_len - ip_len AS overhead
        FROM '{data}/network/kakaotalk_mobile.parquet'
        WHERE ts_us = $tau AND (frame_len BETWEEN 60 AND 200 AND proto <> 6 OR tcp_payload > 40)
        """,
        (
            1430069140120550,
            1430069140120551,
            1430069140120552,
            1430069181967963,
            1430069194879279,
            1430069205323798,
            1430069216559028,
        ),
    ),
    Case(
        "istream_of_sizes_nets_equal_rows",
        packets("kakao", "kakaotalk_mobile")
        + """
        CREATE QUERY q AS SELECT ISTREAM frame_len, proto FROM kakao [RANGE 2 SECONDS];
        """,
        """
        SELECT frame_len, proto FROM '{data}/network/kakaotalk_mobile.parquet'
        WHERE ts_us BETWEEN $tau - 2000000 AND $tau
        EXCEPT ALL
        SELECT frame_len, proto FROM '{data}/network/kakaotalk_mobile.parquet'
        WHERE ts_us BETWEEN $tau - 2000001 AND $tau - 1
        """,
        (
            1430069140120550,
            *edges(1430069140120551, 2 * SECOND),
            *edges(1430069194879279, 2 * SECOND),
            1430069216559027 + 2 * SECOND + 1,
        ),
    ),
    Case(
        "dstream_of_counts",
        packets("kakao", "kakaotalk_mobile")
        + """
        CREATE QUERY q AS
        SELECT DSTREAM proto, count(*) AS packets FROM kakao [RANGE 1 SECOND] GROUP BY proto;
        """,
        """
        SELECT proto, count(*) AS packets FROM '{data}/network/kakaotalk_mobile.parquet'
        WHERE ts_us BETWEEN $tau - 1000001 AND $tau - 1 GROUP BY proto
        EXCEPT ALL
        SELECT proto, count(*) AS packets FROM '{data}/network/kakaotalk_mobile.parquet'
        WHERE ts_us BETWEEN $tau - 1000000 AND $tau GROUP BY proto
        """,
        (
            1430069140120550,
            *edges(1430069140120551, SECOND),
            *edges(1430069181967963, SECOND),
            1430069216559027 + SECOND + 1,
            1430069216559027 + SECOND + 2,
        ),
    ),
    Case(
        "rstream_where_a_row_comes_or_goes",
        packets("kakao", "kakaotalk_mobile")
        + """
        CREATE QUERY q AS
        SELECT RSTREAM src_ip, frame_len FROM kakao [RANGE 100 MILLISECONDS] WHERE proto = 17;
        """,
        """
        SELECT src_ip, frame_len FROM '{data}/network/kakaotalk_mobile.parquet'
        WHERE ts_us BETWEEN $tau - 100000 AND $tau AND proto = 17
          AND EXISTS (FROM '{data}/network/kakaotalk_mobile.parquet'
                      WHERE ts_us = $tau OR ts_us + 100001 = $tau)
        """,
        (
            *edges(1430069194879279, 100 * MILLISECOND),
            *edges(1430069205323798, 100 * MILLISECOND),
            1430069216559027,
            1430069216559028,
        ),
    ),
    Case(
        "rstream_at_every_slide",
        flows("horizontal", "flows_horizontal_scan")
        + """
        CREATE QUERY q AS
        SELECT RSTREAM dst_ip, service, duration, resp_bytes
        FROM horizontal [RANGE 4 SECONDS SLIDE 2 SECONDS] WHERE orig_bytes > 0 OR service IS NULL;
        """,
        """
        SELECT dst_ip, service, duration, resp_bytes
        FROM '{data}/network/flows_horizontal_scan.parquet'
        WHERE ts_us >= $tau - 4000000 AND ts_us < $tau AND $tau % 2000000 = 0
          AND (orig_bytes > 0 OR service IS NULL)
        """,
        (
            928943457,
            *steps(930000000),
            *steps(932000000),
            *steps(934000000),
            *steps(948000000),
            *steps(958000000),
            964000000,
            966000000,
        ),
    ),
    Case(
        "nulls_are_one_group",
        packets("alexa", "alexa_home")
        + """
        CREATE QUERY q AS
        SELECT proto, dst_port IS NULL AS portless, count(*) AS frames, count(dst_port) AS ports,
               sum(tcp_payload) AS payload, max(src_ip) AS source
        FROM alexa [RANGE 20 SECONDS]
        GROUP BY proto, dst_port IS NULL;
        """,
        """
        SELECT proto, dst_port IS NULL AS portless, count(*) AS frames, count(dst_port) AS ports,
               sum(tcp_payload) AS payload, max(src_ip) AS source
        FROM '{data}/network/alexa_home.parquet'
        WHERE ts_us BETWEEN $tau - 20000000 AND $tau GROUP BY ALL
        """,
        (
            1490976022526782,
            *edges(1490976022526783, 20 * SECOND),
            *edges(1490976095006696, 20 * SECOND),
            1490976198776068 + 20 * SECOND + 1,
        ),
    ),
    Case(
        "null_never_joins_full_join",
        packets("alexa", "alexa_home")
        + """
        CREATE QUERY q AS
        SELECT a.src_ip, a.dst_port, b.dst_ip, b.frame_len
        FROM alexa [RANGE 1 SECOND] AS a
        FULL JOIN alexa [ROWS 12] AS b ON a.dst_port = b.src_port AND a.src_ip = b.dst_ip;
        """,
        """
        WITH a AS (FROM '{data}/network/alexa_home.parquet'
                   WHERE ts_us BETWEEN $tau - 1000000 AND $tau),
             b AS (FROM '{data}/network/alexa_home.parquet' WHERE ts_us <= $tau
                   ORDER BY ts_us DESC LIMIT 12)
        SELECT a.src_ip, a.dst_port, b.dst_ip, b.frame_len
        FROM a FULL JOIN b ON a.dst_port = b.src_port AND a.src_ip = b.dst_ip
        """,
        (
            1490976022526782,
            *edges(1490976022526783, SECOND),
            *edges(1490976048926772, SECOND),
            1490976139834534,
            1490976198776068 + SECOND + 1,
        ),
    ),
    Case(
        "not_in_with_nulls_and_in",
        packets("alexa", "alexa_home")
        + """
        CREATE QUERY q AS
        SELECT src_ip, dst_port, app_proto FROM alexa [RANGE 3 SECONDS]
        WHERE app_proto IN ('DNS', 'HTTP', 'ARP', 'TCP')
          AND src_ip NOT IN (SELECT dst_ip FROM alexa [RANGE 500 MILLISECONDS]);
        """,
        """
        SELECT src_ip, dst_port, app_proto FROM '{data}/network/alexa_home.parquet'
        WHERE ts_us BETWEEN $tau - 3000000 AND $tau
          AND app_proto IN ('DNS', 'HTTP', 'ARP', 'TCP')
          AND src_ip NOT IN (SELECT dst_ip FROM '{data}/network/alexa_home.parquet'
                             WHERE ts_us BETWEEN $tau - 500000 AND $tau)
        """,
        (
            1490976022526782,
            *edges(1490976043617123, 500 * MILLISECOND),
            *edges(1490976094729619, 500 * MILLISECOND),
            1490976139834534,
            1490976201776069,
        ),
    ),
    Case(
        "modbus_reply_within_a_band",
        packets("modbus", "modbus_scada")
        + """
        CREATE QUERY q AS
        SELECT r.src_ip, r.ts_us AS asked, a.ts_us - r.ts_us AS wait_us, a.tcp_payload
        FROM modbus [RANGE 200 MILLISECONDS] AS r, modbus [RANGE 100 MILLISECONDS] AS a
        WHERE r.dst_port = 502 AND a.src_port = 502
          AND a.ts_us > r.ts_us AND a.ts_us - r.ts_us < 8000;
        """,
        """
        SELECT r.src_ip, r.ts_us AS asked, a.ts_us - r.ts_us AS wait_us, a.tcp_payload
        FROM '{data}/network/modbus_scada.parquet' r, '{data}/network/modbus_scada.parquet' a
        WHERE r.ts_us BETWEEN $tau - 200000 AND $tau AND a.ts_us BETWEEN $tau - 100000 AND $tau
          AND r.dst_port = 502 AND a.src_port = 502
          AND a.ts_us > r.ts_us AND a.ts_us - r.ts_us < 8000
        """,
        (
            1381967744641997,
            *edges(1381967758987957, 100 * MILLISECOND),
            *edges(1381967773389038, 200 * MILLISECOND),
            1381967802468566 + 100 * MILLISECOND + 1,
        ),
    ),
    Case(
        "flow_states_and_moments",
        flows("mixed", "flows_mixed")
        + """
        CREATE QUERY q AS
        SELECT proto, CASE WHEN conn_state IN ('SF', 'S1') THEN 'good'
                           WHEN conn_state LIKE 'RST%' THEN 'reset' ELSE 'other' END AS verdict,
               count(*) AS flows, sum(duration) AS total, avg(duration) AS mean,
               stddev(duration) AS deviation, var_pop(duration) AS variance,
               sum(orig_bytes + resp_bytes) AS bytes
        FROM mixed [RANGE 1 MINUTE 30 SECONDS]
        GROUP BY proto, CASE WHEN conn_state IN ('SF', 'S1') THEN 'good'
                             WHEN conn_state LIKE 'RST%' THEN 'reset' ELSE 'other' END;
        """,
        """
        SELECT proto, CASE WHEN conn_state IN ('SF', 'S1') THEN 'good'
                           WHEN conn_state LIKE 'RST%' THEN 'reset' ELSE 'other' END AS verdict,
               count(*) AS flows, sum(duration) AS total, avg(duration) AS mean,
               stddev_samp(duration) AS deviation, var_pop(duration) AS variance,
               sum(orig_bytes + resp_bytes) AS bytes
        FROM '{data}/network/flows_mixed.parquet'
        WHERE ts_us BETWEEN $tau - 90000000 AND $tau GROUP BY ALL
        """,
        (
            18836740,
            *edges(18836741, 90 * SECOND),
            *edges(146542868, 90 * SECOND),
            272255421 + 90 * SECOND + 1,
        ),
    ),
    Case(
        "union_of_two_scans",
        flows("vertical", "flows_vertical_scan")
        + flows("horizontal", "flows_horizontal_scan")
        + """
        CREATE QUERY q AS
        SELECT conn_state, proto FROM horizontal [RANGE 5 SECONDS]
        UNION
        SELECT conn_state, proto FROM vertical [RANGE 2 SECONDS];
        """,
        """
        SELECT conn_state, proto FROM '{data}/network/flows_horizontal_scan.parquet'
        WHERE ts_us BETWEEN $tau - 5000000 AND $tau
        UNION
        SELECT conn_state, proto FROM '{data}/network/flows_vertical_scan.parquet'
        WHERE ts_us BETWEEN $tau - 2000000 AND $tau
        """,
        (
            928943456,
            *edges(956065098, 5 * SECOND),
            960869113 + 5 * SECOND + 1,
            *edges(1700828217922313, 2 * SECOND),
            1700828218126877 + 2 * SECOND + 1,
        ),
    ),
    Case(
        "ports_the_other_scan_did_not_try_as_bags",
        flows("vertical", "flows_vertical_scan")
        + flows("mixed", "flows_mixed")
        + """
        CREATE QUERY q AS
        SELECT dst_port, proto FROM mixed [ROWS 200] EXCEPT ALL
        SELECT dst_port, proto FROM vertical [ROWS 40];
        """,
        """
        (SELECT dst_port, proto FROM '{data}/network/flows_mixed.parquet'
         WHERE ts_us <= $tau ORDER BY ts_us DESC LIMIT 200)
        EXCEPT ALL
        (SELECT dst_port, proto FROM '{data}/network/flows_vertical_scan.parquet'
         WHERE ts_us <= $tau ORDER BY ts_us DESC LIMIT 40)
        """,
        (
            18836740,
            18836741,
            146542868,
            272255421,
            1700828213098447,
            1700828213098448,
            1700828217922313,
            1800000000000000,
        ),
    ),
    Case(
        "unanswered_lookups_by_semi_join_over_views",
        packets("home", "netflix_home")
        + """
        CREATE VIEW lookups (client, client_port, asked) AS
        SELECT src_ip, src_port, ts_us FROM home [RANGE 10 SECONDS] WHERE dst_port = 53;
        CREATE QUERY q AS
        SELECT l.client, l.client_port, l.asked FROM lookups AS l
        LEFT SEMI JOIN home [RANGE 10 SECONDS] AS h
          ON h.src_port = 53 AND h.dst_port = l.client_port AND h.ts_us < l.asked + 30000;
        """,
        """
        WITH h AS (FROM '{data}/network/netflix_home.parquet'
                   WHERE ts_us BETWEEN $tau - 10000000 AND $tau)
        SELECT src_ip AS client, src_port AS client_port, ts_us AS asked FROM h AS l
        WHERE dst_port = 53 AND EXISTS (
          FROM h WHERE h.src_port = 53 AND h.dst_port = l.src_port AND h.ts_us < l.ts_us + 30000)
        """,
        (
            1484319030789584,
            *edges(1484319032865799, 10 * SECOND),
            1484319049510947,
            1484319059351882,
            1484319064852082,
            1484319130726363,
        ),
    ),
)
