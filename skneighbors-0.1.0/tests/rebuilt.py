"""Fitted estimators with other neighbors, as if these had been there from the start."""

import copy
from dataclasses import replace

import numpy as np
import torch
from partly_linear import N

from skneighbors._columns import LabeledRows, Table
from skneighbors._model import NeighborBank
from skneighbors._model.numbering import SampleNumbering
from skneighbors._utils.device import CPU


def merged(X, y, weight):
    """First samples of the rows that they are, and the row of each sample; as fit and append do."""
    left = np.flatnonzero(weight > 0)
    flat = np.column_stack([X, y.reshape(len(y), -1)])
    _, first, place = np.unique(flat[left], axis=0, return_index=True, return_inverse=True)
    first = left[first]
    # Those of fit in their order, then those that joined by their first samples.
    order = np.argsort(np.where(first < N, -N + np.arange(len(first)), first))
    row_of = np.full(len(X), -1)
    row_of[left] = np.argsort(order)[place.ravel()]
    return first[order], row_of


def rebuilt(model, X, y, weight, held_out):
    """Estimator of the same networks with other neighbors."""
    samples, row_of = merged(X, y, weight)
    fitted, present = model._model, row_of >= 0
    matrix, columns = fitted.reader.read(Table.of(X[samples])), None
    if fitted.likeness_encoder is not None:
        columns = fitted.likeness_encoder.transform(fitted.reader, matrix)
    rows = LabeledRows(
        fitted.encoder.transform(matrix),
        fitted.task.transform(y.reshape(len(y), -1)[samples]),
        np.bincount(row_of[present], weights=weight[present]),
        None,
        columns,
    ).to(CPU)
    old, blended = fitted.bank, fitted.blend(matrix, CPU).numpy()
    left_out = blended.copy()
    for row, own in zip(fitted.samples, old.rows.blended.numpy(), strict=True):
        left_out[samples == row] = own
    left_out = torch.from_numpy(left_out)
    bank = NeighborBank.build(old.network, rows, old.task, left_out)
    twin = copy.copy(model)
    twin._model = replace(
        fitted,
        bank=replace(bank, space=old.space, blend_weight=old.blend_weight),
        validation=held_out,
        matrix=matrix,
        numbering=SampleNumbering(row_of, weight.copy()),
    )
    return twin
