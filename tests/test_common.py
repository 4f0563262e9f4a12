"""scikit-learn's own checks, over the defaults and over variants."""

import pytest
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from skneighbors import PAPER, NONARegressor, Recipe, SoftStepKNNRegressor

# What the checks can see: other weights, masks, networks, samples in a batch.
PLAIN = Recipe(temperature=None, context_size=None)
VARIANTS = {
    NONARegressor: [
        {"similarity": "l1", "softstep": None, "trend": None, "blend": None},
        {"similarity": "dot", "softstep": "s1", "softstep_parameters": "global"},
        {"similarity": "cosine", "recipe": PLAIN},
        {"recipe": Recipe(batch_norm=False, numerical_embedding=None, dropout=0.1)},
        {**PAPER, "max_iter": 12},
        {"blend": DecisionTreeRegressor(max_depth=3)},
    ],
    SoftStepKNNRegressor: [
        {"similarity": "l1", "softstep": "s2", "softstep_parameters": "global"},
        {"similarity": "dot", "max_iter": 30},  # after 12 it has learnt too little
        {"trend": None, "blend": None},
        {"similarity": "cosine", "rank": "hard", "recipe": PLAIN},
        {"rank": None, "rank_scale": "linear"},
        {**PAPER, "max_iter": 12},
    ],
}


def estimators():
    """Both estimators at their defaults, and each variant of one member with few epochs."""
    for estimator in VARIANTS:
        yield estimator()
    for estimator, variants in VARIANTS.items():
        for variant in variants:
            yield estimator(**{"max_iter": 12, "n_estimators": 1} | variant)


@pytest.mark.slow
@parametrize_with_checks(list(estimators()))
def test_scikit_learn_checks(estimator, check):
    check(estimator)
