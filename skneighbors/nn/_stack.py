"""Several modules of one shape run as one."""

import copy
from collections.abc import Sequence
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import nn

_Module = TypeVar("_Module", bound=nn.Module)
# Fewest multiplications of a product for which oneDNN is worth converting to its layout.
_MIN_ONEDNN_WORK = 2**23


def linear(x, weight, bias=None):
    """Multiply by a transpose and add a bias.

    Large products in single precision are oneDNN's: on an AMD EPYC these are about twice
    as fast as those of MKL, torch's default, and as exact.

    Parameters
    ----------
    x : Tensor of shape (n, k)
    weight : Tensor of shape (l, k)
    bias : Tensor of shape (l,), default=None

    Returns
    -------
    y : Tensor of shape (n, l)
    """
    if _suits_onednn(x, weight):
        return F.linear(x.to_mkldnn(), weight, bias).to_dense()
    return F.linear(x, weight, bias)


def _matmul(a, b):
    """Product of a (n, k) and b (k, l), or of stacks (m, n, k) and (m, k, l); m may be 1."""
    if a.ndim == b.ndim == 2:
        return linear(a, b.mT)
    if not (a.ndim == b.ndim == 3 and _suits_onednn(a[0], b[0].mT)):
        return torch.matmul(a, b)
    n_products = max(len(a), len(b))
    pairs = zip(a.expand(n_products, -1, -1), b.expand(n_products, -1, -1), strict=True)
    return torch.stack([linear(x, y.mT) for x, y in pairs])


def _suits_onednn(x, weight):
    if torch.compiler.is_compiling() or x.numel() * weight.shape[0] < _MIN_ONEDNN_WORK:
        return False
    if not (x.is_cpu and x.dtype == weight.dtype == torch.float32):
        return False
    if torch.is_autocast_enabled("cpu"):
        return False
    return torch.backends.mkldnn.is_available() and torch.backends.mkldnn.enabled


def _apply(x, weight, bias):
    """Multiply by a transpose and add a bias, or stacks of these; see :func:`linear`."""
    out = _matmul(x, weight.mT)
    return out if bias is None else out.add_(bias.unsqueeze(-2))


class _LinearFunction(torch.autograd.Function):
    """x W' + b, or stacks of these; gradients come in the layout of the weights."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return _apply(x, weight, bias)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        grad = grad.to(weight.dtype)  # lower under autocast
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_x = _matmul(grad, weight).sum_to_size(x.shape).to(x.dtype)
        if ctx.needs_input_grad[1]:
            grad_weight = _matmul(grad.mT, x.to(weight.dtype))
        if ctx.needs_input_grad[2]:
            grad_bias = grad.sum(-2)
        return grad_x, grad_weight, grad_bias


class Linear(nn.Linear):
    """Linear layer that can be stacked."""

    def forward(self, x):
        """Apply the layer.

        Parameters
        ----------
        x : Tensor of shape (..., b, in_features)

        Returns
        -------
        y : Tensor of shape (..., b, out_features)
        """
        if self.weight.ndim == 2:
            return super().forward(x)
        if x.ndim == 3 and x.shape[0] == self.weight.shape[0] == 1:
            x, weight = x.squeeze(0), self.weight.squeeze(0)
            bias = None if self.bias is None else self.bias.squeeze(0)
            # One call of torch's function, where that is as fast.
            apply = _LinearFunction.apply if _suits_onednn(x, weight) else F.linear
            return apply(x, weight, bias).unsqueeze(0)
        apply = _LinearFunction.apply if torch.is_grad_enabled() else _apply
        return apply(x, self.weight, self.bias)


def stack_modules(modules: Sequence[_Module]) -> _Module:
    """One module that computes what several of the same shape would, all at once.

    Every parameter and buffer of the result has a leading dimension, one entry
    a module, and so has its output. Inputs with that dimension have one entry for each
    module; others, with a leading dimension of 1, go to all.

    Parameters
    ----------
    modules : list of nn.Module
        Modules of this package, built with the same arguments.

    Returns
    -------
    stacked : nn.Module
        Its parameters are new; the modules are left alone.

    Examples
    --------
    >>> import torch
    >>> from skneighbors.nn import MLPEmbedder
    >>> from skneighbors.nn._stack import stack_modules
    >>> members = [MLPEmbedder(4, (8,), embedding_dim=2).eval() for _ in range(3)]
    >>> x = torch.randn(10, 4)
    >>> z = stack_modules(members)(x.unsqueeze(0))
    >>> z.shape
    torch.Size([3, 10, 2])
    >>> torch.allclose(z[1], members[1](x), atol=1e-6)
    True
    """
    stacked = copy.deepcopy(modules[0])
    for path, part in stacked.named_modules():
        parts = [module.get_submodule(path) for module in modules]
        for name, parameter in part.named_parameters(recurse=False):
            values = torch.stack([getattr(p, name).detach() for p in parts])
            part.register_parameter(name, nn.Parameter(values, parameter.requires_grad))
        for name, _ in part.named_buffers(recurse=False):
            part.register_buffer(name, torch.stack([getattr(p, name) for p in parts]))
    return stacked


def take_member(stacked: _Module, i: int) -> _Module:
    """One of several modules that run as one, as a stack of one.

    Parameters
    ----------
    stacked : nn.Module
        What :func:`stack_modules` returned.
    i : int
        Which of them.

    Returns
    -------
    member : nn.Module
        Its parameters and buffers are copies.

    Examples
    --------
    >>> import torch
    >>> from skneighbors.nn import NONA
    >>> from skneighbors.nn._stack import stack_modules, take_member
    >>> heads = stack_modules([NONA(embedding_dim=2) for _ in range(3)])
    >>> head, z = take_member(heads, 1), torch.randn(1, 9, 2)
    >>> head(z[:, :4], z, torch.randn(1, 9, 1)).shape
    torch.Size([1, 4, 1])
    """
    member = copy.deepcopy(stacked)
    for tensor in [*member.parameters(), *member.buffers()]:
        tensor.data = tensor.data[i : i + 1].clone()
    return member
