"""Where does the time of a profiled step go?

By unions of intervals of what ran; one bar per profiled rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from fireassay.estimates.format import percent, reading, scale_for
from fireassay.reports.charts.chart import Drawing, Key, linear, rows_axis, stacked
from fireassay.reports.charts.marks import Look, Mark, Panel, Role
from fireassay.reports.pages.profile import NO_OPERATOR
from fireassay.reports.view import View

NAME = "profile"
TITLE: Final = "Inside profiled steps"
PARTS: Final[tuple[tuple[str, str, Role, Look], ...]] = (
    ("compute_ns", "computing", "blue", ""),
    ("exposed_ns", "exposed communication", "orange", "wait"),
    ("copy_ns", "copies", "teal", ""),
    ("idle_ns", "idle", "grey", "rest"),
)
MOST: Final = 16  # bars


def draw(view: View) -> list[Drawing]:
    """The mean step of each rank with a trace; empty without traces."""
    labels = [(view.label(launch["configuration"]), launch) for launch in view.profiles]
    return of_launches(labels)


def of_launches(launches: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Drawing]:
    """The same from (label, launch)."""
    listed = list(launches)
    ranks = dict(list(_ranks(listed))[:MOST])
    if not ranks:
        return []
    idle = "idle" if any(rank.get("on_device") for _, launch in listed for rank in launch["ranks"]) else NO_OPERATOR
    names = {key: idle if text == "idle" else text for key, text, *_ in PARTS}
    wholes = {name: sum(parts.values()) for name, parts in ranks.items()}
    scale = scale_for("s", tuple(wholes.values()))
    marks: list[Mark] = []
    for index, (name, parts) in enumerate(ranks.items()):
        shares = (
            (role, look, f"{name}, {names[key]}", reading(parts[key], "s", scale), parts[key] * scale.factor)
            for key, _, role, look in PARTS
        )
        marks += stacked(index, shares, series=False)
    x = linear(0, max(wholes.values()) * scale.factor * 1.04, f"time per step, {scale.label}")
    rows = [f"{name}: {reading(whole, 's', scale)}" for name, whole in wholes.items()]
    return [
        Drawing(
            title=TITLE,
            panels=(Panel(x=x, y=rows_axis(rows, 38), marks=tuple(marks)),),
            caption="Means of the profiled steps. Computation hides communication that overlaps with it. Profiled steps are slower than timed ones: "
            "read the shares, not the times.",
            description=" ".join(_words(name, names, parts, wholes[name]) for name, parts in ranks.items()),
            key=tuple(
                Key(mark="bar", role=role, look=look, text=names[key])
                for key, _, role, look in PARTS
                if any(r[key] for r in ranks.values())
            ),
            quantity=f"time per step, {scale.label}",
        )
    ]


def _ranks(launches: list[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, dict[str, float]]]:
    """(bar name, seconds of each part of the mean step)."""
    for label, launch in launches:
        before = f"{label}, " if len(launches) > 1 else ""
        for rank in launch["ranks"]:
            steps = rank.get("steps") or ()
            if steps and not rank["absent"]:
                yield f"{before}rank {rank['rank']}", _mean(steps)


def _mean(steps: list[Mapping[str, Any]]) -> dict[str, float]:
    return {key: sum(step[key] for step in steps) / len(steps) / 1e9 for key, *_ in PARTS}


def _words(name: str, names: Mapping[str, str], parts: Mapping[str, float], whole: float) -> str:
    shares = ", ".join(f"{names[key]} {percent(parts[key] / whole)}" for key, *_ in PARTS if whole and parts[key])
    return f"{name}: {reading(whole, 's')}: {shares}."
