"""Torch blocks for neighbor-based regression and classification, usable in any network."""

from ._embedder import CategoricalEmbedding, MLPEmbedder, PeriodicEmbedding, WeightedBatchNorm
from ._heads import NONA, SoftStepKNN
from ._scaling import minmax_scale
from ._similarity import similarity
from ._softrank import hard_rank, soft_rank
from ._softstep import SoftStep, log_softstep_s1, log_softstep_s2

__all__ = [
    "CategoricalEmbedding",
    "MLPEmbedder",
    "NONA",
    "PeriodicEmbedding",
    "SoftStep",
    "SoftStepKNN",
    "WeightedBatchNorm",
    "hard_rank",
    "log_softstep_s1",
    "log_softstep_s2",
    "minmax_scale",
    "similarity",
    "soft_rank",
]
