"""What happened second by second?

One launch in bins of equal length: requests due, good and failed, with everything outside of the measured window, faults and outages
tinted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from fireassay.estimates.format import given, reading, scale_for
from fireassay.frames.record_data import RecordData
from fireassay.reports.charts.axes import linear, written_tick
from fireassay.reports.charts.model import Area, Box, Chart, Dot, Drawn, Key, Line, Panel, Role, named
from fireassay.reports.view import View
from fireassay.units import NS_PER_S

HEIGHT: Final = 130
LOWER: Final = 80
KINDS: Final[tuple[tuple[str, str, Role], ...]] = (
    ("good", "answered, every objective met", "blue"),
    ("late", "answered, an objective missed", "orange"),
    ("failed", "failed", "fail"),
)
MAX_BINS: Final = 150
BIN_REQUESTS: Final = 8  # per bin on average, so that bins show more than chance
WIDTHS_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)
MAX_TIMELINES: Final = 6


@dataclass(frozen=True, kw_only=True)
class Bin:
    """A time bin of a load: the requests due in it, by outcome."""

    begin_s: float  # after the load began
    end_s: float
    due: int
    ok: int
    met: int  # requests that met every objective
    failed: int
    ttft_s: float | None  # median of those answered


@dataclass(frozen=True, kw_only=True)
class Span:
    """A period in seconds after the load began; `end_s` is None if its end was not recorded."""

    kind: str  # fault or down
    what: str
    begin_s: float
    end_s: float | None


@dataclass(frozen=True, kw_only=True)
class LoadTimeline:
    """One launch, second by second."""

    launch: int
    configuration: str
    role: str
    window_s: tuple[float, float] | None  # the measured window
    bins: tuple[Bin, ...]
    spans: tuple[Span, ...]


@named("load-timeline")
def load_timeline(view: View) -> Iterator[Chart]:
    """One chart per launch shown, those with faults first."""
    for line in load_timelines(view.measured):
        label, spans = f"{view.label(line.configuration)}, launch #{line.launch}", "; ".join(map(_span_words, line.spans))
        caption = f"{spans}." if spans else "Requests are drawn when they were due, not when they were answered."
        due, ok, met = (sum(getattr(one, name) for one in line.bins) for name in ("due", "ok", "met"))
        words = f"{due} requests were due, {ok} were answered, {met} of them met every objective, {due - ok} failed."
        yield Chart(
            title=f"Under a fault: {label}" if line.role == "fault" else f"Over time: {label}",
            panels=tuple(_panels(line)),
            caption=caption,
            description=f"{words} {caption}",
            key=tuple(_keys(line)),
        )


def _panels(line: LoadTimeline) -> Iterator[Panel]:
    """Bars of requests due per second, by outcome; median time to first token in the same bins, if any answer had one."""
    end, since, boxes = line.bins[-1].end_s, "seconds after the load began", tuple(_stacked(line))
    known = [(one, one.ttft_s) for one in line.bins if one.ttft_s is not None]
    top = max((box.high for box in boxes), default=1.0) * 1.05
    x, y = linear(0, end, "" if known else since, grid=False), linear(0, top, most=4)
    yield Panel(x=x, y=y, marks=(*_shades(line), *boxes), height=HEIGHT, title="requests due per second")
    if not known:
        return
    scale = scale_for("s", (seconds for _, seconds in known))
    at = [((b.begin_s + b.end_s) / 2, None if b.ttft_s is None else b.ttft_s * scale.factor) for b in line.bins]
    dots = (
        Dot(x=(b.begin_s + b.end_s) / 2, y=s * scale.factor, role="ink", tip=f"{written_tick(b.begin_s)} s: {reading(s, 's')}")
        for b, s in known
    )
    x, y = linear(0, end, since, grid=False), linear(0, max(seconds for _, seconds in known) * scale.factor * 1.1, most=3)
    marks = (*_shades(line), Line(points=tuple(at), role="ink", thin=True), *dots)
    yield Panel(x=x, y=y, marks=marks, height=LOWER, title=f"median TTFT, {scale.label}, by when the request was due")


def _stacked(line: LoadTimeline) -> Iterator[Box]:
    for one in line.bins:
        width, bottom, a, b = one.end_s - one.begin_s, 0.0, one.begin_s, one.end_s
        for (kind, words, role), number in zip(KINDS, (one.met, one.ok - one.met, one.failed), strict=True):
            if number:
                high, tip = bottom + number / width, f"{written_tick(a)} to {written_tick(b)} s\n{number} {words}"
                yield Box(left=a, right=b, low=bottom, high=high, role=role, series=kind, tip=tip)
                bottom = high


def _shades(line: LoadTimeline) -> Iterator[Drawn]:
    """Tints outside of the measured window, of faults and of outages."""
    end = line.bins[-1].end_s
    outside = [] if line.window_s is None else [(0.0, line.window_s[0]), (line.window_s[1], end)]
    spans = {kind: [_ends(span, end) for span in line.spans if span.kind == kind] for kind in ("fault", "down")}
    shades: tuple[tuple[Role, list[tuple[float, float]], float], ...] = (
        ("soft", outside, 0.2),
        ("fail", spans["fault"], 0.16),
        ("plum", spans["down"], 0.22),
    )
    for role, some, strong in shades:
        yield from (Area(left=left, right=right, role=role, strong=strong) for left, right in some if right > left)


def _ends(span: Span, end: float) -> tuple[float, float]:
    return max(0.0, span.begin_s), min(end, end if span.end_s is None else span.end_s)


def _span_words(span: Span) -> str:
    until = f"to {given(round(span.end_s, 2))} s" if span.end_s is not None else "on"
    return f"{span.what} from {given(round(span.begin_s, 2))} s {until}"


def _keys(line: LoadTimeline) -> Iterator[Key]:
    """Key entries for what the chart contains."""
    kinds, spans = {box.series for box in _stacked(line)}, {span.kind for span in line.spans}
    yield from (Key(mark="bar", role=role, text=words, series=kind) for kind, words, role in KINDS if kind in kinds)
    if line.window_s is not None:
        yield Key(mark="band", role="soft", text="outside of the measured window")
    if "fault" in spans:
        yield Key(mark="band", role="fail", text="fault")
    if "down" in spans:
        yield Key(mark="band", role="plum", text="a replica was down, by the prober")


# ---- what happened ---------------------------------------------------------------------------------------------------


def load_timelines(measured: RecordData) -> Iterator[LoadTimeline]:
    """Timelines of every launch with a fault, and of the first timed launch at the largest load per engine and scenario."""
    launches = measured.table("launches").filter(pl.col("status") == "ok").sort("launch")
    faults = launches.filter(pl.col("role") == "fault")
    largest = {(one.target, one.scenario): one.name for one in measured.varied}  # ascending by load: the last one wins
    first = launches.filter((pl.col("role") == "timed") & pl.col("configuration").is_in(list(largest.values())))
    kept = first.unique("configuration", keep="first", maintain_order=True)
    for launch in [*faults.iter_rows(named=True), *kept.iter_rows(named=True)][:MAX_TIMELINES]:
        window = measured.served.windows.filter(pl.col("launch") == launch["launch"]).row(0, named=True)
        rows = measured.served.requests.filter((pl.col("launch") == launch["launch"]) & (pl.col("phase") != "cold"))
        t0 = window["t0_ns"]
        if t0 is not None and rows.height:
            inside = ((window["begin_ns"] - t0) / NS_PER_S, (window["end_ns"] - t0) / NS_PER_S) if window["seconds"] is not None else None
            yield LoadTimeline(
                launch=launch["launch"],
                configuration=launch["configuration"],
                role=launch["role"],
                window_s=inside,
                bins=tuple(_bins(rows, t0)),
                spans=tuple(_spans(measured, launch["launch"], t0)),
            )


def _bins(requests: pl.DataFrame, t0: int) -> Iterator[Bin]:
    since = requests.with_columns(at=(pl.col("scheduled_ns") - t0) / NS_PER_S)
    last = max(float(since["at"].max() or 0.0), 1e-9)  # type: ignore[arg-type]
    widest = max(last / MAX_BINS, BIN_REQUESTS * last / max(requests.height, 1))
    width = next((step for step in WIDTHS_S if step >= min(widest, last / 10)), last)
    grouped = (
        since.group_by((pl.col("at") / width).floor().cast(pl.Int64).alias("bin"))
        .agg(pl.len().alias("due"), pl.col("ok").sum(), pl.col("met").sum(), pl.col("ttft_s").filter("ok").median())
        .sort("bin")
    )
    every = pl.DataFrame({"bin": range(int(grouped["bin"].min() or 0), int(grouped["bin"].max() or 0) + 1)})  # type: ignore[arg-type]
    filled = every.join(grouped, on="bin", how="left").with_columns(pl.col("due", "ok", "met").fill_null(0)).sort("bin")
    for row in filled.iter_rows(named=True):
        at = row.pop("bin")
        yield Bin(begin_s=at * width, end_s=(at + 1) * width, failed=row["due"] - row["ok"], **row)


def _spans(measured: RecordData, launch: int, t0: int) -> Iterator[Span]:
    """Faults and outages; each begin is matched with the next end of the same replica."""
    events = measured.table("events").filter(pl.col("launch") == launch).sort("ns")
    for kind, begin, end in (("fault", "fault", "fault_end"), ("down", "replica_down", "replica_up")):
        for row in events.filter(pl.col("kind") == begin).iter_rows(named=True):
            same = (pl.col("ns") >= row["ns"]) & pl.col("value").eq_missing(row["value"])
            later = events.filter((pl.col("kind") == end) & same)["ns"]
            last = (int(later[0]) - t0) / NS_PER_S if len(later) else None
            yield Span(kind=kind, what=_what(kind, row), begin_s=(row["ns"] - t0) / NS_PER_S, end_s=last)


def _what(kind: str, row: Mapping[str, Any]) -> str:
    who = "" if row["value"] is None else f" replica {int(row['value'])}"
    if kind == "down":
        return f"{who.strip() or 'a replica'} down"
    detail = json.loads(row["detail"] or "{}")
    return f"{detail.get('kind') or detail.get('fault') or 'fault'}{who}"
