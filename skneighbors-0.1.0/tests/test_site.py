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
    assert check_site.find_dead_links(site, check_site.read_pages(site)) == []
    (site / "page.html").write_text(planted)
    assert check_site.find_dead_links(site, check_site.read_pages(site)) == [
        f"page.html: {problem}"
    ]


@pytest.mark.parametrize("names", [check_site.CHROMIUM, check_site.FIREFOX])
def test_planted_eyesores_are_found(site, names):
    browser = check_site.find_browser(names)
    if browser is None:
        pytest.skip(f"there is no {names[0]} here")
    long = '<p style="width: 1200px">long</p>'
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} 10" width="{}" height="10">'
    text = '<text style="font-size: 10px">small</text></svg>'
    (site / "fine.svg").write_text(svg.format(300, 300) + text)
    (site / "small.svg").write_text(svg.format(600, 300) + text)
    cell = '<mtr><mtd style="width: {}px"><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr>'
    moved = cell.replace("<mtd><mi>b", '<mtd style="position: relative; left: 30px"><mi>b')
    pages = {
        "cut": f'<div style="overflow: hidden">{long}</div>',
        "faint": '<p style="color: #777">faint</p><h1 style="color: #777">large</h1>',
        "mixed": '<p style="color: color(srgb 0.96 0.96 0.96)">mixed</p>',
        "shadow": '<style>[data-theme="dark"] p { background: #333 }</style><p>dark</p>',
        "small": '<article><img src="fine.svg"><img src="small.svg"></article>',
        "ragged": f"<math><mtable>{cell.format(9)}{moved}</mtable></math>",
        "set": f"<math><mtable>{cell.format(9)}{cell.format(60)}</mtable></math>",
        "unset": "<math></math>",
        "wide": long,
    }
    for page, body in pages.items():
        (site / f"{page}.html").write_text(f"<!doctype html><body>{body}</body>")
    problems = check_site.find_unsightly(site, browser)
    found = [problem.split('"')[0].strip() for problem in problems]
    assert [problem.split(" (to ")[0] for problem in found] == [
        "cut.html: runs beyond an edge at 1100 pixels",
        "cut.html: runs beyond an edge at 420 pixels",
        "faint.html: contrast of 4.48, dark: rgb(119, 119, 119) p",
        "faint.html: contrast of 4.48, light: rgb(119, 119, 119) p",
        "mixed.html: contrast of 1.09, dark: color(srgb 0.96 0.96 0.96) p",
        "mixed.html: contrast of 1.09, light: color(srgb 0.96 0.96 0.96) p",
        "ragged.html: a formula is not set: math",
        "shadow.html: contrast of 1.66, dark: rgb(0, 0, 0) p",
        "small.html: text of 5.0 pixels on a phone: small.svg",
        "unset.html: a formula is not set: math",
        "wide.html: runs beyond an edge at 1100 pixels",
        "wide.html: runs beyond an edge at 420 pixels",
    ]
    assert all("long" in problem for problem in problems if "beyond an edge" in problem)


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
