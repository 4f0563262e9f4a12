"""Similarities scaled to [0, 1] row by row, and what is the same up to rounding."""

import torch


def coincidence(dtype):
    """Relative difference that rounding alone may make, such as of two embeddings of one row."""
    return torch.finfo(dtype).eps ** 0.75


def rounding_tolerance(s):
    """Difference of similarities of size `s` that may be due to rounding alone."""
    return coincidence(s.dtype) * s.abs()


def absent(dtype):
    """Finite stand-in for the logarithm of weight 0, low enough to outweigh any other."""
    return 0.75 * torch.finfo(dtype).min


def _scale(s, low, high):
    """Similarities scaled to [0, 1], and the width of their range, inf if it is constant.

    Those as low as the lowest up to rounding are 0 like it: a mask may jump there.
    """
    tolerance = rounding_tolerance(torch.maximum(low.abs(), high.abs()))
    # Rows that are constant, or without any entry that counts; a comparison with NaN is False.
    constant = ~(high - low > tolerance)
    width = (high - low).masked_fill_(constant, torch.inf)
    x = s - low.masked_fill(constant, 0)
    x.masked_fill_(x <= tolerance.masked_fill_(constant, -torch.inf), 0)
    # Divided, not multiplied by a reciprocal: the largest is exactly 1.
    return x.div_(width).add_(constant), width


class MinMaxScale(torch.autograd.Function):
    """x = (s - low) / (high - low) with the row's extremes, 1 where they are equal.

    `absence` is :func:`absent` where entries do not count for these and 0 elsewhere, or None.
    """

    @staticmethod
    def forward(ctx, s, absence):
        top, bottom = s, -s
        if absence is not None:
            top, bottom = s + absence, bottom.clamp_(max=-absent(s.dtype) / 8).add_(absence)
        argmax_s, argmin_s = (x.argmax(-1, keepdim=True) for x in (top, bottom))
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


def minmax_scale(s: torch.Tensor, exclude: torch.Tensor | None = None) -> torch.Tensor:
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
        rounding are 1: its neighbors are equally near.

    Examples
    --------
    >>> import torch
    >>> from skneighbors.nn import minmax_scale
    >>> minmax_scale(torch.tensor([[1.0, 2.0, 5.0], [3.0, 3.0, 3.0]])).tolist()
    [[0.0, 0.25, 1.0], [1.0, 1.0, 1.0]]
    """
    absence = None if exclude is None else exclude.to(s.dtype) * absent(s.dtype)
    return MinMaxScale.apply(s, absence)
