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
from collections.abc import Sequence
from pathlib import Path

SHARDS = 16  # of the text, whatever the number of workers


def mapped(shard: int, workers: int, words: int) -> list[Counter[str]]:
    """The counts of one shard, a part for each reducer."""
    drawn = random.Random(shard)
    parts: list[Counter[str]] = [Counter() for _ in range(workers)]
    for _ in range(words // SHARDS):
        word = f"w{int(drawn.paretovariate(1.2))}"
        parts[zlib.crc32(word.encode()) % workers][word] += 1
    return parts


def reduced(reducer: int, parts: Sequence[Counter[str]], out: Path) -> int:
    """The sum of a reducer's parts, written to its file; the bytes that it was sent."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    (out / f"part-{reducer}").write_text("".join(f"{word}\t{count}\n" for word, count in total.items()))
    return sum(len(word) + 8 for part in parts for word in part)


def asked() -> tuple[int, Path, int]:
    """Workers, folder of the result, words."""
    return int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 400_000


def write_numbers(out: Path, words: int, sent: Sequence[int]) -> None:
    """Of what N reducers were sent, an Nth was there already."""
    (out / "numbers.json").write_text(json.dumps({"items": words, "bytes": sum(sent) * (len(sent) - 1) // len(sent)}))


if __name__ == "__main__":
    workers, out, words = asked()
    with multiprocessing.Pool(workers) as pool:
        shards = pool.starmap(mapped, [(shard, workers, words) for shard in range(SHARDS)])
        sent = pool.starmap(reduced, [(r, [shard[r] for shard in shards], out) for r in range(workers)])
    write_numbers(out, words, sent)
