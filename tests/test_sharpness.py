"""How sharp the masks of ranks are: what validation chooses, and what comes of it."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from skneighbors import SoftStepKNNRegressor, _softstep_knn
from skneighbors._network import NeighborNetwork
from skneighbors._rows import LabelledRows, MemberRows
from skneighbors._validation import validate
from skneighbors.nn import MLPEmbedder, SoftStepKNN

TRIED = _softstep_knn._SHARPNESSES


@pytest.fixture
def rows():
    """Targets that only the nearest know."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    return X, np.sin(9 * X[:, 0]) * np.cos(9 * X[:, 1])


@pytest.mark.parametrize("weighted", [False, True])
def test_validation_leaves_the_sharpness_of_lowest_error(weighted):
    torch.manual_seed(0)
    X = torch.randn(150, 2)
    y = torch.sin(4 * X[:, :1]) * X
    weight = torch.rand(150) if weighted else None
    network = NeighborNetwork(
        None,
        [MLPEmbedder(2, (16,), 4) for _ in range(2)],
        [SoftStepKNN(4, 2, softstep="s1", trend="linear") for _ in range(2)],
    )
    data = LabelledRows(X, y, weight)
    train, held_out = torch.stack([torch.randperm(150) for _ in range(2)]).split([100, 50], dim=1)
    members = MemberRows(train, held_out)

    alone = []
    for sharpness in TRIED:
        network.head.sharpness.fill_(sharpness)
        alone.append(validate(network, data, members))
    errors, _, mse, scores = zip(*alone, strict=True)
    errors, mse, scores = torch.stack(errors), torch.stack(mse), torch.stack(scores)
    best, member = mse.argmin(0), torch.arange(2)
    assert len(set(mse[:, 0].tolist())) > 5

    buffer = network.head.sharpness
    row_errors, _, own_mse, own_scores = validate(network, data, members, TRIED)
    assert network.head.sharpness is buffer
    assert_allclose(buffer, np.take(TRIED, best), rtol=1e-6)
    assert_allclose(row_errors, errors[best, member], rtol=1e-4, atol=1e-6)
    assert_allclose(own_mse, mse[best, member], rtol=1e-5)
    assert_allclose(own_scores, scores[best, member], rtol=1e-4)


# Few rows are trained as one, more apart; noisy and clean ones are trained on in the end
# in ways of their own.
@pytest.mark.parametrize("noise", [0.0, 1.0])
@pytest.mark.parametrize("n_estimators", [1, 3])
def test_what_was_chosen_stays_to_the_end(n_estimators, noise, rows):
    X, y = rows
    y = y + noise * np.random.default_rng(1).normal(size=len(y))
    model = SoftStepKNNRegressor(
        max_iter=40, n_estimators=n_estimators, hidden_layer_sizes=(32,), random_state=0
    )
    model.fit(X, y)
    assert model.sharpness_.shape == model.estimator_weights_.shape
    # A moving average would lie between them.
    assert_allclose(np.abs(model.sharpness_[:, None] - TRIED).min(1), 0, atol=1e-6)
    assert_array_equal(model.sharpness_, model._bank.network.head.sharpness)


def test_it_pays(rows):
    X, y = rows
    scores = [
        SoftStepKNNRegressor(sharpness=sharpness, max_iter=60, random_state=0)
        .fit(X[:300], y[:300])
        .score(X[300:], y[300:])
        for sharpness in (1.0, "auto")
    ]
    assert 1 - scores[1] < 0.8 * (1 - scores[0])


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
