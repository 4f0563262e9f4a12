"""A network's weights in few long tensors: to optimize, average and copy them at once."""

import copy
from itertools import groupby

import torch
from torch.optim.adamw import adamw
from torch.optim.swa_utils import get_ema_multi_avg_fn


class FlatWeights:
    """Trainable parameters of a network as views of one vector, and all its other state.

    An operation on the vector is one kernel instead of one for every parameter.

    Parameters
    ----------
    network : nn.Module
        Its trainable parameters become views.

    Attributes
    ----------
    vectors : list of nn.Parameter
        One for each dtype of the parameters, with a gradient.
    others : list of Tensor
        Frozen parameters and buffers.
    """

    def __init__(self, network):
        trainable = [p for p in network.parameters() if p.requires_grad]
        frozen = [p for p in network.parameters() if not p.requires_grad]
        groups = groupby(sorted(trainable, key=_dtype), key=_dtype)
        self._groups = [list(parameters) for _, parameters in groups]
        self.vectors = [_flatten(parameters) for parameters in self._groups]
        self.others = [*frozen, *network.buffers()]

    def tensors(self):
        """All weights and buffers."""
        return [*self.vectors, *self.others]

    def take_gradients(self):
        """Move the parameters' gradients into those of the vectors."""
        for vector, parameters in zip(self.vectors, self._groups, strict=True):
            grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
            torch.cat([grad.flatten() for grad in grads], out=vector.grad)
            for parameter in parameters:
                parameter.grad = None

    def are_finite(self):
        """Whether all trainable parameters are finite."""
        return all(vector.detach().sum().isfinite() for vector in self.vectors)


def _dtype(tensor):
    return str(tensor.dtype)


def _flatten(parameters):
    flat = torch.nn.Parameter(torch.cat([p.detach().flatten() for p in parameters]))
    flat.grad = torch.zeros_like(flat)
    values = flat.detach().split([p.numel() for p in parameters])
    for parameter, value in zip(parameters, values, strict=True):
        parameter.data = value.view_as(parameter)
    return flat


@torch.no_grad()
def copy_weights(source, target):
    """Copy all parameters and buffers of a network into another of the same shape."""
    for kept, new in zip(_tensors(target), _tensors(source), strict=True):
        kept.copy_(new)


def is_finite(network):
    """Whether all parameters and buffers of a network are finite."""
    return all(tensor.isfinite().all() for tensor in _tensors(network))


def _tensors(network):
    return [*network.parameters(), *network.buffers()]


class AdamW:
    """Torch's AdamW for flat weights, by its functional form.

    The first :class:`torch.optim.Optimizer` of a process imports torch's compiler, which
    takes more than a second.

    Parameters
    ----------
    weights : FlatWeights
        What to train, by the gradients taken.
    weight_decay : float
    """

    def __init__(self, weights, weight_decay):
        self.vectors = weights.vectors
        self._weight_decay = weight_decay
        self._means = [torch.zeros_like(vector) for vector in self.vectors]
        self._squares = [torch.zeros_like(vector) for vector in self.vectors]
        self._counts = [vector.new_zeros((), dtype=torch.float32) for vector in self.vectors]

    @torch.no_grad()
    def step(self, learning_rate):
        """Take a step against the gradients."""
        adamw(
            self.vectors,
            [vector.grad for vector in self.vectors],
            self._means,
            self._squares,
            [],
            self._counts,
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.95,
            lr=learning_rate,
            weight_decay=self._weight_decay,
            eps=1e-8,
            maximize=False,
        )


class Snapshot:
    """Copy of weights."""

    def __init__(self, weights):
        self._live = weights.tensors()
        self._kept = [tensor.detach().clone() for tensor in self._live]

    @torch.no_grad()
    def take(self):
        """Copy the weights as they are now."""
        for kept, live in zip(self._kept, self._live, strict=True):
            kept.copy_(live)

    @torch.no_grad()
    def restore(self, weights):
        """Write the copy into the weights of a network of the same shape."""
        for kept, live in zip(self._kept, weights.tensors(), strict=True):
            live.copy_(kept)


class MovingAverage:
    """Network whose weights are an exponential moving average over the steps.

    Over few steps it forgets faster, lest the initial weights stay in it.
    """

    def __init__(self, network, weights, decay):
        self.network = copy.deepcopy(network)
        self.weights = FlatWeights(self.network)
        self._decay = decay
        self._n_steps = 0
        pairs = list(zip(self.weights.tensors(), weights.tensors(), strict=True))
        averaged = [pair for pair in pairs if pair[0].is_floating_point()]
        self._averaged, self._current = map(list, zip(*averaged, strict=True))
        self._counters = [pair for pair in pairs if not pair[0].is_floating_point()]

    @torch.no_grad()
    def update(self):
        """Take the weights of one more step in."""
        decay = min(self._decay, self._n_steps / (self._n_steps + 9))
        get_ema_multi_avg_fn(decay)(self._averaged, self._current, self._n_steps)
        for averaged, current in self._counters:
            averaged.copy_(current)
        self._n_steps += 1
