"""Fitted estimators taken apart, for a pickle or for a file."""

from dataclasses import replace

import torch

from .._fit import make_network
from .._model import Model
from .._utils.device import CPU
from .._utils.random import BorrowedGenerators
from .._utils.sklearn_private import CALLBACKS
from .._utils.threads import torch_threads
from .checks import check_answers, check_model, check_widths
from .container import check_folder, write_file
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
        check_answers(model)
    return model


def save_estimator(estimator, path):
    """Write a fitted estimator to a file; see its ``save``."""
    if type(estimator).__module__.split(".")[0] != "skneighbors":
        raise ValueError(f"A file holds no estimator such as {type(estimator).__name__}.")
    check_folder(path)
    model, attributes = estimator._model, dict(vars(estimator))
    params = estimator.get_params(deep=False)
    for name in ("_model", CALLBACKS, *params):
        attributes.pop(name, None)
    packed = pack_model(model)
    rest = to_plain({"params": params, "attributes": attributes}, "estimator")
    objects = rest.objects | packed.objects
    if objects:
        path, value = next(iter(objects.items()))
        raise ValueError(
            f"A file holds no {path.split('.')[-1]!r} such as {value!r:.60}. Use pickle, joblib or "
            "skops, or fit without it."
        )
    tree = {"estimator": type(estimator).__name__, **rest.tree["dict"], "model": packed.tree}
    write_file(path, tree, rest.arrays | packed.arrays)
