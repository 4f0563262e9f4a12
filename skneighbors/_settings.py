"""What a fit is done with: its recipe, and a table and the data, by which every "auto" is resolved.

::

    parameters, Recipe -> TABLE, number of unique rows -> Settings   nothing "auto" is left
    which rows validate, and how many                  -> Validation
    both                                               -> Schedule   the phases of the training
"""

import math
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from ._utils.arrays import Stored
from ._utils.blocks import count_batches
from ._utils.parameters import CheckedFields, StrOptions, counts_from, parameter, reals
from .nn._embedder import ACTIVATIONS
from .nn._similarity import SIMILARITIES

# Words for a temperature that is learned, and for one that validation rows choose in the end.
LEARNED, CALIBRATED = {"learned", "both"}, {"calibrated", "both"}
# Ends of a training after which networks may be trained again.
COMPLETE, NO_GAIN, OVERFITTING = "complete", "no gain", "overfitting"
_THRESHOLDS = "early_check_below_r2", "overfitting_in_standard_errors", "last_cycle_from_r2"


def _setting(*allowed, words=()):
    """Field of a recipe, "auto" by default, and what else it may be."""
    return parameter("auto", StrOptions({"auto", *words}), *allowed)


@dataclass(kw_only=True, eq=False, repr=False)
class Recipe(Stored, CheckedFields):
    """Expert settings of a fit; ``"auto"`` is what the table says for so many samples.

    For the parameter `recipe` of the estimators.
    A search varies its fields as ``recipe__ema_decay`` and the like. A fitted estimator's
    ``plan_.recipe`` has the value of each ``"auto"``; the :ref:`User Guide <recipe>` has the
    table, with the number of unique samples from which each line applies.

    Parameters
    ----------
    activation : {"silu", "relu", "tanh", "gelu"} or "auto", default="auto"
        Activation of the hidden layers.

    batch_norm : bool or "auto", default="auto"
        Whether hidden layers are batch-normalized.

    numerical_embedding : {"periodic"}, None or "auto", default="auto"
        :class:`skneighbors.nn.PeriodicEmbedding` of every feature before the
        first layer, or the scaled features as they are. Not used with a
        `feature_extractor`, nor of more than 4,096 features.

    embedding_dim : int or "auto", default="auto"
        Width of each member's embedding.

    dropout : float or "auto", default="auto"
        Fraction of the hidden units dropped in training, in [0, 1).

    temperature : {"learned", "calibrated", "both"}, float or "auto", default="auto"
        Of NONA's softmax: the lower, the more the nearest neighbors count. ``"learned"``:
        learned, from 1. ``"calibrated"``: 1 in training, where a row sees some hundred
        neighbors, and chosen for prediction on the validation rows: of twelve powers of the
        square root of 2 from 1/8 to 16 the one nearest to 1 that predicts a network's rows as
        well as the best does, up to a standard error. ``"both"``: learned, then multiplied by
        such a power for prediction. A number: fixed, in training and prediction. ``"auto"``:
        "both" if there are validation rows, else "learned".
        SoftStep k-NN has a temperature in prediction alone: it divides how fast the mask falls
        with the rank, and is 1 if it is neither calibrated nor given. With ``"learned"`` and
        ``"both"`` the strength of its soft rank in training is learned, from 1; otherwise that
        is fixed. The estimators' `temperature_` is the result.

    likeness : float, "calibrated" or "auto", default="auto"
        Strength of likeness: how much the columns, whatever the targets, count beside the
        learned distance when neighbors are found: 0 for nothing, 1 for as much. See the
        :ref:`User Guide <likeness>`. ``"calibrated"``: the largest of some strengths with
        which the loss (squared error or log loss) exceeds the lowest by no more than 10 % on the
        validation rows, and by 25 % on training samples, each left out.
        ``"auto"``: that if there are validation rows, else 0; and 0 with a `feature_extractor`,
        ``similarity="dot"`` or ``"cosine"``.

    eps : float or "auto", default="auto"
        How close to 0 and 1 the masks' parameters may come, below 0.5; see
        :class:`skneighbors.nn.SoftStep`. The smaller, the steeper a mask may become and
        the longer its gradients.

    context_size : int, None or "auto", default="auto"
        Number of training rows drawn for every batch as neighbors beside the
        batch itself; all rows if there are no more than that. None: the batch
        alone, as in the papers.

    context_neighbors : int, None or "auto", default="auto"
        Each row drawn for a batch, or the first `context_size` of them, is joined by one of
        this many nearest training rows (by Euclidean distance of embeddings; at most
        1,000), which takes a place of the context and is predicted too. Weights
        correct for the sampling. None: uniform draws. Not with ``context_size=None``, and
        only where more rows are trained on than `batch_size` and `context_size` together.

    learning_rate_schedule : {"cycles", "constant"} or "auto", default="auto"
        ``"cycles"``: five cosine cycles over the training, each twice as long as the one before;
        four for SoftStep k-NN from 5,000 rows on. With early-stopping checks up to `max_cycles`,
        as long as R2 is at least 0.95 where the last but one ends.
        ``"constant"``: `learning_rate_init` throughout.

    ema_decay : float, None or "auto", default="auto"
        Decay, for every step, of the exponential moving average of the weights
        that is validated and kept; None to keep the weights themselves.

    n_iter_no_change : int, None or "auto", default="auto"
        Number of epochs without a gain of `tol` after which training stops; None for no
        such end.

    tol : float or "auto", default="auto"
        Smallest gain that `n_iter_no_change` counts: in the mean squared error of the
        standardized targets, or log loss, of the validation rows if there are any.

    boosting_iter : int or "auto", default="auto"
        Largest number of iterations of boosted trees, where they are blended; fewer, where a
        stage of them (an eighth, a quarter, half, all) gains less than 1 %. Their learning rate
        is 15 / `boosting_iter` (for classes, 5 / `boosting_iter`), at most 0.5.

    refit : bool or "auto", default="auto"
        Whether validation rows are trained on in the end: in the last cycle of the learning
        rate, or, after overfitting, by networks trained from scratch. (Rows given as `X_val`
        never are.) Only for a training with early-stopping checks: with
        ``learning_rate_schedule="cycles"``, without `n_iter_no_change`, and of at least `min_steps`
        steps (see the table). With `time`, networks are trained again in any case, unless
        this is False.

    See Also
    --------
    NONARegressor : Takes it as `recipe`.
    PAPER : The papers' setting, with a recipe.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skneighbors import NONARegressor, Recipe
    >>> model = NONARegressor(recipe=Recipe(dropout=0.1))
    >>> model.get_params()["recipe__dropout"]
    0.1
    >>> search = GridSearchCV(model, {"recipe__ema_decay": [None, 0.99]})
    """

    activation: str = _setting(words=ACTIVATIONS)
    batch_norm: bool | str = _setting("boolean")
    numerical_embedding: str | None = _setting(None, words=["periodic"])
    embedding_dim: int | str = _setting(counts_from(1))
    dropout: float | str = _setting(reals(0, 1, "left"))
    temperature: float | str = _setting(reals(0, None, "neither"), words=LEARNED | CALIBRATED)
    likeness: float | str = _setting(reals(0, None, "left"), words=["calibrated"])
    eps: float | str = _setting(reals(0, 0.5, "neither"))
    context_size: int | str | None = _setting(counts_from(1), None)
    context_neighbors: int | str | None = _setting(counts_from(1, 1000), None)
    learning_rate_schedule: str = _setting(words=["cycles", "constant"])
    ema_decay: float | str | None = _setting(reals(0, 1, "left"), None)
    n_iter_no_change: int | str | None = _setting(counts_from(1), None)
    tol: float | str = _setting(reals(0, None, "left"))
    boosting_iter: int | str = _setting(counts_from(1))
    refit: bool | str = _setting("boolean")


def check_params(params):
    """Check what a plan is made of; sequences as tuples.

    Raises
    ------
    ValueError
        If the recipe or a width is not usable.
    """
    params = {name: _plain(value) for name, value in params.items()}
    if params["recipe"] is not None:
        params["recipe"]._validate_params()
        settings = params["recipe"].get_params(deep=False)
        params["recipe"] = Recipe(**{name: _plain(value) for name, value in settings.items()})
    sizes = params["hidden_layer_sizes"]
    if not isinstance(sizes, str):
        sizes = tuple(np.atleast_1d(sizes).tolist())
        if any(type(size) is not int or not 1 <= size < 2**31 for size in sizes):
            raise ValueError(f"hidden_layer_sizes must be 'auto' or hold ints >= 1; got {sizes!r}.")
    return params | {"hidden_layer_sizes": sizes}


def _plain(value):
    """Convert NumPy's numbers to Python's, whose sums and products do not overflow."""
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True, eq=False)
class Settings(Stored):
    """Parameters and recipe of a fit, resolved.

    Attributes
    ----------
    params : dict
        Parameters of the estimator with nothing "auto" left that a fit depends on, the recipe
        among them: with the same `random_state`, an estimator of these fits the same model to the
        same data, unless `max_time` shortened the fit. `max_time` is None.
    n_samples : int
        Unique samples given to :meth:`fit`: rows equal in X and y count as one.
    parts : tuple of str
        What is blended with the networks, by a weight chosen on the validation rows: "boosting",
        "linear", both or none.
    calibrations : tuple of float
        What temperatures may be divided by in prediction, to be chosen on the validation rows,
        the one to prefer first; empty if nothing is to be chosen.
    likenesses : tuple of float
        Strengths of likeness, to be chosen on the validation rows; one if nothing is to be chosen.
    parallel : bool
        Whether, on a CPU, each network is trained in a separate thread.
    early_check_below_r2, overfitting_in_standard_errors : float
        A check where the last phase begins ends the training if the validation error exceeds its
        best by so many standard errors; one before, if R2 is below this and the phase that ends
        brought no gain.
    last_cycle_from_r2 : float
        The R2 of validation rows, one phase before an optional one, below which that is left out:
        noisy targets are learned by then.
    """

    params: dict
    n_samples: int
    parts: tuple
    calibrations: tuple
    likenesses: tuple
    parallel: bool
    early_check_below_r2: float
    overfitting_in_standard_errors: float
    last_cycle_from_r2: float

    recipe = property(lambda self: self.params["recipe"])

    @property
    def calibrates(self):
        """Whether temperatures or likeness are chosen on the validation rows."""
        return bool(self.calibrations) or self.likenesses != (0.0,)


@dataclass(frozen=True, eq=False)
class Validation(Stored):
    """Which rows validate.

    Attributes
    ----------
    source : {"random", "groups", "time", "X_val"}
        How they are chosen: at random, in whole groups, the last ones, or by the user.
    early_stopping : bool
        Whether there are to be any.
    fraction : float
        Part of the samples that are to be validation rows.
    n_train, n_rows : int
        Of each network: how many rows it trains on, and how many validate.
    """

    source: str
    early_stopping: bool
    fraction: float
    n_train: int
    n_rows: int


@dataclass(frozen=True, eq=False)
class Phase(Stored):
    """A stretch of the training: a cycle of the learning rate, or what ends in the same epoch.

    Attributes
    ----------
    end : float
        Where it ends, in epochs; to the nearest one.
    check : bool
        Whether there is an early-stopping check at its end.
    on_all : bool
        Whether validation rows are trained on.
    is_optional : bool
        Whether it may be left out.
    """

    end: float
    check: bool = False
    on_all: bool = False
    is_optional: bool = False


@dataclass(frozen=True, eq=False)
class Schedule(Stored):
    """The phases of a training, and its learning rate.

    Attributes
    ----------
    phases : tuple of Phase
    n_epochs : int
        How many epochs the cycles of the learning rate take.
    n_cycles : int
        How many cycles it has, each twice as long as the one before: of many the first are
        short, so that early overfitting, as on noisy targets, is found early.
    kind : {"cycles", "constant"}
    learning_rate : float
        Its peak.
    refits_after : tuple of str
        Ends of a training, see :class:`Training`, after which networks are trained from scratch on
        all samples, for as many steps as were best.
    """

    phases: tuple
    n_epochs: int
    n_cycles: int
    kind: str
    learning_rate: float
    refits_after: tuple = ()

    @property
    def max_epochs(self):
        """Largest number of epochs, those of a refit included.

        A training that is stopped by a check ends before the half: the refit is within `n_epochs`.
        """
        return self.n_epochs * (2 if COMPLETE in self.refits_after else 1)

    def again(self, n_epochs, n_before, n_now):
        """Schedule of the steps of so many epochs again, with other numbers of steps an epoch."""
        length, end = (max(1, round(n * n_before / n_now)) for n in (self.n_epochs, n_epochs))
        phases = [phase for phase in plan_phases(length, self.n_cycles) if phase.end < end]
        rate = self.n_cycles, self.kind, self.learning_rate
        return Schedule((*phases, Phase(end)), length, *rate)


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Stored):
    """What a fit was planned to do, in three parts; what is asked for most is an attribute, too."""

    settings: Settings
    validation: Validation
    schedule: Schedule

    params = property(attrgetter("settings.params"))
    recipe = property(attrgetter("settings.recipe"))
    parts = property(attrgetter("settings.parts"))
    n_samples = property(attrgetter("settings.n_samples"))
    n_validation = property(attrgetter("validation.n_rows"))
    n_estimators = property(lambda self: self.params["n_estimators"])
    hidden_layer_sizes = property(lambda self: self.params["hidden_layer_sizes"])
    max_iter = property(lambda self: self.params["max_iter"])

    def __repr__(self):
        names = "n_samples", "n_validation", "n_estimators", "max_iter", "parts"
        return f"Plan({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


# What "auto" becomes, from so many unique samples on; a later line overrides an earlier one.
TABLE = {
    0: dict(
        activation="silu",
        batch_norm=True,
        parts=(),
        boosting_iter=100,
        context_neighbors=None,
        context_size=256,
        dropout=0.0,
        early_check_below_r2=0.85,
        early_stopping=False,
        embedding_dim=64,
        ema_decay=0.99,
        eps=1e-6,
        first_check=3,
        overfitting_in_standard_errors=2.0,
        hidden_layer_sizes=(256, 256),
        last_cycle_from_r2=0.95,
        last_fraction=0.2,  # where time is given
        learning_rate_schedule="cycles",
        likeness="calibrated",  # if there are validation rows
        likenesses=(0.0, 0.5, 1.0, 2.0, 4.0),
        max_validation=1024,  # more would cost time and change little
        max_cycles=6,
        min_epochs=34,
        min_steps=115,
        n_cycles=5,
        n_estimators=2,
        n_iter_no_change=None,
        numerical_embedding="periodic",
        parallel=False,
        refit=True,
        calibration_powers=(0, -1, 1, -2, 2, -4, 3, 4, -6, 5, 6, -8),  # 0: as it was trained
        temperature="both",  # if there are validation rows
        tol=0.0,
        validation_fraction=0.15,
    ),
    30: dict(early_stopping=True, parts=("linear",)),
    100: dict(n_estimators=4, parts=("boosting", "linear")),
    500: dict(max_cycles=7, min_steps=500, n_estimators=2),
    1000: dict(min_steps=325, parallel=True),
    2000: dict(context_neighbors=4),
    5000: dict(hidden_layer_sizes=(256, 256, 256, 256)),
    20_000: dict(likenesses=(0.0, 1.0, 4.0)),
    100_000: dict(max_validation=512),
    500_000: dict(max_validation=256),
}
# Lines that override these for SoftStep k-NN.
TABLE_SOFTSTEP_KNN = {
    0: dict(context_neighbors=None),
    5000: dict(context_size=512, eps=1e-2, max_cycles=5, min_epochs=128, n_cycles=4),
}


def values_for(n_samples, tables=(TABLE,)):
    """Look up what ``"auto"`` is, for so many unique samples, by name."""
    values = {}
    for table in tables:
        for start, line in table.items():
            if n_samples >= start:
                values |= line
    return values


def resolve(name, params, auto):
    """Look up a parameter, where it is "auto" in the table; what is not there stays "auto"."""
    value = params[name]
    return auto.get(name, value) if isinstance(value, str) and value == "auto" else value


def count_validation(params, auto, n_samples, source, n_given=None):
    """Count the validation rows that each network is to have.

    Parameters
    ----------
    params : dict
        The estimator's, validated; `hidden_layer_sizes` is a tuple or "auto".
    auto : dict
        Of :func:`values_for`.
    n_samples : int
        Unique samples of positive weight.
    source : str
        See :class:`Validation`.
    n_given : int, default=None
        Number of samples of a given validation set.

    Returns
    -------
    early_stopping : bool
        Whether there are to be any; of two samples none are left.
    n_validation : int

    Raises
    ------
    ValueError
        If there are to be none although they are needed.
    """
    early_stopping, needed = params["early_stopping"], _why_needed(params, source)
    if early_stopping == "auto":
        early_stopping = auto["early_stopping"] or needed is not None
    if not early_stopping:
        if needed is not None:
            raise ValueError(f"early_stopping must not be False with {needed}.")
        return False, 0
    if source == "X_val":
        return True, n_given
    if n_samples < 3:  # one to train on would be left
        return True, 0
    fraction, most = params["validation_fraction"], n_samples - 2
    if fraction == "auto" and source == "time":
        fraction = auto["last_fraction"]
    elif fraction == "auto":
        fraction, most = auto["validation_fraction"], min(auto["max_validation"], most)
    return True, min(max(1, round(fraction * n_samples)), most)


def _recipe_of(params):
    return Recipe() if params["recipe"] is None else params["recipe"]


def _why_needed(params, source):
    """Why there must be validation rows, or None."""
    blend, temperature = params["blend"], _recipe_of(params).temperature
    reasons = {
        "time: the last rows are validation rows": source == "time",
        "X_val": source == "X_val",
        "recipe.likeness='calibrated': validation rows choose it": (
            _recipe_of(params).likeness == "calibrated"
        ),
        f"recipe.temperature={temperature!r}: validation rows choose it": temperature in CALIBRATED,
        f"blend={blend!r}: validation rows choose its weight": blend not in ("auto", None),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def make_plan(params, auto, validation, n_samples, blendable):
    """Resolve parameters, and plan a training, by how many rows each network has.

    Parameters
    ----------
    params, auto, n_samples : dict, dict, int
        See :func:`count_validation`.
    validation : Validation
    blendable : list of str
        What can be blended.

    Returns
    -------
    plan : Plan
    """
    settings = make_settings(params, auto, validation, n_samples, blendable)
    return Plan(settings, validation, make_schedule(settings, auto, validation))


def make_settings(params, auto, validation, n_samples, blendable):
    """Resolve the parameters of an estimator and its recipe; see :func:`make_plan`."""
    given = params | _recipe_of(params).get_params(deep=False)
    known = {name: resolve(name, given, auto) for name in given}
    known["early_stopping"] = validation.early_stopping
    known["validation_fraction"] = validation.fraction
    if given["temperature"] == "auto" and not validation.n_rows:
        known["temperature"] = "learned"
    known["likeness"] = _resolve_likeness(given, validation.n_rows, auto)
    parts = auto["parts"] if given["blend"] == "auto" else (given["blend"],)
    parts = tuple(name for name in parts if name in blendable) if validation.n_rows else ()
    if given["blend"] == "auto":  # which stays where it is both
        known["blend"] = parts[0] if len(parts) == 1 else "auto" if parts else None
    known["context_neighbors"] = _count_near(known, validation.n_train)
    known["max_iter"] = _count_epochs(known, auto, validation)
    recipe = Recipe(**{name: known[name] for name in Recipe().get_params()})
    powers = auto["calibration_powers"] if recipe.temperature in CALIBRATED else ()
    is_chosen = recipe.likeness == "calibrated"
    return Settings(
        params={name: known[name] for name in params} | {"recipe": recipe, "max_time": None},
        n_samples=n_samples,
        parts=parts,
        calibrations=tuple(2 ** (power / 2) for power in powers),
        likenesses=auto["likenesses"] if is_chosen else (float(recipe.likeness),),
        **{name: auto[name] for name in ("parallel", *_THRESHOLDS)},
    )


def _resolve_likeness(given, n_validation, auto):
    """Resolve the strength of likeness, to a number or "calibrated"."""
    likeness = given["likeness"]
    if likeness == 0:
        return 0.0
    cannot = {
        "feature_extractor": given["feature_extractor"] is not None,
        "similarity": SIMILARITIES[given["similarity"]].join is None,
    }
    conflicts = [name for name, is_so in cannot.items() if is_so]
    if likeness == "auto":
        return 0.0 if conflicts or not n_validation else auto["likeness"]
    for name in conflicts:
        raise ValueError(f"likeness={likeness!r} cannot be used with {name}={given[name]!r}.")
    return likeness


def _count_near(known, n_train):
    """Count the nearest rows among which a row drawn has its partner; None for no partners."""
    near, context_size = known["context_neighbors"], known["context_size"]
    if near is None or context_size is None or n_train <= known["batch_size"] + context_size:
        return None
    return min(near, n_train - 1)


def _count_predictions(known, n_train):
    """How often an epoch predicts a row, on average."""
    if known["context_neighbors"] is None:
        return 1.0
    n_batches = count_batches(n_train, known["batch_size"])
    return 1.0 + min(1.0, known["context_size"] * n_batches / n_train)


def _has_checks(known, validation):
    """Whether a training that is long enough has early-stopping checks."""
    in_cycles = known["learning_rate_schedule"] == "cycles"
    return validation.n_rows > 0 and in_cycles and known["n_iter_no_change"] is None


def _count_epochs(known, auto, validation):
    """Count the epochs."""
    if not isinstance(known["max_iter"], str):
        return known["max_iter"]
    n_epochs = math.ceil(auto["min_steps"] / math.ceil(validation.n_train / known["batch_size"]))
    n_epochs = max(auto["min_epochs"], n_epochs) / _count_predictions(known, validation.n_train)
    n_epochs = math.ceil(n_epochs)
    if _has_checks(known, validation):
        least, most = (2 ** auto[name] - 1 for name in ("n_cycles", "max_cycles"))
        n_epochs = math.ceil(n_epochs * most / least)
    return n_epochs


def make_schedule(settings, auto, validation):
    """Plan the phases of a training; see :func:`make_plan`."""
    known, n_train = settings.params | settings.recipe.get_params(), validation.n_train
    n_epochs, is_last = known["max_iter"], validation.source == "time"
    n_steps = n_epochs * count_batches(n_train, known["batch_size"])
    n_steps *= _count_predictions(known, n_train)
    checks = _has_checks(known, validation) and n_steps >= auto["min_steps"]
    n_optional = int(math.log2(n_steps / auto["min_steps"])) if checks else 0
    n_cycles = min(auto["n_cycles"] + n_optional, auto["max_cycles"])
    # Samples of X_val are for nothing else.
    refits = known["refit"] and checks and n_train < settings.n_samples
    after = (OVERFITTING,) if refits else ()
    return Schedule(
        phases=plan_phases(
            n_epochs,
            n_cycles,
            auto["first_check"] if checks else None,
            refits and not is_last,
            auto["n_cycles"],
        ),
        n_epochs=n_epochs,
        n_cycles=n_cycles,
        kind=known["learning_rate_schedule"],
        learning_rate=known["learning_rate_init"],
        refits_after=(COMPLETE, NO_GAIN, OVERFITTING) if known["refit"] and is_last else after,
    )


def plan_phases(n_epochs, n_cycles, first_check=None, joins=False, n_needed=None):
    """Divide epochs into phases.

    Parameters
    ----------
    n_epochs, n_cycles : int
    first_check : int, default=None
        Number of the first cycle that ends with a check; all that follow do but the last. None:
        there are no checks.
    joins : bool, default=False
        Whether validation rows are trained on in the last phase.
    n_needed : int, default=None
        Number of cycles after which others are optional; None for none.

    Returns
    -------
    phases : tuple of Phase
    """
    ends, n_needed = {}, n_cycles if n_needed is None else n_needed
    for n in range(1, n_cycles):
        end = (2**n - 1) / (2**n_cycles - 1) * n_epochs
        epoch = math.ceil(end - 0.5)
        is_checked = first_check is not None and n >= first_check
        ends[epoch] = ends.get(epoch, (end,))[0], is_checked, False, n > n_needed
    ends.pop(0, None)
    last = Phase(n_epochs, on_all=joins, is_optional=n_cycles > n_needed)
    return (*(Phase(*own) for own in ends.values()), last)
