"""How far is the experiment?

A live grid of the plan on a terminal, else one plain line per start and end of a launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from fireassay.cli.support.screen import coloured
from fireassay.estimates.format import count
from fireassay.printable import one_line
from fireassay.runners.experiment.progress import FINAL, LaunchProgress, LaunchRow, LoadProgress, RunProgress
from fireassay.spec.plan import PlannedLaunch

if TYPE_CHECKING:
    from rich.console import RenderableType

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
SIGNS = {"ok": "●", "failed": "✗", "timeout": "✗", "aborted": "◌", "skipped": "–", "contaminated": "~", "running": "▶", "waiting": "·"}


def duration(seconds: float) -> str:
    """A waiting time as text: 8 s, 3 min 20 s, 2 h 5 min."""
    rounded_s = round(seconds)
    if rounded_s < 60:
        return f"{rounded_s} s"
    minutes, rest = divmod(rounded_s, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


@contextmanager
def display(stream: TextIO, *, quiet: bool) -> Iterator[Callable[[RunProgress], None] | None]:
    """The progress callback for `run` and `resume`, valid during the body."""
    if quiet:
        yield None
    elif not stream.isatty():
        yield PlainLines(stream)
    else:
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(file=stream, no_color=not coloured(stream)), auto_refresh=False, transient=True) as live:
            yield Grid(lambda renderable: live.update(renderable, refresh=True))


@dataclass
class _Printed:
    """The lines printed so far for one record."""

    rows: int
    running: int | None = None
    looks: int = 0


class PlainLines:
    """One line when a launch starts, one when it ends, one per interim analysis. No colour, no cursor movement."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.printed: dict[Path, _Printed] = {}  # several records if experiments are interleaved

    def __call__(self, progress: RunProgress) -> None:
        """Print what is new."""
        shown = self.printed.get(progress.record) or self._first(progress)
        for row in progress.rows[shown.rows :]:
            self._line(ended_line(row, progress))
        shown.rows = len(progress.rows)
        for look in progress.looks[shown.looks :]:
            self._line(f"{_prefix(progress)}interim analysis: {look.sentence}")
        shown.looks = len(progress.looks)
        if progress.running is not None and progress.running.number != shown.running:
            shown.running = progress.running.number
            self._line(started_line(progress.running, progress))

    def _first(self, progress: RunProgress) -> _Printed:
        done = {row["slot"] for row in progress.rows if row["status"] in FINAL}
        resumed = f", {len(done)} of them already done" if done else ""
        planned = count(len(progress.plan), "launches")
        self._line(f"{_prefix(progress)}record {progress.record}: {'at most ' if progress.adaptive else ''}{planned}{resumed}")
        self.printed[progress.record] = _Printed(rows=len(progress.rows), looks=len(progress.looks))
        return self.printed[progress.record]

    def _line(self, text: str) -> None:
        with suppress(BrokenPipeError):  # the reader closed the pipe (`assay run ... | head`): keep measuring
            print(one_line(text), file=self.stream, flush=True)  # a reason may quote a server or a script


def _prefix(progress: RunProgress) -> str:
    return f"{progress.label}: " if progress.label else ""


def started_line(running: LaunchProgress, progress: RunProgress) -> str:
    """The line for a launch that has started."""
    return f"{_prefix(progress)}{_position(running.planned, progress)} {_name(running.planned)} started"


def ended_line(row: LaunchRow, progress: RunProgress) -> str:
    """The line for a launch that has ended, with its reason and the time left."""
    planned = progress.plan[row["slot"]]
    took = f" after {(row['end_ns'] - row['begin_ns']) / 1e9:.1f} s" if row["status"] != "skipped" else ""
    left = f", about {duration(progress.seconds_left)} {_until(progress)}" if progress.seconds_left else ""
    why = f": {row['reason']}" if row["reason"] else ""
    return f"{_prefix(progress)}{_position(planned, progress)} {_name(planned)} {row['status']}{took}{left}{why}"


def _until(progress: RunProgress) -> str:
    """The end point of the time left: with interim analyses the true end is unknown."""
    return "to the next interim analysis" if progress.adaptive else "left"


class Grid:
    """The plan as a grid (a row per configuration, a column per block), the running launch, the time left."""

    def __init__(self, draw: Callable[[RenderableType], None], now: Callable[[], float] | None = None) -> None:
        import time

        self.draw, self.now = draw, now or time.monotonic
        self.drawn_at = float("-inf")
        self.drawn_rows = -1

    def __call__(self, progress: RunProgress) -> None:
        """Draw, unless drawn a moment ago with nothing ended since."""
        if self.now() - self.drawn_at < REDRAW_S and len(progress.rows) == self.drawn_rows:
            return
        self.drawn_at, self.drawn_rows = self.now(), len(progress.rows)
        self.draw(picture(progress))


def picture(progress: RunProgress) -> Any:
    """The whole display as a rich renderable."""
    from rich.console import Group
    from rich.text import Text

    status = Text(status_line(progress), no_wrap=True, overflow="ellipsis")
    looks = [Text(f"interim analysis: {look.sentence}", style="dim") for look in progress.looks[-1:]]
    load = progress.running.load if progress.running is not None else None
    table = [_load_table(load)] if load is not None else []
    return Group(Text(f"{progress.record}", style="dim"), _grid(progress), *_bad_news(progress), *looks, *table, status)


def status_line(progress: RunProgress) -> str:
    """The running launch and the time left."""
    done = len({row["slot"] for row in progress.rows if row["status"] in FINAL})
    left = progress.seconds_left
    parts = [
        f"{done}/{'at most ' if progress.adaptive else ''}{len(progress.plan)} launches",
        f"about {duration(left)} {_until(progress)}" if left is not None else "time left unknown",
    ]
    if progress.label:
        parts.insert(0, progress.label)
    if (running := progress.running) is not None:
        parts.append(f"{_name(running.planned)} for {duration(running.elapsed_s)}")
        if running.load is not None:
            return "  ·  ".join([*parts, *load_words(running.load)])
        parts.append(f"{running.ranks}/{running.planned.workers} ranks" if running.ranks else "no step seen yet")
        if running.ranks:
            parts.append(f"step {running.steps}")
        if running.steps_per_s is not None:
            parts.append(f"{running.steps_per_s:.1f} steps/s")
        if running.incarnation:
            parts.append(f"restart {running.incarnation}")
    return "  ·  ".join(parts)


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
    from rich.table import Table
    from rich.text import Text

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


def _grid(progress: RunProgress) -> Any:
    from rich.table import Table
    from rich.text import Text

    states = {row["slot"]: row["status"] for row in progress.rows}
    if progress.running is not None:
        states[progress.running.planned.slot] = "running"
    grid = Table.grid(padding=(0, 1))
    rows: dict[tuple[str, str], Text] = {}
    for planned in sorted(progress.plan, key=lambda launch: (launch.role != "timed", launch.role, launch.workers, launch.block)):
        state = states.get(planned.slot, "waiting")
        text = rows.setdefault((planned.configuration, planned.role), Text())
        text.append(f"{SIGNS[state]} ", style=COLOURS.get(state, "dim"))
    for (configuration, role), text in rows.items():
        grid.add_row(configuration + ("" if role == "timed" else f" {role}"), text)
    return grid


def _bad_news(progress: RunProgress) -> list[Any]:
    from rich.text import Text

    failures = [row for row in progress.rows if row["reason"]]
    return [Text(one_line(f"{row['configuration']} {row['status']}: {row['reason']}"), style="yellow") for row in failures[-2:]]


def _position(planned: PlannedLaunch, progress: RunProgress) -> str:
    total = str(len(progress.plan))
    return f"[{planned.slot + 1:>{len(total)}}/{total}]"


def _name(planned: PlannedLaunch) -> str:
    if planned.fault is not None:
        return f"{planned.configuration} with fault {planned.fault.kind}"
    return f"{planned.configuration} block {planned.block}"
