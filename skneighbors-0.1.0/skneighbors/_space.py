"""What "near" means: the learned distance and, beside it, that of the columns."""

from dataclasses import dataclass
from functools import cached_property

import torch

from ._utils.arrays import Stored, array_field
from ._utils.blocks import bounded_length, cut, gather_rows, sample_rows
from .nn._autocast import without_autocast
from .nn._similarity import SIMILARITIES

# Units are distances of the neighbor of this rank: the median over so many rows.
_TYPICAL_RANK, _N_MEASURED = 80, 256


@dataclass(frozen=True, eq=False)
class Space(Stored):
    r"""Space of rows, in which those that are near predict each other.

    By member i rows are :math:`\sqrt{r_i^2 + (\lambda u_i g)^2}` apart, by all members
    :math:`\sqrt{\sum r_i^2 + (\lambda g)^2 \sum u_i^2}`, where r is the distance of embeddings
    and g that of columns. So all are distances of points. With "l1" absolute values are added.

    Rows are what has embeddings `z` and `coordinates`, as a :class:`LikenessEncoder` makes them of
    columns.

    Attributes
    ----------
    similarity : str
    units : Tensor of shape (m,) or None
        Typical r_i, in typical g; None if the columns do not count.
    strength : float
        Of likeness: how much the columns count, lambda.
    """

    similarity: str
    units: torch.Tensor | None = array_field("float64", "m", low=0, default=None)
    strength: float = 0.0

    @classmethod
    def of(cls, similarity, units, strength):
        """Space with a strength of likeness; without units if that is 0."""
        return cls(similarity, units, strength) if strength else cls(similarity)

    def _check_fields(self, sizes):
        """Check that there are units for a strength."""
        is_known = self.similarity in SIMILARITIES and self.strength >= 0
        if not is_known or (self.units is None) != (self.strength == 0):
            raise ValueError("space does not fit")

    @property
    def near(self):
        """Similarity of embeddings."""
        return SIMILARITIES[self.similarity]

    @property
    def p(self):
        """Of the Minkowski distance between points."""
        return self.near.p

    @cached_property
    def _scales(self):
        """What distances by columns are multiplied by for each member, (m, 1, 1), and for all."""
        scales = self.strength * self.units
        return scales[:, None, None], torch.linalg.vector_norm(scales, self.p)

    def similarities(self, queries, rows):
        """Similarities (m, b, N) of queries and rows, z (m, b, d), (m, N, d), by each member."""
        s = without_autocast(self.near, (queries.z, rows.z))
        if not self.strength:
            return s
        own = queries.coordinates.to(s), rows.coordinates.to(s)
        return self._join(s, -without_autocast(self.near, own))

    def _join(self, s, g):
        return self.near.join(-s, self._scales[0].to(s) * g).neg_()

    def compare(self, queries, rows, found):
        """Compare queries with some rows (b, K) each; see :meth:`Similarity.compare`."""
        s, distances = self.near.compare(queries.z, rows.z, found)
        if not self.strength:
            return s, distances
        columns = gather_rows(rows.coordinates, found).to(s), queries.coordinates.to(s).unsqueeze(1)
        g = torch.cdist(*columns, self.p, "donot_use_mm_for_euclid_dist").squeeze(2)
        return self._join(s, g), self.near.join(distances, self._scales[1].to(s) * g)

    def row_points(self, rows):
        """Points (N, D) of rows."""
        return self._points(self.near.row_points(rows.z), rows)

    def query_points(self, queries):
        """Points (n, D) of queries."""
        return self._points(self.near.query_points(queries.z), queries)

    def _points(self, points, rows):
        if not self.strength:
            return points
        return torch.cat([points, self._scales[1].to(points) * rows.coordinates.to(points)], 1)

    def n_dims(self, rows):
        """Count the dimensions D of rows."""
        return rows.z[0].numel() + (rows.coordinates.shape[1] if self.strength else 0)

    def norms(self, rows):
        """Sizes (n,) of rows."""
        norms = self.near.norms(rows.z)
        if not self.strength:
            return norms
        own = torch.linalg.vector_norm(rows.coordinates.to(norms), self.p, dim=1)
        return self.near.join(norms, self._scales[1].to(norms) * own)


def measure_units(similarity, z, coordinates):
    """Units (m,) of a space of rows z (m, N, d) and coordinates (m, N, u), or (1, N, u) of all."""
    near = SIMILARITIES[similarity]

    def typical(points):
        n_rows = points.shape[1]
        rows, rank = sample_rows(n_rows, _N_MEASURED), min(_TYPICAL_RANK, n_rows)
        length = bounded_length(points.element_size() * points.shape[:2].numel())
        pairs = ((points[:, rows[part]], points) for part in cut(len(rows), length))
        parts = [without_autocast(near, pair) for pair in pairs]
        median = torch.cat([(-part).kthvalue(rank).values for part in parts], 1).median(1).values
        return torch.where(median > 0, median.double(), 1.0)

    return typical(z) / typical(coordinates)
