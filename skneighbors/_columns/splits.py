"""Which samples each member of an ensemble trains on, and which validate it."""

from typing import NamedTuple

import numpy as np
import torch

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
    def draw_groups(cls, groups, n_validation, n_members, random_state):
        """Draw the validation samples of each member at random, in whole groups.

        Each member gets other groups as far as there are enough. The draw depends on the order of
        the rows, not on the groups' names. All members have as many training and as many
        validation rows: where groups differ in size, some rows are neither.

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
        every = np.ones(len(groups), dtype=bool)
        is_validation = _draw_groups(groups, every, every, n_validation, n_members, random_state)
        return cls._of_masks(~is_validation, is_validation, len(groups), random_state)

    @classmethod
    def _of_masks(cls, is_trained_on, is_validation, n_most, random_state):
        """Split by masks (m, n); of the rows that a member has more than others, some at random."""
        parts = []
        for is_part, most in ((is_trained_on, len(is_validation.T)), (is_validation, n_most)):
            rows = [random_state.permutation(np.flatnonzero(mask)) for mask in is_part]
            parts.append(np.stack([np.sort(drawn[: min(most, *map(len, rows))]) for drawn in rows]))
        return cls(*map(torch.from_numpy, parts))

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
        last = find_last(time, fraction)
        if 2 * len(last) > len(time):
            raise ValueError(
                f"time must not have more than half of the rows at the last time; {len(last)} of "
                f"{len(time)} are. Give finer times."
            )
        is_last = np.isin(np.arange(len(time)), last)
        if groups is None:
            drawn = [random_state.permutation(last)[:n_most] for _ in range(n_members)]
            parts = np.tile(np.flatnonzero(~is_last), (n_members, 1)), np.sort(drawn, axis=1)
            return cls(*map(torch.from_numpy, parts))
        n_wanted = fraction * len(last)
        is_drawn = _draw_groups(groups, ~is_last, is_last, n_wanted, n_members, random_state)
        parts = ~is_drawn & ~is_last, is_drawn & is_last
        return cls._of_masks(*parts, n_most, random_state)

    @classmethod
    def of_mask(cls, is_validation, n_members):
        """Give all members the same validation samples, those of a mask (n_samples,)."""
        parts = (np.flatnonzero(part) for part in (~is_validation, is_validation))
        return cls(*(torch.from_numpy(part).repeat(n_members, 1) for part in parts))

    def to(self, device):
        """Split on a device."""
        return EnsembleSplit(*(rows if rows is None else rows.to(device) for rows in self))

    def train_on_all(self, n_samples):
        """Split without validation rows."""
        rows = torch.arange(n_samples, device=self.train.device)
        return EnsembleSplit(rows.repeat(len(self.train), 1), None)

    def members(self):
        """Split of each member alone."""
        return [
            EnsembleSplit(*(rows if rows is None else rows[i : i + 1] for rows in self))
            for i in range(len(self.train))
        ]


def _spread(order, strata):
    """Take samples in an order in which each stratum is spread evenly; those of one are last."""
    _, stratum, sizes = np.unique(strata[order], return_inverse=True, return_counts=True)
    by_stratum = np.argsort(stratum, kind="stable")
    place = np.empty(len(order))
    place[by_stratum] = np.concatenate([(np.arange(size) + 0.5) / size for size in sizes])
    return order[np.argsort(np.where(sizes[stratum] > 1, place, 2), kind="stable")]


def number_groups(groups):
    """Give groups numbers from 0, in the order in which they appear, whatever their names."""
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    return first.argsort().argsort()[place]


def _draw_groups(groups, is_training, is_judging, n_wanted, n_members, random_state):
    """Draw the groups that validate each member; see :class:`EnsembleSplit`.

    Parameters
    ----------
    groups : int ndarray of shape (n_samples,)
    is_training, is_judging : bool ndarrays of shape (n_samples,)
        Rows that train if their group is not drawn, and that validate if it is.
    n_wanted : float
        How many validate, as nearly as whole groups allow.
    n_members : int
    random_state : RandomState

    Returns
    -------
    is_drawn : bool ndarray of shape (n_members, n_samples)

    Raises
    ------
    ValueError
        If no group can be validated by.
    """
    groups = number_groups(groups)
    training, judging = (
        np.bincount(groups[part], minlength=groups.max() + 1) for part in (is_training, is_judging)
    )
    n_training_groups = np.count_nonzero(training)
    is_free = (judging > 0) & (n_training_groups - (training > 0) >= 2)
    if not is_free.any():
        raise ValueError(_too_few_groups(len(training), is_judging.all()))
    n_drawn, is_drawn = np.zeros(len(training)), []
    for _ in range(n_members):
        order = np.lexsort([random_state.permutation(len(training)), n_drawn])
        drawn = _fill(training, judging, order[is_free[order]], n_wanted)
        n_drawn[drawn] += 1
        is_drawn.append(np.isin(groups, drawn))
    return np.array(is_drawn)


def _fill(training, judging, order, n_wanted):
    """Take groups in an order until there are enough validation rows.

    Two groups are left, with half of the training rows if any group allows that.
    """
    taken, n_judging, n_lost = [], 0, 0
    n_left, most_lost = np.count_nonzero(training), training.sum() / 2
    for i in order:
        if n_judging >= n_wanted:
            break
        if n_lost + training[i] <= most_lost and n_left - (training[i] > 0) >= 2:
            taken.append(i)
            n_judging, n_lost = n_judging + judging[i], n_lost + training[i]
            n_left -= training[i] > 0
    return taken or [min(order, key=lambda i: (training[i], i))]


def _too_few_groups(n_groups, at_any_time):
    """Message that no group can be validated by, and what to do."""
    if at_any_time:
        return (
            f"groups must hold at least 3 groups, one to validate by; got {n_groups}. Or give "
            "X_val and y_val, or early_stopping=False."
        )
    return (
        "groups given with time must hold one with rows in the last part of the time, to "
        "validate by, and two others with earlier rows, to train on. If the rows to come are of "
        "the same groups, give time alone; if they are of new groups, but not later, groups alone."
    )


def find_last(time, fraction):
    """Rows of the last times: of those with a time a fraction, as nearly as whole times allow.

    Parameters
    ----------
    time : ndarray of shape (n_samples,)
        NaN for rows without a time.
    fraction : float

    Returns
    -------
    rows : int ndarray
        At least those of the last time.
    """
    present = np.flatnonzero(~np.isnan(time))
    _, place = np.unique(time[present], return_inverse=True)
    n_before = np.bincount(place).cumsum()[:-1]
    first = np.abs(n_before - (1 - fraction) * len(present)).argmin() + 1
    return present[place >= first]
