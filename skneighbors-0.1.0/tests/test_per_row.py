"""What comes per row beside X: one reader, and one set of rules for all of it.

Weights of fit, append, score and validation rows; groups; times; numbers of rows to forget.
"""

import datetime
import pickle
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from planned import all_of
from sklearn.base import clone

from skneighbors import NONARegressor
from skneighbors._columns.checks import check_groups, check_time, check_weights
from skneighbors._training.loop import Training

N = 12
QUICK = dict(max_iter=1, hidden_layer_sizes=(4,), n_estimators=1, blend=None, random_state=0)
X = np.random.RandomState(0).normal(size=(N, 2))
y = X[:, 0]


@pytest.fixture(scope="module")
def fitted():
    return NONARegressor(**QUICK).fit(X, y)


@pytest.fixture
def no_training(monkeypatch):
    def run(self):
        raise AssertionError("training began")

    monkeypatch.setattr(Training, "run", run)


# How each argument is given N values, one for each row.
WEIGHTS = {
    "sample_weight of fit": lambda model, own: NONARegressor().fit(X, y, own),
    "sample_weight of append": lambda model, own: model.append(X, y, own),
    "sample_weight of score": lambda model, own: model.score(X, y, own),
    "sample_weight_val": lambda model, own: NONARegressor().fit(
        X, y, X_val=X, y_val=y, sample_weight_val=own
    ),
}
ARGUMENTS = WEIGHTS | {
    "groups": lambda model, own: NONARegressor().fit(X, y, groups=own),
    "time": lambda model, own: NONARegressor().fit(X, y, time=own),
    "indices": lambda model, own: model.forget(own),
}


@pytest.fixture(params=ARGUMENTS)
def argument(request):
    return request.param


def refused(argument, fitted, values, message):
    """Refused by name, with nothing trained and nothing changed."""
    before = fitted._model
    with pytest.raises((ValueError, TypeError), match=message) as error:
        ARGUMENTS[argument](fitted, values)
    assert argument.split()[0] in str(error.value)
    assert len(str(error.value)) < 300
    assert fitted._model is before


NUMBERS = list(range(N))
WITH_A_GAP = {
    "a mask": np.ma.array(NUMBERS, mask=np.arange(N) == 1),
    "a mask of floats": np.ma.array(NUMBERS, mask=np.arange(N) == 1, dtype=float),
    "None": [0, None, *NUMBERS[2:]],
    "NaN in a list": [0, float("nan"), *NUMBERS[2:]],
    "NaN": np.where(np.arange(N) == 1, np.nan, NUMBERS),
    "NA": pd.Series([0, pd.NA, *NUMBERS[2:]], dtype="Int64"),
    "NA in an array": pd.array([0, pd.NA, *NUMBERS[2:]], dtype="Int64"),
    "NA of objects": pd.Series([0, pd.NA, *NUMBERS[2:]], dtype=object),
    "polars": pl.Series([0, None, *NUMBERS[2:]]),
    "Arrow": pa.array([0, None, *NUMBERS[2:]]),
    "chunks of Arrow": pa.chunked_array([[0, None], NUMBERS[2:]]),
}


@pytest.mark.parametrize("values", WITH_A_GAP.values(), ids=WITH_A_GAP)
def test_missing_values_are_refused_or_missing(no_training, fitted, argument, values):
    if argument == "time":
        ranks = check_time(values, np.ones(N))
        assert_array_equal(ranks, [0, np.nan, *range(1, N - 1)])
    else:
        refused(argument, fitted, values, "contains NaN, None or NA")


OTHER_SHAPES = {
    "too few": np.arange(N - 1),
    "too few in a list": list(range(N - 1)),
    "a column": np.arange(N)[:, None],
    "a frame": pd.DataFrame({"a": np.arange(N)}),
    "a set": set(range(N)),
    "a dict": dict.fromkeys(range(N), 1),
}


@pytest.mark.parametrize("values", OTHER_SHAPES.values(), ids=OTHER_SHAPES)
def test_other_shapes_are_refused(no_training, fitted, argument, values):
    if argument == "indices" and np.shape(values) == (N - 1,):
        return
    refused(argument, fitted, values, "must have .*; got an array of shape")


DAYS = np.datetime64("2020-05-01") + np.arange(N)
NO_NUMBERS = {
    "dates": DAYS,
    "dates of pandas": pd.date_range("2020", periods=N),
    "dates in a zone": pd.Series(pd.date_range("2020", periods=N, tz="Asia/Tokyo")),
    "dates of polars": pl.Series(DAYS.astype("M8[D]")),
    "dates in a list": DAYS.tolist(),
    "periods": pd.period_range("2020", periods=N),
    "durations": np.arange(1, N + 1).astype("m8[s]"),
    "durations of polars": pl.Series([datetime.timedelta(1)] * N),
    "times of day": [datetime.time(8)] * N,
    "text": np.array(["2"] * N),
    "text in a list": ["2"] * N,
    "text as categories": pd.Series(["2"] * N, dtype="category"),
    "text beside numbers": [1] * (N - 1) + ["2"],
    "bytes": np.array([b"2"] * N),
    "complex": np.ones(N, dtype=complex),
    "lists": [[1], [1, 2]] * (N // 2),
}


@pytest.mark.parametrize("argument", [*WEIGHTS, "indices"], indirect=True)
@pytest.mark.parametrize("values", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_what_is_no_number_is_refused(no_training, fitted, argument, values):
    refused(argument, fitted, values, "must (hold numbers|be ints or a mask)")


@pytest.mark.parametrize("argument", WEIGHTS, indirect=True)
@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.where(np.arange(N) == 3, -1.0, 1), r"contains negative values, such as -1\.0"),
        (np.where(np.arange(N) == 3, np.inf, 1), "contains infinity"),
        (np.zeros(N), "all weights are zero"),
        (np.full(N, 1e30), "must sum to between 1e-30 and 1e"),
        (np.datetime64("2020"), "must hold numbers"),
        (np.str_("2"), "must hold numbers"),
        (np.ma.masked, "contains NaN"),
        (-1, "contains negative values"),
    ],
)
def test_numbers_that_are_no_weights(no_training, fitted, argument, values, message):
    refused(argument, fitted, values, message)


SAME_WEIGHTS = {
    "floats": np.array([2.0, 0.5, 0.0]),
    "objects": [2, 0.5, False],
    "singles": np.float32([2, 0.5, 0]),
    "decimals": pl.Series([Decimal(2), Decimal("0.5"), Decimal(0)]),
    "an unmasked array": np.ma.array([2, 0.5, 0]),
    "nullable": pd.Series([2, 0.5, 0], dtype="Float64"),
    "polars": pl.Series([2.0, 0.5, 0.0]),
    "Arrow": pa.array([2.0, 0.5, 0.0]),
    "a tensor": torch.tensor([2, 0.5, 0]),
}


@pytest.mark.parametrize("values", SAME_WEIGHTS.values(), ids=SAME_WEIGHTS)
def test_weights_are_found_by_value(values):
    weight = check_weights(values, 3)
    assert weight.dtype == np.float64
    assert_array_equal(weight, [2, 0.5, 0])


def test_one_weight_for_all():
    for one in (2, 2.0, np.float32(2), np.array(2), torch.tensor(2)):
        assert_array_equal(check_weights(one, 3), [2, 2, 2])
    assert_array_equal(check_weights(None, 3), [1, 1, 1])


PLACES = np.random.RandomState(1).permutation(N)
LARGE, NOW = 2**62 + 1, np.datetime64("2023-07-01T12:00:00.000000001", "ns")
NANOSECONDS = NOW + 3 * PLACES.astype("m8[ns]")
INTEGERS = (LARGE + 3 * PLACES).tolist()
FINE = {
    "int64": np.array(INTEGERS),
    "uint64": np.array(INTEGERS, dtype=np.uint64) + np.uint64(2**63),
    "an unmasked array": np.ma.array(INTEGERS),
    "integers of pandas": pd.Series(INTEGERS),
    "nullable": pd.array(INTEGERS, dtype="UInt64"),
    "integers of polars": pl.Series(INTEGERS),
    "integers of Arrow": pa.array(INTEGERS),
    "integers": INTEGERS,
    "beyond 64 bits": [100**20 + own for own in INTEGERS],
    "decimals": pl.Series([Decimal(own) / 8 for own in INTEGERS]),
    "next floats": 1 + PLACES * np.finfo(float).eps,
    "nanoseconds": NANOSECONDS,
    "nanoseconds in an index": pd.DatetimeIndex(NANOSECONDS),
    "nanoseconds in a zone": pd.Series(NANOSECONDS).dt.tz_localize("Asia/Tokyo"),
    "nanoseconds in a list": pd.Series(NANOSECONDS).to_list(),
    "nanoseconds of polars": pl.Series(NANOSECONDS),
    "nanoseconds of Arrow": pa.array(NANOSECONDS),
    "attoseconds": PLACES.astype("M8[as]"),
    "durations": NANOSECONDS - np.datetime64("1970-01-01", "ns"),
    "durations of polars": pl.Series(NANOSECONDS - np.datetime64("1970-01-01", "ns")),
}


@pytest.mark.parametrize("values", FINE.values(), ids=FINE)
def test_values_that_float64_does_not_tell_apart_stay_apart(values):
    assert_array_equal(check_time(values, np.ones(N)), PLACES)
    if not isinstance(values, pl.Series) or values.dtype != pl.Decimal:
        assert len(set(check_groups(values, N))) == N


@given(
    st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.none()), min_size=3),
    st.sampled_from(["list", "Int64", "polars", "Arrow"]),
)
def test_integers_keep_their_order(values, library):
    present = [own for own in values if own is not None]
    if len(set(present)) < 2:
        return
    given = {
        "list": list,
        "Int64": lambda own: pd.Series(own, dtype="Int64"),
        "polars": lambda own: pl.Series(own, dtype=pl.Int64),
        "Arrow": lambda own: pa.array(own, pa.int64()),
    }[library](values)
    ordered = sorted(set(present))
    expected = [np.nan if own is None else ordered.index(own) for own in values]
    assert_array_equal(check_time(given, np.ones(len(values))), expected)


UNREADABLE = {
    "bfloat16": torch.ones(N, dtype=torch.bfloat16),
    "a gradient": torch.ones(N, requires_grad=True),
    "sparse": torch.ones(N).to_sparse(),
}


@pytest.mark.parametrize("values", UNREADABLE.values(), ids=UNREADABLE)
def test_tensors_that_numpy_cannot_read_are_named(no_training, fitted, argument, values):
    refused(argument, fitted, values, "is a Tensor of dtype torch.*, which NumPy cannot read")


@pytest.mark.parametrize("values", UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("extractor", [None, torch.nn.Identity])
def test_tensors_as_X_and_y_are_named(no_training, fitted, values, extractor):
    table = torch.stack([values, values], dim=1)
    model = NONARegressor(feature_extractor=extractor)
    for name, call in {
        "X": lambda: model.fit(table, y),
        "X is": lambda: model.fit(list(table) if table.layout == torch.strided else table, y),
        "X_val: X": lambda: NONARegressor().fit(X, y, X_val=table, y_val=y),
        "X is a": lambda: fitted.predict(table),
        "y": lambda: model.fit(X, values),
        "y is": lambda: fitted.append(X, values),
        "y is a": lambda: fitted.score(X, values),
    }.items():
        with pytest.raises((TypeError, ValueError), match=f"^{name}.*NumPy cannot read"):
            call()


def test_columns_of_one_name_are_named(no_training, fitted):
    table = pa.Table.from_arrays([pa.array(X[:, 0])] * 2, names=["a", "a"])
    for call in (
        lambda: NONARegressor().fit(table, y),
        lambda: fitted.predict(table),
        lambda: fitted.append(table, y),
        lambda: NONARegressor().fit(X, y, X_val=table, y_val=y),
    ):
        with pytest.raises(ValueError, match="Columns of X must have unique names"):
            call()


def test_masked_targets_are_refused(no_training, fitted):
    for call in (NONARegressor().fit, fitted.append, fitted.score):
        with pytest.raises(ValueError, match=r"y contains NaN, None or NA in .* of 12 rows"):
            call(X, np.ma.array(y, mask=y > 0))


MASKED = {
    "values": [np.ma.masked, *y[1:]],
    "arrays": [np.ma.array(own, mask=own > 0) for own in y],
    "rows": [np.ma.array([own], mask=[own > 0]) for own in y],
}


@pytest.mark.parametrize("values", MASKED.values(), ids=MASKED)
def test_lists_of_masked_values_are_refused(no_training, fitted, argument, values):
    refused(argument, fitted, values, "is a list of masked values: make it one masked array")
    for call in (lambda: fitted.append(X, values), lambda: fitted.predict(values)):
        with pytest.raises(ValueError, match=r"^[Xy] is a list of masked values"):
            call()


def test_masked_values_of_nested_lists_are_missing(fitted):
    expected = fitted.predict(np.column_stack([X[:, 0], np.full(N, np.nan)]))
    assert_array_equal(fitted.predict([[own, np.ma.masked] for own in X[:, 0]]), expected)


def test_score_weighs_as_repetition_does(fitted):
    weight = np.arange(N) % 3
    copies = np.repeat(np.arange(N), weight)
    noisy = y + np.sin(np.arange(N))
    assert fitted.score(X, noisy, weight) == pytest.approx(fitted.score(X[copies], noisy[copies]))


COUNTS = dict(n_neighbors=100, batch_size=48, max_iter=2, n_estimators=2, hidden_layer_sizes=70)
COUNTS |= dict(n_jobs=1, random_state=7, verbose=0, recipe__context_size=90)
COUNTS |= dict(recipe__context_neighbors=5, recipe__n_iter_no_change=4, recipe__boosting_iter=100)


@pytest.mark.parametrize("kind", [np.int8, np.uint32, np.uint64])
def test_counts_may_be_any_integer_of_numpy(kind):
    X, y = np.random.RandomState(0).normal(size=(2, 150, 1))
    expected, model = (
        NONARegressor().set_params(**{name: own(n) for name, n in COUNTS.items()}).fit(X, y)
        for own in (int, kind)
    )
    assert repr(all_of(model.plan_)) == repr(all_of(expected.plan_))
    assert_array_equal(model.predict_interval(X), expected.predict_interval(X))
    for found, own in zip(model.kneighbors(X, kind(7)), expected.kneighbors(X, 7), strict=True):
        assert_array_equal(found, own)
    assert_array_equal(model.suspects(kind(5)).indices, expected.suspects(5).indices)


class Ours(NONARegressor):
    """Passes some parameters on, and has one of its own."""

    def __init__(self, n_neighbors=5, note="", batch_size=32):
        super().__init__(n_neighbors=n_neighbors, batch_size=batch_size, **QUICK)
        self.note = note


def test_a_subclass_may_have_other_parameters():
    model = clone(Ours(n_neighbors=3, note="ours")).fit(X, y)
    expected = NONARegressor(n_neighbors=3, batch_size=32, **QUICK).fit(X, y)
    assert_array_equal(model.predict(X), expected.predict(X))
    assert model.get_params() == {"n_neighbors": 3, "note": "ours", "batch_size": 32}
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), expected.predict(X))


def test_what_a_subclass_passes_on_is_checked():
    class Wrong(NONARegressor):
        def __init__(self):
            super().__init__(max_iter="ten")

    with pytest.raises(ValueError, match="The 'max_iter' parameter of Wrong must be"):
        Wrong().fit(X, y)


def test_a_subclass_may_have_fields_of_its_own():
    @dataclass(kw_only=True, eq=False, repr=False)
    class Noted(NONARegressor):
        note: str = ""
        n_neighbors: int = 3

    model = clone(Noted(note="ours", **QUICK)).fit(X, y)
    assert (model.note, model.n_neighbors) == ("ours", 3)
    assert_array_equal(model.predict(X), NONARegressor(n_neighbors=3, **QUICK).fit(X, y).predict(X))
