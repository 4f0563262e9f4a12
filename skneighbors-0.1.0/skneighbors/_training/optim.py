"""The weights of a network: a step against their gradients, an average over steps, copies."""

import copy

import torch
from torch.optim.adamw import adamw
from torch.optim.swa_utils import get_ema_multi_avg_fn


class AdamW:
    """Torch's AdamW for the trainable parameters of a network, by its functional form.

    The first :class:`torch.optim.Optimizer` of a process imports torch's compiler, which
    takes more than a second.

    Parameters
    ----------
    network : nn.Module
    weight_decay : float
    """

    def __init__(self, network, weight_decay):
        self.parameters = _trainable(network)
        self._weight_decay = weight_decay
        self._means = [torch.zeros_like(p) for p in self.parameters]
        self._squares = [torch.zeros_like(p) for p in self.parameters]
        self._counts = [p.new_zeros((), dtype=torch.float32) for p in self.parameters]

    @torch.no_grad()
    def step(self, learning_rate):
        """Take a step against the gradients, which are gone then."""
        parameters = self.parameters
        adamw(
            parameters,
            [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters],
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
        for parameter in parameters:
            parameter.grad = None


class MovingAverage:
    """Network whose weights are an exponential moving average over the steps of another.

    Over few steps it forgets faster, lest the initial weights stay in it.
    """

    def __init__(self, network, decay):
        self.network = copy.deepcopy(network)
        self._decay = decay
        self._n_steps = 0
        pairs = list(zip(_tensors(self.network), _tensors(network), strict=True))
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


@torch.no_grad()
def copy_weights(source, target):
    """Copy all parameters and buffers of a network into another of the same shape."""
    for kept, new in zip(_tensors(target), _tensors(source), strict=True):
        kept.copy_(new)


def is_finite(network):
    """Whether all trainable parameters of a network are finite."""
    return all(parameter.isfinite().all() for parameter in _trainable(network))


def _trainable(network):
    return [p for p in network.parameters() if p.requires_grad]


def _tensors(network):
    return [*network.parameters(), *network.buffers()]
