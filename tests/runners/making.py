"""Experiments, records and engines made for tests of the runners: nothing real is started here."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from fireassay.clock import FakeClock
from fireassay.launchers.support.base import Ending, Handle, Launcher, Request
from fireassay.record import folder as record_folder
from fireassay.record.live.progress import ProgressWriter
from fireassay.record.seal import plan_signature
from fireassay.runners.experiment.context import Job, Made, RunContext, StopRequest
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import from_mapping
from fireassay.spec.plan import PlannedFault, PlannedLaunch, plan


def experiment(**changes: Any) -> Experiment:
    """Two configurations, two launches each, started without torch."""
    content: dict[str, Any] = {
        "name": "made",
        "workload": {"script": "train.py"},
        "factor": {"levels": [1, 2]},
        "launches": {"per_configuration": 2},
        "launcher": {"kind": "plain"},
        "limits": {"grace_s": 0.5, "launch_timeout_s": 120.0},
    }
    for section, values in changes.items():
        content[section] = {**content.get(section, {}), **values} if isinstance(values, Mapping) else values
    return from_mapping(content)


def planned(*, slot: int = 0, workers: int = 2, role: str = "timed", block: int = 0, fault: PlannedFault | None = None) -> PlannedLaunch:
    """A launch of a plan."""
    return PlannedLaunch(
        slot=slot,
        configuration=f"workers={workers}",
        workers=workers,
        block=block,
        order=0,
        role=role,
        seed=7,
        fault=fault,  # type: ignore[arg-type]
    )


def kill_fault(*, rank: int = 0, after_checkpoints: int = 1, delay_steps: int = 5) -> PlannedFault:
    """A planned kill."""
    return PlannedFault(kind="kill", rank=rank, after_checkpoints=after_checkpoints, delay_steps=delay_steps, signal="KILL")


def row(status: str = "ok", *, slot: int = 0, workers: int = 2, role: str = "timed", reason: str = "", **rest: Any) -> dict[str, Any]:
    """A row of `launches` with the columns that decisions look at."""
    return {
        "launch": slot,
        "slot": slot,
        "attempt": 0,
        "configuration": f"workers={workers}",
        "workers": workers,
        "role": role,
        "status": status,
        "reason": reason,
        "begin_ns": 0,
        "end_ns": 10_000_000_000,
        **rest,
    }


def context(root: Path, asked: Experiment, clock: FakeClock, **rest: Any) -> RunContext:
    """A context with a new record below `root`."""
    (root / "train.py").touch()
    record = record_folder.create(root / "records", asked, plan_signature(asked), clock=clock)
    return RunContext(
        experiment=asked, folder=root, record=record, plan=plan(asked), clock=clock, stop=rest.pop("stop", StopRequest()), **rest
    )


class FakeHandle:
    """An engine that does at every poll what the test says."""

    def __init__(self, script: Callable[[FakeHandle], Ending | None]) -> None:
        self.script = script
        self.polls = self.stops = self.kills = self.closes = 0

    def poll(self) -> Ending | None:
        self.polls += 1
        return self.script(self)

    def stop(self) -> None:
        self.stops += 1

    def kill(self) -> None:
        self.kills += 1

    def pids(self) -> tuple[int, ...]:
        return ()

    def close(self) -> None:
        self.closes += 1


def fake_launcher(handle: FakeHandle) -> Launcher:
    """A launcher that gives this handle."""

    def start(_: Request) -> Handle:
        return handle

    return Launcher(name="fake", check=lambda _: None, start=start, describe=lambda _: {"launcher": "fake"})


class InstantMaker:
    """Launches that take a second of fake time and end as `rules` says: (experiment's name, slot) -> a status, "stop" (a
    signal comes while it runs) or an exception. `made` notes (label or name, block, role) in the order of making."""

    made: ClassVar[list[tuple[str, int, str]]] = []
    rules: ClassVar[dict[tuple[str, int], Any]] = {}

    def __init__(self, context: RunContext) -> None:
        self.context = context

    def make(self, job: Job) -> Made:
        name = self.context.experiment.name
        self.made.append((self.context.label or name, job.planned.block, job.planned.role))
        rule = self.rules.get((name, job.planned.slot), "ok")
        if isinstance(rule, BaseException):
            raise rule
        if rule == "stop":
            self.context.stop.note(signal.SIGINT)
            rule = "aborted"
        begin = self.context.clock.now_ns()
        self.context.clock.sleep(1.0)
        end = self.context.clock.now_ns()
        return Made(row=job.row(begin_ns=begin, end_ns=end, status=rule, reason="" if rule == "ok" else f"it was {rule}", exit_code=0))

    def absences(self) -> Mapping[str, str]:
        return {}


class SilentMeter:
    """Measures nothing."""

    def before_launch(self) -> None:
        pass

    def start(self, launch: int, pids: object, *, workers: int | None = None) -> None:
        pass

    def stop(self) -> None:
        pass


def worker(folder: Path, rank: int, *, pid: int, incarnation: int = 0) -> ProgressWriter:
    """The progress file of a worker."""
    return ProgressWriter(folder / "progress" / f"rank={rank}.bin", pid=pid, incarnation=incarnation)
