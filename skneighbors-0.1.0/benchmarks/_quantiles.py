"""Methods that say how sure predictions are: ours, and peers by quantiles.

Each is made of a seed and of levels, which ascend and lie evenly about a half, and takes tables.
"""

import numpy as np
from _methods import FAST_PEERS, OURS
from _tables import _as_text, _ordinal
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit
from sklearn.pipeline import make_pipeline


class Ours:
    """An estimator of this package: its quantiles and conformal intervals."""

    def __init__(self, name, seed, levels):
        self.model, self.levels = OURS[name](seed), levels

    def fit(self, X, y, weight=None, groups=None, time=None):
        """Fit."""
        self.model.fit(X, y, sample_weight=weight, groups=groups, time=time)

    def quantiles(self, X):
        """Predict quantiles (n, n_levels)."""
        return self.model.predict_quantiles(X, self.levels)

    def interval(self, X, confidence):
        """Predict the ends (n, 2)."""
        return self.model.predict_interval(X, confidence)


class Quantiles:
    """A peer, whose intervals are from quantile to quantile."""

    def __init__(self, seed, levels):
        self.seed, self.levels = seed, np.asarray(levels)

    def interval(self, X, confidence):
        """Predict the ends (n, 2)."""
        place = np.abs(self.levels - (1 - confidence) / 2).argmin()
        return self.quantiles(X)[:, [place, -1 - place]]


class Forest(Quantiles):
    """Quantile regression forest; categories as ordered codes, means for missing values."""

    def fit(self, X, y, weight=None, groups=None, time=None):
        """Fit."""
        from quantile_forest import RandomForestQuantileRegressor

        self.prepare = make_pipeline(_ordinal(), SimpleImputer())
        self.model = RandomForestQuantileRegressor(random_state=self.seed)
        self.model.fit(self.prepare.fit_transform(X), y, sample_weight=weight)

    def quantiles(self, X):
        """Predict quantiles (n, n_levels)."""
        return self.model.predict(self.prepare.transform(X), quantiles=list(self.levels))


class LightGBM(Quantiles):
    """One model for each quantile."""

    def fit(self, X, y):
        """Fit."""
        models = [FAST_PEERS["LightGBM"](self.seed) for _ in self.levels]
        self.models = [
            model.set_params(objective="quantile", alpha=level).fit(X, y)
            for model, level in zip(models, self.levels, strict=True)
        ]

    def quantiles(self, X):
        """Predict quantiles (n, n_levels)."""
        return np.stack([model.predict(X) for model in self.models], axis=1)


class CatBoost(Quantiles):
    """One model of all quantiles."""

    def fit(self, X, y, weight=None, groups=None, time=None):
        """Fit."""
        loss = "MultiQuantile:alpha=" + ",".join(f"{level:.4f}" for level in self.levels)
        categories = list(X.select_dtypes("category"))
        self.model = FAST_PEERS["CatBoost"](self.seed)
        self.model.set_params(loss_function=loss, cat_features=categories)
        self.model.fit(_as_text(X), y, sample_weight=weight)

    def quantiles(self, X):
        """Predict quantiles (n, n_levels)."""
        return self.model.predict(_as_text(X))


class Mapie(Quantiles):
    """Split-conformal intervals by MAPIE around histogram boosting.

    It conforms to a fifth of the rows: whole groups where there are groups, the last where rows are
    in time. It takes numbers alone: categories are ordered codes. Quantiles are the ends of
    intervals of several confidences, and the prediction as median.
    """

    def fit(self, X, y, weight=None, groups=None, time=None):
        """Fit, and conform."""
        from mapie.regression import SplitConformalRegressor

        self.prepare, splitter = _ordinal(), ShuffleSplit if groups is None else GroupShuffleSplit
        X = self.prepare.fit_transform(X).to_numpy()
        train, other = next(splitter(1, test_size=0.2, random_state=self.seed).split(X, y, groups))
        if time is not None:
            is_last = time >= round(0.8 * len(y))
            train, other = np.flatnonzero(~is_last), np.flatnonzero(is_last)
        weight = None if weight is None else weight[train]
        model = FAST_PEERS["hist. boosting"](self.seed).fit(X[train], y[train], weight)
        confidences = 1 - 2 * self.levels[self.levels < 0.5 - 1e-9]
        # It refuses those that need more rows.
        known = [c for c in confidences if 1 / (1 - c) < len(other)]
        self.n_unknown = len(confidences) - len(known)
        conformal = SplitConformalRegressor(model, confidence_level=known, prefit=True)
        self.conformal = conformal.conformalize(X[other], y[other])

    def quantiles(self, X):
        """Predict quantiles (n, n_levels); infinite ones where rows were too few."""
        y_hat, ends = self.conformal.predict_interval(self.prepare.transform(X).to_numpy())
        unknown = np.full((len(y_hat), self.n_unknown), np.inf)
        median = [y_hat] if len(self.levels) % 2 else []
        return np.column_stack([-unknown, ends[:, 0], *median, ends[:, 1, ::-1], unknown])
