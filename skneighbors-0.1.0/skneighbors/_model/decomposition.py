"""Predictions split by rows and by columns, as an :class:`Explanation`."""

from functools import partial

import numpy as np
import torch

from .._columns import Table, find_labels
from .._utils.blocks import gather_rows
from .explanations import ColumnDifferences, Explanation
from .shapley import shapley_values

# Clipping of standardized targets that is no larger than this is rounding, and taken as 0.
_ROUNDING = 1e-12
# Rows of the largest weight that networks are compared by, among so many neighbors at least:
# among five all would name the same.
_N_NAMED, _N_AMONG = 5, 20


def explain(model, queries, search, by_column):
    """Explain predictions; see the estimators.

    Parameters
    ----------
    model : Model
    queries : Queries
    search : Search
    by_column : bool

    Returns
    -------
    explanation : Explanation
    """
    if by_column and model.reader is None:
        raise ValueError("by_column=True needs columns, which a feature_extractor has none of.")
    bank, embedded = model.embed(queries, search)
    blended = model.blend_parts(queries.matrix)
    compare = partial(_compare, bank, bank.trends(embedded.z))
    n_among = _N_AMONG if embedded.z.shape[1] > 1 else 0  # a single network has none beside it
    parts = bank.attend(embedded, compare, search.n_neighbors, n_among)
    parts = map(torch.cat, zip(*parts, strict=True))
    rows, weights, mixtures, adjustments, means, agreement = parts
    mixed = model.mix(blended, len(means), means.device)
    mean = torch.lerp(means, mixed, bank.blend_weight)
    y = mean.clamp(*bank.limits)
    clipping = torch.where((y - mean).abs() > _ROUNDING, y - mean, 0)
    found = rows, weights, mixtures, adjustments, y, clipping, agreement
    found = (part.cpu().numpy() for part in found)
    rows, weights, mixtures, adjustments, y, clipping, agreement = found
    indices, labels = model.samples[rows], find_labels(queries.X)
    targets = bank.rows.targets.cpu().numpy()[rows]
    excess = targets - bank.bounded.cpu().numpy()[rows]
    of_blend = model.blended_model.weights if blended else {}
    why = Explanation(
        _task=model.task,
        prediction=y,
        indices=indices,
        labels=model.numbering.name(indices),
        weights=weights,
        targets=targets,
        adjustments=adjustments - excess,
        clipping=clipping,
        is_adjusted=bank.has_trend or bool(excess.any()),
        neighbors_weight=1 - bank.blend_weight,
        parts=blended,
        part_weights={name: bank.blend_weight * weight for name, weight in of_blend.items()},
        counts=model.numbering.counts()[rows],
        agreement=agreement if n_among else None,
        likeness=bank.space.strength,
        query_labels=np.arange(len(y)) if labels is None else labels,
        by_column=_take_apart(model, bank, queries, rows, mixtures) if by_column else None,
    )
    return model.task.explain(why)


def _compare(bank, trends, near, among=None):
    """Compare b queries with their rows, the largest weights first.

    Parameters
    ----------
    bank : NeighborBank
    trends : Tensor of shape (n, m, t)
    near : Neighbors
    among : Neighbors, default=None
        More rows, among which the members name as many; None if `near` are enough.

    Returns
    -------
    rows : int Tensor of shape (b, K)
    weights : Tensor of shape (b, K)
    mixtures : Tensor of shape (b, K, m)
        The members' weights in that of each row, which sum to 1.
    adjustments : Tensor of shape (b, K, t)
    means : Tensor of shape (b, t)
        Of the adjusted targets.
    agreement : Tensor of shape (b,)
        Share of the rows of the largest weight by a member that another names, too.
    """
    weights, rows, order = near.by_weight()
    by_member = near.weights.gather(2, order.expand(len(near.weights), -1, -1)).permute(1, 2, 0)
    total = weights.unsqueeze(2)
    # Of rows without any weight all members are alike.
    mixtures = torch.where(total > 0, by_member / total, 1 / len(near.weights))
    targets = gather_rows(bank.bounded, rows)
    row_trends = targets.unsqueeze(2) - gather_rows(bank.rows.values, rows)
    differences = trends[near.queries].unsqueeze(1) - row_trends
    adjustments = torch.einsum("bkm,bkmt->bkt", mixtures, differences)
    means = (total * (targets + adjustments)).sum(1)
    named = (near if among is None else among).weights
    agreement = _compare_members(named, min(_N_NAMED, rows.shape[1]))
    return rows, weights, mixtures, adjustments, means, agreement


def _compare_members(weights, n_named):
    """Share (b,) of the rows of the largest weights (m, b, K) by a member that another names."""
    largest, order = weights.sort(dim=2, descending=True, stable=True)
    is_named = (largest[:, :, :n_named] > 0).to(largest)
    n_naming = torch.zeros_like(largest).scatter_(2, order[:, :, :n_named], is_named).sum(0)
    pairs = (n_naming * (n_naming - 1)).sum(1)
    return pairs / ((len(weights) - 1) * is_named.sum((0, 2)))


def _take_apart(model, bank, queries, rows, mixtures):
    """Split differences to rows (n, K) by column; see :func:`_compare` for `mixtures` (n, K, m)."""
    reader, (n, k), device = model.reader, rows.shape, bank.rows.z.device
    mixtures = torch.from_numpy(mixtures.reshape(n * k, -1)).to(device)

    def predict(mixed, pair):
        blended = model.blend(mixed, device)
        trend = torch.zeros_like(blended)
        if bank.has_trend:
            trends = bank.trends(bank.embed(model.prepare(mixed).to(device)))
            trend = torch.einsum("bm,bmt->bt", mixtures[pair], trends)
        return torch.lerp(trend, blended, bank.blend_weight).cpu().numpy()

    row_matrix = model.matrix[rows.ravel()]
    query_matrix, column_of = np.repeat(queries.matrix, k, axis=0), reader.column_of
    values = shapley_values(predict, query_matrix, row_matrix, column_of=column_of)
    values = values.reshape(n, k, len(reader.order), -1)
    order = np.argsort(reader.order)  # of X
    return ColumnDifferences(
        [reader.columns[i] for i in order],
        reader.decode(queries.matrix, Table.of(queries.X))[:, order],
        reader.decode(row_matrix).reshape(n, k, -1)[:, :, order],
        model.task.differences_on_scale(values[:, :, order]),
    )
