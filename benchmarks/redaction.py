"""What does it cost to keep secrets out of a record?  Processor time of the three ways in which texts are looked through.

* a line of an error, as the load client once looked at every one of them in the loop that stamps;
* batches of 512 requests, as they are looked through now, by Arrow in the thread that writes;
* a log, as the guard of a launch looks through it.

    python benchmarks/redaction.py [REQUESTS]

Promise: at most 15 microseconds of processor time for a row, off the loop that stamps, and 60 nanoseconds for a byte of a log.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from fireassay.record.secrets.batches import cleaned_batch
from fireassay.record.secrets.redact import redact, redact_bytes, secret_values

WORDS = (
    "the",
    "model",
    "answers",
    "with",
    "tokens",
    "and",
    "throughput",
    "of",
    "layers",
    "weights",
    "that",
    "were",
    "computed",
    "in",
    "parallel",
    "on",
    "devices",
    "machine",
)
BATCH = 512
MAX_ROW_S, MAX_BYTE_S = 15e-6, 60e-9


def texts(rng: random.Random, count: int, words: int) -> list[str]:
    """Prose of so many words."""
    return [" ".join(rng.choices(WORDS, k=words)) for _ in range(count)]


def cpu_s(work: Callable[[], Any], times: int = 3) -> float:
    """The least processor time of this process, all threads."""
    best = float("inf")
    for _ in range(times):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best


def main(requests: int) -> int:
    """Print a table; 1 if the promise is broken."""
    rng = random.Random(1)
    secrets = secret_values({**os.environ, "MY_GATEWAY_TOKEN": "a-known-value/with+signs"})
    errors = [f"HTTP 500: upstream failed for request {number}" for number in range(BATCH)]
    rows = batch([None] * BATCH, texts(rng, BATCH, 150))
    failed = batch(errors, [None] * BATCH)
    lines = enumerate(texts(rng, 20_000, 8))
    log = "\n".join(f"epoch {n} step {n * 7} loss {1 / (n + 1):.6f} {words}" for n, words in lines).encode()
    count = max(1, requests // BATCH)
    alone = cpu_s(lambda: [redact(error, secrets) for error in errors]) / BATCH
    answered = cpu_s(lambda: [cleaned_batch(rows, secrets) for _ in range(count)], 1) / (count * BATCH)
    broken = cpu_s(lambda: [cleaned_batch(failed, secrets) for _ in range(count)], 1) / (count * BATCH)
    byte = cpu_s(lambda: redact_bytes(log, secrets)) / len(log)
    print(f"{len(secrets)} spellings of known secrets\n\n| what | per item | of a million requests |\n|---|---|---|")
    print(f"| an error by itself, in Python | {alone * 1e6:.2f} µs | {alone * 1e6:.1f} s |")
    for name, each in (("answers of 1 kB", answered), ("errors", broken)):
        print(f"| a row of {name}, in batches | {each * 1e6:.2f} µs | {each * 1e6:.1f} s, none of it in the loop that stamps |")
    print(f"| a byte of a log | {byte * 1e9:.1f} ns | {byte * (1 << 20) * 1e3:.1f} ms for a MiB |")
    return int(max(answered, broken) > MAX_ROW_S or byte > MAX_BYTE_S)


def batch(errors: list[str | None], answers: list[str | None]) -> pa.RecordBatch:
    """Rows as the load client hands them over, as far as they are text."""
    finish = ["length"] * len(errors)
    arrays = [pa.array(texts, pa.string()) for texts in (errors, finish, answers)]
    return pa.RecordBatch.from_arrays(arrays, ["error", "finish_reason", "text"])


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))
