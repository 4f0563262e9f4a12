"""The interface of tasks."""

from dataclasses import dataclass

import numpy as np
import torch

from .._utils.arrays import Stored


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets of training samples, as a task reads them.

    Attributes
    ----------
    y : float64 ndarray of shape (n_samples, n_targets)
        Rows that agree in X and in these count as one.
    weight : ndarray of shape (n_samples,)
    form : object
        How predictions are given back: the dimensions of y, or the labels of its classes.
    """

    y: np.ndarray
    weight: np.ndarray
    form: object


class Task(Stored):
    """What is predicted, fitted to the targets of the training samples.

    Subclasses are frozen dataclasses, so that files can hold them. `values` are the numbers
    that neighbors average, k of them for each row: standardized targets, or class probabilities.

    A subclass has the attributes and methods below, and may change those that have a body here.

    Attributes
    ----------
    loss_name : str
        scikit-learn's name of the loss, by which the blended model is fitted.
    score_name : str
        What the score of validation rows is: 1 less their loss over that of a constant.
    n_values : int
        Number k of values of a row.
    has_spread : bool
        Whether predictions may be farther off for some rows than for others. Then regions, such
        as intervals, are as wide as the residuals of a row's neighbors; else scores of validation
        rows, `nonconformity`, say alone what is in them.
    target_word, unbounded, parts_note, by_column_note : str
        What frames call a target; what regions are where validation rows are too few; notes of
        printed explanations on the parts of a prediction, and on differences by column.
    suspects_title, score_note, score_style : str
        Title of printed label errors, what their scores are, and the format of these.
    writer : callable
        Called with arrays of targets, makes a function that writes one, or several of a row.

    Methods
    -------
    read(y, sample_weight, params)
        Class method: :class:`Targets` of what `fit` is given; `params` are the estimator's.
        ValueError, which names y, if that is not usable.
    read_others(y, form, n_samples)
        Class method: targets (n_samples, n_targets) of validation rows.
    fit(y, sample_weight, form)
        Class method: the task of the targets (n_rows, n_targets) of unique rows, without bounds.
    attributes()
        Attributes, by name, that a fitted estimator has of its targets.
    read_more(y, n_samples)
        Targets (n_samples, n_targets) of rows to append.
    transform(y)
        Values (n_samples, k) of targets (n_samples, n_targets), not bounded.
    inverse_transform(values)
        Predictions of values (..., k).
    losses(y_hat, y)
        Losses (..., b) of predicted values (..., b, k), both tensors.
    limits(low, high)
        Smallest and largest predicted values (2, ..., k), where those of rows are from `low` to
        `high`, tensors (..., k).
    nonconformity(judged)
        Scores (n, 1) of validation rows, a tensor, by how little their targets fit. Only without
        `has_spread`. Tensors `judged.targets` and `judged.residuals` (n, k) are values.
    region(values, reach)
        Intervals, or the like, around predicted values (n, k), which contain targets with some
        confidence. `reach` are half widths (n, k), or the score (1,) up to which targets are in;
        it may be infinite.
    explain(why)
        An :class:`Explanation` of values as one of what is predicted.
    differences_on_scale(differences)
        Differences of values (..., k) as such an explanation shows them.
    describe(why, i, names)
        Titles and cells of the tables of query `i`, whose first neighbors have these names.
    describe_differences(why, i)
        A function that writes differences by column of query `i`, and the places of those.
    suspect(y, y_hat, spread, reach)
        Fields of :class:`Suspects`, a dict of arrays with an entry for each row: `scores`, -inf
        for rows that cannot be suspected, `targets`, `expected`, and how sure that is. Given are
        values (n, k) of rows, and predictions of these without themselves; and, with
        `has_spread`, mean absolute residuals of their neighbors, and half widths of intervals.
    """

    has_spread = True
    bounds = None  # of values, where a few far from all others count as no farther

    @property
    def can_be_blended(self):
        """Whether a blended model has anything to learn."""
        return True

    @staticmethod
    def fallback(y, weight):
        """Constant values (m, 1, k) of least loss for y (m, b, k): their weighted mean."""
        weight = torch.ones_like(y[..., 0]) if weight is None else weight
        return (weight.unsqueeze(-2) @ y) / weight.sum(-1)[:, None, None]

    def calibrate(self, y, y_hat, weight, n_rows):
        """Return the task as it predicts validation rows best.

        Parameters
        ----------
        y, y_hat : Tensor of shape (m, n, k)
            Values of the members' validation rows, and predictions.
        weight : Tensor of shape (m, n) or None
        n_rows : int
            How many different rows these are.

        Returns
        -------
        task : Task
        """
        return self

    def bound(self, values):
        """Values (n, k), a tensor, as they are averaged, trained on and judged."""
        return values

    def bounding(self, values, weight):
        """Task with the bounds of the values (n, k) of these rows, of weights (n,)."""
        return self

    def find_doubtful(self, y, weight):
        """Which of the targets (n, n_targets) `fit` warns of, a mask."""
        return np.zeros(y.shape, dtype=bool)

    @staticmethod
    def strata(y):
        """Class (n_samples,) of each of the targets (n_samples, n_targets) to draw by, or None.

        Validation rows are drawn from each in proportion.
        """
        return
