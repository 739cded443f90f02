"""What is the answer of a comparison, on one screen?

The metric that decides, with its change; then at most five that explain it, the largest change first.  Undecided: what could have been
shown, and what it takes.  Refused: every condition that forbids it, and no change at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from fireassay.estimates.format import count, reading
from fireassay.metrics.results import PROFILED
from fireassay.reports.answering import (
    DECIDES,
    Asked,
    brief_sections,
    change_tile,
    in_percent,
    launches_a_side,
    noted_doubts,
    shell_command,
    shortened,
    sure,
)
from fireassay.reports.charts.model import Edge, Interval, intervals
from fireassay.reports.page import Answer, Bullet, Bullets, Chart, Line, Mark, Next, Number, Section, Table, Tile, Tone, heads
from fireassay.reports.pages.comparison_view import DECIDED, ChangeRow, ComparisonView, MismatchRow
from fireassay.reports.pages.comparison_view import flips_brief as flip_lines
from fireassay.units import FRACTION
from fireassay.verdict.comparison.comparability import ALIASES
from fireassay.verdict.comparison.phrases import EXPLORATORY, UNKNOWN, apart_text, days_text
from fireassay.verdict.comparison.phrases import shortened as middle_cut
from fireassay.verdict.comparison.tested import TEST

ANYHOW: Final = Asked()
EXPLAINING: Final = 5  # metrics below the deciding one
MAX_SIDES: Final = 12
MAX_TILES: Final = 4
MAX_CONDITIONS: Final = 6  # of a refusal; the others are counted
TENFOLD: Final = 9.0  # as a relative change: more digits of it tell nobody anything
MAX_VALUE_LENGTH: Final = 30  # characters of a condition's value
INADMISSIBLE: Final = "an inadmissible record is no evidence"
MAX_FLIPS: Final = 5  # on one screen
MAX_FLAGS: Final = 4  # that fit a line; others are left to --force
TONES: Final[dict[str, Tone]] = {"improved": "good", "equivalent": "good", "higher": "good", "lower": "good", "worse": "bad"}
HELD: Final[dict[str, Tone]] = {"held": "good", "degraded": "bad", "inconclusive": "open", "measured": "gain"}
BENCHMARK: Final = "benchmark="
MAX_BENCHMARKS: Final = 12
VOID: Final = Mark(word="differs", tone="void")


def title(view: ComparisonView) -> str:
    """ "tuesday over monday"; only the names if nothing is compared or there are more than two."""
    if view.state == "incomparable":
        return " and ".join(filter(None, (", ".join(view.sides[:-1]), view.sides[-1])))
    base, *others = view.sides
    return f"{', '.join(others)} over {base}"


def answer(view: ComparisonView, records: Sequence[str] = (), *, by_quality: bool = False, asked: Asked = ANYHOW) -> Answer:
    """Status, change, evidence and next; `records` are the words that name the records in a command, `by_quality`: only quality decides."""
    if view.state == "incomparable":
        return _refused(view, records, asked)
    rows = _decisive(view)
    return Answer(
        mark=_mark(view, rows, by_quality=by_quality),
        headline=_headline(view, rows),
        evidence=_evidence(rows),
        tiles=tiles(view),
        lines=tuple(_lines(view)),
        next=() if view.exploratory else tuple(_next(rows, records, asked)),
        record=_record(view, rows, records),
    )


def brief(view: ComparisonView, records: Sequence[str] = ()) -> tuple[Section, ...]:
    """The evidence: a plot of the metrics, or of the sides; the conditions of a refusal."""
    if view.state == "incomparable":
        return (Section(key="brief-differs", title="", role="answer", content=(_conditions(view, records),)),)
    plot = _side_by_side(view) if _profiled(view) else _plot(view)
    flips = view.comparison.flips  # of evaluations
    return brief_sections(*(block for block in (plot, flip_lines(flips, MAX_FLIPS) if flips else None) if block is not None))


def _profiled(view: ComparisonView) -> bool:
    """True if no launch of any side was timed: they are profiles."""
    return view.state == "nothing_measured" and all(row.change.baseline == row.change.value == PROFILED for row in view.rows if row.primary)


def _side_by_side(view: ComparisonView) -> Table | None:
    """What the profiles of all sides hold, without a change: one launch each shows no spread."""
    cells = [(Number(shown=shown, interval=False) for shown in row.cells) for row in view.overview]
    rows = tuple(zip((head.lower() for head in view.heads), *cells, strict=True))
    return Table(name="changes", heads=heads("metric", *view.sides), rows=rows) if rows else None


def _plot(view: ComparisonView) -> Chart | None:
    """The metrics, or of several sides the one that decides."""
    rows, several = _decisive(view), len(view.sides) > 2
    shown = tuple(_of_sides(view, rows) if several else _of_metrics(view, rows))
    if not shown:
        return None
    changed = f"{rows[0].title.lower()}, change, %" if several else "change, %"
    return intervals(name="changes", title=changed, stub="side" if several else "metric", rows=shown, edges=(Edge(value=0.0),))


def _decisive(view: ComparisonView) -> list[ChangeRow]:
    return [row for row in view.rows if row.primary]


# ---- the verdict -----------------------------------------------------------------------------------------------------


def _mark(view: ComparisonView, rows: Sequence[ChangeRow], *, by_quality: bool) -> Mark:
    words = {word for _, word in view.quality}
    forced = f"{EXPLORATORY} " if view.exploratory else ""
    words = {word.removesuffix(f" ({EXPLORATORY})") for word in words}
    if view.state == "nothing_measured" and not by_quality:
        return Mark(word="profiled", tone="open") if _profiled(view) else Mark(word="nothing measured", tone="bad")
    if "degraded" in words:
        return Mark(word=f"{forced}degraded", tone="bad")
    if by_quality and words == {"measured"}:
        return Mark(word=f"{forced}measured", tone="gain")
    if by_quality:
        return Mark(word=f"{forced}{'held' if words == {'held'} else 'inconclusive'}", tone="good" if words == {"held"} else "open")
    undecided = [row for row in rows if row.change.outcome not in TONES]
    if _by_benchmark(rows) and (worse := [row for row in rows if row.change.outcome == "worse"]):
        return Mark(word=f"{forced}{worse[0].change.word}", tone="bad")
    if undecided or not rows:
        return Mark(word=f"{forced}inconclusive", tone="open")
    found = {row.change.word for row in rows}
    tones = {TONES[row.change.outcome] for row in rows}
    return Mark(word=f"{forced}{found.pop() if len(found) == 1 else 'compared'}", tone="bad" if "bad" in tones else "good")


def _headline(view: ComparisonView, rows: Sequence[ChangeRow]) -> str:
    if not rows:
        base, *others = view.sides
        return shortened(view.sentence.removeprefix(f"{others[0]} against {base}: ") if len(others) == 1 else view.sentence)
    where = {row.configuration for row in rows}
    at = f" at {where.pop()}" if len(where) == 1 and view.configuration in where else ""
    if _profiled(view):
        shown = f"the profiles side by side{at}" if view.heads else "assay report shows each profile"
        return f"no launch was timed, so no change is judged; {shown}"
    first = rows[0].title.lower()
    if len(rows) == 1:
        return f"{first} {_change(rows[0])}{at}"
    if _by_benchmark(rows):
        worse, undecided = (
            sum(row.change.outcome in outcomes for row in rows) for outcomes in (("worse",), ("inconclusive", "not_measured"))
        )
        counts = [f"{worse} slower" if worse else "", f"{undecided} undecided" if undecided else ""]
        rest = "; ".join(f"{name} {_change(row)}" for name, row in _benchmarks(view, rows)[:2])
        return f"{', '.join(filter(None, counts)) or 'none slower'} of {len(rows)} benchmarks; {first}: {rest}{'; ...' if len(rows) > 2 else ''}"
    return f"{first} {'; '.join(f'{row.side} {_change(row)}' for row in rows[:3])}{at}{'; ...' if len(rows) > 3 else ''}"


def _by_benchmark(rows: Sequence[ChangeRow]) -> bool:
    """True if the benchmarks of a file decide, each for itself."""
    return len({row.configuration for row in rows}) > 1 and all(row.configuration.startswith(BENCHMARK) for row in rows)


def benchmark_names(configurations: Iterable[str]) -> dict[str, str]:
    """configuration -> benchmark, without the file that all names begin with ("tests/test_sort.py::")."""
    names = {configuration: configuration.removeprefix(BENCHMARK) for configuration in configurations}
    files = {name.rpartition("::")[0] for name in names.values()}
    shared = f"{files.pop()}::" if len(files) == 1 and "" not in files else ""
    return {configuration: name.removeprefix(shared) for configuration, name in names.items()}


def _benchmarks(view: ComparisonView, rows: Sequence[ChangeRow]) -> list[tuple[str, ChangeRow]]:
    """Name and row of each benchmark, the slower ones first; without the file that all names begin with."""
    names = benchmark_names(row.configuration for row in rows)
    ordered = sorted(rows, key=lambda row: (row.change.outcome != "worse", row.change.outcome == "equivalent", -(row.change.ratio or 0.0)))
    sides = "{0} {1}" if len(view.sides) > 2 else "{1}"
    return [(sides.format(row.side, names[row.configuration]), row) for row in ordered]


def _change(row: ChangeRow) -> str:
    """ "+6.1 % [4.9, 7.3]", or why there is none; what is struck out is no claim."""
    if row.struck or row.effect is None:
        return f"not judged: {row.change.word}" if row.struck else row.change.word
    return row.effect.full


def _evidence(rows: Sequence[ChangeRow]) -> str:
    """Both values, or what could have been shown."""
    if len(rows) != 1:
        return ""
    (row,) = rows
    said = [f"{row.baseline.full} to {row.value.full}."] if row.baseline.measured and row.value.measured and not row.struck else []
    if row.change.outcome == "inconclusive":
        said += _power(row)
    apart = apart_text(row.change)
    return " ".join((*said, *((f"{apart[0].upper()}{apart[1:]}.",) if apart else ()), *filter(None, (days_text(row.change),))))


def _power(row: ChangeRow) -> list[str]:
    change, launches = row.change, launches_a_side(row.change.baseline, row.change.value)
    effect = change.minimum_detectable_effect
    if effect is None or not math.isfinite(effect):
        return [f"{count(launches, 'launches')} a side cannot show any change."]
    shown = reading(effect, FRACTION, way="up") if change.ratio is not None else row.detectable.removeprefix("detectable change ")
    shown = "only a change of more than tenfold" if change.ratio is not None and effect > TENFOLD else shown
    needed = f", about {count(change.launches_needed, 'launches')} would decide" if change.launches_needed else ""
    return [f"{count(launches, 'launches')} a side can show {shown}{needed}."]


# ---- the evidence ----------------------------------------------------------------------------------------------------


def _of_metrics(view: ComparisonView, rows: Sequence[ChangeRow]) -> Iterator[Interval]:
    """The deciding metric, then those that explain it, the largest change first."""
    chosen = sorted(_explaining(view)[:EXPLAINING], key=lambda row: -abs(math.log(row.change.ratio or 1.0)))
    if _by_benchmark(rows):
        known = [(name, row) for name, row in _benchmarks(view, rows) if _number(view, row) is not None]
        yield from (_interval(view, row, name, DECIDES) for name, row in known[:MAX_BENCHMARKS])
        return
    first = [row for row in rows if row.change.ratio is not None and not row.struck]
    yield from (_interval(view, row, row.title.lower(), DECIDES if row.primary else None) for row in (*first, *chosen))


def _explaining(view: ComparisonView) -> list[ChangeRow]:
    """Further metrics with a ratio: decided changes first, each group by size."""
    others = [row for row in view.deciding if not row.primary and row.change.ratio and not row.struck and row.effect is not None]
    others.sort(key=lambda row: (row.change.outcome not in DECIDED, not row.shown, -abs(math.log(row.change.ratio or 1.0))))
    return others


def tiles(view: ComparisonView) -> tuple[Tile, ...]:
    """What decides, by side if there are several; else also what explains it most; quality."""
    several = len(view.sides) > 2
    rows = _decisive(view) if several else [*_decisive(view), *_explaining(view)]
    quality = [
        Tile(title="Quality", mark=line.mark, text=line.text, target=line.target) for line in _quality(view) if line.mark and not several
    ]
    changed = (
        change_tile(row.side if several else row.title, Mark(word=row.word, tone=row.tone), _number(view, row), _ends(row))
        for row in rows[: MAX_TILES - len(quality)]
    )
    return (*changed, *quality)


def equal_loads(view: ComparisonView) -> Chart | None:
    """The deciding metric at every common load of two sides; None at a single load."""
    rows = [row for row in view.rows if row.metric == view.comparison.primary and _number(view, row) is not None]
    if len(rows) < 2 or len(view.sides) > 2:
        return None
    rows.sort(key=lambda row: (len(row.configuration), row.configuration))  # 8 before 16
    shown = tuple(_interval(view, row, row.configuration, DECIDES if row.primary else None) for row in rows)
    return intervals(name="equal-loads", title=f"{rows[0].title.lower()}, change, %", rows=shown, edges=(Edge(value=0.0),))


def _ends(row: ChangeRow) -> str:
    return f"{row.baseline.text} to {row.value.text}" if row.baseline.measured and row.value.measured else row.change.word


def _of_sides(view: ComparisonView, rows: Sequence[ChangeRow]) -> Iterator[Interval]:
    for row in [row for row in rows if row.change.ratio is not None and not row.struck][:MAX_SIDES]:
        yield _interval(view, row, row.side, Mark(word=row.word, tone=TONES.get(row.change.outcome, "open")))


def _interval(view: ComparisonView, row: ChangeRow, name: str, mark: Mark | None) -> Interval:
    number = _number(view, row)
    assert number is not None
    return Interval(name=name, number=number, mark=mark, target="changes")


def _number(view: ComparisonView, row: ChangeRow) -> Number | None:
    """A change in per cent; None without a ratio, or if it counts for nothing."""
    change = row.change
    if change.ratio is None or change.low is None or change.high is None or row.struck:
        return None
    return in_percent(change.ratio, change.low, change.high, confidence=view.comparison.confidence, method=change.method)


def _lines(view: ComparisonView) -> Iterator[Line]:
    yield from _quality(view)
    said = [_of_side(view, side) for side, _ in view.quality]
    said += [note for note in view.notes if any(note.startswith(f"{side}: {TEST} ") for side, _ in view.quality)]
    forced = [f"{row.field} differs" for row in view.mismatches if row.standing == "forced"]
    yield noted_doubts(
        (
            *(f"{text}: this comparison was forced." for text in forced),
            *(note for note in view.notes if note not in said and not note.startswith(UNKNOWN)),
        )
    )


def _of_side(view: ComparisonView, side: str) -> str:
    return next((note for note in view.notes if note.startswith(f"{side}: ")), "")


def _quality(view: ComparisonView) -> Iterator[Line]:
    for side, word in view.quality:
        tone, note = HELD.get(word.removesuffix(f" ({EXPLORATORY})")), _of_side(view, side)
        if tone is not None:
            text = note.removeprefix(f"{side}: ") if len(view.quality) == 1 else note
            yield Line(
                label="quality", text=shortened(text.partition(";")[0].rstrip(".") or word), mark=Mark(word=word, tone=tone), target="notes"
            )
            yield from _tested(view, side)


def _tested(view: ComparisonView, side: str) -> Iterator[Line]:
    """The textbook's p and the relative drop; the margin decides."""
    begin = f"{side}: {TEST} "
    for note in view.notes:
        if note.startswith(begin):
            text = note.removeprefix(begin).rstrip(".")
            yield Line(label="t-test", text=text if len(view.quality) == 1 else f"{side}: {text}", target="notes")


def _next(rows: Sequence[ChangeRow], records: Sequence[str], asked: Asked) -> Iterator[Next]:
    """How to decide: both again, interleaved; else more launches."""
    undecided = next((row for row in rows if row.change.outcome == "inconclusive"), None)
    if undecided is None:
        return
    occasion, needed = undecided.change.occasion, undecided.change.launches_needed
    if occasion is not None and occasion.way_on and len(records) == 2 and "(assay check " in occasion.way_on:
        blocks = ("--rounds", str(needed)) if needed and needed > 5 else ()
        words = ("assay", "check", records[1], "--against", records[0], *asked.compare, "--confirm", "always", *blocks)
        yield in_turn("measure both again, in turn", words, asked)
    elif occasion is not None and occasion.way_on and asked.both:
        yield Next(reason="measure both again, in turn", command=asked.both)
    elif occasion is not None and occasion.way_on:
        yield Next(reason=occasion.way_on)
    elif undecided.needed and asked.more:
        yield Next(reason=f"measure again: {undecided.needed}", command=f"{asked.more} --launches {needed}")
    elif undecided.needed:
        yield Next(reason=f"measure again with more launches: {undecided.needed}")


def in_turn(reason: str, words: Sequence[str], asked: Asked) -> Next:
    """The step that measures both codes again; a sentence where that is not possible from here."""
    return (
        Next(reason=f"{reason}, with {' '.join(words[:2])}; not possible from here: {asked.cannot}")
        if asked.cannot
        else Next(reason=reason, command=shell_command(*words))
    )


def _record(view: ComparisonView, rows: Sequence[ChangeRow], records: Sequence[str]) -> str:
    launches = launches_a_side(*(value for row in rows for value in (row.change.baseline, row.change.value)))
    each = f", {count(launches, 'launches')} a side" if launches else ""
    studied = f"; studied: {', '.join(view.varying)}" if view.varying else ""
    intervals = f", {words}" if (words := sure(view.confidence, launches)) and not _profiled(view) else ""
    return f"{', '.join(records or view.sides)}{each}{intervals}{studied}; --full shows everything"


# ---- a refusal -------------------------------------------------------------------------------------------------------


def _refused(view: ComparisonView, records: Sequence[str], asked: Asked) -> Answer:
    rows = _refusing(view)
    final = next((row for row in rows if not row.override), None)  # no flag overrides it
    told = _more_than(view, rows) if final is None else INADMISSIBLE if final.field == "verdict.status" else final.why
    return Answer(
        mark=Mark(word="not comparable", tone="void"),
        headline=told,
        next=(_allow(rows, records or view.sides, asked),) if final is None else (),
        record=f"{', '.join(records or view.sides)}; nothing is compared; --full shows every difference",
    )


def _refusing(view: ComparisonView) -> list[MismatchRow]:
    return [row for row in view.mismatches if row.standing == "refuses"]


def _more_than(view: ComparisonView, rows: Sequence[MismatchRow]) -> str:
    studied = f" besides {', '.join(view.varying)}" if view.varying else ""
    return f"{count(len(rows), 'conditions')} {'differs' if len(rows) == 1 else 'differ'}{studied}"


def _conditions(view: ComparisonView, records: Sequence[str]) -> Bullets:
    """Each condition with both values and why it matters."""
    rows = _refusing(view)
    named = records if len(records) == len(view.sides) else view.sides
    names = [min(pair, key=len) for pair in zip(view.sides, named, strict=True)]
    items = tuple(
        Bullet(mark=VOID, title=row.field, text=shortened(f"{_values(row, names)}: {row.why}", 190)) for row in rows[:MAX_CONDITIONS]
    )
    more = len(rows) - len(items)
    return Bullets(items=(*items, *((Bullet(text=f"{count(more, 'more conditions')}: --full"),) if more else ())))


def _values(row: MismatchRow, names: Sequence[str]) -> str:
    values = [middle_cut(value, MAX_VALUE_LENGTH) for value in row.values]
    if len(values) != len(names):
        return " against ".join(values)
    return "; ".join(f"{name} {value}" for name, value in zip(names, values, strict=True))


def _allow(rows: Sequence[MismatchRow], records: Sequence[str], asked: Asked) -> Next:
    """The command that declares what differs as studied."""
    if len(rows) > MAX_FLAGS:
        return Next(
            reason="measure both under the same conditions; to compare anyway, marked EXPLORATORY",
            command=shell_command("assay", "compare", *records, *asked.flags, "--force"),
        )
    subjects = dict.fromkeys("code" if row.field in ALIASES["code"] else row.field for row in rows)
    flags = [word for subject in subjects for word in ("--varying", subject)]
    return Next(
        reason="measure both under the same conditions; if the difference is what is studied, say so",
        command=shell_command("assay", "compare", *records, *asked.flags, *flags),
    )
