"""Two engines under the same closed loops, written down by hand: every answer takes as long as its engine and load say.

With `gaps` {"a": {8: 0.01}} an answer of engine a at 8 in flight has a token every 10 ms after a first one at 10 times that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.serving_made import ServingMade

TOKENS = 20


def rivals(gaps: Mapping[str, Mapping[int, float]], *, blocks: int = 5, seconds: float = 6.0, **asked: Any) -> ServingMade:
    """Every stream sends its next request when it has its answer; engines share what a block adds to all times."""
    loads = tuple(next(iter(gaps.values())))
    asked = {"objectives": {"ttft_s": 0.4, "tpot_s": 0.04}, **asked}
    made = ServingMade(concurrency=loads, engines=tuple(gaps), blocks=blocks, seconds=seconds, replicas=1, **asked)
    for block in range(blocks):
        for engine, by_load in gaps.items():
            for load, gap in by_load.items():
                luck = 1.0 + 0.01 * block + 0.003 * ((7 * block + 3 * load + (engine == "b")) % 5)
                launch = made.launch(f"engine={engine} concurrency={load}" if len(gaps) > 1 else f"concurrency={load}", block=block)
                _launch(made, launch, load, gap * luck, seconds)
    return made


def _launch(made: ServingMade, launch: int, load: int, gap: float, seconds: float) -> None:
    due = [0.0] * load
    for place in range(10_000):
        stream = min(range(load), key=lambda one: due[one])
        if due[stream] >= seconds:
            return
        slower = 1.0 + 0.02 * ((37 * place) % 11 - 5) / 5.0
        at = due[stream]
        made.request(launch, at, ttft_s=10 * gap * slower, gap_s=gap * slower, tokens_out=TOKENS, stream=stream, follows=at > 0.0)
        due[stream] = at + (10 + TOKENS - 1) * gap * slower
