"""Base of all estimators: parameters and data are checked, and the work is handed on.

:func:`fit_model` makes the :class:`Model`, whose methods all other public methods call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from ._columns import ColumnWarning, TrainingSamples, check_features, check_weights, unwrap
from ._fit import fit_model
from ._io import save_estimator
from ._model import (
    TOO_NARROW,
    Model,
    Queries,
    Search,
    check_algorithm,
    warn_of_infinite,
    warn_unless_validated,
)
from ._parameters import CommonParameters
from ._settings import LEARNED, TABLE, Recipe, check_params
from ._task import Task
from ._utils.arrays import Stored
from ._utils.device import resolve_device
from ._utils.parameters import ArrayLike, PathLike, check_argument, counts_from, reals
from ._utils.process import changing_rows
from ._utils.progress import Clock
from ._utils.sklearn_private import fit_context
from ._utils.threads import at_most, batches_at_most, single_threaded
from ._utils.warn import warn

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from typing_extensions import Self

    from ._model import Explanation, FittedNetwork

# Largest number of members without a warning: a forest has a hundred, but networks take long.
_MANY_MEMBERS = 16


class BaseNeighborEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CommonParameters):
    """Estimator that predicts from training samples in a learned embedding.

    Subclasses may have more parameters and other defaults, and `_tables` holds what their
    ``"auto"`` becomes. `_head_class` weighs the neighbors. It is given the parameters named in
    `_head_params`, and what `_fixed_temperature` makes of a number as temperature.
    `_task_class` is what they predict, and `_model` what :meth:`fit` leaves.
    """

    _task_class: type[Task]
    _head_params = ("similarity", "softstep", "softstep_parameters")

    def _describe_head(self, plan, n_targets):
        """Class of a head, and its arguments."""
        recipe = plan.recipe
        arguments = dict(embedding_dim=recipe.embedding_dim, n_targets=n_targets, eps=recipe.eps)
        arguments |= self._temperature_params(recipe.temperature) | {
            "trend": plan.params.get("trend")
        }
        return self._head_class, arguments | {name: plan.params[name] for name in self._head_params}

    def _temperature_params(self, temperature):
        """Parameters of a head that say its temperature."""
        if not isinstance(temperature, str):
            return self._fixed_temperature(temperature)
        return {"temperature": 1.0 if temperature in LEARNED else None}

    def _tables(self):
        """Tables of what ``"auto"`` becomes; later ones override earlier ones."""
        return (TABLE,)

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of the recipe as ``recipe__<name>``, also where it is None.

        Parameters
        ----------
        **params : dict
            Parameters by name.

        Returns
        -------
        self : object
            The estimator.

        Examples
        --------
        >>> from skneighbors import NONARegressor
        >>> model = NONARegressor().set_params(max_iter=50, recipe__dropout=0.1)
        >>> model.recipe.dropout
        0.1
        """
        if any(name.startswith("recipe__") for name in params):
            # A copy: another estimator may hold the same recipe.
            recipe = params.get("recipe", self.recipe)
            params["recipe"] = Recipe() if recipe is None else clone(recipe, safe=False)
        return super().set_params(**params)

    @fit_context
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        time: ArrayLike | None = None,
    ) -> Self:
        """Learn the embedding, the head and the bank of neighbors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training features: a DataFrame, an array or lists. Columns may hold numbers,
            dates and times, and categories; all may have missing values. With a
            `feature_extractor`, X may have more dimensions, and holds numbers alone.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets. Of numbers, a few that are far from all others are bounded in training, with a
            warning; see :ref:`far_targets`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, as counts, not fractions: a row of weight 2 is the same as a row that
            stands twice, one of weight 0 the same as none. See :ref:`weights` for what they
            mean to each result.
        X_val : array-like of shape (n_val, n_features), default=None
            Validation set, in place of validation rows drawn from the training set. Its rows
            are neither trained on nor neighbors; :meth:`append` makes them
            neighbors afterwards. In a search, let it have another number of rows than `X`:
            whatever is as long as `X` is split into folds.
        y_val : array-like of shape (n_val,) or (n_val, n_targets), default=None
            Their targets.
        sample_weight_val : array-like of shape (n_val,), default=None
            Their weights.
        groups : array-like of shape (n_samples,), default=None
            Group of each row, if rows to predict are of other groups, such as ``X["shop"]``; all
            of one kind, such as numbers or text. Rows of one group are validation rows together,
            and no neighbors of each other in training.
            If the rows to predict are later ones of the same groups (the same shops next week),
            give `time` alone; if they are of new groups, `groups` alone; if they are later ones
            of new groups, both. See :ref:`groups`.
        time : array-like of shape (n_samples,), default=None
            When rows were observed, if rows to predict come later, such as ``X["date"]``:
            numbers, dates or times. The last fifth is the validation set, by which
            steps, temperatures, weights and widths of intervals are chosen; then the model is
            refitted on all rows (unless ``Recipe(refit=False)``).
            Rows of one time stay together. Rows without a time, NaN or NaT, are trained on.
            With `groups`, the validation set is the last fifth of a fifth of the groups. Not with
            `X_val`. See :ref:`time`.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If data or parameters are not usable; the message names them.
        TypeError
            If X or y is sparse, or `feature_extractor` is and returns no module.
        FloatingPointError
            If the loss is not finite in the first epoch, or the predictions are
            not at the end.
        ImportError
            If `algorithm` needs FAISS, and it is missing.
        KeyboardInterrupt
            If interrupted before any epoch was complete. Later, the training ends
            with a warning and keeps the weights of the best epoch so far, of those validated
            if any are; a search goes on with its next fit.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0)
        >>> model.fit(X[:80], y[:80], X_val=X[80:], y_val=y[80:]).n_iter_
        5
        """
        clock = Clock(self.max_time)
        # Checks set what they find on a copy: a fit that fails leaves the estimator as it was.
        fitted = object.__new__(type(self))
        vars(fitted).update(vars(self))
        validation = X_val, y_val, sample_weight_val
        # The caller may have set modes of torch, which are not to change results.
        with (
            at_most(self.n_jobs),
            single_threaded() as n_threads,
            torch.inference_mode(False),
            torch.enable_grad(),
        ):
            params = self._check_parameters()
            samples = TrainingSamples.check(fitted, X, y, sample_weight, groups, time, validation)
            if params["n_estimators"] != "auto" and params["n_estimators"] > _MANY_MEMBERS:
                warn(
                    f"n_estimators={self.n_estimators} trains as many networks, which takes long "
                    f"and gains little over {_MANY_MEMBERS}."
                )
            if samples.table.doubts is not None:
                warn(samples.table.doubts, ColumnWarning)
            given = params, self._tables(), self._task_class, self._describe_head, samples
            attributes = fit_model(*given, n_threads, clock)
        self.__dict__ = vars(fitted) | attributes
        return self

    def _check_parameters(self):
        """Check what needs no data, and return the parameters, sequences as tuples."""
        if self.blend not in ("auto", None) and self.feature_extractor is not None:
            raise ValueError(
                f"blend={self.blend!r} needs a table; with a feature_extractor, use None or 'auto'."
            )
        check_algorithm(self.algorithm, self.similarity)
        resolve_device(self.device)
        params = self._read_parameters()
        if self.blend == "auto" and self.feature_extractor is not None:
            params["blend"] = None
        return check_params(params)

    def _read_queries(self, X):
        """Return the model, X as its reader reads it, and how to search."""
        check_is_fitted(self)
        model, search, X = self._model, self._check_search(), unwrap(X)
        matrix = check_features(self, X, model.reader, model.matrix.shape[1:])
        return model, Queries(X, matrix), search

    def _call(self, method, X, *arguments):
        """Call a method of the model."""
        model, queries, search = self._read_queries(X)
        with batches_at_most(self.n_jobs):
            return method(model, queries, search, *arguments)

    def _call_for_samples(self, method, *arguments):
        """Call a method of the model that is about the training samples."""
        check_is_fitted(self)
        model, search = self._model, self._check_search()
        with batches_at_most(self.n_jobs):
            return method(model, search, *arguments)

    def _check_search(self):
        """Check the parameters of the search, which may have changed since fit."""
        for name in ("n_neighbors", "algorithm", "n_jobs"):
            allowed = self._parameter_constraints[name]
            check_argument(type(self).__name__, name, getattr(self, name), allowed)
        check_algorithm(self.algorithm, self.plan_.params["similarity"])
        n_neighbors = None if self.n_neighbors is None else int(self.n_neighbors)
        return Search(n_neighbors, self.algorithm, resolve_device(self.device, missing_ok=True))

    def _check_level(self, method, confidence_level):
        """Check an argument of a method, to float."""
        caller, allowed = f"{type(self).__name__}.{method}", [reals(0, 1, "neither")]
        check_argument(caller, "confidence_level", confidence_level, allowed)
        return float(confidence_level)

    def _check_n_rows(self, n_rows):
        """Check an argument of `suspects`, to int."""
        check_argument(f"{type(self).__name__}.suspects", "n_rows", n_rows, [counts_from(1)])
        return int(n_rows)

    def _predict_region(self, method, X, confidence_level):
        """Intervals or sets, as the task gives them, for a method of this name."""
        level = self._check_level(method, confidence_level)
        region, reach = self._call(Model.predict_region, X, level)
        self._warn_of(reach, confidence_level)
        return region

    def _warn_of(self, reach, confidence_level):
        """Warn of what came of too few validation rows, or none."""
        unbounded, is_infinite = self._model.task.unbounded, np.isinf(reach).any()
        if not self._model.validation:
            warn_unless_validated(self._model, unbounded if is_infinite else TOO_NARROW)
        elif is_infinite:
            warn_of_infinite(unbounded, confidence_level, self._model.n_validation)

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Embed X in the embedding space.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_networks * embedding_dim)
            Embeddings, float64; those of the ensemble's networks side by side.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> model.transform(X[80:]).shape  # two networks side by side
        (20, 128)
        """
        _, queries = self._call(Model.embed, X)
        return queries.z.flatten(1).cpu().numpy()

    def explain(self, X: ArrayLike, by_column: bool = False) -> Explanation:
        """Explain predictions by rows, their weights and targets, and the blended model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        by_column : bool, default=False
            Whether to say by column, too, how much more the trend and the blended model predict
            for a query than for a row (of a class, how much more probable it is), as Shapley
            values with the row as the background: exact where a query differs from a row in at
            most five columns, else from some 50 evaluations of the two, in random orders of the
            columns that are always the same. That takes some hundred times as long.

        Returns
        -------
        explanation : Explanation
            The `n_neighbors` rows of each prediction; the weighted mean of their targets, adjusted
            by the trend and averaged with what the blended model predicts, is the prediction.
            Print it, or see its :meth:`~skneighbors.inspection.Explanation.to_frame`.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X is not usable, or `by_column` is True and there is a `feature_extractor`, which
            knows no columns.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(n_neighbors=10, max_iter=5, random_state=0)
        >>> explanation = model.fit(X[:80], y[:80]).explain(X[80:])
        >>> explanation.indices.shape
        (20, 10)
        """
        check_argument(f"{type(self).__name__}.explain", "by_column", by_column, ["boolean"])
        return self._call(Model.explain, X, by_column)

    @overload
    def kneighbors(  # numpydoc ignore=GL08
        self,
        X: ArrayLike | None = ...,
        n_neighbors: int | None = ...,
        return_distance: Literal[True] = ...,
    ) -> tuple[np.ndarray, np.ndarray]: ...

    @overload
    def kneighbors(  # numpydoc ignore=GL08
        self,
        X: ArrayLike | None = ...,
        n_neighbors: int | None = ...,
        *,
        return_distance: Literal[False],
    ) -> np.ndarray: ...

    def kneighbors(
        self,
        X: ArrayLike | None = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Find the nearest neighbors in the embedding space.

        That is the space of :meth:`transform`, where those of all networks stand side by side;
        :ref:`likeness <likeness>` adds to distances in it.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            Features. None: the neighbors themselves, in the order of their numbers; none
            is a neighbor of itself.
        n_neighbors : int, default=None
            Number of neighbors of each. None: those that predict, the parameter `n_neighbors`,
            or all if there are fewer, or that is None.
        return_distance : bool, default=True
            Whether to return the distances.

        Returns
        -------
        neigh_dist : ndarray of shape (n_queries, n_neighbors)
            Distances by `similarity`, ascending up to rounding: Euclidean for ``"l2"``, Manhattan
            for ``"l1"``, 1 minus the cosine for ``"cosine"``, minus the product divided by the
            number of dimensions for ``"dot"``; with likeness, unless `likeness_` is 0. Only
            present if `return_distance` is True.
        neigh_ind : int ndarray of shape (n_queries, n_neighbors)
            Rows of the X given to :meth:`fit`, rows appended later numbered on from there. Rows
            that are equal, which predict as one, are named one by one.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X is not usable, or `n_neighbors` is not between 1 and the number of
            neighbors (one less without X).

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> distances, rows = model.kneighbors(X[80:], n_neighbors=3)
        >>> rows.shape
        (20, 3)
        """
        if X is None:
            found = self._call_for_samples(Model.neighbors_of_samples, n_neighbors)
        else:
            found = self._call(Model.kneighbors, X, n_neighbors)
        return found if return_distance else found[1]

    def neighbor_weights(self, X: ArrayLike) -> csr_array:
        """Weights of the training rows in the predictions of X.

        Without a trend and a blended model, predictions are ``neighbor_weights(X) @ y``; see
        :meth:`explain` for what these add.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Features.

        Returns
        -------
        weights : scipy.sparse.csr_array of shape (n_queries, n_samples)
            A column for each row given to :meth:`fit` or appended, those forgotten
            included. Rows sum to 1; the weight of the `n_neighbors` nearest, and of what equals
            them, is stored if it is not 0.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(n_neighbors=10, max_iter=5, random_state=0)
        >>> weights = model.fit(X[:80], y[:80]).neighbor_weights(X[80:])
        >>> weights.shape, int(weights.count_nonzero(axis=1).max())
        ((20, 80), 10)
        """
        return self._call(Model.neighbor_weights, X)

    def effective_n_neighbors(self, X: ArrayLike) -> np.ndarray:
        """Effective number of neighbors of each prediction.

        It is the inverse of the sum of the squared weights: k, if k neighbors have the same
        weight and all others none. It is at most `n_neighbors`, if no row weighs more than 1.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        n : ndarray of shape (n_samples,)
            At least 1.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> n = model.effective_n_neighbors(X[80:])
        >>> bool((n >= 1).all() and (n <= model.n_neighbors).all())
        True
        """
        return self._call(Model.effective_n_neighbors, X)

    def novelty(self, X: ArrayLike) -> np.ndarray:
        """Measure how unlike all training samples each row of X is.

        It is the fraction of the training samples that are nearer to their nearest neighbors, in
        the embedding space, than the row is to its nearest neighbors: about uniform for rows like
        those of :meth:`fit`, near 1 for rows unlike all of them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        novelty : ndarray of shape (n_samples,)
            From 0 to 1.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.

        Notes
        -----
        Distances are means over the five nearest. Of more than 10,000 neighbors, as many, drawn
        at random, are compared with. The first call after :meth:`fit`, :meth:`append` or
        :meth:`forget` computes their distances, which are kept.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> float(model.novelty(X[[80]] + 10)[0])
        1.0
        """
        return self._call(Model.novelty, X)

    def append(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Add training samples to the neighbors, without training.

        Predictions are, up to rounding, as if the rows had been neighbors from the start.
        Rows that equal a training sample, or each other, in X and y count as one, as in
        :meth:`fit`: their weights add up. The networks, their scaling and their
        masks stay as :meth:`fit` left them; the range of the targets, which bounds predictions,
        and which targets are far from all others (:ref:`far_targets`), follow the neighbors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights as neighbors. A row of weight 0 is numbered, but is no neighbor.

        Returns
        -------
        self : object
            The estimator. Its next rows in :meth:`forget` and
            :meth:`explain` are numbered from the first one after those
            given to :meth:`fit` and appended so far.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If the data don't fit those given to :meth:`fit`, or all weights are 0.

        Notes
        -----
        Only the new rows are embedded; the other arrays are copied. Threads may
        append and forget at once: they take turns.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> model.append(X[80:], y[80:]).kneighbors(X[[99]], 1, return_distance=False)
        array([[99]])
        """
        with changing_rows():
            model, queries, search = self._read_queries(X)
            y = model.task.read_more(y, len(queries.matrix))
            weight = check_weights(sample_weight, len(y))
            with batches_at_most(self.n_jobs):
                self._model = model.with_rows(queries, y, weight, search)
        return self

    def forget(self, indices: ArrayLike) -> Self:
        """Remove rows from the neighbors, without training.

        Predictions are, up to rounding, as if the rows had never been neighbors: the nearest
        of those left take their places. The weights of the networks, their scaling, their masks
        and the blended model stay as the rows have made them; only the neighbors, and the range
        of the targets that bounds predictions, change. To remove all traces, fit again.

        Parameters
        ----------
        indices : int, array-like of int or bool array-like of shape (n_samples,)
            Rows of the X given to :meth:`fit`, counted from 0; rows appended later are numbered
            on from there. Forgetting changes no number. Or a mask with an entry for
            each of all these rows.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If there is no such row, it is forgotten already, or none would be left. Nothing is
            forgotten then.

        Notes
        -----
        Nothing is embedded again; the arrays are copied.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> model.forget([0, 1]).neighbor_weights(X[80:])[:, [0, 1]].sum().item()
        0.0
        """
        check_is_fitted(self)
        with changing_rows():
            model = self._model
            self._model = model.without_rows(model.numbering.check_indices(indices))
        return self

    def prepare(self, X: ArrayLike) -> torch.Tensor:
        """Read X and encode it as the networks take it: `network_` maps it further.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        X_prepared : torch.Tensor of shape (n_samples, ...)
            On the CPU, float64: scaled numbers, missing values flagged, categories one-hot or as
            codes; a copy of X with a `feature_extractor`.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X is not usable.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> model.prepare(X[80:]).shape
        torch.Size([20, 10])
        """
        model, queries, _ = self._read_queries(X)
        prepared = model.prepare(queries.matrix)
        return prepared.clone() if model.encoder is None else prepared

    @property
    def network_(self) -> FittedNetwork:
        """Networks and training samples, as a torch module; a new one each time.

        Returns
        -------
        network : torch.nn.Module
            Maps what :meth:`prepare` returns to embeddings (n_samples, n_networks *
            embedding_dim) and the networks' standardized predictions (n_samples, n_targets),
            without the blended model and by the learned distance alone: those of `predict` with
            ``blend=None`` and a `likeness_` of 0. Its weights can be trained further without
            changing the estimator; `torch.export` and `torch.compile` take it.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> z, y_hat = model.network_(model.prepare(X[80:]))
        >>> z.shape, y_hat.shape
        (torch.Size([20, 128]), torch.Size([20, 1]))
        """
        check_is_fitted(self)
        return self._model.network(self._check_search())

    @property
    def blend_(self) -> Any:
        """The blended model, fitted to all rows; None without one, or if its weight is 0.

        Returns
        -------
        blend : object or None
            Mean of boosted trees and a linear model, an object of this package: its `weights` and
            `parts` are dicts by their names, "boosting" and "linear", of those that have any
            weight. Its `predict` takes the matrix of numbers that a table is read as, and gives
            standardized targets (for classes, probabilities).

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=1, random_state=0).fit(X, y)
        >>> model.blend_.predict(X[:2]).shape
        (2, 1)
        """
        check_is_fitted(self)
        return self._model.blended_model

    def save(self, path: PathLike) -> None:
        """Write the fitted estimator to a file that is safe to load.

        One file, which skops writes and `skneighbors.load` reads; it holds numbers and text,
        nothing that could be run. It is written beside `path` and put in its place once it is
        whole. A symbolic link stays, and its target is written. A file that is replaced keeps its
        mode; a new one gets the mode of any file that the process makes.

        Parameters
        ----------
        path : str or Path

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        OSError
            If `path` is a folder or no regular file, or its folder is missing.
        ValueError
            If it has what such a file cannot hold, which the message names: a
            `feature_extractor`, a RandomState as `random_state`, names, labels or categories of
            unusual types, such as intervals. Nothing is written then.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor, load
        >>> X, y = make_friedman1(n_samples=100, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder) / "model.skops")
        ...     load(Path(folder) / "model.skops").n_iter_
        5
        """
        check_is_fitted(self)
        save_estimator(self, path)

    # It tells fits apart: of a dataclass Dask would see the fields alone.
    __dask_tokenize__ = Stored.__dask_tokenize__

    @property
    def _n_features_out(self):
        return self._model.bank.rows.z[0].numel()

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_model")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        reads_tables = self.feature_extractor is None
        tags.input_tags.allow_nan = reads_tables
        tags.input_tags.categorical = reads_tables
        tags.input_tags.string = reads_tables
        return tags
