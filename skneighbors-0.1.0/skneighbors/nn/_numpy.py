"""What NumPy, on the CPU, does in place of torch."""

import numpy as np
import torch


def is_numpys(x):
    """Whether NumPy can work on a tensor where it lies, in its dtype."""
    if torch.compiler.is_compiling() or torch.jit.is_tracing() or type(x) is not torch.Tensor:
        return False
    return x.is_cpu and x.dtype in (torch.float32, torch.float64)


def broadcast_shapes(*shapes):
    """Shape that arrays of these have together; for torch's compiler by torch, which loads it."""
    if torch.compiler.is_compiling():
        return torch.broadcast_shapes(*shapes)
    return np.broadcast_shapes(*shapes)
