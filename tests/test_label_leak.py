"""No row sees its own label in training, however many copies X has."""

import numpy as np
import pytest
from sklearn.metrics import r2_score

N_TRAIN, N_TEST = 240, 400


def noise(n_copies):
    """Pure-noise targets on features of which every row stands n_copies times."""
    rng = np.random.RandomState(0)
    X = np.repeat(rng.normal(size=(N_TRAIN // n_copies, 3)), n_copies, axis=0)
    return X, rng.normal(size=N_TRAIN), rng.normal(size=(N_TEST, 3)), rng.normal(size=N_TEST)


@pytest.mark.slow
@pytest.mark.parametrize("trend", ["linear", None])
@pytest.mark.parametrize("n_copies", [1, 8])
def test_noise_is_not_learned(estimator_class, leave_one_out, n_copies, trend):
    X, y, X_test, y_test = noise(n_copies)
    model = estimator_class(trend=trend, blend=None, random_state=0, max_iter=150).fit(X, y)
    test_score, score = (
        r2_score(y_test, model.predict(X_test)),
        r2_score(y, leave_one_out(model, X)),
    )
    assert test_score <= 0.05
    # A leak would show as a score above 0; few, noisy neighbors as one below.
    assert -0.5 < score < 0.1
    assert score - test_score < 0.2
