"""What is shown of a fleet?  The nodes to drain with their reasons, and every node's slowness in every test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.estimates.estimate import Value
from fireassay.estimates.format import count, percent, reading
from fireassay.frames.fleet import Fleet, fleet, nodes_in_order
from fireassay.reports import answering
from fireassay.reports.build_view import KindView
from fireassay.reports.charts.fleet import pairs, strip
from fireassay.reports.charts.of_view import Draw
from fireassay.reports.page import Answer, Cell, Head, Line, Next, Section, Table, Words, number
from fireassay.reports.pages import record
from fireassay.reports.pages.record_sheets import sheets
from fireassay.reports.pages.results import results
from fireassay.reports.view import FindingRow, View
from fireassay.spec.fleet import TESTS
from fireassay.stats.groups.slow_nodes import MIN_NODES

VIEW = KindView(fields=lambda view, measured, judgement: {"fleet": fleet(measured)})
MAX_NODES: Final = 12  # in the answer
DRAINS: Final = ("slow_node", "silent_node")
REPAIRS: Final = ("slow_link", "silent_link")
LEVELS: Final = "▁▂▃▄▅▆"
MAX_STRIP: Final = 64  # nodes
MAX_LINKS: Final = 40  # rows


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
    """The nodes to drain and the links to repair, every node in a strip, then the slowness that each test would have found."""
    found = _fleet(view)
    for label, rules, target in (("drain", DRAINS, "nodes"), ("repair", REPAIRS, "links")):
        bad = _found(view, rules)
        for finding in bad[:MAX_NODES]:
            yield Line(label=label, text=finding.evidence, mark=answering.mark("FAIL"), target="findings")
        if len(bad) > MAX_NODES:
            yield Line(label=label, text=f"{count(len(bad) - MAX_NODES, f'more {target}')}: --full", target="findings")
    if MIN_NODES <= len(found.nodes) <= MAX_STRIP:
        yield Line(label="nodes", text=strip_of(found), target="nodes")
    for test, result in found.tests.items():
        what = "link or node" if TESTS[test].links else "node"
        text = result.undecided or f"would have found a {what} {percent(result.findable or 1.0, way='up')} slower"
        decides = not result.undecided and (result.findable or 1.0) <= found.find
        yield Line(label=test, text=text, mark=answering.mark("PASS" if decides else "INCONCLUSIVE"), target="nodes")
    yield answering.doubts(view, stated=(*DRAINS, *REPAIRS))


def strip_of(found: Fleet) -> str:
    """A character per node: how slow it is, of the most that an ordinary node is, in its worst test."""
    nodes = nodes_in_order(found)
    text = "".join(_character(found, node) for node in nodes)
    return f"{text}  {nodes[0]} to {nodes[-1]}; X: slow, ?: silent, the higher the slower"


def _character(found: Fleet, node: str) -> str:
    if found.slow(node):
        return "X"
    if node in found.silent:
        return "?"
    parts = [result.nodes[node].slower / result.nodes[node].ordinary for result in found.tests.values() if node in result.nodes]
    return LEVELS[round(max(0.0, min(1.0, max(parts)) * (len(LEVELS) - 1)))] if parts else " "


def _next(view: View) -> Iterator[Next]:
    drained, links = _found(view, DRAINS), _found(view, REPAIRS)
    if drained or links:
        yield from (Next(reason="with Slurm", command=finding.remedy) for finding in drained[:MAX_NODES])
        yield from (Next(reason=finding.remedy) for finding in links[:1])
    elif view.status == "INCONCLUSIVE":
        yield Next(reason="measure more rounds (--rounds), or ask for less (--find)")
    else:
        yield from answering.remedies(view, ("invalid", "warning"))


def _found(view: View, rules: tuple[str, ...]) -> list[FindingRow]:
    return [finding for finding in view.findings if finding.rule in rules]


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
        *([Section(key="links", title="Links", content=(_links(found),))] if any(result.links for result in found.tests.values()) else []),
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
    tests = [test for test in found.tests if not TESTS[test].links]
    rows = tuple((Words(text=node), *(_rate(view.value(f"node_{test}_rate", node)) for test in tests)) for node in found.nodes)
    heads = (Head(text="Node"), *(Head(text=f"{test}, {TESTS[test].unit}") for test in tests))
    return Table(inline=True, name="rates", title="Rates", stub=1, heads=heads, rows=rows)


def _links(found: Fleet) -> Table:
    """The links of every test that stand out most."""
    every = [(test, link, result) for test, tested in found.tests.items() for link, result in tested.links.items()]
    every.sort(key=lambda row: (not row[2].slow, row[2].p_value, -row[2].slower))
    rows = tuple(
        (
            Words(text=f"{link[0]} {'>' if TESTS[test].of == 'direction' else '-'} {link[1]}"),
            Words(text=test),
            Words(text=reading(found.tests[test].values[link], TESTS[test].unit)),
            Words(text=f"{100.0 * result.slower:.1f} [{100.0 * result.ordinary:.1f}]", tone="bad" if result.slow else "plain"),
            Words(text=result.kind or "one class"),
        )
        for test, link, result in every[:MAX_LINKS]
    )
    left = len(every) - len(rows)
    return Table(
        inline=True,
        name="slowest-links",
        title="Slower than their nodes explain",
        stub=1,
        heads=tuple(Head(text=text) for text in ("Link", "test", "median", "slower", "class")),
        rows=rows,
        notes=(
            "Per cent slower than the two nodes and the class explain, and in brackets the most that an ordinary link is.",
            *([f"{count(left, 'more links')} are less conspicuous."] if left else []),
        ),
    )


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
    """The strip of nodes and the matrices of pairs."""
    return (strip, pairs)
