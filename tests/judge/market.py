"""Ticks, bars, tweets and headlines: ties within an instant, money, text."""

from __future__ import annotations

from .case import DAY, HOUR, MINUTE, SECOND, Case, at, edges, steps

TRADES = """
CREATE STREAM trades (ts_us BIGINT, symbol STRING, price DOUBLE, size INT, exchange STRING,
                      condition STRING, suspicious BOOLEAN)
TIMESTAMP BY ts_us UNIT MICROSECOND FROM parquet('{data}/market/trades_20131007.parquet');
"""

QUOTES = """
CREATE STREAM quotes (ts_us BIGINT, bid DOUBLE, bid_size INT, ask DOUBLE, ask_size INT,
                      exchange STRING)
TIMESTAMP BY ts_us UNIT MICROSECOND FROM parquet('{data}/market/quotes_ibm_20131007.parquet');
"""

MULTI = """
CREATE STREAM ticks (ts_us BIGINT, symbol STRING, price DOUBLE, size BIGINT)
TIMESTAMP BY ts_us UNIT US FROM parquet('{data}/market/trades_multi_20140917.parquet');
"""

EUROPE = """
CREATE STREAM europe (ts_us BIGINT, price DOUBLE, size BIGINT, numtrades BIGINT)
TIMESTAMP BY ts_us UNIT MICROSECOND FROM parquet('{data}/market/trades_europe_20130608.parquet');
"""

TWEETS = """
CREATE STREAM tweets (ts_us BIGINT, symbol STRING, author STRING, followers BIGINT,
                      is_retweet BOOLEAN, text STRING)
TIMESTAMP BY ts_us UNIT MICROSECOND FROM parquet('{data}/market/tweets_stocks_201406.parquet');
"""


def bars(name: str, file: str) -> str:
    """The declaration of one of the tables of minute bars."""
    return (
        f"CREATE STREAM {name} (ts_us BIGINT, symbol STRING, open DOUBLE, high DOUBLE, "
        "low DOUBLE, close DOUBLE, volume BIGINT) TIMESTAMP BY ts_us UNIT MICROSECOND "
        f"FROM parquet('{{data}}/market/{file}.parquet');\n"
    )


CASES = (
    Case(
        "vwap_of_the_last_minute",
        MULTI
        + """
        CREATE QUERY q AS
        SELECT symbol, sum(price * size) / sum(size) AS vwap, count(*) AS trades,
               count(DISTINCT price) AS prices, stddev_pop(price) AS spread
        FROM ticks [RANGE 1 MINUTE] WHERE size > 1 GROUP BY symbol;
        """,
        """
        SELECT symbol, sum(price * size) / sum(size) AS vwap, count(*) AS trades,
               count(DISTINCT price) AS prices, stddev_pop(price) AS spread
        FROM '{data}/market/trades_multi_20140917.parquet'
        WHERE ts_us BETWEEN $tau - 60000000 AND $tau AND size > 1 GROUP BY symbol
        """,
        (
            1410946200531656,
            *edges(1410946200531657, MINUTE),
            *edges(1410955710818828, MINUTE),
            at("2014-09-17 12:00:00"),
            1410969599874346 + MINUTE + 1,
        ),
    ),
    Case(
        "minute_bars_with_money",
        TRADES
        + """
        CREATE QUERY q AS
        SELECT symbol, min_by(price, ts_us) AS open, max(price) AS high, min(price) AS low,
               max_by(price, ts_us) AS close, sum(size) AS volume,
               sum(CAST(price AS DECIMAL(10, 2)) * size) AS turnover,
               avg(CAST(price AS DECIMAL(10, 2))) AS mean
        FROM trades [TUMBLE 1 MINUTE] WHERE condition NOT LIKE '2000%' GROUP BY symbol;
        """,
        """
        WITH r AS (
          SELECT *, min(ts_us) OVER (PARTITION BY symbol) AS first,
                 max(ts_us) OVER (PARTITION BY symbol) AS last,
                 CAST(price * 100 AS BIGINT) * 10000 AS ticks
          FROM '{data}/market/trades_20131007.parquet'
          WHERE ts_us >= ($tau // 60000000) * 60000000 - 60000000
            AND ts_us < ($tau // 60000000) * 60000000 AND NOT starts_with(condition, '2000')
        )
        SELECT symbol, min(price) FILTER (ts_us = first) AS open, max(price) AS high,
               min(price) AS low, min(price) FILTER (ts_us = last) AS close, sum(size) AS volume,
               sum(CAST(price AS DECIMAL(10, 2)) * size) AS turnover,
               ((2 * sum(ticks) + count(*)) // (2 * count(*)))::DECIMAL(18, 0) * 0.000001 AS mean
        FROM r GROUP BY symbol
        """,
        (
            1381118400613999,
            *steps(at("2013-10-07 04:01:00")),
            *steps(at("2013-10-07 09:31:00")),
            *steps(at("2013-10-07 12:00:00")),
            at("2013-10-07 16:02:00"),
            at("2013-10-07 20:01:00"),
        ),
    ),
    Case(
        "trades_outside_the_latest_quotes",
        """
        CREATE STREAM trades (ts_us BIGINT, symbol STRING, price DOUBLE, size INT, exchange STRING,
                              condition STRING, suspicious BOOLEAN)
        TIMESTAMP BY ts_us UNIT MICROSECOND FROM parquet('{data}/market/trades_20131007.parquet');
        """
        + QUOTES
        + """
        CREATE QUERY q AS
        SELECT t.ts_us, t.price, t.size, k.exchange, k.bid, k.ask
        FROM (SELECT * FROM trades [RANGE 10 SECONDS] WHERE symbol = 'IBM') AS t
        JOIN quotes [PARTITION BY exchange ROWS 1] AS k
          ON t.price < k.bid OR t.price > k.ask AND k.ask > 0;
        """,
        """
        WITH k AS (
          FROM read_parquet('{data}/market/quotes_ibm_20131007.parquet', file_row_number = true)
          WHERE ts_us <= $tau
          QUALIFY row_number() OVER (
            PARTITION BY exchange ORDER BY ts_us DESC, file_row_number DESC) = 1
        )
        SELECT t.ts_us, t.price, t.size, k.exchange, k.bid, k.ask
        FROM '{data}/market/trades_20131007.parquet' t, k
        WHERE t.symbol = 'IBM' AND t.ts_us BETWEEN $tau - 10000000 AND $tau
          AND (t.price < k.bid OR t.price > k.ask AND k.ask > 0)
        """,
        (
            1381118400053999,
            1381118400054000,
            *edges(1381143200426000, 10 * SECOND),
            at("2013-10-07 09:30:05"),
            1381149809402000,
            1381176000122000 + 10 * SECOND + 1,
        ),
    ),
    Case(
        "three_symbols_of_one_size",
        MULTI
        + """
        CREATE QUERY q AS
        SELECT a.size, a.price AS a, b.price AS b, e.price AS e,
               a.price * 0.5 + b.price * 0.5 - e.price AS basket
        FROM (SELECT * FROM ticks [RANGE 30 SECONDS] WHERE symbol = 'AAA') AS a
        JOIN (SELECT * FROM ticks [RANGE 45 SECONDS] WHERE symbol = 'BBB') AS b ON a.size = b.size
        JOIN (SELECT * FROM ticks [RANGE 1 MINUTE] WHERE symbol = 'ETF') AS e ON e.size = b.size;
        """,
        """
        WITH r AS (FROM '{data}/market/trades_multi_20140917.parquet' WHERE ts_us <= $tau)
        SELECT a.size, a.price AS a, b.price AS b, e.price AS e,
               a.price * 0.5 + b.price * 0.5 - e.price AS basket
        FROM r a, r b, r e
        WHERE a.symbol = 'AAA' AND b.symbol = 'BBB' AND e.symbol = 'ETF'
          AND a.size = b.size AND b.size = e.size
          AND a.ts_us >= $tau - 30000000 AND b.ts_us >= $tau - 45000000
          AND e.ts_us >= $tau - 60000000
        """,
        (
            1410946200531656,
            1410946200531657,
            *edges(1410950559324649, 30 * SECOND),
            *edges(1410955710818828, 45 * SECOND),
            1410964319044498,
            1410969599874346 + 30 * SECOND,
            1410969599874346 + MINUTE + 1,
        ),
    ),
    Case(
        "last_fifty_trades",
        EUROPE
        + """
        CREATE QUERY q AS
        SELECT avg(price) AS mean, variance(price) AS variance, stddev_samp(size) AS size_spread,
               sum(size) AS size, min(ts_us) AS since, max_by(price, numtrades) AS busiest
        FROM europe [ROWS 50];
        """,
        """
        WITH r AS (FROM '{data}/market/trades_europe_20130608.parquet' WHERE ts_us <= $tau
                   ORDER BY ts_us DESC LIMIT 50)
        SELECT avg(price) AS mean, var_samp(price) AS variance, stddev_samp(size) AS size_spread,
               sum(size) AS size, min(ts_us) AS since,
               min(price) FILTER (numtrades = (SELECT max(numtrades) FROM r)) AS busiest
        FROM r HAVING count(*) > 0
        """,
        (
            1370682001625473,
            1370682001625474,
            1370682001629517,
            1370689002118222,
            1370689002118223,
            1370699546276436,
            1370712599015112,
            1370712599015112 + DAY,
        ),
    ),
    Case(
        "new_prices_enter_as_old_ones_leave",
        EUROPE
        + """
        CREATE QUERY q AS SELECT ISTREAM DISTINCT price FROM europe [ROWS 20];
        """,
        """
        WITH r AS (FROM '{data}/market/trades_europe_20130608.parquet' WHERE ts_us <= $tau)
        SELECT DISTINCT price FROM (FROM r ORDER BY ts_us DESC LIMIT 20)
        EXCEPT ALL
        SELECT DISTINCT price FROM (FROM r WHERE ts_us < $tau ORDER BY ts_us DESC LIMIT 20)
        """,
        (
            1370682001625473,
            1370682001625474,
            1370682001629517,
            1370682001629518,
            1370685848285855,
            1370685852509261,
            1370685865093044,
            1370685865100575,
            1370685866340960,
            1370712599015112,
        ),
    ),
    Case(
        "ticks_that_confirm_the_vendor",
        TRADES
        + bars("vendor", "minute_bars_20131007")
        + """
        CREATE QUERY q AS
        SELECT symbol, sum(size) AS volume FROM trades [TUMBLE 1 MINUTE] GROUP BY symbol
        INTERSECT
        SELECT symbol, volume FROM vendor [TUMBLE 1 MINUTE];
        """,
        """
        SELECT symbol, sum(size) AS volume FROM '{data}/market/trades_20131007.parquet'
        WHERE ts_us >= ($tau // 60000000) * 60000000 - 60000000
          AND ts_us < ($tau // 60000000) * 60000000 GROUP BY symbol
        INTERSECT
        SELECT symbol, volume FROM '{data}/market/minute_bars_20131007.parquet'
        WHERE ts_us = ($tau // 60000000) * 60000000 - 60000000
        """,
        (
            at("2013-10-07 03:59:59"),
            *steps(at("2013-10-07 04:01:00")),
            *steps(at("2013-10-07 09:31:00")),
            at("2013-10-07 11:11:11"),
            at("2013-10-07 13:47:00"),
            at("2013-10-07 16:01:00"),
            at("2013-10-07 20:05:00"),
        ),
    ),
    Case(
        "bars_beside_quotes_left_join_using",
        bars("bars", "minute_bars_201406")
        + """
        CREATE STREAM spreads (ts_us BIGINT, symbol STRING, bid_close DOUBLE, ask_close DOUBLE)
        TIMESTAMP BY ts_us UNIT MICROSECOND
        FROM parquet('{data}/market/minute_quotes_201406.parquet');
        CREATE QUERY q AS
        SELECT ts_us, symbol, s.ask_close - s.bid_close AS spread,
               CASE WHEN b.close > s.ask_close THEN 'above' WHEN b.close < s.bid_close THEN 'below'
                    WHEN b.close IS NOT NULL THEN 'inside' END AS place,
               coalesce(b.volume, 0) AS volume
        FROM spreads [RANGE 5 MINUTES] AS s LEFT JOIN bars [RANGE 5 MINUTES] AS b
          USING (ts_us, symbol);
        """,
        """
        SELECT s.ts_us, s.symbol, s.ask_close - s.bid_close AS spread,
               CASE WHEN b.close > s.ask_close THEN 'above' WHEN b.close < s.bid_close THEN 'below'
                    WHEN b.close IS NOT NULL THEN 'inside' END AS place,
               coalesce(b.volume, 0) AS volume
        FROM '{data}/market/minute_quotes_201406.parquet' s
        LEFT JOIN '{data}/market/minute_bars_201406.parquet' b
          ON s.ts_us = b.ts_us AND s.symbol = b.symbol
        WHERE s.ts_us BETWEEN $tau - 300000000 AND $tau
        """,
        (
            1401940799999999,
            *edges(1401941700000000, 5 * MINUTE),
            *edges(1402058640000000, 5 * MINUTE),
            1402308180000000,
            1402344000000000 + 5 * MINUTE + 1,
        ),
    ),
    Case(
        "tweets_beside_price_moves",
        TWEETS
        + bars("bars", "minute_bars_201406")
        + """
        CREATE QUERY q AS
        SELECT t.symbol, t.author, b.ts_us AS minute, (b.close - b.open) / b.open AS move
        FROM tweets [RANGE 3 HOURS] AS t JOIN bars [RANGE 15 MINUTES] AS b ON t.symbol = b.symbol
        WHERE t.text LIKE '%$AAPL%' AND NOT t.is_retweet AND b.high - b.low > 0.05;
        """,
        """
        SELECT t.symbol, t.author, b.ts_us AS minute, (b.close - b.open) / b.open AS move
        FROM '{data}/market/tweets_stocks_201406.parquet' t
        JOIN '{data}/market/minute_bars_201406.parquet' b ON t.symbol = b.symbol
        WHERE t.ts_us BETWEEN $tau - 10800000000 AND $tau
          AND b.ts_us BETWEEN $tau - 900000000 AND $tau
          AND contains(t.text, '$AAPL') AND NOT t.is_retweet AND b.high - b.low > 0.05
        """,
        (
            1401645188999999,
            *edges(1401982620000000, 15 * MINUTE),
            *edges(1402061400000000, 15 * MINUTE),
            at("2014-06-09 10:00:00"),
            1402421469000000 + 3 * HOUR + 1,
        ),
    ),
    Case(
        "loudest_hashtags_by_regex",
        TWEETS
        + """
        CREATE QUERY q AS
        SELECT lower(regexp_extract(text, '#([A-Za-z]+)', 1)) AS tag, count(*) AS tweets,
               sum(followers) AS reach, count(DISTINCT author) AS authors
        FROM tweets [RANGE 12 HOURS]
        WHERE text RLIKE '#[A-Za-z]+' AND upper(symbol) IN ('AAPL', 'FB', 'GOOG', 'AMZN', 'T')
        GROUP BY lower(regexp_extract(text, '#([A-Za-z]+)', 1))
        ORDER BY tweets DESC, reach DESC LIMIT 4;
        """,
        """
        SELECT lower(regexp_extract(text, '#([A-Za-z]+)', 1)) AS tag, count(*) AS tweets,
               sum(followers) AS reach, count(DISTINCT author) AS authors
        FROM '{data}/market/tweets_stocks_201406.parquet'
        WHERE ts_us BETWEEN $tau - 43200000000 AND $tau
          AND regexp_matches(text, '#[A-Za-z]+')
          AND upper(symbol) IN ('AAPL', 'FB', 'GOOG', 'AMZN', 'T')
        GROUP BY tag ORDER BY tweets DESC, reach DESC, tag, authors LIMIT 4
        """,
        (
            1401645188999999,
            *edges(1401819694000000, 12 * HOUR),
            *edges(1402137372000000, 12 * HOUR),
            1402421469000000 + 12 * HOUR + 1,
        ),
    ),
    Case(
        "headlines_on_the_clock_of_new_york",
        """
        SET timezone = 'America/New_York';
        CREATE STREAM headlines (ts_et TIMESTAMP, headline STRING)
        TIMESTAMP BY ts_et FROM parquet('{data}/market/headlines_cnbc.parquet');
        CREATE QUERY q AS
        SELECT CAST(ts_et AS DATE) AS day, ts_et, length(headline) AS letters,
               CASE WHEN headline LIKE 'Cramer%' THEN 'Cramer'
                    WHEN headline RLIKE '(?i)\\\\b(fed|powell|rates?)\\\\b' THEN 'Fed'
                    WHEN headline ILIKE '%stock_%' THEN 'stocks' ELSE 'other' END AS topic
        FROM headlines [RANGE 3 DAYS SLIDE 1 DAY];
        """,
        """
        WITH r AS (SELECT *, epoch_us(timezone('America/New_York', ts_et)) AS us
                   FROM '{data}/market/headlines_cnbc.parquet')
        SELECT CAST(ts_et AS DATE) AS day, make_timestamp(us) AS ts_et,
               length(headline) AS letters,
               CASE WHEN starts_with(headline, 'Cramer') THEN 'Cramer'
                    WHEN regexp_matches(headline, '(?i)\\b(fed|powell|rates?)\\b') THEN 'Fed'
                    WHEN headline ILIKE '%stock_%' THEN 'stocks' ELSE 'other' END AS topic
        FROM r
        WHERE us >= ($tau // 86400000000 - 3) * 86400000000
          AND us < ($tau // 86400000000) * 86400000000
        """,
        (
            at("2017-12-22 23:51:59"),
            *steps(at("2017-12-23 00:00:00")),
            *steps(at("2018-08-02 00:00:00")),
            *steps(at("2019-03-11 00:00:00")),
            *steps(at("2019-11-20 00:00:00")),
            at("2020-07-21 00:00:00"),
        ),
    ),
)
