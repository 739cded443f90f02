"""How far is the experiment?

On a terminal one line that is written again and again, with the traffic of the busiest network interface; else a line now and then: of the
first and the last launch, of every one that fails, of every interim analysis, and of the others at most each ten seconds.  What disturbed a
launch is a warning of the report, and stands only there.

How does a verb that measures run its experiment, and show progress and verdict?
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from fireassay.api import experiment_run
from fireassay.api.interim_analysis import Provisional, after_block, blocks_done
from fireassay.api.served_model import with_served_models
from fireassay.cli.support.detach import announcing
from fireassay.cli.support.judged import judge_and_show
from fireassay.errors import RecordError
from fireassay.estimates.format import count, duration, reading
from fireassay.instruments.machine.interfaces import Rates
from fireassay.printable import Rewritten, one_line, remark, say
from fireassay.record.machine import Machine
from fireassay.record.manifest import has_seal
from fireassay.runners.experiment.progress import FINAL, LaunchProgress, LaunchRow, LoadProgress, RunProgress, remaining
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import PlannedLaunch
from fireassay.units import BYTES_PER_SECOND, SECONDS

REWRITE_S = 0.5  # slow on purpose: it shares processors with the workers
OCCASION_S = 10.0  # between two lines of launches that went well
STATES = {"loading": "preparing", "cold": "cold requests"}  # before a load
LIVE_S = 10.0  # of a load between two lines of a pipe


@contextmanager
def display(stream: TextIO, *, quiet: bool, tables: bool = False) -> Iterator[Callable[[RunProgress], None] | None]:
    """The progress callback of a verb that measures, valid during the body. `tables`: with the numbers so far, after every round."""
    so_far = SoFar() if tables else None
    if quiet:
        yield announcing(None)
    elif not stream.isatty():
        yield announcing(PlainLines(stream, so_far))
    else:
        line = Rewritten(stream)
        with line.shown():
            yield OneLine(line.show, so_far=so_far, traffic=Rates(Machine(), time.monotonic).read)


class SoFar:
    """What the record says so far, read between two launches and never during one."""

    def __init__(self, table: Callable[[RunProgress], Provisional | None] = after_block) -> None:
        self._table = table
        self._words: dict[Path, str] = {}  # of each record
        self._done: dict[Path, int] = {}  # rounds

    def words(self, progress: RunProgress) -> str:
        """The deciding number of each configuration after the last whole round; "" before the first, and once only the verdict follows."""
        if progress.running is None and (done := blocks_done(progress)) != self._done.get(progress.record, 0):
            self._done[progress.record] = done
            with suppress(RecordError):  # the report will say it; measuring goes on
                table = self._table(progress) if remaining(progress.plan, progress.rows) else None
                self._words[progress.record] = _first_column(table) if table is not None else ""
        return self._words.get(progress.record, "")


def _first_column(table: Provisional) -> str:
    """ "speedup so far 1.35 at 2": no interval yet, no verdict."""
    cells = ", ".join(f"{row[1]} at {row[0]}" for row in table.rows if len(row) > 1)
    return f"{table.heads[1]} so far {cells}" if cells else ""


@dataclass
class _Printed:
    """The lines printed so far for one record."""

    rows: int
    looks: int = 0
    at: float = float("-inf")
    live: tuple[int, int] = (-1, 0)  # launch, and which of its lines
    waiting: str = ""


class PlainLines:
    """A line now and then. No colour, no cursor movement."""

    def __init__(self, stream: TextIO, so_far: SoFar | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self.stream, self.so_far, self.now = stream, so_far, now
        self.printed: dict[Path, _Printed] = {}  # several records if experiments are interleaved

    def __call__(self, progress: RunProgress) -> None:
        """Print what is new and worth a line."""
        shown = self.printed.get(progress.record) or self._first(progress)
        so_far = self.so_far.words(progress) if self.so_far is not None else ""
        over = not remaining(progress.plan, progress.rows)
        for number, row in enumerate(progress.rows[shown.rows :], start=shown.rows + 1):
            last = over and number == len(progress.rows)  # else a count would end before its end
            if last or row["status"] != "ok" or self.now() - shown.at >= OCCASION_S:
                self._line(ended_line(row, progress, so_far))
                shown.at = self.now()
        shown.rows = len(progress.rows)
        if progress.waiting not in ("", shown.waiting):
            shown.waiting = progress.waiting
            self._line(f"{_prefix(progress)}waiting: {progress.waiting}")
        self._live(progress.running, shown, _prefix(progress))
        for look in progress.looks[shown.looks :]:
            self._line(f"{_prefix(progress)}interim analysis: {look.sentence}")
        shown.looks = len(progress.looks)

    def _live(self, running: LaunchProgress | None, shown: _Printed, prefix: str) -> None:
        """What a load gives so far, every LIVE_S seconds of it."""
        if running is None or running.load is None or running.load.into_s < LIVE_S or running.load.state != "load":
            return
        live = (running.number, int(running.load.into_s // LIVE_S))
        if live != shown.live:
            shown.live = live
            self._line(f"{prefix}{_name(running.planned)}, {duration(running.load.into_s)}: {', '.join(load_words(running.load))}")

    def _first(self, progress: RunProgress) -> _Printed:
        done = {row["slot"] for row in progress.rows if row["status"] in FINAL}
        resumed = f", {len(done)} of them already done" if done else ""
        planned = count(len(progress.plan), "launches")
        self._line(f"{_prefix(progress)}record {progress.record}: {'at most ' if progress.adaptive else ''}{planned}{resumed}")
        self.printed[progress.record] = _Printed(rows=len(progress.rows), looks=len(progress.looks))
        return self.printed[progress.record]

    def _line(self, text: str) -> None:
        with suppress(BrokenPipeError):  # the reader closed the pipe (`assay run ... | head`): keep measuring
            say(one_line(text), file=self.stream, flush=True)  # a reason may quote a server or a script


def _prefix(progress: RunProgress) -> str:
    return f"{progress.label}: " if progress.label else ""


def ended_line(row: LaunchRow, progress: RunProgress, so_far: str = "") -> str:
    """The line for a launch that has ended, with its reason, the time left unless it was stopped, and the numbers so far."""
    planned = progress.plan[row["slot"]]
    took = f" after {(row['end_ns'] - row['begin_ns']) / 1e9:.1f} s" if row["status"] != "skipped" else ""
    why = f": {row['reason']}" if row["reason"] else ""
    more = f"; {so_far}" if so_far else ""
    left = "" if row["status"] == "aborted" else _left(progress)
    return f"{_prefix(progress)}{_position(planned, progress)} {_name(planned)} {row['status']}{took}{left}{why}{more}"


def _left(progress: RunProgress) -> str:
    """The time left; with interim analyses the true end is unknown."""
    until = "to the next interim analysis" if progress.adaptive else "left"
    return f", about {duration(progress.seconds_left)} {until}" if progress.seconds_left else ""


class OneLine:
    """The line of a terminal: launches ended and planned, the time left, the running launch, the numbers so far."""

    def __init__(
        self,
        show: Callable[[str], None],
        now: Callable[[], float] = time.monotonic,
        so_far: SoFar | None = None,
        traffic: Callable[[], tuple[str, float, float] | None] = lambda: None,
    ) -> None:
        self.show, self.now, self.so_far, self.traffic = show, now, so_far, traffic
        self.steps: dict[str, int] = {}  # of the newest launch seen, by configuration: how many the running one will make
        self._running: dict[str, int] = {}
        self._at, self._rows = float("-inf"), -1

    def __call__(self, progress: RunProgress) -> None:
        """Write the line again, unless written a moment ago with nothing ended since."""
        so_far = self.so_far.words(progress) if self.so_far is not None else ""
        if self.now() - self._at < REWRITE_S and len(progress.rows) == self._rows:
            return
        self._at, self._rows = self.now(), len(progress.rows)
        self._count(progress)
        rates = self.traffic() if progress.running is not None else None
        self.show(line(progress, self.steps, "; ".join(text for text in (network_words(rates), so_far) if text)))

    def _count(self, progress: RunProgress) -> None:
        """Remember the steps of the launch that ended, as the last progress showed them."""
        if (running := progress.running) is None:
            self.steps |= self._running
            self._running = {}
        elif running.planned.role == "timed":
            self._running = {running.planned.configuration: running.steps}


def line(progress: RunProgress, steps: Mapping[str, int], so_far: str = "") -> str:
    """The whole line, the most important first: what does not fit is cut."""
    ended = {row["slot"]: row["status"] for row in progress.rows if row["status"] in FINAL}
    failed = sum(status in ("failed", "timeout") for status in ended.values())
    begin = f"{_prefix(progress)}{len(ended)} of {'at most ' if progress.adaptive else ''}{count(len(progress.plan), 'launches')}"
    head = f"{begin}{f', {failed} failed' if failed else ''}{_left(progress)}"
    now = (
        f": {running_words(progress.running, steps)}" if progress.running is not None else f": {progress.waiting}" * bool(progress.waiting)
    )
    return f"{head}{now}{f'; {so_far}' if so_far else ''}"


def running_words(running: LaunchProgress, steps: Mapping[str, int]) -> str:
    """The running launch: its configuration, its step of how many if another launch has shown it, time per step, time so far."""
    words = [_name(running.planned)]
    if running.load is not None:
        return ", ".join([*words, *load_words(running.load), duration(running.elapsed_s)])
    if not running.ranks:
        return ", ".join([*words, "no step seen yet", duration(running.elapsed_s)])
    if running.ranks < running.planned.workers:
        words.append(f"{running.ranks} of {running.planned.workers} ranks")
    expected = steps.get(running.planned.configuration, 0)
    words.append(f"step {running.steps} of {expected}" if running.steps <= expected else f"step {running.steps}")
    if running.steps_per_s:
        words.append(f"{reading(1.0 / running.steps_per_s, SECONDS)} a step")
    if running.incarnation:
        words.append(f"restart {running.incarnation}")
    return ", ".join([*words, duration(running.elapsed_s)])


def network_words(rates: tuple[str, float, float] | None) -> str:
    """ "eth0 in 1.2 MB/s, out 0.9 MB/s": the busiest interface of this host."""
    if rates is None:
        return ""
    name, received, sent = rates
    return f"{name} in {reading(received, BYTES_PER_SECOND)}, out {reading(sent, BYTES_PER_SECOND)}"


def load_words(load: LoadProgress) -> list[str]:
    """The running load, in a few words: throughput, latencies of the last seconds, failures."""
    if load.state in STATES or load.into_s <= 0.0:
        return [STATES.get(load.state, load.state)]
    medians = [
        f"{name} {quantiles['p50']:.1f} ms" for name, quantiles in (("TTFT", load.ttft_ms), ("TPOT", load.tpot_ms)) if "p50" in quantiles
    ]
    failed = sum(load.failed.values())
    return [f"{load.ok / load.into_s:.1f} requests/s", f"{load.tokens / load.into_s:,.0f} tokens/s", *medians, f"{failed} failed"]


def _position(planned: PlannedLaunch, progress: RunProgress) -> str:
    total = str(len(progress.plan))
    return f"[{planned.slot + 1:>{len(total)}}/{total}]"


def _name(planned: PlannedLaunch) -> str:
    if planned.fault is not None:
        return f"{planned.configuration} with fault {planned.fault.kind}"
    return f"{planned.configuration} round {planned.block}"


def run_and_judge(
    experiment: Experiment,
    arguments: argparse.Namespace,
    *,
    folder: Path = Path(),
    root: Path | None = None,
    tables: bool = False,
    within: AbstractContextManager[None] | None = None,
    then: Callable[[Path, int], int] = lambda _, code: code,
) -> int:
    """Run an experiment with its progress shown, judge its record and show the verdict; returns the exit code.

    Args:
        folder: base of the workload's paths.
        root: parent of the record; default: --root.
        tables: with a provisional table after every block.
        within: a context of the run.
        then: what follows, from the record and the verdict's exit code; returns the final one.
    """
    root = arguments.root if root is None else root
    with display(sys.stderr, quiet=arguments.quiet, tables=tables) as show, within or nullcontext():
        experiment = with_served_models(experiment)
        path = experiment_run.requeued(experiment, root, os.environ)
        if path is None:
            experiment = experiment_run.ranged(experiment, folder, root, show)
            stop_early = not (getattr(arguments, "keep_going", True) or experiment.launches.quick)  # verbs without the flag go on
            path = experiment_run.run(experiment, folder=folder, root=root, on_progress=show, stop_early=stop_early)
        elif not has_seal(path):
            remark(f"Slurm started this job again: going on with {path}")
            experiment_run.resume(path, trusted=True, on_progress=show)
    return then(path, judge_and_show(path, arguments))
