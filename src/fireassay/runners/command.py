"""How is an arbitrary command timed?  A launch is a round: a fresh small process that starts the command several times.

The unit of analysis is the round: its trials (starts) are not independent.  The first round sets their number from its warm-up
and `timing.round_s`; later rounds keep it.  `instruments/calls/command_starts.py` starts the command under the same supervisor as every
launch, so that no process is left running.  Its rows are read while it runs and go into the table `trials`; the cost of starting
an empty command goes into the table `telemetry` (device "spawn").
"""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from fireassay.clock import SystemClock
from fireassay.errors import Problem, did_you_mean, refuse_any
from fireassay.instruments.calls import command_starts
from fireassay.launchers.support import base
from fireassay.launchers.support.base import INTERFACES, Ending, Handle, Launcher, Request
from fireassay.record.declared import TRIALS
from fireassay.record.folder import table_row
from fireassay.record.unsealed import read_launch
from fireassay.record.writer import StreamWriter
from fireassay.runners.experiment import launch_loop, progress
from fireassay.runners.experiment.context import Job, Made, Metered, Outcome, RunContext, Runner
from fireassay.runners.experiment.script import script_path
from fireassay.runners.launching import watch
from fireassay.runners.launching.launch import LaunchRun, request_for
from fireassay.spec.experiment import QUICK_S, Experiment
from fireassay.units import NS_PER_S

LINES = "trials.jsonl"  # in the launch's folder, until it is sealed
MAX_COMPARED = 1000  # files of a folder, for a mistyped name
NOT_COUNTED = ("OMP_NUM_THREADS", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE", *INTERFACES)  # a timed command keeps the user's values


def check(experiment: Experiment, folder: Path) -> None:
    """Check that the command can be started.

    Raises:
        SpecError: the command is missing or not executable, or the experiment has more than one level.
    """
    problems = [*single_level(experiment), *_program(experiment, folder)]
    refuse_any(problems, "the command")


def refuse_program(experiment: Experiment, folder: Path) -> None:
    """Raises SpecError: the program is missing or not executable."""
    refuse_any(_program(experiment, folder), "the program")


def single_level(experiment: Experiment) -> list[Problem]:
    """Problems of an experiment with several configurations or faults, neither of which a timing supports."""
    if experiment.timing.benchmarks:
        found = f"{len(experiment.timing.benchmarks)} benchmarks that another program timed"
        return [Problem("timing.benchmarks", found, "none: they cannot be run from here", "Time the code itself: assay time -- COMMAND.")]
    if experiment.factor.levels == (1,) and not experiment.faults:
        return []
    return [
        Problem(
            "factor.levels, faults",
            f"{list(experiment.factor.levels)}, {len(experiment.faults)} faults",
            f"levels = [1] and no faults with workload.runner = {experiment.workload.runner!r}",
            "A command is timed as given. To time several: assay time -- ONE --- OTHER.",
        )
    ]


def _or_interpreter(program: str) -> str:
    """How a script is started that is no program by itself."""
    interpreter = {".py": "python", ".sh": "sh"}.get(Path(program).suffix)
    return f", or start it as: {interpreter} {program}" if interpreter else ""


def _program(experiment: Experiment, folder: Path) -> list[Problem]:
    program, path = experiment.workload.script, script_path(experiment, folder)
    if path.is_file() and os.access(path, os.X_OK):
        return []
    if path.is_file():
        found, remedy = f"{program!r}, which is not executable", f"chmod u+x {program}{_or_interpreter(program)}"
    elif "/" in program and path.is_dir():
        found, remedy = f"{program!r}, which is a folder", f"Name the program in it: {path}/..."
    elif "/" in program:
        above = program.rpartition("/")[0]  # kept as written: ./ makes it a file of this folder
        near = [f"{above}/{file.name}" for _, file in zip(range(MAX_COMPARED), _files(path.parent), strict=False)]
        found, remedy = f"{program!r}, which does not exist", did_you_mean(program, near) or f"The full path is {path}."
    else:
        found = f"{program!r}, which is not on the PATH"
        remedy = "A file in this folder needs ./ before its name; a shell command line needs --shell."
    return [Problem("the command", found, "an executable program", remedy)]


def _files(folder: Path) -> Iterator[Path]:
    with suppress(OSError):
        yield from folder.iterdir()


class Rounds(Metered):
    """Makes rounds.  Starts no further round after a failed one."""

    def __init__(self, context: RunContext, make_request: MakeRequest) -> None:
        super().__init__(context)
        self.make_request = make_request

    def make(self, job: Job) -> Made:
        """Run one round from its start to the end of its last process."""
        if failed := [row for row in self.context.rows if row["status"] in progress.FAILED]:
            return self.context.skipped(job, f"round {failed[0]['block'] + 1} failed")  # the failed round's row gives the reason
        lines = self.context.record.launch_folder(job.number).resolve() / LINES
        request, command = self.make_request(self.context, job, lines)
        reader = TrialReader(lines, job.number, self.context.record.writer(job.number))

        def start(request: Request) -> Handle:
            return ReadingHandle(base.start(request, command), reader)

        launcher = Launcher(name="round", check=lambda _: None, start=start, describe=_describe)
        result = LaunchRun(self.context, job, request, launcher).run(self.meter)
        if result.row["status"] == "failed" and reader.failed_code:
            return replace(result, row={**result.row, "reason": failure_of(reader.failed_code, request.log)})
        if result.row["status"] == "timeout":
            return replace(result, row={**result.row, "reason": timeout_reason(self.context.experiment, reader, request.log)})
        return result


MakeRequest = Callable[[RunContext, Job, Path], tuple[Request, list[str]]]  # the path: where the round writes its lines


def run_rounds(context: RunContext, rounds: Rounds) -> Outcome:
    """Make the remaining rounds; stop at the first that fails."""
    outcome = launch_loop.run(context, rounds)
    failed = [row for row in context.rows if row["status"] in progress.FAILED]
    if not failed or outcome.state == "interrupted":
        return outcome
    return Outcome(state="failed", reason=f"round {failed[0]['block'] + 1}: {failed[0]['reason']}")


def _describe(_: Request) -> dict[str, object]:
    return {"launcher": "round", "engine": "assay", "host": platform.node(), "nodes": 1, "node_rank": 0}


def trials_of(context: RunContext) -> int | None:
    """The number of counted trials per round; None in the first round, which determines it."""
    trials = context.experiment.timing.trials
    if trials is not None:
        return trials
    rows = _first_trials(context)
    return len(rows) or None


def calls_of(context: RunContext) -> int | None:
    """The number of calls per trial, as in the first launch; None in that launch, which determines it."""
    rows = _first_trials(context)
    return int(rows[0]["calls"]) if rows else None


def _first_trials(context: RunContext) -> list[dict[str, Any]]:
    """The counted trials of the first successful launch; empty before there is one."""
    ended = [row["launch"] for row in context.rows if row["status"] == "ok"]
    table = read_launch(context.record.path, ended[0], TRIALS.name)[0] if ended else None
    return [] if table is None else [row for row in table.to_pylist() if not row["warm_up"]]


def _request(context: RunContext, job: Job, lines: Path) -> tuple[Request, list[str]]:
    request = bare_request(context, job)
    timing, script = context.experiment.timing, script_path(context.experiment, context.folder)
    spec = {
        "path": str(script),
        "argv": [context.experiment.workload.script, *request.arguments],
        "out": str(lines),
        "round_ns": round(max(timing.round_s, QUICK_S if context.experiment.launches.quick else 0.0) * NS_PER_S),
        "trials": trials_of(context),
        "warm_up": timing.warm_up,
        "ignore_failure": timing.ignore_failure,
        "keep_output": timing.keep_output,
    }
    return request, [sys.executable, "-I", "-S", command_starts.__file__, json.dumps(spec)]


def failure_of(code: int, log: Path) -> str:
    """Why a round failed: how the command ended, and its last output."""
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    lines = [line for line in watch.tail(log).splitlines() if line.strip() and not line.startswith("assay: the command")]
    output = f"its last output: {lines[-1].strip()}" if lines else "it printed nothing on stderr"
    return f"the command {how}; {output}. To accept other exit codes than 0: timing.ignore_failure (--ignore-failure)"


def timeout_reason(experiment: Experiment, reader: TrialReader, log: Path) -> str:
    """Why a round was ended: its limit, its progress, and its last output."""
    line = watch.explaining_line(watch.tail(log))
    return (
        f"the round was still running after {experiment.limits.launch_timeout_s:g} s and was ended; "
        f"{reader.ended} trial{'' if reader.ended == 1 else 's'} had ended, {reader.counted} of them counted; "
        f"{f'its last output was: {line}' if line else 'its log is empty'}. "
        "Raise limits.launch_timeout_s (--timeout), or make fewer trials per round (--trials)"
    )


def bare_request(context: RunContext, job: Job) -> Request:
    """A request as for a training script, but with the user's environment: assay sets no threads and no launch folder."""
    request = request_for(context, job, dict(os.environ))
    workload_variables = context.experiment.workload.environment
    variables = {
        name: value
        for name, value in request.environment.items()
        if name in workload_variables or not (name.startswith("FIREASSAY_") or name in NOT_COUNTED)
    }
    kept = {name: os.environ[name] for name in NOT_COUNTED if name in os.environ and name not in workload_variables}
    return replace(request, environment={**variables, **kept})


class TrialReader:
    """Turns the lines of a running round into rows of `trials` and `telemetry`."""

    def __init__(self, lines: Path, launch: int, writer: StreamWriter) -> None:
        self.counted = 0
        self.failed_code: int | None = None  # exit code of the last start if it failed
        self._lines, self._launch, self._writer = lines, launch, writer
        self._offset, self._trial = 0, 0

    @property
    def ended(self) -> int:
        """How many trials have ended, including warm-up."""
        return self._trial

    def read(self) -> None:
        """Process every complete line written since the last call."""
        try:
            with self._lines.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:  # no output yet
            return
        complete_lines = data[: data.rfind(b"\n") + 1]
        self._offset += len(complete_lines)
        for line in complete_lines.splitlines():
            self._take(json.loads(line))

    def _take(self, line: dict[str, Any]) -> None:
        if (row := line.get("trial")) is not None:
            self._trial_row(row)
        elif (floor := line.get("floor")) is not None:
            self._reading("spawn", "start", floor["seconds"], "s")
            self._reading("spawn", "start_rss", floor["rss_bytes"], "B")
        elif (after := line.get("after")) is not None:
            self._reading("process", f"after_return_{after['state']}", after["processor_s"], "s")
            self._reading("process", "returned", after["returned_s"], "s")
        elif (device := line.get("device")) is not None:
            self._reading(device["name"], "synchronise", device["seconds"], "s")
        elif (device := line.get("not_waited_for")) is not None:
            self._reading(device, "not_waited_for", 1.0, "count")

    def _trial_row(self, row: dict[str, Any]) -> None:
        returned, devices = row.pop("returned_s", None), row.pop("device_s", {})
        if not row["warm_up"]:
            self._reading("host", "trial_returned", returned, "s")
            for name, seconds in devices.items():
                self._reading(name, "trial_device", seconds, "s", "event")
        trial = {"launch": self._launch, "trial": self._trial, "calls": 1, **row}
        self._writer.append(TRIALS.name, table_row(TRIALS, **trial))
        self._trial += 1
        self.failed_code = trial.get("exit_code") or None
        self.counted += not row["warm_up"]

    def _reading(self, device: str, counter: str, value: float | None, unit: str, method: str = "self") -> None:
        if value is not None:
            now = SystemClock().now_ns()
            self._writer.append("telemetry", (self._launch, now, platform.node(), device, counter, float(value), unit, method))


class ReadingHandle:
    """A supervised launch whose lines are read at every poll."""

    def __init__(self, handle: base.SupervisedHandle, reader: TrialReader) -> None:
        self._handle, self._reader = handle, reader

    def poll(self) -> Ending | None:
        """How it ended; None while any of its processes is alive. Reads its lines first."""
        ending = self._handle.poll()
        self._reader.read()
        return ending

    def stop(self) -> None:
        """Request a clean end."""
        self._handle.stop()

    def kill(self) -> None:
        """Kill all processes immediately."""
        self._handle.kill()

    def pids(self) -> tuple[int, ...]:
        """The live processes of the launch."""
        return self._handle.pids()

    def close(self) -> None:
        """Ensure that no process is left, and read the last lines."""
        self._handle.close()
        self._reader.read()


def maker(context: RunContext) -> Rounds:
    return Rounds(context, _request)


def run(context: RunContext) -> Outcome:
    """Make the remaining rounds."""
    return run_rounds(context, maker(context))


RUNNER = Runner(name="command", check=check, run=run, maker=maker)
