"""How far is something long that is no experiment: judging records, checking files, importing?

A bar with the time left on standard error, of what takes longer than a moment; nothing in a pipe or with --quiet.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from fireassay.cli.support.output import coloured
from fireassay.cli.support.settings import USED
from fireassay.printable import Rewritten

if TYPE_CHECKING:
    from rich.progress import Progress

    from fireassay.api.records.survey import Entry

Advance = Callable[[int, int], None]  # done, of how many
SOON_S: Final = 1.0  # what ends before needs no bar
REDRAW_S: Final = 0.2


@contextmanager
def bar(what: str, stream: TextIO | None = None, now: Callable[[], float] = time.monotonic) -> Iterator[Advance | None]:
    """A function to call with the progress during the body; None if nobody watches."""
    stream = stream or sys.stderr
    if USED.get().quiet or not stream.isatty():
        yield None
        return
    drawn = _Drawn(what, stream, now)
    try:
        yield drawn.advance
    finally:
        drawn.close()


class _Drawn:
    """Starts to draw after a moment; rich is loaded only then."""

    def __init__(self, what: str, stream: TextIO, now: Callable[[], float]) -> None:
        self._what, self._stream, self._now = what, stream, now
        self._begun = self._shown = now()
        self._progress: Progress | None = None

    def advance(self, done: int, total: int) -> None:
        """Draw, unless drawn a moment ago."""
        now = self._now()
        if now - self._begun < SOON_S or (now - self._shown < REDRAW_S and done < total):
            return
        self._shown = now
        if self._progress is None:
            self._progress = self._start()
        left = (now - self._begun) / done * (total - done) if done else None
        text = "" if left is None else f"about {max(1, round(left))} s left" if done < total else ""
        self._progress.update(self._progress.task_ids[0], completed=done, total=total, left=text, refresh=True)

    def _start(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        console = Console(file=self._stream, no_color=not coloured(self._stream))
        shown = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[left]}"))
        progress = Progress(*shown, console=console, auto_refresh=False, transient=True)
        progress.add_task(self._what, left="")
        progress.start()
        return progress

    def close(self) -> None:
        """Remove the bar from the screen."""
        if self._progress is not None:
            self._progress.stop()


def judged_entries(entries: Sequence[Entry], cache: Path) -> list[Entry]:
    """The same records, every complete one judged, with the progress on standard error."""
    if not (waiting := [entry for entry in entries if entry.judgeable]):
        return list(entries)
    from fireassay.api.lookup import suit_threads  # deferred: without a new record, nothing that judges is loaded

    suit_threads(waiting[0].path)
    from fireassay.api.records.sides import all_judged

    with judging_shown(sys.stderr, skip="--no-judge skips it") as progress:
        return all_judged(entries, cache, progress, bar)


@contextmanager
def judging_shown(stream: TextIO, *, skip: str) -> Iterator[Callable[[int, int, Entry], None]]:
    """Progress of `all_judged`: one line that is redrawn on a terminal, else one line at the start; nothing with --quiet.

    `skip`: how to do without.
    """
    if USED.get().quiet:
        yield lambda *_: None
        return
    line = Rewritten(stream)
    redraws = stream.isatty()

    def show(number: int, total: int, entry: Entry) -> None:
        if redraws:
            line.show(f"judging {number} of {total}: {entry.record} ({skip})")
        elif number == 1:
            print(f"judging {total} {'records' if total > 1 else 'record'} for the first time ({skip})", file=stream, flush=True)

    with line.shown():
        yield show
