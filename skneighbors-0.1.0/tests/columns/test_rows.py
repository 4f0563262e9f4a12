"""Equal rows are one row with the sum of their weights."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skneighbors._columns.rows import check_total_weight, merge_rows


@pytest.fixture
def data():
    rng = np.random.RandomState(0)
    return rng.normal(size=(40, 3)), rng.normal(size=(40, 2))


def test_keeps_rows_that_differ_in_y_alone():
    X, y = np.array([[0.0], [-0.0], [0.0]]), np.array([[1.0], [1.0], [2.0]])
    rows, weight, row_of = merge_rows(X, y, np.ones(3))
    assert sorted(zip(y[rows].ravel(), weight, strict=True)) == [(1, 2), (2, 1)]
    assert_array_equal(y[rows][row_of], y)


def test_tells_which_row_each_sample_is_part_of(data):
    X, y = (part[np.random.RandomState(1).randint(0, 9, 30)] for part in data)
    weight = np.random.RandomState(2).randint(0, 4, 30) / 2
    rows, merged, row_of = merge_rows(X, y, weight)
    assert_array_equal(row_of == -1, weight == 0)
    for row, (sample, own) in enumerate(zip(rows, merged, strict=True)):
        members = np.flatnonzero(row_of == row)
        assert sample == members[0]
        assert own == weight[members].sum()
        assert_array_equal(X[members], np.tile(X[sample], (len(members), 1)))
        assert_array_equal(y[members], np.tile(y[sample], (len(members), 1)))


@pytest.mark.parametrize("total", [1e-30, 1.0, 1e30])
def test_totals_that_single_precision_holds(total):
    check_total_weight(np.array([total / 2, total / 2]))
    check_total_weight(np.array([total / 2]), np.array([total / 4, total / 4]))


@pytest.mark.parametrize(
    ("weights", "total"),
    [
        ([[0.9e-30]], "9e-31"),
        ([[1.1e30]], r"1\.1e\+30"),
        ([[0.6e30], [0.6e30]], r"1\.2e\+30"),
        ([[0.0], []], "0"),
        ([[1e308, 1e308]], "inf"),
    ],
)
def test_totals_that_it_does_not_hold(weights, total):
    message = rf"sample_weight must sum to between 1e-30 and 1e\+30.*got {total}\.$"
    with pytest.raises(ValueError, match=message):
        check_total_weight(*map(np.array, weights))
