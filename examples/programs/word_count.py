#!/usr/bin/env python3
"""Counts words with N processes, as MapReduce does: map shards of the text, shuffle by a hash of the word, reduce.

word_count.py WORKERS OUT [WORDS]
"""

import json
import multiprocessing
import random
import sys
import zlib
from collections import Counter
from pathlib import Path

WORKERS, OUT = int(sys.argv[1]), Path(sys.argv[2])
WORDS = int(sys.argv[3]) if len(sys.argv) > 3 else 400_000
SHARDS = 16  # of the text, whatever the number of workers


def mapped(shard: int) -> list[Counter[str]]:
    """The counts of one shard, a part for each reducer."""
    drawn = random.Random(shard)
    parts: list[Counter[str]] = [Counter() for _ in range(WORKERS)]
    for _ in range(WORDS // SHARDS):
        word = f"w{int(drawn.paretovariate(1.2))}"
        parts[zlib.crc32(word.encode()) % WORKERS][word] += 1
    return parts


def reduced(reducer: int, parts: list[Counter[str]]) -> int:
    """The sum of a reducer's parts, written to its file; the bytes that it was sent."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    (OUT / f"part-{reducer}").write_text("".join(f"{word}\t{count}\n" for word, count in total.items()))
    return sum(len(word) + 8 for part in parts for word in part)


if __name__ == "__main__":
    with multiprocessing.Pool(WORKERS) as pool:
        shards = pool.map(mapped, range(SHARDS))
        sent = pool.starmap(reduced, [(r, [shard[r] for shard in shards]) for r in range(WORKERS)])
    (OUT / "numbers.json").write_text(json.dumps({"items": WORDS, "bytes": sum(sent) * (WORKERS - 1) // WORKERS}))
