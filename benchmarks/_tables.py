"""Real tables of the local folder, as they come, and every method with its encoding of them."""

import json

import numpy as np
import pandas as pd
from _data import available, data_folder, load_split, shuffle_and_cut
from _methods import DEEP_PEERS, FAST_PEERS, OURS
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

MISSING = "missing"
# Categories of a column that histogram boosting takes.
MAX_CATEGORIES = 255
# Those that become indicators for k-NN.
MAX_ONE_HOT = 30
# Tables whose test rows are later than the others, and what says when.
TIMES = {
    "seoul_bike": ("Date", "Hour"),
    "traffic": ("date_time", "date_time hour"),
    "korea_tmax": ("Date",),
    "irish_power": ("DateTime",),
}


def available_tables():
    """Names of the tables of the folder; none if it is not there."""
    folder = data_folder()
    if folder is None or not (folder / "tables").is_dir():
        return []
    return sorted(path.name.split(".")[0] for path in (folder / "tables").glob("*.csv.gz"))


def read_table(name):
    """Table as pandas reads it, its features and its target."""
    table = pd.read_csv(data_folder() / "tables" / f"{name}.csv.gz", low_memory=False)
    left = [c for c in table if not c.startswith("test_") and c not in ("target", "group")]
    return table, table[left], table["target"].to_numpy(dtype=float)


def load_table(name, split):
    """Train and test part of a table, shuffled and cut, as pandas reads it.

    Parameters
    ----------
    name : str
    split : int
        Seed: its column says which rows are for the test.

    Returns
    -------
    X_train, X_test : DataFrame
        Columns that are said to hold categories have the dtype of categories. Where the split
        is by group or time, `X_train.attrs` holds "groups" or the names of columns, "times".
    y_train, y_test : ndarray
    """
    table, X, y = read_table(name)
    is_test = table[f"test_{split}"].to_numpy() == 1
    group = table["group"].to_numpy() if "group" in table else None
    categorical = data_folder() / "tables" / "categorical.json"
    categorical = json.loads(categorical.read_text(encoding="utf-8"))[name]
    X = X.astype(dict.fromkeys((c for c in categorical if c in X), "category"))
    train, test = shuffle_and_cut(is_test, split)
    X_train = X.iloc[train]
    if group is not None:
        X_train.attrs["groups"] = group[train].tolist()
    if name in TIMES:
        X_train.attrs["times"] = TIMES[name]
    return X_train, X.iloc[test], y[train], y[test]


def sets_and_tables():
    """Names of the numeric sets, and of the tables that have other names."""
    sets = available()
    return [*sets, *(name for name in available_tables() if name not in sets)]


def load_set_or_table(name, split):
    """Train and test part of a numeric set or a table, both as tables."""
    if name not in available():
        return load_table(name, split)
    X, X_test, y, y_test = load_split(name, split)
    X, X_test = (pd.DataFrame(part).add_prefix("x") for part in (X, X_test))
    return X, X_test, y, y_test


class Native:
    """A peer whose table is prepared first."""

    def __init__(self, model, prepare):
        self.model, self.prepare = model, prepare

    def fit(self, X, y):
        """Fit."""
        self.model.fit(self.prepare(X), y)
        return self

    def predict(self, X):
        """Predict."""
        return self.model.predict(self.prepare(X))

    def predict_proba(self, X):
        """Predict probabilities of classes."""
        return self.model.predict_proba(self.prepare(X))


def text_as_categories(X):
    """Give text the dtype of categories, which others need."""
    return X.astype(dict.fromkeys(X.select_dtypes(exclude=["number", "bool"]), "category"))


def _as_text(X):
    """Categories as text, missing ones as another category."""
    names = list(X.select_dtypes("category"))
    text = {name: X[name].astype(object).where(X[name].notna(), MISSING) for name in names}
    return X.assign(**{name: column.astype(str) for name, column in text.items()})


class _CatBoost(Native):
    """CatBoost, given the columns of categories."""

    def fit(self, X, y):
        """Fit."""
        self.model.set_params(cat_features=list(X.select_dtypes("category")))
        return super().fit(X, y)


class _CatBoostText(_CatBoost):
    """CatBoost that reads categories of several words as text, too."""

    def __init__(self, seed):
        super().__init__(FAST_PEERS["CatBoost"](seed), self._with_text)

    def fit(self, X, y):
        """Fit."""
        self.texts = [name for name in X.select_dtypes("category") if _are_texts(X[name])]
        self.model.set_params(text_features=[f"{name} as text" for name in self.texts])
        return super().fit(X, y)

    def _with_text(self, X):
        X = _as_text(X)
        return X.assign(**{f"{name} as text": X[name] for name in self.texts})


def _are_texts(column):
    texts = column.dropna().unique().astype(str)
    return len(texts) > 30 and np.mean([len(text.split()) for text in texts]) >= 2.5


def _catboost(seed):
    return _CatBoost(FAST_PEERS["CatBoost"](seed), _as_text)


def _xgboost(seed):
    return FAST_PEERS["XGBoost"](seed).set_params(enable_categorical=True)


def _ordinal(max_categories=0):
    """Encode columns of more categories by their order."""

    def columns(X):
        names = X.select_dtypes("category")
        return [name for name in names if names[name].nunique() > max_categories]

    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=np.nan
    )
    return make_column_transformer(
        (encoder, columns), remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")


def as_numbers():
    """Make a transformer of tables: categories one-hot, medians for missing values, scaled."""
    categories = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=5)
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    is_text = make_column_selector(dtype_include="category")
    return make_column_transformer((categories, is_text), remainder=numbers)


def as_dense_numbers():
    """Make a transformer of tables for k-NN: the same, but codes for categories of many values."""
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    columns = one_hot, make_column_selector(dtype_include="category")
    return make_pipeline(_ordinal(MAX_ONE_HOT), make_column_transformer(columns, remainder=numbers))


def _ridge(seed):
    return make_pipeline(as_numbers(), RidgeCV())


def _histogram_boosting(seed):
    return make_pipeline(_ordinal(MAX_CATEGORIES), FAST_PEERS["hist. boosting"](seed))


def _random_forest(seed):
    return make_pipeline(_ordinal(), FAST_PEERS["random forest"](seed))


class Filled(Native):
    """A peer of pytabkit, which takes categories by their dtype and refuses missing numbers.

    It gets medians in their place, and flags.
    """

    def __init__(self, model):
        super().__init__(model, self._fill)

    def fit(self, X, y):
        """Fit."""
        numbers = X.select_dtypes("number")
        self.medians, self.missing = numbers.median(), numbers.columns[numbers.isna().any()]
        return super().fit(X, y)

    def _fill(self, X):
        flags = {f"{name} is missing": X[name].isna().astype(float) for name in self.missing}
        return (
            _as_text(X.fillna(self.medians))
            .astype(dict.fromkeys(X.select_dtypes("category"), "category"))
            .assign(**flags)
        )


def _deep(name):
    return lambda seed: Filled(DEEP_PEERS[name](seed))


TABLE_PEERS = {
    "ridge": _ridge,
    "random forest": _random_forest,
    "hist. boosting": _histogram_boosting,
    "LightGBM": FAST_PEERS["LightGBM"],
    "XGBoost": _xgboost,
    "CatBoost": _catboost,
    "CatBoost, text": _CatBoostText,
}
DEEP_TABLE_PEERS = {name: _deep(name) for name in ("RealMLP-TD", "TabM-D", "xRFM-D")}
TABLE_METHODS = TABLE_PEERS | DEEP_TABLE_PEERS | OURS
