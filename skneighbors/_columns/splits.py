"""Which samples each member of an ensemble trains on, and which are held out."""

from typing import NamedTuple

import numpy as np
import torch

from .._utils.device import CPU
from .order import find_last


class EnsembleSplit(NamedTuple):
    """Samples that the members train on (m, n_train) and are held out (m, n_validation) or None."""

    train: torch.Tensor
    validation: torch.Tensor | None

    @classmethod
    def draw(cls, n_samples, n_validation, n_members, random_state):
        """Hold other samples out of each member's training, at random; none if 0."""
        if not n_validation:
            return cls(torch.arange(n_samples, device=CPU).repeat(n_members, 1), None)
        orders = [random_state.permutation(n_samples) for _ in range(n_members)]
        parts = (
            np.stack([np.sort(order[part]) for order in orders])
            for part in (slice(n_validation, None), slice(n_validation))
        )
        return cls(*map(torch.from_numpy, parts))

    @classmethod
    def draw_groups(cls, groups, n_validation, n_members, random_state):
        """Hold whole groups out of each member's training, drawn at random.

        Other ones for each member, as far as there are enough. The draw depends on the order of
        the rows, not on the groups' names. All members train on as many rows and hold out as
        many: where groups differ in size, some rows are neither.

        Parameters
        ----------
        groups : int ndarray of shape (n_samples,)
        n_validation : int
            Groups are drawn until they hold so many samples. Groups that would make it more
            than half of all are passed over, but for the smallest one if there are no others.
        n_members : int
        random_state : RandomState

        Returns
        -------
        split : EnsembleSplit
            At least two groups are left to each member.

        Raises
        ------
        ValueError
            If there are fewer than three groups.
        """
        groups = number_groups(groups)
        sizes = np.bincount(groups)
        if len(sizes) < 3:
            raise ValueError(
                f"groups must hold at least 3 groups, one to hold out; got {len(sizes)}. Or give "
                "X_val and y_val, or early_stopping=False."
            )
        n_drawn, is_held_out = np.zeros(len(sizes)), []
        for _ in range(n_members):
            order = np.lexsort([random_state.permutation(len(sizes)), n_drawn])
            drawn = _fill(sizes, order, n_validation)
            n_drawn[drawn] += 1
            is_held_out.append(np.isin(groups, drawn))
        parts = []
        for is_part in (~np.array(is_held_out), np.array(is_held_out)):
            rows = [random_state.permutation(np.flatnonzero(own)) for own in is_part]
            parts.append(np.stack([np.sort(own[: is_part.sum(1).min()]) for own in rows]))
        return cls(*map(torch.from_numpy, parts))

    @classmethod
    def draw_last(cls, order, share, n_most, n_members, random_state):
        """Hold the last rows out of all members' training, of which each validates by some.

        Parameters
        ----------
        order : ndarray of shape (n_samples,)
            When samples were observed; those of NaN are trained on.
        share : float
            Of the others, how many are held out, as nearly as whole times allow.
        n_most : int
            A member validates by no more, drawn at random.
        n_members : int
        random_state : RandomState

        Returns
        -------
        split : EnsembleSplit

        Raises
        ------
        ValueError
            If more than half of the samples would be held out.
        """
        last = find_last(order, share)
        if 2 * len(last) > len(order):
            raise ValueError(
                f"order must not have more than half of the rows at the last time; {len(last)} of "
                f"{len(order)} are. Give finer times."
            )
        train = np.setdiff1d(np.arange(len(order)), last)
        drawn = [random_state.permutation(last)[:n_most] for _ in range(n_members)]
        parts = np.tile(train, (n_members, 1)), np.sort(drawn, axis=1)
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


def number_groups(groups):
    """Give groups numbers from 0, in the order in which they appear, whatever their names."""
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    return first.argsort().argsort()[place]


def _fill(sizes, order, n_samples):
    """Take groups of these sizes in an order, as :meth:`EnsembleSplit.draw_groups` says."""
    taken, n_taken = [], 0
    for i in order:
        fits = 2 * (n_taken + sizes[i]) <= sizes.sum()
        if n_taken < n_samples and fits and len(taken) < len(sizes) - 2:
            taken.append(i)
            n_taken += sizes[i]
    return taken or [sizes.argmin()]
