"""What is left when the coordinator, a worker, the guard or the engine is killed, or Ctrl-C is pressed, at any moment?

Each run starts a small experiment, kills at a moment drawn uniformly over its length, looks at the record, resumes it,
and looks again.  Promise: the record opens, at most what a process measured since its last flush is lost (less than a second, and
what the machine kept its threads waiting), the plan is completed without repeating a finished launch, no process is left.

    python benchmarks/survival.py --runs 20
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.survival import harness


def measure(victim: str, runs: int, length_s: float, folder: Path) -> dict[str, Any]:
    """Kill the victim that many times; what was seen. A run that had ended before its kill is not counted."""
    numbers = random.Random(victim)
    seen: list[harness.Seen] = []
    too_late = 0
    while len(seen) < runs and too_late < 3 * runs:
        setting = harness.Setting(folder=folder / f"{victim}-{len(seen)}-{too_late}")
        setting.folder.mkdir()
        one = harness.once(setting, victim, numbers.uniform(0.0, length_s), numbers)
        print(f"{victim} {len(seen) + 1}/{runs}: {one}", file=sys.stderr)
        if one.hit:
            seen.append(one)
        else:  # the machine has become faster since the length was measured
            too_late += 1
            length_s *= 0.9
    return {
        "kills": len(seen),
        "too_late": too_late,
        "resumed": sum(one.resumed for one in seen),
        "lost_ms_worst": round(max(one.lost_ms for one in seen), 1),
        "statuses_before_resuming": dict(Counter(status for one in seen for status in one.statuses)),
        "problems": [problem for one in seen for problem in one.problems],
    }


def main() -> int:
    """Measure, print one JSON object, return 1 if the promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="kills of each victim (20)")
    parser.add_argument("--victims", nargs="+", default=list(harness.VICTIMS[:3]), choices=harness.VICTIMS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        quiet = Path(folder) / "unharmed"
        quiet.mkdir()
        length_s = harness.unharmed(harness.Setting(folder=quiet))
        victims = {name: measure(name, arguments.runs, length_s, Path(folder)) for name in arguments.victims}
    kept = not any(one["problems"] for one in victims.values())
    print(
        json.dumps(
            {
                "benchmark": "survival",
                "date": datetime.now(UTC).date().isoformat(),
                "machine": platform.platform(),
                "unharmed_s": round(length_s, 2),
                "victims": victims,
                "promise_kept": kept,
            },
            indent=2,
        )
    )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
