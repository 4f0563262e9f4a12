"""Which samples the members of an ensemble train on."""

import numpy as np
import pytest
import torch

from skneighbors._columns import EnsembleSplit


@pytest.mark.parametrize("n_validation", [1, 3, 18])
def test_each_member_holds_out_rows_of_its_own(n_validation):
    split = EnsembleSplit.draw(20, n_validation, 5, np.random.RandomState(0))
    assert split.train.shape == (5, 20 - n_validation)
    assert split.validation.shape == (5, n_validation)
    for train, validation in zip(*split, strict=True):
        assert sorted([*train.tolist(), *validation.tolist()]) == list(range(20))
        assert train.tolist() == sorted(train.tolist())
    assert len({tuple(rows.tolist()) for rows in split.validation}) > 1


def test_nothing_is_held_out_of_a_split_on_all():
    random_state = np.random.RandomState(0)
    before = random_state.get_state()[1].copy()
    whole = EnsembleSplit.draw(9, 0, 2, random_state)
    assert (random_state.get_state()[1] == before).all()  # nothing was drawn
    again = EnsembleSplit.draw(9, 3, 2, random_state).train_on_all(9)
    for split in (whole, again):
        assert split.validation is None
        assert split.train.tolist() == [list(range(9))] * 2


def test_members_alone():
    split = EnsembleSplit.draw(9, 3, 2, np.random.RandomState(0))
    first, second = split.members()
    assert torch.equal(torch.cat([first.train, second.train]), split.train)
    assert torch.equal(torch.cat([first.validation, second.validation]), split.validation)
    assert [own.validation for own in split.train_on_all(9).members()] == [None, None]
