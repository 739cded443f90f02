"""One launch is watched, ended when it must be, and written down, whatever happens. No process is started here."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fireassay.clock import FakeClock
from fireassay.errors import RecordError
from fireassay.faults.support.base import Fault, Undo, Victim
from fireassay.instruments.recorder.step_limit import mark
from fireassay.launchers.support import supervisor
from fireassay.launchers.support.base import Ending
from fireassay.record.folder import write_launch
from fireassay.record.reader import open_record
from fireassay.runners.experiment.context import Job, RunContext, StopRequest
from fireassay.runners.experiment.progress import LaunchProgress, RunProgress
from fireassay.runners.launching import launch as launch_module
from fireassay.runners.launching.launch import LaunchRun, mark_of, request_for
from fireassay.spec.plan import PlannedFault, PlannedLaunch, plan
from fireassay.spec.sections.faults import Fault as FaultSpec
from tests.runners.making import FakeHandle, SilentMeter, context, experiment, fake_launcher, kill_fault, planned, worker

OK = Ending(exit_code=0, end_ns=123)


def launch(
    made: RunContext, script: Callable[[FakeHandle], Ending | None], one: PlannedLaunch | None = None
) -> tuple[LaunchRun, FakeHandle]:
    """A launch whose engine does what the script says."""
    handle = FakeHandle(script)
    job = Job(planned=one or planned(), number=0, attempt=0)
    return LaunchRun(made, job, request_for(made, job, {}), fake_launcher(handle)), handle


def go(run: LaunchRun) -> Any:
    """The row, written as the course writes it."""
    made = run.run(SilentMeter())  # type: ignore[arg-type]
    try:
        write_launch(run.writer, made.row, run.context.record.path)
    finally:
        if made.broken is not None:
            raise made.broken
    return made.row


def events(made: RunContext, kind: str) -> list[dict[str, Any]]:
    return [row for row in open_record(made.record.path).table("events").to_dicts() if row["kind"] == kind]


def test_a_launch_that_ends_well_has_an_ok_row_with_what_was_planned(tmp_path: Path) -> None:
    made = context(tmp_path, experiment(), FakeClock(ns=7))
    run, handle = launch(made, lambda h: OK if h.polls > 3 else None, planned(slot=2, workers=2, block=1))
    go(run)
    assert handle.closes == 1
    [row] = open_record(made.record.path).table("launches").to_dicts()
    told = ("slot", "attempt", "configuration", "workers", "block", "role", "seed", "status", "reason", "exit_code", "end_ns")
    assert [row[name] for name in told] == [2, 0, "workers=2", 2, 1, "timed", 7, "ok", "", 0, 123]
    assert row["begin_utc"] == "2026-01-01T00:00:00.000+00:00"
    assert json.loads(row["placement"]) == {"launcher": "fake"}


def test_the_script_gets_its_own_values_for_workers_seed_and_launch_and_nothing_else_is_replaced(tmp_path: Path) -> None:
    arguments = ["--seed={seed}", "{workers}x{workers}", "{launch}", "{other} {}"]
    made = context(tmp_path, experiment(workload={"arguments": arguments, "environment": {"MINE": "1"}}), FakeClock())
    asked = request_for(made, Job(planned=planned(), number=12, attempt=0), {"PATH": "/bin", "RANK": "3"})
    assert asked.arguments == ("--seed=7", "2x2", "12", "{other} {}")
    assert asked.script == tmp_path / "train.py"
    assert asked.environment["FIREASSAY_SEED"] == "7"
    assert asked.environment["FIREASSAY_LAUNCH"] == "12"
    assert Path(asked.environment["FIREASSAY_LAUNCH_DIR"]).is_dir()
    assert asked.environment["MINE"] == "1"
    assert "RANK" not in asked.environment


@pytest.mark.slow
def test_the_same_placeholders_are_replaced_in_the_values_of_the_environment(tmp_path: Path) -> None:
    asked = {"RUN_DIR": "runs/{launch}/of-{workers}", "SEED": "{seed}", "{launch}": "as it is", "OTHER": "{other} {}"}
    made = context(tmp_path, experiment(workload={"environment": asked}), FakeClock())
    found = request_for(made, Job(planned=planned(), number=12, attempt=0), {"OUTER": "{launch}"}).environment
    assert [found[name] for name in asked] == ["runs/12/of-2", "7", "as it is", "{other} {}"]
    assert found["OUTER"] == "{launch}"  # of whoever started assay: not the experiment's


STEPS = {"workload": {"steps": 30, "warm_up_steps": 10}}


@pytest.mark.slow
def test_workers_are_told_after_how_many_steps_they_end_warm_up_included(tmp_path: Path) -> None:
    made = context(tmp_path, experiment(**STEPS, profile={"wait": 60}), FakeClock())
    told = [
        request_for(made, Job(planned=planned(role=role), number=place, attempt=0), {}).environment.get("FIREASSAY_STEPS")
        for place, role in enumerate(("timed", "fault", "profile", "sweep"))
    ]
    assert told == ["40", "40", "65", None]
    whole = context(tmp_path, experiment(), FakeClock())
    assert "FIREASSAY_STEPS" not in request_for(whole, Job(planned=planned(), number=0, attempt=0), {}).environment


@pytest.mark.parametrize("exit_code", [0, 1])
def test_a_launch_whose_ranks_all_made_their_steps_is_complete_however_they_ended(tmp_path: Path, exit_code: int) -> None:
    made = context(tmp_path, experiment(**STEPS), FakeClock())
    run, _ = launch(made, lambda _: Ending(exit_code=exit_code, end_ns=9))
    for rank in (0, 1):
        worker(made.record.launch_folder(0), rank, pid=os.getpid()).step(40, 1)
        mark(made.record.launch_folder(0), 0, rank)
    row = go(run)
    assert (row["status"], row["reason"], row["exit_code"]) == ("ok", "", exit_code)


def test_ranks_that_did_not_all_make_their_steps_make_no_complete_launch_of_a_failure(tmp_path: Path) -> None:
    made = context(tmp_path, experiment(**STEPS), FakeClock())
    run, _ = launch(made, lambda _: Ending(exit_code=1, end_ns=9))
    mark(made.record.launch_folder(0), 0, 0)
    assert go(run)["status"] == "failed"


def test_a_script_that_ends_before_its_steps_are_made_is_complete_and_the_row_says_so(tmp_path: Path) -> None:
    made = context(tmp_path, experiment(**STEPS), FakeClock())
    run, _ = launch(made, lambda _: OK)
    for rank in (0, 1):
        worker(made.record.launch_folder(0), rank, pid=os.getpid()).step(12, 1)
    row = go(run)
    assert row["status"] == "ok"
    assert row["reason"] == "the script ended by itself after 12 of 40 requested steps"


def test_where_no_step_was_seen_nothing_is_said_about_their_number(tmp_path: Path) -> None:
    made = context(tmp_path, experiment(**STEPS), FakeClock())
    run, _ = launch(made, lambda _: OK)
    assert go(run)["reason"] == ""


def test_only_fault_launches_may_be_restarted(tmp_path: Path) -> None:
    made = context(tmp_path, experiment(launcher={"max_restarts": 4}), FakeClock())
    timed, fault = planned(), planned(role="fault", fault=kill_fault())
    assert request_for(made, Job(planned=timed, number=0, attempt=0), {}).max_restarts == 0
    assert request_for(made, Job(planned=fault, number=1, attempt=0), {}).max_restarts == 4


def test_only_launches_that_calibrate_communication_are_told_to(tmp_path: Path) -> None:
    made = context(tmp_path, experiment(), FakeClock())
    told = {
        role: request_for(made, Job(planned=planned(role=role), number=place, attempt=0), {}).environment
        for place, role in enumerate(("timed", "communication"))
    }
    assert "FIREASSAY_CALIBRATE_COMMUNICATION" not in told["timed"]
    assert told["communication"]["FIREASSAY_CALIBRATE_COMMUNICATION"] == "1"
    assert told["communication"]["FIREASSAY_FLUSH_S"] == told["timed"]["FIREASSAY_FLUSH_S"]


def test_a_launch_that_takes_too_long_is_ended_and_says_what_it_did_last(tmp_path: Path) -> None:
    clock = FakeClock()
    made = context(tmp_path, experiment(limits={"launch_timeout_s": 2.0}), clock)
    run, handle = launch(made, lambda h: Ending(exit_code=None, signal=15) if h.stops else None)
    run.request.log.write_text("loading data\n")
    row = go(run)
    assert handle.stops == 1
    assert 2.0 < clock.ns / 1e9 < 2.2
    assert row["status"] == "timeout"
    assert row["reason"].startswith("still running after limits.launch_timeout_s = 2 s, before its first step, and was ended")
    assert "its last output was: loading data." in row["reason"]


@pytest.mark.parametrize(("launcher", "said"), [("local", True), ("plain", False)])
def test_a_script_that_made_no_step_under_torchrun_may_wait_for_ranks_of_its_own(tmp_path: Path, launcher: str, said: bool) -> None:
    """torch's own `multigpu.py`: torchrun tells every process that the store is its agent's, and the spawned ranks wait for it."""
    made = context(tmp_path, experiment(limits={"launch_timeout_s": 2.0}), FakeClock())
    run, _ = launch(made, lambda h: Ending(exit_code=None, signal=15) if h.stops else None)
    run.launcher = dataclasses.replace(run.launcher, name=launcher)
    assert ("try --launcher plain" in go(run)["reason"]) == said


def test_a_stop_ends_the_launch_in_its_own_way_and_a_second_one_at_once(tmp_path: Path) -> None:
    stop = StopRequest()
    made = context(tmp_path, experiment(), FakeClock(), stop=stop)

    def script(handle: FakeHandle) -> Ending | None:
        if handle.polls in (3, 6):
            stop.note(2)
        return Ending(exit_code=None, signal=9) if handle.polls > 9 else None

    run, handle = launch(made, script)
    row = go(run)
    assert (handle.stops, handle.kills, handle.closes) == (1, 1, 1)
    assert (row["status"], row["reason"], row["exit_code"]) == ("aborted", "stopped by Ctrl-C", None)


def test_a_guard_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    clock = FakeClock()
    made = context(tmp_path, experiment(limits={"launch_timeout_s": 1.0, "grace_s": 2.0}), clock)
    lost = Ending(exit_code=None, trouble="the guard was killed")
    run, _handle = launch(made, lambda h: lost if h.closes else None)
    assert go(run)["status"] == "timeout"
    assert clock.ns / 1e9 == pytest.approx(1 + 2 + 2 * supervisor.GIVE_UP_S, abs=0.2)


def test_a_failed_launch_keeps_its_reason(tmp_path: Path) -> None:
    made = context(tmp_path, experiment(), FakeClock())
    run, _ = launch(made, lambda h: Ending(exit_code=3))
    run.request.log.write_text("bye\n")
    row = go(run)
    assert (row["status"], row["exit_code"]) == ("failed", 3)
    assert row["reason"] == "the script exited with code 3; its last output was: bye (all of its output: logs/launch=0000.log)"


def test_restarts_are_counted_by_incarnations(tmp_path: Path) -> None:
    made = context(tmp_path, experiment(), FakeClock())
    worker(made.record.launch_folder(0), 1, pid=os.getpid(), incarnation=2)
    run, _ = launch(made, lambda h: OK if h.polls > 1 else None)
    assert go(run)["restarts"] == 2


def test_whatever_is_raised_while_it_runs_the_launch_is_ended(tmp_path: Path) -> None:
    made = context(tmp_path, experiment(), FakeClock())

    def script(handle: FakeHandle) -> Ending | None:
        raise KeyboardInterrupt

    run, handle = launch(made, script)
    with pytest.raises(KeyboardInterrupt):
        go(run)
    assert handle.closes == 1


def test_progress_is_told_with_steps_ranks_and_rate(tmp_path: Path) -> None:
    told: list[RunProgress] = []
    made = context(tmp_path, experiment(), FakeClock(), on_progress=told.append)
    ranks = [worker(made.record.launch_folder(0), rank, pid=os.getpid()) for rank in range(2)]

    def script(handle: FakeHandle) -> Ending | None:
        for rank in ranks:
            rank.step(handle.polls, 0)
        return OK if handle.polls > 40 else None  # two seconds at one look every 50 ms

    run, _ = launch(made, script)
    go(run)
    last = told[-1].running
    assert isinstance(last, LaunchProgress)
    assert last.ranks == 2
    assert last.steps > 30
    assert last.steps_per_s == pytest.approx(20.0, rel=0.05)


# ---- the record cannot be written


def test_a_worker_that_cannot_write_its_record_ends_the_launch_and_the_experiment(tmp_path: Path) -> None:
    made = context(tmp_path, experiment(), FakeClock())
    worker(made.record.launch_folder(0), 1, pid=os.getpid()).error(errno.ENOSPC)
    run, handle = launch(made, lambda h: Ending(exit_code=None, signal=15) if h.stops else None)
    with pytest.raises(RecordError, match="rank 1 could not write its record: .* the disk is full"):
        go(run)
    assert handle.closes == 1
    [row] = open_record(made.record.path).table("launches").to_dicts()
    assert row["status"] == "aborted"  # it is made again when there is space


def test_a_full_disk_under_the_coordinator_ends_the_launch_and_the_experiment(tmp_path: Path) -> None:
    made = context(tmp_path, experiment(), FakeClock())

    def script(handle: FakeHandle) -> Ending | None:
        run.writer.error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return Ending(exit_code=None, signal=15) if handle.stops else None

    run, handle = launch(made, script)
    with pytest.raises(RecordError, match="disk is full"):
        go(run)
    assert (handle.stops, handle.closes) == (1, 1)


# ---- faults


class Striker:
    """Notes who is hit, and what was on the disk at that moment."""

    def __init__(self, made: RunContext, raises: OSError | None = None) -> None:
        self.made, self.raises = made, raises
        self.hits: list[tuple[int, list[dict[str, Any]]]] = []

    def strike(self, victim: Victim, _: PlannedFault) -> None:
        self.hits.append((victim.pid, events(self.made, "fault")))
        if self.raises is not None:
            raise self.raises


def fault_launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raises: OSError | None = None) -> tuple[RunContext, LaunchRun, Striker]:
    """A job that saves a checkpoint after 10 steps and goes on; the fault is planned 5 steps later on rank 1."""
    made = context(tmp_path, experiment(), FakeClock())
    striker = Striker(made, raises)
    monkeypatch.setattr(launch_module.supervisor, "is_marked", lambda pid, mark: mark == mark_of(made.record.path, 0))
    ranks = [worker(made.record.launch_folder(0), rank, pid=os.getpid()) for rank in range(2)]

    def script(handle: FakeHandle) -> Ending | None:
        for rank in ranks:
            rank.step(handle.polls, 0)
        if handle.polls % 10 == 0:
            ranks[0].checkpoint(handle.polls)
        return OK if handle.polls > 40 else None

    run, _ = launch(made, script, planned(role="fault", fault=kill_fault(rank=1, delay_steps=5)))
    run.fault = Fault(name="kill", further=("signal",), strike=striker.strike)
    return made, run, striker


@pytest.mark.slow
def test_the_fault_strikes_once_after_its_event_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, run, striker = fault_launch(tmp_path, monkeypatch)
    row = go(run)
    [(pid, on_disk)] = striker.hits
    assert pid == os.getpid()
    [event] = on_disk
    assert (event["rank"], event["incarnation"], event["step"]) == (1, 0, 15)  # five steps after the checkpoint at ten
    assert json.loads(event["detail"]) == {"signal": "KILL", "pid": os.getpid(), "fault": "kill"}
    assert (row["status"], row["reason"]) == ("ok", "")
    assert events(made, "fault_missed") == []


def test_a_fault_that_found_nobody_is_told_in_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, run, _striker = fault_launch(tmp_path, monkeypatch, raises=ProcessLookupError("no such process"))
    go(run)
    assert "no such process" in events(made, "fault_missed")[0]["detail"]


def test_a_job_that_ends_before_its_fault_says_so(tmp_path: Path) -> None:
    made = context(tmp_path, experiment(), FakeClock())
    run, _ = launch(made, lambda h: OK if h.polls > 3 else None, planned(role="fault", fault=kill_fault()))
    row = go(run)
    assert row["status"] == "ok"
    assert row["reason"].startswith("the fault never struck: the job ended after 0 steps and 0 checkpoints")
    assert len(events(made, "fault_missed")) == 1


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"at_step": 100}, "the fault was planned after step 100. Train longer, or lower faults.at_step."),
        ({"during": "checkpoint"}, "the fault was planned while checkpoint 2 is saved. Only checkpoints saved by"),
    ],
)
def test_what_a_fault_waited_for_is_said_as_it_was_asked(tmp_path: Path, asked: dict[str, Any], words: str) -> None:
    made = context(tmp_path, experiment(faults=[asked]), FakeClock())
    [drawn] = [one.fault for one in plan(made.experiment) if one.fault is not None]
    run, _ = launch(made, lambda h: OK if h.polls > 3 else None, planned(role="fault", fault=drawn))
    assert words in go(run)["reason"]


@pytest.mark.parametrize("times", [2, 3])
def test_a_fault_strikes_each_incarnation_once_and_says_if_it_came_too_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """The workers start again after every strike, twice; they reach step 5 each time."""
    made = context(tmp_path, experiment(), FakeClock())
    striker = Striker(made, None)
    monkeypatch.setattr(launch_module.supervisor, "is_marked", lambda pid, mark: True)
    folder, ranks = made.record.launch_folder(0), {}

    def script(handle: FakeHandle) -> Ending | None:
        incarnation = len(striker.hits)
        if incarnation not in ranks and incarnation < 3:
            ranks[incarnation] = (handle.polls, worker(folder, 1, pid=os.getpid(), incarnation=incarnation))
        since, own = ranks[min(incarnation, 2)]
        own.step(handle.polls - since, 0)
        return OK if handle.polls > 60 or incarnation == times or (incarnation == 2 and handle.polls - since > 4) else None

    drawn = dataclasses.replace(kill_fault(rank=1, after_checkpoints=0, delay_steps=5), times=times)
    run, _ = launch(made, script, planned(role="fault", fault=drawn))
    run.fault = Fault(name="kill", further=("signal",), strike=striker.strike)
    row = go(run)
    assert [one["incarnation"] for one in events(made, "fault")] == [0, 1]
    assert row["reason"] == ("" if times == 2 else "the fault struck 2 of 3 times: the job ended before the next one was due")


@pytest.mark.parametrize(
    ("asked", "saved", "struck"),
    [({}, 0, [10]), ({"after_checkpoints": 1}, 0, []), ({"during": "checkpoint"}, 0, []), ({}, 1, []), ({"at_step": 4}, 0, [4])],
)
def test_by_default_a_fault_strikes_in_the_middle_where_no_launch_before_saved_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any], saved: int, struck: list[int]
) -> None:
    """The launch before made 20 steps, and `saved` checkpoints; this one saves none."""
    made = context(tmp_path, experiment(faults=[{"rank": 1, **asked}]), FakeClock())
    before, _ = launch(made, lambda _: OK)
    own = worker(made.record.launch_folder(0), 1, pid=os.getpid())
    own.step(20, 0)
    for _ in range(saved):
        own.checkpoint(10)
    go(before)
    [drawn] = [one.fault for one in plan(made.experiment) if one.fault is not None]
    progress = worker(made.record.launch_folder(1), 1, pid=os.getpid())

    def script(handle: FakeHandle) -> Ending | None:
        progress.step(handle.polls, 0)
        return OK if handle.polls == 20 else None

    job = Job(planned=planned(role="fault", fault=drawn), number=1, attempt=0)
    run = LaunchRun(made, job, request_for(made, job, {}), fake_launcher(FakeHandle(script)))
    monkeypatch.setattr(launch_module.supervisor, "is_marked", lambda pid, mark: True)
    run.fault = Fault(name="kill", further=("signal",), strike=lambda victim, fault: None)
    row = go(run)
    found = events(made, "fault")
    assert [one["step"] for one in found] == struck
    assert bool(row["reason"]) == (not struck)
    moved = [json.loads(one["detail"]).get("instead_of") for one in found]
    assert moved == ([drawn.when] if not asked and struck else [None] * len(struck))


def test_a_process_that_is_not_of_this_launch_is_never_hit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, run, striker = fault_launch(tmp_path, monkeypatch)
    monkeypatch.setattr(launch_module.supervisor, "is_marked", lambda pid, mark: False)
    go(run)
    assert striker.hits == []
    assert events(made, "fault") == []


@pytest.mark.slow
def test_a_fault_that_cannot_act_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _made, run, striker = fault_launch(tmp_path, monkeypatch, raises=PermissionError("it may not"))
    row = go(run)
    assert len(striker.hits) == 1
    assert row["reason"] == "the fault could not act: it may not"


@pytest.mark.parametrize(("for_s", "at_end"), [(0.05, False), (3600.0, True)])
def test_a_fault_that_lasts_is_undone_in_time_or_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, for_s: float, at_end: bool
) -> None:
    made, run, _ = fault_launch(tmp_path, monkeypatch)
    undone: list[str] = []

    def strike(_: Victim, __: PlannedFault) -> Undo:
        return lambda: undone.append("undone")

    run.fault = Fault(name="stop", strike=strike)
    assert run.planned.fault is not None
    lasting = dataclasses.replace(run.planned.fault, training=FaultSpec(kind="stop", for_s=for_s))
    run.planned = dataclasses.replace(run.planned, fault=lasting)
    go(run)
    assert undone == ["undone"]
    [begin], [end] = events(made, "fault"), events(made, "fault_end")
    assert json.loads(end["detail"])["at_end"] is at_end
    assert end["rank"] == 1
    if not at_end:
        assert for_s <= (end["ns"] - begin["ns"]) / 1e9 <= for_s + 0.02  # of the fake clock


@pytest.mark.parametrize(("workers", "steps", "noted"), [(2, 0, True), (1, 0, False), (2, 3, False)])
def test_workers_that_print_the_same_without_a_step_are_noted(tmp_path: Path, workers: int, steps: int, noted: bool) -> None:
    made = context(tmp_path, experiment(), FakeClock())
    (tmp_path / "train.py").write_text("print('sum 17')\n", encoding="utf-8")
    run, _ = launch(made, lambda _: OK, planned(workers=workers))
    run.request.log.write_text("sum 17\nsum 17\n", encoding="utf-8")
    for rank in range(workers if steps else 0):
        worker(made.record.launch_folder(0), rank, pid=os.getpid()).step(steps, 1)
    assert go(run)["status"] == "ok"
    kinds = open_record(made.record.path).table("events")["kind"].to_list()
    assert ("same_output" in kinds) is noted
