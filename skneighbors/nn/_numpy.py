"""Work on tensors' entries that NumPy, on the CPU, does faster than torch."""

import numpy as np
import torch

# Without it, torch's logarithm and exponential are the faster ones.
_AVX512 = torch.backends.cpu.get_cpu_capability() == "AVX512"


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


def argmax(x):
    """Index of each row's largest entry, (..., 1)."""
    if is_numpys(x):
        return torch.from_numpy(x.detach().numpy().argmax(-1, keepdims=True))
    return x.argmax(-1, keepdim=True)


def flat_at_most(x, bound):
    """Flat indices of the entries where x <= bound, which broadcasts against x."""
    if is_numpys(x):
        return torch.from_numpy(np.flatnonzero(x.numpy() <= bound.numpy()))
    return (x <= bound).flatten().nonzero().squeeze(1)


def zero_at_most(x, bound):
    """Set the entries of x where x <= bound to 0; on the CPU without a mask, which is slow."""
    if is_numpys(x) and x.is_contiguous() and not x.requires_grad:
        x.view(-1)[flat_at_most(x, bound)] = 0
    else:
        x.masked_fill_(x <= bound, 0)


def _in_place(x, of_numpy, of_torch):
    if not _AVX512 or not is_numpys(x) or x.requires_grad:
        return of_torch(x)
    entries = x.numpy()
    with np.errstate(all="ignore"):  # log 0 is -inf; NaN is for the caller to find
        of_numpy(entries, out=entries)
    return x


def log_(x):
    """Take the natural logarithm of a fresh tensor in place."""
    return _in_place(x, np.log, torch.Tensor.log_)


def exp_(x):
    """Take the exponential of a fresh tensor in place."""
    return _in_place(x, np.exp, torch.Tensor.exp_)
