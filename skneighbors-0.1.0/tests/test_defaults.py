"""Models fitted with all defaults, of small tables: what users meet first."""

import numpy as np
import pandas as pd
import pytest
from explained import predicted_by
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1

from skneighbors import NONAClassifier, NONARegressor, SoftStepKNNRegressor, load


@pytest.fixture(autouse=True, scope="module")
def small_defaults():
    """Leave the defaults as they are."""


@pytest.fixture(scope="module")
def flats():
    """A table of 200 flats with rent, a sixth of it for queries: rows, rents and rents by rule."""
    rng = np.random.RandomState(0)
    X = pd.DataFrame(
        {
            "size": rng.uniform(20, 120, 200).round(),
            "district": rng.choice(["north", "south", "center"], 200),
            "built": pd.to_datetime("1950-01-01")
            + pd.to_timedelta(rng.randint(25000, size=200), "D"),
        }
    )
    X.loc[::15, "size"] = np.nan
    rule = 8 * X["size"].fillna(70) + 200 * (X["district"] == "center")
    return X, (rule + 40 * rng.normal(size=200)).to_numpy(), rule.to_numpy()


@pytest.fixture(scope="module")
def rents(flats):
    X, y, _ = flats
    return NONARegressor(random_state=0).fit(X[:166], y[:166])


@pytest.fixture(scope="module")
def irises():
    X, y = load_iris(return_X_y=True)
    model = NONAClassifier(random_state=0).fit(X[::2], y[::2])
    return model, X[1::2], y[1::2]


@pytest.fixture(scope="module")
def smooth():
    X, y = make_friedman1(160, random_state=0)
    return SoftStepKNNRegressor(random_state=0).fit(X[:120], y[:120]), X[120:], y[120:]


def test_rents_are_nearly_those_of_the_rule(rents, flats):
    X, y, rule = flats
    error = np.abs(rents.predict(X[166:]) - rule[166:])
    assert np.median(error) < 40
    assert rents.score(X[166:], y[166:]) > 0.85


def test_rents_lie_in_their_intervals(rents, flats):
    X, y, _ = flats
    low, high = rents.predict_interval(X[166:]).T
    assert 0.75 < np.mean((low <= y[166:]) & (y[166:] <= high)) <= 1
    assert np.mean(high - low) < 0.6 * np.ptp(y)


def test_rents_are_explained_by_known_flats(rents, flats):
    X, y, _ = flats
    why = rents.explain(X[166:170], by_column=True)
    assert_allclose(predicted_by(why) + why.clipping, rents.predict(X[166:170]), rtol=1e-9)
    assert_allclose(why.targets, y[why.indices])
    assert set(why.importances()) == {"size", "district", "built"}
    assert why.importances()["size"] == max(why.importances().values())


def test_a_wrong_rent_is_suspected_first(flats):
    X, y, _ = flats
    wrong = y.copy()
    wrong[17] *= 20
    with pytest.warns(UserWarning, match="in row 17"):
        model = NONARegressor(random_state=0).fit(X, wrong)
    assert model.suspects(1).indices[0] == 17
    assert np.median(np.abs(model.predict(X) - y)[np.arange(200) != 17]) < 60


def test_a_castle_is_novel(rents, flats):
    X, _, _ = flats
    castle = X[166:167].assign(size=5000.0)
    assert rents.novelty(castle)[0] > rents.novelty(X[166:]).mean()


def test_rents_are_the_same_from_a_file(rents, flats, tmp_path):
    rents.save(tmp_path / "rents")
    assert_array_equal(load(tmp_path / "rents").predict(flats[0]), rents.predict(flats[0]))


def test_a_flat_that_joins_is_a_neighbor(rents, flats):
    X, y, _ = flats
    joined = clone(rents).set_params(max_iter=3).fit(X[:166], y[:166]).append(X[166:], y[166:])
    assert_array_equal(joined.kneighbors(X[166:], 1)[1].ravel(), np.arange(166, 200))


def test_irises_are_told_apart(irises):
    model, X, y = irises
    assert model.score(X, y) > 0.9
    p = model.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1)
    assert -np.mean(np.log(p[np.arange(len(y)), y])) < 0.3


def test_irises_lie_in_their_sets(irises):
    model, X, y = irises
    is_in = model.predict_set(X)
    assert np.mean(is_in[np.arange(len(y)), y]) > 0.8
    assert is_in.sum(axis=1).mean() < 1.5


def test_a_row_alone_is_a_row_in_a_batch(smooth):
    model, X, y = smooth
    every = model.predict(X)
    assert model.score(X, y) > 0.7
    assert_allclose([model.predict(X[i : i + 1])[0] for i in range(5)], every[:5], rtol=1e-7)


def test_few_rows_predict(smooth):
    model, X, _ = smooth
    weights = model.neighbor_weights(X)
    assert np.diff(weights.indptr).max() <= model.n_neighbors
    assert_allclose(weights.sum(axis=1), 1)
