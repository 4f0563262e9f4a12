"""Which device to compute on."""

import torch

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
