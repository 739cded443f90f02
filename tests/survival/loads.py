"""What is left of a load when something is killed under it?  Kills, then holds the record against the server's own truth.

Used by the tests (few moments) and by benchmarks/serving_survival.py (fifty of a kind).
"""

from __future__ import annotations

import json
import random
import signal
import socket
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from fireassay.instruments.reference_server.server import Served, serving
from fireassay.instruments.reference_server.settings import Settings
from fireassay.launchers.support import supervisor
from fireassay.record.reader import Record, open_record
from fireassay.record.seal import verify
from fireassay.spec.load import from_mapping
from fireassay.spec.plan import plan
from tests.survival import harness
from tests.survival.harness import DEADLINE_S, Seen, wait_for

VICTIMS = ("client", "coordinator", "server", "ctrl-c", "guard", "everything")
KINDS = ("closed", "open", "sessions", "open sessions")
FIRST_S, NEXT_S = 0.01, 0.001
LASTS_S = 1.5
SETTLES_NS = 250_000_000  # a loop that is this late is a busy machine, not a silent loss
LOST_AT_MOST_NS = 1_250_000_000  # two flushes of half and a quarter of a second, one request, and a busy machine
WORDS = {"client": b"fireassay.traffic.client.process", "server": b"fireassay.instruments.reference_server", "guard": b"supervisor.py"}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is run."""

    folder: Path
    victim: str
    kind: str = "closed"
    clients: int = 1
    launches: int = 2
    url: str = ""  # of a server that is not assay's; "": assay starts one

    @property
    def target(self) -> dict[str, Any]:
        if self.url:
            return {"urls": [self.url]}
        words = Settings(first_s=FIRST_S, next_s=NEXT_S).arguments()
        return {"command": [sys.executable, "-m", "fireassay.instruments.reference_server", "--port", "{port}", *words]}

    @property
    def experiment(self) -> dict[str, Any]:
        load: dict[str, Any] = {"rate": [60.0]} if self.kind.startswith("open") else {"concurrency": [6]}
        sessions = {"turns": 3, "think_s": 0.02} if "sessions" in self.kind else {}
        process = "poisson" if self.kind.startswith("open") else "closed"
        return {
            "name": "survival",
            "workload": {"runner": "serving", "work": "tokens"},
            "serving": {
                "model": "reference",
                "scenarios": ["D(10,10)"],
                **load,
                "targets": [{"name": "reference", **self.target}],
                "arrivals": {"process": process, "duration_s": LASTS_S, "warm_up_s": 0.1, "drain_s": 2.0},
                "prompts": sessions,
                "client": {"processes": self.clients},
            },
            "launches": {"per_configuration": self.launches},
            "noise": {"sentinel_s": 0.0},
            "limits": {"grace_s": 2.0, "launch_timeout_s": 120.0},
        }


@dataclass(kw_only=True)
class Loss(Seen):
    """What one kill did to a load."""

    kind: str = ""
    clients: int = 1
    kill_ns: int = 0
    requests: int = 0  # that have a row, over all launches
    lost: int = 0
    ports: list[int] = field(default_factory=list)


def once(folder: Path, victim: str, kind: str, clients: int, numbers: random.Random) -> Loss:
    """Run, kill at a random moment under load, look at everything, resume, look again."""
    with ExitStack() as stack:
        server: Served | None = None
        if victim != "server":
            server = stack.enter_context(serving(Settings(first_s=FIRST_S, next_s=NEXT_S, truth="ends")))
        setting = Setting(folder=folder, victim=victim, kind=kind, clients=clients, url=server.url if server else "")
        return _once(setting, server, numbers)


def _once(setting: Setting, server: Served | None, numbers: random.Random) -> Loss:
    launch, after_s = numbers.randrange(setting.launches), numbers.uniform(0.0, LASTS_S)
    seen = Loss(victim=setting.victim, after_s=launch + after_s, kind=setting.kind, clients=setting.clients)
    process, record = harness.start(setting)
    begun = record / "streams" / f"launch={launch:04d}" / "load" / "begin"
    wait_for(lambda: begun.exists() or process.poll() is not None, "the load")
    time.sleep(after_s)  # the random moment
    seen.kill_ns = time.monotonic_ns()
    seen.hit = _kill(setting.victim, process, record, numbers)
    seen.exit_code = process.wait(DEADLINE_S)
    harness.no_process_left(record, seen)
    _look(record, seen)
    if open_record(record).state in ("running", "interrupted"):
        harness.go_on(record, setting, seen)
    _complete(record, setting, seen)
    _hold_against(open_record(record), setting, server, seen)
    return seen


def _kill(victim: str, process: Any, record: Path, numbers: random.Random) -> bool:
    if victim in ("ctrl-c", "coordinator"):
        return harness.kill(victim, process, record, numbers)
    if victim == "everything":  # as when the machine loses its power: nobody is left who could tell
        pids = supervisor.marked(f"{record.name}.")
        return sum(harness.send(pid, signal.SIGKILL, None) for pid in (process.pid, *pids)) > 0
    while process.poll() is None:
        pids = [pid for pid in supervisor.marked(f"{record.name}.") if _is(pid, victim)]
        if pids:
            return harness.send(numbers.choice(pids), signal.SIGKILL, None)
    return False


def _is(pid: int, victim: str) -> bool:
    with suppress(OSError):
        return WORDS[victim] in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def _look(record: Path, seen: Loss) -> None:
    opened = open_record(record)
    seen.statuses = [row["status"] for row in opened.table("launches").to_dicts()]
    expected = {"ctrl-c": 130, "coordinator": -signal.SIGKILL, "everything": -signal.SIGKILL}.get(seen.victim, 0)
    if seen.hit and seen.exit_code != expected and not opened.sealed:
        seen.problems.append(f"exit code {seen.exit_code} instead of {expected}")
    opened.table("requests")  # it can be read at any time


def _complete(record: Path, setting: Setting, seen: Loss) -> None:
    opened = open_record(record)
    if opened.state != "complete" or not opened.sealed:
        seen.problems.append(f"the record is {opened.state}, sealed: {opened.sealed}")
    seen.problems += verify(record)
    slots = sorted(row["slot"] for row in harness.finished(record).values())
    if slots != [planned.slot for planned in plan(from_mapping(setting.experiment))]:
        seen.problems.append(f"finished slots {slots}")
    for detail in opened.table("events").filter(pl.col("kind") == "server_start")["detail"]:
        seen.ports.append(int(json.loads(detail)["port"]))
    seen.problems += [f"port {port} is still taken" for port in seen.ports if _answers(port)]


def _answers(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


# ---- the ledger --------------------------------------------------------------------------------------------------


def _hold_against(record: Record, setting: Setting, server: Served | None, seen: Loss) -> None:
    """Every request that was due has one row, and as many were sent as the server says."""
    rows, planned = record.table("requests"), record.table("arrivals")
    begun = {row["launch"]: row["ns"] for row in record.table("events").filter(pl.col("kind") == "load_begin").to_dicts()}
    launches = record.table("launches").sort("begin_ns").to_dicts()
    seen.requests, seen.lost = rows.height, rows.filter(pl.col("status") == "lost").height
    came = sorted(entry.came_ns for entry in server.truth()) if server else []
    for place, launch in enumerate(launches):
        number = launch["launch"]
        own, asked = rows.filter(pl.col("launch") == number), planned.filter(pl.col("launch") == number)
        where = f"launch {number} ({launch['status']})"
        if own["request"].n_unique() != own.height:
            seen.problems.append(f"{where}: a request has two rows")
        if own.join(asked, on="request", how="anti").height:
            seen.problems.append(f"{where}: a request has no arrival")
        if number in begun:
            _all_due(own, asked, begun[number], _end_ns(launch, seen), where, seen)
        if server is not None:
            until = launches[place + 1]["begin_ns"] if place + 1 < len(launches) else 1 << 62
            truth = sum(launch["begin_ns"] <= ns < until for ns in came)
            _as_the_server_says(own, truth, where, seen)
        _age(own, launch, seen)


def _end_ns(launch: dict[str, Any], seen: Loss) -> int:
    """Until when everything that was due must have a row."""
    struck = launch["begin_ns"] <= seen.kill_ns <= launch["end_ns"] and launch["status"] != "ok"
    return seen.kill_ns - SETTLES_NS if struck else int(launch["end_ns"])


def _all_due(own: pl.DataFrame, asked: pl.DataFrame, t0_ns: int, end_ns: int, where: str, seen: Loss) -> None:
    due = asked.filter((pl.col("due_ns").is_not_null()) & (pl.col("due_ns") + t0_ns <= end_ns))
    if missing := due.join(own, on="request", how="anti").height:
        seen.problems.append(f"{where}: {missing} of {due.height} requests that were due have no row")


def _as_the_server_says(own: pl.DataFrame, truth: int, where: str, seen: Loss) -> None:
    sent = own.filter(pl.col("sent_ns").is_not_null()).height
    lost = own.filter(pl.col("status") == "lost").height
    if not sent - own.filter(pl.col("status") != "ok").height <= truth <= sent + lost:
        seen.problems.append(f"{where}: the server saw {truth} requests, {sent} were sent by their rows and {lost} lost")


def _age(own: pl.DataFrame, launch: dict[str, Any], seen: Loss) -> None:
    lost = own.filter(pl.col("status") == "lost")
    if lost.height:
        seen.lost_ms = max(seen.lost_ms, (seen.kill_ns - int(lost["scheduled_ns"].min())) / 1e6)  # type: ignore[arg-type]
        if seen.lost_ms * 1e6 > LOST_AT_MOST_NS:
            seen.problems.append(f"{seen.lost_ms:.0f} ms of requests are lost in launch {launch['launch']}")


def drawn(numbers: random.Random) -> tuple[str, int]:
    """A kind of load and a number of client processes."""
    return numbers.choice(KINDS), numbers.choice((1, 2))
