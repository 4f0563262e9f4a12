"""From features to embeddings."""

import math
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from ._autocast import without_autocast
from ._numpy import broadcast_shapes
from ._options import check_option
from ._stack import Linear

ACTIVATIONS = {"silu": nn.SiLU, "relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU}
NUMERICAL_EMBEDDINGS = ("periodic", None)
# Frequencies and outputs of a feature's periodic embedding; frequencies of all features, above
# which each has fewer, and of more features none.
_N_FREQUENCIES, _N_OUTPUTS, _MAX_WAVES = 16, 4, 4096
# Standard deviation of the initial vectors of categories.
_CATEGORY_STD = 0.05
# Hidden layers before any residual one: networks of no more learn better without.
_N_STEM_LAYERS = 2


class PeriodicEmbedding(nn.Module):
    r"""Periodic embedding of each feature, the feature itself kept.

    Feature x becomes ``(x, W cos(2 pi (w x + c)) + v)``, with frequencies w,
    phases c and a linear map ``W, v`` that differ between features.

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

    def __init__(
        self, n_features: int, n_frequencies: int = 16, n_outputs: int = 4, sigma: float = 0.1
    ) -> None:
        super().__init__()
        self.frequencies = nn.Parameter(sigma * torch.randn(n_features, 1, n_frequencies))
        self.phases = nn.Parameter(math.pi * (2 * torch.rand(n_features, 1, n_frequencies) - 1))
        bound = 1 / math.sqrt(n_frequencies)
        shape = (n_features, n_frequencies, n_outputs - 1)
        self.weight = nn.Parameter(bound * (2 * torch.rand(shape) - 1))
        self.bias = nn.Parameter(bound * (2 * torch.rand(n_features, 1, n_outputs - 1) - 1))
        self.n_outputs = n_features * n_outputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Embed the features.

        Parameters
        ----------
        x : Tensor of shape (..., b, n_features)
            Scaled features.

        Returns
        -------
        x_embedded : Tensor of shape (..., b, n_features * n_outputs)

        Examples
        --------
        >>> import torch
        >>> from skneighbors.nn import PeriodicEmbedding
        >>> x = torch.randn(3, 5)
        >>> torch.equal(PeriodicEmbedding(5).forward(x)[:, ::4], x)  # each feature itself is kept
        True
        """
        columns = x.mT.unsqueeze(-1)  # (..., n_features, b, 1)
        waves = torch.addcmul(self.phases, 2 * math.pi * columns, self.frequencies).cos_()
        out = torch.matmul(waves, self.weight).add_(self.bias)  # (..., b, n_outputs - 1)
        columns = columns.expand(*out.shape[:-1], 1)
        return torch.cat([columns, out], -1).transpose(-3, -2).flatten(-2)


class CategoricalEmbedding(nn.Module):
    """Learned vector for each category of each categorical feature.

    Parameters
    ----------
    n_categories : sequence of int
        Number of categories of each feature.
    dim : int, default=8
        Length of the vectors.

    Notes
    -----
    The code of a missing or unknown category is the number of categories. Its vector
    is zero at first, and stays about there unless such rows are trained on.

    References
    ----------
    Guo and Berkhahn, "Entity Embeddings of Categorical Variables", arXiv 1604.06737.

    Examples
    --------
    >>> import torch
    >>> from skneighbors.nn import CategoricalEmbedding
    >>> CategoricalEmbedding([3, 20])(torch.tensor([[0.0, 19.0], [3.0, 20.0]])).shape
    torch.Size([2, 16])
    """

    def __init__(self, n_categories: Sequence[int], dim: int = 8) -> None:
        super().__init__()
        ends = np.cumsum([n + 1 for n in n_categories]).tolist()
        self.register_buffer("first", torch.tensor([0, *ends[:-1]]))
        self.weight = nn.Parameter(_CATEGORY_STD * torch.randn(ends[-1], dim))
        with torch.no_grad():
            self.weight[[end - 1 for end in ends]] = 0
        self.n_outputs = len(ends) * dim

    def forward(self, codes: torch.Tensor) -> torch.Tensor:
        """Look the vectors up.

        Parameters
        ----------
        codes : Tensor of shape (..., b, n_features)
            Whole numbers, of any dtype.

        Returns
        -------
        vectors : Tensor of shape (..., b, n_features * dim)

        Examples
        --------
        >>> import torch
        >>> from skneighbors.nn import CategoricalEmbedding
        >>> CategoricalEmbedding([3], dim=2).forward(torch.tensor([[3]])).tolist()  # unknown
        [[0.0, 0.0]]
        """
        rows = codes.long() + self.first.unsqueeze(-2)
        stack = self.weight.shape[:-2]
        if not stack:
            return F.embedding(rows, self.weight).flatten(-2)
        rows = rows.expand(*stack, *rows.shape[-2:]).flatten(-2)
        vectors = self.weight.take_along_dim(rows.unsqueeze(-1), -2)
        return vectors.unflatten(-2, (-1, codes.shape[-1])).flatten(-2)


class _Standardize(torch.autograd.Function):
    """Rows minus their mean, over their standard deviation, times weight plus bias."""

    @staticmethod
    def forward(ctx, x, weight, bias, row_weight, eps):
        # row_weight (..., 1, b) sums to 1.
        mean = row_weight @ x
        standard = x - mean
        var = row_weight @ standard.square()
        scale = torch.rsqrt(var + eps)
        standard.mul_(scale)
        weight = weight.unsqueeze(-2)
        ctx.save_for_backward(standard, row_weight, scale, weight)
        mean, var = mean.squeeze(-2), var.squeeze(-2)
        ctx.mark_non_differentiable(mean, var)
        return torch.addcmul(bias.unsqueeze(-2), standard, weight), mean, var

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad, *_):
        standard, row_weight, scale, weight = ctx.saved_tensors
        by_bias = grad.sum(-2, keepdim=True)
        by_weight = (grad * standard).sum(-2, keepdim=True)
        by_mean = torch.addcmul(by_bias, standard, by_weight).mul_(row_weight.mT)
        grad_x = torch.sub(grad, by_mean, out=by_mean).mul_(scale * weight)
        return grad_x, by_weight.squeeze(-2), by_bias.squeeze(-2), None, None


class WeightedBatchNorm(nn.Module):
    """Batch normalization whose statistics weight the rows.

    Parameters
    ----------
    num_features : int
        Number of features.
    eps : float, default=1e-5
        Added to the variances.
    momentum : float, default=0.1
        Weight of a batch in the running statistics that evaluation uses.

    Examples
    --------
    >>> import torch
    >>> from skneighbors.nn import WeightedBatchNorm
    >>> x, norm = torch.randn(3, 2), WeightedBatchNorm(2)
    >>> twice = norm(x[[0, 0, 1, 2]])[1:]
    >>> torch.allclose(norm(x, torch.tensor([2.0, 1.0, 1.0])), twice, atol=1e-5)
    True
    """

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        super().__init__()
        self.eps = eps
        self.momentum = momentum
        self.weight = nn.Parameter(torch.ones(num_features))
        self.bias = nn.Parameter(torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))

    def forward(self, x: torch.Tensor, sample_weight: torch.Tensor | None = None) -> torch.Tensor:
        """Normalize the rows.

        Parameters
        ----------
        x : Tensor of shape (..., b, num_features)
        sample_weight : Tensor of shape (..., b), default=None
            Weights of the rows in the batch statistics; used in training mode.

        Returns
        -------
        x_normalized : Tensor of shape (..., b, num_features)

        Examples
        --------
        >>> import torch
        >>> from skneighbors.nn import WeightedBatchNorm
        >>> WeightedBatchNorm(1).forward(torch.tensor([[0.0], [2.0]])).round().tolist()
        [[-1.0], [1.0]]
        """
        if not self.training:
            scale = self.weight * torch.rsqrt(self.running_var + self.eps)
            shift = torch.addcmul(self.bias, self.running_mean, scale, value=-1)
            return torch.addcmul(shift.unsqueeze(-2), x, scale.unsqueeze(-2))
        if torch.is_autocast_enabled(x.device.type):
            return without_autocast(self.forward, (x,), sample_weight)
        row_weight, correction = self._row_weights(x, sample_weight)
        out, mean, var = _Standardize.apply(x, self.weight, self.bias, row_weight, self.eps)
        with torch.no_grad():
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(var * correction, self.momentum)
        return out

    def _row_weights(self, x, sample_weight):
        """Weight of each row in its mean, (..., 1, b), and what makes the variance unbiased."""
        n = x.shape[-2]
        if sample_weight is None:
            return x.new_full((1, n), 1 / n), n / max(n - 1, 1)
        total = sample_weight.sum(-1, keepdim=True)
        n = total.clamp(min=n)  # weights below 1 are no smaller sample
        return (sample_weight / total).unsqueeze(-2), torch.where(n > 1, n / (n - 1), 1)


class _HiddenLayer(nn.Module):
    """Linear layer, batch normalization, activation and dropout; `residual` adds the input."""

    def __init__(self, n_features, width, activation, batch_norm, dropout, residual):
        super().__init__()
        # The normalization has a bias.
        self.linear = Linear(n_features, width, bias=not batch_norm)
        self.norm = WeightedBatchNorm(width) if batch_norm else None
        self.activation = activation
        self.dropout = nn.Dropout(dropout) if dropout > 0 else None
        self.residual = residual

    def forward(self, x, sample_weight=None):
        out = self.linear(x)
        if self.norm is not None:
            out = self.norm(out, sample_weight)
        out = self.activation(out)
        if self.dropout is not None:
            out = self.dropout(out)
        return x + out if self.residual else out


class MLPEmbedder(nn.Module):
    """Multilayer perceptron from features to embeddings.

    Hidden layers, each with batch normalization, an activation and dropout,
    and a linear layer to the embedding. From the third on, a hidden layer as wide
    as the one before adds its input to its output (He et al., "Deep Residual
    Learning for Image Recognition", CVPR 2016).

    Parameters
    ----------
    n_features : int
        Number of numeric features.
    hidden_layer_sizes : tuple of int, default=(256, 256)
        Widths of the hidden layers; may be empty.
    embedding_dim : int, default=64
        Width of the embedding.
    activation : {"silu", "relu", "tanh", "gelu"}, default="silu"
        Activation of the hidden layers.
    numerical_embedding : {"periodic"} or None, default=None
        :class:`PeriodicEmbedding` before the first layer, or nothing. Of 16 frequencies;
        from 257 features on of fewer, so that all have no more than 4,096; of more features none.
    batch_norm : bool, default=True
        Whether hidden layers are batch-normalized.
    dropout : float, default=0.0
        Fraction of the hidden units dropped in training.
    n_plain : int, default=0
        Number of further features, which no numerical embedding is for.
    n_categories : sequence of int, default=()
        Numbers of categories of further, categorical features, which are codes; see
        :class:`CategoricalEmbedding`.

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
        n_features: int,
        hidden_layer_sizes: Sequence[int] = (256, 256),
        embedding_dim: int = 64,
        *,
        activation: str = "silu",
        numerical_embedding: str | None = None,
        batch_norm: bool = True,
        dropout: float = 0.0,
        n_plain: int = 0,
        n_categories: Sequence[int] = (),
    ) -> None:
        super().__init__()
        check_option("activation", activation, ACTIVATIONS)
        check_option("numerical_embedding", numerical_embedding, NUMERICAL_EMBEDDINGS)
        self.widths = [n_features, n_plain, len(n_categories)]
        self.numerical_embedding = self.categorical_embedding = None
        if numerical_embedding == "periodic" and 0 < n_features <= _MAX_WAVES:
            n_frequencies = min(_N_FREQUENCIES, _MAX_WAVES // n_features)
            n_outputs = min(_N_OUTPUTS, 1 + n_frequencies)
            self.numerical_embedding = PeriodicEmbedding(n_features, n_frequencies, n_outputs)
            n_features = self.numerical_embedding.n_outputs
        n_features += n_plain
        if len(n_categories):
            self.categorical_embedding = CategoricalEmbedding(n_categories)
            n_features += self.categorical_embedding.n_outputs
        layers = []
        for i, width in enumerate(hidden_layer_sizes):
            residual = i >= _N_STEM_LAYERS and width == n_features
            options = ACTIVATIONS[activation](), batch_norm, dropout, residual
            layers.append(_HiddenLayer(n_features, width, *options))
            n_features = width
        layers.append(Linear(n_features, embedding_dim))
        self.layers = nn.ModuleList(layers)

    def forward(self, x: torch.Tensor, sample_weight: torch.Tensor | None = None) -> torch.Tensor:
        """Embed the rows.

        Parameters
        ----------
        x : Tensor of shape (..., b, n_features + n_plain + len(n_categories))
            Numeric features, plain ones and codes, in this order.
        sample_weight : Tensor of shape (..., b), default=None
            Weights of the rows in batch statistics; used in training mode.

        Returns
        -------
        z : Tensor of shape (..., b, embedding_dim)

        Examples
        --------
        >>> import torch
        >>> from skneighbors.nn import MLPEmbedder
        >>> embedder = MLPEmbedder(2, (8,), embedding_dim=4, n_categories=[3])
        >>> embedder.forward(torch.tensor([[0.5, -1.0, 2.0], [0.1, 0.3, 0.0]])).shape
        torch.Size([2, 4])
        """
        x = self._embed_features(x)
        *hidden_layers, last = self.layers
        for layer in hidden_layers:
            x = layer(x, sample_weight)
        return last(x)

    def _embed_features(self, x):
        """Embed each feature by itself."""
        _, n_plain, n_codes = self.widths
        if not (n_plain or n_codes):
            return x if self.numerical_embedding is None else self.numerical_embedding(x)
        numbers, plain, codes = x.split(self.widths, -1)
        if self.numerical_embedding is not None:
            numbers = self.numerical_embedding(numbers)
        parts = [numbers, plain]
        if n_codes:
            parts.append(self.categorical_embedding(codes))
        stack = broadcast_shapes(*(part.shape[:-2] for part in parts))
        return torch.cat([part.expand(*stack, *part.shape[-2:]) for part in parts], -1)
