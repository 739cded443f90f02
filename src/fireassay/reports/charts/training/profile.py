"""Where does the time of a profiled step go?

By unions of intervals of what ran; one bar per profiled rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fireassay.estimates.format import percent, reading, scale_for
from fireassay.reports.charts.chart import Drawing, Rows, above, bars, horizontal, segments, sized, used
from fireassay.reports.rows.profile import NO_OPERATOR
from fireassay.reports.view import View

NAME = "profile"
TITLE: Final = "Inside profiled steps"
PARTS: Final = (
    ("compute_ns", "computing", "main"),
    ("exposed_ns", "exposed communication", "fifth"),
    ("copy_ns", "copies", "third"),
    ("idle_ns", "idle", "rest"),
)
MOST: Final = 16  # bars


def draw(view: View) -> list[Drawing]:
    """The mean step of each rank with a trace; empty without traces."""
    ranks = dict(list(_ranks(view))[:MOST])
    if not ranks:
        return []
    wholes = {name: sum(parts.values()) for name, parts in ranks.items()}
    scale = scale_for("s", tuple(wholes.values()))
    rows: Rows = []
    for name, parts in ranks.items():
        rows += segments(name, ((role, parts[key]) for key, _, role in PARTS), scale.factor)
    x = horizontal(0, max(wholes.values()) * scale.factor * 1.04, f"time per step, {scale.label}", grid=False)
    chart = bars(rows, list(ranks), x("from"))
    return [
        Drawing(
            title=TITLE,
            chart=sized(chart.properties(title=above("means of the profiled steps")), 70 + 30 * len(ranks)),
            caption="Computation hides communication that overlaps with it. Profiled steps are slower than timed ones: read the shares, not the times.",
            description=" ".join(_words(view, name, parts, wholes[name]) for name, parts in ranks.items()),
            key=used(rows, ((role, _named(view, text)) for _, text, role in PARTS)),
        )
    ]


def _ranks(view: View) -> Iterator[tuple[str, dict[str, float]]]:
    """(bar name, seconds of each part of the mean step)."""
    several = len(view.profiles) > 1
    for launch in view.profiles:
        label = f"{view.label(launch['configuration'])}, " if several else ""
        for rank in launch["ranks"]:
            steps = rank.get("steps") or ()
            if steps and not rank["absent"]:
                yield f"{label}rank {rank['rank']}", _mean(steps)


def _mean(steps: list[Mapping[str, Any]]) -> dict[str, float]:
    return {key: sum(step[key] for step in steps) / len(steps) / 1e9 for key, _, _ in PARTS}


def _named(view: View, text: str) -> str:
    """Label of a part: without a device, time outside of operators is not idle but may be Python."""
    on_device = any(rank.get("on_device") for launch in view.profiles for rank in launch["ranks"])
    return NO_OPERATOR if text == "idle" and not on_device else text


def _words(view: View, name: str, parts: Mapping[str, float], whole: float) -> str:
    shares = ", ".join(f"{_named(view, text)} {percent(parts[key] / whole)}" for key, text, _ in PARTS if whole and parts[key])
    return f"{name}: {reading(whole, 's')}: {shares}."
