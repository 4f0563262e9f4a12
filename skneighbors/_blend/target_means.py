"""Categories as numbers for trees: their codes, their targets' means and how often they occur."""

from dataclasses import dataclass

import numpy as np

from .._utils.arrays import Stored, array_field
from .data import draw_folds

# How many categories of a column histogram boosting can distinguish.
_MAX_CODES = 254
# Rows of the overall mean that a category's mean counts besides its rows.
_N_PRIOR = 10
_N_FOLDS = 10


@dataclass(frozen=True, eq=False)
class CategoryEncoder(Stored):
    """Encoder of each column of categories as three: codes, means of a target, and counts.

    Means are shrunk towards that of all rows, and those of training rows are out of fold.
    Counts are logarithms of 1 + the categories' weight. Missing and
    unknown categories are one category.

    Attributes
    ----------
    n_categories : int ndarray of shape (n_features,)
        0 for a column of numbers.
    codes, means, counts : ndarray of shape (sum of n_categories + 1,)
        Of the categories of all columns, missing ones last in each. A code is NaN for missing
        ones, and for all but those of the 254 largest weights. Of categories of the same weight
        all or none have one: the reader numbers these by their targets, which a choice would leak.
    """

    n_categories: np.ndarray = array_field("int64", "q", equals="expanded")
    codes: np.ndarray = array_field("float64", "places", low=0, below="codes", allows="nan")
    means: np.ndarray = array_field("float64", "places")
    counts: np.ndarray = array_field("float64", "places")

    def field_sizes(self):
        """Count the categories' places, and the codes there may be."""
        return {"places": count_places(self.n_categories), "codes": _MAX_CODES}

    @classmethod
    def fit_transform(cls, X, y, weight, groups, n_categories, random_state):
        """Fit, and encode the same rows.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            As :meth:`TableReader.expand` returns it.
        y : ndarray of shape (n_samples,)
        weight : ndarray of shape (n_samples,)
        groups : int ndarray of shape (n_samples,)
            Rows of one group are in one fold.
        n_categories : int ndarray of shape (n_features,)
        random_state : RandomState

        Returns
        -------
        encoder : CategoryEncoder
        encoded : ndarray of shape (n_samples, n_encoded)
            Codes, numbers, means, counts.
        """
        place, sizes = find_categories(X, n_categories), n_categories[n_categories > 0] + 1
        folds = draw_folds(groups, _N_FOLDS, random_state)
        n_folds = folds.max() + 1
        prior = np.average(y, weights=weight)
        totals, sums = (np.zeros((n_folds, sizes.sum())) for _ in range(2))
        for column in place.T:
            np.add.at(totals, (folds, column), weight)
            np.add.at(sums, (folds, column), weight * y)
        total, total_sum = totals.sum(0), sums.sum(0)
        others = (total_sum - sums + _N_PRIOR * prior) / (total - totals + _N_PRIOR)
        means = others[folds[:, None], place]
        parts = np.split(total, sizes.cumsum()[:-1]) if len(sizes) else []
        encoder = cls(
            n_categories,
            np.concatenate([total[:0], *map(_number_largest, parts)]),
            (total_sum + _N_PRIOR * prior) / (total + _N_PRIOR),
            np.log1p(total),
        )
        return encoder, encoder._arrange(X, place, means)

    def transform(self, X):
        """Encode, to (n_samples, n_encoded).

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        encoded : ndarray of shape (n_samples, n_encoded)
        """
        place = find_categories(X, self.n_categories)
        return self._arrange(X, place, self.means[place])

    def _arrange(self, X, place, means):
        parts = self.codes[place], X[:, self.n_categories == 0], means, self.counts[place]
        return np.concatenate(parts, axis=1)


def count_places(n_categories):
    """Count the places of the categories of all columns, and one of each for missing ones."""
    return int((n_categories + (n_categories > 0)).sum())


def find_categories(X, n_categories):
    """Places of categories among those of all columns, to (n_samples, n_categories)."""
    n_categories, X = n_categories[n_categories > 0], X[:, n_categories > 0]
    starts = np.cumsum(n_categories + 1) - n_categories - 1
    return np.where(X >= 0, X, n_categories).astype(np.int64) + starts


def _number_largest(totals):
    """Codes of categories that boosting can distinguish, NaN for others; missing ones are last."""
    kept = totals > 0
    kept[-1] = False
    if kept.sum() > _MAX_CODES:
        kept &= totals > np.sort(totals[:-1])[-_MAX_CODES - 1]
    return np.where(kept, np.cumsum(kept) - 1.0, np.nan)
