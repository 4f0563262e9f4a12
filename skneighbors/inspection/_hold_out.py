"""The error on rows at random, and on rows of new values or later ones."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from .._columns import ColumnWarning, Table, TableReader, find_doubts, unwrap
from ._common import BLUE, GREY, ORANGE, import_pyplot, make_axes, select_target
from ._hold_out_columns import N_FOLDS, find_columns
from ._hold_out_models import MODELS, QuickModels

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from typing_extensions import Self

    from .._utils.typing import ArrayLike

_LEAST_ROWS = 10
# Of each line: so many rows say what the error is.
_MAX_TESTED = 10_000
# R2 below is drawn here.
_FLOOR = -1.0
_NEW, _LAST = "new values", "last fifth"
# Which parameter of `fit` has rows held out so.
_PARAMETERS = {_NEW: "groups", _LAST: "order"}


@dataclass(kw_only=True, eq=False, repr=False)
class HoldOutDisplay:
    """What to expect of rows to come that are new: of other customers, or of next month.

    Make it by :meth:`from_data`, before a fit. Boosted trees and a neighbour search, both quick,
    predict rows that are held out: at random, which is what a validation does unless it is told
    otherwise; all rows of a value together, so that each row's value is new; and the rows of the
    last fifth of a date or number, for which all others are earlier. A line leads from R2 at
    random, a ring, to R2 of the same rows held out otherwise, a dot.

    Parameters
    ----------
    columns : list of str
        What rows are held out by, one for each line of the picture.
    held_out : list of {"new values", "last fifth"}
        How they are.
    n_values : int ndarray of shape (n_lines,)
        Number of distinct values of the column.
    n_samples : int ndarray of shape (n_lines,)
        Number of rows that were predicted.
    y_std : ndarray of shape (n_lines,)
        Standard deviation of their targets: the error of predicting their mean.
    rmse_random : ndarray of shape (n_lines, 2)
        Root mean squared error of the trees and of the neighbours on these rows, where rows are
        held out at random.
    rmse : ndarray of shape (n_lines, 2)
        That where they are held out so.

    Attributes
    ----------
    r2_random_, r2_ : ndarray of shape (n_lines, 2)
        The same as R2 of these rows; 1 is perfect, 0 their mean.
    points_ : list of two matplotlib PathCollection
        R2 of the trees and the neighbours on rows that are new.
    random_points_ : list of two matplotlib PathCollection
        R2 of both on rows at random.
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    skneighbors.NONARegressor.fit : Takes what turns out to be needed, `groups` or `order`.
    sklearn.model_selection.GroupKFold : Cross-validates by groups.

    Notes
    -----
    It shows what to expect, and not what is right: *will the rows to come have values that the
    training rows have?* If so, as from the same shops, the ring is what to expect. If they are of
    new customers, it is the customer's dot, and with ``fit(X, y, groups=customer)`` the model
    validates itself so. If they are later, it is the dot of the date, and `order` does that.

    A long line is no proof that rows belong together. Any column that matters is missed where its
    values are new: of a brand that it has never seen, no model knows the prices. The column stays
    a feature all the time. To tell the two apart, take it out of the features,
    ``from_data(X.drop(columns="brand"), y, {"brand": X["brand"]})``. If that makes the line short,
    all that new brands lacked was the column itself. If the line stays long, other columns
    give away which brand a row is of, and what a validation at random says is too good for new
    brands. If the dot moves to the right, new brands are better predicted without the column.

    Means of targets, which the trees are told, are those of other rows, not of other values, as
    `fit` has them if it is given groups.

    A short line is no proof of the contrary: it speaks of two quick models, and of these columns.
    Some hundredths are chance, and more where there are few rows; of few values, such as five
    brands, not even the mean is known where some are left out.

    Numbers are held out by value if they repeat. The last fifth of a number that is no time, such
    as a size, shows how models extrapolate. All other rows lie on one side of a last fifth, which
    costs the neighbour search something even where nothing changes in time.

    Rows that have a gap in a column are never held out by it, and always trained on. Values make
    five folds of about as many rows, fewer if there are fewer values, and the last fifth is as near
    to a fifth as whole values allow. Of each line, at most 10,000 rows are predicted; all that are
    not held out are trained on. To save time on a large table, give whole groups or a stretch of
    time: rows drawn at random leave few of a group together.

    Examples
    --------
    >>> import numpy as np
    >>> from skneighbors.inspection import HoldOutDisplay
    >>> rng = np.random.default_rng(0)
    >>> customer = np.repeat(np.arange(60), 5)
    >>> X = rng.normal(size=(60, 3))[customer]  # which give the customer away
    >>> y = rng.normal(size=60)[customer] + 0.3 * rng.normal(size=300)
    >>> display = HoldOutDisplay.from_data(X, y, {"customer": customer}, random_state=0)
    >>> display.held_out
    ['new values', 'last fifth']
    >>> bool(display.r2_random_[0, 1] > 0.6), bool(display.r2_[0, 1] < 0.1)
    (True, True)
    """

    columns: list[str]
    held_out: list[str]
    n_values: np.ndarray
    n_samples: np.ndarray
    y_std: np.ndarray
    rmse_random: np.ndarray
    rmse: np.ndarray

    def __post_init__(self):
        with np.errstate(divide="ignore", invalid="ignore"):
            self.r2_random_, self.r2_ = (
                1 - np.square(error / self.y_std[:, None])
                for error in (self.rmse_random, self.rmse)
            )

    @classmethod
    def from_data(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        columns: Sequence[Any] | Mapping[Any, ArrayLike] | None = None,
        *,
        categorical_features: str | ArrayLike | None = "from_dtype",
        target: int = 0,
        random_state: int | np.random.RandomState | None = None,
        ax: Axes | None = None,
        point_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Hold rows of a table out at random, by whole values and by order, and show the errors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features: a table as :meth:`~skneighbors.NONARegressor.fit` takes it, with text, dates
            and gaps. They are all used whatever is held out.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        columns : list of str or int, or dict of array-like of shape (n_samples,), default=None
            What to hold out by: columns of X, by name or position; or arrays by name, such as
            ``{"customer": customer}``, which need not be columns of X and become no features. None
            is those columns of X that hold dates, or categories or whole numbers that repeat, with
            five values or more and not mostly gaps; of more than eight, dates and those of the most
            values.
        categorical_features : "from_dtype" or array-like, default="from_dtype"
            Which columns of X hold categories: see :class:`~skneighbors.NONARegressor`.
        target : int, default=0
            Number of the target to predict, if there are several.
        random_state : int, RandomState instance or None, default=None
            Seed of what is drawn: which rows or values are held out together, and the models'.
        ax : matplotlib Axes, default=None
            Axes to draw on. None for those of a new figure.
        point_kwargs : dict, default=None
            Keywords for matplotlib's ``scatter``.

        Returns
        -------
        display : HoldOutDisplay
            The display, drawn.

        Raises
        ------
        ImportError
            If matplotlib is missing.
        TypeError
            If `columns` is neither a list nor a dict, or X is a lazy frame.
        ValueError
            If X or y is not usable, a column is unknown or of another length, or there is nothing
            to hold out by it.

        Warns
        -----
        ColumnWarning
            If text is hardly meant as categories, such as dates, which have no last fifth then.
        UserWarning
            If not all such columns are shown, as there are more than eight.

        Examples
        --------
        >>> import pandas as pd
        >>> from sklearn.datasets import make_regression
        >>> from skneighbors.inspection import HoldOutDisplay
        >>> X, y = make_regression(n_samples=100, n_features=3, random_state=0)
        >>> X = pd.DataFrame(X, columns=["a", "b", "c"])
        >>> X["day"] = pd.date_range("2025-01-01", periods=50).repeat(2)
        >>> display = HoldOutDisplay.from_data(X, y, random_state=0)
        >>> list(zip(display.columns, display.held_out))
        [('day', 'new values'), ('day', 'last fifth')]
        """
        import_pyplot(cls)
        table = Table.of(X := unwrap(X))
        if table is None:
            raise ValueError("X must be a table of rows and columns, and not sparse.")
        if len(table.data) < _LEAST_ROWS:
            raise ValueError(
                f"X must have at least {_LEAST_ROWS} rows to hold some out; got {len(table.data)}."
            )
        reader = TableReader.of(table, categorical_features)
        matrix = reader.read(table)
        if np.isnan(matrix).all():
            raise ValueError("X has no column with a value; all are NaN, None or NA.")
        y = select_target(y, target, len(matrix))
        if (y == y[0]).all():
            raise ValueError("y must vary; all its values are the same.")
        doubts = find_doubts(table, reader, matrix, categorical_features)
        if doubts is not None:
            warnings.warn(doubts, ColumnWarning, stacklevel=2)
        found = find_columns(columns, table, reader, matrix)
        random_state = check_random_state(random_state)
        models = QuickModels(matrix, reader.n_levels, y, random_state)
        return cls(**_compare(found, models, y, random_state)).plot(ax, point_kwargs=point_kwargs)

    def plot(self, ax: Axes | None = None, *, point_kwargs: dict[str, Any] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None for those of a new figure.
        point_kwargs : dict, default=None
            Keywords for matplotlib's ``scatter``.

        Returns
        -------
        self : HoldOutDisplay
            The display.

        Examples
        --------
        >>> import numpy as np
        >>> from skneighbors.inspection import HoldOutDisplay
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> display = HoldOutDisplay.from_data(X, X[:, 0], columns=[1], random_state=0).plot()
        >>> [label.get_text() for label in display.ax_.get_yticklabels()]
        ['x1: last fifth (order)']
        """
        n_lines = len(self.columns)
        ax = make_axes(self, ax, (6.5, 1.5 + 0.5 * n_lines))
        self.points_, self.random_points_ = [], []
        for k, (model, color) in enumerate(zip(MODELS, (BLUE, ORANGE), strict=True)):
            places = np.arange(n_lines) + (k - 0.5) * 0.3
            r2, r2_random = self.r2_[:, k], self.r2_random_[:, k]
            drawn, drawn_random = (np.maximum(own, _FLOOR) for own in (r2, r2_random))
            ax.hlines(places, drawn, drawn_random, color=color, linewidth=1.2, zorder=2)
            dot = {"s": 36, "facecolors": color, "edgecolors": color, "label": model, "zorder": 3}
            dot |= point_kwargs or {}
            self.points_.append(ax.scatter(drawn, places, **dot))
            ring = dot | {"facecolors": "none", "label": None}
            self.random_points_.append(ax.scatter(drawn_random, places, **ring))
            for i in np.flatnonzero(r2 < _FLOOR):
                ax.annotate(
                    f"{r2[i]:.3g}",
                    (_FLOOR, places[i]),
                    xytext=(-6, 0),
                    textcoords="offset points",
                    ha="right",
                    va="center",
                    fontsize="small",
                )
        lines = zip(self.columns, self.held_out, strict=True)
        names = [f"{column}: {how} ({_PARAMETERS[how]})" for column, how in lines]
        ax.set_yticks(range(n_lines), names)
        ax.set(xlabel="R² of rows held out", ylim=(n_lines - 0.5, -0.5))
        ax.margins(x=0.12)
        ax.grid(axis="y", color="0.9")
        ax.set_axisbelow(True)
        self._add_legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _add_legend(self, ax):
        """Say above what colours and rings are."""
        ring = ax.scatter([], [], s=36, facecolors="none", edgecolors=GREY, label="at random")
        ax.legend(
            handles=[*self.points_, ring],
            loc="lower center",
            bbox_to_anchor=(0.5, 1),
            ncols=3,
            columnspacing=1.2,
            handlelength=1.2,
            frameon=False,
        )

    def to_frame(self) -> pd.DataFrame:
        """Arrange what is shown as a DataFrame, a row for each line and model.

        Returns
        -------
        frame : pandas.DataFrame
            Of columns column, held_out, n_values, n_samples, model ("trees" or "neighbors"),
            rmse_random, rmse, r2_random and r2.

        Raises
        ------
        ImportError
            If pandas is missing.

        Examples
        --------
        >>> import numpy as np
        >>> from skneighbors.inspection import HoldOutDisplay
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> display = HoldOutDisplay.from_data(X, X[:, 0], columns=[1], random_state=0)
        >>> display.to_frame()[["column", "held_out", "n_samples", "model"]]
          column    held_out  n_samples      model
        0     x1  last fifth         20      trees
        1     x1  last fifth         20  neighbors
        """
        import pandas as pd

        by_line = {
            "column": self.columns,
            "held_out": self.held_out,
            "n_values": self.n_values,
            "n_samples": self.n_samples,
        }
        by_model = {
            "rmse_random": self.rmse_random,
            "rmse": self.rmse,
            "r2_random": self.r2_random_,
            "r2": self.r2_,
        }
        return pd.DataFrame(
            {name: np.repeat(own, len(MODELS)) for name, own in by_line.items()}
            | {"model": np.tile(MODELS, len(self.columns))}
            | {name: own.ravel() for name, own in by_model.items()}
        )


def _compare(columns, models, y, random_state):
    """Errors of the same rows, held out at random and by columns: the fields of a display."""
    at_random = KFold(N_FOLDS, shuffle=True, random_state=random_state).split(y)
    lines = [
        (column, how, folds)
        for column in columns
        for how, folds in (
            (_NEW, column.draw_value_folds(random_state)),
            (_LAST, column.find_last_fifth()),
        )
        if folds
    ]
    place = random_state.permutation(len(y))
    asked = [_first(np.concatenate(folds), place) for _, _, folds in lines]
    hold_outs = [
        ([test for _, test in at_random], np.unique(np.concatenate(asked))),
        *((folds, rows) for (_, _, folds), rows in zip(lines, asked, strict=True)),
    ]
    random, *others = _errors(models, y, hold_outs)
    return {
        "columns": [column.name for column, _, _ in lines],
        "held_out": [how for _, how, _ in lines],
        "n_values": np.array([column.n_values for column, _, _ in lines]),
        "n_samples": np.array([len(rows) for rows in asked]),
        "y_std": np.array([y[rows].std() for rows in asked]),
        "rmse_random": np.array([_rmse(random[:, rows]) for rows in asked]),
        "rmse": np.array([_rmse(own[:, rows]) for own, rows in zip(others, asked, strict=True)]),
    }


def _first(rows, place):
    """Those of the rows, no more than are tested, that come first in a random order."""
    return rows[np.argsort(place[rows])[:_MAX_TESTED]]


def _errors(models, y, hold_outs):
    """Errors (2, n_samples) of each hold-out, which is folds and the rows to predict in them."""
    parts = [(fold, np.intersect1d(fold, rows)) for folds, rows in hold_outs for fold in folds]
    predictions = iter(zip(parts, models.predict(parts), strict=True))
    for folds, _ in hold_outs:
        errors = np.full((len(MODELS), len(y)), np.nan)
        for (_, test), predicted in islice(predictions, len(folds)):
            errors[:, test] = predicted - y[test]
        yield errors


def _rmse(errors):
    return np.sqrt(np.square(errors).mean(axis=1))
