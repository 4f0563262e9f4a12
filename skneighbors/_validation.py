"""What an epoch of training came to, by the rows that are held out of it."""

from typing import NamedTuple

import torch

from ._bank import attend_in_batches, embed_in_batches

# Standard errors by which training on must have harmed, to count.
_HARM = 1.0
# Share of the validation error below which the loss tells of rows learnt by heart.
_OVERFIT = 0.75


class EpochResult(NamedTuple):
    """What came of an epoch.

    `error` is what to judge it by: the validation error, or the loss without
    validation rows; inf if it was not validated, NaN if the loss or the weights
    are not finite. `score` is the validation R2 or None; `row_errors` (m, n) and
    `row_weight` (m, n) or None are of the validation rows.
    """

    loss: float
    error: float
    score: float | None = None
    row_errors: torch.Tensor | None = None
    row_weight: torch.Tensor | None = None


def has_harmed(now, best):
    """Whether the validation errors exceed the best epoch's by more than a standard error.

    The error is that of the mean difference over the rows of all members, as if these
    rows were independent.

    Parameters
    ----------
    now, best : EpochResult
    """
    return _exceed(now.row_errors, best.row_errors, now.row_weight)


def _exceed(errors, others, weight):
    """Whether errors exceed others, of rows as if independent, by a standard error."""
    gain = (errors - others).double().flatten()
    weight = torch.ones_like(gain) if weight is None else weight.double().flatten()
    total = weight.sum()
    mean = (weight * gain).sum() / total
    variance = (weight * (gain - mean).square()).sum() / total
    # Weights below 1 are no smaller sample.
    return bool(mean > _HARM * (variance / total.clamp(min=len(gain))).sqrt())


def weigh_kinds(results, n_kinds):
    """Shares of the kinds of members in a prediction, inverse to their mean squared errors.

    Parameters
    ----------
    results : list of EpochResult
        One for each training, of as many members of each kind, one kind after the other.
        Of a single kind in a single training without validation rows, too.
    n_kinds : int
        Kinds in each of them.

    Returns
    -------
    share : Tensor of shape (n_results * n_kinds,)
        Sums to 1; float64.
    """
    if len(results) == n_kinds == 1:
        return torch.ones(1, dtype=torch.float64)
    errors = [_mean_over_rows(result.row_errors.double(), result.row_weight) for result in results]
    errors = torch.cat([own.view(n_kinds, -1).mean(1) for own in errors])
    shares = 1 / errors.clamp(min=torch.finfo(torch.float32).tiny)
    return shares / shares.sum()


def overfits(now):
    """Whether the loss lies well below the validation error.

    Where it does not, a training that has harmed has come off its track, and may find it
    again.

    Parameters
    ----------
    now : EpochResult
    """
    return now.loss < _OVERFIT * now.error


def set_mode(network, training):
    """Switch to training or evaluation; does nothing, fast, if that is the mode."""
    if network.training != training:
        network.train(training)


def weighted_mse(y, y_hat, weight):
    """Weighted mean over rows (m, b) of the squared error averaged over the targets, (m,)."""
    return _mean_over_rows((y - y_hat).square().mean(-1), weight)


def _mean_over_rows(values, weight):
    return values.mean(-1) if weight is None else (weight * values).sum(-1) / weight.sum(-1)


@torch.no_grad()
def validate(network, data, members, sharpnesses=()):
    """Find the validation rows' errors (m, n) and weights, each member's error and R2, (m,).

    A member's training rows are the neighbours. If there are `sharpnesses` to try, its
    head is left with the one of lowest error.
    """
    errors, y, weight = _row_errors(network, data, members, sharpnesses)
    if sharpnesses:
        best = _mean_over_rows(errors, weight).argmin(0, keepdim=True)
        network.head.sharpness.copy_(errors.new_tensor(sharpnesses)[best[0]])
        errors = errors.take_along_dim(best.unsqueeze(-1), 0).squeeze(0)
    mse = _mean_over_rows(errors, weight)
    return errors, weight, mse, _r2(mse, y, weight)


@torch.no_grad()
def sharpen(network, data, members, sharpnesses):
    """Give each head the sharpness of lowest validation error.

    Or the first of them, if that error is not lower by more than a standard error.
    """
    errors, _, weight = _row_errors(network, data, members, sharpnesses)
    for member, best in enumerate(_mean_over_rows(errors, weight).argmin(0)):
        own_weight = None if weight is None else weight[member]
        # A single row has no spread to tell of a standard error.
        pays = errors.shape[-1] > 1 and _exceed(errors[0, member], errors[best, member], own_weight)
        network.head.sharpness[member] = sharpnesses[best if pays else 0]


def _row_errors(network, data, members, sharpnesses):
    """Squared errors of the validation rows, their targets and weights.

    The errors are (m, n), or (l, m, n) if there are l sharpnesses to try.
    """
    set_mode(network, training=False)
    z = embed_in_batches(network, data.X)
    queries, z_n = take_rows(z, members.validation), take_rows(z, members.train)
    y, weight = data.take_labels(members.validation)
    y_n, weight_n = data.take_labels(members.train)
    neighbors = z_n, y_n, None if weight_n is None else weight_n.unsqueeze(-2)
    head = network.head
    if not sharpnesses:
        y_hat = attend_in_batches(head, queries, *neighbors)
    else:
        kept = head.sharpness
        try:
            # Against all of them at once, as ranks are the same.
            head.sharpness = kept.new_tensor(sharpnesses).unsqueeze(1).expand(-1, len(kept))
            y_hat = attend_in_batches(head, queries, *neighbors, n_heads=len(sharpnesses))
        finally:
            head.sharpness = kept
    errors = (y - y_hat).square().mean(-1)
    if sharpnesses:
        # Of a head that does not read its sharpness there is one set of errors.
        errors = errors.expand(len(sharpnesses), -1, -1)
    return errors, y, weight


def take_rows(z, rows):
    return z.take_along_dim(rows.unsqueeze(-1), 1)


def _r2(mse, y, weight):
    """R2 of each member's error; as in r2_score, constant targets give 1 or 0."""
    share = torch.ones_like(y[..., 0]) if weight is None else weight
    mean = (share.unsqueeze(-2) @ y) / share.sum(-1)[:, None, None]
    variance = weighted_mse(y, mean, weight)
    # The mean of equal numbers is theirs up to rounding.
    rounding = 16 * torch.finfo(y.dtype).eps ** 2 * y.square().mean((-2, -1))
    return torch.where(variance > rounding, 1 - mse / variance, (mse <= rounding).to(mse.dtype))
