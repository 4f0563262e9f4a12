"""What both estimators share: fit in named stages, from a table to a bank of neighbours."""

import copy
import warnings
from dataclasses import replace

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

from ._bank import (
    ALGORITHMS,
    HeldOutQueries,
    HeldOutRows,
    NeighborBank,
    SampleNumbering,
    check_algorithm,
)
from ._columns import (
    EnsembleSplit,
    FeatureEncoder,
    LabelledRows,
    TargetScaler,
    TrainingSamples,
    draw_groups,
    find_labels,
)
from ._comparables import ComparablesMixin
from ._neighbors import FittedState, LabelledNeighborsMixin
from ._network import NeighborNetwork, check_feature_extractor, make_feature_extractor
from ._recipe import TABLE, Recipe, resolve
from ._training import fit_networks, inverse_mse_weights, share_of_other
from ._trend import BlendedTrend, TableBoosting, TrendFitter, as_columns
from ._uncertainty import UncertaintyMixin
from ._utils import interrupts
from ._utils.device import CPU, resolve_device
from ._utils.memory import explain_out_of_memory
from ._utils.sklearn_private import (
    HasMethods,
    Options,
    StrOptions,
    counts_from,
    fit_context,
    reals,
    take_samples,
)
from ._utils.threads import single_threaded
from .nn import MLPEmbedder
from .nn._similarity import SIMILARITIES

_N_CHECKED_ROWS = 256  # training rows whose predictions must be finite
_MAX_SCALED = 1e18  # of targets: single precision can hold their squares
_OF_FIT = 5  # stacklevel in `_warn_of`, past scikit-learn's wrapper, of the line that calls fit


class BaseNeighborRegressor(
    ComparablesMixin,
    UncertaintyMixin,
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
        "n_neighbors": [counts_from(1), None],
        "similarity": [StrOptions(set(SIMILARITIES))],
        "softstep_parameters": [StrOptions({"pointwise", "global"})],
        "trend": [
            StrOptions({"auto", "linear", "boosting"}),
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
        X,
        y,
        sample_weight=None,
        *,
        X_val=None,
        y_val=None,
        sample_weight_val=None,
        groups=None,
    ):
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
                return self._fit(X, y, sample_weight, groups, validation, n_threads)
        except BaseException:
            # Neither half-fitted nor refitted in part: as it was.
            for name in self.__dict__.keys() - before.keys():
                del self.__dict__[name]
            self.__dict__.update(before)
            raise

    def _fit(self, X, y, sample_weight, groups, validation, n_threads):
        device = resolve_device(self.device)
        hidden_layer_sizes = self._check_parameters()
        samples = TrainingSamples.check(self, X, y, sample_weight, groups, validation)
        n_rows, random_state = len(samples.rows), check_random_state(self.random_state)
        recipe, split = self._plan(samples, hidden_layer_sizes, random_state)
        encoder, y_scaler, data = _scale(samples)
        trend = None
        if recipe.blended:
            trend = self._fit_trend(samples, y_scaler, split, random_state)
        data = LabelledRows.from_numpy(*data, device)
        with explain_out_of_memory("batch_size, embedding_dim or hidden_layer_sizes"):
            network, history = self._train(
                data.float(), split.to(device), encoder, recipe, random_state, n_threads
            )
            share, held_out_other = 0.0, None
            if trend is not None:
                trend, held_out_other = trend
                share = share_of_other(history.best_before_refit.held_out, held_out_other)
                trend = BlendedTrend(*trend, share) if share > 0 else None
            other = None
            if trend is not None:
                X = None if trend.encoded else take_samples(samples.X, samples.rows)
                other = trend.predict(X, samples.matrix[samples.rows], y_scaler)
                other = torch.from_numpy(other).to(device)
            bank = self._make_bank(network, history, data.first(n_rows), recipe, other, share)
            if recipe.n_validation:
                held_out = _measure_held_out(
                    bank, data, history, split, held_out_other, recipe.n_neighbors
                )
                bank = replace(bank, held_out=held_out)
        self._warn_of(history)
        self._fitted = FittedState(
            bank=bank.to(CPU),
            numbering=SampleNumbering(
                samples.row_of, samples.sample_weight.copy(), find_labels(samples.X)
            ),
            matrix=None if samples.reader is None else samples.matrix[samples.rows],
            reader=samples.reader,
            encoder=encoder,
            y_scaler=y_scaler,
            x_shape=samples.matrix.shape[1:],
            y_ndim=samples.y_ndim,
            trend=trend,
        )
        self.n_samples_fit_ = len(samples.y)
        self.n_outputs_ = samples.y.shape[1]
        self._report_training(history, recipe)
        return self

    def _check_parameters(self):
        """Check what needs no data; hidden layers as a tuple, or "auto"."""
        if self.recipe is not None:
            self.recipe._validate_params()
        if isinstance(self.trend, type):
            raise TypeError(f"trend must be a regressor, not a class; got {self.trend!r}.")
        if self.trend == "boosting" and self.feature_extractor is not None:
            raise ValueError(
                "trend='boosting' needs a table; with a feature_extractor, use 'linear', None or a "
                "regressor of your own."
            )
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

    def _plan(self, samples, hidden_layer_sizes, random_state):
        """Recipe for so many samples, and the rows that each member holds out."""
        n_rows, validation = len(samples.rows), samples.validation
        arguments = self, n_rows, self._tables(), hidden_layer_sizes
        if validation is not None:
            recipe = resolve(*arguments, n_given=len(validation.y))
            is_held_out = np.arange(n_rows + recipe.n_validation) >= n_rows
            return recipe, EnsembleSplit.hold_out(is_held_out, recipe.n_estimators)
        recipe = resolve(*arguments)
        if samples.groups is None or not recipe.n_validation:
            n_members = recipe.n_estimators
            return recipe, EnsembleSplit.draw(n_rows, recipe.n_validation, n_members, random_state)
        is_held_out = draw_groups(samples.row_groups, recipe.n_validation, random_state)
        recipe = resolve(*arguments, n_drawn=int(is_held_out.sum()))
        return recipe, EnsembleSplit.hold_out(is_held_out, recipe.n_estimators)

    def _fit_trend(self, samples, y_scaler, split, random_state):
        """Fit a regressor to all samples, and clones that predict what they were not fitted to.

        Returns
        -------
        fitted : tuple
            The regressor, and whether it takes what is read.
        held_out : Tensor of shape (m, n, k)
            Scaled predictions of the samples that each member holds out.
        """
        encoded, rows, validation = isinstance(self.trend, str), samples.rows, samples.validation
        if encoded:  # boosted trees, of merged rows
            fitter = TrendFitter(
                TableBoosting(
                    categorical_features=samples.reader.n_levels > 0,
                    random_state=random_state.randint(np.iinfo(np.int32).max),
                ),
                samples.matrix[rows],
                y_scaler.transform(samples.y[rows]),
                samples.weight,
                np.arange(len(rows)),
            )
        else:
            fitter = TrendFitter(
                self.trend, samples.X, samples.y, samples.sample_weight, samples.row_of
            )
        fitted = fitter.fit(np.arange(len(rows)))
        if validation is None:
            held_out = fitter.predict_held_out(split)
        else:
            X = validation.matrix if encoded else validation.X
            held_out = as_columns(fitted.predict(X))[None]
        held_out = held_out if encoded else y_scaler.transform(held_out)
        return (fitted, encoded), torch.from_numpy(held_out)

    def _train(self, data, split, encoder, recipe, random_state, n_threads):
        """Networks trained on the data in single precision, and what happened."""
        return fit_networks(
            lambda: self._make_network(data, encoder, recipe),
            data,
            split,
            recipe,
            random_state,
            draws_globally=recipe.dropout > 0 or self.feature_extractor is not None,
            n_threads=n_threads,
            verbose=self.verbose,
        )

    def _make_network(self, data, encoder, recipe):
        """Network with initial weights, of all members side by side."""
        feature_extractors, numerical_embedding = None, recipe.numerical_embedding
        n_targets, n_plain, n_levels = data.y.shape[1], 0, ()
        if encoder is not None:
            n_features, n_plain = len(encoder.numbers), encoder.n_plain
            n_levels = encoder.n_levels[encoder.coded].tolist()
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
                n_plain=n_plain,
                n_levels=n_levels,
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

    def _make_bank(self, network, history, data, recipe, other, share):
        """Neighbours for the networks, which weigh by their kinds' validation errors."""
        shares = inverse_mse_weights(history.best_before_refit.held_out, recipe.trends)
        bank = NeighborBank.build(
            network, *data[:3], shares.to(data.X.device), other, share, data.group
        )
        some = slice(_N_CHECKED_ROWS)
        other = None if other is None else other[some]
        if not bank.predict(bank.z_n[some], recipe.n_neighbors, other=other).isfinite().all():
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
        trend = self._fitted.trend
        self.trend_ = None if trend is None else trend.regressor
        self.trend_share_ = 0.0 if trend is None else trend.share
        self.sharpness_ = bank.network.head.sharpness.numpy().copy()
        self.estimator_weights_ = bank.member_weight.numpy().copy()
        self.loss_curve_ = history.losses
        validated = recipe.n_validation > 0
        self.validation_scores_ = history.scores if validated else None
        self.validation_iters_ = history.validated_epochs if validated else None
        self.n_iter_ = len(history.losses)
        self.best_iter_ = history.best_epoch

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        reads_tables = self.feature_extractor is None
        tags.input_tags.allow_nan = reads_tables
        tags.input_tags.categorical = reads_tables
        tags.input_tags.string = reads_tables
        return tags


def _scale(samples):
    """Make an encoder, a scaler of targets, and of the rows what they make: X, y, weight, group.

    Those given for validation come last.
    """
    rows, validation, encoder = samples.rows, samples.validation, None
    X, y, weight, groups = samples.matrix[rows], samples.y[rows], samples.weight, samples.row_groups
    if samples.reader is not None:
        encoder = FeatureEncoder.fit(X, weight, samples.reader.n_levels)
    y_scaler = TargetScaler.fit(y, weight)
    if validation is not None:
        if np.abs(y_scaler.transform(validation.y)).max() > _MAX_SCALED:
            raise ValueError("y_val holds values too far from those of y for single precision.")
        X, y = np.concatenate([X, validation.matrix]), np.concatenate([y, validation.y])
        weight = np.concatenate([weight, validation.weight])
        if groups is not None:
            groups = np.concatenate([groups, np.full(len(validation.y), -1)])
    X = X if encoder is None else encoder.transform(X)
    return encoder, y_scaler, (X, y_scaler.transform(y), weight, groups)


def _measure_held_out(bank, data, history, split, other, n_neighbors):
    """Find residuals of what was held out; `other` (m, n, k) is what another model predicts."""
    share = bank.other_share
    if len(data.X) > len(bank):  # given for validation, and never trained on
        X, y, weight, _ = (None if part is None else part[len(bank) :].cpu() for part in data)
        weight = torch.ones_like(y[:, 0]) if weight is None else weight
        other, rows = other[0] if share else None, torch.full((len(y),), -1)
        return HeldOutQueries(bank.embed(X.to(bank.z_n.device)).cpu(), y, other, weight, rows)
    y, y_hat, weight = history.best_before_refit.held_out
    if share:
        y_hat = (1 - share) * y_hat + share * other.to(y_hat.device)
    rows = split.validation.to(y.device)
    return HeldOutRows.of_members(y - y_hat, weight, rows, n_neighbors)
