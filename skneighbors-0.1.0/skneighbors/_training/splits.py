"""Which samples each member of an ensemble trains on, and which validate it."""

from typing import NamedTuple

import numpy as np
import torch

from .._columns import number_groups
from .._utils.device import CPU


class EnsembleSplit(NamedTuple):
    """Samples that members train on (m, n_train), and validate by (m, n_validation) or None."""

    train: torch.Tensor
    validation: torch.Tensor | None

    @classmethod
    def draw(cls, n_samples, n_validation, n_members, random_state, strata=None):
        """Draw the validation samples of each member at random.

        They are drawn from each of `strata`, an int ndarray (n_samples,), in proportion, but none
        that stands alone.
        """
        if not n_validation:
            return cls(torch.arange(n_samples, device=CPU).repeat(n_members, 1), None)
        orders = [random_state.permutation(n_samples) for _ in range(n_members)]
        if strata is not None:
            orders = [_spread(order, strata) for order in orders]
        parts = (
            np.stack([np.sort(order[part]) for order in orders])
            for part in (slice(n_validation, None), slice(n_validation))
        )
        return cls(*map(torch.from_numpy, parts))

    @classmethod
    def draw_groups(cls, groups, n_validation, n_members, random_state, is_last=None, n_most=None):
        """Draw the validation samples of each member at random, in whole groups.

        Each member gets other groups as far as there are enough. The draw depends on the order of
        the rows, not on the groups' names. All members have as many training and as many
        validation rows: where groups differ in size, some rows are neither.

        Parameters
        ----------
        groups : int ndarray of shape (n_samples,)
        n_validation : float
            Groups are drawn until they hold so many samples. Groups that would make it more
            than half of all are passed over, but for the smallest one if there are no others.
        n_members : int
        random_state : RandomState
        is_last : bool ndarray of shape (n_samples,), default=None
            Then only these samples validate, and only others are trained on.
        n_most : int, default=None
            A member validates by no more, drawn at random.

        Returns
        -------
        split : EnsembleSplit
            At least two groups are left to each member.

        Raises
        ------
        ValueError
            If no group can be validated by.
        """
        groups, every = number_groups(groups), np.ones(len(groups), dtype=bool)
        is_early, is_late = (every, every) if is_last is None else (~is_last, is_last)
        n_early, n_late = np.bincount(groups, is_early), np.bincount(groups, is_late)
        is_free = (n_late > 0) & (np.count_nonzero(n_early) - (n_early > 0) >= 2)
        if not is_free.any():
            raise ValueError(
                "groups must hold at least 3 groups: one to validate by (if time is given, with "
                f"rows in its last part) and two to train on (with earlier rows); got "
                f"{len(n_early)}. Or give groups or time alone, X_val and y_val, or "
                "early_stopping=False."
            )
        n_drawn, is_drawn = np.zeros(len(n_early)), []
        for _ in range(n_members):
            order = np.lexsort([random_state.permutation(len(n_early)), n_drawn])
            drawn = _fill(n_early, n_late, order[is_free[order]], n_validation)
            n_drawn[drawn] += 1
            is_drawn.append(np.isin(groups, drawn))
        train = _draw_as_many(~np.array(is_drawn) & is_early, len(groups), random_state)
        validation = np.array(is_drawn) & is_late
        return cls(train, _draw_as_many(validation, n_most or len(groups), random_state))

    @classmethod
    def draw_last(cls, time, fraction, n_most, n_members, random_state, groups=None):
        """Split off the last rows, of which each member validates by some.

        With `groups` a member validates by the last rows of groups drawn as by
        :meth:`draw_groups`, and trains on the earlier ones of the others: the last rows of
        these, and the earlier ones of those, are neither.

        Parameters
        ----------
        time : ndarray of shape (n_samples,)
            When samples were observed; those of NaN are trained on.
        fraction : float
            Fraction of the others that validates, as nearly as whole times allow; with `groups`,
            the same fraction of these.
        n_most : int
            A member validates by no more, drawn at random.
        n_members : int
        random_state : RandomState
        groups : int ndarray of shape (n_samples,), default=None

        Returns
        -------
        split : EnsembleSplit

        Raises
        ------
        ValueError
            If more than half of the samples would be validation rows, or no groups can be.
        """
        if fraction > 0.5:
            raise ValueError(f"validation_fraction must be at most 0.5 with time; got {fraction}.")
        is_last = time >= first_of_last(time, fraction)
        n_last = np.count_nonzero(is_last)
        if 2 * n_last > len(time):
            raise ValueError(
                f"time must not have more than half of the rows at the last time; {n_last} of "
                f"{len(time)} are. Give finer times."
            )
        if groups is not None:
            wanted = fraction * n_last, n_members, random_state
            return cls.draw_groups(groups, *wanted, is_last, n_most)
        train = torch.from_numpy(np.flatnonzero(~is_last)).repeat(n_members, 1)
        return cls(train, _draw_as_many([is_last] * n_members, n_most, random_state))

    @classmethod
    def of_given(cls, n_samples, n_given, n_members):
        """Let all members validate by the samples of a given set, which come behind the others."""
        rows = torch.arange(n_samples + n_given, device=CPU).repeat(n_members, 1)
        return cls(*rows.split([n_samples, n_given], dim=1))

    def to(self, device):
        """Split on a device."""
        return EnsembleSplit(*(rows if rows is None else rows.to(device) for rows in self))


def _spread(order, strata):
    """Take samples in an order in which each stratum is spread evenly; those of one are last."""
    _, stratum, sizes = np.unique(strata[order], return_inverse=True, return_counts=True)
    by_stratum = np.argsort(stratum, kind="stable")
    place = np.empty(len(order))
    place[by_stratum] = np.concatenate([(np.arange(size) + 0.5) / size for size in sizes])
    return order[np.argsort(np.where(sizes[stratum] > 1, place, 2), kind="stable")]


def _fill(n_early, n_late, order, n_wanted):
    """Take groups in an order until there are enough validation rows.

    Two groups are left, with half of the training rows if any group allows that.
    """
    taken, n_taken, n_lost = [], 0, 0
    n_left, most_lost = np.count_nonzero(n_early), n_early.sum() / 2
    for i in order:
        if n_taken >= n_wanted:
            break
        if n_lost + n_early[i] <= most_lost and n_left - (n_early[i] > 0) >= 2:
            taken.append(i)
            n_taken, n_lost = n_taken + n_late[i], n_lost + n_early[i]
            n_left -= n_early[i] > 0
    return taken or [min(order, key=lambda i: (n_early[i], i))]


def _draw_as_many(masks, n_most, random_state):
    """As many rows (m, n) of each mask, at random if it has more than others or than `n_most`."""
    rows = [random_state.permutation(np.flatnonzero(mask)) for mask in masks]
    n_rows = min(n_most, *map(len, rows))
    return torch.from_numpy(np.sort([drawn[:n_rows] for drawn in rows], axis=1))


def first_of_last(time, fraction):
    """First of the last times, that of a fraction of the rows as nearly as whole times allow.

    Parameters
    ----------
    time : ndarray of shape (n_samples,)
        NaN for rows without a time.
    fraction : float
        Of those with a time.

    Returns
    -------
    time : float
    """
    times, counts = np.unique(time[~np.isnan(time)], return_counts=True)
    n_before = counts.cumsum()[:-1]
    return times[np.abs(n_before - (1 - fraction) * counts.sum()).argmin() + 1]
