"""Regressors to compare: peers at their defaults, ours, and ablations of ours."""

from _surfaces import LinearHeadRegressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import get_num_threads

import skneighbors
from skneighbors import NONARegressor, Recipe, SoftStepKNNRegressor

_RECIPE_FIELDS = Recipe().get_params()
# What the results name of the papers' setting: all that differs from the defaults but the
# head, which is what the papers' scripts vary.
_HEAD = ("similarity", "softstep", "softstep_parameters")
PAPER = {
    name: value
    for name, value in (skneighbors.PAPER | skneighbors.PAPER["recipe"].get_params()).items()
    if name not in (*_HEAD, "recipe", "refit") and value != "auto"
}


def make_regressor(estimator_class, **params):
    """Estimator with parameters and fields of its recipe, all by their names."""
    params = {f"recipe__{n}" if n in _RECIPE_FIELDS else n: v for n, v in params.items()}
    return estimator_class().set_params(**params)


def _knn(seed):
    grid = {
        "kneighborsregressor__n_neighbors": [3, 5, 7],
        "kneighborsregressor__p": [1, 2],
        "kneighborsregressor__weights": ["uniform", "distance"],
    }
    return GridSearchCV(make_pipeline(StandardScaler(), KNeighborsRegressor()), grid)


def _mlp(seed):
    mlp = make_pipeline(StandardScaler(), MLPRegressor(random_state=seed))
    return TransformedTargetRegressor(mlp, transformer=StandardScaler())


def _lightgbm(seed):
    from lightgbm import LGBMRegressor

    return LGBMRegressor(random_state=seed, verbose=-1)


def _xgboost(seed):
    from xgboost import XGBRegressor

    return XGBRegressor(random_state=seed)


def _catboost(seed):
    from catboost import CatBoostRegressor

    return CatBoostRegressor(random_seed=seed, verbose=0, allow_writing_files=False)


def pytabkit(name):
    """Maker of a method of pytabkit: one fold, and the threads that the process may use."""

    def make(seed):
        import pytabkit

        options = {"device": "cpu", "n_cv": 1, "n_threads": get_num_threads()}
        return getattr(pytabkit, name)(random_state=seed, **options)

    return make


def _ours(estimator=NONARegressor, **params):
    return lambda seed: make_regressor(estimator, random_state=seed, **params)


def _networks(estimator=NONARegressor, **params):
    """Ours without boosting."""
    return _ours(estimator, **{"blend": None} | params)


FAST_PEERS = {
    "ridge": lambda seed: make_pipeline(StandardScaler(), RidgeCV()),
    "tuned k-NN": _knn,
    "MLPRegressor": _mlp,
    "random forest": lambda seed: RandomForestRegressor(random_state=seed),
    "hist. boosting": lambda seed: HistGradientBoostingRegressor(random_state=seed),
    "LightGBM": _lightgbm,
    "XGBoost": _xgboost,
    "CatBoost": _catboost,
}
DEEP_PEERS = {
    "RealMLP-TD": pytabkit("RealMLP_TD_Regressor"),
    "TabM-D": pytabkit("TabM_D_Regressor"),
    "xRFM-D": pytabkit("XRFM_D_Regressor"),
    "TabR-S-D": pytabkit("TabR_S_D_Regressor"),
}
PEERS = FAST_PEERS | DEEP_PEERS
OURS = {
    "NONA": _ours(),
    "NONA, no boosting": _networks(),
    "SoftStep k-NN": _ours(SoftStepKNNRegressor),
}
ABLATIONS = {
    "NONA, linear head only": _networks(LinearHeadRegressor),
    "NONA, no SoftStep": _networks(softstep=None),
    "NONA, no trend": _networks(trend=None),
    "NONA, one member": _networks(n_estimators=1),
    "NONA, in-batch context": _networks(context_size=None),
    "NONA, no weight average": _networks(ema_decay=None),
    "NONA, validation rows kept out": _networks(refit=False),
    "NONA, the paper's setting": _ours(**PAPER),
}
METHODS = PEERS | OURS | ABLATIONS
