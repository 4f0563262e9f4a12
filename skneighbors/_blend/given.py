"""The parameter `blend`: what it may be, and what of the arguments of `fit` it is given."""

from inspect import Parameter, signature
from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, get_routing_for_object

from .._columns import show, unwrap
from .._utils.sklearn_private import take_samples

_HOW = (
    "With sklearn.set_config(enable_metadata_routing=True), it and what is in it get what they "
    "request, as by set_fit_request(sample_weight=True)."
)
_NO_WEIGHTS = "One whose fit has no sample_weight cannot be blended where weights are given."


class Metadata(NamedTuple):
    """What a regressor's `fit` is given beside X and y, by the names of its parameters."""

    by_sample: dict[str, Any]
    others: dict[str, Any]

    def take(self, samples):
        """Select what goes with some samples."""
        taken = {name: take_samples(values, samples) for name, values in self.by_sample.items()}
        return {**taken, **self.others}


def is_given(blend):
    """Whether a blended model is an estimator of the user's."""
    return not (blend is None or isinstance(blend, str | type))


def tags_of(estimator):
    """Tags of an estimator; None if it is made without scikit-learn's base class."""
    try:
        return get_tags(estimator) if hasattr(estimator, "__sklearn_tags__") else None
    except AttributeError:
        return None


def check_blend(blend, can_boost):
    """Check what needs no data.

    Raises
    ------
    TypeError, ValueError
        If it is no regressor, or needs a table and there is none.
    """
    if isinstance(blend, type):
        raise TypeError(f"blend must be a regressor, not a class; got {blend!r}.")
    if isinstance(blend, str) and blend == "boosting" and not can_boost:
        raise ValueError(
            "blend='boosting' needs a table and targets that it takes; with a feature_extractor, "
            "use None or 'auto'."
        )
    if is_given(blend) and not _is_regressor(blend):
        raise ValueError(f"blend must be a regressor; got {show(blend)}.")


def _is_regressor(value):
    """Whether a value regresses, fitted or not."""
    if not hasattr(value, "fit") or isinstance(value, type):
        return False
    kind = getattr(tags_of(value), "estimator_type", None)
    # Some have `predict` only once they are fitted; some have no tags.
    return kind == "regressor" or (kind is None and hasattr(value, "predict"))


def metadata_router(estimator):
    """Routing of what `fit` is given: the estimator takes it itself, and so may its `blend`."""
    router = MetadataRouter(owner=type(estimator).__name__).add_self_request(estimator)
    if is_given(estimator.blend):
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router.add(blend=estimator.blend, method_mapping=mapping)
    return router


def metadata_for_blend(estimator, samples, groups, time):
    """Find what the `blend` of an estimator is given of the arguments of its `fit`.

    With metadata routing what it requests, else weights alone. Weights of 1 are none.

    Parameters
    ----------
    estimator : BaseEstimator
    samples : TrainingSamples
    groups : str, array-like of shape (n_samples,) or None
        As given.
    time : str, array-like of shape (n_samples,) or None
        As given.

    Returns
    -------
    metadata : Metadata

    Raises
    ------
    ValueError
        If there are weights, and it takes none. Also a subclass, UnsetMetadataPassedError, of
        what it neither requests nor declines.
    """
    blend, validation = estimator.blend, samples.validation
    if not is_given(blend):
        return Metadata({}, {})
    counted = samples.sample_weight[samples.row_of >= 0]
    by_sample = {
        "sample_weight": None if (counted == 1).all() else samples.sample_weight,
        # Splitters take arrays, not names of columns.
        "groups": samples.groups if isinstance(groups, str) else _as_given(groups),
    }
    others = {}
    to_name = others if isinstance(time, str) else by_sample
    to_name["time"] = _as_given(time)
    if validation is not None:
        others = {
            "X_val": validation.X,
            "y_val": validation.y[:, 0] if samples.y.shape[1] == 1 else validation.y,
            "sample_weight_val": None if (validation.weight == 1).all() else validation.weight,
        }
    given = {name for name, values in {**by_sample, **others}.items() if values is not None}
    names = _route(estimator, given) if given else {}
    if "sample_weight" in given and not _takes_weights(blend, names):
        how = _HOW
        if routing_is_enabled():
            how = (
                "A regressor requests it by set_fit_request(sample_weight=True) and declines it by "
                "False."
            )
        raise ValueError(
            f"blend must take sample_weight in fit, as it is given; {show(blend)} does not. {how} "
            f"{_NO_WEIGHTS}"
        )
    parts = (
        {name: part[alias] for name, alias in names.items() if alias in part}
        for part in (by_sample, others)
    )
    return Metadata(*parts)


def _as_given(values):
    """Array of what was given per row, masked values missing; a name or None as it is."""
    return values if isinstance(values, str | None) else np.asarray(unwrap(values))


def routing_is_enabled():
    """Whether scikit-learn routes metadata to those who request it."""
    return get_config()["enable_metadata_routing"]


def _route(estimator, given):
    """Names of the metadata that each parameter of the blend's `fit` gets."""
    if routing_is_enabled():
        router = get_routing_for_object(estimator)
        return router.route_params(caller="fit", params={name: name for name in given}).blend.fit
    parameters = signature(estimator.blend.fit).parameters.values()
    takes_any = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters)
    takes_weights = takes_any or any(parameter.name == "sample_weight" for parameter in parameters)
    return {name: name for name in given & {"sample_weight"} if takes_weights}


def _takes_weights(blend, names):
    """Whether weights reach a regressor; with routing, also whether it declines them."""
    if routing_is_enabled():
        return any(map(_names_weights, _innermost(blend)))
    return "sample_weight" in names


def _innermost(regressor):
    """Innermost of the regressors in a regressor; the regressor itself if there are none."""
    inner = [value for value in regressor.get_params().values() if _is_regressor(value)]
    return [innermost for part in inner for innermost in _innermost(part)] or [regressor]


def _names_weights(regressor):
    routing = get_routing_for_object(regressor)
    if isinstance(routing, MetadataRouter):
        return True  # it makes the weights that it needs, or is one of ours
    # An alias requests metadata that `fit` is not given.
    return any(
        alias == "sample_weight" or (name == "sample_weight" and not isinstance(alias, str))
        for name, alias in routing.fit.requests.items()
    )


def name_origin(error, blend, samples, metadata):
    """Let what a regressor raises say where it comes from, and what may help.

    Parameters
    ----------
    error : Exception
    blend : estimator
    samples : TrainingSamples
    metadata : Metadata

    Returns
    -------
    error : Exception
        The same, with a note, shown from Python 3.11 on. Where weights are what it cannot be
        given, a ValueError that says how they can.
    """
    name, text, routed = show(blend), str(error).replace("_", " "), routing_is_enabled()
    is_refusal = isinstance(error, ValueError | TypeError) and "sample weight" in text
    if is_refusal and not routed and "sample_weight" in metadata.by_sample:
        first_line = str(error).strip().partition("\n")[0]
        return ValueError(
            f"blend must take sample_weight in fit; {name} raised: {first_line}\n"
            f"{_HOW} {_NO_WEIGHTS}"
        )
    note = f"blend={name} failed on X and y as given."
    if np.isnan(samples.matrix).any() or (samples.reader and samples.reader.n_categories.any()):
        note += (
            " What it does not take, such as text or missing values, must be encoded in a pipeline."
        )
    if not routed and samples.groups is not None and "groups" in text:
        note += f" It was not given groups. {_HOW}"
    error.__notes__ = [*getattr(error, "__notes__", []), note]
    return error
