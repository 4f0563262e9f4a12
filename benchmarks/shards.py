"""A bank in shards: what one shard costs, by exact partial sums and by an index.

Usage: python benchmarks/shards.py [--rows N] [--queries N]

Makes normal embeddings of 64 columns, and queries near some of them. Measures on one core what one
shard does for the queries: the two rounds of exact partial sums that the docs' page "Beyond one
machine" tells of, in double and in single precision, and building and searching FAISS's inverted
file. Each is the shortest of three runs (the index is built once). Times of sums are scaled to
1,000 queries and 1,000,000 rows, that of the search to 1,000 queries. Writes
docs/benchmark/shards.inc.
"""

import argparse
import math
import platform
from pathlib import Path

import pandas as pd
import torch
from report import rst_text_table
from scale import timed

from skneighbors.nn import NONA, similarity

OUTPUT = Path(__file__).parent.parent / "docs" / "benchmark" / "shards.inc"
WIDTH = 64
N_CANDIDATES = 512
N_PROBES = 32
# Rows that are compared at once: so few that what is computed of them stays in the cache.
CHUNK = 512


@torch.inference_mode()
def extremes(head, z, z_n):
    """Lowest and highest similarities (b, 1) of queries (b, d) to the rows (n, d) of a shard."""
    low, high = [], []
    for points in z_n.split(CHUNK):
        s = similarity(z, points, head.similarity)
        low.append(s.amin(1, keepdim=True))
        high.append(s.amax(1, keepdim=True))
    return torch.stack(low).amin(0), torch.stack(high).amax(0)


@torch.inference_mode()
def partial_sums(head, z, z_n, values, low, high):
    """Sum the weights, to (b, 1), and the weights times the values (n, k), to (b, k).

    Weights are relative to that of a row of similarity `high`; `low` and `high` (b, 1) are the
    extremes over all shards.
    """
    log_weights = head.log_weights(z, low, high)
    total, weighted = 0, 0
    for points, own in zip(z_n.split(CHUNK), values.split(CHUNK), strict=True):
        s = similarity(z, points, head.similarity)
        weights = log_weights(s).exp_()
        total = total + weights.sum(1, keepdim=True)
        weighted = weighted + weights @ own
    return total, weighted


def measure_sums(z, z_n, values):
    """Seconds of both rounds, for 1,000 queries and 1,000,000 rows."""
    torch.manual_seed(0)
    head = NONA(WIDTH, softstep="s2", temperature=0.3).eval().to(z.dtype)
    low, high = extremes(head, z, z_n)
    scale = 1000 / len(z) * 1_000_000 / len(z_n)
    first = timed(extremes, head, z, z_n)
    second = timed(partial_sums, head, z, z_n, values, low, high)
    return scale * first, scale * second


def measure_index(z, z_n):
    """Seconds to build an inverted file of the rows, and to search it for 1,000 queries."""
    import faiss

    faiss.omp_set_num_threads(1)
    z, z_n = z.numpy(), z_n.numpy()
    n_lists = round(4 * math.sqrt(len(z_n)))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(WIDTH), WIDTH, n_lists)
    index.cp.max_points_per_centroid = 64
    index.nprobe = N_PROBES

    def build():
        index.train(z_n)
        index.add(z_n)

    built = timed(build, repeats=1)
    return built, 1000 / len(z) * timed(index.search, z, N_CANDIDATES)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=250)
    args = parser.parse_args()
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    z_n = torch.randn(args.rows, WIDTH, generator=generator)
    values = torch.randn(args.rows, 1, generator=generator)
    near = torch.randint(args.rows, (args.queries,), generator=generator)
    z = z_n[near] + 0.1 * torch.randn(args.queries, WIDTH, generator=generator)
    seconds = {}
    for name, dtype in (("single", torch.float32), ("double", torch.float64)):
        first, second = measure_sums(z.to(dtype), z_n.to(dtype), values.to(dtype))
        seconds[f"range of similarities, {name} precision"] = first
        seconds[f"sums of weights, {name} precision"] = second
    built, searched = measure_index(z, z_n)
    seconds[f"index of {args.rows:,} rows, built once"] = built
    seconds[f"nearest {N_CANDIDATES} of {args.rows:,} rows by the index"] = searched
    table = pd.DataFrame({"seconds": seconds}).map(lambda taken: f"{taken:.2g}")
    print(table, flush=True)
    machine = f"one {platform.machine()} core, torch {torch.__version__}"
    title = f"One shard, 1,000 queries, 1,000,000 rows of {WIDTH} columns ({machine})"
    OUTPUT.write_text(rst_text_table(title, table) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
