"""What the tests of the benchmarks share."""

from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def benchmarks_importable():
    """The benchmarks' scripts can be imported by their names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[1]))
        yield


@pytest.fixture
def paper_alone(benchmarks_importable, monkeypatch):
    """The papers' scripts can be imported, find no local data and run in this process."""
    from paper import _runs

    monkeypatch.setenv("SKNEIGHBORS_DATA", "nowhere")
    monkeypatch.setattr(_runs, "Parallel", lambda **_: lambda jobs: (f(*a) for f, a, _ in jobs))
