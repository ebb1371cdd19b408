"""The built-in functions: what they accept, what they give, what they compute.

One file per subject. Importing the package fills the two tables.
"""

from thalweg.functions import (
    aggregates,
    arrays,
    conditional,
    conversions,
    dates,
    encodings,
    formats,
    hashes,
    instants,
    json_functions,
    mathematics,
    operators,
    patterns,
    sequences,
    strings,
)
from thalweg.functions.aggregates import AGGREGATES, AggregateFunction
from thalweg.functions.registry import SCALARS, Failure, Nulls, ScalarFunction, Signature

__all__ = [
    "AGGREGATES",
    "SCALARS",
    "AggregateFunction",
    "Failure",
    "Nulls",
    "ScalarFunction",
    "Signature",
]

_SUBJECTS = (
    aggregates,
    arrays,
    conditional,
    conversions,
    dates,
    encodings,
    formats,
    hashes,
    instants,
    json_functions,
    mathematics,
    operators,
    patterns,
    sequences,
    strings,
)
