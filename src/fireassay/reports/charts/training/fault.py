"""How much work did a killed worker lose, and how long did it take to redo it?"""

from __future__ import annotations

from fireassay.estimates.format import reading, scale_for
from fireassay.reports.charts import vega
from fireassay.reports.charts.chart import BY_ROLE, Drawing, Key, Missing, Rows, above, colour, horizontal, limits, number_axis, sized
from fireassay.reports.series.training import LASTED, FaultTimeline
from fireassay.reports.view import View

NAME = "fault"
TITLE = "Fault and recovery"
BANDS = {"detect": "bad", "restart": "rest", "reload": "fourth", "recompute": "fifth", LASTED: "bad"}


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
    scale = scale_for("s", (last_s,))
    chart = vega.layer(*_layers(fault, scale.factor, last_s * scale.factor))
    return Drawing(
        title=title,
        chart=sized(chart.properties(title=above("steps finished"))),
        caption=" ".join(("One launch, so the phases have no interval.", *(f"Missing: {why}." for why in fault.absent))),
        description=_words(fault),
        key=_key(fault),
    )


def _layers(fault: FaultTimeline, factor: float, last: float) -> list[vega.Chart]:
    top = max(steps for _, _, steps in fault.progress) * 1.06
    x = horizontal(0, last * 1.02, "seconds since the launch began", grid=False)
    y = vega.y("y:Q", scale=limits(0, top), axis=number_axis(title=None, format="d"))
    bands: Rows = [{"from": p.begin_s * factor, "to": p.end_s * factor, "role": colour(BANDS[p.name])} for p in fault.phases]
    steps: Rows = [{"x": at * factor, "y": n, "incarnation": inc} for inc, at, n in fault.progress]
    band = vega.chart(bands).mark("rect", opacity=0.3)
    line = vega.chart(steps).mark("line", interpolate="step-after", strokeWidth=2.5, color=colour("main"))
    kill = vega.chart([{"at": at * factor} for at in (fault.fault_s or 0.0, *fault.again_s)]).mark(
        "rule", strokeWidth=2, color=colour("ink")
    )
    return [band.encode(x=x("from"), x2="to:Q", color=BY_ROLE), line.encode(x=x("x"), y=y, detail="incarnation:N"), kill.encode(x=x("at"))]


def _key(fault: FaultTimeline) -> tuple[Key, ...]:
    keys = [
        Key(mark="line", role="main", text="steps finished by the slowest worker"),
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
