"""Which row of the bank each sample is part of, beside a list of the rows' samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skneighbors._model.numbering import SampleNumbering

WEIGHTS = st.sampled_from([0.0, 0.5, 1.0, 3.0])


class Model:
    """The same as plain lists: the samples of each row, the weights of all samples."""

    def __init__(self, row_of, weight):
        self.rows = [
            [sample for sample, own in enumerate(row_of) if own == row]
            for row in range(max(row_of, default=-1) + 1)
        ]
        self.weight = list(weight)

    def append(self, weight, row_of):
        for own, row in zip(weight, row_of, strict=True):
            if row == len(self.rows):
                self.rows.append([])
            if row >= 0:
                self.rows[row].append(len(self.weight))
            self.weight.append(own)

    def draw_rows(self, data, weight):
        """Rows for further samples: there are, or new; none for those without weight."""
        row_of, n_rows = [], len(self.rows)
        for own in weight:
            row_of.append(data.draw(st.integers(0, n_rows)) if own > 0 else -1)
            n_rows = max(n_rows, row_of[-1] + 1)
        return np.array(row_of, dtype=int)

    def forget(self, indices):
        left = [[sample for sample in row if sample not in indices] for row in self.rows]
        keep = [bool(row) for row in left]
        self.rows = [row for row in left if row]
        for sample in indices:
            self.weight[sample] = np.nan
        return keep, [sum(self.weight[sample] for sample in row) for row in self.rows]

    def check(self, numbering):
        row_of = [-1] * len(self.weight)
        for place, row in enumerate(self.rows):
            for sample in row:
                row_of[sample] = place
        assert len(numbering) == len(self.weight)
        assert_array_equal(numbering.row_of, row_of)
        assert_array_equal(numbering.weight_of, self.weight)
        assert_array_equal(numbering.weights_left, [w for w in self.weight if not np.isnan(w)])
        first = numbering.first_samples(len(self.rows))
        assert_array_equal(first, [min(row) for row in self.rows])
        assert first.dtype == np.int64


@st.composite
def fitted(draw):
    """Rows of the bank, each that of one or more samples, and the samples' weights."""
    weight = np.array(draw(st.lists(WEIGHTS, min_size=1, max_size=12).filter(any)))
    rows = draw(st.lists(st.integers(0, 5), min_size=len(weight), max_size=len(weight)))
    row_of = np.full(len(weight), -1)
    present = weight > 0
    row_of[present] = np.unique(np.array(rows)[present], return_inverse=True)[1]
    return row_of, weight


@given(st.data(), fitted(), st.lists(st.booleans(), max_size=8))
def test_samples_come_and_go_as_in_a_list(data, fitted, steps):
    numbering, model = SampleNumbering(*fitted), Model(*fitted)
    model.check(numbering)
    for appends in steps:
        n_rows = len(model.rows)
        before = numbering, numbering.row_of.copy(), numbering.weight_of.copy()
        if appends:
            weight = data.draw(st.lists(WEIGHTS, max_size=5))
            row_of = model.draw_rows(data, weight)
            numbering = numbering.append(np.array(weight, dtype=float), row_of)
            model.append(weight, row_of)
        else:
            known = np.flatnonzero(~np.isnan(model.weight)).tolist()
            indices = data.draw(st.lists(st.sampled_from(known), unique=True))
            checked = numbering.check_indices(indices)
            assert_array_equal(checked, indices)
            numbering, keep = numbering.forget(checked, n_rows)
            expected_keep, expected_weight = model.forget(indices)
            assert keep.dtype == bool
            assert_array_equal(keep, expected_keep)
            assert_allclose(numbering.row_weights(), expected_weight)
            if not model.rows:  # refused by the estimators
                return
        model.check(numbering)
        assert_array_equal(before[0].row_of, before[1])
        assert_array_equal(before[0].weight_of, before[2])


def append_and_forget(data, fitted, appended):
    """A numbering, and its model, of samples that joined and of which some left."""
    numbering, model = SampleNumbering(*fitted), Model(*fitted)
    row_of = model.draw_rows(data, appended)
    numbering = numbering.append(np.array(appended, dtype=float), row_of)
    model.append(appended, row_of)
    gone = data.draw(st.lists(st.sampled_from(range(len(numbering))), unique=True))
    numbering = numbering.forget(np.array(gone, dtype=int), len(model.rows))[0]
    model.forget(gone)
    return numbering, model


@given(st.data(), fitted(), st.lists(WEIGHTS, max_size=5))
def test_rows_are_named_by_their_samples(data, fitted, appended):
    numbering, model = append_and_forget(data, fitted, appended)
    n_rows = len(model.rows)
    if not n_rows:
        return
    n_queries, c = data.draw(st.integers(1, 4)), data.draw(st.integers(1, n_rows))
    rows = [data.draw(st.permutations(range(n_rows)))[:c] for _ in range(n_queries)]
    named = [
        [(sample, column) for column, row in enumerate(own) for sample in model.rows[row]]
        for own in rows
    ]
    n_samples = data.draw(st.integers(1, min(map(len, named))))
    samples, column = numbering.expand_rows(np.array(rows), n_samples)
    assert samples.shape == column.shape == (n_queries, n_samples)
    pairs = np.array([own[:n_samples] for own in named])
    assert_array_equal(samples, pairs[..., 0])
    assert_array_equal(column, pairs[..., 1])


@pytest.fixture
def numbering():
    """Of six samples: 1 and 3 in one row, 4 of weight 0 and 5 forgotten."""
    row_of = np.array([2, 0, 1, 0, -1, -1])
    return SampleNumbering(row_of, np.array([1.0, 0.5, 2.0, 1.5, 0.0, np.nan]))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (3, [3]),
        ([3, 0], [3, 0]),
        ((4, 1), [4, 1]),
        (range(1, 4), [1, 2, 3]),
        (np.uint8(2), [2]),
        (np.array(2), [2]),
        (np.array([2, 0], dtype=np.uint64), [2, 0]),
        (np.array([2, 0], dtype=np.int8), [2, 0]),
        ([], []),
        (np.empty(0), []),
        ([True, False, False, True, False, False], [0, 3]),
        ([False] * 6, []),
    ],
)
def test_numbers_to_forget(numbering, given, expected):
    indices = numbering.check_indices(given)
    assert_array_equal(indices, np.array(expected, dtype=np.int64))
    assert indices.dtype == np.int64


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (6, "indices must lie between 0 and 5; got 6"),
        ([0, -1], "indices must lie between 0 and 5; got -1"),
        ([0, 7, 8], "got 7"),
        (np.uint64(2**63), f"between 0 and 5; got {2**63}"),  # negative as a signed one
        (np.array([2**64 - 1, 0], dtype=np.uint64), f"between 0 and 5; got {2**64 - 1}"),
        (2**64, f"between 0 and 5; got {2**64}"),
        ([5], "indices holds 5, which is forgotten already"),
        ([0, 5, 5], "indices holds 5, which is forgotten already"),
        ([2, 4, 2], "indices holds 2 more than once"),
        ([1.0], r"indices must be ints or a mask; got 1\.0\."),
        (None, r"indices must have a single dimension; .* \(\)"),
        ([[1]], r"a single dimension; got an array of shape \(1, 1\)"),
        (np.empty((0, 2), dtype=int), r"a single dimension.*shape \(0, 2\)"),
        (True, r"indices is a mask of shape \(1,\); it must have shape \(6,\), one entry for"),
        ([True] * 7, r"mask of shape \(7,\)"),
        (np.ones((6, 1), dtype=bool), r"a single dimension; .* \(6, 1\)"),
        (np.zeros(0, dtype=bool), r"mask of shape \(0,\)"),
        ([False] * 5 + [True], "indices holds 5, which is forgotten already"),
    ],
)
def test_numbers_that_cannot_be_forgotten(numbering, given, message):
    with pytest.raises(ValueError, match=message):
        numbering.check_indices(given)


def test_a_sample_of_weight_zero_may_be_forgotten_once(numbering):
    forgetful, keep = numbering.forget(numbering.check_indices([4]), 3)
    assert keep.all()
    assert_array_equal(forgetful.row_weights(), [2, 2, 1])
    with pytest.raises(ValueError, match="holds 4, which is forgotten already"):
        forgetful.check_indices([4])
