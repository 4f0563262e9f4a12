"""Columns encoded: scaled numbers, flags and categories for networks, ranks for likeness."""

from dataclasses import dataclass, replace

import numpy as np

from .._utils.arrays import Stored, array_field

# Inputs are clipped smoothly into this many robust standard units.
_CLIP = 3.0
# Scaled inputs are bounded by this, to be finite; so far out their place does not matter.
_FAR = 1e300
# Columns of no more categories are one-hot; those of more learn an embedding of each category.
_MAX_ONE_HOT = 8
# Largest number of coordinates by which rows are compared.
_MAX_DIM = 256


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
        center, scale = _fit_scale(X[:, numbers], sample_weight)
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


def _fit_scale(X, sample_weight):
    """Median and scale of each column, where it has values."""
    low, center, high = weighted_quantiles(X.T, [0.25, 0.5, 0.75], sample_weight)
    # Divided before subtracting: a range can exceed the largest float64.
    scale = 2 * np.minimum(high / 2 - low / 2, np.finfo(float).max / 2)
    spread = np.nanmax(X, axis=0) / 2 - np.nanmin(X, axis=0) / 2
    scale = np.where(scale > 0, scale, spread)
    return center, np.where(scale > 0, scale, np.inf)


def weighted_quantiles(columns, fractions, weight):
    """Quantiles (n_fractions, n_columns) of columns (n_columns, n) where these have values.

    By the method "inverted_cdf" of :func:`numpy.quantile`, all columns at once; NaN for none.
    """
    order = np.argsort(columns, axis=1)  # missing values last
    below = np.take_along_axis(weight * ~np.isnan(columns), order, axis=1).cumsum(axis=1)
    with np.errstate(invalid="ignore"):
        below /= below[:, -1:].copy()
    rows = np.arange(len(order))
    places = [order[rows, (below < fraction).sum(axis=1)] for fraction in fractions]
    return columns[rows, places]


@dataclass(frozen=True, eq=False)
class LikenessEncoder(Stored):
    """Encodes rows as points; they are near where all columns are alike, whatever the targets.

    The squared distance of two rows is the mean, over the columns that differ, of what kinds say
    (see `coordinates` of :class:`Kind`): at most 1 for rows that have nothing in common. Numbers
    differ by the fraction of the training samples that lie between them. More than `_MAX_DIM`
    coordinates are projected at random, which keeps distances to some five percent.

    Attributes
    ----------
    ranked : int ndarray of shape (r,)
        Columns as read that become ranks.
    values : ndarray of shape (v,)
        Unique values of these, ascending, one column after the other.
    fractions : ndarray of shape (v,)
        Fraction of the training samples, by weight, that are no larger.
    starts : int ndarray of shape (r,)
        Where each column's values begin.
    kept : int ndarray of shape (c,)
        Coordinates in which training samples differ.
    scale : float
        What these are multiplied by.
    """

    ranked: np.ndarray = array_field("int64", "r", low=0, below="u", ascends=True)
    values: np.ndarray = array_field("float64", "v")
    fractions: np.ndarray = array_field("float64", "v", low=0)
    starts: np.ndarray = array_field("int64", "r", low=0)
    kept: np.ndarray = array_field("int64", "c", low=0, below="coordinates", ascends=True)
    scale: float = 1.0

    @property
    def n_dims(self):
        """Number of dimensions of the points."""
        return min(len(self.kept), _MAX_DIM)

    def _check_fields(self, sizes):
        """Check that each column's values begin behind those of the one before."""
        is_ordered = (np.diff([0, *self.starts, len(self.values)]) >= 0).all()
        if not is_ordered or not 0 < self.scale <= 1:
            raise ValueError("likeness_encoder does not fit")

    @classmethod
    def fit(cls, reader, X, sample_weight):
        """Make an encoder for a matrix (n_samples, n_read) that a reader has read."""
        is_coded = np.array([kind.is_coded for kind in reader.kinds])
        ranked = np.flatnonzero(~is_coded[reader.column_of])
        values, fractions = [], []
        for column in X[:, ranked].T:
            present = ~np.isnan(column)
            unique, place = np.unique(column[present], return_inverse=True)
            values.append(unique)
            cumulative = np.bincount(place, sample_weight[present], len(unique)).cumsum()
            fractions.append(cumulative / cumulative[-1:])
        starts = np.cumsum([0, *map(len, values)])[:-1]
        values, fractions = (np.concatenate([*parts, []]) for parts in (values, fractions))
        encoder = cls(ranked, values, fractions, starts, np.empty(0, dtype=np.int64))
        points = encoder._points_by_column(reader, X)
        differs = [(own != own[0]).any(axis=0) for own in points]
        scale = float(max(1, sum(map(np.any, differs))) ** -0.5)
        return replace(encoder, kept=np.flatnonzero(np.concatenate(differs)), scale=scale)

    def transform(self, reader, X):
        """Encode a matrix (n_samples, n_read), to float32 (n_samples, at most `_MAX_DIM`)."""
        points = np.hstack(self._points_by_column(reader, X))[:, self.kept] * self.scale
        if len(self.kept) > _MAX_DIM:
            random = np.random.Generator(np.random.Philox(0))
            points = points @ random.normal(0, _MAX_DIM**-0.5, (len(self.kept), _MAX_DIM))
        return points.astype(np.float32)

    def _points_by_column(self, reader, X):
        """Make points of each column, a list of arrays, by its kind; numbers are ranked before."""
        ranks, columns = X.copy(), np.ascontiguousarray(X[:, self.ranked].T)
        # What is below each value, and all of them; of a column, from its start and its place on.
        below = np.insert(self.fractions, self.starts, 0.0)
        ends = np.append(self.starts, len(self.values))[1:]
        for i, (start, end) in enumerate(zip(self.starts.tolist(), ends.tolist(), strict=True)):
            numbers, values = columns[i], self.values[start:end]
            own = below[start + i : end + i + 1]
            low, high = (own[values.searchsorted(numbers, side)] for side in ("left", "right"))
            columns[i] = np.where(np.isnan(numbers), np.nan, (low + high) / 2)
        ranks[:, self.ranked] = columns.T
        return [points.astype(np.float32) for points in reader.coordinates(ranks)]
