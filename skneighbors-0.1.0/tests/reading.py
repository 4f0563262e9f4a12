"""Tables read without an estimator, and cells that no column of objects holds."""

import datetime
import enum
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
from numpy.testing import assert_array_equal

from skneighbors._columns import Table, TableReader

UNREADABLE = {
    "arrays": np.ones(10**6),
    "decimals": Decimal("0.5"),
    "fractions": Fraction(1, 2),
    "durations": datetime.timedelta(1),
    "durations of NumPy": np.timedelta64(36, "h"),
    "times of day": datetime.time(6),
    "periods": pd.Period("1970-02"),
    "intervals": pd.Interval(0, 1),
    "members of an enum": enum.Enum("Color", ["RED"], type=str).RED,
    "frames": pd.DataFrame({"b": [1]}),
    "dicts": {"a": "b" * 10**6},
    "no dicts": {},
    "lists": [[1.0] * 10**5],
    "bytes": b"a" * 10**6,
    "complex": 1j,
    "large": 10**5000,
    "others": object(),
}


def read(X, categorical_features="from_dtype"):
    """Reader of a table, and the matrix that it reads."""
    table = replace(Table.of(X), categorical_features=categorical_features)
    reader = TableReader.of(table)
    return reader, reader.read(table)


def kinds_of(X, categorical_features="from_dtype"):
    """Names of the kinds of a table's columns."""
    return [kind.name for kind in read(X, categorical_features)[0].kinds]


def learn(X, y, weight):
    """Reader that has learned from targets, and the matrix that it reads."""
    reader, matrix = read(X)
    reader, matrix = reader.learn(matrix, np.reshape(y, (len(y), -1)), weight)
    assert_array_equal(reader.read(Table.of(X)), matrix)
    return reader, matrix
