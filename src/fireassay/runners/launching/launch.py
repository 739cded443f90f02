"""How is one launch made, monitored and recorded, from its empty folder to its row?

The coordinator polls the workers' progress files, injects faults, enforces time limits, and records events; the launcher and its
supervisor own the processes.
"""

from __future__ import annotations

import json
from pathlib import Path

from fireassay import catalog
from fireassay.errors import RecordError
from fireassay.faults.support.base import NEVER, Fault, Undo, Victim, aim, victim_now
from fireassay.instruments import found_scores, injected, stuck
from fireassay.instruments.machine.meter import Meter
from fireassay.instruments.recorder import step_limit
from fireassay.launchers.support import supervisor
from fireassay.launchers.support.base import Ending, Handle, Launcher, Request, filled, worker_environment
from fireassay.printable import remark
from fireassay.record import files
from fireassay.record.folder import check_written, write_event
from fireassay.record.secrets.redact import redact, secret_values
from fireassay.runners.experiment.context import Job, Made, RunContext
from fireassay.runners.experiment.launch_loop import middle_step as middle
from fireassay.runners.experiment.progress import LaunchProgress
from fireassay.runners.experiment.script import ON_THE_PATH
from fireassay.runners.launching import copies, fresh_folder, profiling, watch
from fireassay.runners.launching.node_meters import Here, NodeMeters, mark_of
from fireassay.runners.launching.watch import Watch
from fireassay.spec.experiment import QUICK_S, Experiment
from fireassay.spec.plan import PlannedFault, PlannedLaunch
from fireassay.units import MIB, NS_PER_S

POLL_S = 0.05  # infrequent, because the coordinator shares processors with the workers
POLL_FAULT_S = 0.005  # a fault strikes at a step, and its detection is timed
POLL_SAVING_S = 0.0005  # or while a checkpoint is being saved, which may take a few milliseconds
FLUSH_S = 0.25  # a flush takes 0.2 ms; on an overloaded machine its thread may wait for half a second
SEEN = "Only checkpoints saved by torch.save, safetensors, torch.distributed.checkpoint or in probe.checkpoint_save are detected"
FLUSH_FAULT_S = 0.05  # the victim's last rows show the lost work; fault launches are not compared with others
DEADLOCK_S = 20.0  # without a step, before ranks in different collectives count as waiting for each other
TAKEN_S = 3.0  # a cluster's engine may end the workers before it says why
ALLOCATION_END = "allocation_end"  # event: the engine took the nodes of a running launch away


def request_for(context: RunContext, job: Job, environment: dict[str, str], cwd: Path | None = None) -> Request:
    """The request to the launcher. `cwd`: the launch's working folder; default: the experiment's."""
    cwd = cwd or context.folder
    experiment, planned = context.experiment, job.planned
    values = {"{workers}": str(planned.workers), "{seed}": str(planned.seed), "{launch}": str(job.number)}
    folder = context.record.launch_folder(job.number).resolve()
    if "PWD" in environment and Path(environment["PWD"]).resolve() != cwd.resolve():
        environment = {**environment, "PWD": str(cwd)}
    variables = {
        "FIREASSAY_LAUNCH_DIR": str(folder),
        "FIREASSAY_LAUNCH": str(job.number),
        "FIREASSAY_SEED": str(planned.seed),
        "FIREASSAY_FLUSH_S": str(FLUSH_FAULT_S if planned.role == "fault" else FLUSH_S),
    }
    if planned.role == "fault":
        variables["FIREASSAY_RESTARTS"] = "1"
    if planned.role == "communication":
        variables["FIREASSAY_CALIBRATE_COMMUNICATION"] = "1"
    if experiment.flops.convention != "none" and not profiling.at_once(experiment, job):
        variables |= {"FIREASSAY_FLOPS": "1", "FIREASSAY_PEAK": f"{experiment.flops.peak}:{experiment.flops.precision or ''}"}
    if experiment.target is not None:
        variables[found_scores.VARIABLE] = "\n".join(dict.fromkeys(goal.name for goal in experiment.target.goals))
    if (steps := steps_requested(experiment, planned)) is not None:
        variables[step_limit.VARIABLE] = str(steps)
        if experiment.launches.quick and experiment.launcher.nodes == 1 and not experiment.launcher.hosts:
            variables[step_limit.SECONDS] = str(QUICK_S)
    variables |= profiling.environment(experiment, context.record.path, job)
    requested = {name: filled(value, values) for name, value in experiment.workload.environment.items()}
    inner = worker_environment(environment, experiment.launcher, {**requested, **variables})
    if experiment.workload.attach:
        inner = injected.into(inner)
    return Request(
        script=fresh_folder.script_in(experiment, cwd, context.folder),
        module=experiment.workload.module,
        arguments=tuple(filled(argument, values) for argument in experiment.workload.arguments),
        workers=planned.workers,
        environment=inner,
        cwd=cwd,
        log=context.record.log_path(job.number).resolve(),
        log_bytes=int(experiment.limits.log_mib * MIB),
        secrets=secret_values({**environment, **requested}),
        mark=mark_of(context.record.path, job.number),
        max_restarts=experiment.launcher.max_restarts if planned.role == "fault" else 0,
        grace_s=experiment.limits.grace_s,
        settings=experiment.launcher,
        session=f"{context.record.path.resolve().name}.{planned.role}.{planned.block}",
        most_workers=max(experiment.factor.levels),
        prefix=profiling.prefix(experiment, context.record.path, job),
    )


def steps_requested(experiment: Experiment, planned: PlannedLaunch) -> int | None:
    """Steps after which the launch ends; a profiled launch makes only the steps of its profile."""
    steps = experiment.every_step
    if steps is None or planned.role == "sweep":
        return None
    return max(steps, experiment.profile.steps if planned.role == "profile" and experiment.profile is not None else 0)


class LaunchRun:
    """One running launch."""

    def __init__(self, context: RunContext, job: Job, request: Request, launcher: Launcher) -> None:
        self.context, self.job, self.request, self.launcher = context, job, request, launcher
        self.planned = job.planned
        self.writer = context.record.writer(job.number)
        self.reach: Here | NodeMeters = Here(request)
        self.watch = Watch(context.record.launch_folder(job.number), job.planned.workers, lambda worker: self.reach.watch(worker))
        self.fault: Fault | None = None
        if job.planned.fault is not None:
            self.fault = catalog.load("faults", job.planned.fault.kind)
        self.aimed_at: int | None = None
        self.middle: int | None = None  # step of the fault if no checkpoint is saved
        if job.planned.fault is not None and job.planned.fault.may_strike_in_the_middle:
            self.middle = middle(context.record, job.planned.configuration)
        self.strikes = 0
        self.last_struck = NEVER  # incarnation
        self.undo: Undo | None = None  # of a lasting fault
        self.undo_ns = 0
        self.rank_struck: int | None = None
        self.cannot = ""  # why the fault cannot act here
        self.status = ""  # aborted or timeout, if the coordinator ended it
        self.reason = ""
        self.broken: RecordError | None = None  # writing the record failed
        self.killed = False
        self.begin_ns = 0
        self.moved = (0, 0)  # steps, and since when
        self.asked_ns = 0
        self.told = ""  # of a deadlock
        self.shown_ns = 0
        self.hopeless_ns: float = float("inf")  # after this the supervisor itself counts as dead

    def run(self, meter: Meter | NodeMeters) -> Made:
        """Start the launch and monitor it to its end. Raises RecordError: not started, because its record cannot be written."""
        if isinstance(meter, NodeMeters):
            self.reach = meter
        begin_utc = self.context.begin_utc()
        placement = json.dumps(self.launcher.describe(self.request))
        self._event("launch_begin", {"slot": self.planned.slot, "begin_utc": begin_utc, "placement": placement})
        self.writer.flush()
        check_written(self.writer, self.context.record.path)
        meter.before_launch()
        self.begin_ns = self.context.clock.now_ns()
        self.moved = (0, self.begin_ns)
        ending = self._supervised(meter)
        status, reason = self._judged(ending)
        if ending.left_running:
            self._event("left_running", {"processes": ending.left_running})
        row = self.job.row(
            begin_ns=self.begin_ns,
            end_ns=ending.end_ns or self.context.clock.now_ns(),
            begin_utc=begin_utc,
            status=status,
            reason=reason,
            exit_code=ending.exit_code,
            restarts=self.watch.incarnation,
            placement=placement,
        )
        return Made(row=row, broken=self.broken)

    def _supervised(self, meter: Meter | NodeMeters) -> Ending:
        """Run from the start to the last process's end. Leaves no process running, even on errors."""
        handle = self.launcher.start(self.request)
        try:
            meter.start(self.job.number, handle.pids, workers=self.planned.workers)
            return self._until_the_end(handle)
        finally:
            self._undo(at_end=True)
            handle.close()
            if self.fault is not None:
                supervisor.end_marked(f"{self.request.mark}act.")
            meter.stop()
            self._note_vanished()
            self.watch.close()

    def _until_the_end(self, handle: Handle) -> Ending:
        while (ending := handle.poll()) is None:
            if self.context.clock.now_ns() > self.hopeless_ns:
                handle.close()  # the supervisor does not respond: kill it with its launch
                return handle.poll() or Ending(exit_code=None, trouble="its end could not be observed")
            self.watch.poll()
            self._strike_if_due()
            self._undo_if_due()
            self._note_vanished()
            self._end_if_needed(handle)
            self._note_deadlock()
            self._show()
            self.context.clock.sleep(self._pause_s())
        self.watch.poll()
        return ending

    # ---- faults and limits

    def _pause_s(self) -> float:
        planned = self.planned.fault
        if self.fault is None or planned is None:
            return POLL_S
        return POLL_SAVING_S if planned.during_checkpoint and self.strikes < planned.times else POLL_FAULT_S

    def _strike_if_due(self) -> None:
        planned = self.planned.fault
        if self.fault is None or planned is None or self.strikes >= planned.times or self.cannot or self.status:
            return
        if self.aimed_at is None:
            self.aimed_at = aim(self.watch.ranks, planned, self.last_struck)
        aimed_at = self.middle if self.aimed_at is None else self.aimed_at
        rank = victim_now(self.watch.ranks, planned, aimed_at, self.last_struck)
        if rank is not None:
            self._strike(self.fault, planned, rank)

    def _strike(self, fault: Fault, planned: PlannedFault, rank: int) -> None:
        seen, spec = self.watch.ranks[rank], planned.training
        try:
            if not self.reach.has(seen.pid, rank):
                return  # it has ended, and its pid may have been reused
        except OSError as error:
            self.cannot = str(error)
            return
        self._undo()  # an earlier strike on workers that have ended
        parameters = {name: getattr(spec, name) for name in fault.parameters} if spec is not None else {}
        redacted = {name: redact(value) if isinstance(value, str) else value for name, value in parameters.items()}
        signal = {"signal": planned.signal} if "signal" in fault.parameters else {}
        if self.aimed_at is None and self.middle is not None:
            redacted = {**redacted, "instead_of": planned.when}
        now = self.context.clock.now_ns()
        self._event(
            "fault",
            {**signal, **redacted, "pid": seen.pid, "fault": planned.kind},
            rank=rank,
            incarnation=seen.incarnation,
            step=seen.steps,
        )
        self.writer.flush()  # before the act, which may take the whole machine down
        self.rank_struck = rank
        victim = Victim(pid=seen.pid, rank=rank, log=self.request.log.with_suffix(".fault.log"), mark=self.request.mark)
        try:
            self.undo = self.reach.strike(fault, victim, planned)
            self.strikes, self.last_struck, self.aimed_at = self.strikes + 1, seen.incarnation, None
        except OSError as error:
            self._event("fault_missed", {"pid": seen.pid, "why": redact(str(error))}, rank=rank)
            if not isinstance(error, ProcessLookupError):
                self.cannot = redact(str(error))  # retrying every few milliseconds would not help
        if self.undo is not None and spec is not None:
            self.undo_ns = now + round(spec.for_s * NS_PER_S)

    def _undo_if_due(self) -> None:
        if self.undo is not None and self.context.clock.now_ns() >= self.undo_ns:
            self._undo()

    def _undo(self, *, at_end: bool = False) -> None:
        """Undo a lasting fault; the job may end before the fault does."""
        undo, self.undo = self.undo, None
        if undo is None:
            return
        now, trouble = self.context.clock.now_ns(), ""
        try:
            undo()
        except ProcessLookupError:
            pass  # the victim has ended: nothing to undo
        except OSError as error:
            trouble = redact(str(error))
        detail = {"fault": self.planned.fault.kind if self.planned.fault else "", "at_end": at_end, "trouble": trouble}
        write_event(self.writer, self.job.number, "fault_end", now, detail, rank=self.rank_struck)

    def _note_vanished(self) -> None:
        gone = self.watch.vanished()
        if gone:
            self.watch.poll()  # read their progress: their last rows may not have reached the disk
        for worker in gone:
            last = self.watch.ranks.get(worker.rank)
            step = last.steps if last is not None and last.pid == worker.pid else None
            self._event("worker_gone", {"pid": worker.pid}, rank=worker.rank, incarnation=worker.incarnation, step=step)

    def _note_deadlock(self) -> None:
        """Say at once that the ranks wait for each other: the launch's limit may be an hour away."""
        now = self.context.clock.now_ns()
        if self.watch.steps != self.moved[0]:
            self.moved = (self.watch.steps, now)
        if self.told or len(self.watch.ranks) < 2 or now - max(self.moved[1], self.asked_ns) < DEADLOCK_S * NS_PER_S:
            return
        self.asked_ns = now
        self.told = stuck.deadlock(self.context.record.path, self.job.number, self.watch.ranks)
        if self.told:
            self._event("deadlock", {"told": self.told})
            limit = self.context.experiment.limits.launch_timeout_s
            remark(f"launch {self.job.number} stands still. {self.told} Its limit is {limit:g} s (--timeout); Ctrl-C ends it now.")

    def _end_if_needed(self, handle: Handle) -> None:
        limits, stop = self.context.experiment.limits, self.context.stop
        if stop.count > 1 and not self.killed:
            self.killed = True
            handle.kill()
        if self.status:
            return
        elapsed_s = (self.context.clock.now_ns() - self.begin_ns) / NS_PER_S
        if stop.count:
            self.status, self.reason = "aborted", f"stopped by {stop.reason}"
        elif (broken := self._write_error()) is not None:
            self.status, self.reason, self.broken = "aborted", str(broken), broken
        elif elapsed_s > limits.launch_timeout_s:
            self.status = "timeout"
        if self.status:
            handle.stop()
            self.hopeless_ns = self.context.clock.now_ns() + int((limits.grace_s + 2 * supervisor.GIVE_UP_S) * NS_PER_S)

    def _write_error(self) -> RecordError | None:
        path = self.context.record.path
        if self.writer.error is not None:
            return files.explain(self.writer.error, path, "write the record")
        for rank, progress in sorted(self.watch.ranks.items()):
            if progress.errno:
                error = files.explain(OSError(progress.errno, ""), path, "write the record")
                return RecordError(f"rank {rank} could not write its record: {error}")
        return None

    def _show(self) -> None:
        now = self.context.clock.now_ns()
        if now - self.shown_ns < NS_PER_S // 4:
            return
        self.shown_ns = now
        self.context.show(
            LaunchProgress(
                number=self.job.number,
                planned=self.planned,
                elapsed_s=(now - self.begin_ns) / NS_PER_S,
                steps=self.watch.steps,
                steps_per_s=self.watch.steps_per_s(now),
                ranks=len(self.watch.ranks),
                incarnation=self.watch.incarnation,
            )
        )

    # ---- outcome

    def _judged(self, ending: Ending) -> tuple[str, str]:
        """Status and reason."""
        output = watch.tail(self.request.log)
        if self.status == "timeout":
            return "timeout", self._timeout_reason(output)
        if self.status:
            return self.status, self.reason
        if (broken := self._write_error()) is not None:
            self.broken = broken
            return "aborted", str(broken)
        if ending.exit_code != 0 and not self._ended_as_asked():
            if taken := self.context.lost(TAKEN_S):
                self.context.stop.withdraw(taken.words, again=taken.again)
                self._event(ALLOCATION_END, {"state": taken.state})
                return "aborted", taken.words
            why = watch.why_failed(ending, output, f"logs/{self.request.log.name}")
            why += "" if self.strikes else stuck.left_behind(output, self.watch.ranks)
            return "failed", f"it did not recover from the fault: {why}" if self.strikes else why
        self._note_copies()
        return "ok", self._missed_fault() or self._ended_early()

    def _note_copies(self) -> None:
        """That every worker printed the same without a step, as copies of one whole job do."""
        settings = self.context.experiment.launcher
        if self.planned.workers == 1 or self.watch.steps or settings.nodes > 1 or settings.hosts:
            return
        if lines := copies.same_output(self.request.log, self.request.script, self.planned.workers):
            self._event(copies.EVENT, {"lines": lines})

    def _timeout_reason(self, output: str) -> str:
        limit = self.context.experiment.limits.launch_timeout_s
        last = watch.explaining_line(output)
        output_clause = f"its last output was: {last}" if last else "it printed nothing"
        steps = f", after {self.watch.steps} steps" if self.watch.ranks else ", before its first step"
        if self.context.experiment.workload.runner in ON_THE_PATH and not self.watch.ranks:  # it makes none
            steps = ""
        deadlock = stuck.places(self.context.record.path, self.job.number, self.watch.ranks)
        return (
            f"still running after limits.launch_timeout_s = {limit:g} s{steps}, and was ended; {output_clause}. "
            f"{deadlock or 'Raise the limit (--timeout), or shorten the script.'}{'' if self.watch.ranks else self._own_ranks()}"
        )

    def _own_ranks(self) -> str:
        """A hint: torchrun's variables mark every process as a rank of its store, where ranks that a script spawns wait forever."""
        if self.launcher.name != "local":
            return ""
        return " Under torchrun, a script that starts its own ranks (mp.spawn) waits forever: try --launcher plain."

    def _ended_as_asked(self) -> bool:
        """True if every rank made its steps and closed its recording; the exit status is then irrelevant."""
        if steps_requested(self.context.experiment, self.planned) is None:
            return False
        folder = self.context.record.launch_folder(self.job.number)
        settings = self.context.experiment.launcher
        here = self.planned.workers // settings.nodes
        first = here * settings.node_rank if settings.nodes > 1 else 0
        return step_limit.all_ended(folder, self.watch.incarnation, range(first, first + here))

    def _ended_early(self) -> str:
        """The reason if the script ended before making its steps; empty if no step was recorded."""
        requested = steps_requested(self.context.experiment, self.planned)
        quick = self.context.experiment.launches.quick  # at most so many
        if requested is None or quick or not self.watch.steps or self._ended_as_asked():
            return ""
        return f"the script ended by itself after {self.watch.steps} of {requested} requested steps"

    def _missed_fault(self) -> str:
        planned = self.planned.fault
        if planned is None or self.strikes >= planned.times:
            return ""
        if self.cannot:
            return f"the fault could not act: {self.cannot}"
        if self.strikes:
            return f"the fault struck {self.strikes} of {planned.times} times: the job ended before the next one was due"
        saved = max((rank.checkpoints for rank in self.watch.ranks.values()), default=0)
        self._event("fault_missed", {"checkpoints": saved, "steps": self.watch.steps}, rank=planned.rank)
        return (
            f"the fault never struck: the job ended after {self.watch.steps} steps and {saved} checkpoints; the fault was planned "
            f"{planned.when}. {_sooner(planned)}"
        )

    def _event(self, kind: str, detail: dict[str, object], **rest: object) -> None:
        write_event(self.writer, self.job.number, kind, self.context.clock.now_ns(), detail, **rest)


def _sooner(planned: PlannedFault) -> str:
    """Advice for a fault that was due too late."""
    if planned.during_checkpoint:
        return f"{SEEN}; save more often, or lower faults.after_checkpoints."
    if planned.after_checkpoints:
        return f"{SEEN}; train longer, save earlier, lower faults.within_steps, or set a step (faults.at_step)."
    return "Train longer, or lower faults.at_step."
