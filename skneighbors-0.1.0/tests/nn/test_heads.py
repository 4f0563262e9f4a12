"""Both heads: values, gradients, exclusion of self, weights, use in a training loop."""

import numpy as np
import oracles
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch.autograd import gradcheck

from skneighbors.nn import NONA, SoftStepKNN

SIMILARITIES = ("l2", "l1", "dot", "cosine")


@pytest.fixture
def data():
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(*shape, dtype=torch.float64, generator=generator)

    return normal(5, 4), normal(9, 4), normal(9, 2)  # z, z_n, y_n


def make(head, **params):
    """Head in float64 with parameters away from their initial values."""
    torch.manual_seed(1)
    head = head(4, 2, **params).double().eval()
    if head.softstep is not None and head.softstep.linear is None:
        torch.nn.init.normal_(head.softstep.raw)
    return head


def raw_of(head):
    softstep = head.softstep
    if softstep.linear is None:
        return lambda query: softstep.raw.detach().numpy()
    weight, bias = (p.detach().numpy() for p in softstep.linear.parameters())
    return lambda query: weight @ query + bias


def expected(head, weights_of, z, z_n, y_n, self_index=None):
    trend = None
    if head.trend is not None:
        trend = [parameter.detach().numpy() for parameter in head.trend.parameters()]
    return oracles.predict(weights_of, z.numpy(), z_n.numpy(), y_n.numpy(), self_index, trend)


def assert_agrees(head, weights_of, data):
    """Predictions of other rows, and of the neighbors without themselves, are the formula's."""
    z, z_n, y_n = data
    assert_allclose(head(z, z_n, y_n).detach(), expected(head, weights_of, z, z_n, y_n))
    index = torch.arange(len(z_n))
    y_hat = head(z_n, z_n, y_n, self_index=index).detach()
    assert_allclose(y_hat, expected(head, weights_of, z_n, z_n, y_n, index.numpy()))
    if head.trend is None:
        one = head(z, z_n, y_n[:, 0]).detach()
        assert_allclose(one, head(z, z_n, y_n)[:, 0].detach())


NONA_OPTIONS = [
    dict(temperature=None),
    dict(temperature=None, calibration=0.375, softstep_parameters="global"),
    dict(temperature=0.3, trend="linear"),
    dict(temperature=0.3, calibration=1.75),
    dict(temperature=0.3, calibration=30.0, softstep_parameters="global", trend="linear"),
    dict(temperature=0.3, learn_temperature=False),
]


@pytest.mark.parametrize("params", NONA_OPTIONS, ids=str)
@pytest.mark.parametrize("function", ["s1", "s2", None])
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_nona_agrees_with_the_formula(similarity, function, params, data):
    head = make(NONA, similarity=similarity, softstep=function, **params)
    temperature = (params["temperature"] or 1) / params.get("calibration", 1)
    assert_allclose(head.temperature, temperature, rtol=1e-6)
    raw = raw_of(head) if function else None
    temperature = float(head.temperature)  # which is learned in single precision
    weights_of = oracles.nona_weights(similarity, function, raw, temperature)
    assert_agrees(head, weights_of, data)
    is_learned = params["temperature"] and params.get("learn_temperature", True)
    assert ("log_temperature" in dict(head.named_parameters())) == bool(is_learned)
    if "calibration" not in params:
        assert_agrees(head.train(), weights_of, data)


KNN_OPTIONS = [  # calibrations that single precision holds
    dict(softstep_parameters="global"),
    dict(calibration=0.375, trend="linear"),
    dict(calibration=1.75, softstep_parameters="global", trend="linear"),
    dict(calibration=30.0),
]


@pytest.mark.parametrize("params", KNN_OPTIONS, ids=str)
@pytest.mark.parametrize(("rank", "scale"), [("soft", "log"), ("hard", "linear"), (None, "log")])
@pytest.mark.parametrize("function", ["s1", "s2"])
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_knn_agrees_with_the_formula(similarity, function, rank, scale, params, data):
    z, z_n, y_n = data
    # The nearest of some queries are several that share a rank.
    z_n = torch.cat([z_n, z_n[:3], z_n[:3], z_n[:3]])
    y_n = torch.cat([y_n, y_n + 1])[: len(z_n)]
    params = dict(softstep=function, rank=rank, rank_scale=scale) | params
    head = make(SoftStepKNN, similarity=similarity, **params)
    calibration = params.get("calibration", 1.0)
    assert_allclose(head.temperature, 1 / calibration)
    raw = raw_of(head)
    weights_of = oracles.knn_weights(
        similarity, function, raw, rank, scale, calibration=calibration
    )
    assert_agrees(head, weights_of, (z, z_n, y_n))


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        *[(SoftStepKNN, {"rank": rank}) for rank in ("soft", "hard", None)],
        *[(NONA, {"temperature": temperature}) for temperature in (0.3, None)],
    ],
)
def test_a_calibration_makes_no_difference_in_training(kind, params, data):
    z, z_n, y_n = data
    calibrated, plain = (make(kind, **params, calibration=by).train() for by in (5.0, 1.0))
    assert_array_equal(calibrated(z, z_n, y_n).detach(), plain(z, z_n, y_n).detach())
    assert not np.allclose(
        calibrated.eval()(z, z_n, y_n).detach(), plain.eval()(z, z_n, y_n).detach(), rtol=1e-3
    )


@pytest.mark.parametrize("with_self", [False, True])
@pytest.mark.parametrize("scale", ["log", "linear"])
@pytest.mark.parametrize("function", ["s1", "s2"])
def test_knn_in_training_agrees_with_the_brute_force_soft_rank(function, scale, with_self, data):
    _, z_n, y_n = data
    z_n, y_n = z_n[:5], y_n[:5]
    head = make(SoftStepKNN, softstep=function, rank_scale=scale, temperature=0.6).train()
    raw = raw_of(head)

    def weights_of(query, neighbors):
        s = oracles.minmax(oracles.similarity(query[None], neighbors, "l2")[0])
        n = len(neighbors)
        # A mean gap of about 1 between the similarities of neighbors in rank.
        x = oracles.rank_scale(oracles.soft_rank(n * s, 0.6), n, scale)
        return oracles.softstep(x, raw(query), function, x.max())

    index = torch.arange(5) if with_self else None
    z = z_n if with_self else data[0]
    y_hat = head(z, z_n, y_n, self_index=index).detach()
    index = None if index is None else index.numpy()
    assert_allclose(y_hat, expected(head, weights_of, z, z_n, y_n, index), atol=1e-6)


# Of all similarities by one head: those of tests/nn/test_similarity.py are differentiated alone.
DIFFERENTIATED = [
    *[(NONA, {"softstep": function}) for function in ("s1", "s2", None)],
    *[(NONA, {"softstep": "s1", "similarity": metric}) for metric in SIMILARITIES[1:]],
    (NONA, {"softstep": "s1", "softstep_parameters": "global", "self_in_range": True}),
    *[(SoftStepKNN, {"softstep": function}) for function in ("s1", "s2")],
    (SoftStepKNN, {"rank_scale": "linear", "softstep_parameters": "global"}),
    *[(SoftStepKNN, {"rank": None, "self_in_range": own}) for own in (False, True)],
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("head", "params"), DIFFERENTIATED)
def test_gradcheck(head, params, weighted, data):
    z, z_n, y_n = (value.requires_grad_() for value in data)
    head = make(head, temperature=0.5, trend="linear", **params).train()
    names = [name for name, _ in head.named_parameters()]
    index = torch.tensor([0, 2, -1, 3, 8])
    sample_weight = torch.tensor([1, 2, 0, 1.5, 1, 1, 3, 1, 1.0]) if weighted else None

    def predict(z, z_n, y_n, *parameters):
        named = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(head, named, (z, z_n, y_n, index, sample_weight))

    parameters = [parameter.detach().requires_grad_() for parameter in head.parameters()]
    assert gradcheck(predict, (z, z_n, y_n, *parameters), atol=1e-4)


HEADS = [
    (NONA, {"softstep": None}),
    (NONA, {"softstep": "s2"}),
    (NONA, {"softstep": "s1", "trend": "linear"}),
    (SoftStepKNN, {"softstep": "s1"}),
    (SoftStepKNN, {"softstep": "s2", "trend": "linear"}),
    (SoftStepKNN, {"rank": None}),
]
heads = pytest.mark.parametrize(("head", "params"), HEADS)


@heads
@pytest.mark.parametrize("training", [False, True])
def test_self_is_left_out_by_index_and_copies_stay(head, params, training, data):
    _, z, _ = data
    z = torch.cat([z, z[:3]])  # rows 9 to 11 are copies of rows 0 to 2
    head = make(head, **params).train(training)
    index = torch.arange(12)
    weights = head.weights(z, z, self_index=index)
    assert (weights.diagonal() == 0).all()
    assert_allclose(weights.sum(1).detach(), np.ones(12))
    for i in range(3):
        others = weights[i].detach().clone()
        # No neighbor is nearer than the copy.
        assert others[i + 9] > 0
        assert_allclose(others[i + 9], others.max())


@heads
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("with_self", [False, True])
def test_weights_are_copies(head, params, training, with_self, data):
    z, z_n, y_n = data
    head = make(head, **params).train(training)
    sample_weight = torch.tensor([1, 2, 0, 1, 3, 1, 1, 2, 1])
    copies = torch.repeat_interleave(torch.arange(9), sample_weight)
    if with_self:
        queries = torch.tensor([0, 1, 4, 8])
        z = z_n[queries]
        index = queries
        index_of_copy = torch.tensor([int((copies == row).nonzero()[0]) for row in queries])
    else:
        index, index_of_copy = torch.full((5,), -1), None
    weighted = head(z, z_n, y_n, self_index=index, sample_weight=sample_weight.double())
    copied = head(z, z_n[copies], y_n[copies], self_index=index_of_copy)
    assert_allclose(weighted.detach(), copied.detach(), rtol=1e-6)
    of_pairs = sample_weight.double().expand(len(z), 9)
    same = head(z, z_n, y_n, self_index=index, sample_weight=of_pairs)
    assert_allclose(same.detach(), weighted.detach())


@pytest.mark.parametrize("head", [NONA, SoftStepKNN])
def test_what_does_not_fit_is_named(head, data):
    (z, z_n, y_n), head = data, make(head, trend="linear")
    targets = r"y_n must have n_targets=2 columns .* got"
    for y, options, message in (
        (y_n[:, 0], {}, rf"{targets} \(9,\)"),
        (torch.cat([y_n, y_n], 1), {}, rf"{targets} \(9, 4\)"),
        (y_n, {"self_index": torch.arange(9)}, r"self_index must have shape \(5,\); got \(9,\)"),
        (y_n, {"n_neighbors": 0}, "n_neighbors must be at least 1"),
        (y_n, {"n_neighbors": -1}, "n_neighbors must be at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            head(z, z_n, y, **options)


@heads
@pytest.mark.parametrize("training", [False, True])
def test_query_without_neighbors_is_defined(head, params, training, data):
    z, _z_n, y_n = data
    head = make(head, **params).train(training)
    weights = head.weights(z[:1], z[:1], self_index=torch.tensor([0]))
    assert_array_equal(weights.detach(), [[0.0]])
    z = z[:1].clone().requires_grad_()
    alone = head(z, z, y_n[:1], self_index=torch.tensor([0]))
    alone.sum().backward()
    assert alone.isfinite().all()
    assert z.grad is None or z.grad.isfinite().all()


@heads
@pytest.mark.parametrize("training", [False, True])
def test_equal_neighbors_share_their_weight(head, params, training, data):
    z, z_n, _ = data
    head = make(head, **{**params, "trend": None}).train(training)
    y_n = torch.arange(4.0, dtype=torch.float64)
    same = z_n[:1].expand(4, -1)
    assert_allclose(head(z, same, y_n).detach(), np.full(5, 1.5))
    assert_allclose(head(same, same, y_n, self_index=torch.arange(4)).detach(), (6 - y_n) / 3)


@pytest.mark.parametrize("function", ["s1", "s2"])
def test_self_in_range_counts_self_for_the_range_alone(function, data):
    _, z, _y = data
    torch.manual_seed(0)
    head = NONA(4, 2, softstep=function, self_in_range=True, eps=1e-12).double()
    weights = head.weights(z, z, self_index=torch.arange(9)).detach()
    assert (weights.diagonal() == 0).all()
    s = oracles.similarity(z.numpy(), z.numpy(), "l2")
    for i in range(9):
        x = oracles.minmax(s[i])
        others = np.arange(9) != i
        raw = raw_of(head)(z[i].numpy())
        mask = oracles.softstep(x[others], raw, function, x[others].max(), 1e-12)
        unnormalized = np.exp(s[i][others]) * mask
        assert_allclose(weights[i][others], unnormalized / unnormalized.sum(), rtol=1e-8)


@pytest.mark.parametrize("function", ["s1", "s2"])
@pytest.mark.parametrize(("head", "params"), [(NONA, {}), (SoftStepKNN, {"rank": None})])
@pytest.mark.parametrize("n", [2, 3])
def test_self_in_range_gives_no_weight_to_self(n, head, params, function):
    # Self alone tops the range: all others have x = 0, which S2 rejects.
    z = torch.eye(n, 4, dtype=torch.float64).requires_grad_()
    head = make(head, softstep=function, self_in_range=True, **params)
    weights = head.weights(z, z, self_index=torch.arange(n))
    others = (1 - np.eye(n)) / (n - 1)
    assert_allclose(weights.detach(), others, atol=1e-12)
    weights.square().sum().backward()
    assert z.grad.isfinite().all()


OPTIONS = [
    *[("similarity", "euclid"), ("softstep", "s3"), ("softstep_parameters", "local")],
    *[("trend", "cubic"), ("temperature", 0.0), ("temperature", np.inf)],
]


@pytest.mark.parametrize(
    ("head", "option", "value"),
    [
        *[(head, *own) for head in (NONA, SoftStepKNN) for own in OPTIONS],
        (SoftStepKNN, "rank", "softest"),
        (SoftStepKNN, "rank_scale", "sqrt"),
    ],
)
def test_unknown_option(head, option, value):
    name = {"softstep": "function", "softstep_parameters": "parameters"}.get(option, option)
    with pytest.raises(ValueError, match=f"{name} must be .* got {value!r}"):
        head(4, **{option: value})


@pytest.mark.parametrize("calibration", [0.0, -1.0, np.inf, np.nan, 1e39, 1e-46])
@pytest.mark.parametrize("head", [NONA, SoftStepKNN])
def test_a_calibration_that_single_precision_does_not_hold(head, calibration):
    with pytest.raises(ValueError, match=r"calibration must be positive and finite .* got"):
        head(4, calibration=calibration)


@heads
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("with_self", [False, True])
def test_prediction_from_the_nearest_alone(head, params, weighted, with_self, data):
    z, z_n, y_n = data
    head = make(head, **params).eval()
    z, index = (z_n, torch.arange(9)) if with_self else (z, None)
    weight = torch.tensor([1, 2, 0, 1, 3, 1, 1, 2, 1]).double() if weighted else None
    y_hat = head(z, z_n, y_n, self_index=index, sample_weight=weight, n_neighbors=4)
    total = 9 if weight is None else weight.sum()
    for i in range(len(z)):
        own = torch.ones(9).double() if weight is None else weight.clone()
        if with_self:
            own[i] = (own[i] - 1).clamp(min=0)
        distances = torch.cdist(z[[i]], z_n)[0].masked_fill(own == 0, torch.inf)
        near = distances.argsort()[:4]
        s = -distances[near].unsqueeze(0)
        left = total - int(with_self and (weight is None or bool(weight[i] > 0)))
        weights = head.weights_of(z[[i]], s, None, own[near], torch.tensor(float(left)).double())
        values = head.subtract_trend(z_n[near], y_n[near])
        expected = head.add_trend(z[[i]], weights @ values)[0]
        assert_allclose(y_hat[i].detach(), expected.detach(), rtol=1e-9)
    for enough in (9, 20, None):
        every = head(z, z_n, y_n, self_index=index, sample_weight=weight, n_neighbors=enough)
        assert_array_equal(
            every.detach(), head(z, z_n, y_n, self_index=index, sample_weight=weight).detach()
        )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("softstep", ["s1", "s2"])
def test_ranks_of_the_nearest_are_those_among_all(softstep, weighted):
    """Of all neighbors the nearest have the weights that the mask gives them among all."""
    torch.manual_seed(0)
    head = SoftStepKNN(3, softstep=softstep, calibration=2.0).double().eval()
    z, s = torch.randn(4, 3).double(), -torch.rand(4, 50).double()
    weight = torch.rand(4, 50).double() + 0.5 if weighted else None
    expected = head.weights_of(z, s, sample_weight=weight)
    order = s.argsort(1, descending=True)[:, torch.randperm(20)]
    own = None if weight is None else weight.gather(1, order)
    total = torch.tensor(50.0).double() if weight is None else weight.sum(1, keepdim=True)
    found = head.weights_of(z, s.gather(1, order), None, own, total)
    expected = expected.gather(1, order)
    assert_allclose(found.detach(), (expected / expected.sum(1, keepdim=True)).detach(), rtol=1e-9)
    # What is not there changes nothing.
    filled = torch.cat([s.gather(1, order), torch.full_like(s[:, :2], -9)], 1)
    own = torch.ones_like(s[:, :20]) if own is None else own
    own = torch.cat([own, torch.zeros_like(own[:, :2])], 1)
    filled = head.weights_of(z, filled, None, own, total).detach()
    assert_allclose(filled[:, :-2], found.detach(), rtol=1e-9)
    assert (filled[:, -2:] == 0).all()
