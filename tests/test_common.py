"""scikit-learn's own checks, over the defaults and over every variant."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from skneighbors import PAPER, NONARegressor, Recipe, SoftStepKNNRegressor

VARIANTS = {
    NONARegressor: [
        *[{"similarity": similarity} for similarity in ("l1", "dot", "cosine")],
        *[{"softstep": softstep} for softstep in ("s1", None)],
        {"softstep_parameters": "global"},
        {"trend": None},
        {"recipe": Recipe(temperature=None, context_size=None)},
        {"recipe": Recipe(batch_norm=False, numerical_embedding=None, dropout=0.1)},
        {**PAPER, "max_iter": 12},
    ],
    SoftStepKNNRegressor: [
        *[{"similarity": similarity} for similarity in ("l1", "dot", "cosine")],
        {"softstep": "s2"},
        {"softstep_parameters": "global"},
        {"trend": None},
        {"recipe": Recipe(temperature=None, context_size=None)},
        *[{"rank": rank} for rank in ("hard", None)],
        {"rank_scale": "linear"},
    ],
}


def estimators():
    """Both estimators at their defaults, and each variant of one member with few epochs."""
    for estimator in VARIANTS:
        yield estimator()
    for estimator, variants in VARIANTS.items():
        for variant in variants:
            yield estimator(**{"max_iter": 12, "n_estimators": 1} | variant)


@parametrize_with_checks(list(estimators()))
def test_scikit_learn_checks(estimator, check):
    check(estimator)
