"""Columns encoded: scaled numbers, flags and categories for networks, ranks for likeness."""

from dataclasses import dataclass

import numpy as np

from .._utils.arrays import Stored, array_field
from .base import MISSING

# Inputs are clipped smoothly into this many robust standard units.
_CLIP = 3.0
# Scaled inputs are bounded by this, to be finite; so far out their place does not matter.
_FAR = 1e300
# Columns of no more categories are one-hot; those of more learn an embedding of each category.
_MAX_ONE_HOT = 8


@dataclass(frozen=True, eq=False)
class FeatureEncoder(Stored):
    """Encodes what a :class:`TableReader` reads, with the parts of dates.

    Numbers are scaled robustly to median 0 and quartile distance 1 and clipped smoothly:
    ``x -> s / sqrt(1 + (s / 3)^2)`` with ``s = (x - center) / scale`` is Holzmueller
    et al. (2024)'s scaling. A missing value becomes 0, as the median; where a column had
    any in `fit`, another column says so. Constant columns become 0. Components of texts stay as
    they are.

    Attributes
    ----------
    numbers, missing, one_hot, components, coded : int ndarray
        Columns of X that are scaled, whose missing values are flagged, that become one-hot, that
        are components and that become codes; `one_hot` and `coded` hold categories.
    n_categories : int ndarray
        Number of categories of each column of X, 0 for numbers.
    center, scale : ndarray
        Of the `numbers`.
    """

    numbers: np.ndarray = array_field("int64", "a", low=0, below="q", ascends=True)
    missing: np.ndarray = array_field("int64", "b", low=0, below="q", ascends=True)
    one_hot: np.ndarray = array_field("int64", "c", low=0, below="q", ascends=True)
    components: np.ndarray = array_field("int64", "texts", low=0, below="q", ascends=True)
    coded: np.ndarray = array_field("int64", "e", low=0, below="q", ascends=True)
    n_categories: np.ndarray = array_field("int64", "q", equals="expanded")
    center: np.ndarray = array_field("float64", "a")
    scale: np.ndarray = array_field("float64", "a", allows="inf")

    @classmethod
    def fit(cls, X, sample_weight, n_categories, n_components=0):
        """Make an encoder of columns (n_samples, n_features), which have values, weighted.

        The last `n_components` of them are components of texts.
        """
        has_missing = np.isnan(X).any(axis=0)
        components = np.arange(X.shape[1] - n_components, X.shape[1])
        numbers = np.setdiff1d(np.flatnonzero(n_categories == 0), components)
        center, scale = _fit_scale(X[:, numbers], sample_weight, has_missing[numbers])
        return cls(
            numbers=numbers,
            missing=np.flatnonzero((n_categories == 0) & has_missing),
            one_hot=np.flatnonzero((n_categories > 0) & (n_categories <= _MAX_ONE_HOT)),
            components=components,
            coded=np.flatnonzero(n_categories > _MAX_ONE_HOT),
            n_categories=n_categories,
            center=center,
            scale=scale,
        )

    @property
    def n_plain(self):
        """Number of flags of missing values, of one-hot categories and of components."""
        n_one_hot = int(self.n_categories[self.one_hot].sum())
        return len(self.missing) + n_one_hot + len(self.components)

    def transform(self, X):
        """Encode X (n_samples, n_features).

        Returns
        -------
        X : ndarray of shape (n_samples, n_numbers + n_plain + n_coded)
            The code of a category that is missing or unknown is the number of categories.
        """
        parts = [self._scale(X[:, self.numbers])]
        if len(self.missing):
            parts.append(np.isnan(X[:, self.missing]))
        parts += [X[:, [j]] == np.arange(self.n_categories[j]) for j in self.one_hot]
        if len(self.components):
            parts.append(X[:, self.components])
        if len(self.coded):
            codes = X[:, self.coded]
            parts.append(np.where(codes >= 0, codes, self.n_categories[self.coded]))
        return np.hstack(parts) if len(parts) > 1 else parts[0]

    def _scale(self, X):
        with np.errstate(over="ignore"):
            # Halved, which is exact: a range can exceed the largest float64.
            scaled = (X / 2 - self.center / 2) / (self.scale / 2)
        scaled = np.clip(scaled, -_FAR, _FAR)
        scaled = scaled / np.hypot(1.0, scaled / _CLIP)
        return np.where(np.isnan(scaled), 0.0, scaled) if np.isnan(scaled).any() else scaled


def _fit_scale(X, sample_weight, has_missing):
    """Median and scale of each column, where it has values."""
    quantiles = np.empty((3, X.shape[1]))
    quantiles[:, ~has_missing] = _quartiles(X[:, ~has_missing], sample_weight)
    for j in np.flatnonzero(has_missing):
        present = ~np.isnan(X[:, j])
        quantiles[:, j] = _quartiles(X[present, j], sample_weight[present])
    low, center, high = quantiles
    # Divided before subtracting: a range can exceed the largest float64.
    scale = 2 * np.minimum(high / 2 - low / 2, np.finfo(float).max / 2)
    spread = np.nanmax(X, axis=0) / 2 - np.nanmin(X, axis=0) / 2
    scale = np.where(scale > 0, scale, spread)
    return center, np.where(scale > 0, scale, np.inf)


def _quartiles(X, sample_weight):
    return np.quantile(X, [0.25, 0.5, 0.75], 0, weights=sample_weight, method="inverted_cdf")


@dataclass(frozen=True, eq=False)
class LikenessEncoder(Stored):
    """Encodes what :meth:`TableReader.compare` returns: numbers by their ranks.

    Rows differ in a number by the fraction of the training samples that lie between them.

    Attributes
    ----------
    ranked : int ndarray of shape (r,)
        Coordinates that become ranks.
    values : ndarray of shape (v,)
        Unique values of these, ascending, one coordinate after the other.
    fractions : ndarray of shape (v,)
        Fraction of the training samples, by weight, that are no larger.
    starts : int ndarray of shape (r,)
        Where each coordinate's values begin.
    column_weight : ndarray of shape (u,)
        Of differences by coordinates, then of squared ones by components: those of a column sum
        to 1 over the number of columns that differ, and are 0 where all rows agree.
    n_components : int
        How many of the last coordinates are components.
    """

    ranked: np.ndarray = array_field("int64", "r", low=0, below="u", ascends=True)
    values: np.ndarray = array_field("float64", "v")
    fractions: np.ndarray = array_field("float64", "v", low=0)
    starts: np.ndarray = array_field("int64", "r", low=0)
    column_weight: np.ndarray = array_field("float64", "u", low=0)
    n_components: int = 0

    def _check_fields(self, sizes):
        """Check that each coordinate's values begin behind those of the one before."""
        is_ordered = (np.diff([0, *self.starts, len(self.values)]) >= 0).all()
        if not is_ordered or self.n_components != sizes["texts"]:
            raise ValueError("likeness_encoder does not fit")

    @classmethod
    def fit(cls, reader, X, sample_weight):
        """Make an encoder for a matrix (n_samples, n_read) that a reader has read."""
        every = (block.T for _, block in reader.blocks(X))
        differs = np.array([any(len(np.unique(x)) > 1 for x in block) for block in every])
        n = [kind.width for kind in reader.kinds]
        ranked = np.flatnonzero(np.repeat([not kind.is_coded for kind in reader.kinds], n))
        weights = np.transpose([kind.coordinate_weights for kind in reader.kinds])
        own, squared = weights * differs / max(1.0, differs.sum())
        n_components = [kind.n_components for kind in reader.kinds]
        coordinates, values, fractions = reader.compare(X), [], []
        for column in coordinates[:, ranked].T:
            present = ~np.isnan(column)
            unique, place = np.unique(column[present], return_inverse=True)
            values.append(unique)
            cumulative = np.bincount(place, sample_weight[present], len(unique)).cumsum()
            fractions.append(cumulative / cumulative[-1:])
        starts = np.cumsum([0, *map(len, values)])[:-1]
        values, fractions = (np.concatenate([*parts, []]) for parts in (values, fractions))
        column_weight = np.append(np.repeat(own / n, n), np.repeat(squared, n_components))
        return cls(ranked, values, fractions, starts, column_weight, sum(n_components))

    def transform(self, coordinates):
        """Encode coordinates (n_samples, u)."""
        out, ends = coordinates.copy(), np.append(self.starts, len(self.values))[1:]
        for place, start, end in zip(self.ranked, self.starts, ends, strict=True):
            numbers, values = coordinates[:, place], self.values[start:end]
            ends_of = [np.searchsorted(values, numbers, side) for side in ("left", "right")]
            ranks = np.append(0.0, self.fractions[start:end])[ends_of].mean(axis=0)
            out[:, place] = np.where(np.isnan(numbers), MISSING, ranks)
        return out
