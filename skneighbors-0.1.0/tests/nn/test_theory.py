"""What the papers prove of the least squared error, found again by optimization."""

import pytest
import torch

from skneighbors.nn import NONA


def train_embeddings(labels, anchors, n_steps=600):
    """Embeddings of points, free to move, under which NONA predicts the anchors best.

    Returns the anchors' weights and their squared errors.
    """
    torch.manual_seed(0)
    y = torch.tensor(labels, dtype=torch.float64)
    z = torch.randn(len(y), 2, dtype=torch.float64).requires_grad_()
    head = NONA(2, softstep=None).double()
    index = torch.tensor(anchors)
    optimizer = torch.optim.Adam([z], lr=0.2)
    for _ in range(n_steps):
        optimizer.zero_grad()
        errors = (head(z[index], z, y, self_index=index) - y[index]).square()
        errors.mean().backward()
        optimizer.step()
    with torch.no_grad():
        return head.weights(z[index], z, self_index=index).numpy(), errors.detach().numpy()


@pytest.mark.parametrize(("y_j", "y_i", "y_k"), [(0.0, 1.0, 2.0), (-1.0, 0.0, 3.0), (2, 2.5, 7)])
def test_weights_of_an_anchor_between_two_labels_balance_their_distances(y_j, y_i, y_k):
    weights, errors = train_embeddings([y_i, y_j, y_k], [0])
    _, p_j, p_k = weights[0]
    assert errors[0] < 1e-10
    assert p_j / p_k == pytest.approx((y_k - y_i) / (y_i - y_j), rel=1e-4)


@pytest.mark.parametrize("y_i", [-2.0, 9.0])
def test_an_extreme_anchor_gives_all_weight_to_the_nearer_label(y_i):
    weights, errors = train_embeddings([y_i, 0.0, 4.0], [0])
    nearer = 1 if abs(y_i) < abs(y_i - 4) else 2
    assert weights[0, nearer] > 0.999
    assert errors[0] == pytest.approx(min(y_i**2, (y_i - 4) ** 2), rel=1e-2)
