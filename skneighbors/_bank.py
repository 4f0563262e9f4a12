"""The fitted neighbours and exact attention over them."""

import copy

import torch
from sklearn import get_config
from sklearn.utils import gen_batches

from ._torch_utils import map_batches

# Temporaries of the size of one block of similarities.
_TEMPORARIES = 8
_EMBED_ROWS = 4096


def embed_in_batches(network, X):
    """Embed X (n, ...) in evaluation mode, to (n, d), a bounded number of rows at once."""
    batches = gen_batches(len(X), _EMBED_ROWS)
    return torch.cat(map_batches(lambda batch: network.embed(X[batch]), batches))


def attend_in_batches(head, z, z_n, y_n, sample_weight=None):
    """Predict z (n, d), to (n, k), the similarities of a bounded number of rows at once."""

    def attend(batch):
        return head(z[batch], z_n, y_n, sample_weight=sample_weight)

    return torch.cat(map_batches(attend, gen_batches(len(z), rows_in_memory(z_n))))


def rows_in_memory(z_n):
    """Count the queries whose work fits scikit-learn's ``working_memory``."""
    row_bytes = _TEMPORARIES * z_n.element_size() * len(z_n)
    return max(1, int(get_config()["working_memory"] * 2**20 // row_bytes))


class NeighborBank:
    """Embedded, labelled neighbours of a trained network.

    The network is turned to float64: then a row predicted alone equals the same
    row predicted in a batch.

    Parameters
    ----------
    network : NeighborNetwork
        Trained network; it is copied.
    X : Tensor of shape (n_rows, ...)
        The neighbours' scaled features, float64.
    y : Tensor of shape (n_rows, k)
        The neighbours' scaled targets, float64.
    sample_weight : Tensor of shape (n_rows,) or None
        The neighbours' weights.
    """

    @torch.no_grad()
    def __init__(self, network, X, y, sample_weight):
        self.network = copy.deepcopy(network).double().eval().requires_grad_(False)
        self.z_n = embed_in_batches(self.network, X)
        self.y_n = y
        self.sample_weight = sample_weight

    def to(self, device):
        """Bank whose tensors lie on `device`: itself, or a copy."""
        if self.z_n.device == device:
            return self
        moved = copy.copy(self)
        moved.network = copy.deepcopy(self.network).to(device)
        moved.z_n, moved.y_n = self.z_n.to(device), self.y_n.to(device)
        if self.sample_weight is not None:
            moved.sample_weight = self.sample_weight.to(device)
        return moved

    @torch.no_grad()
    def embed(self, X):
        """Embed X (n, ...), to (n, d)."""
        return embed_in_batches(self.network, X)

    @torch.no_grad()
    def predict(self, X):
        """Predict X (n, ...), to (n, k)."""
        return attend_in_batches(
            self.network.head, self.embed(X), self.z_n, self.y_n, self.sample_weight
        )

    @torch.no_grad()
    def top_weights(self, X, n_neighbors):
        """Largest weights of each row of X (n, ...) and their bank rows, both (n, n_neighbors)."""
        z, head = self.embed(X), self.network.head

        def top(batch):
            weights = head.weights(z[batch], self.z_n, sample_weight=self.sample_weight)
            return weights.topk(n_neighbors)

        tops = map_batches(top, gen_batches(len(z), rows_in_memory(self.z_n)))
        return torch.cat([top.values for top in tops]), torch.cat([top.indices for top in tops])
