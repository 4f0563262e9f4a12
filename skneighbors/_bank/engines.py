"""The engines that predict from a bank, and the one place where they are chosen."""

import torch
from sklearn.utils import gen_batches

from .._utils.blocks import CACHED_BYTES, keep_freed_memory
from .._utils.locks import ForkSafeLock
from .._utils.threads import map_batches
from ..nn._neighbor_mask import average
from .candidates import CandidateAttention
from .exact import block_length
from .prefiltered import PrefilteredAttention
from .ranked import RankedAttention

# Held while indices are built, so that threads that predict at once share them.
_building = ForkSafeLock()


def choose_engine(bank, n_candidates, algorithm):
    """Engine for the queries to come.

    Candidates are looked at alone where the user asks for fewer than there are rows: the
    one engine that is not exact. All others look at every row; which attention
    does that fastest, each member tells by some of the queries.

    Parameters
    ----------
    bank : NeighborBank
    n_candidates : int or None
    algorithm : {"auto", "brute", "ivf", "hnsw"}

    Returns
    -------
    engine : CandidateEngine or ExactEngine
        ``engine.compute(z)`` averages the bank's values for queries (m, n, d), to (m, n, k).
    """
    if CandidateEngine.usable_for(bank, n_candidates):
        return CandidateEngine(bank, n_candidates, algorithm)
    return ExactEngine(bank)


class ExactEngine:
    """All rows, a block of queries at a time."""

    def __init__(self, bank):
        self._bank = bank

    def compute(self, z):
        """Averages (m, n, k) of the bank's values for queries (m, n, d)."""
        if 8 * len(self._bank) * z.shape[:2].numel() <= CACHED_BYTES:
            # Of few, all members at once; threads would not pay.
            return map_batches(self._average_all, [z])[0]
        with torch.inference_mode(False):  # in which the threads that fill it are not
            averages = z.new_empty(*z.shape[:2], self._bank.values.shape[2])

        def average_each(members, batch):
            for member, own, out in zip(members, z, averages, strict=True):
                out[batch] = member.average(own[batch])

        self._map(average_each, z)
        return averages

    def _average_all(self, z):
        weights = self._bank.network.head.weights(
            z, self._bank.z_n, sample_weight=self._bank.sample_weight
        )
        return average(weights, self._bank.values)

    def attend(self, z, function):
        """Results of a function of weights, for batches of queries (m, n, d) in their order.

        Parameters
        ----------
        z : Tensor of shape (m, n, d)
        function : callable
            Gets the weights (b, N) of all neighbours for b queries, as a list of one tensor
            for each member. Called in several threads at once.

        Returns
        -------
        results : list
        """

        def attend(members, batch):
            return function(
                [member.weights(own[batch]) for member, own in zip(members, z, strict=True)]
            )

        return self._map(attend, z)

    def attend_to_others(self, z, own, function):
        """Do the same for queries (m, n, d) that are rows `own` (n,) of the bank; -1 for none.

        Each is left out itself, with all of its group. The function gets `own` (b,), too.
        """
        keep_freed_memory()
        members = self._bank.exact

        def attend(batch):
            rows, weight = own[batch], self._bank.weights_outside_groups(own[batch])
            pairs = zip(members, z, strict=True)
            return function([m.weights_of_others(q[batch], rows, weight) for m, q in pairs], rows)

        return map_batches(attend, gen_batches(len(own), block_length(len(self._bank))))

    def _map(self, function, z):
        """Results of a function of the members' attentions and a batch, for all batches of z."""
        keep_freed_memory()
        members = zip(self._bank.members(), self._bank.exact, z, strict=True)
        attentions = [_choose_attention(*member) for member in members]
        n_queries = min(attention.n_queries for attention in attentions)
        batches = gen_batches(z.shape[1], n_queries)
        return map_batches(lambda batch: function(attentions, batch), batches)


def _choose_attention(member, exact, z):
    """Attention of one member that is fastest for queries (n, d): the first that pays.

    Each tells by some of the queries; otherwise it is the exact one.
    """
    head, z_n, *_ = member
    for kind in (PrefilteredAttention, RankedAttention):
        if kind.usable_for(head, len(z_n), len(z)):
            attention = kind(*member)
            if attention.pays_for(z):
                return attention
            del attention  # before the next one is made: both may hold a copy of the bank
    return exact


class CandidateEngine:
    """The rows nearest to a query, found through an index, and a sample of the others."""

    def __init__(self, bank, n_candidates, algorithm):
        self._n_candidates = n_candidates
        self._members = bank.indices.get(bank, algorithm)

    @staticmethod
    def usable_for(bank, n_candidates):
        """Whether fewer candidates are asked for than there are rows."""
        return n_candidates is not None and n_candidates < len(bank)

    def compute(self, z):
        """Averages (m, n, k) of the bank's values for queries (m, n, d)."""
        pairs = zip(self._members, z, strict=True)
        return torch.stack([member.average(own, self._n_candidates) for member, own in pairs])


class IndexCache:
    """Indices of one bank, built when first asked for: on each device, the last used.

    A copy or a pickle of it is empty.
    """

    def __init__(self):
        self._kept = {}

    def get(self, bank, algorithm):
        """Attention of each of the bank's members to candidates."""
        device = bank.z_n.device
        kept = self._kept.get(device)
        if kept is None or kept[0] != algorithm:
            with _building:
                kept = self._kept.get(device)
                if kept is None or kept[0] != algorithm:
                    # Samples of their own, so that the members' errors differ.
                    members = [
                        CandidateAttention(*own, algorithm, seed)
                        for seed, own in enumerate(bank.members())
                    ]
                    kept = self._kept[device] = algorithm, members
        return kept[1]

    def __reduce__(self):
        return IndexCache, ()
