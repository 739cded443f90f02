"""What is the answer of a training, on one screen?

How many times as fast more workers are, the levels with their speedup, efficiency, step time and price, why more workers are not
faster, and a line per other dimension that was asked for.  A wrong result shows its layers instead of any speed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, given, show, with_interval
from fireassay.kinds.training import deciding, quick, target
from fireassay.kinds.training.why import base_of, cause_of, studied, why
from fireassay.metrics.cost import COST, COST_PER_ITEM
from fireassay.metrics.metric import ALL
from fireassay.metrics.quality import QUALITY, QUALITY_DIFFERENCE
from fireassay.metrics.training.communication_steps import COMM_VOLUME
from fireassay.metrics.training.faults import RECOVERY_TIME
from fireassay.metrics.training.scaling import EFFICIENCY, SPEEDUP
from fireassay.metrics.training.time import STEP_TIME, WALL_TIME
from fireassay.record.unsealed import launch_name
from fireassay.reports import answering
from fireassay.reports.answering import cell, doubts, mark, standing
from fireassay.reports.cost_line import cost_line
from fireassay.reports.page import Answer, Cell, Head, Line, Mark, Next, Section, Sum, Table, Tile, Words
from fireassay.reports.pages import profile
from fireassay.reports.view import Column, View
from fireassay.reports.words import DIMENSION_TITLES
from fireassay.verdict.phrases import decided_words
from fireassay.verdict.types import HOLDS, WORST_FIRST, Status

TIMES: Final = (STEP_TIME.name, WALL_TIME.name)
RATES: Final = ("work_rate",)  # of programs; the steps of a training say it by their time
PRICES: Final = (COST_PER_ITEM.name, COST.name)
LAYER_HEADS: Final = {
    "result": "result",
    "ledger": "samples",
    "gradient": "gradient, one step",
    "hashes": "replicas",
    "trajectory": "losses",
}
TITLES: Final = {
    SPEEDUP.name: "speedup",
    EFFICIENCY.name: "efficiency",
    STEP_TIME.name: "step",
    WALL_TIME.name: "wall time",
    COST_PER_ITEM.name: "",
    COST.name: "a run",
}
DEGRADED_BY: Final = (
    "learning_rate_differs",
    "quality_degraded",
)  # audits that say what to change where quality was lost, the closest first
GATE_WORDS: Final = {"PASS": "met", "FAIL": "low", "INCONCLUSIVE": "open"}  # of the efficiency
STATES: Final = {"pass": mark("PASS", "right"), "fail": mark("FAIL", "wrong"), "not run": mark("NOT_MEASURED", "not run")}


def answer(view: View) -> Answer:
    """Status, advice, evidence, tiles, lines and next."""
    if quick.is_quick(view):
        return quick.answer(view)
    if only_profiled(view):
        return replace(profile.answer(_profiles(view)), record=_profiled_record(view))
    return Answer(
        mark=mark(view.status),
        headline=_headline(view),
        evidence=_evidence(view),
        tiles=tuple(_tile(view, dimension) for dimension in DIMENSION_TITLES if dimension in view.dimensions),
        lines=(doubts(view),) if view.status == "INVALID" else tuple(_lines(view)),
        next=_next(view),
        record=answering.record_line(view, _how_many(view)),
        about=_about(view),
    )


def brief(view: View) -> tuple[Section, ...]:
    """The evidence of the answer."""
    if quick.is_quick(view):
        return quick.brief(view)
    if only_profiled(view):
        return profile.brief(_profiles(view))
    blocks: tuple[Table | Sum, ...] = (_layers(view),) if _wrong(view) else (_levels(view), *why(view))
    return answering.brief_sections(*blocks)


def only_profiled(view: View) -> bool:
    """True of a record of `assay profile`, or of imported traces, unless a check failed: there is nothing to judge."""
    return bool(view.profiles) and view.status not in ("FAIL", "INVALID") and all(launch.role == "profile" for launch in view.launches)


def _profiled_record(view: View) -> str:
    return f"{answering.short(view)}, {count(len(view.profiles), 'profiled launches')}; no timed launch, so nothing is judged; all: --full"


def _profiles(view: View) -> dict[str, Any]:
    launches = [{**launch, "folder": f"{view.record}/traces/{launch_name(launch['launch'])}"} for launch in view.profiles]
    return {"record": view.record, "launches": launches}


# ---- what to do ------------------------------------------------------------------------------------------------------


def _headline(view: View) -> str:
    if view.status == "INVALID":
        return f"no number counts: {answering.shortened(_first(view, 'invalid'))}"
    if wrong := _wrong(view):
        return f"wrong result with {_numbers(wrong)}"
    told = next((row.sentence for row in view.recommendations if row.goal == "recommended"), view.sentence)
    if len(view.columns) == 1:
        return f"{view.columns[0].label} measured alone{_base_time(view)}" if view.recommended else answering.shortened(told)
    picked = next((column for column in view.columns if column.key == view.recommended and column.key != view.base), None)
    column = picked or _best(view)
    times = _times(view, column)
    if picked is not None and times:
        return f"{_degraded(view)}{times}"
    if view.recommended is None and not (view.status == "INCONCLUSIVE" and _limits(view, column)):
        return f"{times}; {answering.shortened(told)}" if times else answering.shortened(told)
    keep = f"keep {base_of(view).label}" if view.recommended == view.base else ""
    if view.status == "INCONCLUSIVE":
        keep = f"{keep} for now" if keep else ""
        return "; ".join(word for word in (times, _limits(view, column) or keep or told) if word)
    missing = _missing(view, _others(view, "bad"))
    return "; ".join(word for word in (times, f"{keep}: {missing}" if keep else missing) if word)


def _degraded(view: View) -> str:
    """The counts that lose quality, told before the count that pays."""
    lost = _losing(view)
    columns = [column for column in view.columns if column.key in lost]
    return f"{view.quality_metric} degraded with {_numbers(columns)}; " if columns else ""


def _losing(view: View) -> set[str]:
    """The configurations that lose quality."""
    return {gate.configuration for gate in view.gates if gate.gate == "quality" and gate.status == "FAIL"}


def _best(view: View) -> Column:
    """The count beside the base that stands for the answer: the undecided, else the fastest."""
    others = _others(view, "open") or [column for column in view.columns if column.key != view.base]

    def speed(column: Column) -> float:
        found = view.estimate(SPEEDUP.name, column.key)
        return found.value if found else 0.0

    return max(others, key=speed)


def _times(view: View, column: Column) -> str:
    """ "2 workers are 1.55 [1.42, 1.70] times as fast as 1"; "" where it was not measured."""
    speedup = view.estimate(SPEEDUP.name, column.key)
    if speedup is None:
        return ""
    return f"{column.label} {'are' if column.workers > 1 else 'is'} {show(speedup).full} times as fast as {base_of(view).workers}"


def _limits(view: View, column: Column) -> str:
    """Which limits lie inside the interval of the speedup: what is undecided."""
    speedup = view.estimate(SPEEDUP.name, column.key)
    if speedup is None or not math.isfinite(speedup.low):
        return ""
    inside = [
        f"{text} ({given(round(edge, 2))})" if text else "1"
        for edge, text in deciding.edges(view, column)
        if speedup.low <= edge <= speedup.high
    ]
    return f"{' and '.join(inside)} {'lie' if len(inside) > 1 else 'lies'} inside" if inside else ""


def _evidence(view: View) -> str:
    """What is known of the other counts, and of quality."""
    if view.status == "INVALID":
        return "The numbers are shown as they are; do not quote them."
    if _wrong(view):
        return f"Keep {base_of(view).label}. A wrong result has no speedup."
    said: list[str] = []
    missed = [*_others(view, "bad"), *_others(view, "open")]
    if view.recommended not in (None, view.base) and missed:
        said.append(f"{_missing(view, missed)}.")
    return " ".join((*said, *_quality_words(view)))


def _quality_words(view: View) -> Iterator[str]:
    cells = [row.cells["correctness"].status for row in view.vector]
    if view.quality_metric is not None and HOLDS.issuperset(cells):
        name = view.quality_metric  # of a word of the language the first letter may be changed, of an identifier none
        yield f"{name.capitalize() if name.isalpha() and name.islower() else name} is held at every worker count."


def _base_time(view: View) -> str:
    shown = next((number for name in TIMES if (number := cell(view, name, view.base, bare=False)) and number.shown.measured), None)
    return f": {shown.shown.full}" if shown else ""


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
    metrics = [name for names in ((SPEEDUP.name,), (EFFICIENCY.name,), TIMES, RATES, PRICES) if (name := _used(view, names))]
    if len(view.columns) == 1:  # it is its own base
        metrics = [name for name in metrics if name not in (SPEEDUP.name, EFFICIENCY.name)]
    heads = (Head(text=""), Head(text="workers"), *(Head(text=_head(view, name)) for name in metrics))
    rows = tuple((standing(view, column.key), column.workers, *(_cell(view, name, column.key) for name in metrics)) for column in columns)
    return Table(name="levels", heads=heads, rows=rows, stub=2, notes=(*_bands(view, columns), *_worth(view)))


def _bands(view: View, columns: Sequence[Column]) -> Iterator[str]:
    """ "scaling: 2 workers good to excellent, 4 workers poor"."""
    row = view.metric(EFFICIENCY.name)
    if words := [f"{column.label} {row.word(column.key)}" for column in columns if row is not None and row.word(column.key)]:
        yield f"scaling: {', '.join(words)}"


def _worth(view: View) -> tuple[str, ...]:
    """What the numbers of the table are worth, where no verdict stands behind them."""
    standing, why = answering.worth(view)
    if standing == "invalid":
        return (f"all invalid: {why}",)
    return (f"provisional: {why}",) if view.status == "INCONCLUSIVE" and len(view.columns) > 1 else ()


def _used(view: View, names: Sequence[str]) -> str:
    """The first of these metrics with a number at some worker count."""
    return next((name for name in names if any(view.estimate(name, column.key) for column in view.columns)), "")


def _head(view: View, name: str) -> str:
    if name == EFFICIENCY.name:
        return TITLES[name]  # its cells hold the unit
    if name in RATES:
        return f"{view.measured.experiment.workload.work}/s"
    row = view.metric(name)
    assert row is not None  # it has a number
    return ", ".join(word for word in (TITLES[name], row.shown_unit) if word)


def _cell(view: View, name: str, key: str) -> Cell:
    if name == SPEEDUP.name and key == view.base:
        return Words(text="1 (base)")
    if name == EFFICIENCY.name:
        return Words(text="") if key == view.base else _of_gate(view, key)
    number = cell(view, name, key)
    return replace(number, interval=False) if number and name in (*RATES, *PRICES) else number  # its interval is that of the time


def _of_gate(view: View, key: str) -> Cell:
    """The efficiency, and how it stands to its gate; its interval is that of the speedup."""
    number = cell(view, EFFICIENCY.name, key)
    if number is None or not number.shown.measured:
        return number
    status = next((row.status for row in view.gates if row.gate == "efficiency" and row.configuration == key), "")
    return Words(text=f"{number.shown.text} {GATE_WORDS.get(status, '')}".rstrip())


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


# ---- lines and tiles -------------------------------------------------------------------------------------------------


def _lines(view: View) -> Iterator[Line]:
    yield from target.lines(view)
    for dimension in ("correctness", "cost", "reliability"):
        if dimension == "cost" and (line := cost_line(view, _focus(view).key, shown=bool(_used(view, PRICES)))) is not None:
            yield line
            continue
        if dimension == "cost" and _used(view, PRICES):
            continue  # in the table of levels
        line = answering.dimension_line(view, dimension)
        if line is None:
            continue
        if dimension == "correctness" and line.mark == mark("NOT_MEASURED") and view.quality_metric is None:
            yield Line(
                label="result" if view.kind.unchecked else "quality", text=f"not checked; {_to_check(view)}", target="metrics-correctness"
            )
        else:
            yield replace(line, text=_quality(view) or line.text) if dimension == "correctness" else line
    yield doubts(view)


def _scores(view: View) -> list[str]:
    """The names of the scores of held-out examples that the script logged."""
    return sorted(view.measured.table("examples")["metric"].unique())


def _to_check(view: View) -> str:
    """How quality is checked with what the script logs."""
    if view.kind.unchecked:
        return view.kind.unchecked
    if scores := _scores(view):
        return f"to hold {scores[0]} too: --quality-metric {scores[0]} --margin 0.01 (the script logs: {', '.join(scores)})"
    logs = " (it logs: loss)" if "loss" in view.measured.table("fingerprints")["what"] else ""
    return f"the script scores no held-out examples{logs}; to score them: from fireassay import probe; probe.examples(ids, scores)"


def _quality(view: View) -> str:
    """The score of the studied worker count against the base's; "" where it was not measured."""
    column = _focus(view)
    difference = view.estimate(QUALITY_DIFFERENCE.name, column.key)
    if difference is None or view.quality_margin is None or column.key == view.base:
        return ""
    shown = show(difference, beside=(-view.quality_margin,)).full
    return f"{view.quality_metric} changed by {shown}, one-sided bounds, margin {given(view.quality_margin)}"


def _tile(view: View, dimension: str) -> Tile:
    cells = [(row.column, row.cells[dimension]) for row in view.vector]
    marks = tuple(answering.counted(view, found.status, str(column.workers), found.sentence) for column, found in cells)
    title, target = DIMENSION_TITLES[dimension], f"metrics-{dimension}"
    if dimension in view.unasked:
        return Tile(title=title, mark=mark("NOT_MEASURED", "not asked"), text=_unasked(view, dimension), target=target)
    statuses = {column.key: found.status for column, found in cells}
    column = _focus(view)
    worst: Status = next((status for status in WORST_FIRST if status in statuses.values()), "NOT_MEASURED")
    status = _of_performance(view, statuses) if dimension == "performance" else worst
    cell = next((found for other, found in cells if other == column and found.status != "NOT_MEASURED"), None)
    cell = cell or next((found for _, found in reversed(cells) if found.status == worst), cells[-1][1])
    big, small = _big(view, dimension, column)
    clauses = [clause for clause in cell.sentence.split("; ") if not big or big.rstrip("×") not in clause] or [cell.sentence]
    return Tile(
        title=title,
        mark=answering.counted(view, status),
        text=answering.shortened(clauses[0]),
        big=big,
        small=small,
        marks=marks,
        target=target,
    )


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


def _unasked(view: View, dimension: str) -> str:
    if dimension == "reliability" and not view.kind.trains:
        return "Its workers are its own: no fault can be injected."
    return {
        "cost": "No price was given: --price USD of one worker for one hour.",
        "reliability": "No fault was injected: --fault kill.",
    }.get(dimension, "It was not asked for.")


def _how_many(view: View) -> str:
    if view.measured.experiment.launches.until_decided:
        return decided_words(view.measured)
    return answering.launches_words(view, "worker count")


def _about(view: View) -> str:
    workers = ", ".join(str(column.workers) for column in view.columns)
    scaling = _scaling(view)
    return ", ".join(
        word
        for word in (f"{view.kind.title.split()[-1].capitalize()} on {workers} workers", scaling and f"{scaling} scaling", _launches(view))
        if word
    )


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
    if view.recommended is None and view.quality_metric is None and "correctness" not in view.unasked and (scores := _scores(view)):
        reason = "name the score that decides, so that quality can be judged"
        return (Next(reason=reason, command=f"assay run {record} --quality-metric {scores[0]}"),)
    lost = [row for row in view.findings if row.rule in DEGRADED_BY and row.configuration in _losing(view)]
    if lost:
        remedy = min(lost, key=lambda row: DEGRADED_BY.index(row.rule)).remedy
        return (Next(reason=f"{remedy}; then measure again", command=f"assay run {record}"),)
    if open_ := _others(view, "open"):
        levels = ",".join(str(column.workers) for column in (base_of(view), *open_))
        if examples := deciding.only_examples(view, open_):
            reason = f"decide on {_numbers(open_)}: score about {examples:,} held-out examples; launches of the same ones cannot"
            return (Next(reason=reason),)
        launches, reason = deciding.launches(view, open_, _numbers(open_))
        return (Next(reason=reason, command=f"assay run {record} --workers {levels} --launches {launches}"),)
    return _explain(view, record)


def _explain(view: View, record: str) -> tuple[Next, ...]:
    """What explains most of the lost time."""
    column, sums = studied(view), why(view)
    if column is None or not sums:
        return ()
    if cause := cause_of(view, column):
        rank = " ".join(cause.evidence.split()[:2])  # "rank 1"
        change = cause.remedy.partition(":")[0].replace("that rank", rank)
        return (
            Next(reason=f"{change}; then measure again", command=f"assay run {record}"),
            Next(reason="and compare the two", command=f"assay compare {record} latest --varying code"),
        )
    largest = max(sums[0].parts, key=lambda part: part.number.value.value if isinstance(part.number.value, Estimate) else 0.0)
    if largest.role in ("transfer", "waiting") and not view.measured.experiment.launcher.python:  # `comm` is of assay's own torch
        moved = view.estimate(COMM_VOLUME.name, column.key)
        size = f", with {show(moved).text} a step" if moved else ""
        return (
            Next(reason=f"see how much of it the links explain{size}", command=f"assay comm --workers {column.workers} --ops all_reduce"),
        )
    return (Next(reason="find what takes the time inside a step", command=f"assay profile {record} --workers {column.workers}"),)
