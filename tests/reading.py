"""Tables read without an estimator."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_array_equal

from skneighbors._columns import Table, TableReader


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
