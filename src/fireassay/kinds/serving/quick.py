"""What does one launch of a load say?  Raw rates and percentiles: no interval, no verdict, and the flag that brings both.

A percentile is that of the requests counted (`fireassay.reports.raw`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import duration
from fireassay.kinds.serving import answer as of_load
from fireassay.kinds.serving.brief import SHORT, STREAMED, WHOLE, YIELDS, cautioned, known
from fireassay.reports import answering
from fireassay.reports.answering import mark
from fireassay.reports.cost_line import cost_line
from fireassay.reports.page import Answer, Cell, Head, Line, Section, Table
from fireassay.reports.raw import digits, for_both, percentiles, shares
from fireassay.reports.view import Column, View
from fireassay.units import NS_PER_S

EXAMPLE: Final = {True: "ttft=500ms", False: "e2e=5s"}  # an objective that a user replaces; by whether answers are streamed
IMPRECISE: Final = ("times_uncertain",)  # rules on how well a time is known


def is_quick(view: View) -> bool:
    """True if no load has more than one launch and nothing was asked: there is nothing to judge."""
    timed = [launch.configuration for launch in view.launches if launch.role == "timed" and launch.status == "ok"]
    asked = view.load.attainment is not None or view.status not in ("MEASURED", "INVALID")
    return not view.foreign and not asked and bool(timed) and len(timed) == len(set(timed))


def answer(view: View) -> Answer:
    """What was sent, and the way to a verdict."""
    if view.status == "INVALID":
        return of_load.answer(view)
    objective = EXAMPLE[any(_times(_counted(view, column), STREAMED[0]) for column in view.columns)]
    again = f"assay load {answering.short(view)} --slo {objective}"
    return Answer(
        mark=mark(view.status),
        headline=_headline(view),
        lines=(
            *_imprecise(view),
            *(line for line in [cost_line(view, view.columns[-1].key, of="launch", shown=True)] if line),
            answering.doubts(view, stated=IMPRECISE if _imprecise(view) else ()),
            *_uncounted(view),
        ),
        next=(for_both(again),),
        record=f"{answering.short(view)}, 1 launch{' per load' if len(view.columns) > 1 else ''}; all: --full",
    )


def _imprecise(view: View) -> tuple[Line, ...]:
    """ "TTFT known to 1.4 ms only": what a reader of the percentiles has to know first."""
    told = [row for row in view.findings if row.rule in IMPRECISE]
    where = {row.configuration for row in told}
    texts = [f"{view.label(row.configuration)}: {row.evidence}" if len(where) > 1 and row.configuration else row.evidence for row in told]
    text = answering.shortened("; ".join(texts), of_load.TWO_LINES)
    return (Line(label="precision", text=text, mark=mark("INCONCLUSIVE", "warning"), target="findings"),) if told else ()


def _uncounted(view: View) -> tuple[Line, ...]:
    """Why there are no tokens per second."""
    if any(known(view, metric) for metric in tuple(YIELDS)[:2]) or not any(_counted(view, column)["ok"].any() for column in view.columns):
        return ()
    return (Line(label="not measured", text="tokens/s and TPOT: the answers state no usage; --tokenizer PATH counts their tokens"),)


def _headline(view: View) -> str:
    facts = {fact.name: fact.text for fact in view.conditions}
    model = facts.get("Model", "").partition(";")[0]
    loads = ", ".join(dict.fromkeys(column.brief for column in view.columns)) if len(view.columns) == 1 else f"{len(view.columns)} loads"
    spans = [_span_s(_counted(view, column)) for column in view.columns]
    lasted = f"{duration(max(spans))}{' each' if len(spans) > 1 else ''}" if any(spans) else ""
    return ", ".join(text for text in (f"model {model}" if model else "", loads, lasted) if text)


def _span_s(rows: pl.DataFrame) -> float:
    """From the first request to the last end; 0 without times."""
    begin, end = rows["start_ns"].min(), rows["done_ns"].max()
    return (end - begin) / NS_PER_S if isinstance(begin, int) and isinstance(end, int) else 0.0


def brief(view: View) -> tuple[Section, ...]:
    """The numbers as a terminal shows them."""
    blocks = raw(view)
    return answering.brief_sections(*(cautioned(view, *blocks) if view.status == "INVALID" else blocks))


def raw(view: View) -> tuple[Table, ...]:
    """Rates, then percentiles, over the same loads."""
    return (_rates(view), *_latencies(view))


def _counted(view: View, column: Column) -> pl.DataFrame:
    timed = [launch.number for launch in view.launches if launch.role == "timed" and launch.status == "ok"]
    rows = view.load.requests
    return rows.filter(pl.col("counted") & (pl.col("configuration") == column.key) & pl.col("launch").is_in(timed))


def _stub(view: View) -> tuple[tuple[Head, ...], dict[str, tuple[Cell, ...]]]:
    """The heads and cells that name a load; none where there is one."""
    if len(view.columns) == 1:
        return (), {column.key: () for column in view.columns}
    named = len(view.groups) > 1
    heads = (*((Head(text="engine"),) if named else ()), Head(text="load"))
    cells = {column.key: (*((column.group,) if named else ()), column.brief) for column in view.columns}
    return heads, cells


def _rates(view: View) -> Table:
    heads, names = _stub(view)
    made = [metric for metric in YIELDS if known(view, metric)]
    metrics = [*made[-1:], *made[:1]] if len(made) > 1 else made  # requests, and the first that counts tokens
    rows = tuple((*names[column.key], *_values(view, column, metrics)) for column in view.columns)
    texts = (*(YIELDS[metric].removeprefix("output ") for metric in metrics), "failed")
    return Table(name="rates", heads=(*heads, *(Head(text=text) for text in texts)), rows=rows, stub=max(1, len(heads)))


def _values(view: View, column: Column, metrics: list[str]) -> Iterator[Cell]:
    for metric in metrics:
        value = view.estimate(metric, column.key)
        yield None if value is None else digits(value.value)
    rows = _counted(view, column)
    yield f"{rows.height - rows['ok'].sum():,} of {rows.height:,}"


def _latencies(view: View) -> tuple[Table, ...]:
    heads, names = _stub(view)
    rows = tuple(row for column in view.columns for row in _rows(view, column, names[column.key]))
    if not rows:
        return ()
    stub = (*heads, Head(text="latency"))
    return (Table(name="percentiles", heads=(*stub, *shares(), Head(text="requests")), rows=rows, stub=len(stub)),)


def _rows(view: View, column: Column, name: tuple[Cell, ...]) -> Iterator[tuple[Cell, ...]]:
    answered = _counted(view, column)
    for stem in (*STREAMED, WHOLE):
        if values := _times(answered, stem):
            yield (*name, f"{SHORT[stem]}, ms", *percentiles(values), f"{len(values):,}")


def _times(answered: pl.DataFrame, stem: str) -> list[float]:
    """The known times of the answered requests in ascending order, seconds."""
    return answered.filter("ok")[f"{stem}_s"].drop_nulls().sort().to_list()
