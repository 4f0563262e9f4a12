"""The networks of a fitted estimator, and the samples they predict from, as a torch module."""

import torch
from torch import nn

from ..nn._similarity import SIMILARITIES


class FittedNetwork(nn.Module):
    """Networks of a fitted estimator, and the training samples that they predict from.

    It maps rows, as the estimator's ``prepare`` makes them, to embeddings and to standardized
    predictions of the networks alone, without a blended model. In double precision, with plain
    torch operations: ``torch.export`` and ``torch.compile`` take it. Rows that are equally near
    where the last one may predict are chosen by torch.

    Parameters
    ----------
    network : NeighborNetwork
    rows : NeighborRows
        N unique training samples.
    limits : Tensor of shape (2, k)
        Smallest and largest prediction there may be.
    n_neighbors : int or None
        How many rows, the nearest in the embedding space, a prediction rests on.

    Attributes
    ----------
    head : nn.Module
        :class:`skneighbors.nn.NONA` or :class:`skneighbors.nn.SoftStepKNN`, of all networks.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from skneighbors import NONARegressor
    >>> X, y = make_friedman1(n_samples=100, random_state=0)
    >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
    >>> z, y_hat = model.network_(model.prepare(X[80:]))
    >>> z.shape, y_hat.shape
    (torch.Size([20, 128]), torch.Size([20, 1]))
    """

    def __init__(self, network, rows, limits, n_neighbors):
        super().__init__()
        self.network = network
        self.n_neighbors = len(rows) if n_neighbors is None else min(n_neighbors, len(rows))
        self._similarity = SIMILARITIES[self.head.similarity]
        self.register_buffer("z_n", rows.z)
        points = self._similarity.row_points(rows.z)
        self.register_buffer("points", points, persistent=False)
        self.register_buffer("values", rows.values)
        self.register_buffer("total", rows.total_weight)
        self.register_buffer("sample_weight", rows.sample_weight)
        self.register_buffer("limits", limits)

    @property
    def head(self):
        """Head of all networks."""
        return self.network.head

    def embed(self, X: torch.Tensor) -> torch.Tensor:
        """Embed prepared rows X (n, ...) by each network, to (n, m, d)."""
        return self.network.embed(X.unsqueeze(0)).transpose(0, 1)

    def forward(self, X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Embed and predict.

        Parameters
        ----------
        X : Tensor of shape (n, ...)
            Prepared rows, float64; left as they are.

        Returns
        -------
        z : Tensor of shape (n, m * d)
            Embeddings, those of the networks side by side.
        y_hat : Tensor of shape (n, k)
            Standardized.
        """
        z = self.embed(X)
        points = self._similarity.query_points(z)
        # Exact for rows that nearly coincide, too.
        distances = torch.cdist(
            points, self.points, p=self._similarity.p, compute_mode="donot_use_mm_for_euclid_dist"
        )
        rows = distances.topk(self.n_neighbors, largest=False).indices
        q, near = z.transpose(0, 1), self.z_n[rows].permute(2, 0, 1, 3)
        s = self._similarity(q.unsqueeze(2), near).squeeze(2)
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        weights = self.head.weights_of(q, s, sample_weight=weight, total=self.total)
        means = torch.einsum("mbn,bnmk->bk", weights / len(weights), self.values[rows])
        y_hat = means + self.network.trends(z, means.shape[1]).mean(1)
        return z.flatten(1), y_hat.clamp(*self.limits)
