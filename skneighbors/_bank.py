"""The fitted neighbours and what they predict."""

import copy
from threading import Lock

import torch
from sklearn import get_config
from sklearn.utils import gen_batches

from ._attention import MemberAttention, block_length
from ._candidates import CandidateAttention
from ._torch_utils import CACHED_BYTES, keep_freed_memory, map_batches
from .nn import take_member

# Held while indices are built, so that threads that predict at once share them.
_building = Lock()
# Temporaries of the size of one block of similarities.
_TEMPORARIES = 8
_EMBED_ROWS = 2048
# Of the targets' range: how far beyond it a member's prediction may lie.
_MARGIN = 0.1


def embed_in_batches(network, X):
    """Embed X (n, ...) for every member, to (m, n, d), a bounded number of rows at once."""
    batches = gen_batches(len(X), _EMBED_ROWS)
    return torch.cat(map_batches(lambda batch: network.embed(X[None, batch]), batches), 1)


def attend_in_batches(head, z, z_n, y_n, sample_weight=None, n_heads=1):
    """Predict z (m, n, d), to (..., m, n, k), a bounded number of rows' similarities at once.

    The leading dimensions are those of a head that stands for `n_heads`.
    """

    def attend(batch):
        return head(z[:, batch], z_n, y_n, sample_weight=sample_weight)

    return torch.cat(map_batches(attend, gen_batches(z.shape[1], rows_at_once(z_n, n_heads))), -2)


def rows_at_once(z_n, n_heads=1):
    """Count the queries whose work fits ``working_memory`` and, on a CPU, its cache."""
    row_bytes = z_n.element_size() * z_n.shape[:-1].numel()
    n_bytes = get_config()["working_memory"] * 2**20 / _TEMPORARIES / n_heads
    if z_n.is_cpu:
        n_bytes = min(n_bytes, CACHED_BYTES)
    return max(1, int(n_bytes // row_bytes))


def _extremes(y):
    """Smallest and largest targets of rows (n, k), to (2, k)."""
    return torch.stack(y.aminmax(dim=0))


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
        The neighbours' weights, positive.
    member_weight : Tensor of shape (m,)
        The members' shares of a prediction, which sum to 1, float64.
    """

    @torch.no_grad()
    def __init__(self, network, X, y, sample_weight, member_weight):
        # Embeddings z_n of shape (m, n_rows, d), for m members of the ensemble,
        # what to average, values of shape (m, n_rows, k), and the targets' extremes.
        self.network = copy.deepcopy(network).double().eval().requires_grad_(False)
        self.z_n = embed_in_batches(self.network, X)
        self.values = self._values(self.z_n, y)
        self.y_range = _extremes(y)
        self.sample_weight = sample_weight
        self.member_weight = member_weight
        self._indexed = {}

    def __len__(self):
        return self.z_n.shape[1]

    def _values(self, z_n, y):
        return self.network.head.subtract_trend(z_n, y.expand(len(z_n), -1, -1)).contiguous()

    def to(self, device):
        """Bank whose tensors lie on `device`: itself, or a copy."""
        if self.z_n.device == device:
            return self
        moved = copy.copy(self)
        moved._indexed = self._indexed  # each device has its own
        moved.network = copy.deepcopy(self.network).to(device)
        moved.z_n, moved.values = self.z_n.to(device), self.values.to(device)
        moved.y_range = self.y_range.to(device)
        moved.member_weight = self.member_weight.to(device)
        if self.sample_weight is not None:
            moved.sample_weight = self.sample_weight.to(device)
        return moved

    @torch.no_grad()
    def extended(self, X, y, sample_weight):
        """Bank with further rows, given as to the constructor; all weights."""
        longer = copy.copy(self)
        z_n = embed_in_batches(self.network, X)
        longer.z_n = torch.cat([self.z_n, z_n], 1)
        longer.values = torch.cat([self.values, self._values(z_n, y)], 1)
        longer.y_range = _extremes(torch.cat([self.y_range, y]))
        longer._set_weight(torch.cat([self._weight(), sample_weight]))
        return longer

    @torch.no_grad()
    def selected(self, keep, sample_weight):
        """Bank of the rows of a mask, with new weights."""
        shorter = copy.copy(self)
        shorter.z_n, shorter.values = self.z_n[:, keep], self.values[:, keep]
        y = self.network.head.add_trend(shorter.z_n, shorter.values)[0]  # up to rounding
        shorter.y_range = _extremes(y)
        shorter._set_weight(sample_weight)
        return shorter

    def _weight(self):
        if self.sample_weight is None:
            return torch.ones_like(self.values[0, :, 0])
        return self.sample_weight

    def _set_weight(self, weight):
        # Unit weights are None, which is faster.
        self.sample_weight = None if (weight == 1).all() else weight

    @torch.no_grad()
    def embed(self, X):
        """Embed X (n, ...) for every member, to (m, n, d)."""
        return embed_in_batches(self.network, X)

    @torch.no_grad()
    def predict(self, X, n_candidates=None, algorithm="auto"):
        """Predict X (n, ...), to (n, k), from all rows or the nearest ones."""
        z = self.embed(X)
        if n_candidates is not None and n_candidates < len(self):
            members = self._candidates(algorithm)
            pairs = zip(members, z, strict=True)
            average = torch.stack([member.average(own, n_candidates) for member, own in pairs])
            return self._complete(z, average)

        with torch.inference_mode(False):  # in which the threads that fill it are not
            averages = z.new_empty(*z.shape[:2], self.values.shape[2])

        def average(members, batch):
            for member, own, out in zip(members, z, averages, strict=True):
                out[batch] = member.average(own[batch])

        self._attend(average, z)
        return self._complete(z, averages)

    def _complete(self, z, averages):
        """Join what the members (m, n, k) predict, each kept near the targets' range."""
        low, high = self.y_range
        margin = _MARGIN * (high - low)
        y_hat = self.network.head.add_trend(z, averages)
        y_hat = y_hat.clamp(low - margin, high + margin)
        return (y_hat * self.member_weight[:, None, None]).sum(0)

    @torch.no_grad()
    def top_weights(self, X, n_neighbors):
        """Largest weights of each row of X (n, ...) and their bank rows, both (n, n_neighbors)."""
        z = self.embed(X)

        def top(members, batch):
            triples = zip(self.member_weight, members, z, strict=True)
            weights = sum(member.weights(own[batch]).mul_(share) for share, member, own in triples)
            return weights.topk(n_neighbors)

        tops = self._attend(top, z)
        return torch.cat([top.values for top in tops]), torch.cat([top.indices for top in tops])

    def _candidates(self, algorithm):
        """Members' attention to candidates; the index last used on a device is kept."""
        device = self.z_n.device
        kept = self._indexed.get(device)
        if kept is None or kept[0] != algorithm:
            with _building:
                kept = self._indexed.get(device)
                if kept is None or kept[0] != algorithm:
                    # Samples of their own, so that the members' errors differ.
                    members = [
                        CandidateAttention(*own, algorithm, seed)
                        for seed, own in enumerate(self._members())
                    ]
                    kept = self._indexed[device] = algorithm, members
        return kept[1]

    def _members(self):
        """Head, embeddings, values and weights of every member."""
        return [
            (take_member(self.network.head, i), z_n, values, self.sample_weight)
            for i, (z_n, values) in enumerate(zip(self.z_n, self.values, strict=True))
        ]

    def __getstate__(self):
        return self.__dict__ | {"_indexed": {}}

    def _attend(self, function, z):
        """Results of a function of the members' attention and a batch, for all batches of z."""
        keep_freed_memory()
        pairs = zip(self._members(), z, strict=True)
        members = map_batches(lambda pair: MemberAttention(*pair[0], pair[1]), pairs)
        batches = gen_batches(z.shape[1], block_length(len(self)))
        return map_batches(lambda batch: function(members, batch), batches)
