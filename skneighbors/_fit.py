"""A fit in stages: samples, a plan, a second model, networks, and the model that they make."""

import copy
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from sklearn.utils import check_random_state

from ._blend import NoSecondModel, fit_second_model, share_of_second
from ._columns import (
    EnsembleSplit,
    FeatureEncoder,
    LabelledRows,
    draw_groups,
    find_labels,
)
from ._model import HeldOutQueries, HeldOutRows, Model, NeighborBank, SampleNumbering
from ._network import NeighborNetwork, check_feature_extractor, make_feature_extractor
from ._plan import Plan, make_plan
from ._training import fit_networks, inverse_error_weights
from ._utils.device import CPU, resolve_device
from ._utils.memory import explain_out_of_memory
from ._utils.sklearn_private import take_samples
from .nn import MLPEmbedder

_MAX_SCALED = 1e18  # of targets: single precision can hold their squares
_N_CHECKED_ROWS = 256  # training rows whose predictions must be finite


class Fit(NamedTuple):
    """What comes of a fit: what answers, what was planned, what happened in training."""

    model: Model
    plan: Plan
    history: object


def fit_model(params, tables, target_class, make_head, samples, n_threads):
    """Fit.

    Parameters
    ----------
    params : dict
        Of the estimator, checked.
    tables : sequence of tables
        What ``"auto"`` becomes.
    target_class : subclass of Target
    make_head : callable
        Makes a head from a plan, the number of targets and a trend.
    samples : TrainingSamples
    n_threads : int

    Returns
    -------
    fit : Fit
    """
    device = resolve_device(params["device"])
    random_state = check_random_state(params["random_state"])
    plan, split = _plan(params, tables, samples, random_state)
    encoder, target, data = _scale(samples, target_class)
    second, held_out_second = NoSecondModel(), None
    if plan.blended:
        fitted, held_out_second = fit_second_model(
            plan.params["blend"], samples, target, split, random_state
        )
    data = LabelledRows.from_numpy(*data, device)
    extractor = params["feature_extractor"]
    with explain_out_of_memory("batch_size, embedding_dim or hidden_layer_sizes"):
        network, history = fit_networks(
            lambda: _make_initial_network(data, encoder, plan, make_head, extractor),
            data.float(),
            split.to(device),
            plan,
            target,
            random_state,
            draws_globally=plan.recipe.dropout > 0 or extractor is not None,
            n_threads=n_threads,
            verbose=params["verbose"],
        )
        if plan.blended:
            share = share_of_second(history.best_before_refit.held_out, held_out_second)
            second = replace(fitted, share=share) if share else second
        blended = _predict_second(second, samples, target).to(device)
        bank = _make_bank(network, history, data, plan, blended, second.share)
        if plan.n_validation:
            held_out = _measure_held_out(bank, data, history, split, held_out_second, plan)
            bank = replace(bank, held_out=held_out)
    model = Model(
        bank=bank.to(CPU),
        numbering=SampleNumbering(
            samples.row_of, samples.sample_weight.copy(), find_labels(samples.X)
        ),
        matrix=samples.matrix[samples.rows if samples.reader is not None else []],
        reader=samples.reader,
        encoder=encoder,
        target=target,
        second=second,
        x_shape=samples.matrix.shape[1:],
    )
    return Fit(model, plan, history)


def _plan(params, tables, samples, random_state):
    """Plan for so many samples, and the rows that each member holds out."""
    n_rows, validation = len(samples.rows), samples.validation
    arguments = params, tables, n_rows
    if validation is not None:
        plan = make_plan(*arguments, n_given=len(validation.y))
        is_held_out = np.arange(n_rows + plan.n_validation) >= n_rows
        return plan, EnsembleSplit.hold_out(is_held_out, len(plan.trends))
    plan = make_plan(*arguments)
    if samples.groups is None or not plan.n_validation:
        n_members = len(plan.trends)
        return plan, EnsembleSplit.draw(n_rows, plan.n_validation, n_members, random_state)
    is_held_out = draw_groups(samples.row_groups, plan.n_validation, random_state)
    plan = make_plan(*arguments, n_drawn=int(is_held_out.sum()))
    return plan, EnsembleSplit.hold_out(is_held_out, len(plan.trends))


def _scale(samples, target_class):
    """Make an encoder, a target, and of the rows what they make: X, y, weight, group.

    Those given for validation come last.
    """
    rows, validation, encoder = samples.rows, samples.validation, None
    X, y, weight, groups = samples.matrix[rows], samples.y[rows], samples.weight, samples.row_groups
    if samples.reader is not None:
        encoder = FeatureEncoder.fit(X, weight, samples.reader.n_levels)
    target = target_class.fit(y, weight, samples.y_ndim)
    if validation is not None:
        if np.abs(target.transform(validation.y)).max() > _MAX_SCALED:
            raise ValueError("y_val holds values too far from those of y for single precision.")
        X, y = np.concatenate([X, validation.matrix]), np.concatenate([y, validation.y])
        weight = np.concatenate([weight, validation.weight])
        if groups is not None:
            groups = np.concatenate([groups, np.full(len(validation.y), -1)])
    X = X if encoder is None else encoder.transform(X)
    return encoder, target, (X, target.transform(y), weight, groups)


def _make_initial_network(data, encoder, plan, make_head, feature_extractor):
    """Network to train, with copies of the user's feature extractor if there is one."""
    n_targets = data.y.shape[1]
    if feature_extractor is None:
        return make_network(n_targets, encoder, plan, make_head, None)
    extractors = [make_feature_extractor(feature_extractor) for _ in plan.trends]
    X = data.X[:2].float().cpu()
    n_features, *_ = [check_feature_extractor(own, X) for own in extractors]
    # A callable may return one and the same module each time.
    extractors = [copy.deepcopy(own) for own in extractors]
    return make_network(n_targets, encoder, plan, make_head, n_features, extractors)


def make_network(n_targets, encoder, plan, make_head, n_features, feature_extractors=None):
    """Make networks with initial weights, all members side by side.

    Parameters
    ----------
    n_targets : int
    encoder : FeatureEncoder or None
    plan : Plan
    make_head : callable
    n_features : int
        What the embedders take, where there is no encoder.
    feature_extractors : list of nn.Module, default=None

    Returns
    -------
    network : NeighborNetwork
    """
    recipe, numerical_embedding, n_plain, n_levels = plan.recipe, None, 0, ()
    if encoder is not None:
        n_features, n_plain = len(encoder.numbers), encoder.n_plain
        n_levels = encoder.n_levels[encoder.coded].tolist()
        numerical_embedding = recipe.numerical_embedding
    embedders = [
        MLPEmbedder(
            n_features,
            plan.hidden_layer_sizes,
            plan.embedding_dim,
            activation=recipe.activation,
            numerical_embedding=numerical_embedding,
            batch_norm=recipe.batch_norm,
            dropout=recipe.dropout,
            n_plain=n_plain,
            n_levels=n_levels,
        )
        for _ in plan.trends
    ]
    # Members that run as one have the same parameters, used or not.
    trend = "linear" if "linear" in plan.trends else None
    heads = [make_head(plan, n_targets, trend) for _ in plan.trends]
    for head, own_trend in zip(heads, plan.trends, strict=True):
        if own_trend is None:
            head.turn_off_trend()
    return NeighborNetwork(feature_extractors, embedders, heads)


def _predict_second(second, samples, target):
    """Predict the rows by the second model, to a Tensor (n_rows, n_targets)."""
    X = samples.X if second.takes_matrix else take_samples(samples.X, samples.rows)
    return torch.from_numpy(second.predict(X, samples.matrix[samples.rows], target))


def _make_bank(network, history, data, plan, blended, share):
    """Neighbours for the networks, which weigh by their kinds' validation errors."""
    weights = inverse_error_weights(history.best_before_refit.held_out, plan.trends)
    X, y, weight, group = data.first(plan.n_samples)
    bank = NeighborBank.build(network, X, y, weight, weights.to(X.device), blended, share, group)
    some = slice(_N_CHECKED_ROWS)
    if not bank.predict(bank.z_n[some], blended[some], plan.n_neighbors).isfinite().all():
        raise FloatingPointError(
            f"Predictions with the weights of epoch {history.best_epoch}, which are "
            "kept, are not finite. Lower learning_rate_init or check the scale of "
            "sample_weight."
        )
    return bank


def _measure_held_out(bank, data, history, split, second, plan):
    """Find residuals of what was held out; `second` (m, n, k) is what the second model predicts."""
    share = bank.blend_share
    if len(data.X) > len(bank):  # given for validation, and never trained on
        X, y, weight, _ = (None if part is None else part[len(bank) :].cpu() for part in data)
        weight = torch.ones_like(y[:, 0]) if weight is None else weight
        blended, rows = second[0] if share else torch.zeros_like(y), torch.full((len(y),), -1)
        return HeldOutQueries(bank.embed(X.to(bank.z_n.device)).cpu(), y, blended, weight, rows)
    y, y_hat, _, weight = history.best_before_refit.held_out
    if share:
        y_hat = (1 - share) * y_hat + share * second.to(y_hat.device)
    rows = split.validation.to(y.device)
    return HeldOutRows.of_members(y - y_hat, weight, rows, plan.n_neighbors)
