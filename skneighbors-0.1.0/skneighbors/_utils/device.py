"""Which device to compute on, and torch's global generators, borrowed and given back."""

from contextlib import contextmanager

import numpy as np
import torch

from .process import borrowing_generators

CPU = torch.device("cpu")


def resolve_device(device, missing_ok=False):
    """Find the torch device that `device` names.

    Parameters
    ----------
    device : str
        ``"auto"`` (CUDA if usable, else the CPU), ``"cpu"``, ``"cuda"`` or
        ``"cuda:N"``.
    missing_ok : bool, default=False
        Whether the CPU will do where the device is not there, as after unpickling elsewhere.

    Returns
    -------
    device : torch.device

    Raises
    ------
    ValueError
        If `device` names no such device, or one that is not there.
    """
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        resolved = torch.device(device)
    except (RuntimeError, TypeError):
        resolved = None
    if resolved is None or resolved.type not in ("cpu", "cuda"):
        raise ValueError(f"device must be 'auto', 'cpu', 'cuda' or 'cuda:N'; got {device!r}.")
    if resolved.type == "cuda":
        n_devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (resolved.index or 0) >= n_devices:
            if missing_ok:
                return CPU
            raise ValueError(
                f"device={device!r} is not usable: torch finds {n_devices} CUDA devices "
                "here. Use device='auto' or 'cpu'."
            )
    return CPU if resolved.type == "cpu" else resolved  # whatever its index


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
