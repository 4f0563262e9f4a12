"""From features to embeddings."""

import math

import torch
from torch import nn

ACTIVATIONS = {"silu": nn.SiLU, "relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU}
NUMERICAL_EMBEDDINGS = ("periodic", None)


class PeriodicEmbedding(nn.Module):
    r"""Periodic embedding of each feature, the feature itself kept.

    Feature x becomes ``(x, W cos(2 pi (w x + c)) + v)``, with frequencies w,
    phases c and a linear map ``W, v`` of its own for every feature.

    Parameters
    ----------
    n_features : int
        Number of features, which should be scaled to a range of a few units.
    n_frequencies : int, default=16
        Number of frequencies of a feature.
    n_outputs : int, default=4
        Outputs of a feature, the raw value included; at least 2.
    sigma : float, default=0.1
        Standard deviation of the initial frequencies.

    References
    ----------
    Gorishniy, Rubachev and Babenko, "On Embeddings for Numerical Features in
    Tabular Deep Learning", NeurIPS 2022; Holzmueller, Grinsztajn and Steinwart,
    "Better by Default", NeurIPS 2024, for this form (PBLD).

    Examples
    --------
    >>> import torch
    >>> from skneighbors.nn import PeriodicEmbedding
    >>> PeriodicEmbedding(n_features=5)(torch.randn(3, 5)).shape
    torch.Size([3, 20])
    """

    def __init__(self, n_features, n_frequencies=16, n_outputs=4, sigma=0.1):
        super().__init__()
        self.frequencies = nn.Parameter(sigma * torch.randn(n_features, 1, n_frequencies))
        self.phases = nn.Parameter(math.pi * (2 * torch.rand(n_features, 1, n_frequencies) - 1))
        bound = 1 / math.sqrt(n_frequencies)
        shape = (n_features, n_frequencies, n_outputs - 1)
        self.weight = nn.Parameter(bound * (2 * torch.rand(shape) - 1))
        self.bias = nn.Parameter(bound * (2 * torch.rand(n_features, 1, n_outputs - 1) - 1))
        self.n_outputs = n_features * n_outputs

    def forward(self, x):
        """Embed the features.

        Parameters
        ----------
        x : Tensor of shape (b, n_features)
            Scaled features.

        Returns
        -------
        x_embedded : Tensor of shape (b, n_features * n_outputs)
        """
        columns = x.T.unsqueeze(2)  # (n_features, b, 1)
        waves = torch.cos(torch.addcmul(self.phases, 2 * math.pi * columns, self.frequencies))
        out = torch.baddbmm(self.bias, waves, self.weight)  # (n_features, b, n_outputs - 1)
        return torch.cat([columns, out], 2).transpose(0, 1).flatten(1)


class _WeightedStandardise(torch.autograd.Function):
    """Rows minus their weighted mean, over their weighted standard deviation."""

    @staticmethod
    def forward(ctx, x, share, eps):
        mean = share @ x
        centred = x - mean
        var = share @ centred.square()
        scale = torch.rsqrt(var + eps)
        standard = centred.mul_(scale)
        ctx.save_for_backward(standard, share, scale)
        ctx.mark_non_differentiable(mean, var)
        return standard, mean, var

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad, *_):
        standard, share, scale = ctx.saved_tensors
        by_mean, by_var = grad.sum(0), (grad * standard).sum(0)
        grad_x = torch.addcmul(by_mean, standard, by_var).mul_(share.unsqueeze(1))
        return grad_x.neg_().add_(grad).mul_(scale), None, None


class WeightedBatchNorm(nn.BatchNorm1d):
    """Batch normalisation whose statistics weight the rows.

    Parameters
    ----------
    num_features : int
        Number of features.

    Examples
    --------
    >>> import torch
    >>> from skneighbors.nn import WeightedBatchNorm
    >>> x, norm = torch.randn(3, 2), WeightedBatchNorm(2)
    >>> twice = norm(x[[0, 0, 1, 2]])[1:]
    >>> torch.allclose(norm(x, torch.tensor([2.0, 1.0, 1.0])), twice, atol=1e-5)
    True
    """

    def forward(self, x, sample_weight=None):
        """Normalise the rows.

        Parameters
        ----------
        x : Tensor of shape (b, num_features)
        sample_weight : Tensor of shape (b,), default=None
            Weights of the rows in the batch statistics; used in training mode.

        Returns
        -------
        x_normalised : Tensor of shape (b, num_features)
        """
        if not self.training or (sample_weight is None and len(x) > 1):
            return super().forward(x)
        if sample_weight is None:
            sample_weight = x.new_ones(len(x))
        total = sample_weight.sum()
        share = sample_weight / total
        standard, mean, var = _WeightedStandardise.apply(x, share, self.eps)
        with torch.no_grad():
            # As in torch, the running variance is the unbiased one.
            unbiased = var * torch.where(total > 1, total / (total - 1), 1)
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(unbiased, self.momentum)
        return torch.addcmul(self.bias, standard, self.weight)


class MLPEmbedder(nn.Module):
    """Multilayer perceptron from features to embeddings.

    Hidden layers, each with batch normalisation, an activation and dropout,
    and a linear layer to the embedding.

    Parameters
    ----------
    n_features : int
        Number of features.
    hidden_layer_sizes : tuple of int, default=(256, 256)
        Widths of the hidden layers; may be empty.
    embedding_dim : int, default=64
        Width of the embedding.
    activation : {"silu", "relu", "tanh", "gelu"}, default="silu"
        Activation of the hidden layers.
    numerical_embedding : {"periodic"} or None, default=None
        :class:`PeriodicEmbedding` before the first layer, or nothing.
    batch_norm : bool, default=True
        Whether hidden layers are batch-normalised.
    dropout : float, default=0.0
        Share of the hidden units dropped in training.

    Examples
    --------
    >>> import torch
    >>> from skneighbors.nn import MLPEmbedder
    >>> embedder = MLPEmbedder(8, numerical_embedding="periodic", embedding_dim=32)
    >>> embedder(torch.randn(10, 8)).shape
    torch.Size([10, 32])
    """

    def __init__(
        self,
        n_features,
        hidden_layer_sizes=(256, 256),
        embedding_dim=64,
        *,
        activation="silu",
        numerical_embedding=None,
        batch_norm=True,
        dropout=0.0,
    ):
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {tuple(ACTIVATIONS)}; got {activation!r}.")
        if numerical_embedding not in NUMERICAL_EMBEDDINGS:
            raise ValueError(
                f"numerical_embedding must be one of {NUMERICAL_EMBEDDINGS}; "
                f"got {numerical_embedding!r}."
            )
        self.numerical_embedding = None
        if numerical_embedding == "periodic":
            self.numerical_embedding = PeriodicEmbedding(n_features)
            n_features = self.numerical_embedding.n_outputs
        layers = []
        for width in hidden_layer_sizes:
            # The normalisation has a bias of its own.
            layers.append(nn.Linear(n_features, width, bias=not batch_norm))
            if batch_norm:
                layers.append(WeightedBatchNorm(width))
            layers.append(ACTIVATIONS[activation]())
            if dropout > 0:
                layers.append(nn.Dropout(dropout))
            n_features = width
        layers.append(nn.Linear(n_features, embedding_dim))
        self.layers = nn.ModuleList(layers)

    def forward(self, x, sample_weight=None):
        """Embed the rows.

        Parameters
        ----------
        x : Tensor of shape (b, n_features)
        sample_weight : Tensor of shape (b,), default=None
            Weights of the rows in batch statistics; used in training mode.

        Returns
        -------
        z : Tensor of shape (b, embedding_dim)
        """
        if self.numerical_embedding is not None:
            x = self.numerical_embedding(x)
        for layer in self.layers:
            x = layer(x, sample_weight) if isinstance(layer, WeightedBatchNorm) else layer(x)
        return x
