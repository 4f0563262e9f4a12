"""Plans of fits that are not made."""

from skneighbors._settings import Validation, count_validation, make_plan, resolve, values_for


def plan_for(estimator, n_samples, source="random", n_given=None, drawn=None):
    """Plan an estimator's fit; `drawn` are numbers of training and validation rows."""
    params, auto = estimator.get_params(deep=False), values_for(n_samples, estimator._tables())
    early_stopping, n_rows = count_validation(params, auto, n_samples, source, n_given)
    fraction = n_rows / n_samples or resolve("validation_fraction", params, auto)
    n_train, n_rows = drawn or (n_samples if n_given else n_samples - n_rows, n_rows)
    validation = Validation(source, early_stopping, fraction, n_train, n_rows)
    return make_plan(params, auto, validation, n_samples, ["boosting", "linear"])


def all_of(plan):
    """All that a plan says, by name; its phases as tuples."""
    found = dict(plan.params)
    for part in (plan.recipe, plan.settings, plan.validation, plan.schedule):
        found |= vars(part)
    phases = [tuple(vars(phase).values()) for phase in found.pop("phases")]
    return {name: own for name, own in found.items() if name not in ("params", "recipe")} | {
        "phases": phases,
        "n_validation": plan.n_validation,
    }
