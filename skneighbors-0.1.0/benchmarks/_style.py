"""One style for all pictures: plain, and readable on a light and on a dark page."""

from contextlib import contextmanager
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib import ticker
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.transforms import Bbox

# Of Okabe and Ito's palette, which the color-blind can distinguish.
NONA, SOFTSTEP = "#0072B2", "#D55E00"
# As far from white as from the dark theme's background.
INK = "#7B7B7B"
PEER = "#9A9A9A"
# Both ends and the middle can be seen on both.
BLEND = LinearSegmentedColormap.from_list("blend", [NONA, "#9A9A9A", SOFTSTEP])
WIDTH = 5.6  # inches

_STYLE = {
    "font.size": 10,
    # Both are as wide, so that a page without the one has room for the other.
    "font.sans-serif": ["DejaVu Sans", "Verdana"],
    "axes.titlesize": 10,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    # Words stay words, and the same picture the same file.
    "svg.fonttype": "none",
    "svg.hashsalt": "skneighbors",
}


@contextmanager
def picture(path, *shape, **options):
    """Figure and axes in this style, saved in the end.

    Parameters
    ----------
    path : path-like
        SVG or PNG file to write.
    *shape, **options
        What ``plt.subplots`` takes.
    """
    options = {"layout": "constrained", **options}
    with plt.rc_context(_STYLE):
        figure, axes = plt.subplots(*shape, **options)
        try:
            yield figure, axes
            metadata = {"Date": None} if Path(path).suffix == ".svg" else None
            figure.savefig(path, dpi=120, transparent=True, metadata=metadata)
        finally:
            plt.close(figure)


def color(method):
    """Give our two methods' color, whatever their variants; gray for the others."""
    if method.startswith("NONA"):
        return NONA
    return SOFTSTEP if method.startswith("SoftStep k-NN") else PEER


def marker(method):
    """Options of a method's point: a disc, hollow for variants of ours."""
    hue = color(method)
    hollow = hue != PEER and method not in ("NONA", "SoftStep k-NN")
    face = "none" if hollow else hue
    return {"marker": "o", "ls": "", "color": hue, "markerfacecolor": face, "markeredgewidth": 1.5}


def word(method):
    """Options of a method's name: our two in bold and their color."""
    hue = color(method)
    return {"color": INK} if hue == PEER else {"color": hue, "weight": "bold"}


def plain_log(axis):
    """Ticks of a logarithmic axis in plain numbers; its limits are set."""
    low, high = axis.get_view_interval()
    if high < 10 * low:
        ticks = ticker.MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high)
    else:
        powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.log10(high))
        ticks = np.outer(powers, [1] if high > 1000 * low else [1, 2, 5]).ravel()
    ticks = ticks[(ticks >= low) & (ticks <= high)]
    axis.set_ticks(ticks, [f"{tick:,g}" for tick in ticks])
    axis.set_ticks([], minor=True)


_SIDES = [
    ((7, 0), "left", "center"),
    ((-7, 0), "right", "center"),
    ((0, 7), "center", "bottom"),
    ((0, -7), "center", "top"),
    ((6, 5), "left", "bottom"),
    ((6, -5), "left", "top"),
    ((-6, 5), "right", "bottom"),
    ((-6, -5), "right", "top"),
]


def label_points(axes, points):
    """Write names beside points, where they hide least of the points and other names.

    Parameters
    ----------
    axes : Axes
        The points are drawn, and limits and scales are set.
    points : dict of str to (float, float)
    """
    axes.figure.draw_without_rendering()
    frame = axes.get_window_extent()
    places = axes.transData.transform(list(points.values()))
    taken = [Bbox.from_bounds(*(place - 6), 12, 12) for place in places]
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    # The most crowded first, while there is room.
    for i in np.sort(distances, axis=1)[:, 1].argsort(kind="stable"):
        name, at = list(points.items())[i]
        tried = []
        for offset, ha, va in _SIDES:
            style = {"textcoords": "offset points", "ha": ha, "va": va, "in_layout": False}
            text = axes.annotate(name, at, offset, **style, **word(name))
            box = text.get_window_extent().padded(2)
            outside = max(0, frame.x0 - box.x0) + max(0, box.x1 - frame.x1)
            hidden = sum(_common_area(box, other) for other in taken)
            tried.append((hidden + outside * box.height, len(tried), text, box))
        (_, _, _, box), *others = sorted(tried, key=lambda found: found[:2])
        taken.append(box)
        for _, _, text, _ in others:
            text.remove()


def _common_area(box, other):
    common = Bbox.intersection(box, other)
    return 0 if common is None else common.width * common.height


def label_ends(axes, ends, options, gap=0.052):
    """Write names of lines to the right of their ends, none over another.

    Parameters
    ----------
    axes : Axes
        Its limits and scales are set.
    ends : dict of str to (float, float)
        Last point of each line.
    options : dict of str to dict
        How each name is written.
    gap : float
        Least distance of two names, as a fraction of the axes' height.
    """
    to_fraction = axes.transData + axes.transAxes.inverted()
    names = sorted(ends, key=lambda name: ends[name][1])
    wanted = np.array([to_fraction.transform(ends[name])[1] for name in names])
    heights = _spread(wanted, gap)
    leader = {"arrowstyle": "-", "color": INK, "lw": 0.5, "relpos": (0, 0.5), "shrinkB": 0}
    for name, end, height in zip(names, wanted, heights, strict=True):
        axes.annotate(
            name,
            (1, end),
            (1.06, height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            arrowprops=leader,
            **options[name],
        )


def _spread(wanted, gap):
    """Heights nearest to ascending `wanted` of which no two are nearer than `gap`."""
    # What lies too near to what is below is pooled with it, around their common middle.
    pools = []
    for height in wanted:
        pool = [height]
        while pools and _foot(pool, gap) < _foot(pools[-1], gap) + gap * len(pools[-1]):
            pool = pools.pop() + pool
        pools.append(pool)
    return np.concatenate([_foot(pool, gap) + gap * np.arange(len(pool)) for pool in pools])


def _foot(pool, gap):
    return np.mean(pool) - gap * (len(pool) - 1) / 2
