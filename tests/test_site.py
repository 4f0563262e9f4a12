"""The site: what its check finds, and that every public method shows an example."""

import importlib.util
import inspect
from pathlib import Path

import pytest

import skneighbors
from skneighbors import inspection, nn

CHECK = Path(__file__).parents[1] / "docs" / "check_site.py"
spec = importlib.util.spec_from_file_location("check_site", CHECK)
check_site = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_site)

WHOLE = """
<!doctype html><title>Whole</title><link rel="stylesheet" href="style.css">
<p id="here"><a href="#here">here</a> <a href="https://example.org/elsewhere">elsewhere</a></p>
<div style="overflow-x: auto"><div style="width: 3000px">scrolls</div></div>
"""


@pytest.fixture
def site(tmp_path):
    """Folder of a site of one page in which nothing is wrong."""
    (tmp_path / "style.css").write_text("p { color: black }")
    (tmp_path / "index.html").write_text(WHOLE)
    return tmp_path


@pytest.mark.parametrize(
    ("planted", "problem"),
    [
        ('<a href="gone.html">x</a>', "links to a missing file gone.html"),
        ('<a href="#gone">x</a>', "links to a missing anchor #gone"),
        ('<a href="index.html#gone">x</a>', "links to a missing anchor index.html#gone"),
        ('<img src="gone.png">', "links to a missing file gone.png"),
        ('<script src="//x.org/x.js"></script>', "loads from another host //x.org/x.js"),
        (
            "<style>p { background: url(https://example.org/x) }</style>",
            "loads from another host https://example.org/x",
        ),
    ],
)
def test_a_planted_dead_link_is_found(site, planted, problem):
    assert check_site.find_dead_links(site) == []
    (site / "page.html").write_text(planted)
    assert check_site.find_dead_links(site) == [f"page.html: {problem}"]


def test_a_planted_overflow_is_found(site):
    browser = check_site.find_browser()
    if browser is None:
        pytest.skip("there is no Chromium here")
    long = '<p style="width: 1200px">long</p>'
    (site / "cut.html").write_text(f'<!doctype html><div style="overflow: hidden">{long}</div>')
    (site / "wide.html").write_text(f"<!doctype html>{long}")
    problems = check_site.find_wide(site, browser)
    assert [problem.split(" (")[0] for problem in problems] == [
        f"{page}.html: runs beyond an edge at {width} pixels"
        for page in ("cut", "wide")
        for width in (1100, 420)
    ]
    assert all("long" in problem for problem in problems)


CLASSES = [
    thing
    for room in (skneighbors, inspection, nn)
    for thing in (getattr(room, name) for name in room.__all__)
    if isinstance(thing, type)
]


def public_members(cls):
    """Methods and properties that the package gives a class, by name."""
    for base in cls.__mro__:
        for name, member in vars(base).items():
            is_member = inspect.isroutine(member) or isinstance(member, property)
            # scikit-learn makes methods of its own for our classes: `set_fit_request` and such.
            is_ours = base.__module__.startswith("skneighbors") and not name.endswith("_request")
            if is_member and is_ours and not name.startswith("_"):
                yield name, member


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_public_method_has_an_example(cls):
    assert [name for name, member in public_members(cls) if ">>> " not in member.__doc__] == []
