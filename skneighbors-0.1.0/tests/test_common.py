"""scikit-learn's own checks, over the defaults and over variants."""

import pytest
from sklearn.base import clone
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from skneighbors import (
    PAPER,
    NONAClassifier,
    NONARegressor,
    Recipe,
    SoftStepKNNClassifier,
    SoftStepKNNRegressor,
)

# What the checks can see: other weights, masks, networks, samples in a batch.
PLAIN = Recipe(temperature=1.0, context_size=None)
VARIANTS = {
    NONARegressor: [
        {"similarity": "l1", "softstep": None, "trend": None, "blend": None},
        {"similarity": "dot", "softstep": "s1", "softstep_parameters": "global"},
        {"similarity": "cosine", "recipe": PLAIN},
        {"recipe": Recipe(batch_norm=False, numerical_embedding=None, dropout=0.1)},
        {**PAPER, "max_iter": 12},
    ],
    SoftStepKNNRegressor: [
        {"similarity": "l1", "softstep": "s2", "softstep_parameters": "global"},
        {"similarity": "dot", "max_iter": 30},  # after 12 it has learned too little
        {"trend": None, "blend": None},
        {"similarity": "cosine", "rank": "hard", "recipe": PLAIN},
        {"rank": None},
        {**PAPER, "max_iter": 12},
    ],
}
# Those that see what is computed, not how parameters and input are handled.
COMPUTED = [
    estimator_checks.check_fit_idempotent,
    estimator_checks.check_methods_sample_order_invariance,
    estimator_checks.check_methods_subset_invariance,
    estimator_checks.check_regressor_multioutput,
    estimator_checks.check_regressors_int,
    estimator_checks.check_regressors_train,
    estimator_checks.check_sample_weight_equivalence_on_dense_data,
]


def variants():
    """Estimators of one member with few epochs."""
    for estimator, own in VARIANTS.items():
        for variant in own:
            yield estimator(**{"max_iter": 12, "n_estimators": 1} | variant)


@pytest.mark.slow
@parametrize_with_checks(
    [kind(max_iter=12) for kind in (*VARIANTS, NONAClassifier, SoftStepKNNClassifier)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", variants())
def test_variants_compute_what_scikit_learn_checks(estimator):
    for check in COMPUTED:
        check(type(estimator).__name__, clone(estimator))


@pytest.mark.long
@parametrize_with_checks([*(estimator() for estimator in VARIANTS), *variants()])
def test_scikit_learn_checks_at_the_defaults_and_of_variants(estimator, check):
    check(estimator)
