"""Hard and soft ranks of weighted rows; rank 1 is the largest entry."""

import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import isotonic_regression

from ._numpy import is_numpys
from ._scaling import rounding_tolerance


def descending(s, weight):
    """Order of the entries of each row (..., N): largest first, those without weight last."""
    ascending = s.neg()
    if weight is not None:
        ascending.masked_fill_(weight <= 0, torch.inf)
    if not is_numpys(ascending):
        return ascending.argsort(dim=-1)
    entries = ascending.numpy()
    if entries.dtype == np.float32:
        return torch.from_numpy(_argsort_single(entries))
    return torch.from_numpy(entries.argsort(axis=-1, kind="stable"))


def _argsort_single(s):
    """Stable order of the entries of each row of an array in single precision.

    In training: sorting integers that hold an entry and its column is several times faster than
    finding an order.
    """
    bits = s.view(np.int32)
    # As integers, negative floats fall with their magnitude: flipped, they rise.
    flipped = bits >> 31
    flipped &= np.iinfo(np.int32).max
    flipped ^= bits
    entries = flipped.astype(np.int64)
    entries <<= 32
    entries |= np.arange(s.shape[-1])
    entries.sort(axis=-1)
    return entries & (2**32 - 1)


def _mid_ranks(s, weight):
    """Mean rank of each entry's copies, for s and weights in descending order of s.

    An entry of weight w stands for w copies, which hold the next w ranks. Here
    and below, a weight of None stands for ones.
    """
    if weight is None:
        return torch.arange(1, s.shape[1] + 1, dtype=s.dtype, device=s.device).expand_as(s)
    return weight.cumsum(1) - (weight - 1) / 2


def hard_rank(s: torch.Tensor, sample_weight: torch.Tensor | None = None) -> torch.Tensor:
    """Ranks of the entries of each row; equal entries share their mean rank.

    Entries that differ by no more than rounding makes of equal ones are equal.

    Parameters
    ----------
    s : Tensor of shape (..., b, N)
        Similarities. Without weights, -inf for entries behind all others.
    sample_weight : Tensor, default=None
        Broadcasts against `s`.
        Non-negative; an entry of weight 2 counts as two equal entries, one of
        weight 0 as none (its rank is then meaningless).

    Returns
    -------
    rank : Tensor of the shape of `s`
        Ranks without gradient; 1 is the largest entry.

    Examples
    --------
    >>> import torch
    >>> from skneighbors.nn import hard_rank
    >>> hard_rank(torch.tensor([[0.3, 0.9, 0.3, 0.1]])).tolist()
    [[2.5, 1.0, 2.5, 4.0]]
    """
    s, weight = s.detach(), None
    if sample_weight is not None:
        weight = sample_weight.to(s.dtype).expand_as(s)
    order = descending(s, weight)
    weight = None if weight is None else weight.gather(-1, order)
    rank = sorted_hard_rank(s.gather(-1, order), weight)
    return torch.empty_like(s).scatter_(-1, order, rank.expand_as(s))


def sorted_hard_rank(s, weight):
    """Hard ranks of entries in order.

    Parameters
    ----------
    s : Tensor of shape (..., b, N)
        Each row in descending order, entries without weight last.
    weight : Tensor of shape (..., b, N) or None

    Returns
    -------
    rank : Tensor of shape (..., b, N), or (..., 1, N) if it is the same in all rows
    """
    if not s.shape[-1]:
        return s
    weight_or_one = torch.ones_like(s[..., :1, :]) if weight is None else weight
    present = weight_or_one > 0
    if weight is None:
        low = s.masked_fill(s.isinf(), torch.inf).amin(-1, keepdim=True)
        size = torch.maximum(s[..., :1].abs(), low.abs())
    else:
        size = s.abs().masked_fill(~present, 0).amax(-1, keepdim=True)
    # Neighboring entries that are equal but for rounding.
    tied = s[..., :-1] - s[..., 1:] <= rounding_tolerance(size)
    tied &= present[..., 1:] == present[..., :-1]
    last = weight_or_one.cumsum(-1)
    first = last - weight_or_one
    # On a GPU the check takes longer than the work.
    if not is_numpys(s) or tied.any():
        # Entries that are equal hold the ranks from `first` of the first to `last` of the last.
        first = first.masked_fill(F.pad(tied, (1, 0)), -torch.inf).cummax(-1).values
        last = last.masked_fill(F.pad(tied, (0, 1)), torch.inf)
        last = last.flip(-1).cummin(-1).values.flip(-1)
    return (first + last + 1) / 2


def _block_means(values, weight, lengths):
    """Mean over each block with positive weights, written back to its entries.

    Blocks are stretches of the flattened (b, N) array.
    """
    if weight is None:
        total = lengths
    else:
        total = torch.segment_reduce(weight.flatten(), "sum", lengths=lengths)
        values = weight * values
    sums = torch.segment_reduce(values.flatten(), "sum", lengths=lengths)
    return sums.div_(total).repeat_interleave(lengths, output_size=values.numel()).view_as(values)


def _isotonic_blocks(excess, low, high, weight):
    """Lengths of the blocks of the rows' decreasing isotonic regressions.

    One call solves the whole batch: every row, which lies between `low` and `high`
    (b, 1), is moved below the one before it, so that no block reaches across rows.
    SciPy's solver runs on the CPU; tensors on another device make the round trip.
    """
    n_rows, n_cols = excess.shape
    steps = (high[1:] - low[:-1] + 1.0).double().cpu().numpy()
    with np.errstate(invalid="ignore"):  # NaN is for the caller to find
        offset = np.concatenate([np.zeros((1, 1)), np.cumsum(steps, axis=0)])
        moved = excess.double().cpu().numpy() - offset
    starts = isotonic_regression(
        moved.ravel(),
        weights=None if weight is None else weight.double().cpu().numpy().ravel(),
        increasing=False,
    ).blocks
    # Rounding in the offset must not merge rows.
    is_start = np.zeros(n_rows * n_cols, dtype=bool)
    is_start[starts[:-1]] = is_start[::n_cols] = True
    lengths = np.diff(np.flatnonzero(is_start), append=n_rows * n_cols)
    return torch.from_numpy(lengths).to(excess.device)


class _SortedSoftRank(torch.autograd.Function):
    """Projection of -rate * s on the permutahedron of the ranks, in the order of the ranks.

    `order` (b, n) are the entries of s (b, N) that may count, the largest first, `weight` (b, n)
    their weights in this order, zeros last, or None if each is 1. `rate` (b, 1) is of s itself
    or, if `scaled`, of s over the width of its row's range.
    """

    @staticmethod
    def forward(ctx, s, order, weight, rate, scaled):
        values = s.gather(1, order)
        present, last = None, order.new_full((len(s), 1), order.shape[1] - 1)
        if weight is not None:
            present = weight > 0
            last = present.sum(1, keepdim=True).sub_(1).clamp_(min=0)
        top, bottom = values[:, :1], values.gather(1, last)
        width = torch.ones_like(top)
        if scaled:
            tolerance = rounding_tolerance(torch.maximum(top.abs(), bottom.abs()))
            width = (top - bottom).masked_fill_(top - bottom <= tolerance, torch.inf)
        factor = rate / width
        # Blondel et al. 2020, Proposition 3 with theta = -rate * s: the ranks are
        # z - v, z = theta ascending, v the isotonic regression of z - rank.
        z = (top - values).mul_(factor)
        rank = _mid_ranks(z, weight)
        low, high, excess = (bottom - top) * factor, rank[:, -1:], rank - z
        if present is not None:
            # Absent entries are put below all others, hence out of their blocks, by any weight.
            low = low - 1
            excess, weight = torch.where(present, excess, low), torch.where(present, weight, 1)
        lengths = _isotonic_blocks(excess, low, high, weight)
        ranks = _block_means(excess, weight, lengths).add_(z)
        ctx.save_for_backward(order, weight, present, lengths, z, rate, width, last)
        ctx.shape, ctx.scaled = s.shape, scaled
        return ranks

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        order, weight, present, lengths, z, rate, width, last = ctx.saved_tensors
        # Transpose of v -> v - blockmean_w(v): entries share by their weight.
        if weight is None:
            grad = grad - _block_means(grad, None, lengths)
        else:
            grad = grad - weight * _block_means(grad / weight, weight, lengths)
        if present is not None:
            grad.masked_fill_(~present, 0)
        moment = (grad * z).sum(1, keepdim=True)
        grad.mul_(-rate / width)
        if ctx.scaled:
            slope = moment / width
            grad[:, :1].sub_(slope)
            grad.scatter_add_(1, last, slope)
        grad = grad.new_zeros(ctx.shape).scatter_(1, order, grad)
        # Without neighbors both are 0.
        return grad, None, None, moment / rate.clamp(min=torch.finfo(rate.dtype).tiny), None


def sorted_soft_rank(s, order, weight, rate):
    """Soft ranks of entries in order, of rows scaled to a range of `rate` (..., b, 1)."""
    flat = [None if part is None else part.flatten(0, -2) for part in (s, order, weight)]
    rate = rate.expand(*s.shape[:-1], 1).flatten(0, -2)
    return _SortedSoftRank.apply(*flat, rate, True).view(order.shape)


def soft_rank(
    s: torch.Tensor, strength: float = 1.0, sample_weight: torch.Tensor | None = None
) -> torch.Tensor:
    """Differentiable ranks of the entries of each row; 1 is the largest entry.

    The ranks are the Euclidean projection of ``-s / strength`` on the
    permutahedron, the convex hull of all permutations of ``(1, ..., N)``,
    found by isotonic regression in O(N log N) a row.

    Parameters
    ----------
    s : Tensor of shape (..., b, N)
        Similarities.
    strength : float, default=1.0
        Regularization; entries closer to each other than about `strength` share
        ranks, and only those have a gradient. Towards 0: the hard ranks.
    sample_weight : Tensor, default=None
        Broadcasts against `s`.
        Non-negative; an entry of weight 2 counts as two equal entries, one of
        weight 0 as none (its rank is then meaningless). No gradient flows
        to the weights.

    Returns
    -------
    rank : Tensor of the shape of `s`
        Soft ranks in [1, N].

    Notes
    -----
    The regression is SciPy's and runs on the CPU. For tensors on a GPU the
    scaled similarities make one round trip a call; sorting and gradients stay
    on the GPU.

    References
    ----------
    Blondel, Teboul, Berthet and Djolonga, "Fast Differentiable Sorting and
    Ranking", ICML 2020.

    Examples
    --------
    >>> import torch
    >>> from skneighbors.nn import soft_rank
    >>> s = torch.tensor([[0.0, 3.0, 2.0]], dtype=torch.float64)
    >>> soft_rank(s, strength=0.1).tolist()
    [[3.0, 1.0, 2.0]]
    >>> soft_rank(s, strength=10.0).round(decimals=2).tolist()
    [[2.17, 1.87, 1.97]]
    """
    if not strength > 0:
        raise ValueError(f"strength must be positive; got {strength!r}.")
    flat, weight = s.flatten(0, -2), None
    if sample_weight is not None:
        weight = sample_weight.to(s.dtype).expand_as(s).flatten(0, -2)
    order = descending(flat.detach(), weight)
    weight = None if weight is None else weight.gather(1, order)
    rate = flat.new_full((len(flat), 1), 1 / strength)
    rank = _SortedSoftRank.apply(flat, order, weight, rate, False)
    return torch.ones_like(flat).scatter(1, order, rank).view(s.shape)
