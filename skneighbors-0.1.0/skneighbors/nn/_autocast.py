"""Full precision under autocast."""

import torch


def without_autocast(function, tensors, *arguments):
    """Call a function in float32 at least: distances and statistics need the digits."""
    tensors = [t if t.dtype == torch.float64 else t.float() for t in tensors]
    with torch.autocast(tensors[0].device.type, enabled=False):
        return function(*tensors, *arguments)
