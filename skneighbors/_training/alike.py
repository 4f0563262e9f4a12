"""Predictions of validation rows by neighbors that likeness has chosen."""

from typing import NamedTuple

import torch

from .._columns import count_candidates
from .._utils.blocks import count_queries, cut, gather_rows
from .._utils.threads import map_batches
from ..nn._similarity import SIMILARITIES


class MemberRows(NamedTuple):
    """Rows of each member: embeddings (m, n, d), encoded columns (m, n, p), targets (m, n, k).

    And weights (m, n) or None.
    """

    z: torch.Tensor
    columns: torch.Tensor | None
    y: torch.Tensor
    weight: torch.Tensor | None


def attend_alike(head, likenesses, queries, rows, n_neighbors):
    """Predict queries, to (l, ..., m, n, k), each member by neighbors that likeness has chosen.

    Parameters
    ----------
    head : nn.Module
    likenesses : sequence of length l of Likeness
    queries, rows : MemberRows
    n_neighbors : int or None
    """
    space, n_rows = SIMILARITIES[head.similarity], rows.z.shape[1]
    n_neighbors = n_rows if n_neighbors is None else min(n_neighbors, n_rows)
    weight = torch.ones_like(rows.y[..., 0]) if rows.weight is None else rows.weight
    values, total = head.subtract_trend(rows.z, rows.y), weight.sum(1)[:, None, None]

    def choose(member, s, batch):
        s, near = s[member].topk(count_candidates(n_neighbors, n_rows))
        distances = space.largest - s, s.unsqueeze(0)
        near_columns = gather_rows(rows.columns[member], near)
        g, chosen = likenesses[0].compare(queries.columns[member, batch], near_columns), []
        for likeness in likenesses:
            order, _, alike = likeness.choose(distances, space.largest, g, n_neighbors)
            place = near.gather(1, order)
            chosen.append((alike[0], gather_rows(values[member], place), weight[member][place]))
        return chosen

    def attend(batch):
        z = queries.z[:, batch]
        s, means = space(z, rows.z), []
        for chosen in zip(*[choose(i, s, batch) for i in range(len(s))], strict=True):
            alike, near, near_weight = map(torch.stack, zip(*chosen, strict=True))
            weights = head.weights_of(z, alike, sample_weight=near_weight, total=total)
            means.append(head.add_trend(z, (weights.unsqueeze(-1) * near).sum(-2)))
        return torch.stack(means)

    row_bytes = rows.z.element_size() * n_rows * len(rows.z) * (1 + rows.columns.shape[2] // 4)
    length = count_queries(row_bytes, rows.z.is_cpu)
    return torch.cat(map_batches(attend, cut(queries.z.shape[1], length)), -2)
