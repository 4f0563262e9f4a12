"""Fit the blended model, and predict rows that it was not fitted to."""

import numpy as np
from sklearn.base import clone
from sklearn.multioutput import MultiOutputRegressor

from .._utils.random import MAX_SEED
from .._utils.sklearn_private import take_samples
from .blended import BlendedBoosting, BlendedRegressor, BlendFit, as_columns
from .boosting import BOOSTING, BoostingData
from .given import name_origin, tags_of


class OnePerTarget(MultiOutputRegressor):
    """Clones of a regressor, one for each target, fitted with the same metadata."""

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
        for estimator, target in zip(self.estimators_, y.T, strict=True):
            estimator.fit(X, target, **metadata)
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
        parts = [estimator.predict(X) for estimator in self.estimators_]
        return np.hstack([as_columns(part, len(part), 1) for part in parts])


def _boosting_data(samples, task):
    groups = np.arange(len(samples.rows)) if samples.groups is None else samples.row_groups
    y = task.transform(samples.y[samples.rows])
    X = samples.expand(samples.matrix[samples.rows])
    n_categories = samples.reader.n_expanded_categories
    return BoostingData(X, y, samples.weight, groups, n_categories)


def count_affordable(n_iter, samples, task, seconds, n_threads):
    """Count the iterations of boosted trees, at most `n_iter`, for so many seconds."""
    if samples.time is not None:  # they are fitted twice
        seconds /= 2
    data = _boosting_data(samples, task)
    return BOOSTING[task.boosting].count_affordable(data, n_iter, seconds, n_threads)


def fit_blended(plan, samples, metadata, task, split, random_state, n_threads):
    """Fit a blended model to all samples, and predict rows by what was not fitted to them.

    Parameters
    ----------
    plan : Plan
    samples : TrainingSamples
    metadata : Metadata
        What the user's regressor is given beside X and y.
    task : Task
    split : EnsembleSplit
    random_state : RandomState
    n_threads : int

    Returns
    -------
    fit : BlendFit

    Raises
    ------
    ValueError
        If its predictions are no numbers, or of another shape. What the user's regressor
        raises itself is raised with a note.
    """
    blend = plan.params["blend"]
    if isinstance(blend, str):
        n_iter = plan.recipe.boosting_iter
        return _fit_boosting(samples, task, split, n_iter, random_state, n_threads)
    try:
        return _fit_given(_seed(blend, random_state), samples, metadata, task, split)
    except Exception as error:
        named = name_origin(error, blend, samples, metadata)
        if named is error:
            raise
        raise named from error


def _fit_boosting(samples, task, split, n_iter, random_state, n_threads):
    """Bags of boosted trees; see :func:`fit_blended`."""
    data, validation = _boosting_data(samples, task), samples.validation

    def fit(rows):
        return BOOSTING[task.boosting].fit(data.select(rows), n_iter, random_state, n_threads)

    fitted, out_of_fold = fit(slice(None))
    model = BlendedBoosting(fitted)
    if validation is not None:
        predicted = model.predict(validation.X, samples.expand(validation.matrix), task)[None]
    elif samples.time is not None:  # bags have seen rows as late
        predicted = _predict_held_out(
            split, lambda rows: fit(rows)[0], lambda bags, rows: bags.predict(data.X[rows])
        )
    else:
        predicted = out_of_fold[split.validation.numpy()]
    return BlendFit.of(model, out_of_fold, predicted)


def _fit_given(regressor, samples, metadata, task, split):
    """Fit a regressor of the user's, and clones; see :func:`fit_blended`."""
    rows, validation, y = samples.rows, samples.validation, samples.y
    tags, n_targets = tags_of(regressor), y.shape[1]
    if n_targets == 1:
        y = y.ravel()
    elif tags is None or not tags.target_tags.multi_output:
        regressor = OnePerTarget(regressor)

    def fit(rows):
        given = np.flatnonzero(np.isin(samples.row_of, rows))
        X = take_samples(samples.X, given)
        fitted = clone(regressor)
        fitted.fit(X, y[given], **metadata.take(given))
        return fitted

    def predict_rows(fitted, places):
        X = take_samples(samples.X, rows[places])
        return as_columns(fitted.predict(X), len(places), n_targets)

    model = BlendedRegressor(fit(np.arange(len(rows))))
    in_sample = model.predict(
        take_samples(samples.X, rows), samples.expand(samples.matrix[rows]), task
    )
    if validation is None:
        predicted = task.transform(_predict_held_out(split, fit, predict_rows))
    else:
        predicted = model.predict(validation.X, samples.expand(validation.matrix), task)[None]
    return BlendFit.of(model, in_sample, predicted)


def _predict_held_out(split, fit, predict):
    """Predict each member's validation rows by what is fitted to its training rows: (m, n, k)."""
    predicted, train = [], None
    for rows, validation in zip(split.train.numpy(), split.validation.numpy(), strict=True):
        if train is None or not np.array_equal(rows, train):  # members may share it
            fitted, train = fit(rows), rows
        predicted.append(predict(fitted, validation))
    return np.stack(predicted)


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
