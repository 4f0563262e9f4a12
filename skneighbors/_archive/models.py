"""Fitted estimators taken apart, for a pickle or for a file."""

import pickle
from dataclasses import replace

import torch

from .._columns import show
from .._fit import make_network
from .._model import Model
from .._utils.device import CPU
from .._utils.process import torch_threads
from .._utils.random import BorrowedGenerators
from .._utils.sklearn_private import SETTINGS, settings_of
from .checks import check_model, check_predictions, check_widths
from .container import find_place, write_file
from .values import Plain, from_plain, to_plain

_NETWORK, _ONLY_LAYER = "network.", "embedder.layers.0.weight"


def pack_model(model):
    """Take a :class:`Model` apart, its networks by their parameters and buffers."""
    network = model.bank.network
    plain = to_plain(replace(model, bank=replace(model.bank, network=None)), "model")
    if network.feature_extractors is not None:
        plain.objects["feature_extractor"] = network.feature_extractors
    for name, tensor in network.state_dict().items():
        if not name.startswith("feature_extractors."):
            plain.arrays[_NETWORK + name] = tensor.numpy()
    return plain


def unpack_model(plain, plan, make_head, is_foreign=False):
    """Undo :func:`pack_model`.

    Parameters
    ----------
    plain : Plain
    plan : Plan
    make_head : callable
        See :func:`make_network`.
    is_foreign : bool, default=False
        Whether it may come from anyone, and is to be checked.

    Returns
    -------
    model : Model
    """
    names = [name for name in plain.arrays if name.startswith(_NETWORK)]
    state = {name.removeprefix(_NETWORK): plain.arrays[name] for name in names}
    others = {name: array for name, array in plain.arrays.items() if name not in names}
    model = from_plain(Plain(plain.tree, others, plain.objects))
    if type(model) is not Model:
        raise ValueError("this is no model")
    torch_threads.note()  # as copies of tensors are shared among threads
    if is_foreign:
        check_model(model, plan)
        check_widths(plan, state)
    first = "embedder.layers.0.linear.weight" if plan.hidden_layer_sizes else _ONLY_LAYER
    with BorrowedGenerators(0, CPU)(), CPU:  # what is drawn is overwritten
        n_targets, n_features = model.bank.rows.targets.shape[1], state[first].shape[2]
        network = make_network(n_targets, model.encoder, plan, make_head, n_features).double()
    network.load_state_dict(
        {name: torch.tensor(array, device=CPU) for name, array in state.items()}
    )
    network.feature_extractors = plain.objects.get("feature_extractor")
    network.eval().requires_grad_(False)
    model = replace(model, bank=replace(model.bank, network=network))
    if is_foreign:
        check_predictions(model)
    return model


def save_estimator(estimator, path):
    """Write a fitted estimator to a file; see its ``save``."""
    kind, place = type(estimator), find_place(path)
    if kind.__module__.split(".")[0] != "skneighbors":
        advice = _advise(kind, "fit one of ours")
        raise ValueError(f"A file holds no estimator such as {kind.__name__}. {advice}")
    estimator._validate_params()  # as whoever loads the file will
    params, model = estimator.get_params(deep=False), estimator._model
    others = vars(estimator).keys() - {"_model", *SETTINGS, *params}
    attributes = {name: vars(estimator)[name] for name in others}
    for name in attributes:
        check_attribute(kind, name)
    parts = {"params": params, "attributes": attributes, "settings": settings_of(estimator)}
    rest, packed = to_plain(parts, "estimator"), pack_model(model)
    _refuse_objects(rest.objects | packed.objects, model.reader)
    tree = {"estimator": kind.__name__, **rest.tree["dict"], "model": packed.tree}
    write_file(place, tree, rest.arrays | packed.arrays)


def check_attribute(kind, name):
    """Check that a name is one that a fitted estimator of a class may have."""
    if not name.endswith("_") or hasattr(kind, name):
        raise ValueError(f"{name!r} is no attribute of a fitted estimator: a file can't hold it.")


def _refuse_objects(objects, reader):
    """Raise ValueError for the first of the values, by their paths, that are not plain."""
    for path, value in objects.items():
        what, instead = _describe(path, reader)
        raise ValueError(
            f"A file cannot hold {what}: {show(value)}, of type {type(value).__name__!r}. "
            f"{_advise(list(objects.values()), instead)}"
        )


def _describe(path, reader):
    """Describe what stands at a path, and what to do about it."""
    whole, *parts = path.split(".")
    match [whole, *parts]:
        case ["estimator", "params", name, *_]:
            return f"the parameter {name!r}", "fit without it"
        case ["estimator", "attributes", name, *_]:
            return f"the attribute {name!r}", "delete it"
        case ["model", "reader", "kinds", i, *_]:
            j = reader.order[int(i)]
            name = j if reader.names is None else show(reader.names[j])
            return f"a category of column {name} of X", "make that column text before you fit"
        case ["model", "reader", "names", *_]:
            return "the name of a column of X", "give it another before you fit"
        case ["model", "numbering", *_]:
            return "a label in the index of X", "give X another index before you fit"
    return f"the model's {parts[0] if parts else whole!r}", "fit without it"


def _advise(values, instead):
    """Advise how to save values that a file cannot hold."""
    try:
        pickle.dumps(values)
    except Exception as error:
        return f"Neither can pickle or joblib ({error!s:.150}): {instead}."
    return f"Use pickle or joblib, or {instead}."
