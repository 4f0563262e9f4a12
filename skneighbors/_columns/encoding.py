"""Features for the network: scaled numbers, gaps that are told, levels one-hot or as codes."""

from dataclasses import dataclass

import numpy as np

from .._utils.arrays import array_field

# Inputs are clipped smoothly into this many robust standard units.
_CLIP = 3.0
# So far out a scaled input may as well be anywhere, if only it is finite.
_FAR = 1e300
# Columns of no more levels are one-hot; those of more learn an embedding of each level.
_MAX_ONE_HOT = 8


@dataclass(frozen=True, eq=False)
class FeatureEncoder:
    """Encodes what a :class:`TableReader` reads.

    Numbers are scaled robustly to median 0 and quartile distance 1 and clipped smoothly:
    ``x -> s / sqrt(1 + (s / 3)^2)`` with ``s = (x - center) / scale`` is Holzmueller
    et al. (2024)'s scaling. A missing value becomes 0, as the median; where a column had
    any in `fit`, another column says so. Constant columns become 0.

    Attributes
    ----------
    numbers, gaps, one_hot, coded : int ndarray
        Columns of X that are scaled, whose gaps are told, that become one-hot and that
        become codes; the latter two hold categories.
    n_levels : int ndarray
        Number of levels of each column of X, 0 for numbers.
    center, scale : ndarray
        Of the `numbers`.
    """

    numbers: np.ndarray = array_field("int64", "a", low=0, below="p")
    gaps: np.ndarray = array_field("int64", "b", low=0, below="p")
    one_hot: np.ndarray = array_field("int64", "c", low=0, below="p")
    coded: np.ndarray = array_field("int64", "e", low=0, below="p")
    n_levels: np.ndarray = array_field("int64", "p", low=0)
    center: np.ndarray = array_field("float64", "a")
    scale: np.ndarray = array_field("float64", "a", allows="inf")

    @classmethod
    def fit(cls, X, sample_weight, n_levels):
        """Make an encoder of columns (n_samples, n_features), which have values, weighted."""
        has_gaps = np.isnan(X).any(axis=0)
        numbers = np.flatnonzero(n_levels == 0)
        center, scale = _fit_scale(X[:, numbers], sample_weight, has_gaps[numbers])
        return cls(
            numbers=numbers,
            gaps=np.flatnonzero((n_levels == 0) & has_gaps),
            one_hot=np.flatnonzero((n_levels > 0) & (n_levels <= _MAX_ONE_HOT)),
            coded=np.flatnonzero(n_levels > _MAX_ONE_HOT),
            n_levels=n_levels,
            center=center,
            scale=scale,
        )

    @property
    def n_plain(self):
        """Number of columns that say whether: of a missing value, or of a level."""
        return len(self.gaps) + int(self.n_levels[self.one_hot].sum())

    def transform(self, X):
        """Encode X (n_samples, n_features).

        Returns
        -------
        X : ndarray of shape (n_samples, n_numbers + n_plain + n_coded)
            The code of a level that is missing or unknown is the number of levels.
        """
        parts = [self._scale(X[:, self.numbers])]
        if len(self.gaps):
            parts.append(np.isnan(X[:, self.gaps]))
        parts += [X[:, [j]] == np.arange(self.n_levels[j]) for j in self.one_hot]
        if len(self.coded):
            codes = X[:, self.coded]
            parts.append(np.where(np.isnan(codes), self.n_levels[self.coded], codes))
        return np.hstack(parts) if len(parts) > 1 else parts[0]

    def _scale(self, X):
        with np.errstate(over="ignore"):
            # Halved, which is exact: a range can exceed the largest float64.
            scaled = (X / 2 - self.center / 2) / (self.scale / 2)
        scaled = np.clip(scaled, -_FAR, _FAR)
        scaled = scaled / np.hypot(1.0, scaled / _CLIP)
        return np.where(np.isnan(scaled), 0.0, scaled) if np.isnan(scaled).any() else scaled


def _fit_scale(X, sample_weight, has_gaps):
    """Median and scale of each column, where it has values."""
    quantiles = np.empty((3, X.shape[1]))
    quantiles[:, ~has_gaps] = _quartiles(X[:, ~has_gaps], sample_weight)
    for j in np.flatnonzero(has_gaps):
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
