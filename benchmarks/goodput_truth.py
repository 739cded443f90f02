"""Are the parts of a recovery what they were, and does the partition of the paid time hold?

Jobs of two ranks under torch elastic are killed, killed while they save, stopped and slowed; the script notes its own moments beside what
the probe records (tests/faults/coupled.py): when it was asked to end, when a process began, when its first step began, when the lost step
was reached again.  Promise: categories sum to ranks x wall within 0.5 %; detect, restart, reload and recompute each within 0.5 s of what was
noted, in every launch.

    python benchmarks/goodput_truth.py --rounds 3
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from assay.errors import EnvironmentLacks
from assay.faults import slow
from assay.metrics.measured import Measured, from_record
from assay.metrics.partition import CATEGORIES, partition
from assay.metrics.recovery import Recovery, recoveries
from assay.record.reader import open_record
from assay.runners.base import run
from assay.spec.experiment import Fault
from assay.spec.load import from_mapping

COUPLED = Path(__file__).resolve().parents[1] / "tests" / "faults" / "coupled.py"
LOAD_S, STEPS, STEP_MS, SAVE_MS = 1.0, 60, 20, 30
MOST_OFF_S, MOST_OFF_SHARE = 0.5, 0.005


def faults(rounds: int) -> list[dict[str, Any]]:
    """Each kind so many times, at random steps."""
    kinds: list[dict[str, Any]] = [
        {"kind": "kill", "after_checkpoints": 1, "within_steps": 9},
        {"kind": "kill", "during": "checkpoint"},
        {"kind": "stop", "after_checkpoints": 1, "within_steps": 9, "for_s": 2.0},
    ]
    try:
        slow.check_training(Fault(kind="slow"))
        kinds.append({"kind": "slow", "after_checkpoints": 1, "within_steps": 9, "for_s": 2.0, "share": 0.2})
    except EnvironmentLacks as error:
        print(f"slow: not measured: {error}")
    return [kind for kind in kinds for _ in range(rounds)]


def truth(folder: Path, one: Recovery) -> dict[str, float] | None:
    """Seconds of each part as the script noted them; None where nobody was asked to end."""
    rows = [line.split() for line in (folder / "truth").read_text().splitlines()]

    def noted(what: str, incarnation: int) -> list[int]:
        return [int(ns) for word, _, number, ns in rows if word == what and int(number) == incarnation]

    asked, begun, first = noted("asked", 0), noted("begin", 1), noted("first", 1)
    if not asked or not begun or not first or one.steps_lost is None:
        return None
    again = (
        sorted(noted("step", 1))[2 * one.steps_lost - 1] if one.steps_lost else min(first)
    )  # two ranks note each step
    return {
        "detect": (min(asked) - one.fault_ns) / 1e9, "restart": (max(begun) - min(asked)) / 1e9,
        "reload": (min(first) - max(begun)) / 1e9, "recompute": (again - min(first)) / 1e9,
    }  # fmt: skip


def told(one: Recovery) -> dict[str, float]:
    """The same as the record tells it."""
    moments = [one.fault_ns, one.detected_ns, one.restarted_ns, one.resumed_ns, one.regained_ns]
    spans = itertools.pairwise(moments)
    return {
        name: (b - a) / 1e9 if a is not None and b is not None else float("nan")
        for name, (a, b) in zip(("detect", "restart", "reload", "recompute"), spans, strict=True)
    }


def shares(measured: Measured) -> float:
    """The largest share by which a rank's categories miss its wall time."""
    parts = partition(measured, measured.table("launches"))
    off = (pl.sum_horizontal(*CATEGORIES) - pl.col("wall_ns")).abs() / pl.col("wall_ns")
    return float(parts.select(off.max()).item())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="launches of each kind of fault")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arguments = [str(folder / "notes"), str(STEPS), str(STEP_MS), str(SAVE_MS), str(LOAD_S)]
        asked = from_mapping({
            "name": "truth", "workload": {"script": str(COUPLED), "arguments": arguments}, "factor": {"levels": [2]},
            "launches": {"per_configuration": 1}, "faults": faults(rounds), "limits": {"launch_timeout_s": 120.0},
        })  # fmt: skip
        measured = from_record(open_record(run(asked, folder=folder, root=folder / "records")))
        print(
            f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, Python {platform.python_version()}, {rounds} launches of each kind\n"
        )
        print("fault                 part        noted s   told s    off s")
        worst = 0.0
        for one in recoveries(measured):
            found = truth(folder / "notes" / str(one.launch), one)
            for part, seconds in (found or {}).items():
                off = abs(told(one)[part] - seconds)
                worst = max(worst, off)
                print(f"{kind(measured, one.launch):<20}  {part:<10} {seconds:8.3f} {told(one)[part]:8.3f} {off:8.3f}")
        print("\nwhere the rank-seconds of each launch went")
        for row in (
            partition(measured, measured.table("launches"))
            .group_by("launch")
            .agg(pl.col(list(CATEGORIES)).sum())
            .sort("launch")
            .to_dicts()
        ):
            parts = ", ".join(f"{name} {row[name] / 1e9:.2f}" for name in CATEGORIES if row[name] > 5e6)
            print(f"  launch {row['launch']} ({kind(measured, row['launch'])}): {parts}")
        off = shares(measured)
    print(
        f"\nparts of recoveries: at most {worst:.3f} s off (promise {MOST_OFF_S} s); categories: {off:.2%} off (promise {MOST_OFF_SHARE:.1%})"
    )
    return 0 if worst <= MOST_OFF_S and off <= MOST_OFF_SHARE else 1


def kind(measured: Measured, launch: int) -> str:
    """What struck a launch."""
    row = measured.table("events").filter((pl.col("launch") == launch) & (pl.col("kind") == "fault"))
    return str(json.loads(row["detail"][0])["fault"]) if row.height else "none"


if __name__ == "__main__":
    sys.exit(main())
