"""What both estimators share: fit in named stages, from a table to a bank of neighbours."""

import copy
import warnings

import numpy as np
import torch
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    clone,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ._bank import ALGORITHMS, NeighborBank, SampleNumbering, check_algorithm
from ._columns import (
    EnsembleSplit,
    FeatureScaler,
    LabelledRows,
    TargetScaler,
    check_training_data,
    merge_rows,
)
from ._neighbors import FittedState, LabelledNeighborsMixin
from ._network import NeighborNetwork, check_feature_extractor, make_feature_extractor
from ._recipe import TABLE, Recipe, resolve
from ._training import fit_networks, inverse_mse_weights
from ._utils import interrupts
from ._utils.device import resolve_device
from ._utils.memory import explain_out_of_memory
from ._utils.sklearn_private import (
    Options,
    StrOptions,
    counts_from,
    fit_context,
    reals,
)
from ._utils.threads import single_threaded
from .nn import MLPEmbedder
from .nn._similarity import SIMILARITIES

_N_CHECKED_ROWS = 256  # training rows whose predictions must be finite
_OF_FIT = 5  # stacklevel in `_warn_of`, past scikit-learn's wrapper, of the line that calls fit


class BaseNeighborRegressor(
    LabelledNeighborsMixin,
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    BaseEstimator,
):
    """Regressor that predicts from labelled neighbours in a learnt embedding.

    Subclasses have the parameters named in `_parameter_constraints`, build their head in
    `_make_head` and say in `_tables` what their ``"auto"`` becomes.
    """

    _parameter_constraints: dict = {
        "similarity": [StrOptions(set(SIMILARITIES))],
        "softstep_parameters": [StrOptions({"pointwise", "global"})],
        "trend": [StrOptions({"linear"}), None],
        "hidden_layer_sizes": [StrOptions({"auto"}), "array-like", counts_from(1)],
        "embedding_dim": [counts_from(1)],
        "feature_extractor": [callable, None],
        "n_estimators": [StrOptions({"auto"}), counts_from(1)],
        "max_iter": [StrOptions({"auto"}), counts_from(1)],
        "batch_size": [counts_from(2)],
        "learning_rate_init": [reals(0, None, "neither")],
        "weight_decay": [reals(0, None, "left")],
        "early_stopping": [StrOptions({"auto"}), "boolean"],
        "validation_fraction": [StrOptions({"auto"}), reals(0, 1, "neither")],
        "n_candidates": [counts_from(1), None],
        "algorithm": [StrOptions(set(ALGORITHMS))],
        "recipe": [Recipe, None],
        "device": [str],
        "random_state": ["random_state"],
        "verbose": [Options(int, {0, 1}), "boolean"],
    }

    def _make_head(self, recipe, n_targets, trend):
        raise NotImplementedError

    def _tables(self):
        """Tables of what ``"auto"`` becomes; later ones override earlier ones."""
        return (TABLE,)

    def set_params(self, **params):
        """Set parameters; those of the recipe as ``recipe__<name>``, also where it is None.

        Parameters
        ----------
        **params : dict
            Parameters by name.

        Returns
        -------
        self : object
            The estimator.
        """
        if any(name.startswith("recipe__") for name in params):
            # A copy: another estimator may hold the same recipe.
            recipe = params.get("recipe", self.recipe)
            params["recipe"] = Recipe() if recipe is None else clone(recipe, safe=False)
        return super().set_params(**params)

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learn the embedding, the head and the bank of neighbours.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training features. With a `feature_extractor`, X may have more
            dimensions.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, as counts, not shares: a row of weight 2 is the same as a row that
            stands twice, one of weight 0 the same as none. Ranks of neighbours count so.

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
            If ``verbose=1`` and `tqdm` is missing, or `n_candidates` and an
            `algorithm` are given that need FAISS.
        MemoryError
            If memory runs out; the message says what to lower.
        KeyboardInterrupt
            If interrupted before any epoch was complete. Later, the training ends
            with a warning and the weights of the best epoch so far, of those validated
            if any are. A search goes on with its next fit, where, within ten seconds, another
            interrupt is raised and ends it.
        """
        before = self.__dict__.copy()
        try:
            # The caller's modes of torch don't count.
            with single_threaded() as n_threads, torch.inference_mode(False), torch.enable_grad():
                return self._fit(X, y, sample_weight, n_threads)
        except BaseException:
            # Neither half-fitted nor refitted in part: as it was.
            for name in self.__dict__.keys() - before.keys():
                del self.__dict__[name]
            self.__dict__.update(before)
            raise

    def _fit(self, X, y, sample_weight, n_threads):
        device = resolve_device(self.device)
        hidden_layer_sizes = self._check_parameters()
        X, y, sample_weight = check_training_data(
            self, X, y, sample_weight, allow_nd=self.feature_extractor is not None
        )
        n_samples, y_ndim = len(X), y.ndim
        y = y.reshape(n_samples, -1)

        rows, weight, row_of = merge_rows(X, y, sample_weight)
        if len(rows) == 1 and weight[0] <= 1:
            raise ValueError(
                "At least 2 samples of positive sample_weight are required; got 1 sample."
            )
        recipe = resolve(self, len(rows), self._tables(), hidden_layer_sizes)
        X, y = X[rows], y[rows]
        x_scaler = None if self.feature_extractor else FeatureScaler.fit(X, weight)
        y_scaler = TargetScaler.fit(y, weight)
        X = X if x_scaler is None else x_scaler.transform(X)
        data = LabelledRows.from_numpy(X, y_scaler.transform(y), weight, device)

        with explain_out_of_memory("batch_size, embedding_dim or hidden_layer_sizes"):
            network, history = self._train(data, recipe, n_threads)
            bank = self._make_bank(network, history, data, recipe)
        self._warn_of(history)
        self._fitted = FittedState(
            bank=bank.to(torch.device("cpu")),
            numbering=SampleNumbering(row_of, sample_weight.copy()),
            x_scaler=x_scaler,
            y_scaler=y_scaler,
            x_shape=X.shape[1:],
            y_ndim=y_ndim,
        )
        self.n_samples_fit_ = n_samples
        self.n_outputs_ = y.shape[1]
        self._report_training(history, recipe)
        return self

    def _check_parameters(self):
        """Check what needs no data; hidden layers as a tuple, or "auto"."""
        if self.recipe is not None:
            self.recipe._validate_params()
        if self.n_candidates is not None:
            check_algorithm(self.algorithm, self.similarity)
        if isinstance(self.hidden_layer_sizes, str):
            return "auto"
        sizes = tuple(np.atleast_1d(self.hidden_layer_sizes).tolist())
        if any(type(size) is not int or not 1 <= size < 2**31 for size in sizes):
            raise ValueError(
                "hidden_layer_sizes must be 'auto' or hold ints >= 1; "
                f"got {self.hidden_layer_sizes!r}."
            )
        return sizes

    def _train(self, data, recipe, n_threads):
        """Networks trained on the data in single precision, and what happened."""
        random_state = check_random_state(self.random_state)
        split = EnsembleSplit.draw(
            recipe.n_samples, recipe.n_validation, recipe.n_estimators, random_state
        ).to(data.X.device)
        data = data.float()
        return fit_networks(
            lambda: self._make_network(data, recipe),
            data,
            split,
            recipe,
            random_state,
            draws_globally=recipe.dropout > 0 or self.feature_extractor is not None,
            n_threads=n_threads,
            verbose=self.verbose,
        )

    def _make_network(self, data, recipe):
        """Network with initial weights, of all members side by side."""
        feature_extractors, numerical_embedding = None, recipe.numerical_embedding
        n_features, n_targets = data.X.shape[1], data.y.shape[1]
        if self.feature_extractor is not None:
            feature_extractors = [
                make_feature_extractor(self.feature_extractor) for _ in recipe.trends
            ]
            X = data.X[:2].cpu()
            n_features, *_ = [check_feature_extractor(f, X) for f in feature_extractors]
            # A callable may return one and the same module each time.
            feature_extractors = [copy.deepcopy(f) for f in feature_extractors]
            numerical_embedding = None
        embedders = [
            MLPEmbedder(
                n_features,
                recipe.hidden_layer_sizes,
                recipe.embedding_dim,
                activation=recipe.activation,
                numerical_embedding=numerical_embedding,
                batch_norm=recipe.batch_norm,
                dropout=recipe.dropout,
            )
            for _ in recipe.trends
        ]
        # Members that run as one have the same parameters, used or not.
        trend = "linear" if "linear" in recipe.trends else None
        heads = [self._make_head(recipe, n_targets, trend) for _ in recipe.trends]
        for head, own_trend in zip(heads, recipe.trends, strict=True):
            if own_trend is None:
                head.turn_off_trend()
        return NeighborNetwork(feature_extractors, embedders, heads)

    def _make_bank(self, network, history, data, recipe):
        """Neighbours for the networks, which weigh by their kinds' validation errors."""
        shares = inverse_mse_weights(history.best_before_refit, recipe.trends)
        bank = NeighborBank.build(network, *data, shares.to(data.X.device))
        if not bank.predict(data.X[:_N_CHECKED_ROWS]).isfinite().all():
            raise FloatingPointError(
                f"Predictions with the weights of epoch {history.best_epoch}, which are "
                "kept, are not finite. Lower learning_rate_init or check the scale of "
                "sample_weight."
            )
        return bank

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

    def _report_training(self, history, recipe):
        """Set the attributes that tell of the training."""
        bank = self._fitted.bank
        self.recipe_ = recipe
        self.sharpness_ = bank.network.head.sharpness.numpy().copy()
        self.estimator_weights_ = bank.member_weight.numpy().copy()
        self.loss_curve_ = history.losses
        validated = recipe.n_validation > 0
        self.validation_scores_ = history.scores if validated else None
        self.validation_iters_ = history.validated_epochs if validated else None
        self.n_iter_ = len(history.losses)
        self.best_iter_ = history.best_epoch
