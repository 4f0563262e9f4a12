"""Which samples the members of an ensemble train on."""

import numpy as np
import pytest
from planned import plan_for

from skneighbors import NONARegressor
from skneighbors._columns.splits import EnsembleSplit


def held_out(n_samples, validation_fraction):
    """Split of a single member, of as many samples as an estimator holds out."""
    model = NONARegressor(early_stopping=True, validation_fraction=validation_fraction)
    n_validation = plan_for(model, n_samples).n_validation
    return EnsembleSplit.draw(n_samples, n_validation, 1, np.random.RandomState(0))


@pytest.mark.parametrize(
    ("n_samples", "fraction", "n_validation"),
    [(3, 0.15, 1), (4, 0.15, 1), (20, 0.15, 3), (1000, 0.15, 150), (10, 0.99, 8)],
)
def test_a_share_is_held_out(n_samples, fraction, n_validation):
    (train,), (validation,) = held_out(n_samples, fraction)
    assert len(validation) == n_validation
    assert sorted([*train.tolist(), *validation.tolist()]) == list(range(n_samples))


@pytest.mark.parametrize(("n_samples", "n_validation"), [(3, 1), (1000, 150), (100_000, 1024)])
def test_auto_holds_out_a_bounded_number(n_samples, n_validation):
    split = held_out(n_samples, "auto")
    assert split.validation.shape == (1, n_validation)
    assert split.train.shape == (1, n_samples - n_validation)


@pytest.mark.parametrize("n_validation", [1, 3, 18])
def test_each_member_holds_out_rows_of_its_own(n_validation):
    split = EnsembleSplit.draw(20, n_validation, 5, np.random.RandomState(0))
    assert split.train.shape == (5, 20 - n_validation)
    assert split.validation.shape == (5, n_validation)
    for train, validation in zip(*split, strict=True):
        assert sorted([*train.tolist(), *validation.tolist()]) == list(range(20))
        assert train.tolist() == sorted(train.tolist())
        assert validation.tolist() == sorted(validation.tolist())
    assert len({tuple(rows.tolist()) for rows in split.validation}) > 1
