"""Single-precision scores that tell which neighbours can matter."""

import torch
import torch.nn.functional as F
from sklearn.utils import gen_batches

_BATCH_ROWS = 8192


def _batches(z_n):
    return list(gen_batches(len(z_n), _BATCH_ROWS))


def product_dtype():
    """Single precision, or double where the user allows its products to be rounded further."""
    try:
        exact = torch.get_float32_matmul_precision() == "highest"
    except RuntimeError:  # set through torch's newer switches
        exact = False
    return torch.float32 if exact else torch.float64


class Float32Prefilter:
    """Scores of neighbours that rise with their similarity, with a bound of their error.

    A score is one entry of a matrix product (or, for ``"l1"``, a distance) in
    single precision. Embeddings are scaled to norms of at most 1, and centred
    where that changes no distance, so that scores neither overflow nor lose
    more digits than they must.

    Parameters
    ----------
    z_n : Tensor of shape (N, d)
        Neighbour embeddings, float64.
    metric : {"l2", "l1", "dot", "cosine"}
        See :func:`skneighbors.nn.similarity`.
    """

    def __init__(self, z_n, metric):
        self._metric = metric
        dtype = product_dtype()
        self._dim = z_n.shape[1]
        self._unit = torch.finfo(dtype).eps
        self._centre = z_n.mean(0) if metric in ("l2", "l1") else torch.zeros_like(z_n[0])
        self._scale = max(self._norms(z_n[batch]).max() for batch in _batches(z_n))
        self._scale = self._scale.clamp(min=torch.finfo(z_n.dtype).tiny)
        width = self._dim + (metric == "l2")
        self._points = z_n.new_empty(len(z_n), width, dtype=dtype)
        for batch in _batches(z_n):
            self._points[batch] = self._prepare(z_n[batch])

    def _norms(self, z_n):
        points = z_n if self._metric == "cosine" else z_n - self._centre
        return torch.linalg.vector_norm(points, ord=1 if self._metric == "l1" else 2, dim=1)

    def _prepare(self, z_n):
        points = self.queries(z_n)
        if self._metric == "l2":
            # z.z_n - |z_n|^2 / 2, as one product.
            points = torch.cat([points, points.square().sum(1, keepdim=True) / -2], 1)
        return points

    def queries(self, z):
        """Bring queries (b, d) to the neighbours' centre and scale."""
        if self._metric == "cosine":
            return F.normalize(z, dim=1)
        return (z - self._centre) / self._scale

    def scores(self, q):
        """Scores (b, N) of scaled queries."""
        q = q.to(self._points.dtype)
        if self._metric == "l1":
            return torch.cdist(q, self._points, p=1).neg_()
        if self._metric == "l2":
            q = torch.cat([q, torch.ones_like(q[:, :1])], 1)
        with torch.autocast(q.device.type, enabled=False):
            return q @ self._points.T

    def error(self, q):
        """Bound (b, 1) of the scores' absolute error: some d roundings of each term."""
        norm = torch.linalg.vector_norm(q, ord=1 if self._metric == "l1" else 2, dim=1)
        return (2 * (self._dim + 4) * self._unit * (norm + 1)).unsqueeze(1)

    def to_similarity(self, score, q):
        """Similarity (b, 1) of a score (b, 1), float64."""
        if self._metric == "l2":
            sq_norm = q.square().sum(1, keepdim=True)
            return (sq_norm - 2 * score).clamp(min=0).sqrt() * -self._scale
        if self._metric == "dot":
            return score * self._scale.square() / self._dim
        return score if self._metric == "cosine" else score * self._scale

    def to_score(self, s, q):
        """Score (b, 1) of a similarity (b, 1), float64; -inf for -inf."""
        if self._metric == "l2":
            return (q.square().sum(1, keepdim=True) - (s / self._scale).square()) / 2
        if self._metric == "dot":
            return s * self._dim / self._scale.square()
        return s if self._metric == "cosine" else s / self._scale
