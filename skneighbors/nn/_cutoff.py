"""Where a function of one variable has fallen far enough."""

import torch


def last_below(log_weight, low, high, depth, n_points=65):
    """Largest point in [low, high] known to lie `depth` below the value of `high`.

    The function must not fall. Its values on a grid, and on a second one between
    two points of the first, are looked at.
    """
    share = torch.linspace(0, 1, n_points, dtype=low.dtype, device=low.device)
    bound = log_weight(high) - depth
    found = torch.zeros_like(low, dtype=torch.bool)
    for _ in range(2):
        grid = low + (high - low) * share
        n_below = (log_weight(grid) <= bound).sum(-1, keepdim=True)
        found |= n_below > 0
        last = (n_below - 1).clamp_(min=0)
        low, high = grid.gather(-1, last), grid.gather(-1, (last + 1).clamp_(max=n_points - 1))
    return low.masked_fill(~found, -torch.inf)
