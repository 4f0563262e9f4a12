"""Pictures of the papers' findings: learned surfaces, SoftStep masks, embeddings.

Usage, in benchmarks/: python -m paper.pictures [--splits N] [--quick] [--output FOLDER]

Writes to docs/papers: surfaces.svg, the synthetic targets learned by every head;
softstep.svg, the masks S1 and S2 for several t; embeddings.svg, the embeddings of
the dense model and of NONA on validation rows of the rotated digits, in the papers'
setting, in two dimensions by UMAP (umap-learn); and embeddings.inc, the local
smoothness of the embeddings of three tasks.
"""

import numpy as np
import pandas as pd
import torch
from _style import BLEND, WIDTH, picture
from _surfaces import draw_surfaces, learn_surfaces
from sklearn.neighbors import NearestNeighbors

from skneighbors.nn import log_softstep_s1, log_softstep_s2

from ._runs import parse, require, script_parser, spread_table, write_table
from ._tasks import fit
from .finetuning import NETWORKS

TASKS = ["rotated digits", "pitch", "diabetes"]
DRAWN = "rotated digits"
SURFACES = {"n_rows": 800, "resolution": 52}
# As in the fine-tuning, quick runs are for trying the script out.
QUICK_SURFACES = {"n_rows": 60, "resolution": 10, "max_iter": 2, "hidden_layer_sizes": (16,)}
REJECTION, ACCEPTANCE = 0.2, 0.8
S1_TRANSITIONS = [0.02, 0.1, 0.3, 0.6, 1.0]
S2_TRANSITIONS = [0.02, 0.2, 0.5, 0.8, 0.98]
N_NEIGHBORS = 10


def local_smoothness(Z_train, y_train, Z, y, n_neighbors=N_NEIGHBORS):
    """How unlike the targets of neighbors in an embedding are.

    Parameters
    ----------
    Z_train, Z : ndarray of shape (n_rows, d)
        Embeddings of the training rows, among which the neighbors are, and of
        validation rows.
    y_train, y : ndarray of shape (n_rows,)
    n_neighbors : int

    Returns
    -------
    smoothness : float
        Mean squared difference of a validation rows's target to those of its
        nearest training rows, over the variance of the training rows' targets:
        0 where neighbors are all alike, about 2 where they have nothing in common.
    """
    index = NearestNeighbors(n_neighbors=n_neighbors).fit(Z_train)
    rows = index.kneighbors(Z, return_distance=False)
    return np.mean(np.square(y[:, None] - y_train[rows])) / np.var(y_train)


def embed(task, split, quick=False):
    """Embeddings of the validation rows by every network, and their smoothness.

    Returns
    -------
    found : dict of str to (ndarray, float)
        For each head, the embeddings and their :func:`local_smoothness`.
    y_test : ndarray
    """
    found = {}
    for head, network in NETWORKS.items():
        model, (X_train, X_test, y_train, y_test), _ = fit(*network, task, split, quick)
        Z = model.transform(X_test)
        found[head] = Z, local_smoothness(model.transform(X_train), y_train, Z, y_test)
    return found, y_test


def draw_embeddings(found, y, reducer, path):
    """Save embeddings in two dimensions side by side, colored by target.

    Parameters
    ----------
    found : dict
        What :func:`embed` returns.
    y : ndarray
    reducer : callable
        Makes a transformer to two dimensions, given ``random_state`` and ``n_jobs``.
    path : path-like
    """
    n_heads = len(found)
    with picture(path, n_heads, figsize=(WIDTH, 2.6 * n_heads)) as (figure, axes):
        for axis, (head, (Z, smoothness)) in zip(axes, found.items(), strict=True):
            # UMAP warns of a random_state with more than one job.
            plane = reducer(random_state=0, n_jobs=1).fit_transform(Z)
            points = axis.scatter(*plane.T, c=y, s=8, cmap=BLEND, lw=0)
            axis.set(xticks=[], yticks=[])
            axis.set_title(f"{head}: local smoothness {smoothness:.3f} (lower is better)")
        figure.colorbar(points, ax=axes, location="bottom", label="angle, degrees", pad=0.01)


def softstep_masks(x):
    """Masks of both families at scaled similarities x, by title and transition.

    Returns
    -------
    masks : dict of str to dict of float to ndarray
    """
    x = torch.as_tensor(x, dtype=torch.float64)
    a, b = x.new_tensor([REJECTION, ACCEPTANCE])
    s1 = {t: log_softstep_s1(x, a, b, x.new_tensor(t)) for t in S1_TRANSITIONS}
    s2 = {t: log_softstep_s2(x, b, x.new_tensor(t)) for t in S2_TRANSITIONS}
    families = {f"S1, a = {REJECTION}, b = {ACCEPTANCE}": s1, f"S2, b = {ACCEPTANCE}": s2}
    return {
        title: {t: log_mask.exp().numpy() for t, log_mask in family.items()}
        for title, family in families.items()
    }


def draw_softstep(path):
    """Save the masks as functions of the scaled similarity, one family a panel."""
    x = np.linspace(0, 1, 501)
    with picture(path, 2, figsize=(WIDTH, 5.6), sharex=True) as (_, axes):
        for axis, (title, family) in zip(axes, softstep_masks(x).items(), strict=True):
            shades = BLEND(np.linspace(0, 1, len(family)))
            for (t, mask), shade in zip(family.items(), shades, strict=True):
                axis.plot(x, mask, color=shade, label=f"t = {t:g}")
            axis.legend(loc="lower right", handlelength=1)
            axis.set(title=title, ylabel="mask")
        axes[1].set_xlabel("scaled similarity x (1: the most similar)")


def write_embeddings(n_splits, quick, reducer, output):
    """Embed all tasks; save the picture of the first split and the table of all."""
    lines = []
    for task in TASKS:
        for split in range(n_splits):
            found, y_test = embed(task, split, quick)
            for head, (_, smoothness) in found.items():
                lines.append({"task": task, "head": head, "smoothness": smoothness})
                print(f"{task}, split {split}, {head}: {smoothness:.4f}", flush=True)
            if (task, split) == (DRAWN, 0):
                draw_embeddings(found, y_test, reducer, output / "embeddings.svg")
    title = (
        f"Mean squared difference of a test row's target to those of its {N_NEIGHBORS} nearest "
        "training rows in the embedding, over the targets' variance (0: all alike, about 2: no "
        f"relation), mean ± standard deviation over {n_splits} random splits"
    )
    table = spread_table(pd.DataFrame(lines), "task", "head", "smoothness")
    write_table(output / "embeddings.inc", "pictures.py", title, table)


def main():
    args = parse(script_parser(__doc__, splits=3))
    reducer = require("umap", "umap-learn").UMAP  # before what takes minutes
    settings = QUICK_SURFACES if args.quick else SURFACES
    draw_surfaces(learn_surfaces(**settings), args.output / "surfaces.svg", settings["n_rows"])
    draw_softstep(args.output / "softstep.svg")
    write_embeddings(args.splits, args.quick, reducer, args.output)


if __name__ == "__main__":
    main()
