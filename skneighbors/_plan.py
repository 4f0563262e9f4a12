"""The plan of a fit: what every "auto" becomes, by the parameters, a table and the data."""

import math
from dataclasses import dataclass, fields

from ._recipe import CALIBRATED, Recipe
from ._utils.arrays import Stored
from ._utils.blocks import count_batches
from .nn._similarity import SIMILARITIES


@dataclass(frozen=True, eq=False)
class Plan(Stored):
    """Plan of a fit. A field is a parameter of the estimator, or follows from the parameters.

    Attributes
    ----------
    params : dict
        Parameters of the estimator with nothing "auto" left that a fit depends on, the recipe
        among them: with the same `random_state`, an estimator of these fits the same model to the
        same data, unless `max_time` ended the training. `max_time` is None.
    recipe : Recipe
        That recipe.
    n_samples : int
        Unique samples given to :meth:`fit`: rows equal in X and y count as one.
    n_validation : int
        How many of them are validation rows of each network.
    max_validation : int
        The largest such number by default; also if the last samples validate: then each
        network takes so many of them as validation rows.
    parts : tuple of str
        What is blended with the networks, by a weight chosen on the validation rows: "boosting",
        "linear", both or none.
    calibrations : tuple of float
        What temperatures may be divided by in prediction, to be chosen on the validation rows,
        the one to prefer first; empty if nothing is to be chosen.
    likenesses : tuple of float
        Strengths of likeness, to be chosen on the validation rows; one if nothing is to be chosen.
    check_overfitting : bool
        Whether there are early-stopping checks: training stops at the end of the learning rate's
        last cycle but one after overfitting, if the validation error exceeds its best by
        `overfitting_in_standard_errors`; and at those of the second and later cycles, by half
        of them, if R2 is below `early_check_below_r2`.
    last_cycle_from_r2 : float
        The R2 of validation rows, two cycles before the end, below which an optional last cycle
        is left out: noisy targets are learned by then.
    join_last_cycle : bool
        Whether, without overfitting, validation rows are trained on in the last cycle.
    refits : bool
        Whether, after overfitting, networks are trained from scratch on all samples, for as many
        steps as were best.
    always_refits : bool
        Whether they are in any case, as if the last samples validate.
    parallel : bool
        Whether, on a CPU, each network is trained in a separate thread.
    n_cycles : int
        How many cycles the learning rate has, each twice as long as the one before: of many the
        first are short, so that early overfitting, as on noisy targets, is found early.
    last_cycle_is_optional : bool
        Whether the last may be left out: one more than the table has, where there are
        early-stopping checks and twice `min_steps`.
    """

    params: dict
    recipe: Recipe
    n_samples: int
    n_validation: int
    max_validation: int
    n_neighbors: int | None
    n_estimators: int
    trend: str | None
    parts: tuple
    hidden_layer_sizes: tuple
    calibrations: tuple
    likenesses: tuple
    batch_size: int
    max_iter: int
    learning_rate_init: float
    weight_decay: float
    check_overfitting: bool
    early_check_below_r2: float
    overfitting_in_standard_errors: float
    last_cycle_from_r2: float
    join_last_cycle: bool
    refits: bool
    always_refits: bool
    parallel: bool
    n_cycles: int
    last_cycle_is_optional: bool

    @property
    def calibrates(self):
        """Whether temperatures or likeness are chosen on the validation rows."""
        return bool(self.calibrations) or self.likenesses != (0.0,)

    @property
    def max_epochs(self):
        """Largest number of epochs, those of a refit included.

        A training that is stopped by a check ends before the half: the refit is within `max_iter`.
        """
        return self.max_iter * (2 if self.always_refits else 1)


# Names in the table that are neither a field of a recipe nor of a plan.
_NOT_FIELDS = {"early_stopping", "last_fraction", "min_epochs", "min_steps"}
_NOT_FIELDS |= {"calibration_powers", "validation_fraction"}
_NAMES = _NOT_FIELDS | {field.name for kind in (Recipe, Plan) for field in fields(kind)}


def _from(n_samples, **values):
    """Line of the table: what "auto" becomes from so many unique samples on."""
    unknown = values.keys() - _NAMES
    if unknown:
        raise TypeError(f"The table names {unknown}, which are unknown to a plan.")
    return n_samples, values


# A later line overrides an earlier one.
TABLE = [
    _from(
        0,
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
        overfitting_in_standard_errors=2.0,
        hidden_layer_sizes=(256, 256),
        last_cycle_from_r2=0.95,
        last_fraction=0.2,  # where time is given
        learning_rate_schedule="cycles",
        likeness="calibrated",  # if there are validation rows
        likenesses=(0.0, 0.5, 1.0, 2.0, 4.0),
        max_validation=1024,  # more would cost time and change little
        min_epochs=68,
        min_steps=230,
        n_cycles=6,
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
    _from(30, early_stopping=True, parts=("linear",)),
    _from(100, n_estimators=4, parts=("boosting", "linear")),
    _from(500, min_steps=1000, n_estimators=2),
    _from(1000, min_steps=650, parallel=True),
    _from(2000, context_neighbors=4),
    _from(5000, hidden_layer_sizes=(256, 256, 256, 256)),
]
# Lines that override these for SoftStep k-NN.
TABLE_SOFTSTEP_KNN = [
    _from(0, context_neighbors=None),
    _from(5000, context_size=512, eps=1e-2, min_epochs=128, n_cycles=4),
]


def values_for(n_samples, tables=(TABLE,)):
    """Look up what ``"auto"`` is, for so many unique samples, by name."""
    values = {}
    for table in tables:
        for start, line in table:
            if n_samples >= start:
                values |= line
    return values


def make_plan(params, tables, n_samples, n_given=None, in_time=False, drawn=None):
    """Resolve the parameters of an estimator and its recipe.

    Parameters
    ----------
    params : dict
        The estimator's, validated; `hidden_layer_sizes` is a tuple or "auto".
    tables : sequence of tables
        Later ones override earlier ones.
    n_samples : int
        Unique samples of positive weight.
    n_given : int, default=None
        Number of samples of a given validation set, which are never trained on.
    in_time : bool, default=False
        Whether the last samples are the validation rows.
    drawn : tuple of int, default=None
        Numbers of training and validation rows of a member, if they are known.

    Returns
    -------
    plan : Plan

    Raises
    ------
    ValueError
        If there are to be no validation rows although they are needed.
    """
    auto = values_for(n_samples, tables)
    recipe = Recipe() if params["recipe"] is None else params["recipe"]
    given = params | recipe.get_params(deep=False)
    early_stopping, n_wanted = _count_validation(given, n_samples, auto, n_given, in_time)
    n_train, n_validation = drawn or (n_samples - n_wanted, n_wanted)
    known = {name: _or(value, auto.get(name, value)) for name, value in given.items()}
    known["early_stopping"] = early_stopping
    if n_given is None and n_wanted:
        known["validation_fraction"] = n_wanted / n_samples
    temperature = auto["temperature"] if n_validation else "learned"
    known["temperature"] = _or(given["temperature"], temperature)
    known["likeness"] = _resolve_likeness(given, n_validation, auto)
    known["trend"] = given.get("trend")  # probabilities have none
    known |= _resolve_blend(given["blend"], n_validation, auto)
    n_train = n_train if n_given is None else n_samples
    known |= _plan_steps(given, known, auto, n_train, n_samples, n_validation, in_time)
    recipe = Recipe(**{name: known[name] for name in recipe.get_params()})
    powers = auto["calibration_powers"] if recipe.temperature in CALIBRATED else ()
    known |= dict(
        recipe=recipe,
        params={name: known[name] for name in params} | {"recipe": recipe, "max_time": None},
        n_samples=n_samples,
        n_validation=n_validation,
        calibrations=tuple(2 ** (power / 2) for power in powers),
    )
    if recipe.likeness != "calibrated":
        known["likenesses"] = (float(recipe.likeness),)
    values = auto | known
    return Plan(**{field.name: values[field.name] for field in fields(Plan)})


def _or(value, auto):
    """Replace "auto"."""
    return auto if isinstance(value, str) and value == "auto" else value


def _resolve_blend(blend, n_validation, auto):
    """Resolve what is blended; "auto" stays where it is both parts."""
    if blend != "auto":
        return {"blend": blend, "parts": (blend,) if blend and n_validation else ()}
    parts = auto["parts"] if n_validation else ()
    return {"blend": parts[0] if len(parts) == 1 else "auto" if parts else None, "parts": parts}


def _resolve_likeness(given, n_validation, auto):
    """Resolve the strength of likeness, to a number or "calibrated"."""
    likeness = given["likeness"]
    if likeness == 0:
        return 0.0
    cannot = {
        "feature_extractor": given["feature_extractor"] is not None,
        "n_neighbors": given["n_neighbors"] is None,
        "similarity": SIMILARITIES[given["similarity"]].largest is None,
    }
    if likeness == "auto":
        return auto["likeness"] if n_validation and not any(cannot.values()) else 0.0
    for name, conflicts in cannot.items():
        if conflicts:
            raise ValueError(
                f"recipe.likeness={likeness!r} cannot be used with {name}={given[name]!r}."
            )
    return likeness


def _count_validation(given, n_samples, auto, n_given, in_time):
    """Whether there are validation rows, and how many for each network."""
    early_stopping, needed = given["early_stopping"], None
    if _or(given["blend"], None) is not None:
        needed = f"blend={given['blend']!r}: validation rows choose its weight"
    if given["temperature"] in CALIBRATED:
        needed = f"recipe.temperature={given['temperature']!r}: validation rows choose it"
    if given["likeness"] == "calibrated":
        needed = "recipe.likeness='calibrated': validation rows choose it"
    if n_given is not None:
        needed = "X_val"
    if in_time:
        needed = "time: the last rows are validation rows"
    if early_stopping == "auto":
        early_stopping = auto["early_stopping"] or needed is not None
    if not early_stopping:
        if needed is not None:
            raise ValueError(f"early_stopping must not be False with {needed}.")
        return False, 0
    if n_given is not None:
        return True, n_given
    if n_samples < 3:  # one to train on would be left
        return True, 0
    fraction = given["validation_fraction"]
    if fraction == "auto" and in_time:
        n_validation = round(auto["last_fraction"] * n_samples)
    elif fraction == "auto":
        n_validation = min(round(auto["validation_fraction"] * n_samples), auto["max_validation"])
    else:
        n_validation = round(fraction * n_samples)
    return True, min(max(1, n_validation), n_samples - 2)


def _plan_steps(given, known, auto, n_train, n_samples, n_validation, in_time):
    """Plan how long to train, when to stop, and on which samples in the end."""
    near, context_size = known["context_neighbors"], known["context_size"]
    if context_size is None or n_train <= known["batch_size"] + context_size:
        near = None
    elif near is not None:
        near = min(near, n_train - 1)
    n_batches = count_batches(n_train, known["batch_size"])
    n_predictions = 1.0  # of a row in an epoch, on average
    if near is not None:
        n_predictions += min(1.0, context_size * n_batches / n_train)
    max_iter = given["max_iter"]
    checks = (
        n_validation > 0
        and known["learning_rate_schedule"] == "cycles"
        and known["n_iter_no_change"] is None
    )
    n_cycles = auto["n_cycles"]
    if max_iter == "auto":
        n_epochs = math.ceil(auto["min_steps"] / math.ceil(n_train / known["batch_size"]))
        max_iter = math.ceil(max(auto["min_epochs"], n_epochs) / n_predictions)
        if checks:
            max_iter = math.ceil(max_iter * (2 ** (n_cycles + 1) - 1) / (2**n_cycles - 1))
    n_steps = max_iter * n_batches * n_predictions
    check_overfitting = checks and n_steps >= auto["min_steps"]
    one_more = checks and n_steps >= 2 * auto["min_steps"]
    ends_on_all = check_overfitting and n_train < n_samples  # samples of X_val are for nothing else
    return dict(
        context_neighbors=near,
        max_iter=max_iter,
        check_overfitting=check_overfitting,
        n_cycles=n_cycles + one_more,
        last_cycle_is_optional=one_more,
        join_last_cycle=ends_on_all and known["refit"] and not in_time,
        refits=known["refit"] and (ends_on_all or in_time),
        always_refits=known["refit"] and in_time,
    )
