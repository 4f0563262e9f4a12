"""Similarities between queries and neighbours, and their row-wise scaling."""

import torch
import torch.nn.functional as F

SIMILARITIES = ("l2", "l1", "dot", "cosine")

# Share of the pairs above which near pairs are not mended one by one.
_MAX_NEAR_SHARE = 1 / 16


def rounding_tolerance(s):
    """Difference of similarities of size `s` that may be due to rounding alone."""
    return torch.finfo(s.dtype).eps ** 0.75 * s.abs()


def _coincidence(dtype):
    """Relative distance up to which two embeddings of one row differ by rounding."""
    return 16 * torch.finfo(dtype).eps


def _euclidean_distances(z, z_n):
    """Euclidean distances whose relative error is small for near pairs too.

    ``|z|^2 + |z_n|^2 - 2 z.z_n`` costs one matrix product but loses all digits
    where two rows nearly coincide; exactly those pairs are computed again from
    their differences.
    """
    scale = z.square().sum(-1).unsqueeze(-1) + z_n.square().sum(-1).unsqueeze(-2)
    sq_distances = torch.add(scale, z @ z_n.mT, alpha=-2)
    near = (sq_distances < torch.finfo(z.dtype).eps ** 0.5 * scale).nonzero(as_tuple=True)
    *stack, rows, cols = near
    if rows.numel() > _MAX_NEAR_SHARE * scale.numel():
        distances = torch.cdist(z, z_n, compute_mode="donot_use_mm_for_euclid_dist")
        return distances.masked_fill_(distances <= _coincidence(z.dtype) * scale.sqrt(), 0)
    sq_near = (z[(*stack, rows)] - z_n[(*stack, cols)]).square().sum(-1)
    coincide = sq_near <= _coincidence(z.dtype) ** 2 * scale[near]
    sq_distances[near] = sq_near.masked_fill_(coincide, 0)
    return sq_distances.sqrt_()


def _manhattan_distances(z, z_n):
    """Manhattan distances; rows that coincide up to rounding have distance 0."""
    distances = torch.cdist(z, z_n, p=1)
    with torch.no_grad():
        scale = z.abs().sum(-1).unsqueeze(-1) + z_n.abs().sum(-1).unsqueeze(-2)
        coincide = distances <= _coincidence(z.dtype) * scale
    return distances.masked_fill(coincide, 0)


class _EuclideanDistance(torch.autograd.Function):
    """Pairwise Euclidean distance; its gradient where two rows coincide is 0."""

    @staticmethod
    def forward(ctx, z, z_n):
        distances = _euclidean_distances(z, z_n)
        ctx.save_for_backward(z, z_n, distances)
        return distances

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        z, z_n, distances = ctx.saved_tensors
        ratio = torch.where(distances > 0, grad / distances, 0)  # (b, N)
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
    if metric == "l2":
        return -_EuclideanDistance.apply(z, z_n)
    if metric == "l1":
        return -_manhattan_distances(z, z_n)
    if metric == "dot":
        return z @ z_n.mT / z.shape[-1]
    if metric == "cosine":
        return F.normalize(z, dim=-1) @ F.normalize(z_n, dim=-1).mT
    raise ValueError(f"metric must be one of {SIMILARITIES}; got {metric!r}.")


class _MinMaxScale(torch.autograd.Function):
    """x = (s - low) / (high - low) with the row's extremes, 1 where they are equal."""

    @staticmethod
    def forward(ctx, s, exclude):
        if exclude is None:
            (low, argmin), (high, argmax) = s.min(-1, keepdim=True), s.max(-1, keepdim=True)
        else:
            low, argmin = torch.where(exclude, torch.inf, s).min(-1, keepdim=True)
            high, argmax = torch.where(exclude, -torch.inf, s).max(-1, keepdim=True)
        tolerance = rounding_tolerance(torch.maximum(low.abs(), high.abs()))
        # Not above: constant, or (-inf) without any entry that counts.
        constant = ~(high - low > tolerance)
        width = (high - low).masked_fill_(constant, torch.inf)
        # Divided, not multiplied by a reciprocal: the largest is exactly 1.
        x = (s - low.masked_fill(constant, 0)).div_(width).add_(constant)
        inside = None
        if exclude is not None:
            inside = (x >= 0) & (x <= 1)
            x.clamp_(0, 1)
        ctx.save_for_backward(x, width, argmin, argmax, inside)
        return x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        x, width, argmin, argmax, inside = ctx.saved_tensors
        grad = grad / width if inside is None else (grad / width).mul_(inside)
        by_high = (grad * x).sum(-1, keepdim=True)
        by_low = grad.sum(-1, keepdim=True) - by_high
        return grad.scatter_add_(-1, argmin, -by_low).scatter_add_(-1, argmax, -by_high), None


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
    return _MinMaxScale.apply(s, exclude)
