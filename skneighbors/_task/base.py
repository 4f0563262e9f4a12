"""The interface of tasks."""

from abc import ABC, abstractmethod

import torch

from .._utils.arrays import Stored


class Task(Stored, ABC):
    """What is predicted, fitted to the targets of the training samples.

    Subclasses are frozen dataclasses, so that files can hold them. `values` are the numbers
    that neighbors average, k of them for each row: standardized targets, or class probabilities.

    Attributes
    ----------
    loss_name : str
        scikit-learn's name of the loss, by which the blended model is fitted.
    score_name : str
        What the score of validation rows is: 1 less their loss over that of a constant.
    """

    loss_name: str
    score_name: str

    @classmethod
    @abstractmethod
    def check(cls, y):
        """Check targets given to `fit`.

        Parameters
        ----------
        y : array-like

        Returns
        -------
        y : float64 ndarray of shape (n_samples,) or (n_samples, n_targets)
            Rows that agree in X and in these numbers count as one.

        Raises
        ------
        ValueError
            If they are not usable; the message names y.
        """

    @classmethod
    @abstractmethod
    def fit(cls, y, sample_weight, ndim):
        """Make the task of checked targets.

        Parameters
        ----------
        y : ndarray of shape (n_samples, n_targets)
        sample_weight : ndarray of shape (n_samples,)
        ndim : int
            Dimensions of y as given, 1 or 2.

        Returns
        -------
        task : Task
        """

    @property
    def can_be_blended(self):
        """Whether a blended model has anything to learn."""
        return True

    @property
    @abstractmethod
    def n_values(self):
        """Number k of values of a row."""

    @abstractmethod
    def check_more(self, y, n_samples):
        """Check targets of further samples, to (n_samples, n_targets); see :meth:`check`."""

    @abstractmethod
    def transform(self, y):
        """Make values (n_samples, k) of checked targets (n_samples, n_targets)."""

    @abstractmethod
    def inverse_transform(self, values):
        """Make predictions of values (..., k)."""

    @abstractmethod
    def on_scale(self, values):
        """Values (..., k) on the scale on which explanations show and add them."""

    @abstractmethod
    def differences_on_scale(self, differences):
        """Do the same for differences of values."""

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
