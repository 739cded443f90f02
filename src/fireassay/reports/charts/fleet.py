"""Which nodes of a fleet stand out, and which links?

A strip: a cell for each node, a row for each test; the stronger, the slower against the fleet, as a share of the most that an ordinary node
is. A matrix of pairs for each test of links: from the row's node to the column's; stronger is slower. Slow ones are red, silent ones grey.
A pair that was not sampled has no cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from fireassay.estimates.format import count, percent, reading
from fireassay.frames.fleet import Fleet, FleetResult, NodeResult, nodes_in_order
from fireassay.reports.charts.model import Axis, Box, Chart, Drawn, Key, Panel, Role, named
from fireassay.reports.view import View
from fireassay.spec.fleet import TESTS

MAX_STRIP: Final = 512
MAX_MATRIX: Final = 64
MAX_LABELS: Final = 16
SIDE: Final = 320
WAY: Final = "from node (down) to node (across)"
ROW: Final = 30
PALEST, DARKEST = 0.12, 0.95
FADED: Final = 0.6
KEYS: Final = (
    Key(mark="bar", role="blue", text="stronger is slower"),
    Key(mark="bar", role="fail", text="slow"),
    Key(mark="bar", role="grey", text="no answer"),
)


@named("fleet-strip")
def strip(view: View) -> Chart:
    """A cell for each node and test."""
    title = "Nodes"
    if (found := view.fleet) is None or not any(result.nodes for result in found.tests.values()):
        return Chart(title=title, missing="No test has enough nodes and rounds to compare them.")
    nodes = nodes_in_order(found)
    if len(nodes) > MAX_STRIP:
        return Chart(title=title, missing=f"{len(nodes)} nodes make too many cells; the table holds the slowest.")
    tests = list(found.tests)
    marks = [
        _cell(found, test, node, across=place, row=len(tests) - 1 - down)
        for down, test in enumerate(tests)
        for place, node in enumerate(nodes)
    ]
    bad = ", ".join(found.drained) or "none"
    return Chart(
        title=title,
        panels=(Panel(x=_across(nodes), y=_down(tests), marks=tuple(filter(None, marks)), height=50 + ROW * len(tests)),),
        caption="Strongest: as slow as an ordinary node ever is, or slower.",
        description=f"{count(len(nodes), 'nodes')} in {count(len(tests), 'tests')}; to drain: {bad}.",
        key=KEYS,
        in_tables=True,
    )


def _across(names: Sequence[str]) -> Axis:
    """A cell for each, from the left; not each has room for its name."""
    ticks = tuple((float(place), name) for place, name in enumerate(names))[:: math.ceil(len(names) / MAX_LABELS)]
    return Axis(low=-0.5, high=len(names) - 0.5, ticks=ticks, grid=False)


def _down(names: Sequence[str]) -> Axis:
    """The same, from above."""
    across = _across(names)
    return replace(across, ticks=tuple((len(names) - 1 - place, name) for place, name in across.ticks), centred=True)


def _cell(found: Fleet, test: str, node: str, *, across: int, row: int) -> Box | None:
    result = found.tests[test].nodes.get(node)
    if result is None:
        silent = test in found.silent.get(node, {})
        return _box(across, row, "grey", FADED, f"{node}: {test}: no answer") if silent else None
    role, tip = _role_and_tip(result)
    part = max(0.0, min(1.0, result.slower / result.ordinary))
    return _box(across, row, role, 1.0 if result.slow else PALEST + (DARKEST - PALEST) * part, f"{node}\n{test}: {tip}")


def _role_and_tip(result: NodeResult) -> tuple[Role, str]:
    words = f"{percent(abs(result.slower), 2)} {'slower' if result.slower >= 0.0 else 'faster'}; ordinary: at most {percent(result.ordinary, 2)}"
    return ("fail" if result.slow else "blue"), words


def _box(across: int, row: int, role: Role, shade: float, tip: str) -> Box:
    left, low = across - 0.5, row - 0.5
    return Box(left=left, right=left + 1.0, low=low, high=low + 1.0, role=role, shade=round(shade, 3), tip=tip)


# ---- pairs -----------------------------------------------------------------------------------------------------------


@named("fleet-pairs")
def pairs(view: View) -> Iterator[Chart]:
    """A matrix of each test of links."""
    for test, result in view.fleet.tests.items() if view.fleet is not None else ():
        if TESTS[test].links and view.fleet is not None:
            yield _matrix(view.fleet, test, result)


def _matrix(found: Fleet, test: str, result: FleetResult) -> Chart:
    nodes, title = nodes_in_order(found), f"Links: {TESTS[test].title}"
    if len(nodes) > MAX_MATRIX:
        return Chart(title=title, missing=f"{len(nodes)} nodes make too many cells; the table holds the slowest links.")
    if not result.values:
        return Chart(title=title, missing="No link has enough rounds.")
    place = {node: number for number, node in enumerate(nodes)}
    both = TESTS[test].of == "pair"
    marks: list[Drawn] = []
    for (first, second), value in result.values.items():
        for sender, receiver in ((first, second), (second, first)) if both else ((first, second),):
            link = result.links.get((first, second))
            role, tip = _role_and_tip(link) if link is not None else ("blue", "too few to compare")
            shade = 1.0 if link is not None and link.slow else _shade(value, result, slow_is_high=TESTS[test].lower)
            text = f"{sender} {'and' if both else 'to'} {receiver}\n{reading(value, TESTS[test].unit)}; {tip}"
            marks.append(_box(place[receiver], len(nodes) - 1 - place[sender], role, shade, text))
    for first, second in found.cut:
        if test in found.cut[first, second]:
            marks.append(_box(place[second], len(nodes) - 1 - place[first], "grey", FADED, f"{first} to {second}: no answer"))
    low, high = (reading(end(result.values.values()), TESTS[test].unit) for end in (min, max))
    slow = [f"{a} to {b}" for (a, b), one in result.links.items() if one.slow]
    return Chart(
        title=title,
        panels=(Panel(x=_across(nodes), y=_down(nodes), marks=tuple(marks), height=SIDE, title=f"{low} to {high}; {WAY}"),),
        caption="The slower the stronger, by the rate itself; red where neither the nodes nor the class of the link explain it.",
        description=f"{count(len(result.values), 'links')} between {low} and {high}; slow: {', '.join(slow[:20]) or 'none'}.",
        key=KEYS,
        in_tables=True,
    )


def _shade(value: float, result: FleetResult, *, slow_is_high: bool) -> float:
    logs = sorted(math.log(one) for one in result.values.values())
    part = (math.log(value) - logs[0]) / (logs[-1] - logs[0]) if logs[-1] > logs[0] else 0.0
    return PALEST + (DARKEST - PALEST) * 0.8 * (part if slow_is_high else 1.0 - part)
