"""Features for the network: scaled numbers, flagged missing values, categories one-hot or codes."""

from dataclasses import dataclass

import numpy as np

from .._utils.arrays import Stored, array_field

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
