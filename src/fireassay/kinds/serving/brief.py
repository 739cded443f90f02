"""Which tables answer for a load on one screen?  Yield and price, latency, and the objectives against their gate, over the same rows.

A percentile that the requests cannot carry is a dash.  With several engines or scenarios each keeps its recommended load, else its
largest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, given, show
from fireassay.metrics.serving.cost import COST_PER_GOOD_TOKEN, COST_PER_REQUEST, COST_PER_TOKEN
from fireassay.metrics.serving.objectives import GOODPUT, SLO_ATTAINMENT
from fireassay.metrics.serving.throughput import INPUT_THROUGHPUT, OUTPUT_THROUGHPUT, REQUEST_THROUGHPUT
from fireassay.reports import answering, grouping
from fireassay.reports.charts.model import Edge, Interval, intervals
from fireassay.reports.page import Cell, Chart, Head, Mark, Number, Section, Table
from fireassay.reports.view import Column, View

IMAGE_THROUGHPUT, IMAGE_PRICE = "image_throughput", "cost_per_image"  # of records of images alone
YIELDS: Final = {
    IMAGE_THROUGHPUT: "images/s",
    OUTPUT_THROUGHPUT.name: "output tokens/s",
    INPUT_THROUGHPUT.name: "input tokens/s",
    REQUEST_THROUGHPUT.name: "requests/s",
}
GOOD: Final = {GOODPUT.name: "goodput, requests/s", REQUEST_THROUGHPUT.name: "requests/s"}
GOOD_PRICE: Final = COST_PER_GOOD_TOKEN.name
PRICES: Final = {  # the first that is known; with objectives that of a good token
    GOOD_PRICE: ("$ / 1M good tokens", Scale(factor=1e6, before="$", after=" per million good tokens")),
    IMAGE_PRICE: ("$ / 1,000 images", Scale(factor=1e3, before="$", after=" per 1,000 images")),
    COST_PER_TOKEN.name: ("$ / 1M tokens", Scale(factor=1e6, before="$", after=" per million tokens")),
    COST_PER_REQUEST.name: ("$ / 1,000 requests", Scale(factor=1e3, before="$", after=" per 1,000 requests")),
}
STREAMED: Final = ("ttft", "tpot")
WHOLE: Final = "e2e"  # without a stream there is only the end of an answer
TAILS: Final = ("p99", "p95")
SHORT: Final = {"ttft": "TTFT", "tpot": "TPOT", "e2e": "end to end"}
ROWS_OF_THREE, ROWS_OF_TWO = 4, 7  # loads shown in three tables and in two, so that all fit a screen; one less with several groups
REASONS: Final = {  # of a rule that voids a load
    "client_bound": "the client was measured",
    "load_not_achieved": "the client sent too little",
    "client_ceiling": "the client reached its limit",
    "client_died": "a client process died",
    "times_uncertain": "times are not known well",
    "littles_law": "times and rates disagree",
}


def brief(view: View) -> tuple[Section, ...]:
    """The evidence of the answer."""
    return answering.brief_sections(*cautioned(view, *_yields(view), *_latencies(view), *_objectives(view)))


def cautioned(view: View, *blocks: Table | Chart) -> tuple[Table | Chart, ...]:
    """The blocks, the first under what keeps all numbers from being quoted."""
    text = caution(view)
    return (replace(blocks[0], title=text), *blocks[1:]) if text and blocks else blocks


def caution(view: View) -> str:
    """ "all invalid: the client was measured"; "all provisional: 2 launches"; "" where the numbers stand.

    Where the findings void only some loads, those: the others are provisional, as nothing of the record may be quoted.
    """
    standing, why = answering.worth(view)
    found = [row for row in view.findings if row.severity == standing]
    said = REASONS.get(found[0].rule, why) if found else why
    void = {row.configuration for row in found}
    keys = [column.key for column in view.columns if column.key in void]
    if standing == "invalid" and void == set(keys) and 0 < len(keys) < len(view.columns):
        return f"invalid at {grouping.places(view, keys)}: {said}; the others provisional"
    return f"all {standing}: {said}" if standing else ""


# ---- rows ------------------------------------------------------------------------------------------------------------


def loads(view: View) -> tuple[Column, ...]:
    """The loads shown."""
    most = ROWS_OF_TWO if view.load.attainment is None else ROWS_OF_THREE
    if len(view.groups) == 1:
        return answering.some(view, view.columns, most)
    most = max(most - 1, 1)
    picked = recommended(view)
    groups = [[column for column in view.columns if column.group == group] for group in view.groups]
    first = [next((column for column in members if column.key in picked), members[-1]) for members in groups]
    ranked = [*first, *(column for column in reversed(view.columns) if column not in first)][:most]
    return tuple(column for column in view.columns if column in ranked)


def recommended(view: View) -> frozenset[str]:
    """The largest load within the objectives: of each engine and scenario where there are several."""
    return frozenset(row.configuration for row in view.recommendations if row.goal.startswith("recommended") and row.configuration)


def standing(view: View, key: str) -> Mark:
    """How a load stands; the recommended one of each engine is marked as such."""
    return Mark(word="recommended", tone="gain") if key in recommended(view) else answering.standing(view, key)


def load_name(column: Column) -> str:
    """A load as a number, or the arrival process if it was not varied."""
    return column.brief if column.load is None else given(column.load)


def unit(view: View) -> str:
    """The unit of a load."""
    return "in flight" if view.load_word == "concurrency" else "req/s"


def _stub(view: View) -> tuple[Head, ...]:
    group = () if len(view.groups) == 1 else (Head(text=_group_head(view)),)
    return (Head(text=""), *group, Head(text="load"))


def _group_head(view: View) -> str:
    several = {"engine": {column.engine for column in view.columns}, "scenario": {column.scenario for column in view.columns}}
    return ", ".join(name for name, values in several.items() if len(values) > 1)


def _names(view: View, column: Column) -> tuple[Cell, ...]:
    group: tuple[Cell, ...] = () if len(view.groups) == 1 else (column.group,)
    load = int(column.load) if column.load is not None and column.load == int(column.load) else load_name(column)
    return (standing(view, column.key), *group, load)


# ---- tables ----------------------------------------------------------------------------------------------------------


def _table(view: View, name: str, cells: Sequence[tuple[str, str, Scale | None]]) -> tuple[Table, ...]:
    """A table of metrics, as (head, metric, scale); none without a metric."""
    if not cells:
        return ()
    stub = _stub(view)
    rows = tuple((*_names(view, column), *(_cell(view, metric, column, scale) for _, metric, scale in cells)) for column in loads(view))
    return (Table(name=name, heads=(*stub, *(Head(text=head) for head, _, _ in cells)), rows=rows, stub=len(stub)),)


def _cell(view: View, metric: str, column: Column, scale: Scale | None) -> Cell:
    number = answering.cell(view, metric, column.key)
    return number if number is None or scale is None else replace(number, shown=show(number.value, scale))


def known(view: View, metric: str) -> bool:
    """True if a metric has a number at some load."""
    return any(view.estimate(metric, column.key) for column in view.columns)


def _yields(view: View) -> tuple[Table, ...]:
    made = next((metric for metric in YIELDS if known(view, metric)), "")
    good = next((metric for metric in GOOD if metric != made and known(view, metric)), "")
    price = next((metric for metric in PRICES if known(view, metric) and "cost" in view.dimensions), "")
    cells = [(heads[metric], metric, None) for heads, metric in ((YIELDS, made), (GOOD, good)) if metric]
    return _table(view, "yield", [*cells, *([(PRICES[price][0], price, PRICES[price][1])] if price else [])])


def latencies(view: View) -> tuple[str, ...]:
    """The measured latencies: to the first token and per token, or of whole answers."""
    streamed = tuple(stem for stem in STREAMED if known(view, f"{stem}_p50"))
    return streamed or tuple(stem for stem in (WHOLE,) if known(view, f"{stem}_p50"))


def _latencies(view: View) -> tuple[Table, ...]:
    """Median and the farthest tail that any load carries; of several engines only the tail of the time per token, for want of room."""
    stems = latencies(view)
    metrics = [(stem, percentile) for stem in stems for percentile in ("p50", _tail(view, stem)) if percentile]
    if len(view.groups) > 1 and ("tpot", _tail(view, "tpot")) in metrics:
        metrics = [pair for pair in metrics if pair != ("tpot", "p50")]
    return _table(view, "latency", [(_latency_head(view, *pair), "_".join(pair), None) for pair in metrics])


def _tail(view: View, stem: str) -> str:
    return next((tail for tail in TAILS if known(view, f"{stem}_{tail}")), "")


def _latency_head(view: View, stem: str, percentile: str) -> str:
    row = view.metric(f"{stem}_{percentile}")
    return f"{SHORT[stem]} {percentile}, {row.shown_unit if row else ''}"


def _objectives(view: View) -> tuple[Chart, ...]:
    """The share of the requests within the objectives against the required one."""
    gate = view.load.attainment
    rows = tuple(_share(view, column, gate) for column in loads(view)) if gate is not None else ()
    measured = tuple(row for row in rows if isinstance(row.number.value, Estimate))
    if gate is None or not measured:
        return ()
    edges = (Edge(value=gate, text="required"),)
    return (intervals(name="objectives", title="met objectives, %", stub=unit(view), rows=measured, edges=edges),)


def _share(view: View, column: Column, gate: float) -> Interval:
    """One load; its digits show on which side of the gate it lies."""
    value = view.value(SLO_ATTAINMENT.name, column.key)
    assert value is not None  # computed for every load of a record with objectives
    shown = show(value, Scale(factor=100.0, after=" %"), beside=(gate,))
    name = " ".join(_plot_names(view, column))
    return Interval(name=name, number=Number(shown=shown, bare=True), mark=standing(view, column.key), target="numbers")


def _plot_names(view: View, column: Column) -> Iterator[str]:
    if len(view.groups) > 1:
        yield column.group
    yield load_name(column)
