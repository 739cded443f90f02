"""Which of two engines should it be, on one screen?

The deciding number is the throughput of a replica at each engine's best load; the plot pairs equal loads.  FASTER and EQUIVALENT are the
outcome of that comparison, and only stand where the record passes; else the record's own status does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, bracketed, percent, show
from fireassay.kinds.serving import answer as of_load
from fireassay.kinds.serving.brief import GOOD_PRICE, PRICES, YIELDS, caution, cautioned, load_name, unit
from fireassay.kinds.serving.deciding import decide, open_loads
from fireassay.metrics.serving.latency import TPOT_P50
from fireassay.metrics.serving.memory import GPUS, OF_DEVICE, OF_HOST, REPORTED
from fireassay.metrics.serving.objectives import SLO_ATTAINMENT
from fireassay.reports import answering
from fireassay.reports.charts.model import Edge, Interval, intervals
from fireassay.reports.charts.trade_offs import inverse, pareto
from fireassay.reports.page import Answer, Blocks, Cell, Chart, Head, Line, Mark, Next, Number, Prose, Section, Table, Words
from fireassay.reports.view import Column, View
from fireassay.units import FRACTION, RATIO
from fireassay.verdict.comparison.a_or_b import AOrB, SameLoad
from fireassay.verdict.comparison.tested import TEST
from fireassay.verdict.comparison.types import Change
from fireassay.verdict.types import HOLDS

ROWS: Final = 5  # loads shown, so that table and plot fit a screen
NAME: Final = 8  # characters of an engine's name in a head; a longer one stands below the table
PERCENT: Final = Scale(factor=100.0, after=" %")
DECIDED: Final = ("improved", "worse")
ORDER: Final = ("only", "misses", "undecided", "more", "equal", "neither")  # of what is said of the loads
OPEN: Final = {"equal": "no difference is shown", "undecided": "undecided", "misses": "undecided"}
REST: Final = {"equal": "no difference is shown", "neither": "neither meets the objectives"}


def answer(view: View, rivals: AOrB) -> Answer:
    """The advice, the reason, and when to choose which."""
    load, outcome = of_load.answer(view), rivals.change.outcome if rivals.change else ""
    if view.status == "INVALID":
        return load
    passed = view.status in HOLDS
    at_each = by_load(view, rivals)
    overall, reach = (headline(view, rivals), _evidence(view, rivals)) if passed else (load.headline, load.evidence)
    word = "faster" if outcome in DECIDED else "equivalent" if outcome == "equivalent" else ""
    return replace(
        load,
        mark=Mark(word=word, tone="good") if passed and word else load.mark,
        headline=at_each or overall,
        evidence=f"{overall}. {reach}".strip() if at_each else reach,
        lines=(
            *(() if at_each else _choose(view, rivals)),
            *_quality(rivals),
            *_memory(view, rivals),
            *(line for line in load.lines if line.label != of_load.NOT_MEASURED),
        ),
        next=_next(view, rivals) if passed else load.next,
    )


def brief(view: View, rivals: AOrB) -> tuple[Section, ...]:
    """Both engines at equal loads, and the difference; marked where the numbers do not count, or not yet."""
    return answering.brief_sections(*cautioned(view, *_table(view, rivals, some(view, rivals))))


def sections(view: View, rivals: AOrB) -> Iterator[Section]:
    """The same with every load, for a page: the sentence, the frontier, and equal loads."""
    (chart,) = pareto(view)
    said = f"{headline(view, rivals)}. {_evidence(view, rivals)}" if view.status != "INVALID" else f"{caution(view).capitalize()}."
    sentence = Prose(text=said.strip(), weight="lead")
    chosen = tuple(Prose(text=f"Choose {line.text}.") for line in _choose(view, rivals))
    apart: Blocks = (*chosen, _whole(view, rivals), *_plot(view, rivals, rivals.loads))
    title, question = f"{rivals.a} or {rivals.b}", "Which one at my objectives?"
    yield Section(key="a-or-b", title=title, question=question, content=(sentence, *chosen, _whole(view, rivals)))
    yield Section(key="pareto", title="Frontier", role="exhibit", content=(chart,))
    yield Section(key="equal", title="Equal loads", question="How far apart are they at equal load?", role="question", content=apart)


# ---- what to do ------------------------------------------------------------------------------------------------------


def headline(view: View, rivals: AOrB) -> str:
    """ "b over a: 59 % [55, 63] more tokens/s per replica at your objectives"."""
    change = rivals.change
    if change is None:
        return _one_alone(view, rivals)
    what = f"{_unit_of(rivals)} per replica {_where(view, rivals)}"
    if change.outcome in DECIDED:
        winner, loser, low, value, high = _won(rivals, change)
        if value < 2.0:
            more = bracketed(value - 1.0, low - 1.0, high - 1.0, FRACTION)
            return f"{winner} over {loser}: {' '.join(more)} more {what}"
        return f"{winner} over {loser}: {' '.join(bracketed(value, low, high, RATIO))} times the {what}"
    if change.outcome == "struck_out":
        return f"{rivals.b} against {rivals.a}: its speed counts for nothing, as quality was not held"
    if change.ratio is None:
        return f"{rivals.a} and {rivals.b} pass, but {what} were not compared: {change.word}"
    number = difference(change)
    text = number.shown.full if number is not None else change.word
    alike = "are equal in" if change.outcome == "equivalent" else "show no difference in"
    return f"{rivals.a} and {rivals.b} {alike} {what}: {text}"


def by_load(view: View, rivals: AOrB) -> str:
    """ "b from 32 in flight on: there a meets 0 % of its requests, b 100 %; a gives more tokens/s at 8"; "" if all loads say the same."""
    standings = [(_standing(view, rivals, same), same) for same in rivals.loads]
    kinds = dict.fromkeys(standing for standing, _ in standings)
    told = ("misses", "undecided") if view.status in HOLDS else ("only", "misses")  # what no other sentence says
    if len(kinds) < 2 and not any(kind in told for kind, _ in kinds):
        return ""
    grouped = {
        kind: [same for standing, same in standings if standing == kind] for kind in sorted(kinds, key=lambda kind: ORDER.index(kind[0]))
    }
    words = [_only(view, rivals, engine, loads) for (kind, engine), loads in grouped.items() if kind == "only"]
    words += [_missed(view, rivals, engine, loads) for (kind, engine), loads in grouped.items() if kind == "misses"]
    words += _undecided(view, rivals)
    more = [f"{engine} at {_loads(view, loads)}" for (kind, engine), loads in grouped.items() if kind == "more"]
    words += [f"more {_unit_of(rivals)}: {', '.join(more)}"] if more else []
    for (kind, _), loads in grouped.items():
        words += [f"{REST[kind]} at {_loads(view, loads)}"] if kind in REST else []
    return "; ".join(words)


def _standing(view: View, rivals: AOrB, same: SameLoad) -> tuple[str, str]:
    """How both stand at a load, by what was measured there: (only, misses, undecided, more, equal or neither; the engine)."""
    met = {engine: _meets(view, key) for engine, key in ((rivals.a, same.a), (rivals.b, same.b))}
    if view.load.attainment is not None and all(share is not None for share in met.values()):
        if "open" in met.values():
            missing = [engine for engine, share in met.items() if share == "no"]
            return ("misses", missing[0]) if missing else ("undecided", "")
        within = [engine for engine, share in met.items() if share == "yes"]
        if len(within) < 2:
            return ("only", within[0]) if within else ("neither", "")
    low, high = same.change.low, same.change.high
    if low is None or high is None or same.change.outcome == "struck_out":
        return "equal", ""
    return ("more", rivals.b) if low > 1.0 else ("more", rivals.a) if high < 1.0 else ("equal", "")


def _meets(view: View, key: str) -> str | None:
    """Whether enough requests meet the objectives: yes, no, or open where the interval holds the required share; None if unknown."""
    share, least = view.estimate(SLO_ATTAINMENT.name, key), view.load.attainment
    if share is None or least is None:
        return None
    if share.low < least <= share.high and key in {column.key for column in open_loads(view)}:
        return "open"
    return "yes" if share.high >= least else "no"  # below a load that passes, it is not open: more load does not help


def _open(view: View, rivals: AOrB) -> dict[str, list[str]]:
    """Engine -> the configurations at which it is undecided."""
    pairs = [(rivals.a, same.a) for same in rivals.loads] + [(rivals.b, same.b) for same in rivals.loads]
    open_ = [(engine, key) for engine, key in pairs if _meets(view, key) == "open"]
    return {engine: [key for side, key in open_ if side == engine] for engine, _ in open_}


def _missed(view: View, rivals: AOrB, engine: str, loads: Sequence[SameLoad]) -> str:
    """ "a at 32 meets 0 % of its requests"; the share where there is one load."""
    share = view.estimate(SLO_ATTAINMENT.name, loads[0].a if engine == rivals.a else loads[0].b)
    where = f"{engine} at {_loads(view, loads)}"
    return f"{where} meets {_share(view, share.value)} of its requests" if share and len(loads) == 1 else f"{where} misses them"


def _share(view: View, value: float) -> str:
    """As the table has it, and never the required share."""
    return percent(value, 2, beside=(view.load.attainment or 1.0,))


def _undecided(view: View, rivals: AOrB) -> list[str]:
    """ "a at 8: undecided, 98.0 % [92.0, 100.0]"; the share where there is one load."""
    words = []
    for engine, keys in _open(view, rivals).items():
        number = _met(view, rivals, keys[0]) if len(keys) == 1 else None
        shown = f", {number.shown.text} % {number.shown.interval}" if number else ""
        words.append(f"{engine} at {_listed([load_name(_column(view, key)) for key in keys])}: undecided{shown}")
    return words


def _only(view: View, rivals: AOrB, engine: str, loads: Sequence[SameLoad]) -> str:
    """Where only one engine meets the objectives, and how far the other misses them at the first of these loads."""
    first, last = loads[0], rivals.loads[-1]
    onwards = loads[-1] is last and len(rivals.loads) > 1 and list(loads) == list(rivals.loads[-len(loads) :])
    where = f"from {_column(view, first.a).brief} on" if onwards else f"at {_loads(view, loads)} {unit(view)}"
    shares = {name: view.estimate(SLO_ATTAINMENT.name, key) for name, key in ((rivals.a, first.a), (rivals.b, first.b))}
    other = rivals.a if engine == rivals.b else rivals.b
    shown = {name: _share(view, share.value) for name, share in shares.items() if share is not None}
    return f"{engine} {where}: there {other} meets {shown[other]} of its requests, {engine} {shown[engine]}"


def _loads(view: View, loads: Sequence[SameLoad]) -> str:
    return _listed([load_name(_column(view, same.a)) for same in loads])


def _won(rivals: AOrB, change: Change) -> tuple[str, str, float, float, float]:
    """Winner, loser, and the winner's ratio with its interval."""
    assert change.ratio is not None
    assert change.low is not None
    assert change.high is not None
    if change.outcome == "improved":
        return rivals.b, rivals.a, change.low, change.ratio, change.high
    upper = 1.0 / change.low if change.low > 0.0 else math.inf
    return rivals.a, rivals.b, 1.0 / change.high, 1.0 / change.ratio, upper


def _one_alone(view: View, rivals: AOrB) -> str:
    best = {rivals.a: rivals.best_a, rivals.b: rivals.best_b}
    alone = [(engine, key) for engine, key in best.items() if key]
    if len(alone) != 1:
        return of_load.answer(view).headline
    engine, key = alone[0]
    other = rivals.b if engine == rivals.a else rivals.a
    if other in _open(view, rivals):
        return f"{engine} is within {of_load.objectives_words(view)} up to {_column(view, key).brief}, {other} is undecided"
    return f"only {engine} is within {of_load.objectives_words(view)}: up to {_column(view, key).brief}"


def _where(view: View, rivals: AOrB) -> str:
    if rivals.at_objectives:
        return "at your objectives"
    return f"at {_column(view, rivals.best_a or '').brief}"


def _evidence(view: View, rivals: AOrB) -> str:
    """The objectives, and how far each engine goes."""
    words = [f"Scenario {rivals.scenario}."] if len({column.scenario for column in view.columns}) > 1 else []
    if not rivals.at_objectives:
        return " ".join((*words, "No objective was asked for: compared at the largest common load."))
    reach = ", ".join(_reach(view, rivals, *best) for best in ((rivals.a, rivals.best_a), (rivals.b, rivals.best_b)))
    share = percent(view.load.attainment or 0.0, 6)
    return " ".join((*words, f"{of_load.objectives_words(view)} for {share}: {reach} {unit(view)}."))


def _reach(view: View, rivals: AOrB, engine: str, key: str | None) -> str:
    """ "a to 16", "a at no load"; with the larger loads at which it is undecided."""
    best = _column(view, key).load if key else None
    columns = [_column(view, name) for name in _open(view, rivals).get(engine, ())]
    open_ = [load_name(column) for column in columns if best is None or (column.load or 0.0) > best]
    undecided = f"undecided at {_listed(open_)}" if open_ else ""
    if key is None:
        return f"{engine} {undecided or 'at no load'}"
    return f"{engine} to {load_name(_column(view, key))}{f' ({undecided})' if open_ else ''}"


def _unit_of(rivals: AOrB) -> str:
    """The unit of what is compared: tokens/s, input tokens/s or requests/s."""
    return YIELDS[rivals.metric].removeprefix("output ")


def _column(view: View, key: str) -> Column:
    return next(column for column in view.columns if column.key == key)


def _choose(view: View, rivals: AOrB) -> tuple[Line, ...]:
    """The only one within the objectives, else the one whose advantage the interval shows; where the record passes."""
    if view.status not in HOLDS or len(rivals.loads) < 2:
        return ()
    sides: dict[tuple[str, str], list[str]] = {}
    for same in rivals.loads:
        kind, engine = _standing(view, rivals, same)
        sides.setdefault(("", engine) if kind in ("only", "more") else (kind, ""), []).append(load_name(_column(view, same.a)))
    said = [f"{engine} at {_listed(sides['', engine])} {unit(view)}" for engine in (rivals.a, rivals.b) if ("", engine) in sides]
    rest = [f"at {_listed(loads)} {OPEN[kind]}" for (kind, _), loads in sides.items() if kind in OPEN]
    return (Line(label="choose", text="; ".join((", ".join(said), *rest))),) if said else ()


def _listed(loads: Sequence[str]) -> str:
    *most, last = loads
    return f"{', '.join(most)} and {last}" if most else last


def _quality(rivals: AOrB) -> Iterator[Line]:
    if rivals.quality is not None and rivals.quality.held != "NOT_MEASURED":
        marks = {"HELD": answering.mark("PASS", "held"), "DEGRADED": answering.mark("FAIL", "lost")}
        text = answering.shortened(rivals.quality.sentence, of_load.TWO_LINES)
        yield Line(label="quality", text=text, mark=marks.get(rivals.quality.held, answering.mark("INCONCLUSIVE")))
        if rivals.quality.tested:
            yield Line(label="t-test", text=rivals.quality.tested.removeprefix(f"{TEST} "))


MEMORIES: Final = {  # the first that is known of both engines: one source, never two
    OF_DEVICE.name: "GPU, own processes",
    GPUS.name: "GPUs, all programs",
    OF_HOST.name: "host, own processes",
    REPORTED.name: "host, by their own report",
}


def _memory(view: View, rivals: AOrB) -> Iterator[Line]:
    """ "a 14.9 GB, b 15.1 GB: GPU, own processes, at 8 in flight"; at the largest load of both, with the source of the numbers."""
    if not rivals.loads:
        return
    last = rivals.loads[-1]
    for metric, source in MEMORIES.items():
        a, b = (answering.cell(view, metric, key) for key in (last.a, last.b))
        if _is(a) and _is(b) and a is not None and b is not None:
            text = f"{rivals.a} {a.shown.text}, {rivals.b} {b.shown.text}: {source}, at {_column(view, last.a).brief}"
            yield Line(label="memory", text=text, target="numbers")
            return


def _next(view: View, rivals: AOrB) -> tuple[Next, ...]:
    if view.foreign:
        return ()
    if open_ := open_loads(view):
        return (decide(view, open_),)
    if rivals.change is not None and rivals.change.outcome == "inconclusive":
        launches = max(rivals.change.launches_needed or 0, 2 * answering.timed(view))
        return (Next(reason="decide with more launches", command=f"assay load {answering.named(view)} --launches {launches}"),)
    return ()


# ---- tables ----------------------------------------------------------------------------------------------------------


def some(view: View, rivals: AOrB) -> tuple[SameLoad, ...]:
    """At most ROWS equal loads: the best of both, the first, the last, then the larger ones."""
    loads = list(rivals.loads)
    best = [index for index, same in enumerate(loads) if same.a == rivals.best_a or same.b == rivals.best_b]
    ranked = dict.fromkeys((*best, 0, len(loads) - 1, *range(len(loads) - 1, -1, -1)))
    wanted = set(list(ranked)[:ROWS])
    return tuple(same for index, same in enumerate(loads) if index in wanted)


def _table(view: View, rivals: AOrB, same: Sequence[SameLoad]) -> tuple[Table, ...]:
    """What each engine gives at each load, and b over a; one bound holds for the other numbers, as there is no room for their intervals."""
    a, b, *named = _short(rivals)
    columns = [
        ("SLO met, %", _met),
        (_unit_of(rivals) + " per replica" * any(column.workers > 1 for column in view.columns), _per_replica),
        (PRICES[GOOD_PRICE][0], _price),
        ("tokens/s, one user", _per_user),  # first to be left out in a narrow window
    ]
    shown = [(head, cell) for head, cell in columns if any(_is(cell(view, rivals, key)) for row in same for key in (row.a, row.b))]
    if not shown or not same:
        return ()
    change = (Head(text=_unit_of(rivals), above=f"{b} / {a}"),) if any(difference(row.change) for row in same) else ()
    pairs = [(Head(text=engine, above=head), cell, engine == b) for head, cell in shown for engine in (a, b)]
    # after the throughput, or before what stands there instead: columns that do not fit are left out from the right
    at = 1 + 2 * next((index + 1 for index, (_, cell) in enumerate(shown) if cell is _per_replica), 0)
    heads = [Head(text="load"), *(head for head, _, _ in pairs)]
    rows = [[_load(view, row.a), *(_bare(cell(view, rivals, row.b if is_b else row.a)) for _, cell, is_b in pairs)] for row in same]
    for row, load in zip(rows, same, strict=True):
        row[at:at] = [_percent(load.change) for _ in change]
    heads[at:at] = change
    notes = (*named, _bound(view, rivals, same))
    return (Table(name="a-or-b", heads=tuple(heads), rows=tuple(map(tuple, rows)), notes=notes),)


def _percent(change: Change) -> Cell:
    """ "+137 % [109, 169]"; a word where there is no ratio."""
    number = difference(change)
    return Words(text=change.word) if number is None else number


def _is(number: Number | None) -> bool:
    return number is not None and isinstance(number.value, Estimate)


def _bare(number: Number | None) -> Cell:
    return None if number is None else replace(number, interval=False)


def _bound(view: View, rivals: AOrB, same: Sequence[SameLoad]) -> str:
    """The largest half-widths, rounded up: of speeds relative to each, of shares in points."""
    keys = [key for row in same for key in (row.a, row.b)]
    speeds = [_half(cell(view, rivals, key), relative=True) for cell in (_per_user, _per_replica) for key in keys]
    shares = [_half(_met(view, rivals, key), relative=False) for key in keys]
    prices = [_half(_price(view, rivals, key), relative=True) for key in keys]
    if not all(map(math.isfinite, (*speeds, *shares, *prices))):
        return "Some numbers have no interval."
    points = f", SLO ±{percent(max(shares), way='up').removesuffix(' %')} points" if any(shares) else ""
    dollars = f", prices ±{percent(max(prices), way='up')}" if any(prices) else ""
    return f"{view.confidence} intervals: speeds ±{percent(max(speeds), way='up')} of each{points}{dollars}, or less."


def _half(number: Number | None, *, relative: bool) -> float:
    """The longer side of an interval; 0 without a number."""
    value = number.value if number is not None else None
    if not isinstance(value, Estimate):
        return 0.0
    half = max(value.high - value.value, value.value - value.low)
    return half / abs(value.value) if relative and value.value else half


def _per_user(view: View, _: AOrB, key: str) -> Number | None:
    value = view.estimate(TPOT_P50.name, key)
    value = None if value is None or value.value <= 0.0 else inverse(value)
    return None if value is None else Number(shown=show(value, Scale(factor=1.0)), bare=True)


def _per_replica(_: View, rivals: AOrB, key: str) -> Number | None:
    value = rivals.per_replica.get(key)
    return None if value is None else Number(shown=show(value, Scale(factor=1.0)), bare=True)


def _met(view: View, _: AOrB, key: str) -> Number | None:
    value, least = view.estimate(SLO_ATTAINMENT.name, key), view.load.attainment
    return None if value is None or least is None else Number(shown=show(value, Scale(factor=100.0), beside=(least,)), bare=True)


def _price(view: View, _: AOrB, key: str) -> Number | None:
    """Of a good token: the price that two engines with the same objectives are chosen by."""
    value = view.estimate(GOOD_PRICE, key)
    return None if value is None else Number(shown=show(value, Scale(factor=PRICES[GOOD_PRICE][1].factor)), bare=True)


def _load(view: View, key: str) -> Cell:
    column = _column(view, key)
    return int(column.load) if column.load is not None and column.load == int(column.load) else load_name(column)


def _short(rivals: AOrB) -> tuple[str, ...]:
    """Names for heads; letters for long ones, and then what they stand for."""
    if max(len(rivals.a), len(rivals.b)) <= NAME:
        return rivals.a, rivals.b
    return "a", "b", f"a is {rivals.a}, b is {rivals.b}."


def _plot(view: View, rivals: AOrB, same: Sequence[SameLoad]) -> tuple[Chart, ...]:
    rows = tuple(
        Interval(name=load_name(_column(view, row.a)), number=number, mark=_mark(rivals, row))
        for row in same
        if (number := difference(row.change)) is not None
    )
    a, b, *_ = _short(rivals)
    title = f"per replica, {b}/{a}, %"
    return (intervals(name="equal-loads", title=title, stub=unit(view), rows=rows, edges=(Edge(value=0.0, text="equal"),)),) if rows else ()


def _mark(rivals: AOrB, same: SameLoad) -> Mark | None:
    """Only the loads at which both engines are best are marked."""
    return Mark(word="best load of both", tone="gain") if (same.a, same.b) == (rivals.best_a, rivals.best_b) else None


def difference(change: Change) -> Number | None:
    """b against a as a change in per cent; a ratio above 0 alone bounds nothing."""
    if change.ratio is None or change.low is None or change.high is None:
        return None
    value = change.value
    launches = value.n_launches if isinstance(value, Estimate) else 0
    estimate = Estimate(
        value=change.ratio - 1.0,
        low=change.low - 1.0 if change.low > 0.0 else -math.inf,
        high=change.high - 1.0,
        unit=FRACTION,
        confidence=value.confidence if isinstance(value, Estimate) else 0.95,
        n_launches=launches,
        n_trials=0,
        method=change.method,
        signature="",
    )
    shown = show(estimate, PERCENT)
    signed = f"+{shown.text}" if estimate.value > 0.0 else shown.text
    return Number(shown=replace(shown, text=signed), bare=True)


def _whole(view: View, rivals: AOrB) -> Table:
    """Every equal load with its intervals, for a page."""
    what = _unit_of(rivals)
    heads = ("Load", f"{rivals.a}, {what} per replica", f"{rivals.b}, {what} per replica", f"{rivals.b} against {rivals.a}", "Better")
    rows = tuple(
        (
            load_name(_column(view, row.a)),
            _per_replica(view, rivals, row.a),
            _per_replica(view, rivals, row.b),
            difference(row.change),
            Words(text="invalid" if view.status == "INVALID" else _word(*_standing(view, rivals, row))),
        )
        for row in rivals.loads
    )
    notes = ("Paired by round. Better: the only one within the objectives, else by the interval.",)
    return Table(name="equal-loads", heads=tuple(Head(text=head) for head in heads), rows=rows, notes=notes)


def _word(kind: str, engine: str) -> str:
    words = {"neither": "neither is within the objectives", "undecided": "undecided", "misses": "undecided"}
    return words.get(kind) or engine or "not shown"
