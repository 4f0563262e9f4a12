"""Which neighbors count for a query, and averages over them."""

from typing import NamedTuple

import torch

from ._numpy import is_numpys
from ._scaling import absent
from ._softrank import descending


def average(weights, targets):
    """Weights (..., b, N) times targets (..., N, k)."""
    if targets.shape[-1] == 1 and weights.ndim > 2:
        # A stack of matrix-vector products is much slower than this.
        return (weights * targets.mT).sum(-1, keepdim=True)
    return weights @ targets


class NeighborMask(NamedTuple):
    """How much a neighbor counts for a query; all tensors None if each counts once.

    Attributes
    ----------
    is_self : Tensor of shape (b, N) or None
        1 for the entries of the queries themselves, where they are left out, otherwise 0.
    weight : Tensor broadcasting against (..., b, N) or None
        Weights, that of the query itself lowered by 1.
    log_weight : Tensor of that shape or None
        Their logarithms, :func:`absent` for weight 0.
    absence : Tensor of that shape or None
        :func:`absent` for weight 0, otherwise 0.
    n_present : int or None
        How many neighbors each query has, if each of them counts once; None if that
        differs or is not known, or there are none.
    """

    is_self: torch.Tensor | None = None
    weight: torch.Tensor | None = None
    log_weight: torch.Tensor | None = None
    absence: torch.Tensor | None = None
    n_present: int | None = None

    @classmethod
    def of(cls, s, self_index, sample_weight):
        """Mask neighbors of similarities s (..., b, N); see :meth:`NONA.forward`."""
        is_self = None
        if self_index is not None:
            if self_index.shape != s.shape[-2:-1]:
                raise ValueError(
                    f"self_index must have shape ({s.shape[-2]},); got {tuple(self_index.shape)}."
                )
            is_self = s.new_zeros(s.shape[-2:])
            left_out = (self_index >= 0).to(s.dtype)
            is_self.scatter_(1, self_index.clamp(min=0).unsqueeze(1), left_out.unsqueeze(1))
        if sample_weight is not None:
            weight = sample_weight.to(s.dtype).expand_as(s)
            if is_self is not None:
                weight = (weight - is_self).clamp_(min=0)
            absence = weight.sign().sub_(1).mul_(-absent(s.dtype))
            log_weight = weight.log().clamp_(min=absent(s.dtype))
            return cls(is_self, weight, log_weight, absence)
        if is_self is None:
            return cls(n_present=s.shape[-1])
        absence = is_self * absent(s.dtype)
        # On a GPU the check takes longer than it saves.
        n_present = (s.shape[-1] - 1 or None) if is_numpys(s) and left_out.all() else None
        return cls(is_self, 1 - is_self, absence, absence, n_present)

    def total(self, s):
        """Count each query's neighbors, by their weights; broadcasts against (..., b, 1)."""
        if self.weight is None:
            return s.new_full((1, 1), s.shape[-1])
        return self.weight.sum(-1, keepdim=True)

    def sort(self, s):
        """Order of neighbors by their similarities s, without those absent if all have as many.

        And the weights and their logarithms in this order.
        """
        order = descending(s.detach(), self.weight)
        if self.n_present is not None:
            return order[..., : self.n_present], None, None
        weight, log_weight = self.weight.expand_as(s), self.log_weight.expand_as(s)
        return order, weight.gather(-1, order), log_weight.gather(-1, order)


class MaskedSoftmax(torch.autograd.Function):
    """Row-wise softmax of logits plus log weights; 0 in rows without any neighbor."""

    @staticmethod
    def forward(ctx, logits, log_weight):
        if log_weight is not None:
            # A rejected entry of an absent neighbor could reach -inf.
            logits = (logits + log_weight).clamp_(min=torch.finfo(logits.dtype).min)
        weights = logits.softmax(-1)
        if log_weight is not None:
            some = log_weight.amax(-1, keepdim=True) > absent(logits.dtype)
            weights.mul_(some)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        (weights,) = ctx.saved_tensors
        grad = grad * weights
        return grad.addcmul_(weights, grad.sum(-1, keepdim=True), value=-1), None
