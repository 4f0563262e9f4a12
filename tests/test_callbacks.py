"""Callbacks of scikit-learn, which see a fit's epochs and may end it."""

import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skneighbors import NONARegressor, load

pytest.importorskip("sklearn.callback")  # from scikit-learn 1.9 on

SETTINGS = dict(max_iter=6, n_estimators=2, blend=None, hidden_layer_sizes=(8,), random_state=0)
# A training that is reviewed, found to have harmed, and repeated on all rows.
HARMED = dict(max_iter=30, n_estimators=1, blend=None, random_state=0)


class Recorder:
    """Callback that notes what it is given, and does something at an epoch."""

    def __init__(self, act=lambda estimator, context: None):
        self.tasks, self.given, self.act, self.torn_down = [], [], act, 0

    def setup(self, estimator, context):
        self.max_epochs = context.max_subtasks

    def teardown(self, estimator, context):
        self.torn_down += 1

    def on_fit_task_begin(self, estimator, context, *, X, y, metadata):
        self.begun = context
        self.given.append((X, y, metadata))

    def on_fit_task_end(self, estimator, context, *, X, y, metadata):
        assert context is self.begun or context.task_name == "fit"
        self.tasks.append(context.task_name)
        return context.task_name != "fit" and self.act(estimator, context)


@pytest.fixture
def noise(friedman):
    return friedman[0], np.random.RandomState(0).normal(size=200)


@pytest.fixture
def harmed(auto):
    auto(min_steps=1)  # however few, they are reviewed


def test_callbacks_see_each_epoch_and_change_no_bit(estimator_class, friedman, tmp_path):
    X, X_test, y, _ = friedman
    seen, weight = Recorder(), np.ones(len(X))
    model = estimator_class(**SETTINGS).set_callbacks(seen).fit(X, y, weight)
    assert seen.tasks == ["epoch"] * 6 + ["fit"]
    assert seen.torn_down == 1
    for of_X, of_y, metadata in seen.given:
        assert of_X is X
        assert of_y is y
        assert metadata["sample_weight"] is weight
    alone = estimator_class(**SETTINGS).fit(X, y, weight)
    assert_array_equal(model.predict(X_test), alone.predict(X_test))
    assert vars(model).keys() - vars(alone).keys() == {"_skl_callbacks"}
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")  # without callbacks
    assert vars(again).keys() == vars(alone).keys()
    assert_array_equal(again.predict(X_test), alone.predict(X_test))


def test_errors_so_far_are_the_estimators_attributes(friedman):
    X, _, y, _ = friedman
    losses, scores = [], []

    def note(estimator, context):
        assert len(estimator.loss_curve_) == estimator.n_iter_ == context.task_id + 1
        losses.append(estimator.loss_curve_[-1])
        if estimator.validation_iters_[-1] == estimator.n_iter_:
            scores.append(estimator.validation_scores_[-1])

    model = NONARegressor(**SETTINGS).set_callbacks(Recorder(note)).fit(X, y)
    assert losses == model.loss_curve_
    assert scores == model.validation_scores_


@pytest.mark.parametrize("time", [None, np.arange(200.0)])
def test_a_training_anew_has_epochs_of_its_own(noise, harmed, time):
    seen = Recorder()
    model = NONARegressor(**HARMED).set_callbacks(seen).fit(*noise, time=time)
    n_epochs = {name: seen.tasks.count(name) for name in ("epoch", "refit-epoch")}
    assert n_epochs["epoch"] == model.n_iter_
    assert 0 < n_epochs["refit-epoch"] <= model.best_iter_
    assert sum(n_epochs.values()) <= seen.max_epochs == model.plan_.max_epochs


@pytest.mark.parametrize("n_estimators", [1, 2])
@pytest.mark.parametrize("parallel", [False, True])
def test_a_fitted_estimator_is_what_a_fit_that_ends_there_leaves(
    friedman, auto, n_estimators, parallel
):
    X, X_test, y, _ = friedman
    auto(parallel=parallel)

    class Asks(Recorder):
        def on_fit_task_end(self, estimator, context, *, fitted_estimator):
            if context.task_id == 3:
                self.fitted = fitted_estimator
            return context.task_id == 3

    asks, settings = Asks(), SETTINGS | dict(n_estimators=n_estimators, blend="boosting")
    model = NONARegressor(**settings).set_callbacks(asks).fit(X, y)
    assert model.n_iter_ == asks.fitted.n_iter_ == 4
    assert_array_equal(model.predict(X_test), asks.fitted.predict(X_test))
    assert_array_equal(model.predict_interval(X_test), asks.fitted.predict_interval(X_test))


@pytest.mark.parametrize("task", ["epoch", "refit-epoch"])
@pytest.mark.parametrize("time", [None, np.arange(200.0)])
def test_an_end_by_a_callback_keeps_the_best_epoch_not_refitted(noise, harmed, task, time):
    X, _ = noise

    def stop(estimator, context):
        return context.task_name == task and context.task_id >= 1

    stops = Recorder(stop)
    model = NONARegressor(**HARMED).set_callbacks(stops).fit(*noise, time=time)
    assert stops.tasks[-2:] == [task, "fit"]
    best = np.argmax(model.validation_scores_)
    assert model.best_iter_ == model.validation_iters_[best]
    # The same epochs, of which none is repeated on all rows.
    alone = NONARegressor(**HARMED).set_callbacks(
        Recorder(lambda estimator, context: context.task_id + 1 == model.n_iter_)
    )
    assert_array_equal(model.predict(X), alone.fit(*noise, time=time).predict(X))


@pytest.mark.parametrize("fitted", [False, True])
def test_a_callback_that_raises_leaves_the_estimator_as_it_was(friedman, fitted):
    X, _, y, _ = friedman

    class Pruned(Exception):
        pass

    def prune(estimator, context):
        if context.task_id == 2:
            raise Pruned

    model = NONARegressor(**SETTINGS)
    if fitted:
        model.fit(X, y)
    raises = Recorder(prune)
    before = vars(model.set_callbacks(raises)).copy()
    with pytest.raises(Pruned):
        model.fit(X[:150], y[:150])
    assert raises.torn_down == 1
    assert vars(model) == before
    if not fitted:
        with pytest.raises(NotFittedError):
            model.predict(X)


def test_an_interrupt_within_a_callback_keeps_the_best_epoch(friedman):
    X, _, y, _ = friedman

    def interrupt(estimator, context):
        if context.task_id == 2:
            raise KeyboardInterrupt

    seen = Recorder(interrupt)
    with pytest.warns(UserWarning, match="Training interrupted"):
        model = NONARegressor(**SETTINGS).set_callbacks(seen).fit(X, y)
    assert model.n_iter_ == 3
    assert seen.torn_down == 1


@pytest.mark.parametrize("raises", [False, True])
def test_progress_bar_shows_and_its_thread_ends(friedman, capfd, raises):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    X, _, y, _ = friedman

    def fail(estimator, context):
        if raises:
            raise ValueError("of the callback")

    # The bar first: it is to end although what comes later raises.
    model = NONARegressor(**SETTINGS)
    tools = [
        clone(model).set_callbacks(ProgressBar(), Recorder(fail)),
        make_pipeline(StandardScaler(), clone(model).set_callbacks(Recorder(fail))),
        GridSearchCV(
            clone(model).set_callbacks(Recorder(fail)),
            {"max_iter": [1, 2]},
            cv=2,
            error_score="raise",
        ),
    ]
    for tool in tools[1:]:
        tool.set_callbacks(ProgressBar(max_propagation_depth=None))
    for tool in tools:
        if raises:
            with pytest.raises(ValueError, match="of the callback"):
                tool.fit(X, y)
        else:
            tool.fit(X, y)
        assert "NONARegressor - fit" in capfd.readouterr().out
        names = {type(thread).__name__ for thread in threading.enumerate()}
        assert "RichProgressMonitor" not in names


def test_scoring_monitor_scores_what_each_epoch_would_leave(friedman):
    from sklearn.callback import ScoringMonitor

    X, _, y, _ = friedman
    monitor = ScoringMonitor(scoring="r2")
    model = NONARegressor(**SETTINGS).set_callbacks(monitor).fit(X, y)
    scores = [row["r2"] for row in monitor.get_logs().data]
    assert len(scores) == 7
    assert scores.count(model.score(X, y)) >= 2  # of the whole fit, and of its last epoch


def test_the_guide_prunes_with_optuna():
    optuna = pytest.importorskip("optuna")
    page = Path(__file__).parents[1] / "docs" / "guide" / "tuning.rst"
    code = page.read_text().split("    import optuna")[1]
    code = textwrap.dedent("    import optuna" + code)
    code = code.replace("n_trials=20", "n_trials=4").replace("weight_decay=decay", "max_iter=4")
    names = {}
    exec(code, names)
    states = [trial.state for trial in names["study"].trials]
    assert set(states) <= {optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED}
    assert all(trial.intermediate_values for trial in names["study"].trials)
