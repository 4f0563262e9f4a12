"""Device choice and a block that torch's global settings do not reach."""

from contextlib import contextmanager
from threading import Lock

import torch

_globals = Lock()


def resolve_device(device):
    """The torch device that `device` names.

    Parameters
    ----------
    device : str
        ``"auto"`` (CUDA if usable, else the CPU), ``"cpu"``, ``"cuda"`` or
        ``"cuda:N"``.

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
    except RuntimeError:
        resolved = None
    if resolved is None or resolved.type not in ("cpu", "cuda"):
        raise ValueError(
            f"device must be 'auto', 'cpu', 'cuda' or 'cuda:N'; got {device!r}."
        )
    if resolved.type == "cuda":
        n_devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (resolved.index or 0) >= n_devices:
            raise ValueError(
                f"device={device!r} is not usable: torch finds {n_devices} CUDA devices "
                "here. Use device='auto' or 'cpu'."
            )
    return resolved


@contextmanager
def reproducible(seed, device):
    """Seed torch's global generators and make float32 its default dtype in the block.

    What was there before is restored after it. Blocks of several threads run one
    after the other, since they share these globals.

    Parameters
    ----------
    seed : int
    device : torch.device
        Besides the CPU's, the generator of this device is seeded.
    """
    cuda_devices = [device] if device.type == "cuda" else []
    with _globals, torch.random.fork_rng(devices=cuda_devices):
        dtype = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        torch.manual_seed(seed)
        try:
            yield
        finally:
            torch.set_default_dtype(dtype)
