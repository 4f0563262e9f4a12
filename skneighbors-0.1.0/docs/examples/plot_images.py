"""
Can the rows be images?
=======================

Yes: give ``feature_extractor`` a function that makes a torch module. It is trained with the rest.
Here a small convolutional network sees digits that are turned, and predicts by how much.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import rotate
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from torch import nn

from skneighbors import NONARegressor

rng = np.random.default_rng(0)
images, digit = load_digits(return_X_y=True)
images = images.reshape(-1, 8, 8)[np.isin(digit, [2, 3, 4, 5, 7])] / 16
angle = rng.uniform(-60, 60, len(images))
X = np.stack(
    [rotate(image, a, reshape=False, order=1) for image, a in zip(images, angle, strict=True)]
)
X = X[:, None].astype(np.float32)  # one channel
X_train, X_test, y_train, y_test = train_test_split(X, angle, random_state=0)

# %%
# The module maps images to features, one row for each; a perceptron and the head follow. Each
# prediction rests on ten images.


def make_convolutions():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
    )


model = NONARegressor(
    feature_extractor=make_convolutions,
    hidden_layer_sizes=64,
    n_neighbors=10,
    n_estimators=1,
    max_iter=30,
    random_state=0,
).fit(X_train, y_train)
y_hat = model.predict(X_test)
print(f"R2: {model.score(X_test, y_test):.3f}")
print(f"median error: {np.median(np.abs(y_hat - y_test)):.1f} degrees of 120")

# %%
# The embedding space, of test images, by its first two principal components: those turned alike
# are near. UMAP, of the package umap-learn, in the place of PCA would keep near images together;
# its axes, and distances between far ones, mean nothing.

plane = PCA(2).fit_transform(model.transform(X_test))
fig, ax = plt.subplots(figsize=(5.5, 4), layout="constrained")
points = ax.scatter(*plane.T, c=y_test, s=14)
fig.colorbar(points, label="angle (degrees)")
_ = ax.set(xlabel="principal component 1", ylabel="principal component 2")

# %%
# And the images behind some predictions, those four of the ten that weigh most. A prediction is the
# mean of their angles, each adjusted by what the model's linear trend differs between the images.

explanation = model.explain(X_test[:3])
fig, axes = plt.subplots(3, 5, figsize=(7, 4.6), layout="constrained")
for i, row in enumerate(axes):
    row[0].imshow(X_test[i, 0], cmap="gray_r")
    row[0].set_title(f"{y_test[i]:.0f}°, predicted {y_hat[i]:.0f}°", fontsize=9)
    parts = (explanation.indices, explanation.weights, explanation.adjusted_targets)
    for ax, sample, weight, adjusted in zip(row[1:], *(part[i, :4] for part in parts), strict=True):
        ax.imshow(X_train[sample, 0], cmap="Blues")
        title = f"{y_train[sample]:.0f}°, adjusted {adjusted:.0f}°\n(weight {weight:.2f})"
        ax.set_title(title, fontsize=8)
for ax in axes.flat:
    ax.set_axis_off()
