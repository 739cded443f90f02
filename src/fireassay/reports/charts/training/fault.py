"""How much work did a killed worker lose, and how long did it take to redo it?"""

from __future__ import annotations

from itertools import groupby
from typing import Final

from fireassay.estimates.format import reading, scale_for
from fireassay.reports.charts.chart import Drawing, Key, Missing, linear
from fireassay.reports.charts.marks import Area, Line, Mark, Panel, Role, Rule
from fireassay.reports.series.training import LASTED, FaultTimeline
from fireassay.reports.view import View

NAME = "fault"
TITLE: Final = "Fault and recovery"
BANDS: Final[dict[str, Role]] = {"detect": "fail", "restart": "grey", "reload": "plum", "recompute": "orange", LASTED: "fail"}


def draw(view: View) -> list[Drawing | Missing]:
    """One timeline per fault launch; a sentence if there was none."""
    if not view.series.faults:
        return [
            Missing(title=TITLE, reason="No fault launch was requested, so recovery was not measured. Add [[faults]] to the experiment.")
        ]
    return [_draw(view, fault) for fault in view.series.faults]


def _draw(view: View, fault: FaultTimeline) -> Drawing | Missing:
    title = f"{TITLE}: {view.label(fault.configuration)}{f', {fault.signal}' if fault.signal else ''}"
    if fault.fault_s is None:
        return Missing(title=title, reason=f"No fault struck in launch {fault.launch} ({fault.status}).")
    if not fault.progress:
        why = "; ".join(fault.absent) or "it recorded no steps"
        return Missing(title=title, reason=f"The progress of launch {fault.launch} cannot be drawn: {why}.")
    last_s = max(fault.progress[-1][1], *(phase.end_s for phase in fault.phases), fault.fault_s)
    factor = scale_for("s", (last_s,)).factor
    top = max(steps for _, _, steps in fault.progress) * 1.06
    x = linear(0, last_s * factor * 1.02, f"seconds since launch {fault.launch} began", grid=False)
    return Drawing(
        title=title,
        panels=(Panel(x=x, y=linear(0, top), marks=_marks(fault, factor), title="steps finished"),),
        caption=" ".join(("One launch, so the phases have no interval.", *(f"Missing: {why}." for why in fault.absent))),
        description=_words(fault),
        key=_key(fault),
    )


def _marks(fault: FaultTimeline, factor: float) -> tuple[Mark, ...]:
    bands: list[Mark] = [Area(left=p.begin_s * factor, right=p.end_s * factor, role=BANDS[p.name], strong=0.25) for p in fault.phases]
    lines: list[Mark] = [
        Line(points=tuple((at * factor, float(n)) for _, at, n in some), step=True)
        for _, some in groupby(fault.progress, key=lambda progress: progress[0])
    ]
    kills: list[Mark] = [Rule(x=at * factor, role="ink", text=fault.signal or "fault") for at in (fault.fault_s or 0.0, *fault.again_s)]
    return (*bands, *lines, *kills)


def _key(fault: FaultTimeline) -> tuple[Key, ...]:
    keys = [
        Key(mark="line", role="blue", text="steps finished by the slowest worker"),
        Key(mark="line", role="ink", text=f"{fault.signal or 'fault'} to worker {fault.victim}"),
    ]
    keys += [Key(mark="band", role=BANDS[name], text=f"{name} {duration}") for name, duration in _lengths(fault).items()]
    return tuple(keys)


def _lengths(fault: FaultTimeline) -> dict[str, str]:
    """Phase -> its duration, one per strike."""
    durations: dict[str, list[str]] = {}
    for phase in fault.phases:
        durations.setdefault(phase.name, []).append(reading(phase.end_s - phase.begin_s, "s"))
    return {name: " and ".join(lengths) for name, lengths in durations.items()}


def _words(fault: FaultTimeline) -> str:
    phases = ", ".join(f"{name} {duration}" for name, duration in _lengths(fault).items()) or "no phase was measured"
    at = " and ".join(reading(at, "s") for at in (fault.fault_s, *fault.again_s))
    return f"Launch {fault.launch}: {fault.signal or 'a fault'} hit worker {fault.victim} after {at}; {phases}."
