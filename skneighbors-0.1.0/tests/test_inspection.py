"""Displays: what is drawn, and what they refuse."""

import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from mixed import every_part_weighs
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skneighbors import NONAClassifier, NONARegressor, Recipe, SoftStepKNNRegressor
from skneighbors.inspection import IntervalDisplay, NeighborsDisplay

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DISPLAYS = [IntervalDisplay, NeighborsDisplay]


@pytest.fixture(scope="module")
def X(friedman):
    """Rows that were not trained on; their targets are y."""
    return friedman[1]


@pytest.fixture(scope="module")
def y(friedman):
    return friedman[3]


@pytest.fixture(scope="module")
def fit(friedman):
    """Function that fits an estimator to the training part, once for each of its settings."""
    X, _, y, _ = friedman
    fitted = {}

    def fit_once(estimator_class=NONARegressor, n_targets=1, **params):
        key = estimator_class, n_targets, *sorted(params.items())
        if key not in fitted:
            targets = y if n_targets == 1 else np.column_stack([y, -y])
            estimator = estimator_class(max_iter=3, random_state=0, **params)
            fitted[key] = estimator.fit(X, targets)
        return fitted[key]

    return fit_once


def plot(display, model, X, y, **options):
    """Show a few rows."""
    if display is NeighborsDisplay:
        return display.from_estimator(model, X[:1], **{"n_neighbors": 3, **options})
    return display.from_estimator(model, X, y, **options)


@pytest.mark.parametrize("display", DISPLAYS)
def test_from_estimator_returns_what_is_drawn_again(display, fit, X, y):
    shown = plot(display, fit(), X, y)
    assert isinstance(shown, display)
    first = shown.figure_
    assert shown.plot() is shown
    assert shown.figure_ is not first
    shown.figure_.canvas.draw()


@pytest.mark.parametrize("display", DISPLAYS)
def test_two_axes_are_given_or_take_the_place_of_one(display, fit, X, y):
    _, axes = plt.subplots(1, 2)
    shown = plot(display, fit(), X, y, ax=axes)
    assert [*shown.axes_] == [*axes]
    figure, ax = plt.subplots()
    shown = plot(display, fit(), X, y, ax=ax)
    assert shown.figure_ is figure
    assert len(figure.axes) == 3
    for wrong in (plt.subplots(1, 3)[1], plt.figure().add_axes((0, 0, 1, 1))):
        with pytest.raises(ValueError, match=r"ax must be two axes, or a single one"):
            plot(display, fit(), X, y, ax=wrong)


@pytest.mark.parametrize("display", DISPLAYS)
def test_refuses_estimators_that_are_not_fitted_or_others(display, X, y):
    with pytest.raises(NotFittedError):
        plot(display, NONARegressor(), X, y)
    with pytest.raises(TypeError, match=rf"{display.__name__} needs a regressor; got NONAClass"):
        plot(display, NONAClassifier(), X, y)
    for other in (Ridge(), make_pipeline(StandardScaler(), NONARegressor())):
        with pytest.raises(
            TypeError, match=rf"{display.__name__} needs a fitted estimator of this package"
        ):
            plot(display, other, X, y)


@pytest.mark.parametrize("display", DISPLAYS)
def test_says_where_an_estimator_of_ours_is(display, fit, X, y):
    pipeline = make_pipeline(StandardScaler(), fit())
    unfitted, search, of_pipeline = (GridSearchCV(own, {}) for own in (fit(), fit(), pipeline))
    search.best_estimator_, of_pipeline.best_estimator_ = fit(), pipeline
    best = r"estimator\.best_estimator_"
    for other, message in (
        (pipeline, r"Pipeline\. Give estimator\[-1\], and estimator\[:-1\]\.transform\(X\) for X"),
        (unfitted, r"GridSearchCV\.$"),
        (search, rf"GridSearchCV\. Give {best}\.$"),
        (of_pipeline, rf"Give {best}\[-1\], and {best}\[:-1\]"),
    ):
        with pytest.raises(TypeError, match=message):
            plot(display, other, X, y)


@pytest.mark.parametrize(
    ("display", "name", "value"),
    [
        *[(NeighborsDisplay, "n_neighbors", value) for value in (0, 2.5, None)],
        (IntervalDisplay, "n_bins", 0),
        (IntervalDisplay, "confidence_level", 1.0),
    ],
)
def test_refuses_parameters(display, name, value, fit, X, y):
    caller = f"({display.__name__}|NONARegressor.predict_interval)"
    with pytest.raises(ValueError, match=f"The '{name}' parameter of {caller}"):
        plot(display, fit(), X, y, **{name: value})


def test_refuses_what_does_not_fit(fit, X, y):
    with pytest.raises(ValueError, match=r"y must have shape \(100,\)"):
        IntervalDisplay.from_estimator(fit(), X, y[:5])
    with pytest.raises(ValueError, match=r"X must be a single row; got 2 rows"):
        NeighborsDisplay.from_estimator(fit(), X[:2])
    with pytest.raises(ValueError, match=r"explanation must be of a single query; got 2"):
        NeighborsDisplay(explanation=fit().explain(X[:2])).plot()


@pytest.mark.parametrize("display", DISPLAYS)
def test_without_matplotlib_says_what_to_install(display, fit, monkeypatch, X, y):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="needs matplotlib: pip install matplotlib"):
        plot(display, fit(), X, y)


def names_on(ax):
    """Find what the ticks of the y axis are called."""
    return [label.get_text() for label in ax.get_yticklabels()]


def test_neighbors_are_those_of_the_explanation(fit, estimator_class, X):
    model = fit(estimator_class, blend=None)
    shown = NeighborsDisplay.from_estimator(model, X[:1], n_neighbors=4)
    own = model.explain(X[:1])
    weights = own.weights[0]
    widths = [bar.get_width() for bar in shown.bars_]
    assert_allclose(widths, [*weights[:4], weights[4:].sum()])
    n_others = len(weights) - 4
    assert names_on(shown.axes_[0]) == [*map(str, own.indices[0, :4]), f"{n_others} others"]
    expected = np.column_stack([own.targets[0, :4], range(4)])
    assert_allclose(shown.points_.get_offsets(), expected)
    adjusted = np.column_stack([own.adjusted_targets[0, :4], range(4)])
    assert_allclose(shown.adjusted_points_.get_offsets(), adjusted)
    (lines,) = (part for part in shown.axes_[1].collections if hasattr(part, "get_segments"))
    assert_allclose(lines.get_segments(), np.stack([expected, adjusted], axis=1))
    assert shown.prediction_line_.get_xdata()[0] == own.prediction[0]
    entries = [text.get_text() for text in shown.axes_[1].get_legend().get_texts()]
    assert entries == ["target", "adjusted", f"prediction {own.prediction[0]:,.6g}"]


def test_neighbors_without_a_trend_are_not_adjusted(fit, estimator_class, X):
    model = fit(estimator_class, trend=None, blend=None)
    shown = NeighborsDisplay.from_estimator(model, X[:1], n_neighbors=4)
    assert shown.adjusted_points_ is None
    assert_allclose(shown.points_.get_offsets()[:, 0], model.explain(X[:1]).targets[0, :4])
    entries = [text.get_text() for text in shown.axes_[1].get_legend().get_texts()]
    assert [entry.split()[0] for entry in entries] == ["target", "prediction"]


def test_parts_of_the_blended_model_have_lines(fit, X):
    with every_part_weighs():
        model = fit(blend="auto", n_estimators=1)
    shown, parts = NeighborsDisplay.from_estimator(model, X[:1]), model.explain(X[:1]).parts
    assert [line.get_xdata()[0] for line in shown.part_lines_] == [*np.ravel([*parts.values()])]
    entries = [text.get_text() for text in shown.axes_[1].get_legend().get_texts()]
    assert entries[-2].startswith("boosted trees ")
    assert entries[-1].startswith("linear model ")


def test_neighbors_have_the_labels_of_the_table_which_are_no_formulas(friedman):
    X, _, y, _ = friedman
    table = pd.DataFrame(X, columns=[*"abcdefghij"], index=[f"$ {i} $\\frac0$" for i in range(200)])
    model = NONARegressor(n_neighbors=4, max_iter=1, random_state=0).fit(table, y)
    shown = NeighborsDisplay.from_estimator(model, table[:1], n_neighbors=3)
    labels = model.explain(table[:1]).labels[0]
    assert labels[0].startswith("$ ")
    names = [name.replace(r"\$", "$") for name in names_on(shown.axes_[0])]
    assert names == [*labels[:3], "1 other"]
    shown.figure_.canvas.draw()


@pytest.mark.parametrize("n_neighbors", [5, 6, 300])
def test_neighbors_that_are_all_shown_leave_no_others(n_neighbors, fit, X):
    model = fit(n_neighbors=5)
    shown = NeighborsDisplay.from_estimator(model, X[:1], n_neighbors=n_neighbors)
    assert names_on(shown.axes_[0]) == [*map(str, model.explain(X[:1]).indices[0])]
    assert len(shown.bars_) == len(shown.points_.get_offsets()) == 5


def test_neighbors_without_weight_are_not_shown(fit, X):
    recipe = Recipe(temperature=0.1)
    model = fit(SoftStepKNNRegressor, n_estimators=1, n_neighbors=20, recipe=recipe)
    n_heavy = np.count_nonzero(model.explain(X[:1]).weights)
    assert n_heavy < 20
    shown = NeighborsDisplay.from_estimator(model, X[:1], n_neighbors=20)
    assert len(shown.bars_) == len(shown.points_.get_offsets()) == n_heavy


def test_neighbors_are_at_the_same_height_on_both_axes(fit, X):
    for ax in (None, plt.subplots(1, 2)[1]):  # which share no axis
        shown = NeighborsDisplay.from_estimator(fit(), X[:1], ax=ax)
        bottom, top = shown.axes_[0].get_ylim()
        assert bottom > top  # the first is above
        assert shown.axes_[1].get_ylim() == (bottom, top)


def test_neighbors_and_intervals_of_one_of_several_targets(fit, X, y):
    model, Y = fit(n_targets=2), np.column_stack([y, -y])
    shown = NeighborsDisplay.from_estimator(model, X[:1], target=1)
    own = model.explain(X[:1])
    assert_allclose(shown.points_.get_offsets()[:, 0], own.targets[0, :10, 1])
    assert_allclose(shown.adjusted_points_.get_offsets()[:, 0], own.adjusted_targets[0, :10, 1])
    assert shown.prediction_line_.get_xdata()[0] == own.prediction[0, 1]
    shown = IntervalDisplay.from_estimator(model, X, Y, target=1)
    assert_array_equal(shown.y_true, -y)
    assert_array_equal(shown.interval, model.predict_interval(X)[:, 1])
    for display in DISPLAYS:
        with pytest.raises(ValueError, match=r"target must be an int from 0 to 1; got 2"):
            plot(display, model, X, Y, target=2)


def test_intervals_contain_or_miss(fit, X, y):
    model = fit()
    shown = IntervalDisplay.from_estimator(model, X, y, 0.8, n_bins=4)
    low, high = model.predict_interval(X, 0.8).T
    holds = (low <= y) & (y <= high)
    assert_array_equal(shown.covers_, holds)
    assert shown.coverage_ == pytest.approx(holds.mean())
    assert_allclose(shown.y_pred, model.predict(X))
    by_bin = holds[np.argsort(shown.y_pred, kind="stable")].reshape(4, 25).mean(axis=1)
    assert_allclose(shown.bin_coverage_, by_bin)
    assert_allclose(shown.coverage_line_.get_ydata(), by_bin)
    assert [len(bars.get_segments()) for bars in shown.bars_] == [holds.sum(), (~holds).sum()]
    assert shown.level_line_.get_ydata()[0] == 0.8


def test_intervals_of_many_rows_are_drawn_in_part(fit, X, y):
    shown = IntervalDisplay.from_estimator(fit(), X, y, max_bars=10)
    places, targets = shown.points_.get_offsets().T
    assert (len(places), places[0], places[-1]) == (10, 0, 99)
    assert_array_equal(targets, y[np.argsort(shown.y_pred, kind="stable")[places.astype(int)]])
    assert len(shown.covers_) == 100


def test_keywords_reach_the_artists(fit, X, y):
    def show(display, **options):
        return plot(display, fit(), X, y, **options)

    sizes = {"point_kwargs": {"s": 7}, "adjusted_point_kwargs": {"s": 8}}
    shown = show(NeighborsDisplay, bar_kwargs={"height": 0.5}, **sizes)
    assert shown.bars_[0].get_height() == 0.5
    assert (shown.points_.get_sizes()[0], shown.adjusted_points_.get_sizes()[0]) == (7, 8)
    shown = show(IntervalDisplay, bar_kwargs={"linewidth": 4}, point_kwargs={"s": 9})
    assert (shown.bars_[0].get_linewidth()[0], shown.points_.get_sizes()[0]) == (4, 9)


def test_intervals_of_few_rows_have_fewer_bins(fit, X, y):
    shown = IntervalDisplay.from_estimator(fit(), X[:3], y[:3])
    assert len(shown.bin_coverage_) == 3


def test_intervals_without_ends_are_not_drawn(fit, X, y):
    with (
        pytest.warns(UserWarning, match="needs at least 999 validation rows"),
        pytest.raises(ValueError, match=r"draws no infinite .* confidence_level=0\.999: lower it"),
    ):
        IntervalDisplay.from_estimator(fit(), X, y, 0.999)
