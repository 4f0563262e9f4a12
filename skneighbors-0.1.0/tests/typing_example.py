"""A user's code, for mypy: types of the public names reach it. Nothing here is run."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from typing_extensions import assert_type

from skneighbors import (
    PAPER,
    ModelFileError,
    NONAClassifier,
    NONARegressor,
    Recipe,
    SoftStepKNNClassifier,
    SoftStepKNNRegressor,
    load,
)
from skneighbors import nn as blocks
from skneighbors.inspection import (
    ColumnDifferences,
    Explanation,
    IntervalDisplay,
    NeighborsDisplay,
    Suspects,
)


def make_estimators() -> list[NONARegressor | SoftStepKNNRegressor]:
    return [
        NONARegressor(),
        NONARegressor(**PAPER),
        NONARegressor(
            n_neighbors=None,
            similarity="cosine",
            softstep=None,
            trend="linear",
            hidden_layer_sizes=(256, 256),
            feature_extractor=lambda: nn.Flatten(),
            n_jobs=2,
            categorical_features=["town"],
            n_estimators=2,
            early_stopping=True,
            recipe=Recipe(dropout=0.1, ema_decay=None, context_size=512, refit=True),
            random_state=np.random.RandomState(0),
            verbose=True,
        ),
        SoftStepKNNRegressor(rank=None, hidden_layer_sizes=64),
    ]


def fit_and_predict(X: np.ndarray, y: np.ndarray) -> None:
    model = assert_type(NONARegressor(random_state=0).fit(X, y), NONARegressor)
    model = model.fit(X, y, np.ones(len(y)), X_val=X[:5], y_val=y[:5], groups=["a"] * len(y))
    assert_type(model.set_params(max_iter=5, recipe__dropout=0.1), NONARegressor)
    assert_type(model.predict(X), np.ndarray)
    assert_type(model.predict([[1.0, 2.0], [3.0, 4.0]]), np.ndarray)
    assert_type(model.predict(X, return_std=True), tuple[np.ndarray, np.ndarray])
    assert_type(NONARegressor().fit(X, y).predict(X), np.ndarray)
    assert_type(model.predict_interval(X, confidence_level=0.8), np.ndarray)
    assert_type(model.predict_quantiles(X, 0.5), np.ndarray)
    assert_type(model.predict_quantiles(X, [0.1, 0.9]), np.ndarray)
    assert_type(model.novelty(X), np.ndarray)
    assert_type(model.effective_n_neighbors(X), np.ndarray)
    assert_type(model.transform(X), np.ndarray)
    assert_type(model.prepare(X), torch.Tensor)
    assert_type(model.network_.forward(model.prepare(X)), tuple[torch.Tensor, torch.Tensor])
    assert_type(model.kneighbors(X, 3), tuple[np.ndarray, np.ndarray])
    assert_type(model.kneighbors(return_distance=False), np.ndarray)
    model.append(X, y).forget([0, 1])
    model.neighbor_weights(X)


def explain(model: SoftStepKNNRegressor, X: np.ndarray) -> None:
    why = assert_type(model.explain(X, by_column=True), Explanation)
    assert_type(why.weights, np.ndarray)
    assert_type(why.adjusted_targets, np.ndarray | None)
    assert_type(why.importances(), dict[Any, Any])
    assert_type(len(why), int)
    assert_type(why.by_column, ColumnDifferences | None)
    why.to_frame()
    suspects = assert_type(model.suspects(n_rows=5, confidence_level=0.8), Suspects)
    assert_type(suspects.scores, np.ndarray)
    assert_type(len(suspects), int)
    suspects.to_frame()


def classify(X: np.ndarray, y: np.ndarray) -> None:
    model = NONAClassifier(class_weight="balanced", blend="boosting", random_state=0).fit(X, y)
    assert_type(SoftStepKNNClassifier(rank="hard").fit(X, y), SoftStepKNNClassifier)
    assert_type(model.predict(X), np.ndarray)
    assert_type(model.predict_proba(X), np.ndarray)
    assert_type(model.predict_set(X, confidence_level=0.8), np.ndarray)
    why = assert_type(model.explain(X[:3]), Explanation)
    assert_type(why.neighbors_weight, float)
    assert_type(model.suspects(n_rows=5), Suspects)


def save_and_load(model: NONARegressor, path: Path) -> NONARegressor:
    model.save(path)
    model.save(str(path))
    try:
        again = assert_type(
            load(path, device="cpu"),
            NONAClassifier | NONARegressor | SoftStepKNNClassifier | SoftStepKNNRegressor,
        )
    except ModelFileError as error:
        raise SystemExit(str(error)) from error
    assert isinstance(again, NONARegressor)
    return again


def show(model: NONARegressor, X: np.ndarray, y: np.ndarray) -> None:
    intervals = IntervalDisplay.from_estimator(model, X, y, 0.8, n_bins=2)
    assert_type(intervals.plot(max_bars=30), IntervalDisplay)
    assert_type(intervals.coverage_, float)
    neighbors = NeighborsDisplay.from_estimator(model, X[:1], n_neighbors=5)
    assert_type(neighbors.plot(), NeighborsDisplay)


class Network(nn.Module):
    """A network of one's own, of the package's blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.embedder = blocks.MLPEmbedder(
            8, (64,), embedding_dim=16, numerical_embedding="periodic", n_categories=[3, 20]
        )
        self.head = blocks.NONA(embedding_dim=16, n_targets=1, trend="linear")
        self.ranked = blocks.SoftStepKNN(embedding_dim=16, rank="hard")

    def forward(self, x: torch.Tensor, x_n: torch.Tensor, y_n: torch.Tensor) -> torch.Tensor:
        z, z_n = self.embedder.forward(x), self.embedder.forward(x_n, torch.ones(len(x_n)))
        assert_type(self.head.weights(z, z_n), torch.Tensor)
        return assert_type(self.head.forward(z, z_n, y_n, n_neighbors=5), torch.Tensor)


def use_blocks(z: torch.Tensor, z_n: torch.Tensor) -> None:
    s = assert_type(blocks.similarity(z, z_n, "cosine"), torch.Tensor)
    x = assert_type(blocks.minmax_scale(s), torch.Tensor)
    assert_type(blocks.soft_rank(s, strength=0.1), torch.Tensor)
    assert_type(blocks.hard_rank(s, torch.ones(len(z_n))), torch.Tensor)
    assert_type(blocks.SoftStep(8, function="s1").forward(x, z), torch.Tensor)
    a, b, t = torch.tensor([0.2, 0.8, 0.5])
    assert_type(blocks.log_softstep_s1(x, a, b, t), torch.Tensor)
    assert_type(blocks.log_softstep_s2(x, b, t), torch.Tensor)
    assert_type(blocks.PeriodicEmbedding(8).forward(z), torch.Tensor)
    assert_type(blocks.CategoricalEmbedding([3]).forward(z), torch.Tensor)
    assert_type(blocks.WeightedBatchNorm(8).forward(z), torch.Tensor)
