"""What TabArena's registry knows of the model."""

from __future__ import annotations

from tabarena.models._method_metadata import MethodMetadata
from tabarena.models._model_info import ModelInfo
from tabarena.models.nona.hpo import gen_nona
from tabarena.models.nona.model import NONAModel

nona_method_metadata = MethodMetadata.config(
    method="NONA",
    display_name="NONA",
    compute="cpu",
    date="2026-11-26",  # of the integration; to be that of the run
    ag_key=NONAModel.ag_key,
    model_key="NONA",
    config_default="NONA_c1_default_BAG_L1",
    can_hpo=True,
    is_bag=True,
    verified=False,
    reference_url="https://arxiv.org/abs/2506.08139",
)

nona_info = ModelInfo(
    model_cls=NONAModel,
    search_space=gen_nona,
    method_metadata=nona_method_metadata,
    pip_extra=("skneighbors",),  # to be pinned to a release or a commit once either is public
)
