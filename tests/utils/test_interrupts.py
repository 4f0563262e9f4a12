"""Which interrupt ends a training, and which a search."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from skneighbors import NONARegressor
from skneighbors._training.trainer import Trainer
from skneighbors._utils import process

SMALL = NONARegressor(max_iter=6, n_estimators=1, hidden_layer_sizes=4, random_state=0)


@pytest.fixture
def clock(monkeypatch):
    """A clock to turn, on which no fit was ever interrupted."""
    now = [1000.0]
    monkeypatch.setattr(process, "_last_interrupt", -np.inf)
    monkeypatch.setattr(process.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def interrupted_epochs(monkeypatch):
    """Epochs, counted over all fits, in which the user interrupts."""
    numbers, count, epoch = set(), [0], Trainer.epoch

    def interrupted(self, *args):
        count[0] += 1
        if count[0] in numbers:
            raise KeyboardInterrupt
        return epoch(self, *args)

    monkeypatch.setattr(Trainer, "epoch", interrupted)
    return numbers


def test_a_second_interrupt_ends_a_search(friedman, clock, interrupted_epochs):
    X, _, y, _ = friedman
    interrupted_epochs |= {4, 9}  # the fourth epoch of the first fit, a later one of the second
    search = GridSearchCV(SMALL, {"softstep": ["s1", "s2", None]}, cv=2)
    with pytest.warns(UserWarning, match="Training interrupted"), pytest.raises(KeyboardInterrupt):
        search.fit(X, y)


def test_one_interrupt_ends_one_fit_of_a_search(friedman, clock, interrupted_epochs):
    X, _, y, _ = friedman
    interrupted_epochs |= {4}
    search = GridSearchCV(SMALL, {"softstep": ["s1", "s2"]}, cv=2)
    with pytest.warns(UserWarning, match="Training interrupted"):
        search.fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_an_interrupt_much_later_is_a_first_one(friedman, clock, interrupted_epochs):
    X, _, y, _ = friedman
    interrupted_epochs |= {4, 8}
    for _ in range(2):
        with pytest.warns(UserWarning, match="Training interrupted"):
            SMALL.fit(X, y)
        clock[0] += 11
