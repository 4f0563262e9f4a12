"""The second model that is blended in: boosted trees, or a regressor of the user's."""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from sklearn.base import BaseEstimator, clone
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils import indexable

from .._utils.random import MAX_SEED
from .._utils.sklearn_private import take_samples
from .._utils.threads import one_openmp_thread
from .boosting import BaggedBoosting
from .given import name_origin, tags_of
from .share import share_of_second

# So many are predicted faster by one thread, if other work has the cores.
_FEW_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class GivenModel:
    """A fitted regressor of the user's, of X and y as given.

    Attributes
    ----------
    regressor : estimator
    share : float
        Its share in predictions, in [0, 1].
    """

    regressor: BaseEstimator
    share: float = 0.0
    takes_matrix = False

    def predict(self, X, matrix, target):
        """Predict, standardised.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As given.
        matrix : ndarray of shape (n_samples, n_features)
            X as a :class:`TableReader` reads it.
        target : Target

        Returns
        -------
        y : ndarray of shape (n_samples, n_targets)
        """
        # A copy: the user's may write in place.
        X = take_samples(*indexable(X), np.arange(len(matrix)))
        with one_openmp_thread() if len(matrix) <= _FEW_ROWS else nullcontext():
            return target.transform(predict(self.regressor, X, len(matrix), len(target.mean)))


class BoostedTrees(GivenModel):
    """Bags of boosted trees, of what is read, for standardised targets."""

    takes_matrix = True

    def predict(self, X, matrix, target):
        """Predict, standardised; see :class:`GivenModel`."""
        return self.regressor.predict(matrix)


@dataclass(frozen=True, eq=False)
class NoSecondModel:
    """None: it predicts 0, and its share is 0."""

    regressor = None
    share = 0.0
    takes_matrix = True

    def predict(self, X, matrix, target):
        """Predict, standardised; see :class:`GivenModel`."""
        return np.zeros((len(matrix), len(target.mean)))


class SecondFit(NamedTuple):
    """A second model and what it predicts, standardised.

    Attributes
    ----------
    model : GivenModel or NoSecondModel
    rows : Tensor of shape (n_rows, n_targets)
        Of the rows that it was fitted to.
    left_out : Tensor of shape (n_rows, n_targets)
        Of the same rows by bags that they are not in, if there are any.
    held_out : Tensor of shape (m, n, n_targets)
        Of the samples that each member holds out, never by what was fitted to them.
    """

    model: object
    rows: torch.Tensor
    left_out: torch.Tensor
    held_out: torch.Tensor

    @classmethod
    def of(cls, model, *predictions):
        """Of predictions in NumPy's arrays."""
        return cls(model, *map(torch.from_numpy, predictions))

    def weigh(self, held_out):
        """Give the model its share, for what the networks predict, or put none in its place."""
        share = share_of_second(held_out, self.held_out)
        if not share:
            return no_second_fit(self.rows)
        return self._replace(model=replace(self.model, share=share))


def no_second_fit(y):
    """None, for targets of this shape (n_rows, n_targets)."""
    return SecondFit(NoSecondModel(), *[torch.zeros_like(y)] * 3)


class OnePerTarget(MultiOutputRegressor):
    """Clones of a regressor, one for each target; their `fit` is handed whatever this one is."""

    def fit(self, X, y, **metadata):
        """Fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ndarray of shape (n_samples, n_targets)
        **metadata : dict

        Returns
        -------
        self : object
        """
        self.estimators_ = [clone(self.estimator) for _ in y.T]
        for own, target in zip(self.estimators_, y.T, strict=True):
            own.fit(X, target, **metadata)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimators_[0], name):
                setattr(self, name, getattr(self.estimators_[0], name))
        return self

    def predict(self, X):
        """Predict.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples, n_targets)
        """
        parts = [own.predict(X) for own in self.estimators_]
        return np.hstack([as_columns(part, len(part), 1) for part in parts])


def count_affordable(n_iter, samples, target, seconds, n_threads):
    """Count the iterations of boosted trees, at most `n_iter`, for so many seconds."""
    y, weight = target.transform(samples.y[samples.rows]), samples.weight
    if samples.time is not None:  # they are fitted twice
        seconds /= 2
    X, n_levels = samples.matrix[samples.rows], samples.reader.n_levels
    return BaggedBoosting.count_affordable(X, y, weight, n_levels, n_iter, seconds, n_threads)


def fit_second_model(blend, samples, metadata, target, split, n_iter, random_state, n_threads):
    """Fit a second model to all samples, and predict rows by what was not fitted to them.

    Parameters
    ----------
    blend : "boosting" or estimator
    samples : TrainingSamples
    metadata : Metadata
        What an estimator is handed, beside X and y.
    target : Target
    split : EnsembleSplit
    n_iter : int
        Iterations of boosted trees.
    random_state : RandomState
    n_threads : int

    Returns
    -------
    fit : SecondFit

    Raises
    ------
    ValueError
        If it predicts what are no numbers, or not as many as asked for. What an estimator
        raises itself is raised with a note.
    """
    if isinstance(blend, str):
        return _fit_boosting(samples, target, split, n_iter, random_state, n_threads)
    try:
        return _fit_given(_seed(blend, random_state), samples, metadata, target, split)
    except Exception as error:
        told = name_origin(error, blend, samples, metadata)
        if told is error:
            raise
        raise told from error


def _fit_boosting(samples, target, split, n_iter, random_state, n_threads):
    """Bags of boosted trees; see :func:`fit_second_model`."""
    X, validation = samples.matrix[samples.rows], samples.validation
    y, groups = target.transform(samples.y[samples.rows]), samples.row_groups

    def fit(rows):
        return BaggedBoosting.fit(
            X[rows],
            y[rows],
            samples.weight[rows],
            None if groups is None else groups[rows],
            samples.reader.n_levels,
            n_iter,
            random_state,
            n_threads,
        )

    fitted, left_out = fit(slice(None))
    model = BoostedTrees(fitted)
    if validation is not None:
        held_out = model.predict(validation.X, validation.matrix, target)[None]
    elif samples.time is not None:  # bags have seen rows as late
        held_out, train = [], None
        for own, rows in zip(split.train.numpy(), split.validation.numpy(), strict=True):
            if train is None or not np.array_equal(own, train):  # members may share it
                (earlier, _), train = fit(own), own
            held_out.append(earlier.predict(X[rows]))
        held_out = np.stack(held_out)
    else:
        held_out = left_out[split.validation.numpy()]
    return SecondFit.of(model, model.predict(None, X, target), left_out, held_out)


def _fit_given(regressor, samples, metadata, target, split):
    """Fit a regressor of the user's, and clones; see :func:`fit_second_model`."""
    rows, validation = samples.rows, samples.validation
    fitter = Fitter(regressor, samples.X, samples.y, metadata, samples.row_of)
    model = GivenModel(fitter.fit(np.arange(len(rows))))
    own = model.predict(take_samples(samples.X, rows), samples.matrix[rows], target)
    if validation is None:
        held_out = target.transform(fitter.predict_held_out(split))
    else:
        held_out = model.predict(validation.X, validation.matrix, target)[None]
    return SecondFit.of(model, own, own, held_out)


def _seed(regressor, random_state):
    """Clone that draws what NumPy's global generator would else give from `random_state`."""
    regressor = clone(regressor)
    unseeded = [
        name
        for name, value in sorted(regressor.get_params().items())
        if value is None and f"__{name}".endswith("__random_state")
    ]
    if unseeded:
        regressor.set_params(**{name: random_state.randint(MAX_SEED) for name in unseeded})
    return regressor


class Fitter:
    """Fits a regressor to parts of the training samples.

    Parameters
    ----------
    regressor : estimator
    X : array-like of shape (n_samples, n_features)
        What the regressor takes.
    y : ndarray of shape (n_samples, n_targets)
    metadata : Metadata
        What else it is handed.
    row_of : int ndarray of shape (n_samples,)
        Rows that a split is of; -1 for samples without weight.
    """

    def __init__(self, regressor, X, y, metadata, row_of):
        tags, self._n_targets = tags_of(regressor), y.shape[1]
        if self._n_targets == 1:
            y = y.ravel()
        elif tags is None or not tags.target_tags.multi_output:
            regressor = OnePerTarget(regressor)
        self._regressor, self._X, self._y, self._row_of = regressor, X, y, row_of
        self._metadata = metadata

    def fit(self, rows):
        """Fit to the samples of some rows.

        Parameters
        ----------
        rows : int ndarray

        Returns
        -------
        fitted : estimator
        """
        samples = np.flatnonzero(np.isin(self._row_of, rows))
        regressor = clone(self._regressor)
        X, y = take_samples(self._X, samples), self._y[samples]
        regressor.fit(X, y, **self._metadata.take(samples))
        return regressor

    def predict_held_out(self, split):
        """Fit and predict as the split of each of m members says.

        Parameters
        ----------
        split : EnsembleSplit

        Returns
        -------
        predictions : ndarray of shape (m, n_validation, n_targets)
        """
        _, first = np.unique(self._row_of, return_index=True)
        first = first[-(self._row_of.max() + 1) :]  # samples of the rows, without that of -1
        predictions, train = [], None
        for own, validation in zip(split.train.numpy(), split.validation.numpy(), strict=True):
            if train is None or not np.array_equal(own, train):  # members may share it
                fitted, train = self.fit(own), own
            X = take_samples(self._X, first[validation])
            predictions.append(predict(fitted, X, len(validation), self._n_targets))
        return np.stack(predictions)


def predict(regressor, X, n_samples, n_targets):
    """Predict, to float64 (n_samples, n_targets); see :func:`as_columns`."""
    return as_columns(regressor.predict(X), n_samples, n_targets)


def as_columns(y, n_samples, n_targets):
    """Arrange a regressor's predictions as (n_samples, n_targets).

    Parameters
    ----------
    y : array-like of shape (n_samples, n_targets); (n_samples,) if there is one target
    n_samples, n_targets : int

    Returns
    -------
    y : float64 ndarray of shape (n_samples, n_targets)

    Raises
    ------
    ValueError
        If they have another shape, or are no finite numbers.
    """
    values = np.asarray(y)
    shape = values.shape
    if shape != (n_samples, n_targets) and not (n_targets == 1 and shape == (n_samples,)):
        raise ValueError(
            f"blend predicts an array of shape {shape} for {n_samples} samples of {n_targets} "
            f"{'target' if n_targets == 1 else 'targets'}."
        )
    if values.dtype.kind not in "biufO":
        raise ValueError(f"blend predicts what are no numbers, of dtype {values.dtype}.")
    try:
        values = values.astype(np.float64).reshape(n_samples, n_targets)
    except (TypeError, ValueError) as error:
        raise ValueError(f"blend predicts what are no numbers: {error}") from error
    if np.ma.is_masked(y) or not np.isfinite(values).all():
        raise ValueError("blend predicts NaN or infinity.")
    return values
