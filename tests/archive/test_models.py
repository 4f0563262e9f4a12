"""What fit takes a file holds, or save refuses by its name before anything is written."""

import enum
import io
import pickle
import sys
import threading
from datetime import date
from uuid import UUID

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
import torch
from numpy.testing import assert_array_equal
from sklearn.model_selection import GridSearchCV, GroupKFold

from skneighbors import NONARegressor, load

N = 30
rng = np.random.RandomState(0)
NUMBERS = rng.normal(size=(N, 3))
Y = NUMBERS[:, 0] + 0.1 * rng.normal(size=N)
SMALL = dict(
    hidden_layer_sizes=(4,),
    max_iter=1,
    n_estimators=1,
    n_neighbors=5,
    blend=None,
    random_state=0,
)


class Color(enum.Enum):
    RED = 1
    GREEN = 2
    BLUE = 3


class Own(NONARegressor):
    pass


# Three values of each; test_scalars.py has the single values.
KINDS = {
    "numbers": [3, 0.5, -1],
    "text": ["a", "b", "c"],
    "UUIDs": [UUID(int=i) for i in range(3)],
    "tuples": [("a", 1), ("b", "m"), ("c", date(2026, 1, 1))],
    "moments": list(pd.date_range("2025-03-01", periods=3, freq="MS")),
    "moments in a zone": list(pd.date_range("2025-03-01", periods=3, freq="MS", tz="Asia/Tokyo")),
    "nanoseconds": [pd.Timestamp(i) for i in (1, 2, 3)],
    "periods": list(pd.period_range("2025-01", periods=3, freq="M")),
    "intervals": list(pd.cut(NUMBERS[:, 0], 3).categories),
    "a mixture": [pd.Interval(0, 1), pd.Timedelta("1h"), b"c"],
}


def make_index(values):
    return pd.Index(list(values), tupleize_cols=False)


def make_frame(values):
    """Values as names of columns and rows, and as the categories of a column."""
    index = make_index([values[i % 3] for i in range(N)])
    X = pd.DataFrame(NUMBERS, columns=make_index(values), index=index)
    X.isetitem(0, pd.Series(pd.Categorical(list(index)), index=index))
    return X


def fit(X=NUMBERS, **params):
    return NONARegressor(**SMALL | params).fit(X, Y)


@pytest.fixture(scope="module")
def model():
    return fit()


def comes_back(model, X, folder):
    """Save and load; the same predictions, neighbors and bytes."""
    model.save(folder / "one")
    again = load(folder / "one")
    assert_array_equal(again.predict(X), model.predict(X))
    ours, theirs = again.explain(X).labels, model.explain(X).labels
    assert ours.tolist() == theirs.tolist()
    again.save(folder / "two")
    assert (folder / "two").read_bytes() == (folder / "one").read_bytes()
    return again


@pytest.mark.parametrize("kind", KINDS)
def test_names_labels_and_categories_come_back(kind, tmp_path):
    X = make_frame(KINDS[kind])
    again = comes_back(fit(X), X, tmp_path)
    label = X.index[1]
    left = again.forget(X.index == label).explain(X).labels
    assert label not in left.ravel().tolist()


@pytest.mark.parametrize("make", [pd.Index, pd.Series, np.asarray, list, tuple])
@pytest.mark.parametrize("kind", ["text", "moments", "intervals"])
def test_parameters_come_back(kind, make, tmp_path):
    X = make_frame(KINDS[kind])
    X.isetitem(1, [i % 4 for i in range(N)])
    X.isetitem(2, NUMBERS[:, 2])
    model = fit(X, categorical_features=make(list(X.columns[:2])))
    again = comes_back(model, X, tmp_path)
    assert list(again.categorical_features) == list(X.columns[:2])
    assert_array_equal(again.fit(X, Y).predict(X), model.predict(X))


NUMBERS_OF_COLUMNS = {
    "an index": pd.Index([0, 1]),
    "nullable": pd.Series([0, 1], dtype="Int64"),
    "of polars": pl.Series([0, 1]),
    "of Arrow": pa.array([0, 1]),
    "of the other byte order": np.array([0, 1], dtype=">i8"),
    "a mask": pd.Series([True, True, False]),
}


@pytest.mark.parametrize("given", NUMBERS_OF_COLUMNS)
def test_parameters_of_any_library_come_back(given, tmp_path):
    X = np.column_stack([np.arange(N) % 3, np.arange(N) % 4, NUMBERS[:, 0]])
    sizes = pd.Series([4, 3])
    model = fit(X, categorical_features=NUMBERS_OF_COLUMNS[given], hidden_layer_sizes=sizes)
    again = comes_back(model, X, tmp_path)
    assert_array_equal(again.categorical_features, np.asarray(NUMBERS_OF_COLUMNS[given]))
    assert_array_equal(again.fit(X, Y).predict(X), model.predict(X))


def test_memory_maps_come_back(model, tmp_path):
    X = np.memmap(tmp_path / "X", dtype=np.float64, mode="w+", shape=NUMBERS.shape)
    X[:] = NUMBERS
    joblib.dump(fit(X), tmp_path / "dumped")
    mapped = joblib.load(tmp_path / "dumped", mmap_mode="r")
    again = comes_back(mapped, X, tmp_path)
    assert_array_equal(again.predict(X), model.predict(NUMBERS))


def test_metadata_requests_come_back(tmp_path):
    groups = np.arange(N) % 6
    with sklearn.config_context(enable_metadata_routing=True):
        model = NONARegressor(**SMALL).set_fit_request(groups=True, sample_weight="weights")
        search = GridSearchCV(model, {"n_neighbors": [5, 9]}, cv=GroupKFold(2))
        best = search.fit(NUMBERS, Y, groups=groups).best_estimator_
        again = comes_back(best, NUMBERS, tmp_path)
        for one in (best, again, sklearn.clone(again)):
            consumed = one.get_metadata_routing().consumes("fit", ["groups", "weights", "X_val"])
            assert consumed == {"groups", "weights"}


def test_no_pandas_is_needed_unless_the_model_holds_its_values(tmp_path, monkeypatch):
    plain, cut = (fit(make_frame(KINDS[name])) for name in ("moments", "intervals"))
    plain.save(tmp_path / "plain")
    cut.save(tmp_path / "cut")
    with monkeypatch.context() as context:
        context.setitem(sys.modules, "pandas", None)
        again = load(tmp_path / "plain")
        with pytest.raises(ImportError, match="holds values of pandas"):
            load(tmp_path / "cut")
    X = make_frame(KINDS["moments"])
    assert_array_equal(again.predict(X), plain.predict(X))


def refuses(model, message, folder):
    """Nothing is written, and the advice is true: pickle and joblib hold the model, or neither."""
    with pytest.raises(ValueError, match=message) as caught:
        model.save(folder / "model")
    assert not list(folder.iterdir())
    holds = "Use pickle or joblib" in str(caught.value)
    assert holds or "Neither can pickle or joblib" in str(caught.value)
    for dump in (pickle.dumps, lambda own: joblib.dump(own, io.BytesIO())):
        if holds:
            dump(model)
        else:
            with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
                dump(model)
    return holds


PARAMS = {
    "feature_extractor": torch.nn.Flatten,
    "random_state": np.random.RandomState(0),
}


@pytest.mark.parametrize("name", PARAMS)
def test_parameters_that_are_refused_by_name(name, tmp_path):
    model = fit(**{name: PARAMS[name]})
    assert refuses(model, f"cannot hold the parameter '{name}': .*fit without it", tmp_path)


def test_advice_is_true_where_pickle_fails_too(tmp_path):
    model = fit(feature_extractor=lambda: torch.nn.Flatten())
    assert not refuses(model, "cannot hold the parameter 'feature_extractor'", tmp_path)


PLACES = {
    "a category of column 'u' of X": lambda X: X.assign(u=pd.Categorical(list(Color) * 10)),
    "the name of a column of X": lambda X: X.set_axis(make_index(Color), axis=1),
    "a label in the index of X": lambda X: X.set_axis(make_index([*Color] * 10)),
}


@pytest.mark.parametrize("place", PLACES)
def test_values_in_a_table_that_are_refused_by_place(place, tmp_path):
    X = PLACES[place](pd.DataFrame(NUMBERS, columns=["u", "v", "w"]))
    message = f"A file cannot hold {place}: <Color.*, of type 'Color'. Use pickle or joblib, or "
    assert refuses(fit(X), message, tmp_path)


@pytest.mark.parametrize("value", [threading.Lock(), Color.RED], ids=["lock", "enum"])
def test_attributes_that_are_refused_by_name(value, tmp_path):
    model = fit()
    model.note_ = value
    refuses(model, "the attribute 'note_': .*delete it", tmp_path)


def test_what_load_would_refuse_save_refuses(tmp_path):
    named, changed = fit(), fit().set_params(n_neighbors=-1)
    named.note = "x"
    for model, message in (
        (named, "'note' is no attribute of a fitted estimator"),
        (changed, "n_neighbors"),
    ):
        with pytest.raises(ValueError, match=message):
            model.save(tmp_path / "model")
    assert refuses(Own(**SMALL).fit(NUMBERS, Y), "no estimator such as Own", tmp_path)


def test_attributes_come_back_as_they_are(tmp_path):
    model = fit()
    model.counts_, model.codes_ = {"a": 5, "b": 7}, {(0,): "x"}
    with pytest.raises(ValueError, match="the attribute 'codes_'"):
        model.save(tmp_path / "model")
    del model.codes_
    model.names_ = {0: "x", 1.5: None}
    again = comes_back(model, NUMBERS, tmp_path)
    assert (again.counts_, again.names_) == (model.counts_, model.names_)
