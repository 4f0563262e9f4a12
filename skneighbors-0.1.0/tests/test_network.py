"""The fitted networks as a torch module: embeddings, predictions, export."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from skneighbors import Recipe, SoftStepKNNRegressor

SMALL = dict(hidden_layer_sizes=(8,), max_iter=3, random_state=0, blend=None)
SMALL |= dict(recipe=Recipe(likeness=0))  # the network is the learned part
N = 150


def make_data():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(N, 3))
    return X, X[:, 0] + rng.normal(size=N), rng.randint(1, 3, N).astype(float)


def make_table():
    X, y, _ = make_data()
    table = pd.DataFrame(X).add_prefix("x")
    table["town"] = np.random.RandomState(1).choice([f"{i}th, {20 - i}" for i in range(20)], N)
    table["kind"] = np.random.RandomState(2).choice(["a", "b"], N)
    return table, y


def standardized(model, X):
    """What the estimator predicts, on the scale of its networks."""
    y = np.asarray(model.predict(X)).reshape(len(X), -1)
    target = model._model.task
    return (y - target.mean) / target.scale


PARAMS = [
    {},
    {"n_neighbors": None},
    *[{"similarity": metric} for metric in ("l1", "dot", "cosine")],
    {"trend": None, "n_estimators": 3},
    {"softstep": "s2", "softstep_parameters": "global"},
    {"feature_extractor": partial(torch.nn.Linear, 3, 5)},
]


@pytest.mark.parametrize("params", PARAMS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_it_embeds_and_predicts_as_the_estimator(estimator_class, params, weighted):
    X, y, weight = make_data()
    model = estimator_class(**SMALL | params)
    model.fit(X[:120], y[:120], sample_weight=weight[:120] if weighted else None)
    network, prepared = model.network_, model.prepare(X[120:])
    z, y_hat = network(prepared)
    assert_allclose(z.detach(), model.transform(X[120:]), atol=1e-12)
    assert_allclose(y_hat.detach(), standardized(model, X[120:]), atol=1e-9)
    assert_array_equal(network.embed(prepared).flatten(1).detach(), z.detach())


def test_it_has_the_rows_that_there_are(estimator_class):
    X, y, _ = make_data()
    model = estimator_class(**SMALL).fit(X[:100], y[:100])
    before, prepared = model.network_, model.prepare(X[100:])
    old = before(prepared)[1].detach().clone()
    model.append(X[100:], y[100:]).forget([3])
    assert_allclose(model.network_(prepared)[1].detach(), standardized(model, X[100:]), atol=1e-9)
    assert_array_equal(before(prepared)[1].detach(), old)
    model.set_params(n_neighbors=3)
    assert_allclose(model.network_(prepared)[1].detach(), standardized(model, X[100:]), atol=1e-9)


def test_training_it_further_leaves_the_estimator_alone(estimator_class):
    X, y, _ = make_data()
    model = estimator_class(**SMALL).fit(X, y)
    before, network = model.predict(X), model.network_
    network(model.prepare(X))[1].square().mean().backward()
    gradients = [p.grad for p in network.parameters() if p.grad is not None]
    assert any(grad.abs().max() > 0 for grad in gradients)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(1.0)
    assert_array_equal(model.predict(X), before)


# Older compilers refuse functions with gradients of their own.
needs_compiler = pytest.mark.skipif(
    tuple(map(int, torch.__version__.split(".")[:2])) < (2, 13), reason="torch is too old"
)


# Torch's compiler warns of what it does itself.
@needs_compiler
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
@pytest.mark.parametrize("params", PARAMS[:5], ids=str)
def test_torch_exports_and_compiles_it(estimator_class, params):
    X, y = make_table()
    model = estimator_class(**SMALL | params).fit(X[:120], y[:120])
    network, prepared = model.network_, model.prepare(X[120:])
    expected = network(prepared)
    rows = torch.export.Dim("rows", min=2, max=4096)
    exported = torch.export.export(network, (prepared,), dynamic_shapes=({0: rows},)).module()
    for n in (2, 17, 30):
        for own, value in zip(exported(prepared[:n]), expected, strict=True):
            assert_allclose(own.detach(), value[:n].detach(), atol=1e-12)
    torch.compiler.reset()
    with torch.no_grad():
        compiled = torch.compile(network, backend="aot_eager", fullgraph=True)(prepared)
    for own, value in zip(compiled, expected, strict=True):
        assert_allclose(own, value.detach(), atol=1e-12)


@needs_compiler
@pytest.mark.parametrize("rank", ["hard", None])
def test_other_ranks_are_exported_too(rank):
    X, y, _ = make_data()
    model = SoftStepKNNRegressor(rank=rank, **SMALL).fit(X[:120], y[:120])
    network, prepared = model.network_, model.prepare(X[120:])
    exported = torch.export.export(network, (prepared,)).module()
    assert_allclose(exported(prepared)[1].detach(), network(prepared)[1].detach(), atol=1e-12)


def test_unfitted(estimator_class):
    with pytest.raises(NotFittedError):
        estimator_class().prepare(np.ones((2, 2)))
    assert not hasattr(estimator_class(), "network_")
