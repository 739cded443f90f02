"""What did a fault cost a training that knows nothing of assay, against the training's own log?

Real jobs of two ranks under torch elastic (tests/faults/resumes.py) save checkpoints in four ways, or none, and are killed, stopped and
slowed at random steps.  The script logs every step; assay sees only what its hooks see.
Promise: steps lost are exactly those of the log, in every launch; the recovery, and what a fault that lasted added, are within 0.5 s of it;
no sample is called lost or used twice.

    python benchmarks/resume_truth.py --rounds 2
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from fireassay.errors import EnvironmentLacks
from fireassay.faults import slow
from fireassay.frames.record_data import RecordData, from_record
from fireassay.frames.training.rank_time import HELD_UP, partition
from fireassay.frames.training.recovery import recoveries, unknown_progress
from fireassay.record.reader import open_record
from fireassay.runners.experiment.run import run
from fireassay.spec.load import from_mapping
from fireassay.spec.sections.faults import Fault
from fireassay.verdict.judge import judge

SCRIPT: Final = Path(__file__).resolve().parents[1] / "tests" / "faults" / "resumes.py"
WAYS: Final = ("adam", "sgd", "rounded", "sharded", "anew")
MAX_OFF_S, LASTS_S = 0.5, 2.0


def faults(rounds: int) -> list[dict[str, Any]]:
    """Kills, and faults that pass."""
    kinds: list[dict[str, Any]] = [{"kind": "kill"}, {"kind": "kill", "times": 2}, {"kind": "stop", "for_s": LASTS_S}]
    try:
        slow.check_training(Fault(kind="slow"))
        kinds.append({"kind": "slow", "for_s": LASTS_S, "share": 0.02})
    except EnvironmentLacks as error:
        print(f"slowed: not measured: {error}")
    return kinds * rounds


def measured(folder: Path, way: str, rounds: int, seed: int) -> RecordData:
    """A timed launch, and one of each fault."""
    folder.mkdir()
    asked = from_mapping(
        {
            "name": way,
            "workload": {"script": str(SCRIPT), "arguments": [str(folder / "{launch}"), way]},
            "factor": {"levels": [2]},
            "launches": {"per_configuration": 1, "seed": seed},
            "faults": faults(rounds),
            "limits": {"launch_timeout_s": 300.0},
        }
    )
    return from_record(open_record(run(asked, folder=folder, root=folder / "records")))


def log_of(folder: Path, launch: int) -> list[tuple[str, int, int, int]]:
    """(what, rank, number, ns) in the order of time."""
    rows = (line.split() for line in (folder / str(launch) / "log").read_text().splitlines())
    return sorted(((what, int(rank), int(number), int(ns)) for what, rank, number, ns in rows), key=lambda row: row[3])


def truth(log: list[tuple[str, int, int, int]], strike_ns: int) -> tuple[int, int]:
    """(steps lost, when the last of them was done again, ns) of a kill, by the script's log: what any rank had done before the restart."""
    first, again_ns = next((number, ns) for what, _, number, ns in log if what == "resumed" and ns > strike_ns)
    done = max((number for what, _, number, ns in log if what == "step" and ns < again_ns), default=0)
    later = [ns for what, _, number, ns in log if what == "step" and ns > again_ns and number == done]
    begun = min(ns for what, _, _, ns in log if what == "step" and ns > again_ns)
    return max(0, done - first), max(later[:2]) if done > first else begun


def judged(found: RecordData, folder: Path) -> Iterator[dict[str, Any]]:
    """One row per strike."""
    parts = partition(found, found.table("launches"))
    told = {(one.launch, one.fault_ns): one for one in recoveries(found)}
    for launch in found.table("launches").filter(role="fault").sort("launch").to_dicts():
        number, log = launch["launch"], log_of(folder, launch["launch"])
        struck = found.table("events").filter(launch=number, kind="fault").sort("ns").to_dicts()
        for strike in struck:
            one = {"launch": number, "restarts": launch["restarts"], "status": launch["status"], "step": strike["step"]}
            if not launch["restarts"]:
                added = parts.filter(launch=number)[HELD_UP].mean() / 1e9
                yield {**one, "off_s": abs(added - LASTS_S), "noted": 0, "told": 0}
                continue
            lost, regained_ns = truth(log, strike["ns"])
            recovery = told[(number, strike["ns"])]
            ns = recovery.regained_ns
            off = float("inf") if ns is None else abs(ns - regained_ns) / 1e9
            yield {**one, "off_s": off, "noted": lost, "told": recovery.steps_lost}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="launches of each way and fault")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--seed", type=int, default=20260101, help="of the random steps and ranks")
    asked = parser.parse_args()
    print(f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}\n")
    print(f"{'way':<10}{'launch':>7}{'restarts':>9}{'struck after':>13}{'lost: log':>10}{'told':>6}{'off, s':>8}")
    good, strikes, worst = True, 0, 0.0
    with tempfile.TemporaryDirectory() as name:
        for way in asked.ways:
            found = measured(Path(name) / way, way, asked.rounds, asked.seed)
            for row in judged(found, Path(name) / way):
                right = row["noted"] == row["told"] and row["off_s"] <= MAX_OFF_S and row["status"] == "ok"
                good, strikes, worst = good and right, strikes + 1, max(worst, row["off_s"])
                print(
                    f"{way:<10}{row['launch']:>7}{row['restarts']:>9}{row['step']:>13}{row['noted']:>10}{row['told']!s:>6}{row['off_s']:>8.3f}"
                    f"{'' if right else '  NOT AS IT WAS'}",
                    flush=True,
                )
            false = [one.rule for one in judge(found).verdict.findings if one.severity in ("invalid", "fail")]
            if false or unknown_progress(found):
                good = False
                print(f"{way}: {false} {[one.detail for one in unknown_progress(found).values()]}")
    print(f"\n{strikes} strikes; at most {worst:.3f} s off (promise {MAX_OFF_S} s); {'kept' if good else 'BROKEN'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
