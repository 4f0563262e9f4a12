"""What writes into what it is handed, such as a feature extractor, changes its own copy alone."""

import warnings

import asked
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from torch import nn

N = 120
QUICK = dict(max_iter=3, n_estimators=3, hidden_layer_sizes=(8,), random_state=0, blend=None)


class _Writes(nn.Module):
    """Doubles its input, cuts it off at 0 and takes a linear function of it: in place, or not."""

    in_place = True

    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU(inplace=self.in_place)
        self.linear = nn.Linear(3, 5)

    def forward(self, x):
        x = x.mul_(2) if self.in_place else x * 2
        return self.linear(self.relu(x))


class _Reads(_Writes):
    in_place = False


class _Overwrites(nn.Module):
    """Returns the very tensor that it was handed, changed."""

    def forward(self, x):
        return x.add_(1)


class _Adds(nn.Module):
    def forward(self, x):
        return x + 1


def make_data():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(N, 3))
    return X, X[:, 0] + 0.1 * rng.normal(size=N), rng.randint(1, 3, N).astype(float)


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


QUESTIONS = asked.QUESTIONS | {"append": lambda model, X: [model.append(X, X[:, 0]).predict(X)]}


@pytest.mark.parametrize(("writes", "reads"), [(_Writes, _Reads), (_Overwrites, _Adds)])
@pytest.mark.parametrize("batch_size", [32, 256])
@pytest.mark.parametrize("n_validation", [0, 20])
def test_writing_is_as_good_as_reading(estimator_class, writes, reads, batch_size, n_validation):
    X, y, weight = make_data()
    given = X.copy()
    params = QUICK | dict(batch_size=batch_size, early_stopping=True)
    validation = {}
    if n_validation:
        validation = dict(X_val=given[:n_validation], y_val=y[:n_validation])
    model = estimator_class(feature_extractor=writes, **params)
    model.fit(given, y, sample_weight=weight, **validation)
    other = estimator_class(feature_extractor=reads, **params)
    other.fit(X, y, sample_weight=weight, **validation)
    assert_array_equal(given, X)
    for name, ask in QUESTIONS.items():
        for answer, value in zip(ask(model, given), ask(other, X), strict=True):
            assert_allclose(answer, value, rtol=1e-12, err_msg=name)
        assert_array_equal(given, X, err_msg=name)


@pytest.mark.parametrize("extractor", [_Writes, _Overwrites])
def test_prepared_rows_are_a_copy(estimator_class, extractor):
    X, y, _ = make_data()
    given = X.copy()
    model = estimator_class(feature_extractor=extractor, **QUICK).fit(given, y)
    network, prepared = model.network_, model.prepare(given)
    first, second = network(prepared), network(prepared)
    assert_array_equal(prepared, X)
    for own, again in zip(first, second, strict=True):
        assert_array_equal(own.detach(), again.detach())
    network(prepared.requires_grad_())[1].square().mean().backward()
    assert prepared.grad.abs().max() > 0
    prepared.detach().zero_()
    assert_array_equal(given, X)


@pytest.mark.parametrize(
    ("extractor", "blend"),
    [(None, None), (None, "boosting"), (None, "linear"), (_Writes, None), (_Overwrites, None)],
)
def test_nothing_read_only_is_handed_over(estimator_class, extractor, blend):
    X, y, weight = make_data()
    model = estimator_class(feature_extractor=extractor, **QUICK | dict(blend=blend))
    parts = [read_only(part) for part in (X, y, weight)]
    given = dict(X_val=parts[0][:30], y_val=parts[1][:30], sample_weight_val=parts[2][:30])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # torch warns of arrays that may not be written
        model.fit(parts[0], parts[1], parts[2], **given)
        for ask in QUESTIONS.values():
            ask(model, parts[0])
        model.prepare(parts[0]).zero_()
    for part, before in zip(parts, make_data(), strict=True):
        assert_array_equal(part, before)


@pytest.mark.parametrize("change", [np.asfortranarray, lambda X: X[::-1], lambda X: X[:, ::-1]])
def test_any_order_in_memory(estimator_class, change):
    X, y, _ = make_data()
    given = change(read_only(X))
    model = estimator_class(feature_extractor=_Writes, **QUICK).fit(given, y)
    expected = estimator_class(feature_extractor=_Reads, **QUICK).fit(given.copy("C"), y)
    assert_allclose(model.predict(given), expected.predict(given.copy("C")), rtol=1e-12)
