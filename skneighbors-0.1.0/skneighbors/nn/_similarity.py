"""Similarities between queries and neighbors, each with the space in which it is a distance."""

import torch
import torch.nn.functional as F

from ._options import check_option
from ._scaling import coincidence, rounding_tolerance

# Fraction of the pairs above which near pairs are not mended one by one.
_MAX_NEAR_FRACTION = 1 / 16


def _euclidean_distances(z, z_n):
    """Euclidean distances whose relative error is small for near pairs too.

    ``|z|^2 + |z_n|^2 - 2 z.z_n`` costs one matrix product but loses all digits
    where two rows nearly coincide; exactly those pairs are computed again from
    their differences. Those that coincide are returned as flat indices.
    """
    if z.shape[-2] == 1:
        # For a single query a product is no faster.
        return _distances_one_by_one(z, z_n)
    scale = z.square().sum(-1).unsqueeze(-1) + z_n.square().sum(-1).unsqueeze(-2)
    sq_distances = torch.matmul(-2 * z, z_n.mT).add_(scale)
    bound = scale * torch.finfo(z.dtype).eps ** 0.5
    near = (sq_distances <= bound).flatten().nonzero().squeeze(1)
    if near.numel() > _MAX_NEAR_FRACTION * scale.numel():
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
    return distances, (distances <= bound).flatten().nonzero().squeeze(1)


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


class Similarity:
    """A similarity of embeddings, and the space in which it is a distance.

    There the embeddings of all members of an ensemble stand side by side. One that is added
    needs a line in `SIMILARITIES`, and is then a choice of the estimators.

    Attributes
    ----------
    p : int
        Of the Minkowski distance between points; the nearest point is the most similar row.
    join : callable or None
        Distance by the coordinates of two spaces, of those by each, where points are as far from
        each other as rows; None elsewhere.
    """

    p, join = 2, None

    def __call__(self, z, z_n):
        """Similarities (..., b, N) of queries (..., b, d) and rows (..., N, d), with gradients."""
        raise NotImplementedError

    def compare(self, z, z_n, rows):
        """Compare queries with some rows each, from their differences.

        Those that coincide up to rounding have distance 0.

        Parameters
        ----------
        z : Tensor of shape (b, m, d)
        z_n : Tensor of shape (N, m, d)
        rows : int Tensor of shape (b, K)

        Returns
        -------
        s : Tensor of shape (m, b, K)
            Similarities by the embeddings of each member.
        distances : Tensor of shape (b, K)
            In the embedding space.
        """
        raise NotImplementedError

    def row_points(self, z_n):
        """Points (N, D) of rows (N, m, d)."""
        return z_n.flatten(1)

    def query_points(self, z):
        """Points (n, D) of queries (n, m, d)."""
        return z.flatten(1)

    def norms(self, z):
        """Sizes (n,) of rows or queries (n, m, d)."""
        return torch.linalg.vector_norm(z.flatten(1), self.p, dim=1)

    def tolerance(self, norms, radius):
        """Difference of distances that may be due to rounding, for queries and rows so large."""
        return rounding_tolerance(norms + radius)

    def reach(self, distances, norms, radius, n_dims):
        """Largest distance that an engine in double precision may take for `distances` (n,)."""
        return distances + self.tolerance(norms, radius)


def _gather(z_n, rows):
    """Rows (b, K) of z_n (N, m, d), by member: (b, K, d) each."""
    flat = rows.flatten()
    return (z.index_select(0, flat).view(*rows.shape, -1) for z in z_n.unbind(1))


def _distances_by_member(z, z_n, rows, p):
    """Minkowski's distances (m, b, K) of queries and some rows each, from their differences."""
    mode = "donot_use_mm_for_euclid_dist"
    pairs = zip(z.unbind(1), _gather(z_n, rows), strict=True)
    parts = [torch.cdist(q.unsqueeze(1), near, p, mode).squeeze(1) for q, near in pairs]
    return torch.stack(parts)


class Euclidean(Similarity):
    """Minus the Euclidean distance."""

    join = staticmethod(torch.hypot)

    def __call__(self, z, z_n):
        if torch.compiler.is_compiling():
            return -torch.cdist(z, z_n, compute_mode="donot_use_mm_for_euclid_dist")
        return _EuclideanSimilarity.apply(z, z_n)

    def compare(self, z, z_n, rows):
        distances = _distances_by_member(z, z_n, rows, 2)
        # Rows that coincide have equal norms.
        bound = coincidence(z.dtype) * (2 * z.square().sum(-1)).sqrt_()
        distances.masked_fill_(distances <= bound.T.unsqueeze(2), 0)
        return -distances, distances.square().sum(0).sqrt_()

    def reach(self, distances, norms, radius, n_dims):
        # Engines compare squares, which are small differences of large products.
        unit = torch.finfo(norms.dtype).eps * (n_dims + 4)
        return torch.sqrt(distances.square() + 4 * unit * (norms.square() + radius**2))


class Manhattan(Similarity):
    """Minus the Manhattan distance, 0 where rows coincide up to rounding."""

    p, join = 1, staticmethod(torch.add)

    def __call__(self, z, z_n):
        distances = torch.cdist(z, z_n, p=1)
        with torch.no_grad():
            scale = z.abs().sum(-1).unsqueeze(-1) + z_n.abs().sum(-1).unsqueeze(-2)
            coincide = distances <= coincidence(z.dtype) * scale
        return -distances.masked_fill(coincide, 0)

    def compare(self, z, z_n, rows):
        distances = _distances_by_member(z, z_n, rows, 1)
        bound = coincidence(z.dtype) * 2 * z.abs().sum(-1)
        distances.masked_fill_(distances <= bound.T.unsqueeze(2), 0)
        return -distances, distances.sum(0)


class Product(Similarity):
    """Inner product over the number of dimensions; the distance is minus that."""

    def __call__(self, z, z_n):
        return z @ z_n.mT / z.shape[-1]

    def row_points(self, z_n):
        # One more coordinate gives all the same norm: then the nearest have the largest product.
        squares = z_n.square().sum((1, 2))
        rest = (squares.max() - squares).clamp_(min=0).sqrt_()
        return torch.cat([z_n.flatten(1), rest.unsqueeze(1)], 1)

    def query_points(self, z):
        return F.pad(z.flatten(1), (0, 1))

    def compare(self, z, z_n, rows):
        pairs = zip(z.unbind(1), _gather(z_n, rows), strict=True)
        products = torch.stack([(near * q.unsqueeze(1)).sum(-1) for q, near in pairs])
        products /= z.shape[-1]
        return products, products.mean(0).neg_()

    def tolerance(self, norms, radius):
        return rounding_tolerance(norms * radius)

    def reach(self, distances, norms, radius, n_dims):
        unit = torch.finfo(norms.dtype).eps * (n_dims + 4)
        return distances + 4 * unit * (norms.square() + radius**2)


class Cosine(Similarity):
    """Cosine of the angle; the distance is 1 minus that of the embeddings side by side."""

    def __call__(self, z, z_n):
        return F.normalize(z, dim=-1) @ F.normalize(z_n, dim=-1).mT

    def row_points(self, z_n):
        return F.normalize(z_n.flatten(1), dim=1)

    query_points = row_points

    def compare(self, z, z_n, rows):
        near, z = torch.stack([*_gather(z_n, rows)]), z.transpose(0, 1).unsqueeze(2)
        s = (F.normalize(near, dim=-1) * F.normalize(z, dim=-1)).sum(-1)
        norms = near.square().sum((0, -1)).sqrt_() * z.square().sum((0, -1)).sqrt_()
        return s, 1 - (near * z).sum((0, -1)) / norms.clamp_(min=torch.finfo(z.dtype).tiny)

    def tolerance(self, norms, radius):
        return rounding_tolerance(torch.ones_like(norms))


SIMILARITIES = {"l2": Euclidean(), "l1": Manhattan(), "dot": Product(), "cosine": Cosine()}


def similarity(z: torch.Tensor, z_n: torch.Tensor, metric: str = "l2") -> torch.Tensor:
    """Similarity of every query to every neighbor; larger is more similar.

    Parameters
    ----------
    z : Tensor of shape (..., b, d)
        Query embeddings.
    z_n : Tensor of shape (..., N, d)
        Neighbor embeddings, of the dtype and on the device of `z`.
    metric : {"l2", "l1", "dot", "cosine"}, default="l2"
        ``-||z - z_n||_2``, ``-||z - z_n||_1``, ``z . z_n / d`` or the cosine of
        the angle.

    Returns
    -------
    S : Tensor of shape (..., b, N)
        Similarities. Their gradient is finite, and 0 for ``"l2"`` and ``"l1"``,
        where a query and a neighbor coincide up to rounding.

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
    return SIMILARITIES[metric](z, z_n)
