#!/usr/bin/env python3
"""Finds the ten nearest of many vectors with N processes, each with a shard of them; with faiss if it is installed, else with NumPy.

sharded_index.py WORKERS OUT [--nearest-shard] [--vectors N] [--queries N]

Every shard answers every query, and the answers are merged: the result is exact. With --nearest-shard a query goes to the shard with the nearest
centre only: faster, and neighbours behind its border are lost.
"""

import argparse
import json
import multiprocessing
from pathlib import Path

import numpy as np

try:
    import faiss
except ImportError:
    faiss = None

parser = argparse.ArgumentParser()
parser.add_argument("workers", type=int)
parser.add_argument("out", type=Path)
parser.add_argument("--nearest-shard", action="store_true")
parser.add_argument("--vectors", type=int, default=60_000)
parser.add_argument("--queries", type=int, default=400)
asked = parser.parse_args()

K = 10
drawn = np.random.default_rng(7)
VECTORS = drawn.standard_normal((asked.vectors, 16), dtype=np.float32)
QUERIES = drawn.standard_normal((asked.queries, 16), dtype=np.float32)
CENTRES = VECTORS[: asked.workers]
NEAREST = ((VECTORS[:, None] - CENTRES[None]) ** 2).sum(2).argmin(1)  # the shard of a vector
GOES_TO = ((QUERIES[:, None] - CENTRES[None]) ** 2).sum(2).argmin(1)


def search(shard: int) -> list[tuple[int, float, int]]:
    """(query, distance, id) of the K nearest in a shard."""
    ids = np.flatnonzero(shard == NEAREST)
    queries = np.flatnonzero(shard == GOES_TO) if asked.nearest_shard else np.arange(len(QUERIES))
    if faiss is not None:
        faiss.omp_set_num_threads(1)
        index = faiss.IndexFlatL2(VECTORS.shape[1])
        index.add(VECTORS[ids])
        distances, found = index.search(QUERIES[queries], K)
        return [
            (int(query), float(distance), int(ids[i]))
            for query, *row in zip(queries, distances, found, strict=True)
            for distance, i in zip(*row, strict=True)
            if i >= 0  # -1: the shard has fewer than K
        ]
    rows = []
    for query in queries:
        distances = ((VECTORS[ids] - QUERIES[query]) ** 2).sum(1)
        rows += [(int(query), float(distances[i]), int(ids[i])) for i in np.argpartition(distances, min(K, len(ids) - 1))[:K]]
    return rows


if __name__ == "__main__":
    with multiprocessing.Pool(asked.workers) as pool:
        rows = sorted(row for shard in pool.map(search, range(asked.workers)) for row in shard)
    found: dict[int, list[int]] = {query: [] for query in range(len(QUERIES))}
    for query, _, id in rows:
        if len(found[query]) < K:
            found[query].append(id)
    lines = (json.dumps({"query": query, "ids": ids}) + "\n" for query, ids in found.items())
    (asked.out / "rankings.jsonl").write_text("".join(lines))
