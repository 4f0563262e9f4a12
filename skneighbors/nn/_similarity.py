"""Similarities between queries and neighbours, and their row-wise scaling."""

import torch
import torch.nn.functional as F

from ._numpy import argmax, flat_at_most, is_numpys, zero_at_most
from ._options import check_option

SIMILARITIES = ("l2", "l1", "dot", "cosine")

# Share of the pairs above which near pairs are not mended one by one.
_MAX_NEAR_SHARE = 1 / 16


def rounding_tolerance(s):
    """Difference of similarities of size `s` that may be due to rounding alone."""
    return torch.finfo(s.dtype).eps ** 0.75 * s.abs()


def coincidence(dtype):
    """Relative distance up to which two embeddings of one row differ by rounding."""
    return 16 * torch.finfo(dtype).eps


def absent(dtype):
    """Finite stand-in for the logarithm of weight 0, low enough to outweigh any other."""
    return 0.75 * torch.finfo(dtype).min


def _euclidean_distances(z, z_n):
    """Euclidean distances whose relative error is small for near pairs too.

    ``|z|^2 + |z_n|^2 - 2 z.z_n`` costs one matrix product but loses all digits
    where two rows nearly coincide; exactly those pairs are computed again from
    their differences. Those that coincide are returned as flat indices.
    """
    if z.shape[-2] == 1:
        # A product would not pay.
        return _distances_one_by_one(z, z_n)
    scale = z.square().sum(-1).unsqueeze(-1) + z_n.square().sum(-1).unsqueeze(-2)
    sq_distances = torch.matmul(-2 * z, z_n.mT).add_(scale)
    share = torch.finfo(z.dtype).eps ** 0.5
    near = flat_at_most(sq_distances, scale * share)
    if near.numel() > _MAX_NEAR_SHARE * scale.numel():
        return _distances_one_by_one(z, z_n)
    n_cols = z_n.shape[-2]
    rows = near // n_cols
    cols = rows // z.shape[-2] * n_cols + near % n_cols
    sq_near = (z.flatten(0, -2)[rows] - z_n.flatten(0, -2)[cols]).square().sum(-1)
    sq_distances.view(-1)[near] = sq_near
    coincide = sq_near <= coincidence(z.dtype) ** 2 * scale.view(-1)[near]
    return sq_distances.sqrt_(), near[coincide]


def _distances_one_by_one(z, z_n):
    """Compute the same from the differences of all pairs."""
    distances = torch.cdist(z, z_n, compute_mode="donot_use_mm_for_euclid_dist")
    # Rows that coincide have equal norms: |z|^2 + |z_n|^2 = 2 |z|^2.
    bound = coincidence(z.dtype) * (2 * z.square().sum(-1, keepdim=True)).sqrt()
    return distances, flat_at_most(distances, bound.expand_as(distances))


def _manhattan_distances(z, z_n):
    """Manhattan distances; rows that coincide up to rounding have distance 0."""
    distances = torch.cdist(z, z_n, p=1)
    with torch.no_grad():
        scale = z.abs().sum(-1).unsqueeze(-1) + z_n.abs().sum(-1).unsqueeze(-2)
        coincide = distances <= coincidence(z.dtype) * scale
    return distances.masked_fill(coincide, 0)


class _EuclideanSimilarity(torch.autograd.Function):
    """Minus the pairwise Euclidean distance; its gradient where two rows coincide is 0."""

    @staticmethod
    def forward(ctx, z, z_n):
        distances, coincide = _euclidean_distances(z, z_n)
        distances.view(-1)[coincide] = 0
        s = distances.neg_()
        ctx.save_for_backward(z, z_n, s, coincide)
        return s

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        z, z_n, s, coincide = ctx.saved_tensors
        ratio = grad / s  # (b, N)
        ratio.view(-1)[coincide] = 0
        grad_z = grad_z_n = None
        if ctx.needs_input_grad[0]:
            grad_z = z * ratio.sum(-1).unsqueeze(-1) - ratio @ z_n
        if ctx.needs_input_grad[1]:
            grad_z_n = z_n * ratio.sum(-2).unsqueeze(-1) - ratio.mT @ z
        return grad_z, grad_z_n


def similarity(z, z_n, metric="l2"):
    """Similarity of every query to every neighbour; larger is more similar.

    Parameters
    ----------
    z : Tensor of shape (..., b, d)
        Query embeddings.
    z_n : Tensor of shape (..., N, d)
        Neighbour embeddings, of the dtype and on the device of `z`.
    metric : {"l2", "l1", "dot", "cosine"}, default="l2"
        ``-||z - z_n||_2``, ``-||z - z_n||_1``, ``z . z_n / d`` or the cosine of
        the angle.

    Returns
    -------
    S : Tensor of shape (..., b, N)
        Similarities. Their gradient is finite, and 0 for ``"l2"`` and ``"l1"``,
        where a query and a neighbour coincide up to rounding.

    Raises
    ------
    ValueError
        If `metric` is unknown or the shapes do not fit.

    Examples
    --------
    >>> import torch
    >>> from skneighbors.nn import similarity
    >>> z, z_n = torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    >>> (-similarity(z, z_n)).tolist()
    [[5.0, 0.0]]
    """
    if z.ndim < 2 or z.shape[:-2] != z_n.shape[:-2] or z.shape[-1] != z_n.shape[-1]:
        raise ValueError(
            "z and z_n must have shapes (..., b, d) and (..., N, d); "
            f"got {tuple(z.shape)} and {tuple(z_n.shape)}."
        )
    check_option("metric", metric, SIMILARITIES)
    if metric == "l2" and torch.compiler.is_compiling():
        return -torch.cdist(z, z_n, compute_mode="donot_use_mm_for_euclid_dist")
    if metric == "l2":
        return _EuclideanSimilarity.apply(z, z_n)
    if metric == "l1":
        return -_manhattan_distances(z, z_n)
    if metric == "dot":
        return z @ z_n.mT / z.shape[-1]
    return F.normalize(z, dim=-1) @ F.normalize(z_n, dim=-1).mT


def _scale(s, low, high):
    """Similarities scaled to [0, 1], and the width of their range, inf if it is constant.

    Those as low as the lowest up to rounding are 0 like it: a mask may jump there.
    """
    tolerance = rounding_tolerance(torch.maximum(low.abs(), high.abs()))
    # Not above: constant, or without any entry that counts.
    constant = ~(high - low > tolerance)
    width = (high - low).masked_fill_(constant, torch.inf)
    x = s - low.masked_fill(constant, 0)
    zero_at_most(x, tolerance.masked_fill_(constant, -torch.inf))
    # Divided, not multiplied by a reciprocal: the largest is exactly 1.
    x.div_(width)
    # On a GPU to ask whether to do it takes longer than to do it.
    if not is_numpys(s) or constant.any():
        x.add_(constant)
    return x, width


class _MinMaxScale(torch.autograd.Function):
    """x = (s - low) / (high - low) with the row's extremes, 1 where they are equal."""

    @staticmethod
    def forward(ctx, s, absence):
        top, bottom = s, -s
        if absence is not None:
            top, bottom = s + absence, bottom.clamp_(max=-absent(s.dtype) / 8).add_(absence)
        argmax_s, argmin_s = argmax(top), argmax(bottom)
        high, low = top.gather(-1, argmax_s), -bottom.gather(-1, argmin_s)
        x, width = _scale(s, low, high)
        if absence is not None:
            x.clamp_(0, 1)
        ctx.save_for_backward(x, width, argmin_s, argmax_s)
        return x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        x, width, argmin_s, argmax_s = ctx.saved_tensors
        # 1 inside of the range, 0 at its ends, where x does not change.
        grad = torch.addcmul(x, x, x, value=-1).sign_().mul_(grad).div_(width)
        by_high = (grad * x).sum(-1, keepdim=True)
        by_low = grad.sum(-1, keepdim=True) - by_high
        grad.scatter_add_(-1, argmin_s, -by_low).scatter_add_(-1, argmax_s, -by_high)
        return grad, None


def minmax_scale(s, exclude=None):
    """Scale every row to [0, 1], 1 being the row's largest entry.

    Parameters
    ----------
    s : Tensor of shape (..., N)
        Similarities.
    exclude : bool Tensor of shape (..., N), default=None
        Entries that do not count for their row's range, such as the query
        itself. They are clipped into [0, 1].

    Returns
    -------
    x : Tensor of shape (..., N)
        Scaled similarities. All entries of a row that is constant up to
        rounding are 1: its neighbours are equally near.

    Examples
    --------
    >>> import torch
    >>> from skneighbors.nn import minmax_scale
    >>> minmax_scale(torch.tensor([[1.0, 2.0, 5.0], [3.0, 3.0, 3.0]])).tolist()
    [[0.0, 0.25, 1.0], [1.0, 1.0, 1.0]]
    """
    return minmax_scale_present(
        s, None if exclude is None else exclude.to(s.dtype) * absent(s.dtype)
    )


def minmax_scale_present(s, absence):
    """Like :func:`minmax_scale`, with :func:`absent` where entries do not count and 0 elsewhere."""
    return _MinMaxScale.apply(s, absence)
