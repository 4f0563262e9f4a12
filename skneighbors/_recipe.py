"""What every "auto" becomes: one table, read once at the start of a fit."""

import math
from dataclasses import dataclass
from itertools import cycle, islice

from sklearn.base import BaseEstimator

from ._utils.sklearn_private import StrOptions, counts_from, reals
from .nn._embedder import ACTIVATIONS

LEARNING_RATES = ("cycles", "constant")

# From so many distinct samples on, what "auto" becomes. A later line overrides an earlier one.
TABLE = [
    (
        0,
        dict(
            activation="silu",
            batch_norm=True,
            boosting=False,
            context_neighbors=None,
            context_size=256,
            dropout=0.0,
            early_review_below_r2=0.85,
            early_stopping=False,
            ema_decay=0.99,
            eps=1e-6,
            harm_in_standard_errors=1.0,
            hidden_layer_sizes=(256, 256),
            join_last_cycle=True,
            learning_rate="cycles",
            max_validation=1024,  # more would cost time and tell little more
            min_epochs=104,
            min_steps=350,
            n_estimators=2,
            n_iter_no_change=None,
            numerical_embedding="periodic",
            parallel=False,
            refit=True,
            sharpen_when_validated=False,
            sharpness_powers=(0, -1, 1, -2, 2, 3, 4, 5, 6),  # as it was trained, if that will do
            temperature=1.0,
            tol=0.0,
            trends=("linear",),
            validation_fraction=0.15,
        ),
    ),
    (100, dict(boosting=True, early_stopping=True, n_estimators=4, trends=("linear", None))),
    (500, dict(min_steps=1500, n_estimators=2, trends=("linear",))),
    (1000, dict(min_steps=1000, parallel=True)),
    (2000, dict(context_neighbors=4, join_last_cycle=False)),
    (5000, dict(hidden_layer_sizes=(256, 256, 256, 256))),
]
# What is otherwise for SoftStep k-NN.
TABLE_SOFTSTEP_KNN = [
    (
        0,
        dict(
            context_neighbors=None,
            min_epochs=128,
        ),
    ),
    (1000, dict(min_steps=1500, sharpen_when_validated=True)),
    (5000, dict(context_size=512, eps=1e-2)),
]
# On the linear scale of ranks `eps` is about the smallest share of the neighbours that can count.
TABLE_LINEAR_RANKS = [(0, dict(eps=1e-6))]


class Recipe(BaseEstimator):
    """Expert settings of a fit; ``"auto"`` is what the table says for so many samples.

    For the parameter `recipe` of :class:`NONARegressor` and :class:`SoftStepKNNRegressor`.
    A search varies its fields as ``recipe__ema_decay`` and the like. What each ``"auto"``
    came to stands in the fitted estimator's `recipe_`; the table, with the number of
    distinct samples from which each line holds, in the :ref:`User Guide <recipe>`. (What
    ``sharpness="auto"`` came to is learnt: see the estimators' `sharpness_`.)

    Parameters
    ----------
    activation : {"silu", "relu", "tanh", "gelu"} or "auto", default="auto"
        Activation of the hidden layers.

    batch_norm : bool or "auto", default="auto"
        Whether hidden layers are batch-normalised.

    numerical_embedding : {"periodic"}, None or "auto", default="auto"
        :class:`skneighbors.nn.PeriodicEmbedding` of every feature before the
        first layer, or the scaled features as they are. Not used with a
        `feature_extractor`.

    dropout : float or "auto", default="auto"
        Share of the hidden units dropped in training, in [0, 1).

    temperature : float, None or "auto", default="auto"
        For NONA, the initial value of the learnt temperature of the softmax; for SoftStep
        k-NN that of the soft rank's strength, as a multiple of the mean gap between a
        row's similarities. None for a fixed one of 1.

    eps : float or "auto", default="auto"
        How close to 0 and 1 the masks' parameters may come, below 0.5; see
        :class:`skneighbors.nn.SoftStep`. The smaller, the steeper a mask may become and
        the longer its gradients.

    context_size : int, None or "auto", default="auto"
        Number of training rows drawn for every batch as neighbours beside the
        batch itself; all rows if there are no more than that. None: the batch
        alone, as in the papers.

    context_neighbors : int, None or "auto", default="auto"
        Each row drawn for a batch, or the first `context_size` of them, is joined by one of
        this many nearest training rows (by Euclidean distance of embeddings; at most
        1,000), which takes a place of the context and is predicted too. Weights
        correct for the sampling. None: uniform draws. Not with ``context_size=None``, and
        only where more rows are trained on than `batch_size` and `context_size` together.

    learning_rate : {"cycles", "constant"} or "auto", default="auto"
        ``"cycles"``: four cosine cycles of growing length over the training.
        ``"constant"``: `learning_rate_init` throughout.

    ema_decay : float, None or "auto", default="auto"
        Decay, for every step, of the exponential moving average of the weights
        that is validated and kept; None to keep the weights themselves.

    n_iter_no_change : int, None or "auto", default="auto"
        Number of epochs without a gain of `tol` after which training stops; None for no
        such end.

    tol : float or "auto", default="auto"
        Smallest gain in the mean squared error of the standardised targets, of
        the validation rows if there are any, that `n_iter_no_change` counts.

    sharpness : float or "auto", default="auto"
        How many times as sharp the weights are in prediction as in training, where a row
        sees some hundred neighbours: what NONA's temperature is divided by, and how many
        times as fast SoftStep k-NN's mask falls with the rank. ``"auto"``: of the powers
        of the square root of 2 from 0.5 to 8 the one nearest to 1 that predicts a network's
        validation rows as well as the best does, up to a standard error. 1 without
        validation rows, as in the papers.

    refit : bool or "auto", default="auto"
        Whether rows that `early_stopping` holds out are trained on in the end: in the last
        cycle of the learning rate, or, where training on has harmed, by networks trained
        anew. (Rows given as `X_val` never are.) Only where a training is reviewed: with
        ``learning_rate="cycles"``, without `n_iter_no_change`, and of at least `min_steps`
        steps (see the table).

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

    _parameter_constraints: dict = {
        "activation": [StrOptions({"auto", *ACTIVATIONS})],
        "batch_norm": [StrOptions({"auto"}), "boolean"],
        "numerical_embedding": [StrOptions({"auto", "periodic"}), None],
        "dropout": [StrOptions({"auto"}), reals(0, 1, "left")],
        "temperature": [StrOptions({"auto"}), reals(0, None, "neither"), None],
        "eps": [StrOptions({"auto"}), reals(0, 0.5, "neither")],
        "context_size": [StrOptions({"auto"}), counts_from(1), None],
        "context_neighbors": [StrOptions({"auto"}), counts_from(1, 1000), None],
        "learning_rate": [StrOptions({"auto", *LEARNING_RATES})],
        "ema_decay": [StrOptions({"auto"}), reals(0, 1, "left"), None],
        "n_iter_no_change": [StrOptions({"auto"}), counts_from(1), None],
        "tol": [StrOptions({"auto"}), reals(0, None, "left")],
        "sharpness": [StrOptions({"auto"}), reals(0, None, "neither")],
        "refit": [StrOptions({"auto"}), "boolean"],
    }

    def __init__(
        self,
        *,
        activation="auto",
        batch_norm="auto",
        numerical_embedding="auto",
        dropout="auto",
        temperature="auto",
        eps="auto",
        context_size="auto",
        context_neighbors="auto",
        learning_rate="auto",
        ema_decay="auto",
        n_iter_no_change="auto",
        tol="auto",
        sharpness="auto",
        refit="auto",
    ):
        self.activation = activation
        self.batch_norm = batch_norm
        self.numerical_embedding = numerical_embedding
        self.dropout = dropout
        self.temperature = temperature
        self.eps = eps
        self.context_size = context_size
        self.context_neighbors = context_neighbors
        self.learning_rate = learning_rate
        self.ema_decay = ema_decay
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.sharpness = sharpness
        self.refit = refit


@dataclass(frozen=True)
class ResolvedRecipe:
    """What a fit does: every ``"auto"`` resolved for the data at hand. See the estimators.

    Attributes
    ----------
    n_samples : int
        Distinct samples given to :meth:`fit`: rows equal in X and y count as one.
    n_validation : int
        How many of them each network holds out.
    trends : tuple
        The trend of each of the `n_estimators` networks, ``"linear"`` or None.
    blended : bool
        Whether predictions are blended with those of a regressor, by a share that the samples
        held out choose.
    sharpness : float or None
        None: one of `sharpnesses`, chosen by the samples held out.
    sharpness_powers : tuple of int
        Of the square root of 2, the powers to choose from, the one to prefer first.
    sharpen_when_validated : bool
        Whether the best of three, the present one and its neighbours, is used whenever samples
        held out are predicted; the one that is kept is chosen in the end, among all.
    predictions_per_sample : float
        How often an epoch predicts a row, in the mean: more than once where near rows are
        predicted, too.
    review : bool
        Whether training stops at the end of the learning rate's third cycle if it has
        harmed: if the validation error exceeds its best by `harm_in_standard_errors`. And at
        that of the second, if R2 is below `early_review_below_r2`.
    join_last_cycle : bool
        Whether, where it has not, samples held out are trained on in the last cycle.
    refit : bool
        Whether, where it has, networks are trained anew on all samples, for as many steps as
        were best.
    parallel : bool
        Whether, on a CPU, each network is trained in a thread of its own.
    """

    n_samples: int
    n_validation: int
    n_neighbors: int | None
    trends: tuple
    blended: bool
    n_estimators: int
    hidden_layer_sizes: tuple
    embedding_dim: int
    activation: str
    batch_norm: bool
    numerical_embedding: str | None
    dropout: float
    temperature: float | None
    eps: float
    sharpness: float | None
    sharpness_powers: tuple
    sharpen_when_validated: bool
    batch_size: int
    context_size: int | None
    context_neighbors: int | None
    predictions_per_sample: float
    max_iter: int
    learning_rate: str
    learning_rate_init: float
    weight_decay: float
    ema_decay: float | None
    n_iter_no_change: int | None
    tol: float
    review: bool
    early_review_below_r2: float
    harm_in_standard_errors: float
    join_last_cycle: bool
    refit: bool
    parallel: bool

    @property
    def sharpnesses(self):
        """Among which the samples held out choose; none if it is given."""
        powers = self.sharpness_powers if self.sharpness is None else ()
        return tuple(2 ** (power / 2) for power in powers)


def values_for(n_samples, tables=(TABLE,)):
    """Look up what ``"auto"`` is, for so many distinct samples, by name."""
    values = {}
    for table in tables:
        for start, line in table:
            if n_samples >= start:
                values |= line
    return values


def count_batches(n_rows, batch_size):
    """Batches of an epoch; none of a single row, which would have no neighbour of its own."""
    return max(1, min(-(-n_rows // batch_size), n_rows // 2))


def resolve(estimator, n_samples, tables, hidden_layer_sizes, n_given=None, n_drawn=None):
    """Resolve the parameters of an estimator and its recipe.

    Parameters
    ----------
    estimator : NONARegressor or SoftStepKNNRegressor
        Its parameters, validated.
    n_samples : int
        Distinct samples of positive weight.
    tables : sequence of tables
        Later ones override earlier ones.
    hidden_layer_sizes : tuple or "auto"
    n_given : int, default=None
        Number of further samples given for validation, which are never trained on.
    n_drawn : int, default=None
        Number of samples held out, where that is known.

    Returns
    -------
    recipe : ResolvedRecipe

    Raises
    ------
    ValueError
        If no rows are to be held out although they are needed.
    """
    auto = values_for(n_samples, tables)
    recipe = Recipe() if estimator.recipe is None else estimator.recipe
    given = estimator.get_params(deep=False) | recipe.get_params(deep=False)
    given["hidden_layer_sizes"] = hidden_layer_sizes
    n_validation = n_drawn or _count_validation(given, n_samples, auto, n_given)
    values = {
        name: auto[name] if isinstance(value, str) and value == "auto" else value
        for name, value in given.items()
        if name in ResolvedRecipe.__dataclass_fields__ and name not in _DERIVED
    }
    values["n_samples"], values["n_validation"] = n_samples, n_validation
    # Without samples held out nothing tells how kinds should weigh.
    kinds = auto["trends"] if n_validation else ("linear",)
    values["blended"] = n_validation > 0 and _is_blended(given["trend"])
    if given["trend"] is None or given["trend"] == "linear":
        kinds = (given["trend"],)
    elif given["trend"] == "auto" and given["feature_extractor"] is None:
        values["blended"] = n_validation > 0 and auto["boosting"]
    values["trends"] = tuple(islice(cycle(kinds), values["n_estimators"]))
    values["sharpness"] = None if given["sharpness"] == "auto" else given["sharpness"]
    values |= {name: auto[name] for name in _FROM_TABLE_ALONE}
    n_train = n_samples - n_validation if n_given is None else n_samples
    values |= _plan_steps(given, values, auto, n_train)
    return ResolvedRecipe(**values)


# Fields whose values depend on more than a parameter, or its "auto".
_DERIVED = {"context_neighbors", "max_iter", "refit", "sharpness"}
# Fields that no parameter sets.
_FROM_TABLE_ALONE = (
    "early_review_below_r2",
    "harm_in_standard_errors",
    "parallel",
    "sharpen_when_validated",
    "sharpness_powers",
)


def _is_blended(trend):
    """Whether a trend is a regressor."""
    return not (trend is None or (isinstance(trend, str) and trend in ("auto", "linear")))


def _count_validation(given, n_samples, auto, n_given):
    """How many samples each network holds out."""
    early_stopping, needed = given["early_stopping"], None
    if _is_blended(given["trend"]):
        needed = f"trend={given['trend']!r}: rows held out choose its share"
    if n_given is not None:
        needed = "X_val"
    if early_stopping == "auto":
        early_stopping = auto["early_stopping"] or needed is not None
    if not early_stopping:
        if needed is not None:
            raise ValueError(f"early_stopping must not be False with {needed}.")
        return 0
    if n_given is not None:
        return n_given
    if n_samples < 3:  # one to train on would be left
        return 0
    fraction = given["validation_fraction"]
    if fraction == "auto":
        n_validation = min(round(auto["validation_fraction"] * n_samples), auto["max_validation"])
    else:
        n_validation = round(fraction * n_samples)
    return min(max(1, n_validation), n_samples - 2)


def _plan_steps(given, values, auto, n_train):
    """How long to train, when to stop, and on which samples in the end."""
    near, context_size = given["context_neighbors"], values["context_size"]
    near = auto["context_neighbors"] if near == "auto" else near
    if context_size is None or n_train <= values["batch_size"] + context_size:
        near = None
    n_batches = count_batches(n_train, values["batch_size"])
    n_predictions = 1.0
    if near is not None:
        n_predictions += min(1.0, context_size * n_batches / n_train)
    max_iter = given["max_iter"]
    if max_iter == "auto":
        n_epochs = math.ceil(auto["min_steps"] / math.ceil(n_train / values["batch_size"]))
        max_iter = math.ceil(max(auto["min_epochs"], n_epochs) / n_predictions)
    review = (
        values["n_validation"] > 0
        and values["learning_rate"] == "cycles"
        and values["n_iter_no_change"] is None
        and max_iter * n_batches * n_predictions >= auto["min_steps"]
    )
    refit, join = auto["refit"], auto["join_last_cycle"]
    if given["refit"] != "auto":
        refit = join = given["refit"]
    if n_train == values["n_samples"]:  # samples given for validation are for nothing else
        refit = join = False
    return dict(
        context_neighbors=near,
        predictions_per_sample=n_predictions,
        max_iter=max_iter,
        review=review,
        join_last_cycle=review and join,
        refit=review and refit,
    )


# The setting of the papers: ``NONARegressor(**PAPER)``.
PAPER = dict(
    n_neighbors=None,
    similarity="l2",
    softstep="s2",
    softstep_parameters="pointwise",
    trend=None,
    hidden_layer_sizes=(200,),
    embedding_dim=25,
    n_estimators=1,
    max_iter=200,
    batch_size=32,
    learning_rate_init=1e-3,
    weight_decay=0.0,
    early_stopping=True,
    validation_fraction=0.15,
    recipe=Recipe(
        activation="tanh",
        batch_norm=False,
        numerical_embedding=None,
        dropout=0.0,
        temperature=None,
        context_size=None,
        learning_rate="constant",
        ema_decay=None,
        n_iter_no_change=10,
        sharpness=1.0,
        refit=False,
    ),
)
