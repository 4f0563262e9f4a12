"""scikit-learn's own checks, over the defaults and over every variant."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from skneighbors import NONARegressor, SoftStepKNNRegressor

VARIANTS = {
    NONARegressor: [
        *[{"similarity": similarity} for similarity in ("l1", "dot", "cosine")],
        *[{"softstep": softstep} for softstep in ("s1", None)],
        {"softstep_parameters": "global"},
        {"temperature": None},
        {"trend": None},
        {"context_size": None},
        {"batch_norm": False, "numerical_embedding": None, "dropout": 0.1},
    ],
    SoftStepKNNRegressor: [
        *[{"similarity": similarity} for similarity in ("l1", "dot", "cosine")],
        {"softstep": "s2"},
        {"softstep_parameters": "global"},
        {"temperature": None},
        {"trend": None},
        {"context_size": None},
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
            yield estimator(max_iter=12, n_estimators=1, **variant)


@parametrize_with_checks(list(estimators()))
def test_scikit_learn_checks(estimator, check):
    check(estimator)
