"""Regressors to compare: peers at their defaults, ours, and ours with pieces taken away."""

from _surfaces import LinearHeadRegressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skneighbors import NONARegressor, SoftStepKNNRegressor

# The paper's model, as the user guide has it.
PAPER = {
    "hidden_layer_sizes": (200,),
    "embedding_dim": 25,
    "activation": "tanh",
    "batch_norm": False,
    "numerical_embedding": None,
    "temperature": None,
    "trend": None,
    "sharpness": 1.0,
    "context_size": None,
    "batch_size": 32,
    "learning_rate": "constant",
    "learning_rate_init": 1e-3,
    "weight_decay": 0.0,
    "ema_decay": None,
    "n_estimators": 1,
    "max_iter": 200,
    "early_stopping": True,
    "validation_fraction": 0.15,
    "n_iter_no_change": 10,
}


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


def _realmlp(seed):
    from pytabkit import RealMLP_TD_Regressor

    return RealMLP_TD_Regressor(random_state=seed, device="cpu", n_cv=1)


def _tabr(seed):
    from pytabkit import TabR_S_D_Regressor

    return TabR_S_D_Regressor(random_state=seed, device="cpu", n_cv=1)


def _ours(estimator=NONARegressor, **params):
    return lambda seed: estimator(random_state=seed, **params)


FAST_PEERS = {
    "tuned k-NN": _knn,
    "MLPRegressor": _mlp,
    "random forest": lambda seed: RandomForestRegressor(random_state=seed),
    "hist. boosting": lambda seed: HistGradientBoostingRegressor(random_state=seed),
    "LightGBM": _lightgbm,
    "XGBoost": _xgboost,
    "CatBoost": _catboost,
}
DEEP_PEERS = {"RealMLP-TD": _realmlp, "TabR-S-D": _tabr}
PEERS = FAST_PEERS | DEEP_PEERS
OURS = {"NONA": _ours(), "SoftStep k-NN": _ours(SoftStepKNNRegressor)}
ABLATIONS = {
    "NONA, linear head only": _ours(LinearHeadRegressor),
    "NONA, no SoftStep": _ours(softstep=None),
    "NONA, linear trend": _ours(trend="linear"),
    "NONA, no trend": _ours(trend=None),
    "NONA, no dropout": _ours(dropout=0.0),
    "NONA, not sharpened": _ours(sharpness=1.0),
    "NONA, one member": _ours(n_estimators=1),
    "NONA, two hidden layers": _ours(hidden_layer_sizes=(256, 256)),
    "NONA, uniform context": _ours(context_neighbors=None),
    "NONA, in-batch context": _ours(context_size=None),
    "NONA, no weight average": _ours(ema_decay=None),
    "NONA, validation rows held out": _ours(early_stopping=True),
    "NONA, the paper's setting": _ours(**PAPER),
}
METHODS = PEERS | OURS | ABLATIONS
