"""What both estimators share: fit and predict in named stages."""

import copy
import warnings
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from numbers import Integral, Real

import numpy as np
import torch
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    _fit_context,
)
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import _check_sample_weight, validate_data

from ._attempts import make_bank, train_attempts
from ._candidates import ALGORITHMS, check_algorithm
from ._context import count_batches, count_predictions
from ._network import NeighborNetwork, check_feature_extractor, make_feature_extractor
from ._preprocessing import FeatureScaler, TargetScaler, check_total_weight, merge_rows
from ._progress import progress_bar
from ._queries import BankQueryMixin
from ._rows import LabelledRows, MemberRows
from ._schedule import LEARNING_RATES, TrainingSettings, resolve_max_iter
from ._torch_utils import reproducible, resolve_device, single_threaded
from ._training import train_network
from ._updates import BankUpdateMixin
from .nn import MLPEmbedder
from .nn._embedder import ACTIVATIONS
from .nn._similarity import SIMILARITIES

# Fewer rows than this are too few to give any away for validation.
_MIN_ROWS_TO_VALIDATE = 100
# From so many rows on, a share of them more is worth less than the time it takes.
_MIN_ROWS_TO_HOLD_OUT = 2000
# More hidden layers pay with many rows and harm with few.
_FEW_LAYERS, _MORE_LAYERS = (256,) * 2, (256,) * 4
_MIN_ROWS_FOR_MORE = 5000
# With fewer rows than this, networks without a trend differ enough from those with one to
# pay, and so does a second training, with dropout, where the first has harmed.
_FEW_ROWS = 500
# Dropout of such a training.
_DROPOUT = 0.2
# Powers of the square root of 2; the first where validation rows don't tell them apart.
_SHARPNESSES = tuple(2 ** (power / 2) for power in (0, -1, 1, -2, 2, 3, 4, 5, 6))
# Of a training, however many and however few the rows.
_MIN_EPOCHS, _MIN_STEPS = 128, 1500
_OF_FIT = 4  # stacklevel in `_fit`, past scikit-learn's wrapper, of the line that calls fit
_MAX_SEED = np.iinfo(np.int32).max


class BaseNeighborRegressor(
    BankQueryMixin,
    BankUpdateMixin,
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    BaseEstimator,
):
    """Regressor that predicts from labelled neighbours in a learnt embedding.

    Subclasses have the parameters named in `_parameter_constraints` and build
    their head in `_make_head`.
    """

    _parameter_constraints: dict = {
        "similarity": [StrOptions(set(SIMILARITIES))],
        "softstep_parameters": [StrOptions({"pointwise", "global"})],
        "temperature": [Interval(Real, 0, None, closed="neither"), None],
        "trend": [StrOptions({"linear"}), None],
        "sharpness": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "context_size": [Interval(Integral, 1, None, closed="left"), None],
        "hidden_layer_sizes": [
            StrOptions({"auto"}),
            "array-like",
            Interval(Integral, 1, None, closed="left"),
        ],
        "embedding_dim": [Interval(Integral, 1, None, closed="left")],
        "activation": [StrOptions(set(ACTIVATIONS))],
        "batch_norm": ["boolean"],
        "numerical_embedding": [StrOptions({"periodic"}), None],
        "feature_extractor": [callable, None],
        "dropout": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="left")],
        "batch_size": [Interval(Integral, 2, None, closed="left")],
        "learning_rate": [StrOptions(set(LEARNING_RATES))],
        "learning_rate_init": [Interval(Real, 0, None, closed="neither")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "ema_decay": [Interval(Real, 0, 1, closed="left"), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "n_candidates": [Interval(Integral, 1, None, closed="left"), None],
        "algorithm": [StrOptions(set(ALGORITHMS))],
        "max_iter": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "early_stopping": [StrOptions({"auto"}), "boolean"],
        "validation_fraction": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "device": [str],
        "random_state": ["random_state"],
        "verbose": [Options(Integral, {0, 1}), "boolean"],
    }

    def _make_head(self, n_rows, n_targets, trend):
        raise NotImplementedError

    @_fit_context(prefer_skip_nested_validation=True)
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
        KeyboardInterrupt
            If interrupted before any epoch was complete. Later, the training ends
            with a warning and the weights of the best epoch so far, of those validated
            if any are; a search in one process goes on with its next fit.
        """
        before = self.__dict__.copy()
        try:
            # The caller's modes of torch don't count.
            with single_threaded() as n_threads, torch.inference_mode(False), torch.enable_grad():
                return self._fit(X, y, sample_weight, n_threads)
        except BaseException:
            # Neither half-fitted nor refitted in part: as it was.
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _fit(self, X, y, sample_weight, n_threads):
        device = resolve_device(self.device)
        hidden_layer_sizes = self._check_hidden_layer_sizes()
        if self.n_candidates is not None:
            check_algorithm(self.algorithm, self.similarity)
        X, y, sample_weight = self._check_training_data(X, y, sample_weight)
        n_samples, y_ndim = len(X), y.ndim
        y = y.reshape(n_samples, -1)

        rows, weight, row_of = merge_rows(X, y, sample_weight)
        if len(rows) == 1 and weight[0] <= 1:
            raise ValueError(
                "At least 2 samples of positive sample_weight are required; got 1 sample."
            )
        X, y = X[rows], y[rows]
        x_scaler = None if self.feature_extractor else FeatureScaler.fit(X, weight)
        y_scaler = TargetScaler.fit(y, weight)
        scaled = X if x_scaler is None else x_scaler.transform(X)
        data = LabelledRows.from_numpy(scaled, y_scaler.transform(y), weight, device)

        random_state = check_random_state(self.random_state)
        members = self._split(len(data.X), random_state, device)
        settings = self._training_settings(members.train.shape[1], len(data.X))
        # Embeddings are trained in float32; the bank is float64.
        if hidden_layer_sizes is None:
            many = len(data.X) >= _MIN_ROWS_FOR_MORE
            hidden_layer_sizes = _MORE_LAYERS if many else _FEW_LAYERS
        train = partial(
            self._train,
            data.float(),
            members,
            settings,
            hidden_layer_sizes,
            random_state,
            n_threads,
        )
        attempts = train_attempts(train, *self._dropouts(len(data.X), hidden_layer_sizes))
        bank = make_bank(attempts, data, len(members.train) // self.n_estimators)
        history, last = attempts[0].history, attempts[-1].history
        if last.interrupted:
            warnings.warn(
                f"Training interrupted; the weights of epoch {last.best_epoch}, the best one "
                f"judged in {len(last.losses)} epochs, are kept.",
                stacklevel=_OF_FIT,
            )

        self._bank = bank.to(torch.device("cpu"))
        self._x_shape = X.shape[1:]
        self._row_of, self._weight_of = row_of, sample_weight.copy()
        self._x_scaler = x_scaler
        self._y_scaler = y_scaler
        self._y_ndim = y_ndim
        self.hidden_layer_sizes_ = hidden_layer_sizes
        self.dropout_ = np.repeat([own.dropout for own in attempts], len(members.train))
        self.sharpness_ = self._bank.network.head.sharpness.numpy().copy()
        self.n_samples_fit_ = n_samples
        self.n_outputs_ = y.shape[1]
        self.loss_curve_ = history.losses
        validated = members.validation is not None
        self.validation_scores_ = history.scores if validated else None
        self.validation_iters_ = history.validated_epochs if validated else None
        self.estimator_weights_ = bank.member_weight.cpu().numpy().copy()
        self.n_iter_ = len(history.losses)
        self.best_iter_ = history.best_epoch
        return self

    def _check_hidden_layer_sizes(self):
        """Hidden layers as a tuple, None for "auto"."""
        if isinstance(self.hidden_layer_sizes, str) and self.hidden_layer_sizes == "auto":
            return None
        sizes = tuple(np.atleast_1d(self.hidden_layer_sizes).tolist())
        if any(type(size) is not int or size < 1 for size in sizes):
            raise ValueError(
                "hidden_layer_sizes must be 'auto' or hold ints >= 1; "
                f"got {self.hidden_layer_sizes!r}."
            )
        return sizes

    def _check_training_data(self, X, y, sample_weight):
        X, y = validate_data(
            self,
            X,
            y,
            dtype=np.float64,
            allow_nd=self.feature_extractor is not None,
            multi_output=True,
            y_numeric=True,
            ensure_min_samples=2,
        )
        if not isinstance(y, np.ndarray):
            raise TypeError(f"y must be dense; got {type(y).__name__}.")
        y = y.astype(np.float64, copy=False)
        if y.ndim > 1 and y.shape[1] == 0:
            raise ValueError(f"y must have at least one target; got shape {y.shape}.")
        sample_weight = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        if not sample_weight.any():
            raise ValueError("sample_weight must have a positive entry; all weights are zero.")
        check_total_weight(sample_weight)
        return X, y, sample_weight

    def _split(self, n_rows, random_state, device):
        """Training and validation rows of every member; None for no validation.

        There may be `n_estimators` members more, a second kind, without a trend. Rows set
        aside tell how the kinds weigh.
        """
        early_stopping = self.early_stopping
        if early_stopping == "auto":
            early_stopping = n_rows >= _MIN_ROWS_TO_VALIDATE
        if early_stopping and n_rows < 3:
            raise ValueError(
                f"early_stopping=True needs at least 3 distinct samples; got {n_rows}."
            )
        fraction = self.validation_fraction if early_stopping else None
        few = early_stopping and n_rows < _FEW_ROWS
        n_kinds = 2 if few and self.trend == "auto" else 1
        n_members = n_kinds * self.n_estimators
        return MemberRows.drawn(n_rows, n_members, fraction, random_state).to(device)

    def _resolve_context_size(self, n_rows):
        return self.context_size

    def _count_context_neighbors(self, n_rows):
        """Of how many near rows a query brings one; None for uniform draws alone."""
        return

    def _count_predictions(self, n_rows):
        """How often an epoch predicts a row, in the mean."""
        if self._count_context_neighbors(n_rows) is None:
            return 1.0
        return count_predictions(n_rows, self.batch_size, self.context_size)

    def _least_epochs_and_steps(self, n_rows):
        """How many epochs and steps make a whole training, if one predicts each row once."""
        return _MIN_EPOCHS, _MIN_STEPS

    def _repeats_on_all(self, n_rows):
        """Whether to train again on all rows where the last cycle gained nothing."""
        return True

    def _dropouts(self, n_rows, hidden_layer_sizes):
        """Dropouts of the first training and of a second one, where the first harms."""
        if self.dropout != "auto":
            return (self.dropout,)
        return (0.0, _DROPOUT) if n_rows < _FEW_ROWS and hidden_layer_sizes else (0.0,)

    def _sharpens_by_epoch(self, n_rows):
        """Whether to choose the sharpness whenever rows are validated, not just in the end."""
        return False

    def _training_settings(self, n_train, n_rows):
        n_predictions = self._count_predictions(n_train)
        least = self._least_epochs_and_steps(n_train)
        max_iter = resolve_max_iter(self.max_iter, n_train, self.batch_size, least, n_predictions)
        n_steps = max_iter * count_batches(n_train, self.batch_size)
        stop_if_harmful = (
            n_train < n_rows
            and self.early_stopping == "auto"
            and self.learning_rate == "cycles"
            and self.n_iter_no_change is None
            and n_steps * n_predictions >= least[1]
        )
        sharpnesses = _SHARPNESSES if self.sharpness == "auto" else ()
        return TrainingSettings(
            max_iter=max_iter,
            batch_size=self.batch_size,
            context_size=self._resolve_context_size(n_rows),
            context_neighbors=self._count_context_neighbors(n_train),
            learning_rate=self.learning_rate,
            learning_rate_init=self.learning_rate_init,
            weight_decay=self.weight_decay,
            ema_decay=self.ema_decay,
            n_iter_no_change=self.n_iter_no_change,
            tol=self.tol,
            sharpnesses=sharpnesses,
            sharpen_in_the_end=bool(sharpnesses) and not self._sharpens_by_epoch(n_rows),
            stop_if_harmful=stop_if_harmful,
            join_validation=stop_if_harmful and n_rows < _MIN_ROWS_TO_HOLD_OUT,
            repeat_on_all=stop_if_harmful and self._repeats_on_all(n_rows),
        )

    def _train(self, data, members, settings, hidden_layer_sizes, random_state, n_threads, dropout):
        device = data.X.device
        seed = int(random_state.randint(_MAX_SEED))
        generator = torch.Generator().manual_seed(int(random_state.randint(_MAX_SEED)))
        # Whether training draws from torch's global generator.
        draws_globally = dropout > 0 or self.feature_extractor is not None
        settings = replace(settings, separable=not draws_globally)
        with ExitStack() as block:
            block.enter_context(reproducible(seed, device))
            network = self._make_network(data, hidden_layer_sizes, dropout, len(members.train))
            network.to(device)
            if not draws_globally:
                block.close()
            block.enter_context(torch.autocast(device.type, enabled=False))
            with progress_bar(self.verbose, settings.max_iter) as report:
                history = train_network(
                    network, data, members, settings, generator, report, n_threads
                )
        return history, network

    def _make_network(self, data, hidden_layer_sizes, dropout, n_members):
        feature_extractors, numerical_embedding = None, self.numerical_embedding
        n_features, n_targets = data.X.shape[1], data.y.shape[1]
        members = range(n_members)
        if self.feature_extractor is not None:
            feature_extractors = [make_feature_extractor(self.feature_extractor) for _ in members]
            X = data.X[:2].cpu()
            n_features, *_ = [check_feature_extractor(f, X) for f in feature_extractors]
            # A callable may return one and the same module each time.
            feature_extractors = [copy.deepcopy(f) for f in feature_extractors]
            numerical_embedding = None
        embedders = [
            MLPEmbedder(
                n_features,
                hidden_layer_sizes,
                self.embedding_dim,
                activation=self.activation,
                numerical_embedding=numerical_embedding,
                batch_norm=self.batch_norm,
                dropout=dropout,
            )
            for _ in members
        ]
        trend = None if self.trend is None else "linear"
        heads = [self._make_head(len(data.X), n_targets, trend) for _ in members]
        for head in heads[self.n_estimators :]:
            head.turn_off_trend()
        return NeighborNetwork(feature_extractors, embedders, heads)

    @property
    def _n_features_out(self):
        n_members, _, embedding_dim = self._bank.z_n.shape
        return n_members * embedding_dim

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_bank")
