"""
A convolutional network with a NONA head
========================================

:class:`skneighbors.nn.NONA` is an ordinary torch module, and can be the last layer of any network.
Here a small convolutional network is trained to read the value of scikit-learn's bundled digits
as a number: first with a linear layer at its end, then fine-tuned with a NONA head in its place.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

from skneighbors.nn import NONA

X, y = load_digits(return_X_y=True)
X = torch.tensor(X, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
y = torch.tensor(y, dtype=torch.float32)
train, test = train_test_split(torch.arange(len(y)), test_size=0.3, random_state=0, stratify=y)

# %%
# The backbone, with a linear head
# --------------------------------
# A plain training loop. In the last batch of an epoch a few rows are left over.

torch.manual_seed(0)
backbone = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(128, 16),
)
linear = nn.Linear(16, 1)


def train_epochs(n_epochs, loss_of, parameters, lr):
    optimizer = torch.optim.Adam(parameters, lr=lr)
    for _ in range(n_epochs):
        for rows in train[torch.randperm(len(train))].split(128):
            loss = loss_of(rows)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def linear_loss(rows):
    return nn.functional.mse_loss(linear(backbone(X[rows])).squeeze(1), y[rows])


train_epochs(30, linear_loss, [*backbone.parameters(), *linear.parameters()], lr=3e-3)


def rmse(y_hat):
    return (y_hat - y[test]).square().mean().sqrt().item()


with torch.no_grad():
    y_linear = linear(backbone(X[test])).squeeze(1)
print(f"linear head: RMSE {rmse(y_linear):.3f}")

# %%
# Fine-tuning with neighbors
# ---------------------------
# The rows of a batch are each other's neighbors: ``z`` are both queries and neighbors, and
# With ``self_index`` no row is a neighbor of itself. For a fair comparison the linear head
# is trained on for as many epochs.

head = NONA(embedding_dim=16, softstep="s2", softstep_parameters="pointwise", temperature=1.0)
before = [parameter.detach().clone() for parameter in backbone.parameters()]


def nona_loss(rows):
    z = backbone(X[rows])
    y_hat = head(z, z, y[rows], self_index=torch.arange(len(rows)))
    return nn.functional.mse_loss(y_hat, y[rows])


train_epochs(20, nona_loss, [*backbone.parameters(), *head.parameters()], lr=1e-3)

# %%
# In prediction all training rows are neighbors, and no query is among them.

with torch.no_grad():
    z_n = backbone(X[train])
    z = backbone(X[test])
    y_nona = head(z, z_n, y[train])
    weights = head.weights(z, z_n)
print(f"NONA head: RMSE {rmse(y_nona):.3f}")

with torch.no_grad():
    for parameter, value in zip(backbone.parameters(), before, strict=True):
        parameter.copy_(value)
train_epochs(20, linear_loss, [*backbone.parameters(), *linear.parameters()], lr=1e-3)
with torch.no_grad():
    y_linear = linear(backbone(X[test])).squeeze(1)
print(f"linear head, trained on: RMSE {rmse(y_linear):.3f}")

# %%
# Which images made this prediction
# ---------------------------------
# The weights name the training images behind each prediction; here, behind the worst ones.

worst = (y_nona - y[test]).abs().topk(4).indices
fig, axes = plt.subplots(4, 6, figsize=(7, 5.5), layout="constrained")
for row, i in zip(axes, worst, strict=True):
    top = weights[i].topk(5)
    row[0].imshow(X[test][i, 0].numpy(), cmap="gray_r")
    row[0].set_title(f"{y[test][i]:.0f}, read as {y_nona[i]:.1f}", fontsize=8)
    for ax, weight, j in zip(row[1:], top.values, top.indices, strict=True):
        ax.imshow(X[train][j, 0].numpy(), cmap="Blues")
        ax.set_title(f"{y[train][j]:.0f} (weight {weight:.2f})", fontsize=8)
for ax in axes.flat:
    ax.set_axis_off()
