"""What is shown of a fleet?  The nodes to drain with their reasons, and every node's slowness in every test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.estimates.estimate import Value
from fireassay.estimates.format import count, percent
from fireassay.frames.fleet import Fleet, fleet
from fireassay.reports import answering
from fireassay.reports.build_view import KindView
from fireassay.reports.charts.of_view import Draw
from fireassay.reports.page import Answer, Cell, Head, Line, Next, Section, Table, Words, number
from fireassay.reports.pages import record
from fireassay.reports.pages.record_sheets import sheets
from fireassay.reports.pages.results import results
from fireassay.reports.view import FindingRow, View
from fireassay.spec.fleet import TESTS

VIEW = KindView(fields=lambda view, measured, judgement: {"fleet": fleet(measured)})
MAX_NODES: Final = 12  # in the answer
DRAINS: Final = ("slow_node", "silent_node")


def answer(view: View) -> Answer:
    """Status, then the nodes to drain and the lines that drain them."""
    invalid = view.status == "INVALID"
    return Answer(
        mark=answering.mark(view.status, {"PASS": "FIT", "FAIL": "DRAIN"}.get(view.status, "")),
        headline=f"no number counts: {answering.verdict_words(view)}" if invalid else answering.verdict_words(view),
        tiles=answering.tiles(view),
        lines=() if invalid else tuple(_lines(view)),
        next=tuple(_next(view)),
        record=answering.record_line(view, count(answering.timed(view), "rounds")),
    )


def _lines(view: View) -> Iterator[Line]:
    """The nodes to drain, then the slowness that each test would have found."""
    drained = _drained(view)
    for finding in drained[:MAX_NODES]:
        yield Line(label="drain", text=finding.evidence, mark=answering.mark("FAIL"), target="findings")
    if len(drained) > MAX_NODES:
        yield Line(label="drain", text=f"{count(len(drained) - MAX_NODES, 'more nodes')}: --full", target="findings")
    for test, result in _fleet(view).tests.items():
        text = result.undecided or f"would have found a node {percent(result.findable or 1.0, way='up')} slower"
        decides = not result.undecided and (result.findable or 1.0) <= _fleet(view).find
        yield Line(label=test, text=text, mark=answering.mark("PASS" if decides else "INCONCLUSIVE"), target="nodes")
    yield answering.doubts(view, stated=DRAINS)


def _next(view: View) -> Iterator[Next]:
    if drained := _drained(view):
        yield from (Next(reason="with Slurm", command=finding.remedy) for finding in drained[:MAX_NODES])
    elif view.status == "INCONCLUSIVE":
        yield Next(reason="measure more rounds (--rounds), or ask for less (--find)")
    else:
        yield from answering.remedies(view, ("invalid", "warning"))


def _drained(view: View) -> list[FindingRow]:
    return [finding for finding in view.findings if finding.rule in DRAINS]


def _fleet(view: View) -> Fleet:
    if view.fleet is None:
        raise ValueError("not a record of a fleet")
    return view.fleet


def page(view: View) -> tuple[Section, ...]:
    """The sections of such a record."""
    found = _fleet(view)
    return (
        record.dimensions(view),
        Section(key="nodes", title="Nodes", content=(_nodes(found), _rates(view, found))),
        record.charts(view),
        record.findings(view),
        *record.how(view, record.TRAINING_COLUMNS),
        *sheets(view),
        *results(view),
    )


def _nodes(found: Fleet) -> Table:
    """A row for each node, those to drain first."""
    drained = found.drained
    rows = (*drained, *(node for node in found.nodes if node not in drained))
    return Table(
        inline=True,
        name="nodes",
        title="Slower than the fleet",
        stub=1,
        heads=(Head(text="Node"), *(Head(text=test) for test in found.tests), Head(text="verdict")),
        rows=tuple((Words(text=node), *(_cell(found, test, node) for test in found.tests), _verdict(found, node)) for node in rows),
        notes=("Per cent slower than the middle of the fleet, and in brackets the most that an ordinary node is; below 0: faster.",),
    )


def _rates(view: View, found: Fleet) -> Table:
    """Every node's rates."""
    rows = tuple((Words(text=node), *(_rate(view.value(f"node_{test}_rate", node)) for test in found.tests)) for node in found.nodes)
    heads = (Head(text="Node"), *(Head(text=f"{test}, {TESTS[test].unit}") for test in found.tests))
    return Table(inline=True, name="rates", title="Rates", stub=1, heads=heads, rows=rows)


def _rate(value: Value | None) -> Cell:
    return None if value is None else number(value)


def _cell(found: Fleet, test: str, node: str) -> Cell:
    result = found.tests[test].nodes.get(node)
    if result is None:
        return Words(text="no rate" if node in found.silent else "too few", tone="absent")
    return Words(text=f"{100.0 * result.slower:.1f} [{100.0 * result.ordinary:.1f}]", tone="bad" if result.slow else "plain")


def _verdict(found: Fleet, node: str) -> Cell:
    if found.slow(node):
        return Words(text="slow", tone="bad")
    return Words(text="silent", tone="bad") if node in found.silent else Words(text="ordinary", tone="plain")


def charts(_: View) -> tuple[Draw, ...]:
    """None: the table says it all."""
    return ()
