"""Results of classifiers: explanations, sets of classes, label errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from .._utils.printing import Printed, named, percent
from .explanations import ByColumn, describe_agreement, describe_neighbors
from .residuals import conformal_score, weigh_by_group
from .suspects import check_comparable, name_rows, predict_left_out

if TYPE_CHECKING:
    import pandas as pd

# Printed are so many queries, neighbors, classes and suspects at most.
_N_QUERIES, _N_ROWS, _N_CLASSES, _N_SUSPECTS = 10, 10, 5, 20
# Values that are equal up to this are equal.
_ROUNDING = 1e-12
_MIXED = (
    "A probability is the weight of a class among the neighbors, mixed with what the blended\n"
    "model and the frequencies of the classes add."
)
_BY_COLUMN = (
    'By column: "=" is the query\'s value; the difference is how much more probable the first\n'
    "class is to the blended model for the query than for its neighbors due to the column."
)
_SUSPECT = (
    "expected is what a row's neighbors, those of the largest weights named, predict without it;\n"
    "score is how much more probable that is than the row's class. A high score is no proof: a\n"
    "row may be rare and right."
)


@dataclass(frozen=True, eq=False, repr=False)
class ClassExplanation(ByColumn):
    """Probabilities as weights of classes among the nearest rows; made by ``explain``.

    For every query ``neighbors_weight`` times the weights of the rows of a class, plus `added`, is
    the probability of the class. Printed, it is two tables for each query.

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
        Weight of the neighbors beside the blended model and the frequencies of the classes.
    added : ndarray of shape (n_queries, n_classes)
        What these add to each probability.
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
    >>> expected = why.neighbors_weight * of_first + why.added[:, 0]
    >>> np.allclose(model.predict_proba(X[:3])[:, 0], expected, rtol=1e-9)
    True
    """

    probabilities: np.ndarray
    classes: np.ndarray
    indices: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    targets: np.ndarray
    neighbors_weight: float
    added: np.ndarray
    counts: np.ndarray
    agreement: np.ndarray
    likeness: float
    query_labels: np.ndarray

    def __len__(self) -> int:
        return len(self.probabilities)

    def to_frame(self) -> pd.DataFrame:
        """Arrange the neighbors as a DataFrame, one row for each.

        Returns
        -------
        frame : pandas.DataFrame
            Of columns query, row (their labels), weight and class.

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

        return pd.DataFrame(
            {
                "query": np.repeat(self.query_labels, self.weights.shape[1]),
                "row": self.labels.ravel(),
                "weight": self.weights.ravel(),
                "class": self.targets.ravel(),
            }
        )

    def _notes(self):
        n_others = len(self) - _N_QUERIES
        notes = [f"... and {n_others} more queries"] if n_others > 0 else []
        lines = describe_neighbors(self.likeness), describe_agreement(self), _MIXED
        notes.append("\n".join(filter(None, lines)))
        if self.by_column is not None and np.any(self.by_column.differences):
            notes.append(_BY_COLUMN)
        return notes

    def _tables(self):
        """Titles and cells of the tables of all queries that are shown."""
        tables = []
        for i in range(min(len(self), _N_QUERIES)):
            largest = np.argsort(-self.probabilities[i], kind="stable")[:_N_CLASSES]
            best = self.classes[largest[0]], percent(self.probabilities[i, largest[0]])
            shown = min(_N_ROWS, int((self.weights[i] > 0).sum()))
            cells = [["row", "weight", "class"]]
            for place in range(shown):
                name = named(self.labels[i, place], self.counts[i, place])
                cells.append([name, percent(self.weights[i, place]), str(self.targets[i, place])])
            if n_others := self.weights.shape[1] - shown:
                cells.append([f"{n_others} more", percent(self.weights[i, shown:].sum()), ""])
            tables.append((f"Query {self.query_labels[i]}: {best[0]} {best[1]}", cells))
            cells = [["class", "of the neighbors", "added", "probability"]]
            for c in largest:
                of_neighbors = self.weights[i] @ (self.targets[i] == self.classes[c])
                parts = of_neighbors, self.added[i, c], self.probabilities[i, c]
                cells.append([str(self.classes[c]), *map(percent, parts)])
            head = f"Neighbors count {percent(self.neighbors_weight)}"
            tables.append((head, cells))
            if self.by_column is not None and np.any(self.by_column.differences[i]):
                tables.append(self._describe_columns(i, _write_difference, [largest[0]]))
        return tables


@dataclass(frozen=True, eq=False, repr=False)
class ClassSuspects(Printed):
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

    indices: np.ndarray
    labels: np.ndarray
    scores: np.ndarray
    targets: np.ndarray
    expected: np.ndarray
    probabilities: np.ndarray
    neighbors: list
    neighbor_labels: list

    def __len__(self) -> int:
        return len(self.indices)

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
        import pandas as pd

        return pd.DataFrame(
            {
                "row": self.labels,
                "score": self.scores,
                "class": self.targets,
                "expected": self.expected,
                "neighbors": [list(labels) for labels in self.neighbor_labels],
            }
        )

    def _notes(self):
        n_others = len(self) - _N_SUSPECTS
        return [*([f"... and {n_others} more rows"] if n_others > 0 else []), _SUSPECT]

    def _tables(self):
        """Title and cells of the table."""
        cells = [["row", "score", "class", "expected", "neighbors"]]
        for i in range(min(len(self), _N_SUSPECTS)):
            neighbors = ", ".join(map(str, self.neighbor_labels[i]))
            names = str(self.targets[i]), str(self.expected[i])
            cells.append([str(self.labels[i]), f"{self.scores[i]:.2f}", *names, neighbors])
        return [("Rows whose classes look wrong, the most suspect first", cells)]


def explain_classes(explanation, classes, task):
    """Read an :class:`Explanation` of values as one of classes."""
    codes = explanation.targets.argmax(axis=2)
    of_class = np.einsum(
        "nk,nkc->nc", explanation.weights, codes[..., None] == np.arange(len(classes))
    )
    neighbors_weight = float(task.differences_on_scale(1.0)) * explanation.neighbors_weight
    return ClassExplanation(
        probabilities=explanation.prediction,
        classes=classes,
        indices=explanation.indices,
        labels=explanation.labels,
        weights=explanation.weights,
        targets=classes[codes],
        neighbors_weight=neighbors_weight,
        added=explanation.prediction - neighbors_weight * of_class,
        counts=explanation.counts,
        agreement=explanation.agreement,
        likeness=explanation.likeness,
        query_labels=explanation.query_labels,
        by_column=explanation.by_column,
    )


def _write_difference(value, sign):
    """Write a difference of probabilities."""
    return f"{100 * float(value[0]) + 0.0:{sign}.1f} %"


@torch.no_grad()
def find_class_suspects(model, search, n_rows, classes):
    """Find suspects among classes; see the classifiers."""
    bank = model.bank.to(search.device)
    check_comparable(bank)
    if len(classes) == 1:
        raise ValueError("suspects compares classes; y has a single one.")
    residuals = model.residuals(bank, search.n_neighbors)
    values = predict_left_out(bank, search, residuals.left_out).cpu().numpy()
    probabilities = model.task.inverse_transform(values)
    codes, every = bank.rows.targets.argmax(1).cpu().numpy(), np.arange(len(values))
    others = probabilities.copy()
    others[every, codes] = -1
    scores = others.max(axis=1) - probabilities[every, codes]
    worst = np.lexsort([model.samples, -scores])[:n_rows]
    return ClassSuspects(
        **name_rows(model, bank, search, worst),
        scores=scores[worst],
        targets=classes[codes[worst]],
        expected=classes[others[worst].argmax(axis=1)],
        probabilities=probabilities[worst],
    )


@torch.no_grad()
def predict_set(model, queries, search, confidence_level):
    """Predict sets (n, n_classes), and how improbable a class in one may be."""
    bank, rows, blended = model.embed(queries, search)
    values = bank.predict(rows, blended, search.n_neighbors, search.algorithm).cpu()
    if not model.validation:
        return np.ones(values.shape, dtype=bool), np.zeros(())
    judged = model.validation.judge(bank, search.n_neighbors)
    # Only the true class has a positive residual: 1 less its value.
    scores, order = judged.residuals.amax(1).cpu().sort()
    group = judged.group.cpu()
    weight = weigh_by_group(judged.weight.cpu(), group)
    threshold = conformal_score(scores, weight[order], group[order], confidence_level)
    return (1 - values <= threshold + _ROUNDING).numpy(), threshold.numpy()
