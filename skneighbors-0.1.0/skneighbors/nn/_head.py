"""Base of the heads."""

import math

import torch
from torch import nn

from ._autocast import without_autocast
from ._neighbor_mask import MaskedSoftmax, NeighborMask, average
from ._options import check_option
from ._scaling import MinMaxScale
from ._similarity import SIMILARITIES, similarity
from ._stack import Linear

TRENDS = ("linear", None)


class NeighborHead(nn.Module):
    """Base of the heads: neighbor weights, exclusion of self, trend."""

    def __init__(
        self,
        embedding_dim: int,
        n_targets: int,
        similarity: str,
        temperature: float | None,
        trend: str | None,
        calibration: float,
        self_in_range: bool,
        learn_temperature: bool = True,
    ) -> None:
        super().__init__()
        check_option("similarity", similarity, SIMILARITIES)
        check_option("trend", trend, TRENDS)
        if temperature is not None and not 0 < temperature < math.inf:
            raise ValueError(f"temperature must be positive or None; got {temperature!r}.")
        self.embedding_dim = embedding_dim
        self.similarity = similarity
        self.self_in_range = self_in_range
        if temperature is None:
            self.register_parameter("log_temperature", None)
        elif learn_temperature:
            self.log_temperature = nn.Parameter(torch.tensor(math.log(temperature)))
        else:
            self.register_buffer("log_temperature", torch.tensor(math.log(temperature)))
        self.trend = Linear(embedding_dim, n_targets) if trend == "linear" else None
        self.register_buffer("calibration", torch.tensor(float(calibration)))
        if not 0 < torch.tensor(float(calibration), device="cpu") < math.inf:
            raise ValueError(
                f"calibration must be positive and finite in single precision; got {calibration!r}."
            )

    @property
    def temperature(self) -> torch.Tensor:
        """What similarities are divided by in evaluation mode.

        Examples
        --------
        >>> from skneighbors.nn import NONA
        >>> NONA(embedding_dim=2, temperature=1.0, calibration=4.0).temperature.item()
        0.25
        """
        if self.log_temperature is None:
            return 1 / self.calibration
        return self.log_temperature.detach().exp() / self.calibration

    def _rate(self, s):
        """Find what similarities are multiplied by."""
        calibration = torch.ones_like(self.calibration) if self.training else self.calibration
        rate = calibration.to(s)
        if self.log_temperature is not None:
            rate = rate * torch.exp(-self.log_temperature)
        return rate[..., None, None]

    def _scaled_similarity(self, s, neighbor_mask):
        """Similarities scaled to [0, 1] over the neighbors that count for the range."""
        absence = neighbor_mask.absence
        if self.self_in_range and neighbor_mask.is_self is not None:
            absence = absence * (1 - neighbor_mask.is_self)
        return MinMaxScale.apply(s, absence)

    def _largest(self, x, neighbor_mask):
        """Each row's largest x (..., b, 1) among the neighbors that are present."""
        present = x if neighbor_mask.absence is None else x + neighbor_mask.absence
        return x.gather(-1, present.argmax(-1, keepdim=True))

    def _logits(self, z, s, neighbor_mask):
        raise NotImplementedError

    def weights(
        self,
        z: torch.Tensor,
        z_n: torch.Tensor,
        self_index: torch.Tensor | None = None,
        sample_weight: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Weight of every neighbor in every query's prediction.

        Parameters
        ----------
        z : Tensor of shape (..., b, d)
            Query embeddings.
        z_n : Tensor of shape (..., N, d)
            Neighbor embeddings.
        self_index : int Tensor of shape (b,), default=None
            See :meth:`forward`.
        sample_weight : Tensor of shape (N,) or (..., b, N), default=None
            See :meth:`forward`.

        Returns
        -------
        weights : Tensor of shape (..., b, N)
            Non-negative; rows sum to 1, or to 0 where a query has no neighbors.

        Examples
        --------
        >>> import torch
        >>> from skneighbors.nn import NONA
        >>> head = NONA(embedding_dim=2, softstep=None)
        >>> z, z_n = torch.tensor([[4.0, 0.0]]), torch.tensor([[0.0, 0.0], [8.0, 0.0]])
        >>> head.weights(z, z_n).tolist()
        [[0.5, 0.5]]
        """
        if torch.is_autocast_enabled(z.device.type):
            return without_autocast(self.weights, (z, z_n), self_index, sample_weight)
        return self.weights_of(z, self._similarities(z, z_n), self_index, sample_weight)

    def _similarities(self, z, z_n):
        if z.shape[-1] != self.embedding_dim:
            raise ValueError(
                f"z must have embedding_dim={self.embedding_dim} columns; got {tuple(z.shape)}."
            )
        return similarity(z, z_n, self.similarity)

    def weights_of(
        self,
        z: torch.Tensor,
        s: torch.Tensor,
        self_index: torch.Tensor | None = None,
        sample_weight: torch.Tensor | None = None,
        total: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Weight of neighbors whose similarities are known.

        Parameters
        ----------
        z : Tensor of shape (..., b, d)
            Query embeddings.
        s : Tensor of shape (..., b, N)
            Their similarities to the neighbors.
        self_index : int Tensor of shape (b,), default=None
            See :meth:`forward`.
        sample_weight : Tensor of shape (N,) or (..., b, N), default=None
            See :meth:`forward`.
        total : Tensor that broadcasts against (..., b, 1), default=None
            Number, or total weight, of all neighbors, where these are the most similar ones:
            what a rank is divided by. None: there are no others.

        Returns
        -------
        weights : Tensor of shape (..., b, N)
            See :meth:`weights`.

        Examples
        --------
        >>> import torch
        >>> from skneighbors.nn import NONA
        >>> head = NONA(embedding_dim=2, softstep=None)
        >>> z, z_n = torch.tensor([[4.0, 0.0]]), torch.tensor([[0.0, 0.0], [8.0, 0.0]])
        >>> from skneighbors.nn import similarity
        >>> head.weights_of(z, similarity(z, z_n)).tolist()
        [[0.5, 0.5]]
        """
        if torch.is_autocast_enabled(z.device.type):
            return without_autocast(self.weights_of, (z, s), self_index, sample_weight, total)
        return self._weights(z, s, NeighborMask.of(s, self_index, sample_weight), total)

    def _weights(self, z, s, neighbor_mask, total):
        return MaskedSoftmax.apply(self._logits(z, s, neighbor_mask), neighbor_mask.log_weight)

    def _weigh_nearest(self, z, s, neighbor_mask, n_neighbors):
        """Columns (..., b, K) of the most similar neighbors, and their weights."""
        total, present = neighbor_mask.total(s), s.detach()
        if neighbor_mask.absence is not None:
            present = present + neighbor_mask.absence
        columns, weight = present.topk(n_neighbors, sorted=False).indices, None
        if neighbor_mask.weight is not None:
            weight = neighbor_mask.weight.expand_as(s).gather(-1, columns)
        s = s.gather(-1, columns)
        return columns, self._weights(z, s, NeighborMask.of(s, None, weight), total)

    def forward(
        self,
        z: torch.Tensor,
        z_n: torch.Tensor,
        y_n: torch.Tensor,
        self_index: torch.Tensor | None = None,
        sample_weight: torch.Tensor | None = None,
        n_neighbors: int | None = None,
        s: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Predict the queries' targets.

        Parameters
        ----------
        z : Tensor of shape (..., b, d)
            Query embeddings.
        z_n : Tensor of shape (..., N, d)
            Neighbor embeddings.
        y_n : Tensor of shape (N,) or (..., N, k)
            Neighbor targets.
        self_index : int Tensor of shape (b,), default=None
            Which neighbor each query itself is, -1 for none. That neighbor
            is left out (its weight in `sample_weight` is lowered by 1).
        sample_weight : Tensor of shape (N,) or (..., b, N), default=None
            Non-negative weights of the neighbors: weight 2 is a neighbor
            that stands there twice. No gradient flows to them.
        n_neighbors : int, default=None
            Predict from this many most similar neighbors alone; None: from all.
        s : Tensor of shape (..., b, N), default=None
            Similarities, if others than those of the embeddings are to weigh the neighbors.

        Returns
        -------
        y_hat : Tensor of shape (b,) or (..., b, k)
            Predictions; in float32 under autocast.

        Examples
        --------
        >>> import torch
        >>> from skneighbors.nn import NONA
        >>> head = NONA(embedding_dim=2, softstep=None)
        >>> z, z_n = torch.tensor([[4.0, 0.0]]), torch.tensor([[0.0, 0.0], [8.0, 0.0]])
        >>> head.forward(z, z_n, torch.tensor([1.0, 5.0])).tolist()
        [3.0]
        >>> head.forward(z_n, z_n, torch.tensor([1.0, 5.0]), self_index=torch.arange(2)).tolist()
        [5.0, 1.0]
        """
        if torch.is_autocast_enabled(z.device.type):
            return without_autocast(
                self.forward, (z, z_n, y_n), self_index, sample_weight, n_neighbors, s
            )
        if n_neighbors is not None and n_neighbors < 1:
            raise ValueError(f"n_neighbors must be at least 1 or None; got {n_neighbors!r}.")
        targets = y_n.unsqueeze(1) if y_n.ndim == 1 else y_n
        if self.trend is not None and targets.shape[-1] != self.trend.out_features:
            raise ValueError(
                f"y_n must have n_targets={self.trend.out_features} columns for the trend; "
                f"got {tuple(y_n.shape)}."
            )
        values = self.subtract_trend(z_n, targets)
        if s is None:
            s = self._similarities(z, z_n)
        if n_neighbors is None or n_neighbors >= z_n.shape[-2]:
            means = average(self.weights_of(z, s, self_index, sample_weight), values)
        else:
            mask = NeighborMask.of(s, self_index, sample_weight)
            columns, weights = self._weigh_nearest(z, s, mask, n_neighbors)
            means = (weights.unsqueeze(-1) * _take(values, columns)).sum(-2)
        y_hat = self.add_trend(z, means)
        return y_hat.squeeze(-1) if y_n.ndim == 1 else y_hat

    def subtract_trend(self, z_n: torch.Tensor, y_n: torch.Tensor) -> torch.Tensor:
        """Leave of targets what to average: residuals of the trend, if there is one.

        Parameters
        ----------
        z_n : Tensor of shape (..., N, d)
            Neighbor embeddings.
        y_n : Tensor of shape (..., N, k)
            Neighbor targets.

        Returns
        -------
        values : Tensor of shape (..., N, k)
            May be `y_n` itself.

        Examples
        --------
        >>> import torch
        >>> from skneighbors.nn import NONA
        >>> head, z, y = NONA(embedding_dim=2, trend="linear"), torch.ones(1, 2), torch.ones(1, 1)
        >>> torch.allclose(head.add_trend(z, head.subtract_trend(z, y)), y)
        True
        """
        return y_n if self.trend is None else y_n - self.trend(z_n)

    def add_trend(self, z: torch.Tensor, y_hat: torch.Tensor) -> torch.Tensor:
        """Complete averages of what :meth:`subtract_trend` left to predictions.

        Parameters
        ----------
        z : Tensor of shape (..., b, d)
            Query embeddings.
        y_hat : Tensor of shape (..., b, k)
            Averages.

        Returns
        -------
        y_hat : Tensor of shape (..., b, k)
            May be what was given.

        Examples
        --------
        >>> import torch
        >>> from skneighbors.nn import NONA
        >>> NONA(embedding_dim=2).add_trend(torch.ones(1, 2), torch.ones(1, 1)).tolist()  # none
        [[1.0]]
        """
        return y_hat if self.trend is None else self.trend(z) + y_hat


def _take(values, columns):
    """Values (..., N, k) of columns (..., b, K), to (..., b, K, k)."""
    values = values.unsqueeze(-3).expand(*columns.shape[:-1], *values.shape[-2:])
    return values.gather(-2, columns.unsqueeze(-1).expand(*columns.shape, values.shape[-1]))
