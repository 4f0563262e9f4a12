"""A fit in stages: samples, a plan, a blended model, networks, and the model that they make."""

from dataclasses import replace

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ._blend import PARTS, BlendData, BlendSettings, fit_blended
from ._columns import (
    FeatureEncoder,
    LikenessEncoder,
    find_labels,
)
from ._model import DrawnRows, GivenRows, Model, NeighborBank, SampleNumbering
from ._network import Architecture, check_feature_extractor, make_feature_extractor
from ._selection import choose, weigh
from ._settings import Validation, count_validation, make_plan, resolve, values_for
from ._training import EnsembleSplit, Runtime, Training, TrainingData
from ._utils.device import CPU, resolve_device
from ._utils.progress import show_progress
from ._utils.warn import warn

_MAX_SCALED = 1e18  # of targets: single precision can hold their squares
_SHORTENED = 0.75  # fraction of what was planned up to which a fit warns
_N_CHECKED_ROWS = 256  # training rows whose predictions must be finite
_N_NAMED = 5  # targets of which fit warns
_DOUBTFUL = (
    "A few targets are far from all others, or hold nearly all of the variation of y: {}. If they "
    "are wrong, correct them; `suspects` ranks rows by how wrong their targets look.{}"
)
_LOGARITHM = " If they are right, predict the logarithm, by TransformedTargetRegressor."


def fit_model(params, tables, task_class, describe_head, samples, n_threads, clock):
    """Fit, and warn of what went otherwise than planned.

    Parameters
    ----------
    params : dict
        Of the estimator, checked.
    tables : sequence of tables
        What ``"auto"`` becomes.
    task_class : subclass of Task
    describe_head : callable
        Class and arguments of a head, by a plan and the number of values of a row.
    samples : TrainingSamples
    n_threads : int
    clock : Clock

    Returns
    -------
    attributes : dict
        Of the fitted estimator.
    """
    device, extractor = resolve_device(params["device"]), params["feature_extractor"]
    random_state = check_random_state(params["random_state"])
    # What is predicted, who validates, and for how long to train.
    task = _fit_task(task_class, samples)
    plan, split = _plan(params, tables, samples, task, random_state)
    # The blended model.
    rows = _scale(samples, task)
    settings = BlendSettings(plan.recipe.boosting_iter, random_state, n_threads, clock.left())
    blend = fit_blended(plan, _blend_data(samples.table.reader, rows), task, split, settings)
    # Rows as the networks and likeness take them; the one crossing into torch.
    encoder, rows = _encode(samples, rows)
    likeness_encoder, coordinates = _encode_likeness(samples, plan.settings)
    rows = replace(rows, coordinates=coordinates).to(device)
    data = TrainingData(rows, split.to(device), task)
    # The networks.
    draws_globally = plan.recipe.dropout > 0 or extractor is not None
    runtime = Runtime.draw(random_state, device, draws_globally, n_threads, clock)
    with runtime.borrowed(), CPU:
        network = _make_initial_network(data, encoder, plan, describe_head, extractor).to(device)
    with (
        torch.autocast(device.type, enabled=False),
        show_progress(params["verbose"], plan.schedule.max_epochs, task.score_name) as report,
    ):
        single = replace(data, rows=rows.float())
        training = Training(network, single, plan.settings, plan.schedule, runtime, report)
        history = training.run()
    # What validation rows choose in the end, and the model.
    encoders = encoder, likeness_encoder
    model = _make_model(network, history, data, blend, plan, samples, encoders)
    _warn(plan, blend, history, params["max_time"])
    bank, validates = model.bank, plan.n_validation > 0
    return dict(
        _model=model,
        plan_=plan,
        columns_=samples.table.columns,
        loss_curve_=history.losses,
        validation_scores_=history.scores if validates else None,
        validation_iters_=history.validated_epochs if validates else None,
        n_iter_=len(history.losses),
        best_iter_=history.best_epoch,
        blend_weight_=bank.blend_weight,
        likeness_=bank.space.strength,
        temperature_=bank.network.head.temperature.numpy().copy(),
        n_samples_fit_=len(samples.row_of),
        **model.task.attributes(),
    )


def _warn(plan, blend, history, max_time):
    """Warn of a fault, of an interrupt, and if there was no time for a quarter or more."""
    if history.fault is not None:
        warn(history.fault, ConvergenceWarning)
    counts = [
        (len(history.losses), history.n_planned, "epochs"),
        (blend.n_iter, plan.recipe.boosting_iter, "iterations of trees"),
    ]
    missing = [
        f"{n} of {of} {what}" for n, of, what in counts if n is not None and n <= _SHORTENED * of
    ]
    missing += ["no training on validation rows"] * history.refit_out_of_time
    if missing:
        warn(f"max_time={max_time} left time for {', '.join(missing)}.", ConvergenceWarning)
    if history.interrupted:
        warn(
            f"Training interrupted; the weights of epoch {history.best_epoch}, the best one "
            f"judged in {len(history.losses)} epochs, are kept."
        )


def _fit_task(task_class, samples):
    """Fit the task, find bounds of all rows, and warn of a few targets far from all others."""
    rows, every = samples.rows, samples.all_rows
    task = task_class.fit(rows.y, rows.weight, samples.y_form)
    found = np.argwhere(task.find_doubtful(rows.y, rows.weight))
    if len(found):
        numbering = SampleNumbering(samples.row_of, samples.sample_weight, find_labels(samples.X))
        labels = numbering.name(numbering.first_samples(len(rows)))
        named = [f"{rows.y[i, k]:.6g} in row {labels[i]}" for i, k in found[:_N_NAMED]]
        named += [f"{len(found) - _N_NAMED} more"] * (len(found) > _N_NAMED)
        warn(_DOUBTFUL.format(", ".join(named), _LOGARITHM * bool((rows.y > 0).all())))
    return task.bounding(task.transform(every.y), every.weight)


def _plan(params, tables, samples, task, random_state):
    """Draw the validation rows of each member, and plan all that follows; to the plan and these."""
    rows, source, n_given = samples.rows, "random" if samples.rows.group is None else "groups", None
    if samples.time is not None:
        source = "time"
    if samples.validation is not None:
        source, n_given = "X_val", len(samples.validation)
    n_rows, auto = len(rows), values_for(len(rows), tables)
    early_stopping, n_wanted = count_validation(params, auto, n_rows, source, n_given)
    fraction = resolve("validation_fraction", params, auto)
    if source != "X_val" and n_wanted:
        fraction = n_wanted / n_rows
    drawn = resolve("n_estimators", params, auto), random_state
    if source == "X_val":
        split = EnsembleSplit.of_given(n_rows, n_given, drawn[0])
    elif source == "time":
        most = auto["max_validation"]
        split = EnsembleSplit.draw_last(samples.time, fraction, most, *drawn, rows.group)
    elif source == "groups" and n_wanted:
        split = EnsembleSplit.draw_groups(rows.group, n_wanted, *drawn)
    else:
        split = EnsembleSplit.draw(n_rows, n_wanted, *drawn, task.strata(rows.y))
    n_train, n_validation = (0 if part is None else part.shape[1] for part in split)
    validation = Validation(source, early_stopping, fraction, n_train, n_validation)
    blendable = [name for name, kinds in PARTS.items() if task.loss_name in kinds]
    blendable = blendable if task.can_be_blended else []
    return make_plan(params, auto, validation, n_rows, blendable), split


def _scale(samples, task):
    """Add parts of dates to X, and scale y; of a given validation set, too."""
    rows, reader = samples.all_rows, samples.table.reader
    y = task.bound(torch.from_numpy(task.transform(rows.y))).numpy()
    if np.abs(y).max() > _MAX_SCALED:
        raise ValueError("y_val holds values too far from those of y for single precision.")
    return replace(rows, X=rows.X if reader is None else reader.expand(rows.X), y=y)


def _blend_data(reader, rows):
    """Make what the blended model is fitted to."""
    groups = np.arange(len(rows)) if rows.group is None else rows.group
    n_categories = None if reader is None else reader.n_categories
    return BlendData(rows.X, rows.y, rows.weight, groups, n_categories)


def _encode(samples, rows):
    """Make an encoder for networks, and encode X; None without a reader."""
    reader, n_rows = samples.table.reader, len(samples.rows)
    if reader is None:
        return None, rows
    sizes = reader.n_categories, reader.n_components
    encoder = FeatureEncoder.fit(rows.X[:n_rows], rows.weight[:n_rows], *sizes)
    return encoder, replace(rows, X=encoder.transform(rows.X))


def _encode_likeness(samples, settings):
    """Make an encoder for likeness, and the rows' coordinates; None without likeness."""
    if settings.likenesses == (0.0,):
        return None, None
    encoder = LikenessEncoder.fit(samples.table.reader, samples.rows.X, samples.rows.weight)
    return encoder, encoder.transform(samples.table.reader, samples.all_rows.X)


def _make_initial_network(data, encoder, plan, describe_head, make):
    """Network to train, with copies of the user's feature extractor if there is one."""
    recipe = plan.recipe
    embedder = dict(
        hidden_layer_sizes=plan.hidden_layer_sizes,
        embedding_dim=recipe.embedding_dim,
        activation=recipe.activation,
        batch_norm=recipe.batch_norm,
        dropout=recipe.dropout,
    )
    head = describe_head(plan, data.task.n_values)
    if make is None:
        embedder["numerical_embedding"] = recipe.numerical_embedding
        return Architecture(plan.n_estimators, embedder, *head).reading(encoder).make()
    extractors = [make_feature_extractor(make) for _ in range(plan.n_estimators)]
    X = data.rows.X[:2].float().cpu()
    n_features, *_ = [check_feature_extractor(extractor, X) for extractor in extractors]
    embedder |= {"n_features": n_features, "n_plain": 0, "n_categories": []}
    return Architecture(plan.n_estimators, embedder, *head).make(extractors)


def _make_model(network, history, data, blend, plan, samples, encoders):
    """Weigh the trained networks and the blended model, and make the model of them."""
    encoder, likeness_encoder = encoders
    rows, n_neighbors = data.rows.select(slice(plan.n_samples)), plan.params["n_neighbors"]
    y = torch.from_numpy(data.task.transform(samples.rows.y))  # not bounded
    rows = replace(rows, y=y.to(rows.X.device))
    bank = NeighborBank.build(network, rows, data.task, blend.training)
    choices = weigh(network, history, data.task, blend, plan.settings)
    choice, bank = choose(choices, bank, n_neighbors)
    if (result := choice.result) is not None:
        n_rows = len(data.split.validation.unique())
        task = data.task.calibrate(result.y, result.y_hat, result.weight, n_rows)
        bank = replace(bank, task=task)
    likeness_encoder = likeness_encoder if choice.likeness else None
    some, validation = bank.rows.select(slice(_N_CHECKED_ROWS)), None
    if not bank.predict(some, some.blended, n_neighbors).isfinite().all():
        raise FloatingPointError(
            f"Predictions with the weights of epoch {history.best_epoch}, which are "
            "kept, are not finite. Lower learning_rate_init or check the scale of "
            "sample_weight."
        )
    if plan.n_validation:
        validation = _validate(bank, data, samples.validation, choice, n_neighbors)
    labels = find_labels(samples.X)
    return Model(
        bank=bank.to(CPU),
        validation=validation,
        numbering=SampleNumbering(samples.row_of, samples.sample_weight.copy(), labels),
        matrix=samples.rows.X if samples.table.reader is not None else samples.rows.X[:0],
        reader=samples.table.reader,
        encoder=encoder,
        likeness_encoder=likeness_encoder,
        blended_model=choice.blend.model,
    )


def _validate(bank, data, given, choice, n_neighbors):
    """Make the validation rows, of the bank's or of the set that was given."""
    if given is None:
        residuals = choice.result.y - choice.result.y_hat
        rows = data.split.validation.to(residuals.device)
        return DrawnRows.of_members(residuals, rows, n_neighbors)
    rows = data.rows.select(slice(len(bank), None)).to(CPU)
    return GivenRows(
        targets=rows.y,
        rows=torch.full((len(rows),), -1, device=CPU),
        z=bank.embed(rows.X.to(bank.rows.z.device)).cpu(),
        coordinates=rows.coordinates if choice.likeness else None,
        blended=choice.blend.validation[0] if bank.blend_weight else torch.zeros_like(rows.y),
        weight=torch.from_numpy(given.weight),
    )
