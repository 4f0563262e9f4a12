"""What both estimators share: checked parameters, a plan, a fit in stages, and all questions.

All that is asked of a fitted estimator is answered by its :class:`Model`.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import torch
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
    clone,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ._archive import Plain, pack_model, save_estimator, unpack_model
from ._columns import (
    TrainingSamples,
    check_features,
)
from ._fit import fit_model
from ._model import (
    ALGORITHMS,
    Queries,
    Search,
    check_algorithm,
)
from ._plan import TABLE, Recipe, check_params
from ._target import Target
from ._utils import interrupts
from ._utils.device import resolve_device
from ._utils.locks import ForkSafeLock
from ._utils.memory import explain_out_of_memory
from ._utils.sklearn_private import (
    HasMethods,
    Options,
    StrOptions,
    check_sample_weight,
    counts_from,
    fit_context,
    listed,
    reals,
    validate_parameter_constraints,
)
from ._utils.threads import single_threaded
from ._utils.typing import ArrayLike, PathLike
from .nn._similarity import SIMILARITIES

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from typing_extensions import Self

    from ._model import Explanation
    from ._network import FittedNetwork

_OF_FIT = 5  # stacklevel in `_warn_of`, past scikit-learn's wrapper, of the line that calls fit
_AT_ONCE = "the number of rows at once"
# Held while rows join or leave, so that threads that change one estimator lose none.
_changing = ForkSafeLock()


class BaseNeighborRegressor(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    MultiOutputMixin,
    RegressorMixin,
    BaseEstimator,
):
    """Regressor that predicts from labelled neighbours in a learnt embedding.

    Subclasses have the parameters named in `_parameter_constraints`, build their head in
    `_make_head` and say in `_tables` what their ``"auto"`` becomes. `_target_class` is what they
    predict, and `_model` what :meth:`fit` leaves.
    """

    _parameter_constraints: dict = {
        "n_neighbors": [counts_from(1), None],
        "similarity": [listed(SIMILARITIES)],
        "softstep_parameters": [StrOptions({"pointwise", "global"})],
        "trend": [StrOptions({"auto", "linear"}), "array-like", None],
        "blend": [
            StrOptions({"auto", "boosting"}),
            HasMethods(["fit", "predict", "get_params"]),
            None,
        ],
        "hidden_layer_sizes": [StrOptions({"auto"}), "array-like", counts_from(1)],
        "embedding_dim": [counts_from(1)],
        "feature_extractor": [callable, None],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "n_estimators": [StrOptions({"auto"}), counts_from(1)],
        "max_iter": [StrOptions({"auto"}), counts_from(1)],
        "batch_size": [counts_from(2)],
        "learning_rate_init": [reals(0, None, "neither")],
        "weight_decay": [reals(0, None, "left")],
        "early_stopping": [StrOptions({"auto"}), "boolean"],
        "validation_fraction": [StrOptions({"auto"}), reals(0, 1, "neither")],
        "algorithm": [StrOptions(set(ALGORITHMS))],
        "recipe": [Recipe, None],
        "device": [str],
        "random_state": ["random_state"],
        "verbose": [Options(int, {0, 1}), "boolean"],
    }
    _target_class = Target

    def _make_head(self, plan, n_targets, trend):
        raise NotImplementedError

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

    @fit_context(prefer_skip_nested_validation=True)
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
    ) -> Self:
        """Learn the embedding, the head and the bank of neighbours.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training features: a DataFrame, an array or lists. Columns may hold numbers,
            dates and times, and categories; all may have gaps. With a `feature_extractor`,
            X may have more dimensions, and holds numbers alone.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, as counts, not shares: a row of weight 2 is the same as a row that
            stands twice, one of weight 0 the same as none. Ranks of neighbours count so.
        X_val : array-like of shape (n_val, n_features), default=None
            Further rows, to validate with instead of training rows that are held out.
            They are neither trained on nor neighbours; :meth:`append` makes them
            neighbours afterwards.
        y_val : array-like of shape (n_val,) or (n_val, n_targets), default=None
            Their targets.
        sample_weight_val : array-like of shape (n_val,), default=None
            Their weights.
        groups : array-like of shape (n_samples,), default=None
            Group of each row, a number or text. Rows of one group are held out together,
            and are no neighbours of each other in training.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If data or parameters are not usable; the message names them.
        TypeError
            If X or y is sparse, or `feature_extractor` returns no module.
        FloatingPointError
            If the loss is not finite in the first epoch, or the predictions are
            not at the end.
        ImportError
            If `algorithm` needs FAISS, and it is missing.
        MemoryError
            If memory runs out; the message says what to lower.
        KeyboardInterrupt
            If interrupted before any epoch was complete. Later, the training ends
            with a warning and the weights of the best epoch so far, of those validated
            if any are. A search goes on with its next fit, where, within ten seconds, another
            interrupt is raised and ends it.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0)
        >>> model.fit(X[:100], y[:100], X_val=X[100:], y_val=y[100:]).n_iter_
        5
        """
        before = self.__dict__.copy()
        validation = X_val, y_val, sample_weight_val
        try:
            # The caller's modes of torch don't count.
            with single_threaded() as n_threads, torch.inference_mode(False), torch.enable_grad():
                params = self._check_parameters()
                samples = TrainingSamples.check(
                    self, X, y, sample_weight, groups, validation, self._target_class
                )
                fit = fit_model(
                    params,
                    self._tables(),
                    self._target_class,
                    self._make_head,
                    samples,
                    n_threads,
                )
            self._report(fit, samples)
        except BaseException:
            # Neither half-fitted nor refitted in part: as it was.
            for name in self.__dict__.keys() - before.keys():
                del self.__dict__[name]
            self.__dict__.update(before)
            raise
        return self

    def _check_parameters(self):
        """Check what needs no data; the parameters, sequences as tuples."""
        if isinstance(self.blend, type):
            raise TypeError(f"blend must be a regressor, not a class; got {self.blend!r}.")
        is_boosting = isinstance(self.blend, str) and self.blend == "boosting"
        if is_boosting and self.feature_extractor is not None:
            raise ValueError(
                "blend='boosting' needs a table; with a feature_extractor, use None or a regressor "
                "of your own."
            )
        check_algorithm(self.algorithm, self.similarity)
        resolve_device(self.device)
        return check_params(self.get_params(deep=False))

    def _warn_of(self, history):
        """Warn, at the line that calls fit, of a training that ended before its time."""
        if history.fault is not None:
            warnings.warn(history.fault, ConvergenceWarning, stacklevel=_OF_FIT)
        if history.interrupted:
            interrupts.remember()
            warnings.warn(
                f"Training interrupted; the weights of epoch {history.best_epoch}, the best one "
                f"judged in {len(history.losses)} epochs, are kept.",
                stacklevel=_OF_FIT,
            )

    def _report(self, fit, samples):
        """Set what a fit leaves, and the attributes that tell of it."""
        self._model, plan, history = fit
        bank, second = self._model.bank, self._model.second
        self._warn_of(history)
        self.plan_ = plan
        self.blend_, self.blend_share_ = second.regressor, second.share
        self.sharpness_ = bank.network.head.sharpness.numpy().copy()
        self.estimator_weights_ = bank.member_weight.numpy().copy()
        self.loss_curve_ = history.losses
        validated = plan.n_validation > 0
        self.validation_scores_ = history.scores if validated else None
        self.validation_iters_ = history.validated_epochs if validated else None
        self.n_iter_ = len(history.losses)
        self.best_iter_ = history.best_epoch
        self.n_samples_fit_ = len(samples.y)
        self.n_outputs_ = samples.y.shape[1]

    def _ask(self, X):
        """Find the model, X as it reads it, and how to search."""
        check_is_fitted(self)
        model, search = self._model, self._check_search()
        return model, Queries(X, check_features(self, X, model.reader, model.x_shape)), search

    def _check_search(self):
        """Check what says which rows predict, which may have changed since fit."""
        names = ("n_neighbors", "algorithm")
        validate_parameter_constraints(
            {name: self._parameter_constraints[name] for name in names},
            {name: getattr(self, name) for name in names},
            caller_name=type(self).__name__,
        )
        check_algorithm(self.algorithm, self.similarity)
        n_neighbors = None if self.n_neighbors is None else int(self.n_neighbors)
        return Search(n_neighbors, self.algorithm, resolve_device(self.device, missing_ok=True))

    @overload
    def predict(  # numpydoc ignore=GL08
        self, X: ArrayLike, return_std: Literal[False] = ...
    ) -> np.ndarray: ...

    @overload
    def predict(  # numpydoc ignore=GL08
        self, X: ArrayLike, return_std: Literal[True]
    ) -> tuple[np.ndarray, np.ndarray]: ...

    def predict(
        self, X: ArrayLike, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Predict the targets of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features. A row of the training set has itself as a neighbour here.
        return_std : bool, default=False
            Whether to return standard deviations, too.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predictions, float64, of the shape of the `y` given to :meth:`fit`.
        std : ndarray of the shape of `y`
            Root mean squares of the neighbours' residuals, as :meth:`predict_quantiles`
            weighs them. Only present if `return_std` is True.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X is not usable, or `n_neighbors`, `algorithm` or `device` has been set to
            what :meth:`fit` would not take.
        ImportError
            If `algorithm` needs FAISS and it is missing.
        MemoryError
            If memory runs out; the message says what to lower.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> y_hat, std = model.predict(X[100:], return_std=True)
        >>> y_hat.shape, std.shape
        ((20,), (20,))
        """
        model, queries, search = self._ask(X)
        with explain_out_of_memory("the number of rows predicted at once"):
            if return_std:
                return model.predict_std(queries, search)
            return model.predict(queries, search)

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Embed X in the learnt space.

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
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> model.transform(X[100:]).shape  # four networks side by side
        (20, 256)
        """
        model, queries, search = self._ask(X)
        with explain_out_of_memory(_AT_ONCE):
            return model.transform(queries, search)[1].flatten(1).cpu().numpy()

    def explain(self, X: ArrayLike, by_column: bool = False) -> Explanation:
        """Take predictions apart into rows, their weights, and how their targets are adjusted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        by_column : bool, default=False
            Whether to take the adjustments apart by column, too, as Shapley values with the row
            as the background: exact where a query differs from a row in at most seven columns,
            else from some 200 evaluations of the trend and the second model, in random orders
            of the columns that are always the same.

        Returns
        -------
        explanation : Explanation
            The `n_neighbors` rows of each prediction; the weighted mean of their adjusted
            targets is the prediction. Print it, or see its
            :meth:`~skneighbors.inspection.Explanation.to_frame`.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X is not usable, or adjustments are asked for by column although a
            `feature_extractor` knows no columns, or `blend` is a regressor of the user's,
            which takes what only the user knows to take apart.
        MemoryError
            If memory runs out; the message says what to lower.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(n_neighbors=10, max_iter=5, random_state=0)
        >>> explanation = model.fit(X[:100], y[:100]).explain(X[100:])
        >>> explanation.samples.shape
        (20, 10)
        """
        model, queries, search = self._ask(X)
        with explain_out_of_memory("the number of rows explained at once, or n_neighbors"):
            return model.explain(queries, search, by_column)

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
        """Find the nearest neighbours in the learnt space.

        That is the space of :meth:`transform`, where those of all networks stand side by side.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            Features. None: the neighbours themselves, in the order of their numbers, none
            of which is its own neighbour.
        n_neighbors : int, default=None
            Number of neighbours of each. None: those that predict, the parameter `n_neighbors`,
            or all if there are fewer, or that is None.
        return_distance : bool, default=True
            Whether to return the distances.

        Returns
        -------
        neigh_dist : ndarray of shape (n_queries, n_neighbors)
            Distances by `similarity`, ascending up to rounding: Euclidean for ``"l2"``, Manhattan
            for ``"l1"``, 1 minus the cosine for ``"cosine"``, minus the product divided by the
            number of dimensions for ``"dot"``. Only present if `return_distance` is True.
        neigh_ind : int ndarray of shape (n_queries, n_neighbors)
            Rows of the X given to :meth:`fit`, rows appended later numbered on from there. Rows
            that are equal, which predict as one, are named one by one.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X is not usable, or `n_neighbors` is not between 1 and the number of
            neighbours (one less without X).

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> distances, rows = model.kneighbors(X[100:], n_neighbors=3)
        >>> rows.shape
        (20, 3)
        """
        check_is_fitted(self)
        with explain_out_of_memory(_AT_ONCE):
            if X is None:
                found = self._model.neighbors_of_own(self._check_search(), n_neighbors)
            else:
                model, *asked = self._ask(X)
                found = model.kneighbors(*asked, n_neighbors)
        return found if return_distance else found[1]

    def neighbor_weights(self, X: ArrayLike) -> csr_array:
        """Weights of the training rows in the predictions of X.

        Without a trend and a second model, predictions are ``neighbor_weights(X) @ y``; with any,
        targets are adjusted by it first; see :meth:`explain`.

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
        MemoryError
            If memory runs out; the message says what to lower.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(n_neighbors=10, max_iter=5, random_state=0)
        >>> weights = model.fit(X[:100], y[:100]).neighbor_weights(X[100:])
        >>> weights.shape, int(weights.count_nonzero(axis=1).max())
        ((20, 100), 10)
        """
        model, queries, search = self._ask(X)
        with explain_out_of_memory(_AT_ONCE):
            return model.neighbor_weights(queries, search)

    def effective_n_neighbors(self, X: ArrayLike) -> np.ndarray:
        """How many neighbours make each prediction.

        The inverse of the sum of the squared weights: k, if k neighbours have the same
        weight and all others none. At most `n_neighbors`, if no row weighs more than 1.

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
        MemoryError
            If memory runs out; the message says what to lower.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> n = model.effective_n_neighbors(X[100:])
        >>> bool((n >= 1).all() and (n <= model.n_neighbors).all())
        True
        """
        model, queries, search = self._ask(X)
        with explain_out_of_memory(_AT_ONCE):
            return model.effective_n_neighbors(queries, search)

    def predict_quantiles(
        self, X: ArrayLike, quantiles: ArrayLike = (0.05, 0.5, 0.95)
    ) -> np.ndarray:
        """Predict quantiles of the targets of X.

        A prediction's distribution is that of its neighbours' residuals around it, weighted as
        they are in the prediction: each neighbour is predicted without itself. Where
        :meth:`fit` held no rows out, as by default of fewer than 100 distinct ones, it is much
        too narrow. See :ref:`How sure <how_sure>`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        quantiles : float or array-like of float, default=(0.05, 0.5, 0.95)
            Probabilities, from 0 to 1.

        Returns
        -------
        y : ndarray of shape (n_samples, n_quantiles) or (n_samples, n_targets, n_quantiles)
            Quantiles, in the order asked for, which never cross. There is no last axis if
            there is a single one.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X or `quantiles` is not usable.

        Notes
        -----
        The first call after :meth:`fit`, :meth:`append` or :meth:`forget` predicts all
        neighbours, or 10,000 drawn at random, each left out itself; what comes of that is kept.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> low, median, high = model.predict_quantiles(X[100:], [0.1, 0.5, 0.9]).T
        >>> bool((low <= median).all() and (median <= high).all())
        True
        """
        levels = _check_quantiles(quantiles)
        model, queries, search = self._ask(X)
        with explain_out_of_memory("the number of rows predicted at once"):
            y = model.predict_quantiles(queries, search, levels)
        return y[..., 0] if len(levels) == 1 else y

    def predict_interval(self, X: ArrayLike, confidence_level: float = 0.9) -> np.ndarray:
        """Predict intervals that hold the targets of X with some confidence.

        Split-conformal: as wide, relative to the spread of the neighbours' residuals, as the
        rows ask for that :meth:`fit` held out. Where it held none out, as by default of fewer
        than 100 distinct rows, they are much too narrow. See :ref:`How sure <how_sure>` for
        when there is a guarantee.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        confidence_level : float, default=0.9
            Share of the targets that intervals shall hold, between 0 and 1.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2) or (n_samples, n_targets, 2)
            Lower and upper ends; the prediction is the middle.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If X is not usable, or rows held out are too few for such a confidence.

        Warns
        -----
        UserWarning
            If no rows were held out.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> low, high = model.predict_interval(X[100:], confidence_level=0.8).T
        >>> bool((low < high).all())
        True
        """
        validate_parameter_constraints(
            {"confidence_level": [reals(0, 1, "neither")]},
            {"confidence_level": confidence_level},
            caller_name=f"{type(self).__name__}.predict_interval",
        )
        model, queries, search = self._ask(X)
        with explain_out_of_memory("the number of rows predicted at once"):
            interval = model.predict_interval(queries, search, confidence_level)
        if not model.bank.has_held_out:
            warnings.warn(
                "No rows were held out in fit: intervals are much too narrow. Fit with "
                "early_stopping=True, or give rows as X_val.",
                UserWarning,
                stacklevel=2,
            )
        return interval

    def novelty(self, X: ArrayLike) -> np.ndarray:
        """How unlike anything labelled each row of X is.

        The share of the neighbours that are nearer to their own nearest ones, in the learnt
        space, than the row is to its: about uniform for rows like those of :meth:`fit`,
        near 1 for rows unlike all of them.

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
        Distances are means over the five nearest. Of more than 10,000 neighbours, as many, drawn
        at random, are compared with. The first call after :meth:`fit`, :meth:`append` or
        :meth:`forget` computes their distances, which are kept.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> float(model.novelty(X[[100]] + 10)[0])
        1.0
        """
        model, queries, search = self._ask(X)
        with explain_out_of_memory(_AT_ONCE):
            return model.novelty(queries, search)

    def append(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Add labelled rows to the neighbours, without training.

        Predictions are, up to rounding, those of a bank that held the rows from the start.
        Equal rows are not merged, as they are in :meth:`fit`. The network, its scaling and its
        masks stay as :meth:`fit` left them; the range of the targets, which bounds predictions,
        follows the neighbours.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights as neighbours. A row of weight 0 is numbered, but is none.

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
        Only the new rows are embedded; the arrays of the bank are copied. Threads may
        append and forget at once: they take turns.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> model.append(X[100:], y[100:]).kneighbors(X[[119]], 1, return_distance=False)
        array([[119]])
        """
        with _changing:
            model, queries, search = self._ask(X)
            y = model.target.check_more(y, len(queries.matrix))
            weight = check_sample_weight(
                sample_weight, y, dtype=np.float64, ensure_non_negative=True
            )
            self._model = model.with_rows(queries, y, weight, search.device)
        return self

    def forget(self, indices: ArrayLike | None = None, *, labels: ArrayLike | None = None) -> Self:
        """Remove rows from the neighbours, without training.

        Predictions are, up to rounding, those of a bank that never held the rows: the nearest
        of those left take their places. The network's weights, its scaling, its masks and the
        second model still are what the rows made of them: nothing but the
        neighbours, and the range of targets that bounds predictions, forgets. To remove all
        traces, fit anew.

        Parameters
        ----------
        indices : int, array-like of int or bool array-like of shape (n_samples,), default=None
            Rows of the X given to :meth:`fit`, counted from 0; rows appended later are numbered
            on from there. Forgetting changes no number. Or a mask with an entry for
            each of all these rows.
        labels : array-like, default=None
            Labels of rows in the index of the DataFrames given to :meth:`fit` and
            :meth:`append`, instead of `indices`. All rows of a label are forgotten.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If there is no such row, it is forgotten already, none would be
            left, or not just one of `indices` and `labels` is given. Nothing is forgotten then.

        Notes
        -----
        Nothing is embedded anew; the arrays of the bank are copied.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> model.forget([0, 1]).neighbor_weights(X[100:])[:, [0, 1]].sum().item()
        0.0
        """
        check_is_fitted(self)
        with _changing:
            model = self._model
            if (indices is None) == (labels is None):
                raise ValueError("forget takes either indices or labels.")
            if labels is None:
                samples = model.numbering.check_indices(indices)
            else:
                samples = model.numbering.find(labels)
            self._model = model.without_rows(samples)
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
            On the CPU, float64: scaled numbers, gaps told, levels one-hot or as codes; X itself
            with a `feature_extractor`.

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
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> model.prepare(X[100:]).shape
        torch.Size([20, 10])
        """
        model, queries, _ = self._ask(X)
        return torch.from_numpy(model.prepare(queries.matrix))

    @property
    def network_(self) -> FittedNetwork:
        """Networks and labelled rows, as a torch module; a new one each time.

        Returns
        -------
        network : torch.nn.Module
            Maps what :meth:`prepare` returns to embeddings (n_samples, n_networks *
            embedding_dim) and the networks' standardised predictions (n_samples, n_targets),
            without the second model. Its weights can be trained further without changing the
            estimator; `torch.export` and `torch.compile` take it.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.

        Examples
        --------
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> z, y_hat = model.network_(model.prepare(X[100:]))
        >>> z.shape, y_hat.shape
        (torch.Size([20, 256]), torch.Size([20, 1]))
        """
        check_is_fitted(self)
        return self._model.network(self._check_search())

    def save(self, path: PathLike) -> None:
        """Write the fitted estimator to a file that is safe to load.

        One file of tensors in the format of safetensors, which `skneighbors.load` reads; it holds
        numbers and text, nothing that could be run. It is written beside `path` and put in its
        place once it is whole.

        Parameters
        ----------
        path : str or Path

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If it has what such a file cannot hold: a `feature_extractor`, a regressor of the
            user's as `blend`, a RandomState as `random_state`, or labels of rows that are neither
            text, numbers nor dates. Then use pickle, joblib or skops.
        ImportError
            If safetensors is missing.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from sklearn.datasets import make_friedman1
        >>> from skneighbors import NONARegressor, load
        >>> X, y = make_friedman1(n_samples=120, random_state=0)
        >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:100], y[:100])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder) / "model.safetensors")
        ...     load(Path(folder) / "model.safetensors").n_iter_
        5
        """
        check_is_fitted(self)
        save_estimator(self, path)

    def __getstate__(self):
        state = dict(super().__getstate__())
        if "_model" in state:
            state["_model"] = vars(pack_model(self._model))
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        if "_model" in state:
            plain = Plain(**state["_model"])
            self._model = unpack_model(plain, self.plan_, self._make_head)

    @property
    def _n_features_out(self):
        return self._model.bank.z_n[0].numel()

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_model")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        reads_tables = self.feature_extractor is None
        tags.input_tags.allow_nan = reads_tables
        tags.input_tags.categorical = reads_tables
        tags.input_tags.string = reads_tables
        return tags


def _check_quantiles(quantiles):
    """Quantiles as a tensor (n_quantiles,)."""
    levels = np.atleast_1d(np.asarray(quantiles))
    if levels.ndim != 1 or not levels.size or levels.dtype.kind not in "iuf":
        raise ValueError(f"quantiles must be a number or some numbers; got {quantiles!r}.")
    wrong = levels[~((levels >= 0) & (levels <= 1))]
    if wrong.size:
        raise ValueError(f"quantiles must lie between 0 and 1; got {wrong[0]}.")
    return torch.from_numpy(levels.astype(np.float64))
