"""In which order are an experiment's launches made, and when are there enough?

Launches are made block by block as planned.  With `launches.precision`, interim analyses (`Advice`) follow some blocks, and
blocks end once the intervals are narrow enough, at `launches.at_most`, or after `limits.experiment_timeout_s`; launches that
were not needed leave no row.  Fault launches come last.
With `noise.repeat`, a disturbed launch is repeated in its slot; the disturbed one stays in the record with status
contaminated.  A sentinel is timed before and after every launch, on the machines of its workers.
Whether an interval is narrow or a launch disturbed is decided elsewhere: measuring does not judge.

At which step does a fault strike if the training saves no checkpoint?  In the middle of an earlier launch's steps.

Read from the progress files of launches of the same configuration, else of any other, so that a resumed experiment gets the same step.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from fireassay.errors import RecordError
from fireassay.instruments.machine.meter import Row
from fireassay.instruments.machine.reading import Reading
from fireassay.instruments.machine.sentinel import Sentinel, calibrated
from fireassay.record.folder import RecordFolder, write_launch
from fireassay.record.live.progress import Progress, read_progress
from fireassay.runners.experiment.context import Job, Made, Maker, Outcome, RunContext
from fireassay.runners.experiment.node_agents import each, metered_by
from fireassay.runners.experiment.progress import Look, all_failed, attempt_of, disturbed_tries, hopeless, remaining, skip_reason
from fireassay.spec.plan import PlannedLaunch, Role
from fireassay.units import NS_PER_S


def middle_step(record: RecordFolder, configuration: str) -> int | None:
    """The middle step of an earlier launch; None if one saved a checkpoint or made fewer than two steps, or if there is none."""
    launches = [row for row in record.finished_launches() if row["status"] == "ok" and row["role"] != "sweep"]
    candidates = [row for row in launches if row["configuration"] == configuration] or launches
    ranks = [rank for row in candidates for rank in _ranks(record.launch_folder(int(row["launch"])))]
    if any(rank.checkpoints for rank in ranks):
        return None
    return max((rank.steps for rank in ranks), default=0) // 2 or None


def _ranks(folder: Path) -> Iterator[Progress]:
    for path in sorted((folder / "progress").glob("rank=*.bin")):
        progress = read_progress(path)
        if progress is not None:
            yield progress


def _sentinel_row(job: Job, ns: int, host: str, read: Reading) -> Row:
    return (job.number, ns, host, read.device, read.counter, read.value, read.unit, read.method)


LooksEnded = Literal["precision", "decided", "at_most", "budget", "failed"]


def run(context: RunContext, maker: Maker) -> Outcome:
    """Make the remaining launches of one experiment, as far as they are needed."""
    course = LaunchLoop(context, maker)
    while course.wants_more:
        course.make_block()
    course.make_faults()
    return course.outcome()


class LaunchLoop:
    """One experiment's progress through its plan, derived from the context's rows so that it can be resumed."""

    def __init__(self, context: RunContext, maker: Maker, rounds: dict[float, int] | None = None) -> None:
        """`rounds`: sentinels calibrated so far, by seconds; shared by interleaved experiments."""
        self.context, self.maker = context, maker
        self.number = context.next_number
        self._rounds = {} if rounds is None else rounds
        self.adaptive = context.adaptive
        self.futile = ""  # why no other launch is worth making

    # ---- remaining work

    def waiting(self, role: Role) -> list[PlannedLaunch]:
        """The planned launches of a role without a final row."""
        return [planned for planned in remaining(self.context.plan, self.context.rows) if planned.role == role]

    @property
    def untimed(self) -> list[PlannedLaunch]:
        """The untimed launches without a final row, in execution order."""
        return [*self.waiting("communication"), *self.waiting("sweep"), *self.waiting("profile"), *self.waiting("fault")]

    @property
    def blocks_done(self) -> int:
        """The number of leading blocks in which every launch has ended."""
        waiting = self.waiting("timed")
        return waiting[0].block if waiting else self.context.experiment.blocks

    @property
    def enough(self) -> bool:
        """True if the last interim analysis found the intervals narrow enough."""
        return self.adaptive and bool(self.context.looks) and self.context.looks[-1].enough

    @property
    def block_left(self) -> bool:
        """True if another block is planned and still worthwhile."""
        if self.blocks_done >= self.context.experiment.blocks or self._hopeless:
            return False
        return not (self.adaptive and (self._over_budget() or self._budget_spent))

    @property
    def can_go_on(self) -> bool:
        """True if another block could be made and no stop was requested."""
        return self.block_left and not self.context.stop.count

    @property
    def wants_more(self) -> bool:
        """True if another block may be made and is needed."""
        return self.can_go_on and not self.enough

    @property
    def _hopeless(self) -> bool:
        return bool(self.futile or hopeless(self.context.rows))

    # ---- making launches

    def make_block(self) -> None:
        """Make the missing launches of the next block, then run the interim analysis if it is due."""
        if self._look_if_due() and self.enough:
            return  # it was interrupted between a block and its interim analysis
        block = self.blocks_done
        for planned in self.waiting("timed"):
            if planned.block == block and not self._hopeless:
                self._make(planned)
                self._see_whether_futile(planned)
        self._look_if_due()

    def make_faults(self) -> None:
        """Make the missing untimed launches: communication calibration, then faults."""
        for planned in self.untimed:
            if not self._hopeless:
                self._make(planned)

    def outcome(self) -> Outcome:
        """How the run ended; notes in the manifest why no further blocks were made."""
        failed = self.futile or all_failed(self.context.rows)
        self.context.show()
        needed = not failed and (bool(self.untimed) or (self.block_left and not self.enough))
        if self.context.stop.count and needed:
            return Outcome(state="interrupted", reason=self.context.stop.reason)
        if self.adaptive:
            self._look_if_due(last=self.context.experiment.launches.until_decided)
            self.context.record.note(looks_ended=self._why_ended())
        return Outcome(state="failed" if failed else "complete", reason=failed, not_metered=self.maker.absences())

    def _see_whether_futile(self, planned: PlannedLaunch) -> None:
        """Does a launch of the first round show that the others cannot answer the question?"""
        advice, row = self.context.advice, self.context.rows[-1] if self.context.rows else None
        if advice is not None and advice.futile is not None and planned.block == 0 and row is not None and row["status"] == "ok":
            self.futile = self.futile or advice.futile(self.context.record.path)

    def _make(self, planned: PlannedLaunch) -> None:
        """Make one planned launch; repeat it if it was disturbed and repeats are enabled."""
        while not self.context.stop.count:
            self.context.show()
            job = Job(planned=planned, number=self.number, attempt=attempt_of(planned.slot, self.context.rows))
            self.number += 1
            if reason := self._skip_reason(planned):
                return self._ended(self.context.skipped(job, reason))
            self._read_sentinel(job, "before")
            result = self.maker.make(job)
            self._read_sentinel(job, "after")
            result = self._held_against_noise(result, planned)
            self._ended(result)
            if result.row["status"] != "contaminated":
                return None
        return None

    def _held_against_noise(self, result: Made, planned: PlannedLaunch) -> Made:
        """The launch, marked contaminated if it was disturbed and may be repeated.

        The decision uses the machine's counters, never the launch's measurements: repeating launches with unwelcome results
        would bias every number.  The last attempt counts in any case, and the audit reports it.
        """
        advice, row, most = self.context.advice, result.row, self.context.experiment.noise.repeat
        if advice is None or row["status"] != "ok" or row["role"] != "timed" or result.broken is not None:
            return result
        if disturbed_tries(planned.slot, self.context.rows) >= most:
            return result
        try:
            self.context.record.writer(row["launch"]).flush()
            reason = advice.disturbed(self.context.record.path, row["launch"])
        except BaseException:
            self._ended(result)  # the launch was measured even if judging fails
            raise
        return replace(result, row={**row, "status": "contaminated", "reason": reason}) if reason else result

    # ---- the sentinel

    @cached_property
    def _sentinel(self) -> Sentinel | None:
        """The same work for the whole record, after a resume too, and for all sides of a session."""
        seconds, record = self.context.experiment.noise.sentinel_s, self.context.record
        if not seconds:
            return None
        stored = record.manifest.get("sentinel")
        rounds = int(stored["rounds"]) if stored else self._rounds.get(seconds)
        if self.context.agents is not None and not rounds and (rounds := self.context.agents.rounds(seconds)) is None:
            return None
        sentinel = Sentinel(rounds, self.context.clock) if rounds else calibrated(seconds, self.context.clock)
        self._rounds[seconds] = sentinel.rounds
        if not stored:
            record.note(sentinel={"rounds": sentinel.rounds})
        return sentinel

    def _read_sentinel(self, job: Job, when: Literal["before", "after"]) -> None:
        """On this machine, or on the nodes of the launch, all at once."""
        if self._sentinel is None or self.context.stop.count:
            return
        writer, order = self.context.record.writer(job.number), {"do": "sentinel", "rounds": self._sentinel.rounds, "when": when}
        if self.context.agents is None:
            read = self._sentinel.read(when)
            writer.append("telemetry", _sentinel_row(job, self.context.clock.now_ns(), platform.node(), read))
            return
        every = self.context.agents.of(self.context.experiment.launcher, job.planned.workers)
        agents = [agent for agent in every if agent.host.name in metered_by(every).values()]
        for agent, answer in zip(agents, each(agents, lambda agent: agent.ask(order)), strict=True):
            if answer is not None and "value" in answer:
                read = Reading("sentinel", when, answer["value"], "s", "self")
                writer.append("telemetry", _sentinel_row(job, answer["ns"], agent.host.name, read))

    # ---- writing rows

    def _ended(self, result: Made) -> None:
        """Write a launch's row. Raises RecordError: the row cannot be written, or a write failed during the launch."""
        try:
            write_launch(self.context.record.writer(result.row["launch"]), result.row, self.context.record.path)
        except RecordError as error:
            raise result.broken or error from error
        if result.broken is not None:
            raise result.broken
        self.context.rows.append(result.row)
        self.futile = self.futile or result.cure

    # ---- skipping launches

    def _over_budget(self) -> bool:
        limit = self.context.experiment.limits.experiment_timeout_s
        return limit is not None and (self.context.clock.now_ns() - self.context.begun_ns) / NS_PER_S > limit

    @property
    def _budget_spent(self) -> bool:
        """True if another block would end after `launches.budget_s`; the blocks before the first look are made in any case."""
        launches, done = self.context.experiment.launches, self.blocks_done
        if launches.budget_s is None or done < launches.per_configuration:
            return False
        spent_s = (self.context.clock.now_ns() - self.context.begun_ns) / NS_PER_S
        rows = [row for row in self.context.rows if row["role"] == "timed" and row["block"] == done - 1]
        block_s = (max(row["end_ns"] for row in rows) - min(row["begin_ns"] for row in rows)) / NS_PER_S
        return bool(spent_s + block_s > launches.budget_s)

    def _skip_reason(self, planned: PlannedLaunch) -> str:
        if self._over_budget():
            limit = self.context.experiment.limits.experiment_timeout_s
            return f"limits.experiment_timeout_s = {limit:g} s had passed before it could start"
        return skip_reason(planned, self.context.rows)

    # ---- interim analyses

    def _look_if_due(self, *, last: bool = False) -> bool:
        """Run the interim analysis if due, or if it is the last; returns whether there was one. It goes to the manifest and `context.looks`."""
        advice = self.context.advice
        if advice is None or advice.together is not None or not (self.look_due or (last and self._unseen)):
            return False
        self.looked(advice.analyse(self.context.record.path, self.blocks_done))
        return True

    @property
    def look_due(self) -> bool:
        """True if the finished blocks call for an interim analysis that has not been made."""
        advice, blocks = self.context.advice, self.blocks_done
        if not self.adaptive or advice is None:
            return False
        return self._unseen and self._is_due(blocks, advice.looks(self.context.experiment))

    @property
    def _unseen(self) -> bool:
        """True if blocks were made since the last interim analysis."""
        return self.blocks_done > (self.context.looks[-1].blocks if self.context.looks else 0)

    def looked(self, look: Look) -> None:
        """Note the result of an interim analysis."""
        self.context.looks.append(look)
        self.context.record.note(looks=[asdict(look) for look in self.context.looks])
        self.context.show()

    def _is_due(self, blocks: int, looks: Iterable[int]) -> bool:
        """True if an interim analysis is due. The last is always at the end of the plan, to report the final widths."""
        if blocks == self.context.experiment.blocks:
            return True
        for look in looks:
            if look >= blocks:
                return look == blocks
        return False

    def _why_ended(self) -> LooksEnded:
        if self.enough:
            ended = self.context.looks[-1].ended
            return "budget" if ended == "budget" else "decided" if ended else "precision"
        if self.blocks_done >= self.context.experiment.blocks:
            return "at_most"
        return "budget" if self._over_budget() or self._budget_spent else "failed"
