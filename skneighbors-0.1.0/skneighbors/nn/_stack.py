"""Several modules of one shape run as one."""

import copy
from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import nn

_Module = TypeVar("_Module", bound=nn.Module)


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
        out = torch.matmul(x, self.weight.mT)
        return out if self.bias is None else out.add_(self.bias.unsqueeze(-2))


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
