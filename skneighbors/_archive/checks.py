"""Checks of a model read from a file: shapes that fit each other, numbers within their ranges."""

from functools import partial
from itertools import chain

import numpy as np
import torch

from .._blend import BOOSTING, LINEAR, Bag, CategoryEncoder, LinearFeatures, Mixture, Trees
from .._columns import Likeness, LikenessEncoder
from .._model import EmbeddedRows, NeighborBank, NeighborRows, ValidationRows
from .._utils.arrays import check_arrays
from .._utils.device import CPU

# Rows whose predictions must be finite.
_N_PREDICTED = 256
_ROUNDING = 1e-12  # of a sum of weights


def check_model(model, plan):
    """Check all of a :class:`Model` but its networks.

    Raises
    ------
    ValueError
        If anything does not fit.
    """
    bank, reader, numbering = model.bank, model.reader, model.numbering
    _require(isinstance(bank, NeighborBank), "bank is no NeighborBank")
    _require(isinstance(bank.rows, NeighborRows), "bank.rows are no NeighborRows")
    _check_validation(model.validation)
    reader.check()
    n_read = len(reader.column_of)
    sizes = {"u": n_read, "q": len(reader.n_categories)}
    sizes |= {"m": plan.n_estimators, "d": plan.recipe.embedding_dim}
    _require(model.x_shape == (n_read,), "x_shape differs from the number of columns")
    check_arrays(model, sizes)
    if model.validation is not None and not model.validation.is_given:
        _require((model.validation.rows >= 0).all(), "validation.rows holds values below 0")
        _require(model.validation.n_neighbors != 0, "validation.n_neighbors is 0")
    used = np.unique(numbering.row_of[numbering.row_of >= 0])
    names_all = len(used) == sizes["N"] > 0
    _require(names_all, "numbering.row_of does not name every row")
    _require(bank.rows.weights().sum() > 0, "bank holds no weights")
    fits = numbering.labels is None or len(numbering.labels) == sizes["S"]
    _require(fits, "numbering.labels has another length")
    model.task.check_fields()
    _check_encoder(model.encoder, reader)
    _check_likeness(model)
    _check_blended(model, sizes)


def _require(is_met, message):
    if not is_met:
        raise ValueError(message)


def _check_validation(validation):
    if validation is None:
        return
    _require(isinstance(validation, ValidationRows), "validation are no ValidationRows")
    parts = validation.z, validation.blended, validation.weight
    _require(len({part is None for part in parts}) == 1, "validation lacks some of its parts")


def _check_encoder(encoder, reader):
    for name in ("numbers", "missing", "one_hot", "components", "coded"):
        is_ascending = (np.diff(getattr(encoder, name)) > 0).all()
        _require(is_ascending, f"encoder.{name} names a column twice")
    fits = reader.n_categories.tolist() == encoder.n_categories.tolist()
    _require(fits, "reader.kinds do not fit encoder.n_categories")


def _check_likeness(model):
    likeness, encoder, reader = model.bank.likeness, model.likeness_encoder, model.reader
    embedded = [model.bank.rows]
    if model.validation is not None and model.validation.is_given:
        embedded.append(model.validation)
    parts = likeness, encoder, *(rows.columns for rows in embedded)
    if all(part is None for part in parts):
        return
    is_whole = type(likeness) is Likeness and type(encoder) is LikenessEncoder
    _require(is_whole, "likeness or likeness_encoder is missing")
    _require(not any(part is None for part in parts), "columns of rows are missing")
    is_strength = type(likeness.strength) is float and 0 < likeness.strength < np.inf
    _require(is_strength, "likeness.strength is out of range")
    fits = likeness.n_components == encoder.n_components == reader.n_components
    _require(fits, "likeness.n_components does not fit")
    bounds = np.array([0, *encoder.starts, len(encoder.values)])
    _require((np.diff(bounds) >= 0).all(), "likeness_encoder.starts are not ascending")
    _require((np.diff(encoder.ranked) > 0).all(), "likeness_encoder.ranked names a column twice")


def _check_blended(model, sizes):
    blended, weight = model.blended_model, model.bank.blend_weight
    is_weight = type(weight) is float and 0 <= weight <= (blended is not None)
    _require(is_weight, "the weight of the blended model is out of range")
    if blended is None:
        return
    loss, n_categories = model.task.loss_name, model.encoder.n_categories
    checks = {
        "boosting": partial(_check_boosting, BOOSTING[loss]),
        "linear": partial(_check_linear, LINEAR[loss]),
    }
    _require(type(blended) is Mixture, "the blended model is of another kind")
    weights = list(blended.weights.values())
    is_mean = set(map(type, weights)) == {float} and min(weights) > 0
    is_mean = is_mean and abs(sum(weights) - 1) < _ROUNDING
    _require(is_mean, "the weights of the blended model are out of range")
    is_whole = blended.weights.keys() == blended.parts.keys() <= checks.keys()
    _require(is_whole, "the blended model has other parts")
    for name, part in blended.parts.items():
        checks[name](part, n_categories, sizes["k"])


def _check_boosting(kind, part, n_categories, n_values):
    _require(type(part) is kind, "the boosted trees are of another kind")
    fits = len(part.bags) == kind.count_targets(n_values) and all(part.bags)
    _require(fits, "the boosted trees have other targets")
    for i, bag in enumerate(chain.from_iterable(part.bags)):
        _check_bag(bag, f"bags.{i}.", n_categories)


def _check_linear(kind, part, n_categories, n_values):
    features = getattr(part, "features", None)
    is_kind = type(part) is kind and type(features) is LinearFeatures
    _require(is_kind, "the linear model is of another kind")
    n_places = int((n_categories + 1)[n_categories > 0].sum())
    sizes = {"k": n_values, "p": len(n_categories), "n": (n_categories == 0).sum(), "c": n_places}
    check_arrays(part, sizes, "linear.")
    fits = (features.n_categories == n_categories).all()
    fits &= sizes["e"] == sizes["n"] + sizes["f"] + sizes["o"]
    fits &= (np.diff(features.categories) > 0).all()
    _require(fits, "the linear model does not fit")


def _check_bag(bag, name, n_categories):
    """Check that all places named are within what there is."""
    kinds = [type(part) for part in (bag, getattr(bag, "trees", 0), getattr(bag, "encoder", 0))]
    _require(kinds == [Bag, Trees, CategoryEncoder], f"{name} is of another kind")
    trees, encoder = bag.trees, bag.encoder
    values = [*vars(trees).values(), *vars(encoder).values()]
    is_numpys = type(trees.baseline) is float and torch.Tensor not in map(type, values)
    _require(is_numpys, f"{name}trees holds what is no array")
    columns = n_categories[n_categories > 0]
    sizes = {"p": len(n_categories), "c": int((columns + 1).sum()), "w": 8}
    sizes |= {"f": len(n_categories) + 2 * len(columns), "a": np.size(trees.feature)}
    check_arrays(bag, sizes, name)
    fits = (encoder.n_categories == n_categories).all() and not (encoder.codes >= 256).any()
    _require(fits, f"{name}encoder does not fit")
    _require(np.isfinite(trees.baseline), f"{name}trees.baseline is not finite")
    fits = 0 < sizes["l"] <= 32 and sizes["n"] and sizes["t"]
    _require(fits, f"{name}trees have other sizes")
    # Each split hides leaves of its tree, but the last of them.
    hidden = np.bitwise_or.reduce(trees.right_leaves) >> np.uint32(sizes["l"] - 1)
    _require(not hidden.any(), f"{name}trees.right_leaves lead nowhere")
    by_category = trees.feature.ravel()[trees.category_split]
    fits = (by_category < len(columns)).all()
    _require(fits, f"{name}trees.category_split names columns of numbers")


def check_predictions(model):
    """Check that a model predicts finite numbers for some of its rows."""
    matrix, bank = model.matrix[:_N_PREDICTED], model.bank
    columns = bank.rows.columns
    columns = None if columns is None else columns[: len(matrix)]
    queries = EmbeddedRows(bank.embed(model.prepare(matrix)), columns)
    y_hat = bank.predict(queries, model.blend(matrix, CPU), 1)
    _require(y_hat.isfinite().all(), "its predictions are not finite")


def check_widths(plan, state):
    """Check that networks will be as wide as their tensors, before memory is taken for them.

    Parameters
    ----------
    plan : Plan
    state : dict
        Arrays of the networks, by name.
    """
    widths = [*plan.hidden_layer_sizes, plan.recipe.embedding_dim]
    hidden = [f"embedder.layers.{i}.linear.weight" for i in range(len(widths) - 1)]
    names = [*hidden, f"embedder.layers.{len(hidden)}.weight"]
    for width, name in zip(widths, names, strict=True):
        shape = state[name].shape
        fits = type(width) is int and len(shape) == 3 and shape[:2] == (plan.n_estimators, width)
        _require(fits, f"network.{name} has shape {shape}")
