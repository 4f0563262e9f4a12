"""The pictures' style: names that hide nothing, plain numbers, the same file again."""

import numpy as np
import pytest

pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.usefixtures("benchmarks_importable")


def boxes_of(axes):
    return [text.get_window_extent() for text in axes.texts]


def test_names_beside_crowded_points_do_not_overlap(tmp_path):
    from _style import label_points, picture

    points = {"LightGBM": (1.0, 1.0), "hist. boosting": (1.15, 1.0), "XGBoost": (1.05, 0.93)}
    points |= {"NONA": (3.0, 0.4), "at the edge": (4.0, 2.0)}
    with picture(tmp_path / "a.svg", figsize=(5, 4)) as (_, axes):
        axes.set(xlim=(0.5, 4.1), ylim=(0.3, 2.2))
        for x, y in points.values():
            axes.plot(x, y, "o")
        label_points(axes, points)
        assert sorted(text.get_text() for text in axes.texts) == sorted(points)
        boxes, frame = boxes_of(axes), axes.get_window_extent()
        for i, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[:i])
            assert frame.x0 <= box.x0
            assert box.x1 <= frame.x1
            for point in axes.transData.transform(list(points.values())):
                assert not box.contains(*point)


def test_names_of_lines_that_end_together_do_not_overlap(tmp_path):
    from _style import label_ends, picture

    ends = {f"line {i}": (1.0, y) for i, y in enumerate([0.5, 0.51, 0.1, 0.505, 0.9, 0.52])}
    with picture(tmp_path / "a.svg", figsize=(5, 4)) as (figure, axes):
        axes.set(xlim=(0, 1), ylim=(0, 1))
        label_ends(axes, ends, {name: {} for name in ends})
        figure.draw_without_rendering()
        names = [text.get_text() for text in axes.texts]
        heights = [text.xyann[1] for text in axes.texts]
    assert names == [f"line {i}" for i in (2, 0, 3, 1, 5, 4)]
    assert min(np.diff(heights)) >= 0.052 - 1e-9
    assert heights[0] == pytest.approx(0.1)
    assert heights[-1] == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("limits", "labels"),
    [((0.9, 1.35), ["0.9", "1", "1.1", "1.2", "1.3"]), ((0.05, 3000), None), ((2, 60), None)],
)
def test_logarithmic_ticks_are_plain_numbers(tmp_path, limits, labels):
    from _style import picture, plain_log

    with picture(tmp_path / "a.svg") as (_, axes):
        axes.set(xscale="log", xlim=limits)
        plain_log(axes.xaxis)
        told = [text.get_text() for text in axes.get_xticklabels()]
        at = axes.get_xticks()
    assert [float(text.replace(",", "")) for text in told] == pytest.approx(list(at))
    assert labels is None or told == labels
    assert 3 <= len(told) <= 7


def test_pictures_are_closed_whatever_happens(tmp_path):
    from _style import picture, plt

    before = plt.get_fignums()
    with pytest.raises(ValueError, match="here"), picture(tmp_path / "a.svg"):
        raise ValueError("here")
    assert plt.get_fignums() == before
    assert not (tmp_path / "a.svg").exists()
