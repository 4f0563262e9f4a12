"""Fitted estimators from files."""

from ._io import ESTIMATORS, ModelFileError, check_attribute, naming, read, read_file
from ._model import Model
from ._nona import NONAClassifier, NONARegressor
from ._softstep_knn import SoftStepKNNClassifier, SoftStepKNNRegressor
from ._utils.arrays import Stored, check_stored
from ._utils.device import resolve_device
from ._utils.parameters import PathLike, check_argument
from ._utils.sklearn_private import give_settings

_KINDS = NONAClassifier, NONARegressor, SoftStepKNNClassifier, SoftStepKNNRegressor
ESTIMATORS.update({kind.__name__: kind for kind in _KINDS})
_PARTS = {"format", "estimator", "params", "attributes", "settings", "model"}


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
    ...     model.save(Path(folder) / "model.skops")
    ...     again = load(Path(folder) / "model.skops")
    >>> np.array_equal(again.predict(X[80:]), model.predict(X[80:]))
    True
    """
    if device is not None:
        check_argument("load", "device", device, [str])
        resolve_device(device)
    tree = read_file(path)
    with naming(f"{path} holds no model that this version can read"):
        if set(tree) != _PARTS:
            raise ModelFileError(f"{path} holds other parts than a model: {sorted(tree)}")
        kind = ESTIMATORS[tree["estimator"]]
        params, attributes = read(tree["params"]), read(tree["attributes"])
        if device is not None:
            params["device"] = device
        estimator = kind(**params)
        estimator._validate_params()
        give_settings(estimator, **read(tree["settings"]))
        for name, value in attributes.items():
            check_attribute(kind, name)
            if isinstance(value, Stored):
                check_stored(value, {}, f"{name}.")
        vars(estimator).update(attributes)
        model = read(tree["model"])
        if type(model) is not Model or not isinstance(model.task, kind._task_class):
            raise ValueError(f"a {kind.__name__} predicts something else")
        check_stored(model, {})
    vars(estimator).update(model.task.attributes(), _model=model)
    return estimator
