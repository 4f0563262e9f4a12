"""The demo's test rows: what a fitted model predicts of them, as numbers or as classes."""

import base64
import html
import io
import re
from itertools import count

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, make_scorer

from skneighbors.inspection import IntervalDisplay, NeighborsDisplay

CONFIDENCE = 0.9
# A row that makes more than this fraction of the squared error is named.
MOST = 0.5
NO_CLASS = "empty, as every class is less probable than true classes usually are"
# Classes of a confusion table, and those whose probabilities are named.
MAX_CLASSES, N_PROBABLE = 10, 3


def number(value, digits=4):
    """Write a number with as many digits that count, and no exponent where it can be."""
    return f"{float(f'{value:.{digits}g}'):,.12g}"


def percent(fraction):
    """Write a fraction in percent."""
    return f"{100 * fraction:.0f} %"


def html_table(frame, **options):
    """HTML of a frame."""
    return frame.to_html(border=0, justify="unset", **options)


def paragraph(text):
    """HTML of a text."""
    return f"<p>{html.escape(text)}</p>"


def picture(display, alt):
    """HTML of what a display has drawn."""
    file = io.BytesIO()
    display.figure_.savefig(file, format="svg", bbox_inches="tight")
    plt.close(display.figure_)
    data = base64.b64encode(file.getvalue()).decode()
    return f'<img alt="{alt}" src="data:image/svg+xml;base64,{data}">'


class TestedNumbers:
    """Test rows whose targets are numbers."""

    loss, scorer = "RMSE", "neg_root_mean_squared_error"
    sureness = "the width of their intervals"

    def __init__(self, model, X, y):
        self.model, self.X, self.y = model, X, y
        self.y_hat = model.predict(X)
        self.interval = model.predict_interval(X, CONFIDENCE)
        self.unsureness = self.interval[:, 1] - self.interval[:, 0]
        self.errors = np.abs(y.to_numpy() - self.y_hat)

    def write(self, value):
        """Write a target."""
        return number(value, 6)

    def describe(self, row):
        """Say how the prediction of a row and its target compare."""
        low, high = map(number, self.interval[row])
        target, prediction = map(self.write, (self.y.iloc[row], self.y_hat[row]))
        text = f"The target is {target}, the prediction {prediction}; the "
        return f"{text}{percent(CONFIDENCE)} interval goes from {low} to {high}."

    def draw_neighbors(self, X):
        """Draw what a row's prediction is made of."""
        alt = "Weights of the neighbors, and their targets beside the prediction"
        display = NeighborsDisplay.from_estimator(self.model, X)
        display.axes_[1].locator_params(axis="x", nbins=4)
        return picture(display, alt)

    def warnings(self):
        """Say if one row makes most of the squared error; a list of sentences."""
        row, squares = self.errors.argmax(), self.errors**2
        others, total = np.delete(squares, row), squares.sum()
        if not others.size or squares[row] <= MOST * total:
            return []
        share, target = percent(squares[row] / total), self.write(self.y.iloc[row])
        rmse = number(np.sqrt(others.mean()))
        text = f"Beware: row {self.X.index[row]} alone, whose target is {target}, makes {share} of "
        text += "the squared error of ours in the first split, and may decide who is best. Without "
        return [f"{text}it, the RMSE of ours is {rmse} there."]

    def confusion(self):
        """Nothing: numbers aren't confused."""
        return ""

    def coverage(self):
        """Say how many intervals contain the target; a picture."""
        low, high = self.interval.T
        covered = np.mean((low <= self.y) & (self.y <= high))
        text = f"{percent(CONFIDENCE)} intervals cover {percent(covered)} of {len(self.y)} targets."
        if np.isinf(self.interval).any():
            return f"{text} Some are infinite: there are too few rows for such a confidence.", ""
        display = IntervalDisplay.from_estimator(self.model, self.X, self.y, CONFIDENCE)
        return text, picture(display, "Intervals of the test rows, their targets and the coverage")


class TestedClasses:
    """Test rows whose targets are classes."""

    loss, sureness = "log loss", "their highest probability"

    def __init__(self, model, X, y):
        self.y, self.classes = y, model.classes_
        self.scorer = make_scorer(
            log_loss, greater_is_better=False, response_method="predict_proba", labels=self.classes
        )
        self.y_hat, self.probabilities = model.predict(X), model.predict_proba(X)
        self.sets = model.predict_set(X, confidence_level=CONFIDENCE)
        own = np.arange(len(y)), np.searchsorted(self.classes, y)
        self.unsureness = 1 - self.probabilities.max(axis=1)
        self.errors, self.is_in = 1 - self.probabilities[own], self.sets[own]

    def write(self, value):
        """Write a class."""
        return str(value)

    def describe(self, row):
        """Say how the probabilities of a row and its class compare."""
        of_row = self.probabilities[row]
        probable = np.argsort(-of_row, kind="stable")[:N_PROBABLE]
        told = ", ".join(f"{self.classes[k]} {100 * of_row[k]:.1f} %" for k in probable)
        members = self.classes[self.sets[row]]
        is_long, members = len(members) > MAX_CLASSES, ", ".join(members) or NO_CLASS
        members = (
            f"{self.sets[row].sum()} of the {len(self.classes)} classes" if is_long else members
        )
        text = f"The class is {self.y.iloc[row]}. Probabilities: {told}. "
        return f"{text}The {percent(CONFIDENCE)} set: {members}."

    def draw_neighbors(self, X):
        """Draw nothing: there is no display of classes."""
        return ""

    def warnings(self):
        """Nothing: log losses are not checked."""
        return []

    def confusion(self):
        """Table of the true and the predicted classes, the largest by name."""
        names = sorted(self.y.value_counts().index[:MAX_CLASSES])
        text = "Test rows of the first split by their class and the one predicted."
        if len(self.classes) > len(names):
            text += f" The {len(names)} largest classes have a line each."
            names.append(f"others ({len(self.classes) - len(names)})")
        pair = [pd.Series(np.asarray(part)) for part in (self.y, self.y_hat)]
        true, predicted = (part.where(part.isin(names), names[-1]) for part in pair)
        table = pd.crosstab(true, predicted, rownames=["true class"], colnames=["predicted"])
        cells = html_table(table.reindex(index=names, columns=names, fill_value=0))
        places = count()  # those of the diagonal are shaded
        cells = re.sub(
            "<td>", lambda _: f"<td{' class=ours' * (next(places) % (len(names) + 1) == 0)}>", cells
        )
        return f"<h3>Which classes are confused?</h3>{paragraph(text)}{cells}"

    def coverage(self):
        """Say how many sets contain the class; a table by the size of the set."""
        sizes, covered = self.sets.sum(axis=1), percent(self.is_in.mean())
        text = f"{percent(CONFIDENCE)} sets contain {covered} of {len(self.y)} true classes; "
        text += f"they hold {sizes.mean():.2f} classes on average."
        by_size = pd.Series(self.is_in).groupby(sizes).agg(["size", "mean"])
        table = by_size.assign(mean=by_size["mean"].map(percent))
        table = table.rename(columns={"size": "test rows", "mean": "contain the class"})
        return text, html_table(table.rename_axis("classes in the set").reset_index(), index=False)
