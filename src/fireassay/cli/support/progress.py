"""How far is the experiment?

On a terminal one region that is redrawn; else a plain line per ended launch and, for `run` and `load`, a table per block.

How does a verb that measures run its experiment, and show progress and verdict?
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fireassay.api import experiment_run
from fireassay.api.interim_analysis import Provisional, after_block, blocks_done, disturbed
from fireassay.cli.support.judged import judge_and_show
from fireassay.cli.support.output import coloured
from fireassay.errors import RecordError
from fireassay.estimates.format import count, duration, reading
from fireassay.printable import one_line, printable
from fireassay.runners.experiment.progress import FINAL, LaunchProgress, LaunchRow, LoadProgress, RunProgress, remaining
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import PlannedLaunch
from fireassay.units import SECONDS

REDRAW_S = 0.5  # slow on purpose: the display shares processors with the workers
COLOURS = {
    "ok": "green",
    "failed": "red",
    "timeout": "red",
    "aborted": "yellow",
    "skipped": "yellow",
    "contaminated": "yellow",
    "running": "cyan bold",
}
SIGNS = {"ok": "✓", "failed": "✗", "timeout": "✗", "aborted": "◌", "skipped": "–", "contaminated": "~", "running": "…", "waiting": "·"}
MAX_BLOCKS = 6  # shown of a long plan


@contextmanager
def display(stream: TextIO, *, quiet: bool, tables: bool = False) -> Iterator[Callable[[RunProgress], None] | None]:
    """The progress callback of a verb that measures, valid during the body. `tables`: with a provisional table after every block."""
    between = Between() if tables else None
    if quiet:
        yield None
    elif not stream.isatty():
        yield PlainLines(stream, between)
    else:
        with Live(console=Console(file=stream, no_color=not coloured(stream)), auto_refresh=False, transient=True) as live:
            yield Grid(lambda renderable: live.update(renderable, refresh=True), between=between)


class Between:
    """What the record says so far, read between two launches and never during one."""

    def __init__(
        self, table: Callable[[RunProgress], Provisional | None] = after_block, disturbed: Callable[[Path, int], str] = disturbed
    ) -> None:
        self._table, self._disturbed = table, disturbed
        self.tables: dict[Path, Provisional] = {}  # the newest of each record
        self.doubts: dict[tuple[Path, int], str] = {}  # of a launch
        self._seen: dict[Path, tuple[int, int]] = {}  # rows and blocks

    def update(self, progress: RunProgress) -> Provisional | None:
        """Read what is new; returns the table of a block that has just ended, unless nothing follows but the verdict."""
        rows, blocks = self._seen.get(progress.record, (0, 0))
        if progress.running is not None or len(progress.rows) == rows:
            return None
        done = blocks_done(progress)
        self._seen[progress.record] = (len(progress.rows), done)
        self._doubt(progress, progress.rows[rows:])
        if done == blocks or not remaining(progress.plan, progress.rows):
            return None
        try:
            table = self._table(progress)
        except RecordError:  # the report will say it; measuring goes on
            return None
        if table is not None:
            self.tables[progress.record] = table
        return table

    def _doubt(self, progress: RunProgress, rows: Sequence[LaunchRow]) -> None:
        for row in rows:
            if row["status"] == "ok":
                with suppress(RecordError):
                    self.doubts[progress.record, row["launch"]] = self._disturbed(progress.record, row["launch"])

    def doubt(self, progress: RunProgress, row: LaunchRow) -> str:
        """What disturbed a launch that counts; "" if nothing is known."""
        return self.doubts.get((progress.record, row["launch"]), "")


@dataclass
class _Printed:
    """The lines printed so far for one record."""

    rows: int
    looks: int = 0


class PlainLines:
    """A line per ended launch and interim analysis, a table per block. No colour, no cursor movement."""

    def __init__(self, stream: TextIO, between: Between | None = None) -> None:
        self.stream, self.between = stream, between
        self.printed: dict[Path, _Printed] = {}  # several records if experiments are interleaved

    def __call__(self, progress: RunProgress) -> None:
        """Print what is new."""
        shown = self.printed.get(progress.record) or self._first(progress)
        table = self.between.update(progress) if self.between is not None else None
        for row in progress.rows[shown.rows :]:
            self._line(ended_line(row, progress, self.between.doubt(progress, row) if self.between is not None else ""))
        shown.rows = len(progress.rows)
        for look in progress.looks[shown.looks :]:
            self._line(f"{_prefix(progress)}interim analysis: {look.sentence}")
        shown.looks = len(progress.looks)
        for line in table.lines() if table is not None else ():
            self._line(f"{_prefix(progress)}{line}", as_it_is=True)

    def _first(self, progress: RunProgress) -> _Printed:
        done = {row["slot"] for row in progress.rows if row["status"] in FINAL}
        resumed = f", {len(done)} of them already done" if done else ""
        planned = count(len(progress.plan), "launches")
        self._line(f"{_prefix(progress)}record {progress.record}: {'at most ' if progress.adaptive else ''}{planned}{resumed}")
        self.printed[progress.record] = _Printed(rows=len(progress.rows), looks=len(progress.looks))
        return self.printed[progress.record]

    def _line(self, text: str, *, as_it_is: bool = False) -> None:
        with suppress(BrokenPipeError):  # the reader closed the pipe (`assay run ... | head`): keep measuring
            print(printable(text) if as_it_is else one_line(text), file=self.stream, flush=True)  # a reason may quote a server or a script


def _prefix(progress: RunProgress) -> str:
    return f"{progress.label}: " if progress.label else ""


def ended_line(row: LaunchRow, progress: RunProgress, doubt: str = "") -> str:
    """The line for a launch that has ended, with its reason, the time left, and what disturbed it."""
    planned = progress.plan[row["slot"]]
    took = f" after {(row['end_ns'] - row['begin_ns']) / 1e9:.1f} s" if row["status"] != "skipped" else ""
    left = f", about {duration(progress.seconds_left)} {_until(progress)}" if progress.seconds_left else ""
    why = f": {row['reason']}" if row["reason"] else ""
    return f"{_prefix(progress)}{_position(planned, progress)} {_name(planned)} {row['status']}{took}{left}{why}{f'; ~ {doubt}' if doubt else ''}"


def _until(progress: RunProgress) -> str:
    """The end point of the time left: with interim analyses the true end is unknown."""
    return "to the next interim analysis" if progress.adaptive else "left"


class Grid:
    """One region that is redrawn: what is measured, the provisional table, the blocks, the running launch, doubts."""

    def __init__(
        self, draw: Callable[[RenderableType], None], now: Callable[[], float] | None = None, between: Between | None = None
    ) -> None:
        self.draw, self.now, self.between = draw, now or time.monotonic, between
        self.steps: dict[str, int] = {}  # of the newest launch seen, by configuration: how many the running one will make
        self._running: dict[str, int] = {}
        self.drawn_at = float("-inf")
        self.drawn_rows = -1

    def __call__(self, progress: RunProgress) -> None:
        """Draw, unless drawn a moment ago with nothing ended since."""
        if self.now() - self.drawn_at < REDRAW_S and len(progress.rows) == self.drawn_rows:
            return
        if self.between is not None:
            self.between.update(progress)
        self.drawn_at, self.drawn_rows = self.now(), len(progress.rows)
        self._count(progress)
        self.draw(picture(progress, self.between, self.steps))

    def _count(self, progress: RunProgress) -> None:
        """Remember the steps of the launch that ended, as the last progress showed them."""
        if (running := progress.running) is None:
            self.steps |= self._running
            self._running = {}
        elif running.planned.role == "timed":
            self._running = {running.planned.configuration: running.steps}


def picture(progress: RunProgress, between: Between | None = None, steps: Mapping[str, int] | None = None) -> Any:
    """The whole display as a rich renderable."""
    looks = [Text(f"interim analysis: {look.sentence}", style="dim") for look in progress.looks[-1:]]
    load = progress.running.load if progress.running is not None else None
    table = between.tables.get(progress.record) if between is not None else None
    so_far = [_line(line) for line in table.lines()] if table is not None else []
    now = _line(f"now     {running_words(progress.running, steps or {})}") if progress.running is not None else None
    return Group(
        _line(title(progress)),
        *so_far,
        *([Text("")] if so_far else []),
        _blocks(progress),
        *([_load_table(load)] if load is not None else []),
        *([now] if now is not None else []),
        *_doubts(progress, between),
        *looks,
    )


def _line(text: str, style: str = "") -> Text:
    return Text(printable(text), style=style, no_wrap=True, overflow="ellipsis")


def title(progress: RunProgress) -> str:
    """What is measured: "digits: 3 configurations x 5 launches, 1 with a fault: 16 launches"."""
    timed = [planned for planned in progress.plan if planned.role == "timed"]
    others = Counter(planned.role for planned in progress.plan if planned.role != "timed")
    configurations = len({planned.configuration for planned in timed})
    blocks = 1 + max((planned.block for planned in timed), default=-1)
    besides = "".join(f", {number} {'with a fault' if role == 'fault' else role}" for role, number in others.items())
    at_most = "at most " if progress.adaptive else ""
    what = f"{count(configurations, 'configurations')} x {at_most}{count(blocks, 'launches')}{besides}"
    return f"{_prefix(progress)}{what}; record {progress.record}"


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


def _blocks(progress: RunProgress) -> Text:
    """A mark per launch, in the order of the plan, grouped by block; then how many have ended and the time left."""
    states = {row["slot"]: row["status"] for row in progress.rows}
    if progress.running is not None:
        states[progress.running.planned.slot] = "running"
    groups: dict[str, list[PlannedLaunch]] = {}
    for planned in progress.plan:
        groups.setdefault(str(planned.block + 1) if planned.role == "timed" else planned.role, []).append(planned)
    text = Text("blocks", no_wrap=True, overflow="ellipsis")
    for name, launches in _shown(groups, states):
        text.append(f"  {name} ")
        for planned in launches:
            state = states.get(planned.slot, "waiting")
            text.append(SIGNS[state], style=COLOURS.get(state, "dim"))
    done = len({row["slot"] for row in progress.rows if row["status"] in FINAL})
    left = progress.seconds_left
    time_left = f", about {duration(left)} {_until(progress)}" if left is not None else ""
    return text.append(f"   {done} of {'at most ' if progress.adaptive else ''}{len(progress.plan)}{time_left}")


def _shown(groups: Mapping[str, list[PlannedLaunch]], states: Mapping[int, str]) -> list[tuple[str, list[PlannedLaunch]]]:
    """All groups where they are few, else those around the running launch."""
    named = list(groups.items())
    if len(named) <= MAX_BLOCKS:
        return named
    first = next((index for index, (_, group) in enumerate(named) if any(states.get(p.slot, "waiting") not in FINAL for p in group)), 0)
    begin = max(0, min(first - MAX_BLOCKS // 2, len(named) - MAX_BLOCKS))
    return named[begin : begin + MAX_BLOCKS]


def _doubts(progress: RunProgress, between: Between | None) -> list[Text]:
    """The newest failures and disturbances, each with its launch."""
    told = [(row, row["reason"] or (between.doubt(progress, row) if between is not None else "")) for row in progress.rows]
    lines = [
        f"{row['configuration']} {row['status']}: {why}" if row["reason"] else f"~ launch {row['launch']}: {why}"
        for row, why in told
        if why
    ]
    return [_line(f"{'doubts' if index == 0 else '':<8}{line}", "yellow") for index, line in enumerate(lines[-2:])]


STATES = {"loading": "preparing", "cold": "cold requests", "load": "under load", "ended": "ended"}


def load_words(load: LoadProgress) -> list[str]:
    """The state of the running load, in a few words."""
    failed = sum(load.failed.values())
    return [
        f"{STATES.get(load.state, load.state)}, {duration(load.left_s)} until the last request is due"
        if load.state == "load"
        else STATES.get(load.state, load.state),
        f"{load.in_flight} in flight",
        f"{load.ok} ok",
        f"{failed} failed",
    ]


def _load_table(load: LoadProgress) -> Any:
    """Offered and achieved load, failures, and the percentiles of the last seconds."""
    rate = load.sent / load.into_s if load.into_s > 0.0 else None
    offered = f"{load.offered:g}/s" if load.offered is not None else "closed loop"
    facts = Table.grid(padding=(0, 2))
    facts.add_row("offered", offered, "sent", "–" if rate is None else f"{rate:.1f}/s", "in flight", str(load.in_flight))
    tokens = "–" if load.into_s <= 0.0 else f"{load.tokens / load.into_s:.0f}/s"
    lag = "–" if load.lag_p99_ms is None else f"{load.lag_p99_ms:.2f} ms"
    failed = ", ".join(f"{number} {status}" for status, number in load.failed.items()) or "none"
    facts.add_row("tokens", tokens, "send lag p99", lag, "failed", Text(failed, style="red" if load.failed else ""))
    for name, quantiles in (("TTFT", load.ttft_ms), ("TPOT", load.tpot_ms), ("end to end", load.e2e_ms)):
        cells = [f"{key} {quantiles[key]:.1f} ms" if key in quantiles else f"{key} –" for key in ("p50", "p95", "p99")]
        facts.add_row(name, *cells)
    return facts


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
) -> int:
    """Run an experiment with its progress shown, judge its record and show the verdict; returns the exit code.

    Args:
        folder: base of the workload's paths.
        root: parent of the record; default: --root.
        tables: with a provisional table after every block.
        within: a context of the run.
    """
    root = arguments.root if root is None else root
    with display(sys.stderr, quiet=arguments.quiet, tables=tables) as show, within or nullcontext():
        experiment = experiment_run.ranged(experiment, folder, root, show)
        path = experiment_run.run(experiment, folder=folder, root=root, on_progress=show)
    return judge_and_show(path, arguments)
