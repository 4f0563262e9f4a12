"""Bad input raises what scikit-learn users expect, names the value, and trains nothing."""

import threading

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from skneighbors import NONARegressor, Recipe, SoftStepKNNRegressor
from skneighbors._training.loop import Training

X = np.random.RandomState(0).normal(size=(20, 3))
y = X[:, 0]


@pytest.fixture(autouse=True)
def no_training(monkeypatch):
    """Fail any test that gets as far as training."""

    def run(self):
        raise AssertionError("training began")

    monkeypatch.setattr(Training, "run", run)


def with_value(array, value):
    changed = array.astype(object if isinstance(value, str) else np.result_type(array, value))
    changed.flat[4] = value
    return changed


BAD_DATA = {
    "inf in X": (with_value(X, np.inf), y, "Column 1 of X contains infinity"),
    "nothing but gaps": (np.full((20, 3), np.nan), y, "X has no column with a value"),
    "a name": ("data.csv", y, "Expected 2D array, got scalar array"),
    "ragged X": ([[1.0], [1.0, 2.0]] * 10, y, "inhomogeneous|sequence"),
    "complex X": (X + 1j, y, "Complex data not supported"),
    "sparse X": (sparse.csr_matrix(X), y, "(?i)sparse"),
    "1-d X": (X[:, 0], y, "Expected 2D array, got 1D array"),
    "3-d X without feature_extractor": (X[:, :, None], y, "Found array with dim 3"),
    "no features": (X[:, :0], y, r"0 feature\(s\)"),
    "a frame without columns": (pd.DataFrame(index=range(20)), y, r"0 feature\(s\)"),
    "an array in a cell of y": (X, np.array([*y[:-1], y], dtype=object), r"y holds array\(\["),
    "no rows": (X[:0], y[:0], r"0 sample\(s\)"),
    "one row": (X[:1], y[:1], "1 sample"),
    "y of another length": (X, y[:-1], r"inconsistent numbers of samples: \[20, 19\]"),
    "y without rows": (X, [], r"inconsistent numbers of samples: \[20, 0\]"),
    "NaN in y": (X, with_value(y, np.nan), "y contains NaN in 1 of 20 rows, such as row 4. Leave"),
    "inf in y": (X, with_value(y, -np.inf), "y contains infinity"),
    "complex y": (X, y + 1j, "Complex data not supported"),
    "a dict as y": (X, dict(enumerate(y)), "y cannot be read as numbers"),
    "an int beyond float64": (X, [10**400, *y[1:]], "y cannot be read as numbers"),
    "no dimension": (X, np.array(None), "y contains NaN, None or NA"),
    "sparse y": (X, sparse.csr_array(y[:, None]), "Sparse data was passed for y"),
    "a missing value": (X, [None, *y[1:]], "y contains NaN, None or NA in 1 of 20 rows"),
    "no y": (X, None, "requires y to be passed"),
    "no target": (X, np.empty((20, 0)), "(at least one target|0 feature)"),
    "3-d y": (X, np.empty((20, 1, 1)), "dim 3"),
    "y beyond float64": (X, np.where(y > 0, 1.7e308, -1.7e308), "y spans more than float64"),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data(estimator_class, case):
    X, y, message = BAD_DATA[case]
    model = estimator_class()
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("bad", ["a" * 5000, ["a" * 5000] * 20, [{"a": "b" * 5000}] * 20])
def test_no_message_is_long(estimator_class, bad):
    for given in ((bad, y), (X, bad)):
        with pytest.raises(ValueError, match=r"Expected 2D array|y (holds|must)") as error:
            estimator_class().fit(*given)
        assert len(str(error.value)) < 1000


def test_weights_of_a_single_row(estimator_class):
    with pytest.raises(ValueError, match="At least 2 samples of positive sample_weight"):
        estimator_class().fit(X, y, sample_weight=np.eye(20)[3])


BAD_PARAMETERS = {
    "recipe": ["paper", {"eps": 0.1}, True],
    "similarity": ["L2", None, 2],
    "softstep": ["s3", 1, True],
    "softstep_parameters": ["local", None],
    "eps": [0.0, 0.5, np.nan, "small", None],
    "temperature": [0.0, -1.0, np.inf, np.nan, "high", None],
    "likeness": [-1.0, np.inf, np.nan, "high", None],
    "trend": ["quadratic", "boosting", True, Ridge(), (), ["linear", None]],
    "blend": ["quadratic", "both", True, ["boosting"], Ridge, Ridge()],
    "categorical_features": ["all", 3, True],
    "rank": ["medium", True],
    "context_size": [0, -1, 3.5, "all", True, 10**30],
    "context_neighbors": [0, 1001, -1, 3.5, "all"],
    "n_estimators": [0, 2.5, None, True, 10**30],
    "n_neighbors": [0, -1, 2.5, "all", True, 10**30],
    "algorithm": ["kd_tree", "brute", None, True],
    "hidden_layer_sizes": [0, (10, 0), (10.5,), "wide", None, {}, True, (True,), 10**30],
    "activation": ["selu", None],
    "batch_norm": ["yes", None],
    "numerical_embedding": ["quantile", True],
    "feature_extractor": ["cnn", torch.nn.Identity],
    "dropout": [-0.1, 1.0, "some"],
    "batch_size": [0, 1, 32.0, None, True, 10**30],
    "learning_rate_schedule": ["cosine", 0.1],
    "embedding_dim": [0, 2.5, None, True, 10**30],
    "learning_rate_init": [0.0, -1e-3, np.inf, "small"],
    "weight_decay": [-0.1, None],
    "ema_decay": [-0.1, 1.0, "slow"],
    "max_iter": [0, 1.5, "all", None, True, 10**30],
    "max_time": [0, -1.0, np.nan, np.inf, "fast", True],
    "boosting_iter": [0, 1.5, None, True, 10**30],
    "early_stopping": ["never", None, 2],
    "validation_fraction": [0.0, 1.0, 5, None, "half"],
    "n_iter_no_change": [0, 1.5],
    "tol": [-1e-3, None, True],
    "refit": ["never", 2],
    "n_jobs": [0, 1.5, True, "all"],
    "device": [None, 0, "tpu", "cuda:x", "mps:0", ""],
    "random_state": ["seed", -1, 1.5],
    "verbose": [2, -1, "loud"],
}


@pytest.mark.parametrize("name", BAD_PARAMETERS)
def test_parameter_out_of_range_or_of_the_wrong_type(estimator_class, name):
    prefix = "recipe__" if name in Recipe().get_params() else ""
    if not prefix and name not in estimator_class().get_params():
        pytest.skip("not a parameter of this estimator")
    for value in BAD_PARAMETERS[name]:
        if value is torch.nn.Identity:
            continue  # a callable; see below for what it returns
        with pytest.raises(ValueError, match=name) as error:
            estimator_class().set_params(**{prefix + name: value}).fit(X, y)
        assert repr(value) in str(error.value) or str(value) in str(error.value)


def test_every_parameter_is_tried():
    estimators = NONARegressor(), SoftStepKNNRegressor(), Recipe()
    assert {name for own in estimators for name in own.get_params()} == set(BAD_PARAMETERS)


def test_softstep_is_no_option_of_softstep_knn():
    with pytest.raises(ValueError, match=r"'softstep' parameter.*'s[12]'.*Got None"):
        SoftStepKNNRegressor(softstep=None).fit(X, y)


def test_missing_cuda(estimator_class, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"device='cuda:7' is not usable.*0 CUDA devices"):
        estimator_class(device="cuda:7").fit(X, y)


class _Flat(torch.nn.Module):
    def forward(self, x):
        return x.sum(1)


@pytest.mark.parametrize(
    ("extractor", "error", "message"),
    [
        (lambda: "a net", TypeError, "feature_extractor must be .* returned 'a net'"),
        (lambda: None, TypeError, "feature_extractor must be .* returned None"),
        (torch.nn.Linear(9, 2), ValueError, r"feature_extractor failed on X of shape \(2, 3\)"),
        (torch.nn.Linear, TypeError, "feature_extractor must be .* callable without arguments"),
        (_Flat, ValueError, r"feature_extractor must map .* mapped \(2, 3\) to \(2,\)"),
        (lambda x: x, TypeError, "missing 1 required positional argument"),
    ],
)
def test_feature_extractor_that_does_not_fit(estimator_class, extractor, error, message):
    with pytest.raises(error, match=message):
        estimator_class(feature_extractor=extractor).fit(X, y)


def test_a_module_that_cannot_be_copied_says_so_itself(estimator_class):
    module = torch.nn.Linear(3, 2)
    module.lock = threading.Lock()
    with pytest.raises(TypeError, match="lock") as caught:
        estimator_class(feature_extractor=lambda: module).fit(X, y)
    assert "without arguments" not in str(caught.value)


BAD_CATEGORICAL_FEATURES = {
    "unknown name": (["color"], "names 'color', which is no column of X"),
    "index beyond": ([3], "names 3, which is no column of X.*from 0 to 2"),
    "mask of another length": ([True, False], r"mask must have an entry .* 3 .* got shape \(2,\)"),
    "a float": ([0.5], "names 0.5, which is no column"),
    "a negative index": ([-1], "names -1, which is no column"),
    "no dimension": (np.array(2), "must have one dimension; got array"),
}


@pytest.mark.parametrize("case", BAD_CATEGORICAL_FEATURES)
def test_categorical_features_that_are_no_columns(estimator_class, case):
    columns, message = BAD_CATEGORICAL_FEATURES[case]
    with pytest.raises(ValueError, match=message):
        estimator_class(categorical_features=columns).fit(X, y)


BAD_VALIDATION = {
    "no y_val": (dict(X_val=X), "X_val and y_val must be given together"),
    "no X_val": (dict(y_val=y), "X_val and y_val must be given together"),
    "weights alone": (dict(sample_weight_val=y), "X_val and y_val must be given together"),
    "other columns": (dict(X_val=X[:, :2], y_val=y), "^X_val: .*expecting 3 features"),
    "inf": (dict(X_val=with_value(X, np.inf), y_val=y), "^X_val: .*contains infinity"),
    "other rows": (dict(X_val=X, y_val=y[:5]), "^y_val: .*inconsistent"),
    "more entries than rows": (dict(X_val=X[:10], y_val=y), "^y_val: .*inconsistent"),
    "too large": (
        dict(X_val=X[:9], y_val=1e20 * y[:9]),
        "y_val holds values too far from those of y",
    ),
    "NaN in y": (dict(X_val=X, y_val=with_value(y, np.nan)), "^y_val: .*contains NaN"),
    "two targets": (
        dict(X_val=X, y_val=np.c_[y, y]),
        "y_val must have as many targets as y, 1; got 2",
    ),
}


@pytest.mark.parametrize("case", BAD_VALIDATION)
def test_bad_validation_rows(estimator_class, case):
    given, message = BAD_VALIDATION[case]
    with pytest.raises(ValueError, match=message):
        estimator_class().fit(X, y, **given)


def test_too_few_groups_to_hold_one_out(estimator_class):
    message = "groups must hold at least 3 groups: one to validate by .*; got 2"
    with pytest.raises(ValueError, match=message):
        estimator_class(early_stopping=True).fit(X, y, groups=np.arange(20) % 2)


@pytest.mark.parametrize("blend", ["boosting", "linear"])
@pytest.mark.parametrize("given", [{}, {"X_val": X, "y_val": y}])
def test_what_needs_rows_held_out(estimator_class, given, blend):
    needed = "X_val" if given else f"blend='{blend}'"
    with pytest.raises(ValueError, match=f"early_stopping must not be False with {needed}"):
        estimator_class(blend=blend, early_stopping=False).fit(X, y, **given)


@pytest.mark.parametrize("temperature", ["calibrated", "both"])
def test_a_calibration_needs_rows_held_out(estimator_class, temperature):
    model = estimator_class(early_stopping=False, recipe=Recipe(temperature=temperature))
    with pytest.raises(ValueError, match=f"with recipe.temperature='{temperature}'"):
        model.fit(X, y)


@pytest.mark.parametrize("blend", ["boosting", "linear"])
def test_a_blend_needs_a_table(estimator_class, blend):
    model = estimator_class(blend=blend, feature_extractor=torch.nn.Identity)
    with pytest.raises(ValueError, match=f"blend='{blend}' needs a table"):
        model.fit(X, y)


@pytest.mark.parametrize("method", ["predict", "suspects", "transform"])
def test_not_fitted(estimator_class, method):
    with pytest.raises(NotFittedError, match=estimator_class.__name__):
        getattr(estimator_class(), method)(X)
