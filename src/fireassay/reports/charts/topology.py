"""Which ranks are close to each other?

Two heat maps of all ordered pairs, latency and bandwidth; darker is slower. The range of shades is printed above each map. A pair
without a number has a dash or, with many ranks, an empty cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from fireassay.estimates.estimate import Estimate, Value
from fireassay.estimates.format import Scale, count, number, scale_for
from fireassay.frames.links.pairs import BYTES_PER_SECOND, Classes, Link, Matrix
from fireassay.reports.charts.model import Axis, Box, Chart, Drawn, Key, Label, Panel, Rule, named
from fireassay.reports.view import View
from fireassay.units import SECONDS

MOST_DRAWN: Final = 64  # ranks; 4096 cells
MOST_WRITTEN: Final = 8  # ranks up to which each cell shows its number
SIDE: Final = 290
PALEST, DARKEST = 0.12, 0.95
DIGITS: Final = 3
MOST_LABELS: Final = 16


@named("topology")
def topology(view: View) -> Iterator[Chart]:
    """The maps of every configuration whose ranks sent messages in pairs."""
    yield from (maps(pairs.matrix, pairs.classes) for pairs in view.pairs)


def maps(matrix: Matrix, seen: Classes) -> Chart:
    """Both maps, with lines between hosts, and the link classes in words."""
    title = f"Ranks and their links, {count(matrix.ranks, 'workers')}"
    if matrix.ranks > MOST_DRAWN:
        many = f"{matrix.ranks} ranks make too many cells; the table holds the slowest pairs, and the record all."
        return Chart(title=title, missing=many)
    latency, bandwidth = ([(link, getattr(link, what)) for link in matrix.links] for what in ("latency", "bandwidth"))
    if not any(isinstance(value, Estimate) for _, value in (*latency, *bandwidth)):
        return Chart(title=title, missing="No pair was measured.")
    classes = f"Pairs are not classified: {seen.refused}." if seen.refused else " ".join(seen.sentences)
    keys = [Key(mark="bar", role="blue", text="slower pairs are darker")]
    keys += [Key(mark="line", role="ink", text="border between hosts")] if _several(matrix) else []
    return Chart(
        title=title,
        panels=(_map(matrix, latency, "latency", dark_is_high=True), _map(matrix, bandwidth, "bandwidth", dark_is_high=False)),
        across=2,
        caption=f"{classes} Over all launches; the intervals of the slowest pairs are in the table.",
        description=_words(matrix, seen),
        key=tuple(keys),
    )


def _several(matrix: Matrix) -> bool:
    return len(set(matrix.hosts)) > 1


def _map(matrix: Matrix, values: Sequence[tuple[Link, Value]], what: str, *, dark_is_high: bool) -> Panel:
    known = [(link, value.value) for link, value in values if isinstance(value, Estimate)]
    unit = next((value.unit for _, value in values if isinstance(value, Estimate)), "")
    scale = scale_for(unit, [value for _, value in known])
    marks: tuple[Drawn, ...] = (*_cells(matrix, known, scale, dark_is_high=dark_is_high), *_missing(matrix, values), *_borders(matrix))
    title = f"{what}, {scale.label.replace(' per ', '/')}{_ends(known, scale)}; from rank (down) to rank (across)"
    return Panel(x=_axis(matrix, across=True), y=_axis(matrix, across=False), marks=marks, height=SIDE, title=title)


def _ends(known: Sequence[tuple[Link, float]], scale: Scale) -> str:
    """The values of the lightest and the darkest cell."""
    low, high = (_number(end(value for _, value in known) * scale.factor) for end in (min, max)) if known else ("", "")
    return "" if low == high else f": {low} to {high}"


def _missing(matrix: Matrix, values: Sequence[tuple[Link, Value]]) -> list[Label]:
    if matrix.ranks > MOST_WRITTEN:
        return []
    without = [link.pair for link, value in values if not isinstance(value, Estimate)]
    return [Label(x=receiver, y=_row(matrix, sender), text="–", anchor="middle", down=4) for sender, receiver in without]


def _row(matrix: Matrix, rank: int) -> float:
    """Rank 0 is the uppermost row."""
    return float(matrix.ranks - 1 - rank)


def _cells(matrix: Matrix, known: Sequence[tuple[Link, float]], scale: Scale, *, dark_is_high: bool) -> list[Box]:
    logs = [math.log(value) for _, value in known]
    low, high = (min(logs), max(logs)) if logs else (0.0, 0.0)
    boxes = []
    for (link, value), log in zip(known, logs, strict=True):
        part = (log - low) / (high - low) if high > low else 0.0
        shade = PALEST + (DARKEST - PALEST) * (part if dark_is_high else 1.0 - part)
        (sender, receiver), text = link.pair, _number(value * scale.factor)
        row = _row(matrix, sender)
        boxes.append(
            Box(
                left=receiver - 0.5,
                right=receiver + 0.5,
                low=row - 0.5,
                high=row + 0.5,
                shade=round(shade, 3),
                text=text if matrix.ranks <= MOST_WRITTEN else "",
                tip=f"{_label(matrix, sender)} to {_label(matrix, receiver)}\n{text}{scale.after}",
            )
        )
    return boxes


def _label(matrix: Matrix, rank: int) -> str:
    """The rank, and its host if there are several."""
    return f"{rank} {matrix.hosts[rank]}" if _several(matrix) else str(rank)


def _axis(matrix: Matrix, *, across: bool) -> Axis:
    """Ranks, in rows from above; only some have a label if there are many."""
    every = math.ceil(matrix.ranks / MOST_LABELS)
    labels = tuple(
        (float(rank) if across else _row(matrix, rank), str(rank) if across else _label(matrix, rank))
        for rank in range(0, matrix.ranks, every)
    )
    return Axis(low=-0.5, high=matrix.ranks - 0.5, ticks=labels, grid=False, centred=not across)


def _borders(matrix: Matrix) -> list[Rule]:
    """A line wherever the next rank is on another host."""
    if not _several(matrix):
        return []
    cuts = [rank for rank in range(1, matrix.ranks) if matrix.hosts[rank] != matrix.hosts[rank - 1]]
    return [
        *(Rule(x=rank - 0.5, role="ink") for rank in cuts),
        *(Rule(y=_row(matrix, rank) + 0.5, left=-0.5, right=matrix.ranks - 0.5, role="ink") for rank in cuts),
    ]


def _words(matrix: Matrix, seen: Classes) -> str:
    """The spread of each class in words, for screen readers."""
    parts = []
    for name in seen.names or ("all pairs",):
        links = [link for link in matrix.links if not seen.names or seen.kinds[link.pair] == name]
        latency = sorted(link.latency.value for link in links if isinstance(link.latency, Estimate))
        bandwidth = sorted(link.bandwidth.value for link in links if isinstance(link.bandwidth, Estimate))
        if latency and bandwidth:
            parts.append(f"{name}: latency {_range(latency, SECONDS)}, bandwidth {_range(bandwidth, BYTES_PER_SECOND)}.")
    return " ".join(parts)


def _range(values: Sequence[float], unit: str) -> str:
    scale = scale_for(unit, values)
    low, high = (_number(value * scale.factor) for value in (values[0], values[-1]))
    return f"{low}{'' if low == high else f' to {high}'}{scale.after.replace(' per ', '/')}"


def _number(value: float) -> str:
    rounded = float(f"{value:.{DIGITS}g}")  # first: rounding can add a digit, 9.999 to 10.0
    return number(rounded, max(0, DIGITS - 1 - math.floor(math.log10(rounded))))
