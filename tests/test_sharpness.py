"""How sharp the masks of ranks are: what validation chooses, and what comes of it."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from skneighbors import SoftStepKNNRegressor, _softstep_knn
from skneighbors._network import NeighborNetwork
from skneighbors._rows import LabelledRows, MemberRows
from skneighbors._validation import sharpen, validate
from skneighbors.nn import MLPEmbedder, SoftStepKNN

TRIED = _softstep_knn._SHARPNESSES


def make_rows(n):
    """Targets that only the nearest know."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(n, 2))
    return X, np.sin(9 * X[:, 0]) * np.cos(9 * X[:, 1])


@pytest.fixture
def rows():
    return make_rows(400)


def untrained(weighted, noise=0.0):
    """A network of two members, data and the members' rows."""
    X, y = (torch.tensor(array, dtype=torch.float32) for array in make_rows(400))
    torch.manual_seed(0)
    y = y.unsqueeze(1) * torch.tensor([1.0, -2.0]) + noise * torch.randn(400, 2)
    weight = torch.rand(400) if weighted else None
    network = NeighborNetwork(
        None,
        [MLPEmbedder(2, (16,), 4) for _ in range(2)],
        [SoftStepKNN(4, 2, softstep="s1", trend="linear") for _ in range(2)],
    )
    data = LabelledRows(X, y, weight)
    train, held_out = torch.stack([torch.randperm(400) for _ in range(2)]).split([300, 100], dim=1)
    return network, data, MemberRows(train, held_out)


def errors_of_each(network, data, members):
    """Row errors (l, m, n), their means (l, m) and R2 (l, m) of each sharpness by itself."""
    alone = []
    for sharpness in TRIED:
        network.head.sharpness.fill_(sharpness)
        alone.append(validate(network, data, members))
    errors, _, mse, scores = zip(*alone, strict=True)
    network.head.sharpness.fill_(1)
    return torch.stack(errors), torch.stack(mse), torch.stack(scores)


@pytest.mark.parametrize("weighted", [False, True])
def test_validation_leaves_the_sharpness_of_lowest_error(weighted):
    network, data, members = untrained(weighted)
    errors, mse, scores = errors_of_each(network, data, members)
    best, member = mse.argmin(0), torch.arange(2)
    assert len(set(mse[:, 0].tolist())) > 5

    buffer = network.head.sharpness
    row_errors, _, own_mse, own_scores = validate(network, data, members, TRIED)
    assert network.head.sharpness is buffer
    assert_allclose(buffer, np.take(TRIED, best), rtol=1e-6)
    assert_allclose(row_errors, errors[best, member], rtol=1e-4, atol=1e-6)
    assert_allclose(own_mse, mse[best, member], rtol=1e-5)
    assert_allclose(own_scores, scores[best, member], rtol=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_few_rows_choose_one_sharpness_for_all_members(weighted):
    network, data, members = untrained(weighted)
    _, mse, _ = errors_of_each(network, data, members)
    sharpen(network, data, members, TRIED)
    assert_allclose(network.head.sharpness, TRIED[mse.mean(1).argmin()], rtol=1e-6)
    assert network.head.sharpness[0] > 1


def test_few_rows_keep_masks_as_trained_unless_another_surely_pays():
    network, data, members = untrained(False, noise=2.5)
    errors, mse, _ = errors_of_each(network, data, members)
    best = mse.mean(1).argmin()
    gain = (errors[0] - errors[best]).double().flatten()
    assert 0 < gain.mean() < gain.std() / len(gain) ** 0.5
    network.head.sharpness.fill_(3.0)
    sharpen(network, data, members, TRIED)
    assert_array_equal(network.head.sharpness, 1.0)


# Few rows are trained as one and choose once, more are trained apart and choose by epoch;
# noisy and clean ones are trained on in the end in ways of their own.
@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize(("n", "n_estimators"), [(400, 1), (400, 3), (1300, 2)])
def test_what_was_chosen_stays_to_the_end(n, n_estimators, noise):
    X, y = make_rows(n)
    y = y + noise * np.random.default_rng(1).normal(size=len(y))
    model = SoftStepKNNRegressor(
        max_iter=40, n_estimators=n_estimators, hidden_layer_sizes=(32,), random_state=0
    )
    model.fit(X, y)
    assert model.sharpness_.shape == model.estimator_weights_.shape
    # A moving average would lie between them.
    assert_allclose(np.abs(model.sharpness_[:, None] - TRIED).min(1), 0, atol=1e-6)
    assert_array_equal(model.sharpness_, model._bank.network.head.sharpness)


@pytest.mark.parametrize(("n", "max_iter"), [(400, 100), (1200, 15)])
def test_it_pays(n, max_iter):
    X, y = make_rows(n + 300)
    settings = dict(max_iter=max_iter, hidden_layer_sizes=(32,), random_state=0)
    errors = [
        1 - SoftStepKNNRegressor(sharpness=by, **settings).fit(X[:n], y[:n]).score(X[n:], y[n:])
        for by in (1.0, "auto")
    ]
    assert errors[1] < 0.9 * errors[0]


def test_a_given_sharpness_is_used(rows):
    model = SoftStepKNNRegressor(sharpness=3, max_iter=5, random_state=0).fit(*rows)
    assert_array_equal(model.sharpness_, [3.0, 3.0])
    mild = SoftStepKNNRegressor(sharpness=0.5, max_iter=5, random_state=0).fit(*rows)
    (sharp_weights, _), (mild_weights, _) = (m.top_neighbors(rows[0], 20) for m in (model, mild))
    assert (sharp_weights.sum(1) > mild_weights.sum(1)).all()


@pytest.mark.parametrize(("n", "early_stopping"), [(60, "auto"), (200, False)])
def test_without_validation_rows_masks_are_as_trained(n, early_stopping, rows):
    X, y = rows
    model = SoftStepKNNRegressor(max_iter=5, early_stopping=early_stopping).fit(X[:n], y[:n])
    assert_array_equal(model.sharpness_, 1.0)
