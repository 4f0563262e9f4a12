"""Checks of a model read from a file: shapes that fit each other, numbers within their ranges."""

import numpy as np
import torch

from .._blend import BOOSTING, Bag, CategoryEncoder, NoBlendedModel, Trees
from .._columns import Likeness, LikenessEncoder, Reading, TextEncoder
from .._model import EmbeddedRows, NeighborBank, NeighborRows, ValidationRows, ValidationSet
from .._utils.arrays import check_arrays
from .._utils.device import CPU

_VALIDATION = ValidationRows, ValidationSet, type(None)
# Rows whose predictions must be finite.
_N_PREDICTED = 256


def check_model(model, plan):
    """Check all of a :class:`Model` but its networks.

    Raises
    ------
    ValueError
        If anything does not fit.
    """
    bank = model.bank
    if not isinstance(bank, NeighborBank) or not isinstance(bank.rows, NeighborRows):
        raise ValueError("bank is none")
    if not isinstance(model.validation, _VALIDATION):
        raise ValueError("validation is none")
    _check_reader(model.reader)
    n_columns, n_read = len(model.reader.order), len(model.reader.column_of)
    sizes = {"p": n_columns, "u": n_read, "q": len(model.reader.n_expanded_categories)}
    sizes |= {"t": n_read - n_columns, "m": len(plan.trends), "d": plan.recipe.embedding_dim}
    if model.x_shape != (n_read,):
        raise ValueError("x_shape differs from the number of columns")
    check_arrays(model, sizes)
    n_rows = sizes["N"]
    used = model.numbering.row_of[model.numbering.row_of >= 0]
    if len(np.unique(used)) != n_rows or n_rows < 1:
        raise ValueError("numbering.row_of does not name every row")
    if not (bank.rows.weights().sum() > 0 and bank.member_weight.sum() > 0):
        raise ValueError("bank holds no weights")
    labels = model.numbering.labels
    if labels is not None and len(labels) != sizes["S"]:
        raise ValueError("numbering.labels has another length")
    model.task.check_fields()
    _check_encoder(model.encoder, model.reader)
    _check_likeness(model)
    _check_blended(model, sizes)


def _check_reader(reader):
    n_columns = len(reader.kinds)
    known = all(type(j) is int and 0 <= j < n_columns for j in reader.order)
    if not known or len(set(reader.order)) < len(reader.order):
        raise ValueError("reader.order names columns that are not there")
    is_reading = [reading is None or type(reading) is Reading for reading in reader.readings]
    if len(is_reading) != n_columns or not all(is_reading):
        raise ValueError("reader.readings does not fit")
    for reading in filter(None, reader.readings):
        reading.check()
    if {len(reader.codes), len(reader.texts)} != {n_columns} or (
        reader.names is not None and len(reader.names) != n_columns
    ):
        raise ValueError("reader has other numbers of columns")
    for codes in reader.codes:
        if codes is not None and list(codes.values()) != list(range(len(codes))):
            raise ValueError("reader.codes does not number its categories")
    if any(reader.texts[j] is not None and reader.codes[j] is None for j in reader.order):
        raise ValueError("reader.texts does not fit")
    for text in (text for text in reader.texts if text is not None):
        if type(text) is not TextEncoder:
            raise ValueError("reader.texts does not fit")
        text.check()
    reader.check_parts()


def _check_encoder(encoder, reader):
    for name in ("numbers", "missing", "one_hot", "components", "coded"):
        if (np.diff(getattr(encoder, name)) <= 0).any():
            raise ValueError(f"encoder.{name} names a column twice")
    if reader.n_expanded_categories.tolist() != encoder.n_categories.tolist():
        raise ValueError("reader.codes does not fit encoder.n_categories")


def _check_likeness(model):
    likeness, encoder = model.bank.likeness, model.likeness_encoder
    embedded = [model.bank.rows]
    if isinstance(model.validation, ValidationSet):
        embedded.append(model.validation)
    parts = likeness, encoder, *(rows.columns for rows in embedded)
    if all(part is None for part in parts):
        return
    if type(likeness) is not Likeness or type(encoder) is not LikenessEncoder:
        raise ValueError("likeness or likeness_encoder is missing")
    if any(part is None for part in parts):
        raise ValueError("columns of rows are missing")
    if type(likeness.strength) is not float or not 0 < likeness.strength < np.inf:
        raise ValueError("likeness.strength is out of range")
    if (encoder.n_categories != model.reader.n_categories).any():
        raise ValueError("likeness_encoder does not fit encoder.n_categories")
    if (encoder.text_of != model.reader.text_of).any():
        raise ValueError("likeness_encoder.text_of does not fit reader.texts")
    if likeness.n_components != len(encoder.text_of):
        raise ValueError("likeness.n_components does not fit")
    ends = np.append(encoder.starts[1:], len(encoder.values))
    if (np.diff(encoder.starts, prepend=0) < 0).any() or (encoder.starts > ends).any():
        raise ValueError("likeness_encoder.starts are not ascending")


def _check_blended(model, sizes):
    blended = model.blended_model
    if not 0 <= blended.weight <= 1 or blended.weight != model.bank.blend_weight:
        raise ValueError("the weight of the blended model is out of range")
    if isinstance(blended, NoBlendedModel):
        return
    if type(blended.regressor) is not BOOSTING[model.task.boosting]:
        raise ValueError("the blended model is none")
    bags = blended.regressor.bags
    if len(bags) != blended.regressor.count_targets(sizes["k"]) or not all(bags):
        raise ValueError("the blended model has other targets")
    for i, bag in enumerate(bag for of_target in bags for bag in of_target):
        _check_bag(bag, f"bags.{i}.", model.encoder.n_categories)


def _check_bag(bag, name, n_categories):
    """Check that all places named are within what there is."""
    kinds = [type(part) for part in (bag, getattr(bag, "trees", 0), getattr(bag, "encoder", 0))]
    if kinds != [Bag, Trees, CategoryEncoder]:
        raise ValueError(f"{name} is none")
    trees, encoder = bag.trees, bag.encoder
    values = [value for part in (trees, encoder) for value in vars(part).values()]
    if (
        any(isinstance(value, torch.Tensor) for value in values)
        or type(trees.baseline) is not float
    ):
        raise ValueError(f"{name}trees holds what is no array")
    columns = n_categories[n_categories > 0]
    sizes = {"p": len(n_categories), "c": int((columns + 1).sum()), "w": 8}
    sizes |= {"f": len(n_categories) + 2 * len(columns), "a": np.size(trees.feature)}
    check_arrays(bag, sizes, name)
    if (encoder.n_categories != n_categories).any() or (encoder.codes >= 256).any():
        raise ValueError(f"{name}encoder does not fit")
    if not np.isfinite(trees.baseline):
        raise ValueError(f"{name}trees.baseline is not finite")
    if not 0 < sizes["l"] <= 32 or not sizes["n"] or not sizes["t"]:
        raise ValueError(f"{name}trees have other sizes")
    # Each split hides leaves of its tree, but the last of them.
    if (np.bitwise_or.reduce(trees.right_leaves) >> np.uint32(sizes["l"] - 1)).any():
        raise ValueError(f"{name}trees.right_leaves lead nowhere")
    if (trees.feature.ravel()[trees.category_split] >= len(columns)).any():
        raise ValueError(f"{name}trees.category_split names columns of numbers")


def check_predictions(model):
    """Check that a model predicts finite numbers for some of its rows."""
    matrix, bank = model.matrix[:_N_PREDICTED], model.bank
    columns = bank.rows.columns
    columns = None if columns is None else columns[: len(matrix)]
    queries = EmbeddedRows(bank.embed(model.prepare(matrix)), columns)
    if not bank.predict(queries, model.blend(None, matrix, CPU), 1).isfinite().all():
        raise ValueError("its predictions are not finite")


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
    for width, name in zip(widths, [*hidden, f"embedder.layers.{len(hidden)}.weight"], strict=True):
        shape = state[name].shape
        if type(width) is not int or len(shape) != 3 or shape[:2] != (len(plan.trends), width):
            raise ValueError(f"network.{name} has shape {shape}")
