"""What is left of a load when a client process, the coordinator, a server, a guard or all of them are killed under it?

Each run loads the reference server (or one that assay starts) with two launches, of a kind drawn at random (closed or open
loop, single requests or conversations, one or two client processes), kills at a moment drawn uniformly over the load of one of
them, looks at the record, resumes it where it is unfinished, and holds it against the server's own truth.  Promise: the record
opens and is completed; each request that was due up to the kill has exactly one row, and as many were sent as the server
saw; about a second of data is lost at most; no process and no port stays.

    python benchmarks/serving_survival.py --runs 50 --victims client
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.survival import loads


def measure(victim: str, runs: int, folder: Path) -> dict[str, Any]:
    """Kill the victim that many times; what was seen. A run that had ended before its kill is not counted."""
    numbers = random.Random(victim)
    seen: list[loads.Loss] = []
    for turn in range(3 * runs):
        own = folder / f"{victim}-{turn}"
        own.mkdir()
        kind, clients = loads.drawn(numbers)
        one = loads.once(own, victim, kind, clients, numbers)
        seen += [one] if one.hit else []
        print(f"{victim} {len(seen)}/{runs}: {one}", file=sys.stderr, flush=True)
        if len(seen) == runs:
            break
    losing = [one for one in seen if one.lost]
    return {
        "kills": len(seen),
        "by_kind": dict(Counter(f"{one.kind}, {one.clients} clients" for one in seen)),
        "resumed": sum(one.resumed for one in seen),
        "requests": sum(one.requests for one in seen),
        "named_lost": sum(one.lost for one in seen),
        "oldest_lost_ms_median": round(statistics.median(one.lost_ms for one in losing), 1) if losing else 0.0,
        "oldest_lost_ms_worst": round(max((one.lost_ms for one in losing), default=0.0), 1),
        "statuses_before_resuming": dict(Counter(status for one in seen for status in one.statuses)),
        "problems": [problem for one in seen for problem in one.problems],
    }


def main() -> int:
    """Measure, print one JSON object, return 1 if the promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="kills of each victim (20)")
    parser.add_argument("--victims", nargs="+", default=list(loads.VICTIMS), choices=loads.VICTIMS)
    arguments = parser.parse_args()
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        victims = {name: measure(name, arguments.runs, Path(folder)) for name in arguments.victims}
    kept = not any(one["problems"] for one in victims.values())
    print(
        json.dumps(
            {
                "benchmark": "serving_survival",
                "date": datetime.now(UTC).date().isoformat(),
                "machine": platform.platform(),
                "load_average": [round(before, 1), round(os.getloadavg()[0], 1)],
                "victims": victims,
                "promise_kept": kept,
            },
            indent=2,
        )
    )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
