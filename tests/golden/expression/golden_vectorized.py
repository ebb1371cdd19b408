"""Python for the golden scripts of this folder: functions of whole columns."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg import vectorized


@vectorized
def root(values):
    if pc.any(pc.less(values, 0)).as_py():
        raise ValueError("negative")
    return pc.sqrt(values)


@vectorized
def narrow(values):
    return values


@vectorized
def total(values):
    return pc.sum(values)


@vectorized
def doubled(values):
    return np.concatenate([values, pa.array(values)])
