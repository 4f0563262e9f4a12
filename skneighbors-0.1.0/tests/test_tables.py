"""Tables as they come: what must not matter does not, and categories don't leak targets."""

import functools

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score

from skneighbors import NONARegressor, Recipe

N, N_TEST = 160, 40


def make_table(n=N + N_TEST, seed=0):
    """Numbers, few and many levels, text, bools, gaps and dates; a target of all of them."""
    rng = np.random.RandomState(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(size=n),
            "city": rng.choice([f"city {i}" for i in range(14)], n),
            "color": pd.Categorical(rng.choice(["red", "green", "blue"], n)),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.randint(500, size=n), "D"),
            "sold": rng.uniform(size=n) < 0.3,
            "size": rng.uniform(size=n),
        }
    )
    effect = X.city.str.len() % 2 + (X.color == "red") + X.sold
    y = (X.age + 2 * effect + (X.day - X.day.min()).dt.days / 200).to_numpy()
    for name in ("size", "age", "city", "color", "day"):
        X.loc[rng.uniform(size=n) < 0.1, name] = None
    return X, y + 0.1 * rng.normal(size=n)


X, y = make_table()
X, X_TEST, y, Y_TEST = X[:N], X[N:], y[:N], y[N:]
QUICK = dict(max_iter=3, hidden_layer_sizes=(16,), n_estimators=2, random_state=0)


def as_polars(part):
    plain = part.astype(object).where(part.notna(), None)
    return pl.DataFrame(plain.to_dict("list"), strict=False)


def predict(estimator_class, X, X_test, **fit_params):
    return estimator_class(**QUICK).fit(X, y, **fit_params).predict(X_test)


@pytest.fixture(scope="module")
def predicted():
    """Predictions of each estimator, once they have been asked for."""
    return functools.cache(lambda estimator_class: predict(estimator_class, X, X_TEST))


@pytest.fixture
def expected(estimator_class, predicted):
    return predicted(estimator_class)


@pytest.mark.slow
def test_a_table_is_learned_as_it_comes():
    model = NONARegressor(random_state=0).fit(X, y)
    assert model.score(X_TEST, Y_TEST) > 0.7
    assert model.n_features_in_ == 6
    assert list(model.feature_names_in_) == list(X)
    assert model.transform(X_TEST).shape == (N_TEST, 64 * model.plan_.n_estimators)
    scores = cross_val_score(NONARegressor(random_state=0), X, y, cv=2)
    assert scores.min() > 0.5


ORDER = ["size", "color", "age", "sold", "city", "day"]
COLORS = ["unseen", "red", "green", "blue"]
NAMES = {f"city {i}": f"{(5 * i) % 14:02d}" for i in range(14)}
# Functions of a table that change nothing that matters.
SAME = {
    "other names": lambda X: X.assign(city=X.city.map(NAMES)),
    "numbers as names": lambda X: X.assign(city=X.city.str[5:].astype(float).astype("category")),
    "categories in another order": lambda X: X.assign(color=X.color.cat.set_categories(COLORS)),
    "columns in another order": lambda X: X[ORDER],
    "a column of NaN": lambda X: X.assign(empty=np.nan),
    "a column of None": lambda X: X.assign(empty=None),
    "a column of NaT": lambda X: X.assign(empty=pd.NaT),
}


@pytest.mark.filterwarnings("ignore:Text may be read otherwise")
@pytest.mark.parametrize("name", SAME)
def test_what_does_not_matter(estimator_class, expected, name):
    assert_array_equal(predict(estimator_class, *map(SAME[name], (X, X_TEST))), expected)


def test_what_does_not_matter_later(estimator_class, expected):
    text = X_TEST.assign(color=X_TEST.color.astype(object))
    assert_array_equal(
        predict(estimator_class, SAME["categories in another order"](X), text), expected
    )
    model = estimator_class(**QUICK).fit(X[::-1], y[::-1])
    assert_array_equal(model.predict(X_TEST), expected)
    # Whatever comes where fit had nothing: it has learned nothing of it.
    known = estimator_class(**QUICK).fit(X.assign(empty=np.nan), y)
    assert_array_equal(known.predict(X_TEST.assign(empty=1.5)), expected)


def test_unseen_equals_missing(estimator_class):
    """To networks and trees; likeness tells them apart."""
    model = estimator_class(recipe=Recipe(likeness=0), **QUICK).fit(X, y)
    for name in ("city", "color"):
        missing = model.predict(X_TEST.assign(**{name: None}))
        assert_array_equal(model.predict(X_TEST.assign(**{name: "unseen"})), missing)
        assert np.isfinite(missing).all()


def test_gaps_at_prediction_alone(estimator_class):
    complete = X.ffill().bfill()
    model = estimator_class(**QUICK).fit(complete, y)
    assert not np.array_equal(model.predict(X_TEST), model.predict(X_TEST.ffill().bfill()))
    assert np.isfinite(model.predict(X_TEST)).all()
    gaps = X_TEST.assign(**dict.fromkeys(X_TEST, np.nan))
    y_hat = model.predict(gaps)
    assert_allclose(y_hat, np.full(N_TEST, y_hat[0]))
    assert y.min() < y_hat[0] < y.max()


@pytest.mark.parametrize("likeness", ["auto", 2.0])
@pytest.mark.parametrize("names", [(), ("time",), ("groups", "time")], ids=str)
def test_weights_are_copies(estimator_class, likeness, names):
    weight = np.random.RandomState(0).randint(3, size=N)
    copies = np.repeat(np.arange(N), weight)
    every = {"groups": np.arange(N) % 12, "time": np.arange(N) * 7 % N}
    given = {name: every[name] for name in names}
    copied = {name: own[copies] for name, own in given.items()}
    models = [estimator_class(recipe=Recipe(likeness=likeness), **QUICK) for _ in range(2)]
    weighted = models[0].fit(X, y, sample_weight=weight, **given).predict(X_TEST)
    assert_allclose(
        models[1].fit(X.iloc[copies], y[copies], **copied).predict(X_TEST), weighted, rtol=1e-10
    )
    assert names or models[0].blend_weight_ > 0


def test_one_row_of_weight_two_is_two_rows(estimator_class):
    once = estimator_class(**QUICK).fit(X[:1], y[:1], sample_weight=[2])
    twice = estimator_class(**QUICK).fit(X.iloc[[0, 0]], y[[0, 0]])
    assert_array_equal(once.predict(X_TEST), twice.predict(X_TEST))
    with pytest.raises(ValueError, match="got 1 sample"):
        estimator_class(**QUICK).fit(X[:1], y[:1], sample_weight=[1])


def as_dask(part):
    frames = pytest.importorskip("dask.dataframe")
    return frames.from_pandas(part, npartitions=3, sort=False)


@pytest.mark.parametrize("wrap", [pd.DataFrame, as_polars, nw.from_native, as_dask])
def test_frames_of_any_library_have_names(estimator_class, expected, wrap):
    model = estimator_class(**QUICK).fit(wrap(X), y)
    assert list(model.feature_names_in_) == list(X)
    assert_array_equal(model.predict(wrap(X_TEST)), expected)
    assert_array_equal(model.predict(X_TEST), expected)
    other = X_TEST[ORDER]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(wrap(other))
    again = estimator_class(**QUICK).fit(wrap(X[ORDER]), y, X_val=wrap(other), y_val=Y_TEST)
    assert np.isfinite(again.append(wrap(other), Y_TEST).predict(wrap(other))).all()


@pytest.mark.filterwarnings("ignore:Text may be read otherwise")
@pytest.mark.slow
@pytest.mark.parametrize("n_each", [1, *(pytest.param(n, marks=pytest.mark.long) for n in (2, 10))])
def test_levels_do_not_leak_targets(estimator_class, leave_one_out, n_each):
    known, unknown = [], []
    for seed in range(3):
        rng = np.random.RandomState(seed)
        levels = np.array([f"level {i}" for i in range(500 // n_each)])
        table = pd.DataFrame({"level": np.repeat(levels, n_each), "x": rng.normal(size=500)})
        noise = rng.normal(size=500)
        model = estimator_class(
            trend=None,
            blend=None,
            hidden_layer_sizes=(256, 256),  # as users have it
            n_neighbors=80 if estimator_class is NONARegressor else 12,
            n_estimators=2,
            random_state=seed,
        )
        model.fit(table, noise)
        known.append(r2_score(noise, leave_one_out(model, table)))
        fresh = pd.DataFrame({"level": rng.choice(levels, 500), "x": rng.normal(size=500)})
        unknown.append(r2_score(rng.normal(size=500), model.predict(fresh)))
    # A network may learn the noise of the rows that it sees, by one seed: a leak is by all.
    assert np.median(known) < 0.05
    assert max(unknown) < 0.05


@pytest.mark.parametrize("name", ["compute", "columns", "column_names", "collect"])
def test_columns_may_have_names_of_methods(name):
    values = np.arange(20.0)
    plain, named = (pd.DataFrame({of: values, "z": -values}) for of in ("a", name))
    model = NONARegressor(**QUICK).fit(named, named)
    assert_array_equal(
        model.predict(named), NONARegressor(**QUICK).fit(plain, plain).predict(plain)
    )


def test_tags(estimator_class):
    for extractor in (None, torch.nn.Identity):
        tags = estimator_class(feature_extractor=extractor).__sklearn_tags__().input_tags
        assert tags.allow_nan is tags.string is tags.categorical is (extractor is None)
        assert not tags.sparse
