"""The joint learnt space, in which the embeddings of all members stand side by side."""

import torch
import torch.nn.functional as F

from ..nn._similarity import coincidence, rounding_tolerance


class Space:
    """What is near by one similarity: distances, and points among which an engine searches.

    Attributes
    ----------
    p : int
        Of the Minkowski distance between points; the nearest point is the most similar row.
    """

    p = 2

    def row_points(self, z_n):
        """Points (N, D) of rows (N, m, d)."""
        return z_n.flatten(1)

    def query_points(self, z):
        """Points (n, D) of queries (n, m, d)."""
        return z.flatten(1)

    def norms(self, z):
        """Sizes (n,) of rows or queries (n, m, d)."""
        return torch.linalg.vector_norm(z.flatten(1), self.p, dim=1)

    def compare(self, z, rows):
        """Compare queries (b, m, d) with rows (b, K, m, d), from their differences.

        Those that coincide up to rounding have distance 0.

        Returns
        -------
        s : Tensor of shape (m, b, K)
            Similarities by the embeddings of each member.
        distances : Tensor of shape (b, K)
            In the joint space.
        """
        raise NotImplementedError

    def tolerance(self, norms, radius):
        """Difference of distances that may be due to rounding, for queries and rows so large."""
        return rounding_tolerance(norms + radius)

    def reach(self, distances, norms, radius, n_dims):
        """Largest distance that an engine in double precision may take for `distances` (n,)."""
        return distances + self.tolerance(norms, radius)


class Euclidean(Space):
    """Minus the Euclidean distance."""

    def compare(self, z, rows):
        squares = (rows - z.unsqueeze(1)).square_().sum(-1)
        # Rows that coincide have equal norms.
        bound = coincidence(z.dtype) ** 2 * 2 * z.square().sum(-1).unsqueeze(1)
        squares.masked_fill_(squares <= bound, 0)
        return squares.sqrt().neg_().permute(2, 0, 1), squares.sum(-1).sqrt_()

    def reach(self, distances, norms, radius, n_dims):
        # Engines compare squares, which are small differences of large products.
        unit = torch.finfo(norms.dtype).eps * (n_dims + 4)
        return torch.sqrt(distances.square() + 4 * unit * (norms.square() + radius**2))


class Manhattan(Space):
    """Minus the Manhattan distance."""

    p = 1

    def compare(self, z, rows):
        sums = (rows - z.unsqueeze(1)).abs_().sum(-1)
        bound = coincidence(z.dtype) * 2 * z.abs().sum(-1).unsqueeze(1)
        sums.masked_fill_(sums <= bound, 0)
        return sums.neg().permute(2, 0, 1), sums.sum(-1)


class Product(Space):
    """Inner product over the number of dimensions; the distance is minus that."""

    def row_points(self, z_n):
        # One more coordinate gives all the same norm: then the nearest have the largest product.
        squares = z_n.square().sum((1, 2))
        rest = (squares.max() - squares).clamp_(min=0).sqrt_()
        return torch.cat([z_n.flatten(1), rest.unsqueeze(1)], 1)

    def query_points(self, z):
        return F.pad(z.flatten(1), (0, 1))

    def compare(self, z, rows):
        products = (rows * z.unsqueeze(1)).sum(-1) / z.shape[-1]
        return products.permute(2, 0, 1), products.mean(-1).neg_()

    def tolerance(self, norms, radius):
        return rounding_tolerance(norms * radius)

    def reach(self, distances, norms, radius, n_dims):
        unit = torch.finfo(norms.dtype).eps * (n_dims + 4)
        return distances + 4 * unit * (norms.square() + radius**2)


class Cosine(Space):
    """Cosine of the angle; the distance is 1 minus that of the embeddings side by side."""

    def row_points(self, z_n):
        return F.normalize(z_n.flatten(1), dim=1)

    query_points = row_points

    def compare(self, z, rows):
        z = z.unsqueeze(1)
        s = (F.normalize(rows, dim=-1) * F.normalize(z, dim=-1)).sum(-1)
        z, rows = F.normalize(z.flatten(2), dim=-1), F.normalize(rows.flatten(2), dim=-1)
        return s.permute(2, 0, 1), 1 - (rows * z).sum(-1)

    def tolerance(self, norms, radius):
        return rounding_tolerance(torch.ones_like(norms))


SPACES = {"l2": Euclidean(), "l1": Manhattan(), "dot": Product(), "cosine": Cosine()}
