"""Which samples each member of an ensemble trains on, and which are held out."""

from typing import NamedTuple

import numpy as np
import torch


class EnsembleSplit(NamedTuple):
    """Samples that the members train on (m, n_train) and are held out (m, n_validation) or None."""

    train: torch.Tensor
    validation: torch.Tensor | None

    @classmethod
    def draw(cls, n_samples, n_validation, n_members, random_state):
        """Hold other samples out of each member's training, at random; none if 0."""
        if not n_validation:
            return cls(torch.arange(n_samples).repeat(n_members, 1), None)
        orders = [random_state.permutation(n_samples) for _ in range(n_members)]
        parts = (
            np.stack([np.sort(order[part]) for order in orders])
            for part in (slice(n_validation, None), slice(n_validation))
        )
        return cls(*map(torch.from_numpy, parts))

    @classmethod
    def hold_out(cls, is_held_out, n_members):
        """Hold the same samples, those of a mask (n_samples,), out of all members' training."""
        parts = (np.flatnonzero(part) for part in (~is_held_out, is_held_out))
        return cls(*(torch.from_numpy(part).repeat(n_members, 1) for part in parts))

    def to(self, device):
        """Split on a device."""
        return EnsembleSplit(*(rows if rows is None else rows.to(device) for rows in self))

    def train_on_all(self, n_samples):
        """Split that holds nothing out."""
        rows = torch.arange(n_samples, device=self.train.device)
        return EnsembleSplit(rows.repeat(len(self.train), 1), None)

    def members(self):
        """Split of each member alone."""
        return [
            EnsembleSplit(*(rows if rows is None else rows[i : i + 1] for rows in self))
            for i in range(len(self.train))
        ]


def draw_groups(groups, n_validation, random_state):
    """Draw groups at random to hold out.

    Parameters
    ----------
    groups : int ndarray of shape (n_samples,)
    n_validation : int
        Groups are drawn until they hold so many samples. Groups that would make it more than
        half of all are passed over, but for the smallest one if there are no others.
    random_state : RandomState

    Returns
    -------
    is_held_out : bool ndarray of shape (n_samples,)
        At least two groups are left.

    Raises
    ------
    ValueError
        If there are fewer than three groups.
    """
    names, sizes = np.unique(groups, return_counts=True)
    if len(names) < 3:
        raise ValueError(
            f"groups must hold at least 3 groups, one to hold out; got {len(names)}. Or give "
            "X_val and y_val, or early_stopping=False."
        )
    drawn, n_drawn = [], 0
    for i in random_state.permutation(len(names)):
        fits = 2 * (n_drawn + sizes[i]) <= len(groups)
        if n_drawn < n_validation and fits and len(drawn) < len(names) - 2:
            drawn.append(i)
            n_drawn += sizes[i]
    return np.isin(groups, names[drawn or [sizes.argmin()]])
