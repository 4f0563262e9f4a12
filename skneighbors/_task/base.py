"""The interface of tasks."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch


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


class Task(ABC):
    """What is predicted, fitted to the targets of the training samples.

    Subclasses are frozen dataclasses, so that files can hold them. `values` are the numbers
    that neighbors average, k of them for each row: standardized targets, or class probabilities.

    Attributes
    ----------
    loss_name : str
        scikit-learn's name of the loss, by which the blended model is fitted.
    score_name : str
        What the score of validation rows is: 1 less their loss over that of a constant.
    has_spread : bool
        Whether predictions may be farther off for some rows than for others. Then regions, such
        as intervals, are as wide as the residuals of a row's neighbors; else scores of validation
        rows, :meth:`nonconformity`, say alone what is in them.
    target_word, unbounded, parts_note, by_column_note : str
        What frames call a target; what regions are where validation rows are too few; notes of
        printed explanations on the parts of a prediction, and on differences by column.
    suspects_title, score_note, score_style : str
        Title of printed label errors, what their scores are, and the format of these.
    writer : callable
        Called with arrays of targets, makes a function that writes one, or several of a row.
    """

    has_spread = True

    @classmethod
    @abstractmethod
    def read(cls, y, sample_weight, params):
        """Read targets given to `fit`.

        Parameters
        ----------
        y : array-like
        sample_weight : ndarray of shape (n_samples,)
        params : dict
            Parameters of the estimator.

        Returns
        -------
        targets : Targets

        Raises
        ------
        ValueError
            If they are not usable; the message names y.
        """

    @classmethod
    @abstractmethod
    def read_others(cls, y, form, n_samples):
        """Read targets of validation rows, to (n_samples, n_targets); `form` as in Targets."""

    @classmethod
    @abstractmethod
    def fit(cls, y, sample_weight, form):
        """Make the task of the targets of unique rows; see :class:`Targets`.

        Returns
        -------
        task : Task
        """

    @abstractmethod
    def attributes(self):
        """Attributes, by name, that a fitted estimator has of its targets."""

    @property
    def can_be_blended(self):
        """Whether a blended model has anything to learn."""
        return True

    def check_fields(self):
        """Raise ValueError if what is no array, read from a file, does not fit the arrays."""
        return

    @property
    @abstractmethod
    def n_values(self):
        """Number k of values of a row."""

    @abstractmethod
    def read_more(self, y, n_samples):
        """Read targets of rows to append, to (n_samples, n_targets)."""

    @abstractmethod
    def transform(self, y):
        """Make values (n_samples, k) of checked targets (n_samples, n_targets)."""

    @abstractmethod
    def inverse_transform(self, values):
        """Make predictions of values (..., k)."""

    @abstractmethod
    def differences_on_scale(self, differences):
        """Differences of values (..., k) on the scale of explanations."""

    @abstractmethod
    def losses(self, y_hat, y):
        """Losses (..., b) of predicted values (..., b, k)."""

    @abstractmethod
    def limits(self, low, high):
        """Smallest and largest predicted values, (2, ..., k).

        Parameters
        ----------
        low, high : Tensor of shape (..., k)
            Of the values of the rows there are.
        """

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

    @staticmethod
    def strata(y):
        """Class (n_samples,) of each of the targets (n_samples, n_targets) to draw by, or None.

        Validation rows are drawn from each in proportion.
        """
        return

    def nonconformity(self, judged):
        """Scores (n, 1) of validation rows, by how little their targets fit; see `has_spread`.

        Parameters
        ----------
        judged : object
            Its tensors `targets` and `residuals`, of shape (n, k), are values.

        Returns
        -------
        scores : Tensor
        """
        raise NotImplementedError

    @abstractmethod
    def region(self, values, reach):
        """Make regions that contain targets with some confidence, such as intervals.

        Parameters
        ----------
        values : ndarray of shape (n, k)
            Predicted.
        reach : ndarray
            Half widths (n, k), or the score (1,) up to which targets are in; may be infinite.
        """

    @abstractmethod
    def explain(self, why):
        """Return an :class:`Explanation` of values as one of what is predicted."""

    @abstractmethod
    def describe(self, why, i, names):
        """Titles and cells of the tables of query `i`, whose first neighbors have these names."""

    @abstractmethod
    def describe_differences(self, why, i):
        """Make a function that writes differences by column of query `i`; and which it takes."""

    @abstractmethod
    def suspect(self, y, y_hat, spread, reach):
        """Compare rows with their predictions without themselves.

        Parameters
        ----------
        y, y_hat : ndarray of shape (n, k)
            Values of the rows, and predicted ones.
        spread, reach : ndarray of shape (n, k) or None
            Mean absolute residuals of the neighbors, and half widths of intervals; None unless
            `has_spread`.

        Returns
        -------
        fields : dict
            Of :class:`Suspects`, for every row: `scores`, -inf for rows that cannot be suspected,
            `targets`, `expected`, and what says how sure that is.
        """
