"""A bank in shards: what one shard costs, exactly and by an index.

Usage: python benchmarks/shards.py [--rows N] [--queries N] [--neighbors K]

Makes normal embeddings of 64 columns, and queries near some of them. Measures on one core what one
shard does for the queries: the search for the nearest rows that the docs' page "Beyond one machine"
tells of, in double and in single precision, and building and searching FAISS's inverted file; and
the attention to the nearest of all shards, where they meet. Each is the shortest of three runs (the
index is built once). Times of the exact search are scaled to 1,000 queries and 1,000,000 rows, the
others to 1,000 queries. Writes docs/benchmark/shards.inc.
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
N_PROBES = 32
# Rows that are compared at once: so few that what is computed of them stays in the cache.
CHUNK = 4096


@torch.inference_mode()
def nearest(head, z, z_n, values, k):
    """Find a shard's k rows most similar to queries (b, d).

    The shard holds embeddings (n, d) and values (n, t). Returns similarities (b, k) and
    values (b, k, t), the most similar first; fewer, if the shard has no more.
    """
    found = []
    for points, own in zip(z_n.split(CHUNK), values.split(CHUNK), strict=True):
        s, rows = similarity(z, points, head.similarity).topk(min(k, len(points)))
        found.append((s, own[rows]))
    return merge(found, k)


def merge(found, k):
    """Of what was found in several places, pairs as of :func:`nearest`, the k most similar."""
    s, values = (torch.cat(part, 1) for part in zip(*found, strict=True))
    s, place = s.topk(min(k, s.shape[1]))
    return s, values.take_along_dim(place.unsqueeze(2), 1)


@torch.inference_mode()
def attend(head, z, s, values, n_rows):
    """Predict queries (b, d) from the nearest of all `n_rows` rows, to (b, t)."""
    weights = head.weights_of(z, s, total=s.new_tensor([[n_rows]]))
    return head.add_trend(z, (weights.unsqueeze(2) * values).sum(1))


def measure_exact(z, z_n, values, k):
    """Seconds to find the nearest rows of a million, and to attend to them; 1,000 queries."""
    torch.manual_seed(0)
    head = NONA(WIDTH, softstep="s2", temperature=0.3).eval().to(z.dtype)
    s, own = nearest(head, z, z_n, values, k)
    scale = 1000 / len(z)
    searched = scale * 1_000_000 / len(z_n) * timed(nearest, head, z, z_n, values, k)
    return searched, scale * timed(attend, head, z, s, own, len(z_n))


def measure_index(z, z_n, k):
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
    return built, 1000 / len(z) * timed(index.search, z, k)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=250)
    parser.add_argument("--neighbors", type=int, default=100)
    args = parser.parse_args()
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    z_n = torch.randn(args.rows, WIDTH, generator=generator)
    values = torch.randn(args.rows, 1, generator=generator)
    near = torch.randint(args.rows, (args.queries,), generator=generator)
    z = z_n[near] + 0.1 * torch.randn(args.queries, WIDTH, generator=generator)
    k, seconds = args.neighbors, {}
    for name, dtype in (("single", torch.float32), ("double", torch.float64)):
        found = measure_exact(z.to(dtype), z_n.to(dtype), values.to(dtype), k)
        seconds[f"nearest {k}, exactly, {name} precision"] = found[0]
        seconds[f"attention to {k}, {name} precision"] = found[1]
    built, searched = measure_index(z, z_n, k)
    seconds[f"index of {args.rows:,} rows, built once"] = built
    seconds[f"nearest {k} by the index"] = searched
    table = pd.DataFrame({"seconds": seconds}).map(lambda taken: f"{taken:.2g}")
    print(table, flush=True)
    machine = f"one {platform.machine()} core, torch {torch.__version__}"
    title = f"One shard, 1,000 queries, 1,000,000 rows of {WIDTH} columns ({machine})"
    OUTPUT.write_text(rst_text_table(title, table) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
