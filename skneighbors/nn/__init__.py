"""Torch blocks for neighbour-based regression, usable in anyone's network."""

from ._embedder import CategoricalEmbedding, MLPEmbedder, PeriodicEmbedding, WeightedBatchNorm
from ._heads import NONA, SoftStepKNN
from ._similarity import minmax_scale, similarity
from ._softrank import hard_rank, soft_rank
from ._softstep import SoftStep, log_softstep_s1, log_softstep_s2
from ._stack import stack_modules, take_member

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
    "stack_modules",
    "take_member",
]
