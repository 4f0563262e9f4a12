"""The embedder and its layers."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from skneighbors.nn import (
    CategoricalEmbedding,
    MLPEmbedder,
    PeriodicEmbedding,
    WeightedBatchNorm,
)


def normal(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_periodic_embedding_agrees_with_the_formula():
    torch.manual_seed(0)
    embedding = PeriodicEmbedding(3, n_frequencies=5, n_outputs=4).double()
    x = normal(7, 3)
    w, c, W, v = (parameter.detach().numpy() for parameter in embedding.parameters())
    expected = np.empty((7, 3, 4))
    for i, row in enumerate(x.numpy()):
        for j, value in enumerate(row):
            waves = np.cos(2 * np.pi * w[j, 0] * value + c[j, 0])
            expected[i, j] = [value, *(waves @ W[j] + v[j, 0])]
    assert_allclose(embedding(x).detach(), expected.reshape(7, 12))


def test_categorical_embedding_looks_vectors_up():
    torch.manual_seed(0)
    embedding = CategoricalEmbedding([2, 5], dim=3)
    weight = embedding.weight.detach().numpy()
    assert weight.shape == (3 + 6, 3)
    # Missing levels, the last of each feature, begin as nothing.
    assert_allclose(weight[[2, 8]], 0)
    assert (np.delete(weight, [2, 8], axis=0) != 0).all()
    codes = np.array([[0, 5], [2, 0], [1, 3]])
    expected = np.hstack([weight[codes[:, 0]], weight[3 + codes[:, 1]]])
    for dtype in (torch.int64, torch.float32):
        out = embedding(torch.from_numpy(codes).to(dtype))
        assert_allclose(out.detach(), expected)
    assert_allclose(embedding(torch.from_numpy(codes[None, None])).detach()[0, 0], expected)
    # The gradient reaches the rows that were looked up, and no other.
    embedding(torch.from_numpy(codes)).sum().backward()
    seen = {0, 1, 2, 3, 6, 8}
    assert [i in seen for i in range(9)] == embedding.weight.grad.any(1).tolist()


def test_plain_features_and_codes_pass_by_the_numerical_embedding():
    torch.manual_seed(0)
    embedder = MLPEmbedder(
        2, (), 3, numerical_embedding="periodic", n_plain=1, n_categories=[4]
    ).double()
    x = torch.cat([normal(5, 3), torch.tensor([[0.0], [1], [2], [3], [4]]).double()], 1)
    parts = [
        embedder.numerical_embedding(x[:, :2]),
        x[:, 2:3],
        embedder.categorical_embedding(x[:, 3:]),
    ]
    assert_allclose(embedder(x).detach(), embedder.layers[0](torch.cat(parts, 1)).detach())


def batch_norm():
    torch.manual_seed(0)
    norm = WeightedBatchNorm(3).double()
    torch.nn.init.normal_(norm.weight)
    torch.nn.init.normal_(norm.bias)
    return norm


def test_weights_of_batch_statistics_are_copies():
    x, weight = normal(6, 3), torch.tensor([1, 3, 1, 2, 1, 2])
    copies = torch.repeat_interleave(torch.arange(6), weight)
    weighted, copied = batch_norm(), torch.nn.BatchNorm1d(3).double()
    copied.load_state_dict(weighted.state_dict())
    out = weighted(x, weight.double()).detach()
    assert_allclose(out[copies], copied(x[copies]).detach())
    assert_allclose(weighted.running_mean, copied.running_mean)
    assert_allclose(weighted.running_var, copied.running_var)
    # In evaluation the weights play no part.
    assert_allclose(
        weighted.eval()(x, weight.double()).detach(), copied.eval()(x).detach(), rtol=1e-12
    )


def test_batch_norm_of_one_row_is_its_bias():
    norm = batch_norm()
    assert_allclose(norm(normal(1, 3)).detach(), norm.bias.detach()[None])


@pytest.mark.parametrize("batch_norm", [True, False])
def test_from_the_third_on_hidden_layers_of_equal_width_are_residual(batch_norm):
    embedder = MLPEmbedder(6, (6, 6, 6, 8, 8), 8, activation="tanh", batch_norm=batch_norm).double()
    norms = [m for m in embedder.modules() if isinstance(m, WeightedBatchNorm)]
    linears = [m for m in embedder.modules() if isinstance(m, torch.nn.Linear)]
    x = expected = normal(5, 6)
    for i, linear in enumerate(linears[:-1]):
        out = linear(expected)
        out = torch.tanh(norms[i](out) if batch_norm else out)
        expected = expected + out if i in (2, 4) else out
    assert_allclose(embedder(x).detach(), linears[-1](expected).detach())


def test_evaluation_is_deterministic_and_row_by_row():
    embedder = MLPEmbedder(3, (8,), 5, dropout=0.5).double().eval()
    x = normal(6, 3)
    assert_allclose(embedder(x).detach(), torch.cat([embedder(row[None]) for row in x]).detach())


@pytest.mark.parametrize("activation", ["silu", "relu", "tanh", "gelu"])
def test_activation(activation):
    embedder = MLPEmbedder(3, (8,), 5, activation=activation, batch_norm=False).double()
    first, last = (m for m in embedder.modules() if isinstance(m, torch.nn.Linear))
    x = normal(2, 3)
    name = {"silu": torch.nn.functional.silu, "gelu": torch.nn.functional.gelu}
    function = name.get(activation, getattr(torch, activation, None))
    assert_allclose(embedder(x).detach(), last(function(first(x))).detach())


@pytest.mark.parametrize(
    "option", [{"activation": "selu"}, {"activation": {}}, {"numerical_embedding": "quantile"}]
)
def test_unknown_option(option):
    ((name, value),) = option.items()
    with pytest.raises(ValueError, match=f"{name} must be one of .* got {value!r}"):
        MLPEmbedder(3, **option)


@pytest.mark.parametrize(
    ("n_features", "n_frequencies", "n_outputs"),
    [(1, 16, 4), (256, 16, 4), (257, 15, 4), (2048, 2, 3), (4096, 1, 2)],
)
def test_of_many_features_each_has_fewer_frequencies(n_features, n_frequencies, n_outputs):
    embedder = MLPEmbedder(n_features, (4,), 2, numerical_embedding="periodic")
    assert embedder.numerical_embedding.weight.shape == (n_features, n_frequencies, n_outputs - 1)
    assert embedder.layers[0].linear.in_features == n_features * n_outputs
    assert embedder(torch.randn(3, n_features)).shape == (3, 2)
    assert MLPEmbedder(4097, (4,), 2, numerical_embedding="periodic").numerical_embedding is None
