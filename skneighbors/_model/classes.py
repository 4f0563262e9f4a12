"""Results of classifiers: explanations, sets of classes, label errors."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import torch

from .._utils.printing import PART_WORDS, percent
from .._utils.warn import warn
from .decomposition import explain
from .explanations import N_ROWS, ExplainedQueries
from .residuals import conformal_score, weigh_by_group
from .suspects import LikelyErrors, name_worst, predict_left_out

if TYPE_CHECKING:
    import pandas as pd

# Printed are so many classes at most.
_N_CLASSES = 5
# Values that are equal up to this are equal.
_ROUNDING = 1e-12
_MIXED = (
    "A probability is the mean, by the weights above the table, of a class's weight among the\n"
    "neighbors, of what was learned from all rows, and of the classes' frequencies among these."
)
_BY_COLUMN = (
    'By column: "=" is the query\'s value; the difference is how much more probable the first\n'
    "class is to the blended model for the query than for all neighbors due to the column."
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ClassExplanation(ExplainedQueries):
    """Probabilities as weights of classes among the nearest rows; made by ``explain``.

    For every query `neighbors_weight` times the weights of the rows of a class, plus
    ``part_weights[name] * parts[name]`` for each part, is the probability of the class. Printed, it
    is two tables for each query.

    Attributes
    ----------
    probabilities : ndarray of shape (n_queries, n_classes)
        What the estimator predicts.
    classes : ndarray of shape (n_classes,)
        Labels of the classes.
    indices : int ndarray of shape (n_queries, n_neighbors)
        Rows of the X given to ``fit``, the largest weights first; of those that are equal in X
        and y, which count as one, the first. Rows appended later are numbered on from there.
    labels : ndarray of shape (n_queries, n_neighbors)
        Their labels in the index of the DataFrame, if X was one with an index; else `indices`.
    weights : ndarray of shape (n_queries, n_neighbors)
        Their weights, largest first, which sum to 1.
    targets : ndarray of shape (n_queries, n_neighbors)
        Their classes.
    neighbors_weight : float
        Weight of the neighbors in a probability; the parts have the rest.
    parts : dict of ndarrays of shape (n_queries, n_classes)
        Probabilities by each part of the blended model, "boosting" and "linear", if it has any
        weight, and "frequencies" of the classes.
    part_weights : dict of str to float
        Weights of these in a probability.
    counts : int ndarray of shape (n_queries, n_neighbors)
        How many equal training samples each row stands for.
    agreement : ndarray of shape (n_queries,)
        Estimate of the fraction of the first five rows that a fit with another `random_state`
        would name; NaN if there is a single network.
    likeness : float
        Strength of likeness; 0 if the learned distance alone chose the rows.
    query_labels : ndarray of shape (n_queries,)
        Labels of the queries in their index, or their positions.
    by_column : ColumnDifferences or None
        How much more probable each class is, to the blended model, for a query than for a row, by
        column and by their weights in a probability.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from skneighbors import NONAClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NONAClassifier(n_neighbors=5, max_iter=5, random_state=0).fit(X, y)
    >>> why = model.explain(X[:3])
    >>> of_first = (why.weights * (why.targets == why.classes[0])).sum(axis=1)
    >>> expected = why.neighbors_weight * of_first
    >>> for name, probabilities in why.parts.items():
    ...     expected += why.part_weights[name] * probabilities[:, 0]
    >>> np.allclose(model.predict_proba(X[:3])[:, 0], expected, rtol=1e-9)
    True
    """

    probabilities: np.ndarray
    classes: np.ndarray

    def to_frame(self) -> pd.DataFrame:
        """Arrange the neighbors as a DataFrame, one row for each.

        Returns
        -------
        frame : pandas.DataFrame
            Of columns query, row (their labels), weight (among the neighbors) and class.

        Raises
        ------
        ImportError
            If pandas is missing.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skneighbors import NONAClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = NONAClassifier(n_neighbors=5, max_iter=5, random_state=0).fit(X, y)
        >>> model.explain(X[:3]).to_frame().shape
        (15, 4)
        """
        import pandas as pd

        return pd.DataFrame(self._neighbors() | {"class": self.targets.ravel()})

    def _notes(self):
        has_differences = self.by_column is not None and np.any(self.by_column.differences)
        return self._list_notes([_MIXED], _BY_COLUMN if has_differences else None)

    def _describe(self, i):
        """Titles and cells of one query's tables."""
        weights, targets, probabilities = self.weights[i], self.targets[i], self.probabilities[i]
        shown = min(N_ROWS, np.count_nonzero(weights))
        rows = [["row", "weight", "class"]]
        for place in range(shown):
            rows.append([self._name(i, place), percent(weights[place]), str(targets[place])])
        if n_others := len(weights) - shown:
            rows.append([f"{n_others} more", percent(weights[shown:].sum()), ""])
        largest = np.argsort(-probabilities, kind="stable")[:_N_CLASSES]
        words = ["neighbors", *(PART_WORDS[name] for name in self.parts)]
        counts = zip(words, [self.neighbors_weight, *self.part_weights.values()], strict=True)
        classes = [["class", *words, "probability"]]
        for c in largest:
            of_neighbors = weights @ (targets == self.classes[c])
            others = (part[i, c] for part in self.parts.values())
            cells = map(percent, [of_neighbors, *others, probabilities[c]])
            classes.append([str(self.classes[c]), *cells])
        best = f"{self.classes[largest[0]]} {percent(probabilities[largest[0]])}"
        return [
            (f"Query {self.query_labels[i]}: {best}", rows),
            ("Weights: " + ", ".join(f"{w} {percent(weight)}" for w, weight in counts), classes),
            *self._describe_columns(i, _write_difference, [largest[0]]),
        ]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ClassSuspects(LikelyErrors):
    """Likely label errors: training samples whose classes look wrong, the most suspect first.

    Made by ``suspects`` of classifiers.

    Attributes
    ----------
    indices : int ndarray of shape (n_rows,)
        Rows of the X given to ``fit``; of those that are equal in X and y, which count as one,
        the first. Rows appended later are numbered on from there.
    labels : ndarray of shape (n_rows,)
        Their labels in the index of the DataFrame, if X was one with an index; else `indices`.
    scores : ndarray of shape (n_rows,)
        Probability of `expected` less that of the row's class, without the row itself;
        descending.
    targets : ndarray of shape (n_rows,)
        Their classes.
    expected : ndarray of shape (n_rows,)
        The most probable other classes.
    probabilities : ndarray of shape (n_rows, n_classes)
        Of all classes, without the row itself.
    neighbors : list of int ndarray
        Of each row, those of the largest weights, the largest first, at most five; numbered like
        `indices`.
    neighbor_labels : list of ndarray
        Their labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skneighbors import NONAClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> suspects = NONAClassifier(max_iter=5, random_state=0).fit(X, y).suspects(n_rows=5)
    >>> suspects.scores.shape
    (5,)
    """

    probabilities: np.ndarray

    _title = "Rows whose classes look wrong, the most suspect first"
    _between = "class", "expected"
    _note = (
        "expected is what a row's neighbors, those of the largest weights named, predict without "
        "it;\nscore is how much more probable that is than the row's class. A high score is no "
        "proof: a\nrow may be rare and right."
    )
    _score_style = ".2f"

    def to_frame(self) -> pd.DataFrame:
        """Arrange the rows as a DataFrame.

        Returns
        -------
        frame : pandas.DataFrame
            Of columns row (labels), score, class, expected and neighbors (lists of labels).

        Raises
        ------
        ImportError
            If pandas is missing.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skneighbors import NONAClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = NONAClassifier(max_iter=5, random_state=0).fit(X, y)
        >>> list(model.suspects().to_frame())
        ['row', 'score', 'class', 'expected', 'neighbors']
        """
        return self._frame({"class": self.targets, "expected": self.expected})

    def _describe(self, rows):
        return [[str(self.targets[i]), str(self.expected[i])] for i in rows]


def explain_classes(model, queries, search, by_column, classes):
    """Explain probabilities of the classes of these labels; see the classifiers."""
    why = explain(model, queries, search, by_column)
    codes = why.targets.argmax(axis=2)
    task, left = model.task, 1 - model.task.prior_weight
    frequencies = np.broadcast_to(task.prior, why.prediction.shape)
    weights = {name: left * weight for name, weight in why.part_weights.items()}
    shared = {part.name: getattr(why, part.name) for part in fields(ExplainedQueries)}
    shared |= {
        "targets": classes[codes],
        "neighbors_weight": left * why.neighbors_weight,
        "parts": why.parts | {"frequencies": frequencies},
        "part_weights": weights | {"frequencies": task.prior_weight},
    }
    return ClassExplanation(
        probabilities=task.inverse_transform(why.prediction), classes=classes, **shared
    )


def _write_difference(value, sign):
    """Write a difference of probabilities."""
    return f"{100 * float(value[0]) + 0.0:{sign}.1f} %"


@torch.no_grad()
def find_class_suspects(model, search, n_rows, classes):
    """Find suspects among classes; see the classifiers."""
    bank, _, values = predict_left_out(model, search)
    if len(classes) == 1:
        raise ValueError("suspects compares classes; y has a single one.")
    if model.task.prior_weight == 1:
        warn("suspects names no row: the frequencies of the classes alone predict.")
        n_rows = 0
    probabilities = model.task.inverse_transform(values.cpu().numpy())
    codes, every = bank.rows.targets.argmax(1).cpu().numpy(), np.arange(len(values))
    others = probabilities.copy()
    others[every, codes] = -1
    scores = others.max(axis=1) - probabilities[every, codes]
    worst, found = name_worst(model, bank, search, scores, n_rows)
    return ClassSuspects(
        **found,
        targets=classes[codes[worst]],
        expected=classes[others[worst].argmax(axis=1)],
        probabilities=probabilities[worst],
    )


@torch.no_grad()
def predict_set(model, queries, search, confidence_level):
    """Predict sets (n, n_classes), and how improbable a class in one may be."""
    probabilities = model.predict(queries, search)
    if not model.validation:
        return np.ones(probabilities.shape, dtype=bool), np.array(np.inf)
    judged = model.validation.judge(model.bank.to(search.device), search.n_neighbors)
    values = (judged.targets - judged.residuals).cpu().numpy()
    is_true = judged.targets.cpu().numpy() == 1
    scores = torch.from_numpy(1 - model.task.inverse_transform(values)[is_true])
    scores, order = scores.sort()
    group = judged.group.cpu()
    weight = weigh_by_group(judged.weight.cpu(), group)
    threshold = conformal_score(scores, weight[order], group[order], confidence_level).numpy()
    return 1 - probabilities <= threshold + _ROUNDING, threshold
