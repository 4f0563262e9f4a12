"""What all tests share, the examples of docstrings and pages among them."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _no_figures_left():
    """Close what a test or an example has drawn: matplotlib warns of many open figures."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
