"""Unnamed columns are called what Spark calls them."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from thalweg.catalog import Catalog
from thalweg.cql.script import parse_query
from thalweg.errors import SourceText
from thalweg.plan.bind_calls import has_aggregate
from thalweg.plan.bind_expressions import ExpressionBinder
from thalweg.plan.expressions import Expression
from thalweg.plan.scope import Scope
from thalweg.plan.text import column_name
from thalweg.settings import Settings
from thalweg.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Field,
    array,
    decimal,
    struct,
)

COLUMNS = (
    Field("a", INT),
    Field("b", STRING),
    Field("d", DOUBLE),
    Field("f", BOOLEAN),
    Field("n", decimal(10, 2)),
    Field("ts", TIMESTAMP),
    Field("dt", DATE),
    Field("xs", array(INT)),
    Field("s", struct(Field("x", INT), Field("y", STRING))),
)

# Different on purpose, or because the parser does not keep how it was written.
DIFFERENT = {
    # BETWEEN is bound as the two comparisons that it means.
    "a between 1 and 3": "((a >= 1) AND (a <= 3))",
    "a not between 1 and 3": "(NOT ((a >= 1) AND (a <= 3)))",
    # EXTRACT is another spelling of date_part.
    "extract(year from ts)": "date_part(YEAR, ts)",
    # The parser does not tell - from negative().
    "negative(a)": "(- a)",
    # Spark shows how it computes: date_add(dt, extractansiintervaldays(…)), lambdas, (a > 1).
    "dt + interval 1 day": "dt + INTERVAL '1' DAY",
    "array_sort(xs)": "array_sort(xs)",
    "a > 1.5": "(a > 1.5)",
    # Intervals have three types here: INTERVAL '01' HOUR is one of DAY TO SECOND.
    "ts + interval 1 hour": "ts + INTERVAL '0 01:00:00' DAY TO SECOND",
    "ts + interval 1 month": "ts + INTERVAL '0-1' YEAR TO MONTH",
    # Spark leaves the second argument out.
    "approx_count_distinct(a, 0.1)": "approx_count_distinct(a, 0.1)",
}

SAME = r"""
a
t.a
A
s.x
t.s.y
xs[0]
xs[a]
1
-1
1.5
1.50
1e3
1.5D
1L
'x'
'it\'s'
true
null
date'2020-01-05'
timestamp'2020-01-05 01:02:03'
interval 1 day
interval '1 02:03:04' day to second
interval '1-2' year to month
X'61'
a + 1
a + 1 * 2
(a + 1) * 2
a + d
a + 1L
a - 1
a / 2
a % 2
a div 2
-a
- (a + 1)
~a
a & 1
a | 1
a ^ 1
a << 1
a >>> 1
+a
-1L
a + 1 || b
a & 1 << 2
a >> 1
a = 1
a <> 1
a != 1
a < 1
a <= 1
a > 1
a >= 1
a <=> 1
a = 1 and f
a = 1 or f and not f
not f
a is null
a is not null
f is true
f is not true
a is distinct from 1
a in (1, 2)
a not in (1, 2)
b like 'x%'
b not like 'x%'
b ilike 'x%'
b rlike 'x'
b like 'x/%' escape '/'
a || b
b || 'x'
concat(b, 'x')
upper(b)
UPPER(b)
ucase(b)
substring(b, 1, 2)
substr(b, 1, 2)
substring(b from 2 for 3)
trim(b)
trim(both 'x' from b)
trim(leading from b)
ltrim(b)
left(b, 2)
length(b)
char_length(b)
replace(b, 'x', 'y')
position('x' in b)
locate('x', b)
coalesce(a, 1)
ifnull(a, 1)
nvl(a, 1)
nullif(a, 1)
nvl2(a, 1, 2)
if(f, 1, 2)
case when f then 1 else 2 end
case when f then 1 end
case a when 1 then 'x' else 'y' end
greatest(a, 1)
abs(a)
round(d, 2)
round(d)
ceil(d)
ceiling(d)
floor(d)
pow(a, 2)
power(a, 2)
sqrt(a)
mod(a, 2)
pmod(a, 2)
sign(a)
signum(a)
ln(a)
log(a)
log10(a)
cast(a as string)
cast(a as decimal(10,2))
cast(1 as bigint)
cast('1' as int)
try_cast(b as int)
a :: string
int(b)
string(a)
date(b)
year(dt)
year(ts)
month(dt)
hour(ts)
date_part('year', ts)
date_trunc('hour', ts)
trunc(dt, 'year')
date_add(dt, 1)
date_sub(dt, 1)
datediff(dt, dt)
dt + 1
dt - 1
ts - ts
dt - dt
to_date(b)
to_date(b, 'yyyy')
to_timestamp(b)
date_format(ts, 'yyyy')
unix_timestamp(ts)
from_unixtime(a)
array(a, 1)
array_contains(xs, 1)
size(xs)
cardinality(xs)
element_at(xs, 1)
named_struct('x', a)
struct(a, b)
count(*)
count(1)
count(a)
count(distinct a)
count(distinct a, b)
sum(a)
sum(distinct a)
avg(a)
mean(a)
min(a)
max(a)
stddev(a)
std(a)
var_samp(a)
variance(a)
any_value(a)
collect_list(a)
collect_set(a)
array_agg(a)
count_if(f)
bool_and(f)
every(f)
some(f)
max_by(a, b)
percentile(a, 0.5)
median(a)
approx_count_distinct(a)
sum(a) filter (where a > 1)
sum(a) / count(*)
sum(a + 1)
round(avg(a), 2)
listagg(b, ',')
mode(a)
corr(a, d)
hash(a)
xxhash64(a, b)
md5(b)
typeof(a)
get_json_object(b, '$.x')
from_json(b, 'x INT')
to_json(s)
regexp_replace(b, 'x', 'y')
regexp_extract(b, 'x', 0)
split(b, ',')
isnull(a)
isnotnull(a)
isnan(d)
nanvl(d, 1)
format_number(d, 2)
lpad(b, 5, 'x')
sequence(1, a)
bit_count(a)
shiftleft(a, 1)
try_add(a, 1)
try_divide(a, 2)
equal_null(a, 1)
timestampadd(hour, 1, ts)
timestampdiff(hour, ts, ts)
dateadd(dt, 1)
pi()
e()
a + b
a = b
b = 1
dt = '2020-01-01'
ts > '2020-01-01'
a + 1.5
n + 1
n * 2
d > 1
lower(b) = 'x'
sort_array(xs)
concat_ws(',', b, 'x')
substring_index(b, ',', 1)
months_between(ts, ts)
make_date(2020, 1, 1)
width_bucket(d, 0, 10, 5)
conv(b, 10, 16)
day(dt)
dayofmonth(dt)
sha(b)
sha1(b)
sha2(b, 256)
len(b)
printf('%d', a)
format_string('%d', a)
decode(b, 'utf-8')
to_unix_timestamp(ts)
try_to_timestamp(b)
cbrt(a)
exp(a)
expm1(a)
rint(a)
sin(a)
cos(a)
tan(a)
cot(a)
sec(a)
csc(a)
asin(a)
acos(a)
atan(a)
sinh(a)
cosh(a)
tanh(a)
asinh(a)
acosh(a)
atanh(a)
degrees(a)
radians(a)
log2(a)
log1p(a)
bin(a)
hex(a)
factorial(a)
atan2(a, d)
hypot(a, d)
log(2, a)
pow(a,2)
bround(d)
bround(d, 1)
ceil(d, 2)
floor(d, 1)
int(b) + 1
int('1')
string(a + 1)
cast(a + 1 as string)
cast(s.x as string)
cast(cast(a as string) as int)
cast(a as string) || 'x'
int(1)
s.x + 1
struct(1 as x, b)
struct(a + 1, 'q')
xs[0] + 1
regexp_extract(b, 'x')
regexp_extract_all(b, 'x')
regexp_instr(b, 'x')
regexp_count(b, 'x')
regexp_substr(b,'x')
regexp_like(b,'x')
regexp(b,'x')
rlike(b,'x')
like(b,'x')
ilike(b,'x')
b not rlike 'x'
b not ilike 'x'
substring(b, 2)
left(b,1)
right(b,1)
lpad(b, 5)
rpad(b, 5)
space(a)
overlay(b placing 'x' from 1)
overlay(b, 'x', 1)
levenshtein(b, 'x')
split_part(b, ',', 1)
startswith(b,'x')
contains(b,'x')
btrim(b)
btrim(b,'x')
ltrim('x', b)
trim('x', b)
rtrim('x', b)
trim(trailing 'x' from b)
trim(both from b)
instr(b,'x')
mask(b)
date_diff(dt, dt)
dateadd(day, 1, ts)
dayofweek(dt)
array_join(xs, ',')
array_position(xs, 1)
slice(xs,1,1)
sequence(1, a, 1)
get(xs, 0)
try_element_at(xs,1)
element_at(xs,1)
arrays_zip(xs, array(1))
array_append(xs,1)
bit_and(a)
min_by(a,b)
approx_percentile(a, 0.5)
percentile_approx(a, 0.5)
stddev_pop(a)
var_pop(a)
string_agg(b)
listagg(b)
bool_or(f)
any(f)
kurtosis(a)
skewness(a)
covar_pop(a,d)
count(distinct a) filter (where f)
ts - interval '1 02:03:04' day to second
ts + interval '1 02:03:04' day to second
dt + interval '1-2' year to month
dt - interval '1-2' year to month
ts + interval '1-2' year to month
interval '1-2' year to month * 2
interval '1 02:03:04' day to second / 2
interval '1 02:03:04' day to second + ts
dt - ts
zeroifnull(a)
nullifzero(a)
decode(b,'utf-8')
encode(b,'utf-8')
base64(b)
url_encode(b)
try_mod(a,2)
try_cast(a + 1 as int)
nvl(a, b)
f and f or f
not f and f
a in (1)
case when f then a when a = 1 then 2 else 3 end
a + null
null + 1
'a' || 'b'
""".strip().splitlines()


def bound(text: str) -> Expression:
    select = parse_query(SourceText("expression", f"SELECT {text}"))
    binder = ExpressionBinder(Scope.of(COLUMNS, "t"), Catalog(), Settings(), no_subqueries)
    return binder.bind(select.expressions[0])


def no_subqueries(*_: object) -> None:
    raise AssertionError("there are no subqueries here")


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> SparkSession:
    columns = ", ".join(f"CAST(NULL AS {field.type}) AS {field.name}" for field in COLUMNS)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.sql(f"SELECT {columns}").createOrReplaceTempView("t")
    return spark


@pytest.mark.spark
@pytest.mark.parametrize("aggregates", [False, True])
def test_names_are_those_of_spark(table: SparkSession, aggregates: bool) -> None:
    mine = {text: bound(text) for text in SAME}
    texts = [text for text in SAME if has_aggregate(mine[text]) == aggregates]
    theirs = table.sql(f"SELECT {', '.join(texts)} FROM t").columns
    wrong = [
        f"{text}: Spark {name!r}, Thalweg {column_name(mine[text])!r}"
        for text, name in zip(texts, theirs, strict=True)
        if column_name(mine[text]) != name
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("text", DIFFERENT)
def test_names_that_differ(text: str) -> None:
    assert column_name(bound(text)) == DIFFERENT[text]
