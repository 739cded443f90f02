"""What is the answer of a training, on one screen?

Which worker count to use, the levels with their speedup, step time and price, efficiency against its gate, why more workers are not
faster, and a line per other dimension that was asked for.  A wrong result shows its layers instead of any speed.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, given, show, with_interval
from fireassay.metrics.cost import COST, COST_PER_ITEM
from fireassay.metrics.metric import ALL, Metric
from fireassay.metrics.quality import QUALITY, QUALITY_DIFFERENCE
from fireassay.metrics.training.faults import RECOVERY_TIME
from fireassay.metrics.training.lost_time import METRICS as LOST
from fireassay.metrics.training.lost_time import NAMES, part_of
from fireassay.metrics.training.scaling import SPEEDUP
from fireassay.metrics.training.time import STEP_TIME, STEP_TIME_MEAN, WALL_TIME
from fireassay.reports import answering
from fireassay.reports.answering import cell, doubts, mark, standing
from fireassay.reports.charts.model import Edge, Interval, intervals
from fireassay.reports.page import Answer, Cell, Chart, Head, Line, Mark, Next, Number, Part, Section, Sum, Table, Tile, Words
from fireassay.reports.view import Column, View
from fireassay.reports.words import DIMENSION_TITLES
from fireassay.verdict.types import HOLDS, WORST_FIRST, Status

PROCESSORS: Final = "bottleneck_processors"  # the audit that explains computing which cannot shrink
TIMES: Final = (STEP_TIME.name, WALL_TIME.name)
PRICES: Final = (COST_PER_ITEM.name, COST.name)
T_QUANTILE: Final = 2.1  # of Student t at 95 % with some twenty launches
USUAL_LAUNCHES: Final = 10
ENTANGLED: Final = "computing and communication"
BURSTS: Final = 0.05  # of the mean step: how far the median is from it where few steps cost much
MAX_LAUNCHES: Final = 30  # that are advised to decide; with more noise than that, quieten the machine first
LAYER_HEADS: Final = {"ledger": "samples", "gradient": "gradient, one step", "hashes": "replicas", "trajectory": "losses"}
STATES: Final = {"pass": mark("PASS", "right"), "fail": mark("FAIL", "wrong"), "not run": mark("NOT_MEASURED", "not run")}


def answer(view: View) -> Answer:
    """Status, advice, evidence, tiles, lines and next."""
    return Answer(
        mark=mark(view.status),
        headline=_headline(view),
        evidence=_evidence(view),
        tiles=tuple(_tile(view, dimension) for dimension in DIMENSION_TITLES if dimension in view.dimensions),
        lines=() if view.status == "INVALID" else tuple(_lines(view)),
        next=_next(view),
        record=answering.record_line(view, answering.launches_words(view, "worker count")),
        about=_about(view),
    )


def brief(view: View) -> tuple[Section, ...]:
    """The evidence of the answer."""
    if view.status == "INVALID":
        return ()
    blocks: tuple[Table | Chart | Sum, ...] = (_layers(view),) if _wrong(view) else (_levels(view), *_efficiency(view), *_why(view))
    return answering.brief_sections(*blocks)


# ---- what to do ------------------------------------------------------------------------------------------------------


def _headline(view: View) -> str:
    if view.status == "INVALID":
        return f"no number counts: {answering.shortened(_first(view, 'invalid'))}"
    if wrong := _wrong(view):
        return f"wrong result with {_numbers(wrong)}"
    picked = next((column for column in view.columns if column.key == view.recommended), None)
    if picked is None:
        told = next((row.sentence for row in view.recommendations if row.goal == "recommended"), view.sentence)
        return answering.shortened(told)
    if picked.key != view.base:
        lost = {gate.configuration for gate in view.gates if gate.gate == "quality" and gate.status == "FAIL"}
        degraded = [column for column in view.columns if column.key in lost]
        before = f"{view.quality_metric} degraded with {_numbers(degraded)}; " if degraded else ""
        return f"{before}use {picked.label}{_times(view, picked)}"
    if len(view.columns) == 1:
        return f"{picked.label} measured alone{_base_time(view)}"
    if view.status == "INCONCLUSIVE":
        return f"keep {picked.label} for now; {_numbers(_others(view, 'open'))} may or may not pass"
    return f"keep {picked.label}; {_missing(view, _others(view, 'bad'))}"


def _evidence(view: View) -> str:
    """Why not more workers, and what is known of the fastest."""
    if view.status == "INVALID":
        return "Nothing below may be quoted; the measurement has to be made again."
    if _wrong(view):
        return f"Keep {_base(view).label}. A wrong result has no speedup."
    largest = view.columns[-1]
    said: list[str] = []
    if (speedup := view.estimate("speedup", largest.key)) and view.recommended != largest.key and len(view.columns) > 1:
        subject = "The same work" if _scaling(view) == "weak" else "A step"  # with more workers, a step of weak scaling does more
        said.append(f"{subject} with {largest.label} is {show(speedup).full} times as fast{_price_ratio(view, largest)}.")
    missed = [*_others(view, "bad"), *_others(view, "open")]
    if view.recommended not in (None, view.base) and missed:
        said.append(f"{_missing(view, missed)}.")
    return " ".join((*said, *_quality_words(view)))


def _quality_words(view: View) -> Iterator[str]:
    if view.quality_metric is None:
        if "correctness" not in view.unasked and view.recommended is None:
            yield "Quality was not measured, so nothing can be recommended."
        return
    cells = [row.cells["correctness"].status for row in view.vector]
    if HOLDS.issuperset(cells):
        name = view.quality_metric  # of a word of the language the first letter may be changed, of an identifier none
        yield f"{name.capitalize() if name.isalpha() and name.islower() else name} is held at every worker count."


def _times(view: View, column: Column) -> str:
    speedup = view.estimate("speedup", column.key)
    return f", {show(speedup).full} times as fast as {_base(view).label}" if speedup else ""


def _base_time(view: View) -> str:
    shown = next((number for name in TIMES if (number := cell(view, name, view.base, bare=False)) and number.shown.measured), None)
    return f": {shown.shown.full}" if shown else ""


def _price_ratio(view: View, column: Column) -> str:
    for name, what in ((COST.name, "a run"), (COST_PER_ITEM.name, "an item")):
        base, other = view.estimate(name, view.base), view.estimate(name, column.key)
        if base and other and base.value:
            return f", {what} costs {other.value / base.value:.2g} times as much"
    return ""


def _missing(view: View, columns: Sequence[Column]) -> str:
    """ "2 and 4 workers miss the efficiency gate of 60 %"; by the gates that any of them does not pass."""
    keys = {column.key for column in columns}
    gates = tuple(dict.fromkeys(row.gate for row in view.gates if row.configuration in keys and row.status != "PASS"))
    if gates == ("efficiency",) and view.efficiency_gate is not None:
        what = f"miss the efficiency gate of {given(100 * view.efficiency_gate)} %"
    elif gates == ("quality",):
        what = f"do not hold {view.quality_metric}"
    else:
        what = f"do not pass {' and '.join(gates)}" if gates else "do not pass"
    return f"{_numbers(columns)} {what if _several(columns) else what.replace('miss', 'misses', 1).replace('do not', 'does not', 1)}"


def _wrong(view: View) -> tuple[Column, ...]:
    """The worker counts whose result was found wrong."""
    wrong = {row.configuration for row in view.findings if row.severity == "fail"}
    return tuple(column for column in view.columns if column.key in wrong) if view.status == "FAIL" else ()


def _first(view: View, severity: str) -> str:
    return next((row.evidence for row in view.findings if row.severity == severity), view.meaning)


def _base(view: View) -> Column:
    return next(column for column in view.columns if column.key == view.base)


def _others(view: View, tone: str) -> list[Column]:
    return [column for column in view.columns if column.key != view.base and standing(view, column.key).tone == tone]


def _several(columns: Sequence[Column]) -> bool:
    return len(columns) > 1 or any(column.workers > 1 for column in columns)


def _numbers(columns: Sequence[Column]) -> str:
    """ "2 and 4 workers"."""
    *first, last = [str(column.workers) for column in columns] or ["more"]
    noun = "workers" if _several(columns) or not columns else "worker"
    return f"{', '.join(first)}{' and ' if first else ''}{last} {noun}"


# ---- tables ----------------------------------------------------------------------------------------------------------


def _levels(view: View) -> Table:
    columns = answering.some(view, view.columns)
    metrics = [name for names in (("speedup",), TIMES, PRICES) if (name := _used(view, names))]
    heads = (Head(text=""), Head(text="workers"), *(Head(text=_head(view, name)) for name in metrics))
    rows = tuple((standing(view, column.key), column.workers, *(_cell(view, name, column.key) for name in metrics)) for column in columns)
    return Table(name="levels", heads=heads, rows=rows, stub=2)


def _used(view: View, names: Sequence[str]) -> str:
    """The first of these metrics with a number at some worker count."""
    return next((name for name in names if any(view.estimate(name, column.key) for column in view.columns)), "")


def _head(view: View, name: str) -> str:
    row = view.metric(name)
    assert row is not None  # it has a number
    titles = {SPEEDUP.name: "speedup", STEP_TIME.name: "step", WALL_TIME.name: "wall time", COST_PER_ITEM.name: "", COST.name: "a run"}
    return ", ".join(word for word in (titles[name], row.shown_unit) if word)


def _cell(view: View, name: str, key: str) -> Cell:
    if name == "speedup" and key == view.base:
        return Words(text="1 (base)")
    return cell(view, name, key)


def _efficiency(view: View) -> tuple[Chart, ...]:
    rows = tuple(
        Interval(name=str(column.workers), number=number, mark=standing(view, column.key), target="levels")
        for column in answering.some(view, view.columns)
        if column.key != view.base and (number := cell(view, "efficiency", column.key)) and number.shown.measured
    )
    gate = () if view.efficiency_gate is None else (Edge(value=view.efficiency_gate, text="gate"),)
    return (intervals(name="efficiency", title="efficiency, %", stub="workers", rows=rows, edges=gate),) if rows else ()


def _layers(view: View) -> Table:
    """Which layer of which worker count computes something else than one worker."""
    layers = [layer for layer in LAYER_HEADS if any(row.layer == layer for row in view.layers)]
    cells = {(row.configuration, row.layer): STATES.get(row.state, Mark(word=row.state)) for row in view.layers}
    rows = tuple(
        (standing(view, column.key), column.workers, *(cells.get((column.key, layer)) for layer in layers)) for column in view.columns
    )
    first = next(row for row in view.findings if row.severity == "fail")
    notes = (f"first cause: {first.rule.replace('_', ' ')}: {first.evidence}",)
    heads = (Head(text=""), Head(text="workers"), *(Head(text=LAYER_HEADS[layer]) for layer in layers))
    return Table(name="layers-brief", heads=heads, rows=rows, stub=2, notes=notes)


# ---- why not faster --------------------------------------------------------------------------------------------------


def _why(view: View) -> tuple[Sum, ...]:
    """The decomposition of the first worker count that misses a gate, else of the last one."""
    chosen = studied(view)
    return decomposition(view, chosen) if chosen else ()


def studied(view: View) -> Column | None:
    """The worker count to explain: the first that misses a gate, else the last."""
    others = [column for column in view.columns if column.key != view.base]
    return next((column for column in others if standing(view, column.key).tone == "bad"), others[-1] if others else None)


def decomposition(view: View, column: Column) -> tuple[Sum, ...]:
    """A step of these workers as a perfect split and what comes on top; none if steps or parts were not measured."""
    whole, base, rest = (
        view.estimate(name, key)
        for name, key in ((STEP_TIME_MEAN.name, column.key), (STEP_TIME_MEAN.name, view.base), ("lost_unexplained", column.key))
    )
    row = view.metric(STEP_TIME_MEAN.name)
    if whole is None or base is None or rest is None or row is None:
        return ()
    scale = row.cells[column.key].scale
    lost = [(metric, value) for metric in LOST if (value := view.estimate(metric.name, column.key))]
    ideal = whole.value - sum(value.value for _, value in lost)
    unit = scale.label
    together = not any(part_of(metric) == "transfer" for metric, _ in lost)  # then communication is part of computing

    def text_of(metric: Metric) -> str:
        return ENTANGLED if together and part_of(metric) == "computing" else NAMES[part_of(metric)]

    parts = tuple(Part(text=text_of(metric), number=Number(shown=show(value, scale)), role=part_of(metric)) for metric, value in lost)
    split = (
        f"{show(base, scale).text.removesuffix(scale.after)} / {given(round(base.value / ideal, 6))}" if ideal > 0.0 else "a perfect split"
    )
    start = Part(text=f"a perfect split over {column.label}", number=Number(shown=show(_bare(base, ideal), scale)), role="ideal")
    total = Part(text=f"{column.label}, measured", number=Number(shown=show(whole, scale)), role="total")
    more = show(_bare(whole, whole.value - ideal), scale).text.removesuffix(scale.after)
    usual = view.estimate(STEP_TIME.name, column.key)
    bursts = usual is not None and abs(usual.value - whole.value) > BURSTS * whole.value
    average = " on average" if bursts else ""
    title = f"why not faster: {column.label} take {show(whole, scale).text} a step{average}, {more} more than {split}"
    measured = (Part(text=_base(view).label, number=Number(shown=show(base, scale)), role="base"),)
    shared = (row.evidence for row in view.findings if row.rule == PROCESSORS and row.configuration == column.key)
    few = (f"few steps cost much: the median step, of which the speedup is, takes {show(usual).text}",) if usual and bursts else ()
    return (Sum(name="why", title=title, unit=unit, start=start, parts=parts, total=total, measured=measured, notes=(*few, *shared)),)


def _bare(like: Estimate, value: float) -> Estimate:
    """A derived number without an interval of its own."""
    unbounded = replace(like, low=-math.inf, high=math.inf, n_launches=1, n_trials=0, launch_values=())
    return replace(unbounded, value=value, method="derived", signature="")


# ---- lines and tiles -------------------------------------------------------------------------------------------------


def _lines(view: View) -> Iterator[Line]:
    for dimension in ("correctness", "cost", "reliability"):
        if dimension == "cost" and _used(view, PRICES):
            continue  # in the table of levels
        line = answering.dimension_line(view, dimension)
        if line is not None:
            yield replace(line, text=_quality(view) or line.text) if dimension == "correctness" else line
    yield doubts(view)


def _quality(view: View) -> str:
    """The score of the studied worker count against the base's; "" where it was not measured."""
    column = _focus(view)
    difference = view.estimate(QUALITY_DIFFERENCE.name, column.key)
    if difference is None or view.quality_margin is None or column.key == view.base:
        return ""
    shown = show(difference, beside=(-view.quality_margin,)).full
    return f"{view.quality_metric} changed by {shown}, margin {given(view.quality_margin)}"


def _tile(view: View, dimension: str) -> Tile:
    cells = [(row.column, row.cells[dimension]) for row in view.vector]
    marks = tuple(mark(found.status, str(column.workers), found.sentence) for column, found in cells)
    title, target = DIMENSION_TITLES[dimension], f"metrics-{dimension}"
    if dimension in view.unasked:
        return Tile(title=title, mark=mark("NOT_MEASURED", "not asked"), text=_unasked(dimension), target=target)
    statuses = {column.key: found.status for column, found in cells}
    column = _focus(view)
    worst: Status = next((status for status in WORST_FIRST if status in statuses.values()), "NOT_MEASURED")
    status = _of_performance(view, statuses) if dimension == "performance" else worst
    cell = next((found for other, found in cells if other == column and found.status != "NOT_MEASURED"), None)
    cell = cell or next((found for _, found in reversed(cells) if found.status == worst), cells[-1][1])
    big, small = _big(view, dimension, column)
    clauses = [clause for clause in cell.sentence.split("; ") if not big or big.rstrip("×") not in clause] or [cell.sentence]
    return Tile(title=title, mark=mark(status), text=answering.shortened(clauses[0]), big=big, small=small, marks=marks, target=target)


def _focus(view: View) -> Column:
    """The worker count that all tiles are about: the recommended one if it is not the base, else the one that was studied."""
    picked = next((column for column in view.columns if column.key == view.recommended and column.key != view.base), None)
    return picked or studied(view) or view.columns[-1]


def _of_performance(view: View, statuses: Mapping[str, Status]) -> Status:
    """True if more workers pay: one count that holds is enough."""
    others = [status for key, status in statuses.items() if key != view.base]
    if not others or "PASS" in others:
        return "PASS"
    return "INCONCLUSIVE" if "INCONCLUSIVE" in others else "NO_GAIN" if set(others) == {"FAIL"} else others[-1]


BIG: Final = {"correctness": (QUALITY.name,), "performance": (SPEEDUP.name, *TIMES), "cost": PRICES, "reliability": (RECOVERY_TIME.name,)}


def _big(view: View, dimension: str, column: Column) -> tuple[str, str]:
    """The large number of a tile, and the text next to it."""
    for name in BIG[dimension]:
        row = view.metric(name)
        for key in (column.key, *(other.key for other in view.columns), ALL):
            shown = row.cells.get(key) if row else None
            if row is not None and shown is not None and shown.measured:
                times = "×" if name == "speedup" else ""
                what = view.quality_metric if name == "quality" and view.quality_metric else row.title.lower()
                return f"{shown.text}{times}", with_interval(f"{what}, {view.label(key)}", shown.interval)
    return "", ""


def _unasked(dimension: str) -> str:
    return {
        "cost": "No price was given: --price USD of one worker for one hour.",
        "reliability": "No fault was injected: --fault kill.",
    }.get(dimension, "It was not asked for.")


def _about(view: View) -> str:
    workers = ", ".join(str(column.workers) for column in view.columns)
    scaling = _scaling(view)
    return ", ".join(word for word in (f"Training on {workers} workers", scaling and f"{scaling} scaling", _launches(view)) if word)


def _scaling(view: View) -> str:
    """strong or weak; empty if the record does not say."""
    text = next((fact.text for fact in view.conditions if fact.name == "Scaling"), "")
    return text.partition(" ")[0].rstrip(":;")


def _launches(view: View) -> str:
    """ "9 launches timed and 1 fault"."""
    roles = [launch.role for launch in view.launches]
    others = [f"{roles.count(role)} {role}" for role in dict.fromkeys(roles) if role != "timed"]
    return " and ".join((f"{count(roles.count('timed'), 'launches')} timed", *others))


# ---- what to do next -------------------------------------------------------------------------------------------------


def _next(view: View) -> tuple[Next, ...]:
    """The one command that helps most."""
    record = answering.named(view)
    if view.status == "INVALID":
        return answering.remedies(view, ("invalid",))
    if _wrong(view):
        return answering.remedies(view, ("fail",))
    if view.recommended is None and view.quality_metric is None:
        return (
            Next(
                reason="name the score that the script logs, so that quality can be judged",
                command=f"assay run {record} --quality-metric NAME",
            ),
        )
    if open_ := _others(view, "open"):
        levels = ",".join(str(column.workers) for column in (_base(view), *open_))
        if examples := _only_examples(view, open_):
            reason = f"decide on {_numbers(open_)}: score about {examples:,} held-out examples; launches of the same ones cannot"
            return (Next(reason=reason),)
        launches, why = _launches_to_decide(view, open_)
        return (Next(reason=f"decide on {_numbers(open_)}{why}", command=f"assay run {record} --workers {levels} --launches {launches}"),)
    return _explain(view, record)


def _only_examples(view: View, open_: Sequence[Column]) -> int:
    """The held-out examples that decide, if nothing but quality is open and more launches cannot decide it; else 0."""
    keys = {column.key for column in open_}
    gates = [gate for gate in view.gates if gate.configuration in keys and gate.status == "INCONCLUSIVE"]
    several = all(gate.examples_needed and not gate.launches_needed for gate in gates)
    return max((gate.examples_needed or 0 for gate in gates), default=0) if several else 0


def _launches_to_decide(view: View, open_: Sequence[Column]) -> tuple[int, str]:
    """How many launches decide, and why: as many as quality takes, but no more than pay where the machine's noise is the cause."""
    usual = max(2 * answering.timed(view), USUAL_LAUNCHES)
    keys = {column.key for column in open_}
    quality = max((gate.launches_needed or 0 for gate in view.gates if gate.configuration in keys), default=0)
    noise = max((_needed(view, column) for column in open_), default=0)
    if noise > max(MAX_LAUNCHES, quality):
        first = f": quieten the machine first, then fewer decide than the {noise:,} launches that its noise seen here takes"
        return max(quality, usual), first
    if quality > max(usual, noise):
        return quality, f": {view.quality_metric} takes {quality:,} launches, or more held-out examples"
    return max(noise, usual), " with as many launches as the noise seen here needs" if noise else " with more launches"


def _needed(view: View, column: Column) -> int:
    """Launches after which an interval as wide as the spread seen here would leave the gate; 0 if that is not what is undecided.

    The spread s of the log efficiency over blocks, and d, the distance of its logarithm from the gate: t s / sqrt(n) < d.
    """
    efficiency = view.estimate("efficiency", column.key)
    open_ = any(row.gate == "efficiency" and row.configuration == column.key and row.status == "INCONCLUSIVE" for row in view.gates)
    if (
        not open_
        or efficiency is None
        or view.efficiency_gate is None
        or len(efficiency.launch_values) < 2
        or min(efficiency.launch_values) <= 0.0
    ):
        return 0
    spread = statistics.stdev(map(math.log, efficiency.launch_values))
    distance = abs(math.log(efficiency.value / view.efficiency_gate))
    return math.ceil((T_QUANTILE * spread / distance) ** 2) if distance else MAX_LAUNCHES + 1


def _explain(view: View, record: str) -> tuple[Next, ...]:
    """What explains most of the lost time."""
    column, sums = studied(view), _why(view)
    if column is None or not sums:
        return ()
    largest = max(sums[0].parts, key=lambda part: part.number.value.value if isinstance(part.number.value, Estimate) else 0.0)
    if largest.role in ("transfer", "waiting"):
        return (Next(reason="see how much of it the links explain", command=f"assay comm --workers {column.workers} --ops all_reduce"),)
    return (Next(reason="find what takes the time inside a step", command=f"assay profile {record} --workers {column.workers}"),)
