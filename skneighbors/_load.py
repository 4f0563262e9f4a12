"""Fitted estimators from files."""

from ._archive import (
    ModelFileError,
    Plain,
    check_attribute,
    from_plain,
    naming,
    read_file,
    unpack_model,
)
from ._nona import NONAClassifier, NONARegressor
from ._settings import Plan
from ._softstep_knn import SoftStepKNNClassifier, SoftStepKNNRegressor
from ._utils.device import resolve_device
from ._utils.parameters import check_argument
from ._utils.sklearn_private import give_settings
from ._utils.typing import PathLike

_KINDS = NONAClassifier, NONARegressor, SoftStepKNNClassifier, SoftStepKNNRegressor
_ESTIMATORS = {kind.__name__: kind for kind in _KINDS}
_PARTS = {"estimator", "params", "attributes", "settings", "model"}


def load(
    path: PathLike, device: str | None = None
) -> NONAClassifier | NONARegressor | SoftStepKNNClassifier | SoftStepKNNRegressor:
    """Read an estimator from a file that its ``save`` has written.

    A file is data: nothing in it is run, whoever wrote it. Predictions are bitwise those of the
    estimator that was saved, on the same machine.

    Parameters
    ----------
    path : str or Path
    device : str, default=None
        Value for the estimator's parameter `device`; None: the one that was saved.

    Returns
    -------
    estimator : a regressor or classifier of this package
        Fitted.

    Raises
    ------
    ModelFileError
        If the file is not one that this version can read, or not as it was written.
    ValueError
        If `device` names none that is there.
    OSError
        If it can't be read.
    ImportError
        If it holds values of pandas, such as intervals, and pandas is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from sklearn.datasets import make_friedman1
    >>> from skneighbors import NONARegressor, load
    >>> X, y = make_friedman1(n_samples=100, random_state=0)
    >>> model = NONARegressor(max_iter=5, random_state=0).fit(X[:80], y[:80])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "model.safetensors")
    ...     again = load(Path(folder) / "model.safetensors")
    >>> np.array_equal(again.predict(X[80:]), model.predict(X[80:]))
    True
    """
    if device is not None:
        check_argument("load", "device", device, [str])
        resolve_device(device)
    tree, arrays = read_file(path)
    with naming(f"{path} holds no model that this version can read"):
        if set(tree) != _PARTS:
            raise ModelFileError(f"{path} holds other parts than a model: {sorted(tree)}")
        kind = _ESTIMATORS[tree["estimator"]]
        others = {name: own for name, own in arrays.items() if name.startswith("estimator.")}
        packed = {name: own for name, own in arrays.items() if name not in others}
        parts = {"tuple": [tree[name] for name in ("params", "attributes", "settings")]}
        params, attributes, settings = from_plain(Plain(parts, others))
        if device is not None:
            params["device"] = device
        estimator = kind(**params)
        estimator._validate_params()
        plan = attributes["plan_"]
        if type(plan) is not Plan:
            raise ValueError("plan_ is no plan")
        give_settings(estimator, **settings)
        for name in attributes:
            check_attribute(kind, name)
        vars(estimator).update(attributes)
        model = unpack_model(
            Plain(tree["model"], packed), plan, estimator._make_head, is_foreign=True
        )
        if not isinstance(model.task, kind._task_class):
            raise ValueError(f"a {kind.__name__} predicts something else")
    vars(estimator).update(model.task.attributes(), _model=model)
    return estimator
