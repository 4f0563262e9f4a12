"""Ways to weight the same similarities: SoftStep's, and others to compare it with."""

import math

import torch
from _methods import PAPER, make_regressor
from torch import nn

from skneighbors import NONARegressor, SoftStepKNNRegressor
from skneighbors.nn import NONA, SoftStepKNN

# Neighbors that `top_k` leaves, the middle of the papers' grid of k-NN.
TOP_K = 5
# Below every present entry by more than any of these weightings looks.
_FAR_BELOW = 1e4


def nca(s):
    """Softmax of minus squared distances, as in neighborhood components analysis."""
    return -s.square()


def top_k(s):
    """Leave the nearest `TOP_K`, to be weighted by a softmax."""
    k = min(TOP_K, s.shape[-1])
    return s.masked_fill(s < s.topk(k).values[..., -1:], -math.inf)


def _sparsemax(s):
    from entmax import sparsemax

    return sparsemax(s, dim=-1)


def _entmax15(s):
    from entmax import entmax15

    return entmax15(s, dim=-1)


def _softmax(s):
    return s.softmax(-1)


class WeightedHead(NONA):
    """Head that weights the similarities of the neighbors left by a function of all of them.

    Equal rows count once, whatever their weight.

    Parameters
    ----------
    embedding_dim, n_targets : int
    logits : callable
        Of the similarities (..., b, N).
    normalize : callable
        Turns these into weights.
    log_n : bool
        Whether similarities are multiplied by the logarithm of the number of
        neighbors times a learned number, as Nakanishi (2025) does in attention.
    """

    def __init__(self, embedding_dim, n_targets, *, logits=None, normalize=_softmax, log_n=False):
        super().__init__(embedding_dim, n_targets, softstep=None)
        self._logits_of, self._normalize = logits, normalize
        self.scale = nn.Parameter(torch.zeros(())) if log_n else None

    @property
    def ranked(self):
        """Weights depend on all similarities of a row."""
        return True

    def weights_of(self, z, s, self_index=None, sample_weight=None, total=None):
        """See :meth:`skneighbors.nn.NONA.weights_of`."""
        absent = torch.zeros_like(s, dtype=torch.bool)
        if self_index is not None:
            query = torch.arange(len(self_index), device=s.device)
            absent[..., query, self_index.clamp(min=0)] = self_index >= 0
        if sample_weight is not None:
            absent |= sample_weight == 0
        if self.scale is not None:
            # Starts as a plain softmax of the 31 neighbors of the papers' batches.
            log_n = (~absent).sum(-1, keepdim=True).to(s.dtype).log() / math.log(31)
            s = s * (log_n * self.scale.exp()[..., None, None])
        lowest = s.amin(-1, keepdim=True).detach() - _FAR_BELOW
        s = torch.where(absent, lowest, s)
        s = s if self._logits_of is None else self._logits_of(s)
        return self._normalize(s)


def weighted_regressor(**params):
    """NONARegressor class whose head is a `WeightedHead` of these parameters."""

    class WeightedRegressor(NONARegressor):
        def _describe_head(self, plan, n_targets):
            sizes = {"embedding_dim": plan.recipe.embedding_dim, "n_targets": n_targets}
            return WeightedHead, sizes | params

    return WeightedRegressor


class LinearRanksRegressor(SoftStepKNNRegressor):
    """SoftStep k-NN whose masks select a fraction of the neighbors, however many there are."""

    def _describe_head(self, plan, n_targets):
        _, arguments = super()._describe_head(plan, n_targets)
        kept = {name: arguments[name] for name in ("embedding_dim", "n_targets", "trend", "eps")}
        return SoftStepKNN, kept | {"rank_scale": "linear"}


def _knn(softstep, estimator=SoftStepKNNRegressor, **params):
    return estimator, {"softstep": softstep, "eps": 1e-6, **params}


# Parameters of `WeightedHead`.
HEADS = {
    "softmax of squares (NCA)": {"logits": nca},
    "log-N softmax": {"log_n": True},
    f"softmax of the top {TOP_K}": {"logits": top_k},
    "sparsemax": {"normalize": _sparsemax},
    "1.5-entmax": {"normalize": _entmax15},
}
# Estimator class and parameters beside the papers' setting.
WEIGHTINGS = {
    "softmax": (NONARegressor, {"softstep": None}),
    "softmax + S1": (NONARegressor, {"softstep": "s1"}),
    "softmax + S2": (NONARegressor, {"softstep": "s2"}),
    **{name: (weighted_regressor(**head), {}) for name, head in HEADS.items()},
    "S1 of soft ranks": _knn("s1", rank="soft"),
    "S1 of soft ranks, linear": _knn("s1", LinearRanksRegressor, rank="soft"),
    "S1 of hard ranks": _knn("s1", rank="hard"),
    "S1 of similarities": _knn("s1", rank=None),
    "S2 of soft ranks": _knn("s2", rank="soft"),
    "S2 of hard ranks": _knn("s2", rank="hard"),
    "S2 of similarities": _knn("s2", rank=None),
}


def make_model(name, **params):
    """Estimator of a weighting in the papers' setting."""
    estimator, settings = WEIGHTINGS[name]
    return make_regressor(estimator, **PAPER | settings | params)
