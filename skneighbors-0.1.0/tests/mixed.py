"""Blends in which every part has a weight, whichever would be chosen."""

from contextlib import contextmanager

import pytest

from skneighbors._blend import mixture
from skneighbors._blend.mixture import Candidates


@contextmanager
def every_part_weighs():
    """Block in which fits blend all planned parts by the same weight, with half of the networks."""

    def choose(candidates, task):
        names = candidates.predicted
        return dict.fromkeys(names, 0), dict.fromkeys(names, 1 / len(names))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Candidates, "choose", choose)
        patch.setattr(mixture, "choose_weight", lambda *args: 0.5)
        yield
