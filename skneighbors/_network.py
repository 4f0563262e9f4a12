"""The network of an estimator: features to embedding, embedding to prediction."""

import torch
from torch import nn


class NeighborNetwork(nn.Module):
    """Feature extractor, embedder and head, trained as one.

    Parameters
    ----------
    feature_extractor : nn.Module or None
        Maps X (b, ...) to features (b, m).
    embedder : nn.Module
        Maps features and row weights to embeddings (b, d).
    head : nn.Module
        :class:`skneighbors.nn.NONA` or :class:`skneighbors.nn.SoftStepKNN`.
    """

    def __init__(self, feature_extractor, embedder, head):
        super().__init__()
        self.feature_extractor = feature_extractor
        self.embedder = embedder
        self.head = head

    def embed(self, X, sample_weight=None):
        """Embed X (b, ...), to (b, d)."""
        if self.feature_extractor is not None:
            X = self.feature_extractor(X)
        return self.embedder(X, sample_weight)

    def forward(self, X, y, queries, sample_weight=None):
        """Predict some of the rows from all others.

        Parameters
        ----------
        X : Tensor of shape (N, ...)
        y : Tensor of shape (N, k)
        queries : int Tensor of shape (b,)
            Positions of the rows to predict; each is left out of its own
            neighbours.
        sample_weight : Tensor of shape (N,) or None

        Returns
        -------
        y_hat : Tensor of shape (b, k)
        """
        z = self.embed(X, sample_weight)
        return self.head(z[queries], z, y, self_index=queries, sample_weight=sample_weight)


def check_feature_extractor(feature_extractor, X):
    """Width of the feature extractor's output.

    Parameters
    ----------
    feature_extractor : object
        What the user's callable has returned.
    X : Tensor of shape (b, ...)
        Some rows.

    Returns
    -------
    n_features : int

    Raises
    ------
    TypeError
        If `feature_extractor` is no module.
    ValueError
        If it does not map (b, ...) to (b, m).
    """
    if not isinstance(feature_extractor, nn.Module):
        raise TypeError(
            "feature_extractor must be a callable that returns a torch.nn.Module; it "
            f"returned {feature_extractor!r}."
        )
    training = feature_extractor.training
    try:
        with torch.no_grad():
            out = feature_extractor.eval()(X)
    except RuntimeError as error:
        raise ValueError(
            f"feature_extractor failed on X of shape {tuple(X.shape)}: {error}"
        ) from error
    finally:
        feature_extractor.train(training)
    if not isinstance(out, torch.Tensor) or out.ndim != 2 or len(out) != len(X):
        shape = tuple(out.shape) if isinstance(out, torch.Tensor) else type(out).__name__
        raise ValueError(
            "feature_extractor must map X of shape (b, ...) to features of shape (b, m); "
            f"it mapped {tuple(X.shape)} to {shape}."
        )
    return out.shape[1]
