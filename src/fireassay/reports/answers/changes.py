"""How do the answers show a change?  In per cent with its interval, in tables and plots alike."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, Shown, show
from fireassay.reports.answering import shortened
from fireassay.reports.page import Chart, Line, Mark, Number, Section, Table, Tile
from fireassay.reports.rows.comparison import change_estimate

PERCENT: Final = Scale(factor=100.0, after=" %")
LONGEST_NAME: Final = 26  # characters of a name beside a plot
DECIDES: Final = Mark(word="decides", tone="gain")
MOST_DOUBTS: Final = 2  # told; others are counted


def in_percent(ratio: float, low: float, high: float, *, confidence: float, method: str = "", margins: Sequence[float] = ()) -> Number:
    """A ratio as a change from 0; `margins` are the fractions that it is compared with besides 0."""
    ends = (end - 1.0 if math.isfinite(end) else end for end in (ratio, low if low > 0.0 else -math.inf, high))
    value, least, most = (round(end, 9) + 0.0 for end in ends)  # a rounding residue is no change
    change = change_estimate(value, least, most, unit="fraction", confidence=confidence, method=method)
    shown = show(change, PERCENT, beside=(0.0, *margins))
    sign = "+" if value > 0.0 and shown.text.strip("0.% ") else ""
    return Number(shown=Shown(text=f"{sign}{shown.text}", interval=shown.interval, note="", value=change, scale=PERCENT))


def tile(title: str, mark: Mark, number: Number | None, text: str) -> Tile:
    """A change as one side of an answer."""
    return Tile(
        title=title,
        mark=mark,
        big=number.shown.text if number else "",
        small=number.shown.interval if number else "",
        text=text,
        target="changes",
    )


def name_of(title: str) -> str:
    """A title as the name of a row."""
    return shortened(title, LONGEST_NAME)


def sections(*blocks: Table | Chart) -> tuple[Section, ...]:
    """Blocks as brief sections."""
    return tuple(Section(key=f"brief-{block.name}", title="", depth="brief", content=(block,)) for block in blocks)


def doubts(notes: Sequence[str], most: int = MOST_DOUBTS) -> Line:
    """What weakens an answer: the first sentences, and how many more there are."""
    if not notes:
        return Line(label="doubts", text="none", target="notes")
    told = " ".join(shortened(note) for note in notes[:most])
    more = f" {len(notes) - most} more: --full" if len(notes) > most else ""
    return Line(label="doubts", text=f"{told}{more}", mark=Mark(word="doubt", tone="open", sign="~"), target="notes")


def launches_a_side(*values: object) -> int:
    """The smallest number of launches behind values; 0 if one has no number."""
    return min((value.n_launches if isinstance(value, Estimate) else 0 for value in values), default=0)


def command(*words: str) -> str:
    """A complete command, quoted for a shell."""
    return shlex.join(words)
