"""Random rows of a large bank that stand for those a prediction does not look at."""

import copy

import torch

from .nn import similarity

# Bytes of a block that a CPU's cache can hold.
_CACHED_BYTES = 2**20


def draw_order(n_rows):
    """Shuffle the rows of a bank, the same way for every bank of that length.

    Parameters
    ----------
    n_rows : int

    Returns
    -------
    order : int Tensor of shape (n_rows,)
    """
    return torch.randperm(n_rows, generator=torch.Generator().manual_seed(0))


class RowSample:
    """Rows in single precision that stand for all others in sums over a bank.

    Parameters
    ----------
    head : nn.Module
        A head of similarities, in evaluation mode, whose parameters have a leading
        dimension of 1.
    z_n, values, sample_weight : Tensor
        The bank; see :class:`MemberAttention`.
    rows : int Tensor of shape (s,)
        A uniform sample of its rows.
    """

    def __init__(self, head, z_n, values, sample_weight, rows):
        self._head = copy.deepcopy(head).float()
        self._z, self._values = z_n[rows].float(), values[rows].float()
        self._weight = torch.ones_like(self._z[:, 0])
        if sample_weight is not None:
            self._weight = sample_weight[rows].float()
        self._place = torch.full((len(z_n),), -1, dtype=torch.int32, device=z_n.device)
        self._place[rows] = torch.arange(len(rows), dtype=torch.int32, device=z_n.device)

    def sums(self, z, low, high, candidates, rest):
        """Estimate sums over all rows but the candidates of queries.

        Parameters
        ----------
        z : Tensor of shape (b, d)
            Queries.
        low, high : Tensor of shape (b, 1)
            Extremes of their similarities to the whole bank.
        candidates : int Tensor of shape (b, c)
            Rows; -1 for none.
        rest : Tensor of shape (b, 1)
            Total sample weight of all other rows.

        Returns
        -------
        total : Tensor of shape (b, 1)
            Sum of the weights, relative to that of a neighbour of similarity `high`.
        sums : Tensor of shape (b, k)
            Sums of the values times these weights.
        """
        present = self._weight.repeat(len(z), 1)
        place = self._place[candidates.clamp(min=0)]
        query, column = ((place >= 0) & (candidates >= 0)).nonzero(as_tuple=True)
        present[query, place[query, column].long()] = 0
        # Where none are left, none stand for the rest.
        share = (rest / present.sum(1, keepdim=True)).nan_to_num(posinf=0.0)
        z, low, high = z.float(), low.float(), high.float()
        top = self._head.log_weights(z[None], high[None], low[None], high[None])
        total, sums = 0, 0
        length = max(1, _CACHED_BYTES // (4 * len(z)))
        for start in range(0, len(self._z), length):
            chunk = slice(start, start + length)
            s = similarity(z, self._z[chunk], self._head.similarity).minimum(high)
            log_weights = self._head.log_weights(z[None], s[None], low[None], high[None])
            weights = (log_weights - top).exp_()[0].mul_(present[:, chunk])
            total = total + weights.sum(1, keepdim=True)
            sums = sums + weights @ self._values[chunk]
        return share * total, share * sums
