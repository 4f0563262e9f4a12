"""Settings of a fit for experts, the papers' setting, and the checks of what a plan is made of."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._utils.arrays import Stored
from ._utils.parameters import CheckedFields, StrOptions, counts_from, parameter, reals
from .nn._embedder import ACTIVATIONS

LEARNING_RATE_SCHEDULES = ("cycles", "constant")
# Words for a temperature that is learned, and for one that validation rows choose in the end.
LEARNED, CALIBRATED = {"learned", "both"}, {"calibrated", "both"}


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
        `feature_extractor`.

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
        :ref:`User Guide <likeness>`. ``"calibrated"``: the largest of 0, 1/2, 1, 2 and 4 with
        which the error (RMSE) of the validation rows exceeds the lowest by no more than 1 %, or
        of classes their log loss by no more than 2 %.
        ``"auto"``: that if there are validation rows, else 0; and 0 with a `feature_extractor`,
        ``n_neighbors=None`` or ``similarity="dot"``.

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
        ``"cycles"``: six cosine cycles over the training, each twice as long as the one before;
        four for SoftStep k-NN from 5,000 rows on. With early-stopping checks and twice
        `min_steps` one more, if R2 is at least 0.95 after the last but one.
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
        Iterations of each bag of boosted trees, where they are blended. Their learning rate is
        15 / `boosting_iter` (for classes, 5 / `boosting_iter`), at most 0.5.

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
    learning_rate_schedule: str = _setting(words=LEARNING_RATE_SCHEDULES)
    ema_decay: float | str | None = _setting(reals(0, 1, "left"), None)
    n_iter_no_change: int | str | None = _setting(counts_from(1), None)
    tol: float | str = _setting(reals(0, None, "left"))
    boosting_iter: int | str = _setting(counts_from(1))
    refit: bool | str = _setting("boolean")


# The setting of the papers: ``NONARegressor(**PAPER)``.
PAPER: dict[str, Any] = dict(
    n_neighbors=None,
    similarity="l2",
    softstep="s2",
    softstep_parameters="pointwise",
    trend=None,
    blend=None,
    hidden_layer_sizes=(200,),
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
        temperature=1.0,
        likeness=0.0,
        context_size=None,
        embedding_dim=25,
        learning_rate_schedule="constant",
        ema_decay=None,
        n_iter_no_change=10,
        refit=False,
    ),
)


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
            raise ValueError(
                "hidden_layer_sizes must be 'auto' or hold ints >= 1; "
                f"got {params['hidden_layer_sizes']!r}."
            )
    return params | {"hidden_layer_sizes": sizes}


def _plain(value):
    """Convert NumPy's numbers to Python's, whose sums and products do not overflow."""
    return value.item() if isinstance(value, np.generic) else value
