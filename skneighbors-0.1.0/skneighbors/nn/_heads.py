"""Heads that predict from neighbors and their targets."""

import math

import torch
import torch.nn.functional as F

from ._head import NeighborHead
from ._neighbor_mask import MaskedSoftmax
from ._numpy import broadcast_shapes
from ._options import check_option
from ._softrank import sorted_hard_rank, sorted_soft_rank
from ._softstep import SoftStep

RANKS = ("soft", "hard", None)
RANK_SCALES = ("log", "linear")


class NONA(NeighborHead):
    r"""Nearness of neighbors attention: a softmax over similarities to neighbors.

    ``y_hat = softmax(S / temperature + log M) y_n`` with the similarities `S`
    and the SoftStep mask `M` of their row-wise min-max. With a trend `f`,
    linear in the embedding, the neighbors' residuals are averaged instead:
    ``y_hat = f(z) + softmax(...) (y_n - f(z_n))``.

    Parameters
    ----------
    embedding_dim : int
        Width d of the embeddings.
    n_targets : int, default=1
        Number of targets k, which a trend must know.
    similarity : {"l2", "l1", "dot", "cosine"}, default="l2"
        See :func:`similarity`.
    softstep : {"s1", "s2"} or None, default="s2"
        Mask function; None for no mask.
    softstep_parameters : {"pointwise", "global"}, default="pointwise"
        See :class:`SoftStep`.
    temperature : float or None, default=None
        Initial value of a learned temperature; None for a fixed one of 1.
    learn_temperature : bool, default=True
        Whether `temperature` is learned; otherwise it stays as given.
    trend : {"linear"} or None, default=None
        Whether to average targets or residuals of a linear trend.
    calibration : float, default=1.0
        In evaluation mode the temperature is divided by it, so that above 1 fewer
        neighbors count. A buffer of the module.
    self_in_range : bool, default=False
        Whether a query that is left out by `self_index` still counts for its
        row's range of similarities, as in the authors' code. The mask's input
        then shifts between training and prediction.
    eps : float in [0, 0.5), default=1e-6
        See :class:`SoftStep`.

    References
    ----------
    Susman, Suarez-Farinas and Colonel, "Nearness of Neighbors Attention for
    Regression in Supervised Fine-Tuning", arXiv 2506.08139v1.

    Examples
    --------
    >>> import torch
    >>> from skneighbors.nn import NONA
    >>> head = NONA(embedding_dim=2, softstep=None)
    >>> z_n = torch.tensor([[0.0, 0.0], [9.0, 0.0]])
    >>> y_n = torch.tensor([1.0, 5.0])
    >>> head(torch.tensor([[4.5, 0.0]]), z_n, y_n).tolist()
    [3.0]
    """

    def __init__(
        self,
        embedding_dim: int,
        n_targets: int = 1,
        *,
        similarity: str = "l2",
        softstep: str | None = "s2",
        softstep_parameters: str = "pointwise",
        temperature: float | None = None,
        learn_temperature: bool = True,
        trend: str | None = None,
        calibration: float = 1.0,
        self_in_range: bool = False,
        eps: float = 1e-6,
    ) -> None:
        common = similarity, temperature, trend, calibration, self_in_range, learn_temperature
        super().__init__(embedding_dim, n_targets, *common)
        self.softstep = None
        if softstep is not None:
            self.softstep = SoftStep(
                embedding_dim, function=softstep, parameters=softstep_parameters, eps=eps
            )

    def _logits(self, z, s, neighbor_mask):
        logits = s * self._rate(s)
        if self.softstep is None:
            return logits
        x = self._scaled_similarity(s, neighbor_mask)
        x_top = self._largest(x, neighbor_mask) if self.softstep.function == "s1" else 1.0
        return logits + self.softstep(x, z, x_top)


class SoftStepKNN(NeighborHead):
    r"""k-nearest neighbors whose mask ``rank <= k`` is a learned SoftStep.

    ``y_hat = sum(M y_n) / sum(M)`` with ``M = SoftStep(x)``, where `x` comes
    from the neighbor's rank (1 is the nearest), so that the weights hold the
    mask alone and not the similarity.

    Parameters
    ----------
    embedding_dim : int
        Width d of the embeddings.
    n_targets : int, default=1
        Number of targets k, which a trend must know.
    similarity : {"l2", "l1", "dot", "cosine"}, default="l2"
        See :func:`similarity`.
    softstep : {"s1", "s2"}, default="s1"
        Mask function.
    softstep_parameters : {"pointwise", "global"}, default="pointwise"
        See :class:`SoftStep`.
    temperature : float or None, default=None
        Strength of the soft rank, as a multiple of the mean gap between a row's
        similarities: initial value of a learned one; None for a fixed one of 1.
        Used with ``rank="soft"``.
    trend : {"linear"} or None, default=None
        Whether to average targets or residuals of a linear trend.
    rank : {"soft", "hard"} or None, default="soft"
        ``"soft"``: :func:`soft_rank` in training mode, so that gradients reach
        the embedding, and :func:`hard_rank` in evaluation mode. ``"hard"``:
        hard ranks always. None: min-max similarities instead of ranks.
    rank_scale : {"log", "linear"}, default="log"
        ``x = 1 - log(rank) / log(N)``, under which ``x >= b`` are the nearest
        ``N ** (1 - b)`` neighbors, a number that grows slowly with N, or
        ``x = 1 - (rank - 1) / (N - 1)``, under which they are a fraction of N.
    calibration : float, default=1.0
        In evaluation mode, what is masked is ``x_top - calibration (x_top - x)``, no less
        than 0, where `x_top` is the largest `x` of a row; in training mode `x` itself.
        Above 1 fewer neighbors count: ``N ** ((1 - b) / calibration)`` on the logarithmic
        scale. A buffer of the module.
    self_in_range : bool, default=False
        See :class:`NONA`; used with ``rank=None``.
    eps : float in [0, 0.5), default=1e-6
        See :class:`SoftStep`.

    References
    ----------
    Susman, Lin, Suarez-Farinas and Colonel, "SoftStep: Learning Sparse
    Similarity Powers Deep Neighbor-Based Regression", arXiv 2506.08139v2.

    Examples
    --------
    >>> import torch
    >>> from skneighbors.nn import SoftStepKNN
    >>> head = SoftStepKNN(embedding_dim=3).eval()
    >>> z_n, y_n = torch.randn(20, 3), torch.randn(20)
    >>> head(torch.randn(4, 3), z_n, y_n).shape
    torch.Size([4])
    """

    def __init__(
        self,
        embedding_dim: int,
        n_targets: int = 1,
        *,
        similarity: str = "l2",
        softstep: str = "s1",
        softstep_parameters: str = "pointwise",
        temperature: float | None = None,
        trend: str | None = None,
        rank: str | None = "soft",
        rank_scale: str = "log",
        calibration: float = 1.0,
        self_in_range: bool = False,
        eps: float = 1e-6,
    ) -> None:
        if rank != "soft":
            temperature = None
        super().__init__(
            embedding_dim, n_targets, similarity, temperature, trend, calibration, self_in_range
        )
        check_option("rank", rank, RANKS)
        check_option("rank_scale", rank_scale, RANK_SCALES)
        self.rank = rank
        self.rank_scale = rank_scale
        self.softstep = SoftStep(
            embedding_dim, function=softstep, parameters=softstep_parameters, eps=eps
        )

    @property
    def temperature(self) -> torch.Tensor:
        """What the mask's fall is divided by in evaluation mode.

        Examples
        --------
        >>> from skneighbors.nn import SoftStepKNN
        >>> SoftStepKNN(embedding_dim=2, calibration=4.0).temperature.item()
        0.25
        """
        return 1 / self.calibration

    def _weights(self, z, s, neighbor_mask, total):
        if self.rank is None:
            return super()._weights(z, s, neighbor_mask, total)
        total = neighbor_mask.total(s) if total is None else total
        order, weights = self._sorted_weights(z, s, neighbor_mask, total)
        out = weights.new_zeros(*weights.shape[:-1], s.shape[-1])
        return out.scatter(-1, order, weights)

    def _logits(self, z, s, neighbor_mask):
        x, x_top = self._scaled_similarity(s, neighbor_mask), 1.0
        if self.softstep.function == "s1" or not self.training:
            x_top = self._largest(x, neighbor_mask)
        return self.softstep(self._calibrated(x, x_top), z, x_top)

    def _sorted_weights(self, z, s, neighbor_mask, total):
        """Neighbors (..., b, N) in the order of their ranks, and their weights.

        Without those absent, if each query has as many.
        """
        order, weight, log_weight = neighbor_mask.sort(s)
        if self.rank == "soft" and self.training:
            # Scaled to a mean gap of about 1 between neighboring similarities.
            rank = sorted_soft_rank(s, order, weight, total * self._rate(total))
        else:
            rank = sorted_hard_rank(s.detach().gather(-1, order), weight)
            if torch.is_grad_enabled():
                rank = rank.expand_as(order)
        x = self._from_rank(rank, total)
        x_top = x[..., :1]
        logits = self.softstep(self._calibrated(x, x_top), z, x_top)
        weights = MaskedSoftmax.apply(logits, log_weight)
        # One mask may serve all queries, and several heads the same similarities.
        shape = broadcast_shapes(order.shape, weights.shape)
        return order.expand(shape), weights.expand(shape)

    def _calibrated(self, x, x_top):
        """Let x fall faster below the row's largest, outside of training."""
        if self.training:
            return x
        return ((x_top - x) * (1 - self.calibration[..., None, None])).add_(x).clamp_(0, 1)

    def _from_rank(self, rank, total):
        """Scale ranks: rank 1 to 1, the last to 0."""
        # A single neighbor, or several of total weight below 1: rank 1 of 1.
        total = total.clamp(min=1 + 1e-6)
        if self.rank_scale == "log":
            x = 1 - F.hardtanh(rank, 1, math.inf).log() / total.log()
        else:
            x = 1 - (rank - 1) / (total - 1)
        return F.hardtanh(x, 0, 1)  # clamps whose gradients are one pass
