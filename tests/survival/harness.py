"""What is left when something is killed?  Kills, then checks the record, the losses, the resumption and the processes.

Used by the tests (few moments) and by benchmarks/survival.py (twenty of each).
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from fireassay.launchers.support import supervisor
from fireassay.record.reader import open_record
from fireassay.record.seal import verify
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import from_mapping
from fireassay.spec.plan import plan
from tests.limits import PROCESS_S

HERE = Path(__file__).resolve().parent
DEADLINE_S = PROCESS_S
LOST_AT_MOST_NS = 1_000_000_000  # a flush is due every half a second
TURNS = 4  # of the flushing thread, each of which may be late: woken, given the interpreter twice, and written
VICTIMS = ("coordinator", "worker", "ctrl-c", "guard", "engine")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is run."""

    folder: Path
    steps: int = 60
    step_ms: float = 10.0
    levels: tuple[int, ...] = (2,)
    launches: int = 3

    @property
    def notes(self) -> Path:
        return self.folder / "notes"

    @property
    def experiment(self) -> dict[str, Any]:
        arguments = [str(self.notes), str(self.steps), str(self.step_ms)]
        return {
            "name": "survival",
            "workload": {"script": str(HERE / "workload.py"), "arguments": arguments},
            "factor": {"levels": list(self.levels)},
            "launches": {"per_configuration": self.launches},
            "launcher": {"kind": "plain"},
            "limits": {"grace_s": 1.0, "launch_timeout_s": 120.0},
        }

    def as_experiment(self) -> Experiment:
        return from_mapping(self.experiment)


@dataclass(kw_only=True)
class Seen:
    """What one kill did."""

    victim: str
    after_s: float
    hit: bool = False  # False: it had ended by itself before
    exit_code: int | None = None
    statuses: list[str] = field(default_factory=list)  # before the resumption
    lost_ms: float = 0.0  # the oldest row that is not in the record was so much older than the process's end
    resumed: bool = False
    problems: list[str] = field(default_factory=list)


class Runnable(Protocol):
    """An experiment in a folder."""

    @property
    def folder(self) -> Path: ...
    @property
    def experiment(self) -> dict[str, Any]: ...


def start(setting: Runnable) -> tuple[subprocess.Popen[bytes], Path]:
    """Start a coordinator; its record, as soon as that can be opened."""
    (setting.folder / "notes").mkdir(parents=True, exist_ok=True)
    root = setting.folder / "records"
    words = ["run", str(root), str(setting.folder), json.dumps(setting.experiment)]
    process = _coordinator(words, setting.folder)
    before = set(root.glob("*/manifest.json"))
    manifest = wait_for(lambda: next(iter(set(root.glob("*/manifest.json")) - before), None), "a record")
    return process, manifest.parent


def _coordinator(words: list[str], folder: Path) -> subprocess.Popen[bytes]:
    with (folder / "coordinator.log").open("ab") as log:
        return subprocess.Popen([sys.executable, str(HERE / "coordinator.py"), *words], stdout=log, stderr=log)


def wait_for(look: Any, what: str, deadline_s: float = DEADLINE_S) -> Any:
    """Poll until something is true."""
    until = time.monotonic() + deadline_s
    while not (found := look()):
        if time.monotonic() > until:
            raise AssertionError(f"{what} did not come within {deadline_s} s")
        time.sleep(0.005)
    return found


def unharmed(setting: Setting) -> float:
    """Seconds that a run takes from its record's first appearance to its end."""
    process, _ = start(setting)
    began = time.monotonic()
    assert process.wait(DEADLINE_S) == 0
    return time.monotonic() - began


def processes(record: Path, kind: str) -> list[int]:
    """The living processes of the record that are workers, the engine or the guard."""
    found = []
    for pid in supervisor.marked(f"{record.name}."):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        own = "guard" if b"supervisor.py" in command else "engine" if b"process_group.py" in command else "worker"
        if own == kind and (kind != "worker" or b"workload.py" in command):
            found.append(pid)
    return found


def kill(victim: str, process: subprocess.Popen[bytes], record: Path, numbers: random.Random) -> bool:
    """Kill; False if everything had ended already."""
    if victim == "ctrl-c":
        return send(process.pid, signal.SIGINT, process)
    if victim == "coordinator":
        return send(process.pid, signal.SIGKILL, process)
    while process.poll() is None:
        pids = processes(record, victim)
        if pids:
            return send(numbers.choice(pids), signal.SIGKILL, None)
    return False


def send(pid: int, number: int, process: subprocess.Popen[bytes] | None) -> bool:
    """Send a signal; False if there is nobody."""
    if process is not None and process.poll() is not None:
        return False
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def once(setting: Setting, victim: str, after_s: float, numbers: random.Random) -> Seen:
    """Run, kill after a while, look at everything, resume, look again."""
    seen = Seen(victim=victim, after_s=after_s)
    process, record = start(setting)
    time.sleep(after_s)  # the random moment
    seen.hit = kill(victim, process, record, numbers)
    seen.exit_code = process.wait(DEADLINE_S)
    no_process_left(record, seen)
    _look(record, setting, seen)
    if open_record(record).state in ("running", "interrupted"):
        go_on(record, setting, seen)
    _complete(record, setting, seen)
    return seen


def no_process_left(record: Path, seen: Seen) -> None:
    """Wait for the end of all that was started; what stays is a problem."""
    try:
        wait_for(lambda: not supervisor.marked(f"{record.name}."), "the end of all processes")
    except AssertionError as error:
        seen.problems.append(str(error))


def _look(record: Path, setting: Setting, seen: Seen) -> None:
    opened = open_record(record)
    rows = opened.table("launches").to_dicts()
    seen.statuses = [row["status"] for row in rows]
    expected = {"ctrl-c": 130, "coordinator": -signal.SIGKILL}.get(seen.victim, 0)
    if seen.hit and seen.exit_code != expected and not opened.sealed:
        seen.problems.append(f"exit code {seen.exit_code} instead of {expected}")
    seen.lost_ms = lost_ns(opened.table("steps"), setting.notes) / 1e6
    late_ns = worst_late_ns(setting.notes)
    if seen.lost_ms * 1e6 > LOST_AT_MOST_NS + TURNS * late_ns:
        seen.problems.append(f"{seen.lost_ms:.0f} ms of steps are lost; a thread was woken at most {late_ns / 1e6:.0f} ms late")


def worst_late_ns(notes: Path) -> int:
    """By how much a sleeping thread of the workload was woken too late: what the machine adds to the time between two flushes."""
    return max((int(file.read_text() or 0) for file in notes.with_suffix(".late").glob("*")), default=0)


def lost_ns(steps: pl.DataFrame, notes: Path) -> int:
    """How much older than its process's last sign of life the oldest step is that is missing in the record."""
    kept = {(row["launch"], row["rank"]): set() for row in steps.select("launch", "rank").unique().to_dicts()}
    for launch, rank, step in steps.select("launch", "rank", "step").rows():
        kept[(launch, rank)].add(step)
    worst = 0
    for file in notes.iterdir():
        launch, rank, _ = (int(part) for part in file.name.split("."))
        noted = [tuple(int(word) for word in line.split()) for line in file.read_text().splitlines()]
        missing = [ns for step, ns in noted if step not in kept.get((launch, rank), set())]
        if missing:
            worst = max(worst, max(ns for _, ns in noted) - min(missing))
    return worst


def go_on(record: Path, setting: Runnable, seen: Seen) -> None:
    """Resume; no finished launch may change."""
    before = finished(record)
    code = _coordinator(["resume", str(record)], setting.folder).wait(DEADLINE_S)
    seen.resumed = True
    if code != 0:
        seen.problems.append(f"resume ended with {code}")
    after = finished(record)
    if any(after.get(launch) != row for launch, row in before.items()):
        seen.problems.append("a finished launch was changed by resume")
    no_process_left(record, seen)


def finished(record: Path) -> dict[int, dict[str, Any]]:
    """The rows of launches that will not be repeated, by launch."""
    return {row["launch"]: row for row in open_record(record).table("launches").to_dicts() if row["status"] != "aborted"}


def _complete(record: Path, setting: Setting, seen: Seen) -> None:
    opened = open_record(record)
    if opened.state != "complete" or not opened.sealed:
        seen.problems.append(f"the record is {opened.state}, sealed: {opened.sealed}")
    seen.problems += verify(record)
    slots = sorted(row["slot"] for row in finished(record).values())
    if slots != [planned.slot for planned in plan(setting.as_experiment())]:
        seen.problems.append(f"finished slots {slots}")
