"""NONA, as a model of TabArena."""

from __future__ import annotations

from tabarena.models.nona.hpo import gen_nona
from tabarena.models.nona.info import nona_info, nona_method_metadata

__all__ = ["gen_nona", "nona_info", "nona_method_metadata"]
