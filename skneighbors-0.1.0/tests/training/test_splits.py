"""Which samples the members of an ensemble train on."""

import numpy as np
import pytest

from skneighbors._training import EnsembleSplit


@pytest.mark.parametrize(("n_samples", "n_validation"), [(3, 1), (20, 1), (20, 18), (1000, 150)])
def test_each_member_holds_out_rows_of_its_own(n_samples, n_validation):
    split = EnsembleSplit.draw(n_samples, n_validation, 5, np.random.RandomState(0))
    assert split.train.shape == (5, n_samples - n_validation)
    assert split.validation.shape == (5, n_validation)
    for train, validation in zip(*split, strict=True):
        assert sorted([*train.tolist(), *validation.tolist()]) == list(range(n_samples))
        assert train.tolist() == sorted(train.tolist())
        assert validation.tolist() == sorted(validation.tolist())
    assert len({tuple(rows.tolist()) for rows in split.validation}) > 1
