"""The names of types as functions, as in int('12') and date('2020-01-05'), and typeof."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg.coercion import casts_explicitly
from thalweg.errors import QueryError
from thalweg.functions.cast import caster
from thalweg.functions.registry import (
    Compute,
    Kind,
    Nulls,
    Resolve,
    Signature,
    scalar_by_type,
    takes,
    wrong_count,
)
from thalweg.plan.expressions import Expression
from thalweg.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    ArrayType,
    StructType,
    Type,
    decimal,
)

TYPE_FUNCTIONS: dict[str, Type] = {
    "boolean": BOOLEAN,
    "tinyint": TINYINT,
    "smallint": SMALLINT,
    "int": INT,
    "bigint": BIGINT,
    "float": FLOAT,
    "double": DOUBLE,
    "decimal": decimal(10, 0),
    "string": STRING,
    "binary": BINARY,
    "date": DATE,
    "timestamp": TIMESTAMP,
}


def _casts_to(target: Type) -> Resolve:
    def resolve(name: str, arguments: Sequence[Expression]) -> Signature:
        if len(arguments) != 1:
            raise wrong_count(name, 1, 1, len(arguments))
        if not casts_explicitly(arguments[0].type, target):
            raise QueryError(f"{arguments[0].type} cannot be cast to {target}")
        return Signature((arguments[0].type,), target)

    return resolve


def _cast(signature: Signature) -> Compute:
    source, target = signature.arguments[0], signature.result
    return lambda value, zone: caster(source, target, zone)(value)


for _name, _type in TYPE_FUNCTIONS.items():
    scalar_by_type(_name, resolve=_casts_to(_type), zoned=True)(_cast)


@scalar_by_type("typeof", resolve=takes(Kind.ANY, gives=STRING), nulls=Nulls.SEEN)
def _typeof(signature: Signature) -> Callable[[Any], str]:
    """As Spark writes it: array<int>, struct<a:int,b:string>, decimal(10,2)."""
    text = _simple_name(signature.arguments[0])
    return lambda value: text


def _simple_name(type_: Type) -> str:
    match type_:
        case ArrayType(element=element):
            return f"array<{_simple_name(element)}>"
        case StructType(fields=fields):
            return "struct<" + ",".join(f"{f.name}:{_simple_name(f.type)}" for f in fields) + ">"
    return str(type_).lower()
