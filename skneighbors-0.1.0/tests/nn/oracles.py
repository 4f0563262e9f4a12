"""The formulas once more, in NumPy: one query at a time, as the papers write them."""

import itertools

import numpy as np

EPS = 1e-6


def similarity(z, z_n, metric):
    if metric == "l2":
        return np.array([[-np.sqrt(((q - n) ** 2).sum()) for n in z_n] for q in z])
    if metric == "l1":
        return np.array([[-np.abs(q - n).sum() for n in z_n] for q in z])
    if metric == "dot":
        return np.array([[q @ n / len(q) for n in z_n] for q in z])
    lengths = np.linalg.norm(z, axis=1)[:, None] * np.linalg.norm(z_n, axis=1)
    return z @ z_n.T / lengths


def minmax(s, counts=None):
    """Scale one row; entries that do not count for the range are clipped into it."""
    counts = np.ones(len(s), bool) if counts is None else counts
    low, high = s[counts].min(), s[counts].max()
    if high == low:
        return np.ones(len(s))
    return np.clip((s - low) / (high - low), 0, 1)


def s1(x, a, b, t):
    p, q = np.maximum(x - a, 0) ** (1 / t), np.maximum(b - x, 0) ** (1 / t)
    with np.errstate(invalid="ignore"):
        inner = p / (p + q)
    return np.where(x <= a, 0.0, np.where(x >= b, 1.0, inner))


def s2(x, b, t):
    return np.where(x < b, (np.minimum(x, b) / b) ** (t * np.maximum(b - x, 0) / (1 - t)), 1.0)


def softstep(x, raw, function, x_top=1.0, eps=EPS):
    """Mask of one query from its three raw parameters."""
    a, b, t = np.clip(1 / (1 + np.exp(-raw)), eps, 1 - eps)
    if function == "s2":
        return s2(x, b, t)
    a = min(a, x_top) - min(eps, EPS)
    return s1(x, a, a + b * (1 - a), t)


def ranks(s):
    """Mid-ranks by counting; 1 is the largest."""
    above = (s[None, :] > s[:, None]).sum(1)
    equal = (s[None, :] == s[:, None]).sum(1)
    return above + (equal + 1) / 2


def rank_scale(rank, n, scale):
    if n == 1:
        return np.ones(1)
    return 1 - (np.log(rank) / np.log(n) if scale == "log" else (rank - 1) / (n - 1))


def predict(weights_of, z, z_n, y_n, self_index=None, trend=None):
    """Predictions with the weights that ``weights_of(query, neighbors, rows)`` gives.

    ``trend`` is the pair (weight (k, d), bias (k,)) of a linear map, or None.
    """
    f = (lambda v: 0.0) if trend is None else (lambda v: trend[0] @ v + trend[1])
    answers = []
    for i, query in enumerate(z):
        rows = np.arange(len(z_n))
        if self_index is not None:
            rows = rows[rows != self_index[i]]
        weights = weights_of(query, z_n[rows])
        residuals = np.array([y_n[row] - f(z_n[row]) for row in rows])
        answers.append(f(query) + weights @ residuals / weights.sum())
    return np.array(answers)


def nona_weights(metric, function=None, raw_of=None, temperature=1.0, eps=EPS):
    """Unnormalized weights exp(S / temperature) M."""

    def weights_of(query, neighbors):
        s = similarity(query[None], neighbors, metric)[0]
        mask = 1.0 if function is None else softstep(minmax(s), raw_of(query), function, 1.0, eps)
        return np.exp((s - s.max()) / temperature) * mask

    return weights_of


def knn_weights(metric, function, raw_of, rank, scale, eps=EPS, calibration=1.0):
    """The mask of the hard rank or, with ``rank=None``, of scaled similarities."""

    def weights_of(query, neighbors):
        s = similarity(query[None], neighbors, metric)[0]
        x = minmax(s) if rank is None else rank_scale(ranks(s), len(s), scale)
        x = np.maximum(x.max() - calibration * (x.max() - x), 0)
        return softstep(x, raw_of(query), function, x.max(), eps)

    return weights_of


def soft_rank(s, strength):
    """Projection of -s / strength on the permutahedron, by trying all of its faces.

    A face belongs to an ordered partition of the entries: those of the first block share
    the lowest ranks, and so on. The projection on its affine hull moves each block as a
    whole; the nearest of those that lie in the permutahedron, where any k ranks sum to at
    least 1 + ... + k, is the projection.
    """
    n = len(s)
    target = -np.asarray(s, float) / strength
    subsets = np.array(list(itertools.product([0, 1], repeat=n)))
    sizes = subsets.sum(1)
    best, nearest = None, np.inf
    for levels in itertools.product(range(n), repeat=n):
        if set(levels) != set(range(max(levels) + 1)):
            continue
        ranks, taken = np.empty(n), 0
        for level in range(max(levels) + 1):
            block = np.array(levels) == level
            size = block.sum()
            mean_rank = taken + (size + 1) / 2
            ranks[block] = target[block] - target[block].mean() + mean_rank
            taken += size
        inside = (subsets @ ranks >= sizes * (sizes + 1) / 2 - 1e-9).all()
        distance = ((ranks - target) ** 2).sum()
        if inside and distance < nearest:
            best, nearest = ranks, distance
    return best
