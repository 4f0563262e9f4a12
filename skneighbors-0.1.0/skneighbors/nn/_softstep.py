"""SoftStep: learned sparse masks over scaled similarities."""

import torch
from torch import nn

from ._numpy import broadcast_shapes
from ._options import check_option
from ._stack import Linear

SOFTSTEP_FUNCTIONS = ("s1", "s2")
SOFTSTEP_PARAMETERS = ("pointwise", "global")
# How far below a row's largest similarity the rejection threshold lies at least. Wider than
# that, similarities close to it would count: of soft ranks, which crowd there, many more than
# of the hard ones of prediction.
_MAX_MARGIN = 1e-6


def _resolution(x):
    """Distance below which a similarity counts as lying on a threshold.

    It keeps reciprocals, and with them all gradients, finite.
    """
    return torch.finfo(x.dtype).eps ** 2


def _log_zero(x):
    """Finite stand-in for log 0: its exponential is 0, its differences no NaN.

    Half the lowest number, so that a rejected entry still outranks an absent one.
    """
    return torch.finfo(x.dtype).min / 2


def _share_above(distance, tiny):
    """1 where a distance from a threshold counts as positive, 0 where it does not."""
    return (distance / tiny).clamp_(0, 1)


def _log_sigmoid(u):
    return u.clamp(max=0).sub_(u.abs().neg_().exp_().log1p_())


class _LogS1(torch.autograd.Function):
    """log S1 = logsigmoid(u), u = log((x - a) / (b - x)) / t."""

    @staticmethod
    def forward(ctx, x, a, b, t):
        tiny = _resolution(x)
        above, below = x - a, b - x
        present = _share_above(above, tiny)
        inside = _share_above(below, tiny) * present
        above.clamp_(min=tiny)
        below.clamp_(min=tiny)
        t_positive = t.clamp(min=torch.finfo(x.dtype).eps)
        u = (above / below).log_() / t_positive
        ctx.save_for_backward(u, above, below, inside, a, b, t, t_positive)
        return _log_sigmoid(u).add_(present.sub_(1), alpha=-_log_zero(x))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        u, above, below, inside, a, b, t, t_positive = ctx.saved_tensors
        grad_u = (-u).sigmoid_().mul_(inside).mul_(grad).div_(t_positive)
        by_a, by_b = grad_u / above, grad_u / below
        return (
            by_a + by_b,
            -by_a.sum_to_size(a.shape),
            -by_b.sum_to_size(b.shape),
            -grad_u.mul_(u).sum_to_size(t.shape),
        )


class _LogS2(torch.autograd.Function):
    """log S2 = t (b - x) log(x / b) / (1 - t)."""

    @staticmethod
    def forward(ctx, x, b, t):
        tiny = _resolution(x)
        positive_x, positive_b = x.clamp(min=tiny), b.clamp(min=tiny)
        # Both factors are 0 from b on, and with them all gradients.
        below = (b - x).clamp_(min=0)
        log_ratio = (positive_x.log() - positive_b.log()).clamp_(max=0)
        room = (1 - t).clamp(min=torch.finfo(x.dtype).eps)
        log_mask = (log_ratio * below) * (t / room)
        rejects = (t > 0) & (b > tiny)  # then S2(0) = 0
        rejected = (1 - x / tiny).clamp_(min=0) * rejects
        ctx.save_for_backward(positive_x, positive_b, t, below, log_ratio, room, rejected)
        return log_mask.add_(rejected, alpha=_log_zero(x))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        x, b, t, below, log_ratio, room, rejected = ctx.saved_tensors
        grad = torch.addcmul(grad, grad, rejected, value=-1)
        by_ratio, by_below = grad * below, grad.mul_(log_ratio)  # of the two factors
        by_t = (by_ratio * log_ratio).sum_to_size(t.shape)
        slope = t / room
        row = broadcast_shapes(b.shape, t.shape)
        by_b = slope * (by_below.sum_to_size(row) - by_ratio.sum_to_size(row) / b)
        by_x = by_ratio.div_(x).sub_(by_below).mul_(slope)
        return by_x, by_b.sum_to_size(b.shape), by_t / room.square()


def log_softstep_s1(
    x: torch.Tensor, a: torch.Tensor, b: torch.Tensor, t: torch.Tensor
) -> torch.Tensor:
    r"""Logarithm of the SoftStep mask S1, with analytic gradients.

    ``S1 = 0`` for ``x <= a``, ``p / (p + q)`` with ``p = (x - a)^(1/t)`` and
    ``q = (b - x)^(1/t)`` for ``a < x < b``, and 1 for ``x >= b``. For ``t -> 0``
    it is a step at ``(a + b) / 2``, for ``t = 1`` the line from ``(a, 0)`` to
    ``(b, 1)``.

    Parameters
    ----------
    x : Tensor
        Scaled similarities in [0, 1].
    a, b, t : Tensor
        Rejection threshold, full-acceptance threshold and transition; each
        broadcasts against `x`, and ``a < b``, ``0 <= t <= 1``.

    Returns
    -------
    log_mask : Tensor of the shape of `x`
        ``log S1``. Log 0 is half the dtype's lowest finite number: its
        exponential is exactly 0, and values and gradients are always finite.

    References
    ----------
    Susman, Lin, Suarez-Farinas and Colonel, "SoftStep: Learning Sparse
    Similarity Powers Deep Neighbor-Based Regression", arXiv 2506.08139v2.

    Examples
    --------
    >>> import torch
    >>> from skneighbors.nn import log_softstep_s1
    >>> x = torch.tensor([0.1, 0.5, 0.6, 0.9], dtype=torch.float64)
    >>> a, b, t = torch.tensor([0.2, 0.8, 1.0], dtype=torch.float64)
    >>> log_softstep_s1(x, a, b, t).exp().round(decimals=3).tolist()
    [0.0, 0.5, 0.667, 1.0]
    """
    return _LogS1.apply(x, a, b, t)


def log_softstep_s2(x: torch.Tensor, b: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    r"""Logarithm of the SoftStep mask S2, with analytic gradients.

    ``S2 = (x / b)^(t (b - x) / (1 - t))`` for ``0 <= x < b`` and 1 for
    ``x >= b``. For ``t -> 0`` it is the constant 1, for ``t -> 1`` it is 0
    below `b`. It has no rejection threshold.

    Parameters
    ----------
    x : Tensor
        Scaled similarities in [0, 1].
    b, t : Tensor
        Full-acceptance threshold and transition; each broadcasts against `x`,
        and ``0 < b``, ``0 <= t <= 1``.

    Returns
    -------
    log_mask : Tensor of the shape of `x`
        ``log S2``. Log 0 is half the dtype's lowest finite number: its
        exponential is exactly 0, and values and gradients are always finite.

    References
    ----------
    See :func:`log_softstep_s1`.

    Examples
    --------
    >>> import torch
    >>> from skneighbors.nn import log_softstep_s2
    >>> x = torch.tensor([0.0, 0.25, 0.5, 0.9], dtype=torch.float64)
    >>> b, t = torch.tensor([0.5, 0.5], dtype=torch.float64)
    >>> log_softstep_s2(x, b, t).exp().round(decimals=3).tolist()
    [0.0, 0.841, 1.0, 1.0]
    """
    return _LogS2.apply(x, b, t)


class SoftStep(nn.Module):
    """Mask of learned shape over scaled similarities, one shape a query or one in all.

    Parameters
    ----------
    embedding_dim : int
        Width d of the query embeddings.
    function : {"s1", "s2"}, default="s2"
        :func:`log_softstep_s1`, which rejects below a threshold, or
        :func:`log_softstep_s2`, which fades, and rejects only where the similarity is 0.
    parameters : {"pointwise", "global"}, default="pointwise"
        ``"pointwise"``: the raw ``a, b, t`` are a linear function of the query's
        embedding. ``"global"``: three learned numbers serve all queries.
    eps : float in [0, 0.5), default=1e-6
        The parameters' sigmoids are kept in ``[eps, 1 - eps]``: the smaller it is, the
        steeper the mask may become, and the longer its gradients. And `a` lies by `eps`, but
        no more than 1e-6, or by the dtype's resolution if that is larger, below the row's
        largest similarity or lower, so that no query rejects all neighbors.

    Examples
    --------
    >>> import torch
    >>> from skneighbors.nn import SoftStep
    >>> softstep = SoftStep(8, function="s1", parameters="global")
    >>> softstep(torch.rand(5, 30), torch.randn(5, 8)).shape
    torch.Size([5, 30])
    """

    def __init__(
        self,
        embedding_dim: int,
        *,
        function: str = "s2",
        parameters: str = "pointwise",
        eps: float = 1e-6,
    ) -> None:
        super().__init__()
        check_option("function", function, SOFTSTEP_FUNCTIONS)
        check_option("parameters", parameters, SOFTSTEP_PARAMETERS)
        if not 0 <= eps < 0.5:
            raise ValueError(f"eps must be in [0, 0.5); got {eps!r}.")
        self.function = function
        self.eps = eps
        if parameters == "pointwise":
            self.linear = Linear(embedding_dim, 3)
        else:
            self.raw = nn.Parameter(torch.zeros(3))
            self.register_module("linear", None)

    def thresholds(
        self, z: torch.Tensor, x_top: float | torch.Tensor = 1.0
    ) -> tuple[torch.Tensor | None, torch.Tensor, torch.Tensor]:
        """Parameters a, b, t of every query.

        Parameters
        ----------
        z : Tensor of shape (..., b, d)
            Query embeddings.
        x_top : float or Tensor of shape (..., b, 1), default=1.0
            The row's largest scaled similarity among its real neighbors.

        Returns
        -------
        a, b, t : Tensor of shape (..., b, 1) or (..., 1, 1)
            For ``function="s2"``, `a` is None.

        Examples
        --------
        >>> import torch
        >>> from skneighbors.nn import SoftStep
        >>> softstep = SoftStep(8, function="s1", parameters="global")
        >>> [round(value.item(), 2) for value in softstep.thresholds(torch.zeros(1, 8))]
        [0.5, 0.75, 0.5]
        """
        raw = self.raw.unsqueeze(-2) if self.linear is None else self.linear(z)
        a, b, t = raw.sigmoid().clamp(self.eps, 1 - self.eps).split(1, dim=-1)
        if self.function == "s2":
            return None, b, t
        # A margin below the dtype's resolution would not lower `a` at all.
        margin = max(min(self.eps, _MAX_MARGIN), torch.finfo(a.dtype).eps)
        a = a.clamp(max=x_top) - margin
        return a, a + b * (1 - a), t

    def forward(
        self, x: torch.Tensor, z: torch.Tensor, x_top: float | torch.Tensor = 1.0
    ) -> torch.Tensor:
        """Logarithm of the mask.

        Parameters
        ----------
        x : Tensor of shape (..., b, N)
            Scaled similarities in [0, 1].
        z : Tensor of shape (..., b, d)
            Query embeddings.
        x_top : float or Tensor of shape (..., b, 1), default=1.0
            The row's largest `x` among its real neighbors.

        Returns
        -------
        log_mask : Tensor of shape (..., b, N)
            Log 0 is half the dtype's lowest finite number.

        Examples
        --------
        >>> import torch
        >>> from skneighbors.nn import SoftStep
        >>> softstep = SoftStep(8, function="s1", parameters="global")
        >>> softstep.forward(torch.tensor([[0.2, 0.9]]), torch.zeros(1, 8)).exp().tolist()
        [[0.0, 1.0]]
        """
        a, b, t = self.thresholds(z, x_top)
        if self.function == "s2":
            return log_softstep_s2(x, b, t)
        return log_softstep_s1(x, a, b, t)
