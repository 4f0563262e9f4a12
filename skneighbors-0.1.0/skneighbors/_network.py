"""The networks of an estimator side by side: rows to embeddings and predictions."""

import copy
from dataclasses import dataclass, replace

import torch
from torch import nn

from ._utils.arrays import Stored
from ._utils.blocks import cut
from ._utils.device import CPU, BorrowedGenerators
from ._utils.process import torch_threads
from ._utils.threads import map_batches
from .nn import MLPEmbedder
from .nn._stack import stack_modules, take_member

_EMBED_ROWS = 2048


@dataclass(frozen=True)
class Architecture(Stored):
    """What networks are made by.

    Attributes
    ----------
    n_members : int
    embedder : dict
        Arguments of :class:`skneighbors.nn.MLPEmbedder`.
    head : subclass of NeighborHead
    head_arguments : dict
    """

    n_members: int
    embedder: dict
    head: type
    head_arguments: dict

    def reading(self, encoder):
        """Architecture for what a :class:`FeatureEncoder` returns."""
        widths = {"n_features": len(encoder.numbers), "n_plain": encoder.n_plain}
        widths["n_categories"] = encoder.n_categories[encoder.coded].tolist()
        return replace(self, embedder=self.embedder | widths)

    def make(self, feature_extractors=None):
        """Make networks with initial weights, all members side by side."""
        embedders = [MLPEmbedder(**self.embedder) for _ in range(self.n_members)]
        heads = [self.head(**self.head_arguments) for _ in range(self.n_members)]
        network = NeighborNetwork(feature_extractors, embedders, heads)
        network.architecture = self
        return network


@dataclass(frozen=True, eq=False)
class PackedNetwork(Stored):
    """A fitted :class:`NeighborNetwork` without torch.

    Attributes
    ----------
    architecture : Architecture
    arrays : dict of str to ndarray
        Parameters and buffers.
    feature_extractors : nn.ModuleList or None
    """

    architecture: Architecture
    arrays: dict
    feature_extractors: nn.ModuleList | None

    def restored(self):
        """Make the network."""
        self._check_widths()
        torch_threads.note()  # as copies of tensors are shared among threads
        with BorrowedGenerators(0, CPU)(), CPU:  # what is drawn is overwritten
            network = self.architecture.make().double()
        arrays = self.arrays.items()
        network.load_state_dict({name: torch.tensor(array, device=CPU) for name, array in arrays})
        network.feature_extractors = self.feature_extractors
        return network.eval().requires_grad_(False)

    def _check_widths(self):
        """Raise ValueError if layers are wider than the arrays: no memory is taken for them."""
        embedder = self.architecture.embedder
        n_inputs = embedder["n_features"] + embedder["n_plain"]
        n_weights = sum(embedder["n_categories"])
        for width in (*embedder["hidden_layer_sizes"], embedder["embedding_dim"]):
            n_inputs, n_weights = width, n_weights + abs(n_inputs * width)
        n_given = sum(array.size for array in self.arrays.values())
        if self.architecture.n_members * n_weights > n_given:
            raise ValueError("network is wider than its arrays")


class NeighborNetwork(nn.Module):
    """Members of an ensemble side by side, each a feature extractor, embedder and head.

    Parameters
    ----------
    feature_extractors : list of nn.Module or None
        One for each of the m members; maps X (b, ...) to features (b, p).
    embedders : list of nn.Module
        Map features and row weights to embeddings (b, d).
    heads : list of nn.Module
        :class:`skneighbors.nn.NONA` or :class:`skneighbors.nn.SoftStepKNN`.
    """

    def __init__(self, feature_extractors, embedders, heads):
        super().__init__()
        self.architecture = self.feature_extractors = None
        if feature_extractors is not None:
            self.feature_extractors = nn.ModuleList(feature_extractors)
        self.embedder = stack_modules(embedders)
        self.head = stack_modules(heads)

    def packed(self):
        """Take the networks apart, to what has `restored`."""
        state, extractors = self.state_dict(), self.feature_extractors
        ours = {n: t.cpu().numpy() for n, t in state.items() if not n.startswith("feature_extr")}
        return PackedNetwork(self.architecture, ours, extractors)

    def split(self):
        """Members as networks of one, without feature extractors; copies."""
        n_members = len(next(self.embedder.parameters()))
        return [take_member(self, i) for i in range(n_members)]

    @torch.no_grad()
    def join(self, parts):
        """Take over the weights of the parts that :meth:`split` returned."""
        for i, part in enumerate(parts):
            tensors = zip(self.state_dict().values(), part.state_dict().values(), strict=True)
            for whole, part in tensors:
                whole[i : i + 1] = part

    def embed(self, X, sample_weight=None):
        """Embed rows.

        Parameters
        ----------
        X : Tensor of shape (m, b, ...) or (1, b, ...)
            Rows of each member, or the same for all.
        sample_weight : Tensor of shape (m, b) or (1, b), default=None

        Returns
        -------
        z : Tensor of shape (m, b, d)
        """
        if self.feature_extractors is not None:
            rows = X.expand(len(self.feature_extractors), *X.shape[1:])
            # Copies: it may write in place, where other members or the caller would read.
            parts = zip(self.feature_extractors, rows, strict=True)
            X = torch.stack([extract(x.clone()) for extract, x in parts]).to(X.dtype)
        return self.embedder(X, sample_weight)

    def trends(self, z, n_targets):
        """Trends (n, m, k) of embeddings (n, m, d)."""
        none = z.new_zeros(z.shape[1], z.shape[0], n_targets)
        return self.head.add_trend(z.transpose(0, 1), none).transpose(0, 1)

    def forward(self, X, y, n_queries, sample_weight=None, context_weight=None, group=None):
        """Predict the first rows from all others.

        Parameters
        ----------
        X : Tensor of shape (m, N, ...)
        y : Tensor of shape (m, N, k)
        n_queries : int
            Number b of rows to predict; none is a neighbor of itself,
            whatever its weight.
        sample_weight : Tensor of shape (m, N), default=None
        context_weight : Tensor of shape (m, b, N) or (b, N), default=None
            How many rows of the training set each row stands for.
        group : int Tensor of shape (m, N), default=None
            Rows of one group are no neighbors of each other.

        Returns
        -------
        y_hat : Tensor of shape (m, b, k)
        """
        z = self.embed(X, sample_weight)
        weight = None if sample_weight is None else sample_weight.unsqueeze(-2)
        if context_weight is not None:
            weight = context_weight if weight is None else weight * context_weight
        if group is not None:
            others = group[:, :n_queries, None] != group[:, None]
            weight = others.to(z.dtype) if weight is None else weight * others
        if sample_weight is not None or group is not None:
            # A row stands for all that equal it: left out with all of its weight, lest it
            # learn to look its target up in the rest.
            weight = weight.expand(*z.shape[:-2], n_queries, z.shape[-2]).clone()
            weight[..., :n_queries].diagonal(dim1=-2, dim2=-1).fill_(1.0)
        index = torch.arange(n_queries, device=z.device)
        queries = z if n_queries == z.shape[1] else z[:, :n_queries]
        return self.head(queries, z, y, self_index=index, sample_weight=weight)


def embed_in_batches(network, X):
    """Embed X (n, ...) for every member, to (m, n, d), a bounded number of rows at once."""
    batches = cut(len(X), _EMBED_ROWS)
    return torch.cat(map_batches(lambda batch: network.embed(X[None, batch]), batches), 1)


def make_feature_extractor(feature_extractor):
    """Copy the user's module, or what the user's callable returns.

    Raises
    ------
    TypeError
        If a callable needs arguments.
    """
    made = feature_extractor
    if not isinstance(made, nn.Module):
        try:
            made = feature_extractor()
        except TypeError as error:
            raise TypeError(
                "feature_extractor must be a torch.nn.Module, or a callable without arguments "
                f"that returns one; got {feature_extractor!r}: {error}"
            ) from error
    return copy.deepcopy(made)  # a callable may return one and the same module each time


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
        If it does not map (b, ...) to (b, p).
    """
    if not isinstance(feature_extractor, nn.Module):
        raise TypeError(
            "feature_extractor must be a torch.nn.Module, or a callable that returns one; it "
            f"returned {feature_extractor!r}."
        )
    training = feature_extractor.training
    try:
        with torch.no_grad():
            out = feature_extractor.eval()(X.clone())
    except RuntimeError as error:
        raise ValueError(
            f"feature_extractor failed on X of shape {tuple(X.shape)}: {error}"
        ) from error
    finally:
        feature_extractor.train(training)
    if not isinstance(out, torch.Tensor) or out.ndim != 2 or len(out) != len(X):
        shape = tuple(out.shape) if isinstance(out, torch.Tensor) else type(out).__name__
        raise ValueError(
            "feature_extractor must map X of shape (b, ...) to features of shape (b, p); "
            f"it mapped {tuple(X.shape)} to {shape}."
        )
    return out.shape[1]
