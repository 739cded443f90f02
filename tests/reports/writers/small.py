"""A small page that holds one of everything, with text from somebody who means harm."""

from __future__ import annotations

from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import Scale
from fireassay.reports.charts.model import Edge, Interval, intervals
from fireassay.reports.page import (
    Answer,
    Bullet,
    Bullets,
    Chart,
    Facts,
    Figure,
    Head,
    Line,
    Mark,
    Next,
    Page,
    Part,
    Prose,
    Raw,
    Section,
    Sum,
    Table,
    Tile,
    Words,
    heads,
    number,
)

EVIL: Final = "=cmd()<script>alert('x')</script>\"'\\ \x1b[31m\x9b| [x](javascript:1) \\input{a} \u202e"


def estimate(value: float, unit: str = "s") -> Estimate:
    return Estimate(
        value=value,
        low=0.9 * value,
        high=1.1 * value,
        unit=unit,
        confidence=0.95,
        n_launches=5,
        n_trials=50,
        method="Student t",
        signature="step_time|k:5",
    )


ABSENT: Final = Absent(reason="not_measured", detail="no evaluation was recorded")
NUMBERS: Final = Table(
    name="numbers",
    heads=heads("Metric", "1 worker", "2 workers"),
    rows=(
        ("Step time", number(estimate(0.1)), number(estimate(0.05))),
        ("Quality", number(ABSENT), number(ABSENT)),
        ("Serial fraction", number(estimate(0.02, "fraction"))),
    ),
    notes=("a note",),
    reasons=(Bullet(title="Quality", text=ABSENT.detail),),
)
LOADS: Final = Table(
    name="loads",
    title="Loads",
    inline=True,
    opens=True,
    heads=(Head(text="In flight"), Head(text="p50, ms", above="TTFT"), Head(text="p99, ms", above="TTFT")),
    rows=(("8", number(estimate(0.2), bare=True), number(Absent(reason="insufficient", detail="5 requests"), bare=True)),),
)
STATES: Final = Table(
    name="states",
    explained=True,
    heads=heads("Configuration", "Correctness"),
    rows=((Words(text="1 worker"), Mark(word="fail", tone="bad", why="the losses differ")),),
)
PAGE: Final = Page(
    title=f"small {EVIL}",
    mark=Mark(word="fail", tone="bad"),
    meaning="a gate was missed",
    lead="B is slower than A.",
    about=("Studied: code.",),
    sections=(
        Section(key="numbers", title="Numbers", content=(NUMBERS, Chart(name="none", title="Chart", missing="no data"))),
        Section(key="states", title="States", content=(STATES,)),
        Section(
            key="findings",
            title="Findings",
            content=(
                Bullets(
                    items=(
                        Bullet(
                            mark=Mark(word="warning", tone="open", sign="!"), title="few_trials", where="a", text=EVIL, todo="make more"
                        ),
                        Bullet(title="several", where="a", text="one", more=(("b", "two"), ("c", "three"), ("d", "four"))),
                    )
                ),
            ),
        ),
        Section(key="empty", title="Nothing", content=(Bullets(items=(), empty="none: every audit passed"),)),
        Section(
            key="facts",
            title="Conditions",
            depth="detail",
            content=(Facts(rows=(("Launches", EVIL),)), Prose(text="line\n  indented", weight="code"), Prose(text="quiet", weight="quiet")),
        ),
        Section(key="loads", title="All loads", depth="appendix", content=lambda: (LOADS,)),
    ),
    footer=("Intervals: 95 %.",),
    properties={"created": "2026-02-03T00:00:00Z"},
)
DATA: Final = Page(
    title="data",
    sections=(
        PAGE.sections[0],
        Section(
            key="sheet",
            title="Sheet",
            role="data",
            content=(
                Table(
                    name="sheet",
                    heads=heads("Name", "s"),
                    rows=((EVIL, Figure(value=0.25, style="0.000")), ("inf", Figure(value=float("inf")))),
                ),
            ),
        ),
        Section(
            key="raw",
            title="Raw",
            role="data",
            content=(Raw(name="raw", heads=("a", "b"), frame=pl.DataFrame({"a": ["x"], "b": [1.5]}), rows=(("left", None),)),),
        ),
        Section(key="paper", title="Results", role="publication", content=(Prose(text="It is fast."),)),
    ),
)
WHY: Final = Sum(
    name="why",
    title="why not faster: 4 workers take 188 ms a step, 121 more than 267 / 4",
    unit="ms",
    measured=(Part(text="1 worker", number=number(estimate(0.267)), role="base"),),
    start=Part(text="a perfect split over 4 workers", number=number(estimate(0.0668)), role="ideal"),
    parts=(
        Part(text="computing that did not shrink", number=number(estimate(0.080)), role="computing"),
        Part(text="not explained", number=number(estimate(0.0412)), role="unknown"),
    ),
    total=Part(text="4 workers, measured", number=number(estimate(0.188)), role="total"),
)
ANSWERED: Final = Page(
    title=f"digits {EVIL}",
    mark=Mark(word="no gain", tone="gain"),
    lead=f"Quoted {EVIL}",
    answer=Answer(
        mark=Mark(word="no gain", tone="gain"),
        headline=f"keep 1 worker {EVIL}",
        evidence=f"No larger count passes; see launch 7 {EVIL}.",
        tiles=(
            Tile(title="Correctness", mark=Mark(word="held", tone="good"), text=EVIL, big="0.984", small="accuracy", target="levels"),
            Tile(title="Performance", mark=Mark(word="fails", tone="bad"), text="too slow", marks=(Mark(word="2", tone="bad", why=EVIL),)),
        ),
        lines=(Line(label="doubts", text=f"~ {EVIL}"), Line(label="wanted", text="more launches")),
        next=(Next(reason=f"decide {EVIL}", command=f"assay run x --workers 1,2 {EVIL}"),),
        about=EVIL,
    ),
    sections=(
        Section(
            key="brief-efficiency",
            title="",
            role="answer",
            content=(
                intervals(
                    name="efficiency",
                    title="efficiency, %",
                    stub="workers",
                    rows=(Interval(name=f"2 {EVIL}", number=number(estimate(0.6, "fraction")), target="level-2"),),
                    edges=(Edge(value=0.7, text=EVIL),),
                ),
            ),
        ),
        Section(key="brief-why", title="", role="answer", content=(WHY,)),
        Section(
            key="levels",
            title="Levels",
            question="What does each give?",
            reply=f"Launch 7 {EVIL}",
            content=(
                Table(
                    name="levels",
                    anchor="level",
                    heads=heads("workers", "step, ms"),
                    rows=tuple(
                        (str(w), number(estimate(0.2 / w), Scale(factor=1e3, after=" ms"), bare=True))
                        for w in (1, 2, 4, 8, 16, 32, 64, 128, 256)
                    ),
                ),
                Table(name="launches", anchor="launch", heads=heads("#", "end"), rows=((7, "ok"), (8, EVIL))),
            ),
        ),
    ),
)
