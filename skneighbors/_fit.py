"""A fit in stages: samples, a plan, a blended model, networks, and the model that they make."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ._blend import count_affordable, fit_blended, no_blend
from ._columns import (
    EnsembleSplit,
    FeatureEncoder,
    LabeledRows,
    Likeness,
    LikenessEncoder,
    TrainingSamples,
    find_labels,
    merge_rows,
)
from ._model import Model, NeighborBank, SampleNumbering, ValidationRows
from ._network import NeighborNetwork, check_feature_extractor, make_feature_extractor
from ._plan import Plan, make_plan
from ._recipe import Recipe
from ._selection import complete, weigh
from ._training import Runtime, Training, TrainingData
from ._utils.clock import Clock
from ._utils.device import CPU, resolve_device
from ._utils.progress import show_progress
from ._utils.warn import warn
from .nn import MLPEmbedder

_MAX_SCALED = 1e18  # of targets: single precision can hold their squares
_BLEND_FRACTION = 1 / 2  # of the time that is left, for the blended model
_SHORTENED = 0.75  # fraction of what was planned up to which a fit warns
_N_CHECKED_ROWS = 256  # training rows whose predictions must be finite


class Fit(NamedTuple):
    """Result of a fit: the model, the plan, and what happened in training."""

    model: Model
    plan: Plan
    history: object
    columns: object = None  # how those of X were read
    shortened: str | None = None  # a warning: what `max_time` had no time for

    def warn(self):
        """Warn the user of what went otherwise than planned."""
        history = self.history
        for message in (history.fault, self.shortened):
            if message is not None:
                warn(message, ConvergenceWarning)
        if history.interrupted:
            warn(
                f"Training interrupted; the weights of epoch {history.best_epoch}, the best one "
                f"judged in {len(history.losses)} epochs, are kept."
            )

    def attributes(self):
        """Attributes of the fitted estimator."""
        model, bank = self.model, self.model.bank
        return self.history.curves(self.plan.n_validation > 0) | dict(
            _model=model,
            plan_=self.plan,
            columns_=self.columns,
            blend_weight_=bank.blend_weight,
            likeness_=0.0 if bank.likeness is None else bank.likeness.strength,
            temperature_=bank.network.head.temperature.numpy().copy(),
            n_samples_fit_=len(model.numbering.row_of),
            n_outputs_=bank.rows.targets.shape[1],
        )


@dataclass(frozen=True, eq=False)
class FitInput:
    """What a fit is given, checked.

    Attributes
    ----------
    params : dict
        Of the estimator.
    tables : sequence of tables
        What ``"auto"`` becomes.
    task_class : subclass of Task
    make_head : callable
        Makes a head from a plan and the number of values of a row.
    samples : TrainingSamples
    n_threads : int
    clock : Clock
    """

    params: dict
    tables: tuple
    task_class: type
    make_head: Callable
    samples: TrainingSamples
    n_threads: int
    clock: Clock


@dataclass(frozen=True, eq=False)
class _Parts:
    """What is made before the networks: rows in float64, and a blended model without a weight."""

    rows: LabeledRows
    split: EnsembleSplit
    encoder: FeatureEncoder | None
    likeness_encoder: LikenessEncoder | None
    task: object
    blend: object

    def likeness(self, strength):
        """Likeness, None without an encoder."""
        encoder = self.likeness_encoder
        if encoder is None:
            return None
        weight = torch.from_numpy(encoder.column_weight)
        return Likeness(strength, weight, encoder.n_components).to(self.rows.X.device)


def fit_model(given):
    """Fit.

    Parameters
    ----------
    given : FitInput

    Returns
    -------
    fit : Fit
    """
    params, samples = given.params, given.samples
    device = resolve_device(params["device"])
    random_state = check_random_state(params["random_state"])
    wanted, split = _plan(params, given.tables, samples, given.task_class, random_state)
    encoder, task, data = _scale(samples, given.task_class)
    plan = wanted if task.can_be_blended else replace(wanted, parts=())
    likeness_encoder, columns = _encode_likeness(samples, plan)
    if "boosting" in plan.parts and params["max_time"] is not None:
        plan = _fit_trees_to_time(plan, given, task)
    blend = no_blend(torch.from_numpy(data[1][: plan.n_samples]))
    if plan.parts:
        blend = fit_blended(plan, samples, task, split, random_state, given.n_threads)
    rows = LabeledRows.from_numpy(*data, columns, device)
    parts = _Parts(rows, split, encoder, likeness_encoder, task, blend)
    draws_globally = plan.recipe.dropout > 0 or params["feature_extractor"] is not None
    runtime = Runtime.draw(
        random_state,
        device,
        draws_globally=draws_globally,
        n_threads=given.n_threads,
        clock=given.clock,
    )
    with runtime.borrowed(), CPU:
        network = _make_initial_network(parts, plan, given).to(device)
    data = TrainingData(parts.rows.float(), split.to(device), task, parts.likeness(0.0))
    with (
        torch.autocast(device.type, enabled=False),
        show_progress(params["verbose"], plan.max_epochs, task.score_name) as report,
    ):
        history = Training(network, data, plan, replace(runtime, report=report)).run()
    fit = _finish(samples, parts, network, plan, history)
    if history.n_planned:
        n_epochs = len(history.losses)
        plan = replace(plan, max_iter=n_epochs, params=plan.params | {"max_iter": n_epochs})
    shortened = _describe_shortened(plan, wanted, history, params["max_time"])
    return fit._replace(plan=plan, shortened=shortened)


def _fit_trees_to_time(plan, given, task):
    """Plan as many iterations of boosted trees as there is time for."""
    seconds = _BLEND_FRACTION * given.clock.left()
    n_iter = count_affordable(
        plan.recipe.boosting_iter, given.samples, task, seconds, given.n_threads
    )
    recipe = Recipe(**plan.recipe.get_params() | {"boosting_iter": n_iter})
    return replace(plan, recipe=recipe, params=plan.params | {"recipe": recipe})


def _finish(samples, parts, network, plan, history):
    """Weigh the trained networks and the blended model, and make the model of them."""
    blend, result, strength = weigh(network, history, parts.task, parts.blend, plan)
    if result is not None:
        n_rows = len(parts.split.validation.unique())
        task = parts.task.calibrate(result.y, complete(result, blend), result.weight, n_rows)
        parts = replace(parts, task=task)
    if not strength:
        parts = replace(parts, rows=replace(parts.rows, columns=None), likeness_encoder=None)
    bank, validation = _make_bank(network, history, parts, plan, blend, strength), None
    if plan.n_validation:
        validation = _validate(bank, parts, samples.validation, result, blend, plan)
    model = Model(
        bank=bank.to(CPU),
        validation=validation,
        numbering=SampleNumbering(
            samples.row_of, samples.sample_weight.copy(), find_labels(samples.X)
        ),
        matrix=samples.matrix[samples.rows if samples.reader is not None else []],
        reader=samples.reader,
        encoder=parts.encoder,
        likeness_encoder=parts.likeness_encoder,
        blended_model=blend.model,
        x_shape=samples.matrix.shape[1:],
    )
    return Fit(model, plan, history, samples.columns)


def _plan(params, tables, samples, task_class, random_state):
    """Make a plan and the split into training and validation rows of each member."""
    n_rows, in_time = len(samples.rows), samples.time is not None
    n_given = None if samples.validation is None else len(samples.validation.y)
    make = partial(make_plan, params, tables, n_rows, n_given, in_time)
    plan = make()
    n_members = plan.n_estimators
    if n_given is not None:
        return plan, EnsembleSplit.of_given(n_rows, n_given, n_members)
    if in_time:
        split = EnsembleSplit.draw_last(
            samples.row_time,
            plan.params["validation_fraction"],
            plan.max_validation,
            n_members,
            random_state,
            samples.row_groups,
        )
    elif samples.groups is not None and plan.n_validation:
        split = EnsembleSplit.draw_groups(
            samples.row_groups, plan.n_validation, n_members, random_state
        )
    else:
        strata = task_class.strata(samples.y[samples.rows])
        return plan, EnsembleSplit.draw(n_rows, plan.n_validation, n_members, random_state, strata)
    return make(drawn=tuple(rows.shape[1] for rows in split)), split


def _describe_shortened(plan, wanted, history, max_time):
    """Describe what there was no time for, if it was a quarter or more; else None."""
    counts = [
        (plan.max_iter, history.n_planned, "epochs"),
        (plan.recipe.boosting_iter, wanted.recipe.boosting_iter, "iterations of trees"),
    ]
    missing = [f"{n} of {of} {what}" for n, of, what in counts if n <= _SHORTENED * of]
    if history.refit_out_of_time:
        missing.append("no training on validation rows")
    return f"max_time={max_time} left time for {', '.join(missing)}." if missing else None


def _scale(samples, task_class):
    """Make an encoder and a task, and encode the rows: X, y, weight, group.

    Rows of a given validation set come last.
    """
    rows, validation, encoder = samples.rows, samples.validation, None
    X, y, weight, groups = samples.matrix[rows], samples.y[rows], samples.weight, samples.row_groups
    if samples.reader is not None:
        reader = samples.reader
        sizes = reader.n_categories, reader.n_components
        encoder = FeatureEncoder.fit(reader.expand(X), weight, *sizes)
    task = task_class.fit(y, weight, samples.y_ndim)
    if validation is not None:
        if np.abs(task.transform(validation.y)).max() > _MAX_SCALED:
            raise ValueError("y_val holds values too far from those of y for single precision.")
        X, y = np.concatenate([X, validation.matrix]), np.concatenate([y, validation.y])
        weight = np.concatenate([weight, validation.weight])
        if groups is not None:
            groups = np.concatenate([groups, np.full(len(validation.y), -1)])
    X = X if encoder is None else encoder.transform(samples.expand(X))
    return encoder, task, (X, task.transform(y), weight, groups)


def _encode_likeness(samples, plan):
    """Make an encoder for likeness, and encode the rows' columns; None, None without likeness.

    Rows of a given validation set come last.
    """
    if plan.likenesses == (0.0,):
        return None, None
    X, validation = samples.matrix[samples.rows], samples.validation
    encoder = LikenessEncoder.fit(samples.reader, X, samples.weight)
    if validation is not None:
        X = np.concatenate([X, validation.matrix])
    return encoder, encoder.transform(samples.reader.compare(X))


def _make_initial_network(parts, plan, given):
    """Network to train, with copies of the user's feature extractor if there is one."""
    n_features, extractors, make = None, None, given.params["feature_extractor"]
    if make is not None:
        extractors = [make_feature_extractor(make) for _ in range(plan.n_estimators)]
        X = parts.rows.X[:2].float().cpu()
        n_features, *_ = [check_feature_extractor(extractor, X) for extractor in extractors]
    n_values = parts.task.n_values
    return make_network(n_values, parts.encoder, plan, given.make_head, n_features, extractors)


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
    recipe, numerical_embedding, n_plain, n_categories = plan.recipe, None, 0, ()
    if encoder is not None:
        n_features, n_plain = len(encoder.numbers), encoder.n_plain
        n_categories = encoder.n_categories[encoder.coded].tolist()
        numerical_embedding = recipe.numerical_embedding
    embedders = [
        MLPEmbedder(
            n_features,
            plan.hidden_layer_sizes,
            recipe.embedding_dim,
            activation=recipe.activation,
            numerical_embedding=numerical_embedding,
            batch_norm=recipe.batch_norm,
            dropout=recipe.dropout,
            n_plain=n_plain,
            n_categories=n_categories,
        )
        for _ in range(plan.n_estimators)
    ]
    heads = [make_head(plan, n_targets) for _ in range(plan.n_estimators)]
    return NeighborNetwork(feature_extractors, embedders, heads)


def _make_bank(network, history, parts, plan, blend, strength):
    """Make the bank."""
    rows = parts.rows.select(slice(plan.n_samples))
    blended = blend.training.to(rows.X.device)
    bank = NeighborBank.build(network, rows, parts.task, blended, blend.weight)
    if strength:
        bank = replace(bank, likeness=parts.likeness(strength))
    some = bank.rows.select(slice(_N_CHECKED_ROWS))
    if not bank.predict(some, some.blended, plan.n_neighbors).isfinite().all():
        raise FloatingPointError(
            f"Predictions with the weights of epoch {history.best_epoch}, which are "
            "kept, are not finite. Lower learning_rate_init or check the scale of "
            "sample_weight."
        )
    return bank


def _validate(bank, parts, given, result, blend, plan):
    """Make the validation rows, of the bank's or of the set that was given."""
    if given is None:
        residuals = result.y - complete(result, blend)
        rows = parts.split.validation.to(residuals.device)
        return ValidationRows.of_members(residuals, rows, plan.n_neighbors)
    rows = parts.rows.select(slice(len(bank), None)).to(CPU)
    # A sample that stands twice counts as one that weighs 2.
    unique, weight, _ = merge_rows(rows.X.numpy(), rows.y.numpy(), given.weight)
    blended = blend.validation[0] if bank.blend_weight else torch.zeros_like(rows.y)
    rows = rows.select(unique)
    return ValidationRows(
        residuals=rows.y,
        rows=torch.full((len(rows),), -1, device=CPU),
        n_neighbors=0,
        z=bank.embed(rows.X.to(bank.rows.z.device)).cpu(),
        columns=rows.columns,
        blended=blended[unique],
        weight=torch.from_numpy(weight),
    )
