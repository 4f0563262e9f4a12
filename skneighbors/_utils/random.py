"""Torch's global generators, borrowed and given back."""

from contextlib import contextmanager

import numpy as np
import torch

from .process import borrowing_generators

MAX_SEED = np.iinfo(np.int32).max  # which NumPy and torch take on every system


class BorrowedGenerators:
    """Blocks that draw from torch's global generators as if nobody else did.

    Each block goes on where the last one ended, and leaves the generators and the default
    dtype as it found them. Blocks of several threads run one after the other.

    Parameters
    ----------
    seed : int
    device : torch.device
        Besides the CPU's, the generator of this device is seeded.
    """

    def __init__(self, seed, device):
        self._devices = [device] if device.type == "cuda" else []
        with self._forked():
            torch.manual_seed(seed)
            self._states = self._get_states()

    @contextmanager
    def __call__(self):
        """Open a block, in which float32 is torch's default dtype."""
        with self._forked():
            self._set_states()
            try:
                yield
            finally:
                self._states = self._get_states()

    @contextmanager
    def _forked(self):
        with borrowing_generators(), torch.random.fork_rng(devices=self._devices):
            dtype = torch.get_default_dtype()
            torch.set_default_dtype(torch.float32)
            try:
                yield
            finally:
                torch.set_default_dtype(dtype)

    def _get_states(self):
        return torch.get_rng_state(), *(
            torch.cuda.get_rng_state(device) for device in self._devices
        )

    def _set_states(self):
        cpu, *others = self._states
        torch.set_rng_state(cpu)
        for device, state in zip(self._devices, others, strict=True):
            torch.cuda.set_rng_state(state, device)
