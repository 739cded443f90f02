"""Where did the paid time of struck trainings go, against what the trainings noted themselves?

Real jobs of two ranks under torch elastic (DistributedDataParallel over gloo, tests/faults/trained.py) are struck in every way: killed at a
chosen and at a random step, with a checkpoint after every step (no step number comes again), while a checkpoint is saved, rank 0, twice,
before the first step, failing again on its restart and on every restart, stopped for good, stopped for longer than the other rank waits,
stopped for a while, slowed, and not at all.  The script notes its own moments beside what assay records.
Promise: the categories of every rank sum to its wall time within 0.5 %; init, detect, restart, reload and recompute of every rank and
recovery are each within 0.5 s of what was noted; what a fault that lasted added is within 0.5 s of how long it lasted; restarts are
counted. (A process begins before its script can note anything: what Python needs to start is reload as told, and restart as noted.)

    python benchmarks/goodput_truth.py --rounds 1
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from fireassay.errors import EnvironmentLacks
from fireassay.faults import slow
from fireassay.frames.record_data import RecordData, from_record
from fireassay.frames.training.rank_time import CATEGORIES, HELD_UP, partition
from fireassay.record.reader import open_record
from fireassay.runners.experiment.run import run
from fireassay.spec.load import from_mapping
from fireassay.spec.sections.faults import Fault

TRAINED: Final = Path(__file__).resolve().parents[1] / "tests" / "faults" / "trained.py"
MAX_OFF_S, MAX_OFF_SHARE = 0.5, 0.005
PARTS: Final = ("init", "detect", "restart", "reload", "recompute")
LASTS_S, HANGS_S = 2.0, 600.0


@dataclass(frozen=True, kw_only=True)
class Case:
    """A fault, what the script does, and how many restarts there must be."""

    name: str
    fault: dict[str, Any]
    script: dict[str, Any] = field(default_factory=dict)
    restarts: int = 1
    status: str = "ok"
    added_s: float = 0.0  # that a fault which lasted must have added, on every rank


KILL: Final = {"kind": "kill", "at_step": 15, "rank": 1}
CASES: Final[tuple[Case, ...]] = (
    Case(name="kill", fault=KILL),
    Case(name="kill at a random step", fault={"kind": "kill", "after_checkpoints": 1, "within_steps": 9}),
    Case(name="kill, no step comes again", fault=KILL, script={"save_every": 1, "save_ms": 1.0}),
    Case(name="kill while it saves", fault={"kind": "kill", "during": "checkpoint"}, script={"save_ms": 100.0}),
    Case(name="kill rank 0 twice", fault={**KILL, "rank": 0, "times": 2}, restarts=2),
    Case(name="kill before the first step", fault={**KILL, "at_step": 0}),
    Case(name="fails on its restart too", fault=KILL, script={"fails": 1}, restarts=2),
    Case(name="fails on every restart", fault=KILL, script={"fails": 99}, restarts=3, status="failed"),
    Case(name="stopped beyond patience", fault={"kind": "stop", "at_step": 15, "rank": 1, "for_s": 20.0}, script={"group_s": 5.0}),
    Case(name="stopped for a while", fault={"kind": "stop", "at_step": 15, "rank": 1, "for_s": LASTS_S}, restarts=0, added_s=LASTS_S),
    Case(name="never struck", fault={**KILL, "at_step": 500}, restarts=0),
)
SLOW: Final = Case(
    name="slowed", fault={"kind": "slow", "at_step": 15, "rank": 1, "for_s": LASTS_S, "share": 0.02}, restarts=0, added_s=LASTS_S
)
HANGS: Final = Case(
    name="stopped for good", fault={"kind": "stop", "at_step": 15, "rank": 1, "for_s": HANGS_S}, restarts=0, status="timeout"
)


def measured(folder: Path, cases: tuple[Case, ...], rounds: int, timeout_s: float, seed: int) -> RecordData:
    """A record with a launch of each case, so many times; launch N is of cases[(N - 1) // rounds]."""
    notes = folder / "notes"
    notes.mkdir(parents=True)
    every = [case for case in cases for _ in range(rounds)]
    for number, case in enumerate(every, start=1):
        (notes / f"{number}.json").write_text(json.dumps(case.script))
    asked = from_mapping(
        {
            "name": "truth",
            "workload": {"script": str(TRAINED), "arguments": [str(notes)]},
            "factor": {"levels": [2]},
            "launches": {"per_configuration": 1, "seed": seed},
            "faults": [case.fault for case in every],
            "limits": {"launch_timeout_s": timeout_s, "grace_s": 2.0},
        }
    )
    return from_record(open_record(run(asked, folder=folder, root=folder / "records")))


# ---- what was noted ----------------------------------------------------------------------------------------------------


class Notes:
    """What the script of a launch noted, monotonic ns."""

    def __init__(self, file: Path) -> None:
        rows = (line.split() for line in file.read_text().splitlines())
        self.rows = [(what, int(rank), int(incarnation), int(ns)) for what, rank, incarnation, ns in rows]

    def at(self, incarnation: int, *what: str, rank: int | None = None, but: int | None = None) -> list[int]:
        """When it noted any of these, ascending."""
        return sorted(
            ns for word, who, number, ns in self.rows if word in what and number == incarnation and rank in (None, who) and who != but
        )

    @property
    def last(self) -> int:
        """The last incarnation that said anything."""
        return max(incarnation for _, _, incarnation, _ in self.rows)


def truth(notes: Notes, begin_ns: int, strikes: dict[int, tuple[int, int]], failed: bool, rank: int) -> dict[str, float]:
    """Seconds of each part of a rank. `strikes`: incarnation -> (ns, victim) of faults that ended it."""
    told = dict.fromkeys(PARTS, 0.0)
    done: dict[int, float] = {}
    for incarnation in range(notes.last + 1):
        struck, victim = strikes.get(incarnation, (0, None))
        ends = [struck] if struck else notes.at(incarnation, "fails")[:1]
        over = incarnation < notes.last or failed
        trained = notes.at(incarnation, "first", rank=rank)
        begun = trained[0] if trained else ends[0]
        own = notes.at(incarnation, "begin", rank=rank)
        told["init" if incarnation == 0 else "reload"] += (begun - (begin_ns if incarnation == 0 else own[0])) / 1e9
        steps = notes.at(incarnation, "step", rank=rank)
        for number, (before, after) in enumerate(zip([begun, *steps], steps, strict=False), start=_first(notes, incarnation)):
            told["recompute"] += done.get(number, 0.0)  # what was done before was for nothing
            done[number] = (after - before) / 1e9
        if not over:
            break
        last = steps[-1] if steps else begun
        fault = max(ends[0], last)
        peers = notes.at(incarnation, "asked", "fails", but=victim)
        noticed = max(peers[0] if struck else peers[-1], fault) if peers else fault
        told["recompute"] += (fault - last) / 1e9
        told["detect"] += (noticed - fault) / 1e9
        again = notes.at(incarnation + 1, "begin", rank=rank)
        told["restart"] += (again[0] - noticed) / 1e9 if again else 0.0
    return told


def _first(notes: Notes, incarnation: int) -> int:
    """The number of the first step of an incarnation, after the last checkpoint that was there."""
    return next((int(ns) for what, _, number, ns in notes.rows if what == "from" and number == incarnation), 0)


# ---- against what is told ----------------------------------------------------------------------------------------------


def judged(found: RecordData, notes: Path, cases: tuple[Case, ...], rounds: int) -> Iterator[dict[str, Any]]:
    """Of every rank of every struck launch: what was noted, what is told, and how far off the sum is."""
    parts = partition(found, found.table("launches"))
    events = found.table("events")
    for launch in found.table("launches").filter(role="fault").sort("launch").to_dicts():
        case, number = cases[(launch["launch"] - 1) // rounds], launch["launch"]
        own = events.filter(launch=number)
        ended = case.restarts > 0 or case.status == "failed"
        strikes = {row["incarnation"]: (row["ns"], row["rank"]) for row in own.filter(kind="fault").to_dicts() if ended}
        for rank in (0, 1):
            row = parts.filter(launch=number, rank=rank).row(0, named=True)
            yield {
                "case": case,
                "launch": number,
                "rank": rank,
                "restarts": launch["restarts"],
                "status": launch["status"],
                "noted": truth(Notes(notes / f"{number}.truth"), launch["begin_ns"], strikes, case.status == "failed", rank),
                "told": {name: row[name] / 1e9 for name in CATEGORIES},
                "added": row[HELD_UP] / 1e9,
                "since_s": (launch["end_ns"] - own.filter(kind="fault")["ns"].min()) / 1e9 if "fault" in own["kind"] else 0.0,
                "sum": abs(sum(row[name] for name in CATEGORIES) - row["wall_ns"]) / row["wall_ns"],
                "wall": row["wall_ns"] / 1e9,
            }


def worst_of(one: dict[str, Any]) -> tuple[str, float]:
    """The part that is farthest off, and by how much."""
    case: Case = one["case"]
    offs = {name: abs(one["told"][name] - one["noted"][name]) / max(1, case.restarts) for name in PARTS}  # of each recovery
    if case.added_s:
        offs["added"] = abs(one["added"] - case.added_s)
    if case.status == "timeout":  # stopped for good, until the launch was ended
        stuck = "idle" if one["rank"] == case.fault["rank"] else "straggler_wait"
        offs[stuck] = abs(one["told"][stuck] - one["since_s"])
    return max(offs.items(), key=lambda item: item[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="launches of each case")
    parser.add_argument("--seed", type=int, default=20260101, help="of the random steps and ranks; the record keeps it")
    asked = parser.parse_args()
    cases = CASES
    try:
        slow.check_training(Fault(kind="slow"))
        cases = (*CASES, SLOW)
    except EnvironmentLacks as error:
        print(f"slowed: not measured: {error}")
    told: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        for place, (some, timeout_s) in enumerate(((cases, 300.0), ((HANGS,), 60.0))):
            folder = Path(name) / str(place)
            folder.mkdir()
            found = measured(folder, some, asked.rounds, timeout_s, asked.seed)
            told += judged(found, folder / "notes", some, asked.rounds)
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}, "
        f"{asked.rounds} launches of each case\n"
    )
    print(f"{'case':<28}rank restarts  {''.join(f'{part:>16}' for part in PARTS)}   farthest off")
    good = True
    for one in told:
        case: Case = one["case"]
        part, off = worst_of(one)
        right = (one["restarts"], one["status"]) == (case.restarts, case.status)
        good &= right and off <= MAX_OFF_S and one["sum"] <= MAX_OFF_SHARE
        pairs = "".join(f"{one['told'][x]:>8.2f} ({one['noted'][x]:5.2f})" for x in PARTS)
        print(f"{case.name:<28}{one['rank']:>4}{one['restarts']:>9}  {pairs}   {part} {off:.3f} s{'' if right else '  NOT AS IT WAS'}")
    print("\nseconds told (noted); where else the time of each launch went")
    for one in told:
        rest = ", ".join(f"{x} {s:.2f}" for x, s in one["told"].items() if x not in PARTS and s > 0.005)
        print(f"  {one['case'].name}, rank {one['rank']}: {rest}")
    offs = [worst_of(one)[1] for one in told]
    print(
        f"\nparts at most {max(offs):.3f} s off (promise {MAX_OFF_S} s); sums at most {max(one['sum'] for one in told):.2%} off "
        f"(promise {MAX_OFF_SHARE:.1%}); unknown at most {max(one['told']['unknown'] / one['wall'] for one in told):.1%} of a rank's time"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
