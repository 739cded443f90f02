"""Do more workers pay, whoever measured it?  Speedup with the ideal and Amdahl's ceiling, efficiency with its threshold, cost of work, and the
triangle of quality, throughput and cost.

The same charts for a table from elsewhere, whose numbers have no intervals, and for a record. Each corner of the triangle is a share of the best
row: throughput, work per dollar, and quality (the best one's loss over a row's where a lower one is better). A row that lost quality did other
work: it is drawn broken, and cannot be the best. The area of a triangle means nothing; the bars show the same shares.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeGuard

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import limit_text
from fireassay.reports.charts.axes import levels_axis, linear, logarithmic, rows_axis, top_of
from fireassay.reports.charts.model import (
    REFERENCE,
    Anchor,
    Area,
    Axis,
    Bar,
    Chart,
    Charts,
    Course,
    Drawn,
    Key,
    Label,
    Line,
    Look,
    Panel,
    Point,
    Reading,
    Role,
    Rule,
    Shape,
    Spot,
    named,
)
from fireassay.reports.charts.of_view import counts_axis, workbook
from fireassay.reports.charts.points import PLAIN, Swatch, plain, point
from fireassay.stats.models.scaling_predictions import amdahl_speedup

HEIGHT: Final = 240
CURVE_POINTS: Final = 60
MAX_TRIANGLES: Final = 6
MAX_DRAWN: Final = 24  # rows; a chart of thousands takes minutes and shows no more
MAX_LABELS: Final = 12  # rows with a number at each mark
APART: Final = 0.2  # of the side of the best: closer labels would cover one another
BEYOND: Final = 1.2  # how far a row that is refused may leave the triangle of the best
CORNERS: Final = ((0.0, 1.0), (0.9, -0.55), (-0.9, -0.55))  # quality above, throughput right, work per dollar left
SIDES: Final = (Swatch("quality", "plum"), Swatch("throughput", "teal"), Swatch("work per dollar", "gold"))
Amount = Estimate | float


@dataclass(frozen=True, kw_only=True)
class Level:
    """What is known of a number of workers. None: not measured."""

    name: str
    workers: int
    speedup: Amount | None = None
    efficiency: Amount | None = None  # 0..1
    cost: Amount | None = None  # of equal work, US dollars
    throughput: Amount | None = None
    quality: Amount | None = None
    refused: bool = False  # it lost quality
    chosen: bool = False
    target: str = ""  # anchor of its row


@dataclass(frozen=True, kw_only=True)
class Levels:
    """Worker counts, smallest first, and what they are judged by."""

    rows: tuple[Level, ...]
    word: str  # "workers"
    base: int  # workers of the base
    threshold: float | None  # least efficiency
    serial: float | None = None  # Amdahl's share; None: not fitted
    cost_of: str = "item"  # or step, run
    quality_name: str = "quality"
    lower: bool = False  # a lower quality is better
    point: str = "single timing: no interval"  # what a mark is
    left: int = 0  # rows that are not drawn


def thinned(levels: Levels) -> Levels:
    """At most some 24 rows: at equal factors of workers from end to end, the chosen one, and the best of each corner of the triangle."""
    rows = levels.rows
    if len(rows) <= MAX_DRAWN:
        return levels
    at = [math.log(row.workers) for row in rows]
    step = (at[-1] - at[0]) / (MAX_DRAWN - 1)
    kept = {min(bisect.bisect_left(at, at[0] + step * place - 1e-9), len(rows) - 1) for place in range(MAX_DRAWN)}
    held = [index for index, row in enumerate(rows) if not row.refused]
    kept |= {max(held, key=lambda index: gain(rows[index]) or 0.0) for gain in _gains(levels).values()}
    drawn = tuple(row for index, row in enumerate(rows) if index in kept or row.chosen)
    return replace(levels, rows=drawn, left=len(rows) - len(drawn))


@named("rubric-speedup")
def speedup(levels: Levels) -> Chart:
    """Measured speedup, the ideal line, Amdahl's curve and its ceiling."""
    known = [(row, row.speedup) for row in levels.rows if row.speedup is not None]
    title = "Do more workers pay?"
    if len(known) < 2:
        return Chart(title=title, missing="One worker count has nothing to be faster than.")
    x = _axis(levels)
    most, ideal = max(_value(value) for _, value in known), x.high / levels.base
    ceiling = _ceiling(levels.serial)
    reached = ceiling is not None and ceiling <= max(ideal, 1.15 * most)
    top = 1.12 * max(most, ceiling if reached and ceiling is not None else 0.0, min(ideal, 2.0 * most))
    least = min(1.0, *(_value(value) for _, value in known))
    y = logarithmic(0.8 * least, top) if x.log else linear(0.0, top)
    marks: list[Drawn] = [
        Line(points=((x.low, x.low / levels.base), (x.high, ideal)), role="soft", dashed=True, thin=True, series="ideal"),
        *_amdahl(levels, x),
    ]
    if reached and ceiling is not None:
        marks.append(Rule(y=ceiling, role="orange", dashed=True, text=f"Amdahl’s ceiling {ceiling:.1f}", anchor="start"))
    above = f" Amdahl’s ceiling of {ceiling:.1f} lies above the chart." if ceiling is not None and not reached else ""
    panel = Panel(x=x, y=y, marks=(*marks, *_points(known, 1.0, "{:.2f}")), height=HEIGHT, title=f"times as fast as {levels.base}")
    keys = (Key(mark="dash", role="soft", text="ideal", series="ideal"), *_law_key(levels))
    return _chart(title, panel, levels, _spoken(known, "{:.2f} times"), "speedup", f"{_fit_words(levels)}{above}", keys)


@named("rubric-efficiency")
def efficiency(levels: Levels) -> Chart:
    """Efficiency against its threshold."""
    title = "Are the machines used?"
    known = [(row, row.efficiency) for row in levels.rows if row.efficiency is not None]
    if len(known) < 2:
        return Chart(title=title, missing="One worker count has no efficiency but its own.")
    top = max(108.0, 108.0 * max(_value(value) for _, value in known))
    marks: list[Drawn] = []
    if (least := levels.threshold) is not None:
        text = limit_text(least, "fraction")
        marks = [
            Area(high=100.0 * least, role="fail", text=f"below the threshold of {text}"),
            Rule(y=100.0 * least, role="fail", dashed=True),
        ]
    line = Line(points=tuple((row.workers, 100.0 * _value(value)) for row, value in known if not row.refused), role="soft", thin=True)
    marks += [line, *_points(known, 100.0, "{:.0f} %")]
    panel = Panel(x=_axis(levels), y=linear(0.0, top), marks=tuple(marks), height=HEIGHT, title="efficiency, % of ideal")
    return _chart(title, panel, levels, _spoken(known, "{:.1%}"), "efficiency, %")


@named("rubric-cost")
def cost(levels: Levels) -> Chart:
    """Cost of equal work over worker counts."""
    title = "What does the work cost?"
    known = [(row, row.cost) for row in levels.rows if row.cost is not None]
    if len(known) < 2:
        return Chart(title=title, missing="No prices were given for two worker counts: cost is not measured.")
    values = [_value(value) for _, value in known]
    scale, quantity = _per(max(values), levels.cost_of)
    estimates = [value for _, value in known if isinstance(value, Estimate)]
    top = top_of(estimates, scale) if estimates else 1.15 * scale * max(values)
    held = tuple((row.workers, scale * _value(value)) for row, value in known if not row.refused)
    marks: tuple[Drawn, ...] = (Line(points=held, role="soft", thin=True), *_points(known, scale, "{:.4g}"))
    panel = Panel(x=_axis(levels), y=linear(0.0, top), marks=marks, height=HEIGHT, title=quantity)
    return _chart(title, panel, levels, _spoken(known, "${:.4g}"), quantity, "Equal work in every row; lost efficiency is paid for.")


def _chart(title: str, panel: Panel, levels: Levels, spoken: str, quantity: str, caption: str = "", keys: tuple[Key, ...] = ()) -> Chart:
    return Chart(
        title=title,
        panels=(panel,),
        caption=f"{caption}{_broken(levels)}".strip(),
        description=spoken,
        key=(*_key(levels), *keys),
        quantity=quantity,
        in_tables=True,
    )


# ---- the triangle --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Shares:
    """A row's three corners, each as a share of the best."""

    row: Level
    of: tuple[float, float, float]

    @property
    def in_words(self) -> str:
        """ "quality 98.0 %, throughput 61.2 %, work per dollar 100.0 %"."""
        return ", ".join(f"{side.text} {100 * share:.1f} %" for side, share in zip(SIDES, self.of, strict=True))


def shares(levels: Levels) -> list[Shares] | str:
    """Each row's corners, or why there is no triangle."""
    wanted, rows = _gains(levels), levels.rows
    found = [[gain(row) for row in rows] for gain in wanted.values()]
    lacking = [name for name, gains in zip(wanted, found, strict=True) if any(gain is None for gain in gains)]
    if len(rows) < 2 or lacking:
        what = " and ".join(name.lower() for name in lacking) if lacking else "a second worker count"
        return f"The triangle needs quality, throughput and cost, each above 0 in every row; missing: {what}."
    best = [max(gain or 0.0 for gain, row in zip(gains, rows, strict=True) if not row.refused) for gains in found]
    made = zip(rows, zip(*found, strict=True), strict=True)
    return [Shares(row=row, of=_three([(g or 0.0) / b for g, b in zip(gains, best, strict=True)])) for row, gains in made]


def _gains(levels: Levels) -> dict[str, Callable[[Level], float | None]]:
    """Of each corner, a number of which more is better."""
    return {
        "Quality": lambda row: _gain(row.quality, lower=levels.lower),
        "Throughput": lambda row: _gain(row.throughput if row.throughput is not None else row.speedup),
        "Cost": lambda row: _gain(row.cost, lower=True),
    }


def _three(values: Sequence[float]) -> tuple[float, float, float]:
    quality, throughput, per_dollar = values
    return quality, throughput, per_dollar


def _gain(value: Amount | None, *, lower: bool = False) -> float | None:
    """A number of which more is better; None: not measured, or no share can be formed."""
    if value is None or not _value(value) > 0.0 or not math.isfinite(_value(value)):
        return None
    return 1.0 / _value(value) if lower else _value(value)


@named("rubric-triangle")
def triangle(levels: Levels) -> Chart:
    """Quality, throughput and work per dollar of each row as shares of the best, as triangles and as bars."""
    title, found = "Which corner gives way?", shares(levels)
    if isinstance(found, str):
        return Chart(title=title, missing=found)
    drawn = _most_telling(found)
    left = len(found) - len(drawn)
    return Chart(
        title=title,
        panels=(_triangles(levels, drawn), _bars(found)),
        caption="Each corner is a share of the best row that held its quality; areas mean nothing."
        + (f" {left} more in the bars." if left else "")
        + _broken(levels),
        description="; ".join(f"{one.row.name}: {one.in_words}" for one in found),
        key=(
            *(
                Key(mark="line", role=_role(one.row), text=_short(one.row), series=f"row{one.row.workers}")
                for one in drawn
                if one.row.chosen
            ),
            Key(mark="line", role="ink", text=f"other {levels.word}"),
            *((Key(mark="dash", role="soft", text="quality not held"),) if any(one.row.refused for one in drawn) else ()),
            *(Key(mark="bar", role=side.role, text=side.text) for side in SIDES),
        ),
        quantity="shares of the best",
    )


def _most_telling(found: Sequence[Shares]) -> list[Shares]:
    """At most six: the chosen one, the ends, then the others from the largest."""
    order = sorted(range(len(found)), key=lambda at: (not found[at].row.chosen, at not in (0, len(found) - 1), -at))
    return [found[at] for at in sorted(order[:MAX_TRIANGLES])]


def _triangles(levels: Levels, drawn: Sequence[Shares]) -> Panel:
    marks: list[Drawn] = [
        _closed([(x * part, y * part) for x, y in CORNERS], role="soft", thin=True, faint=True) for part in (0.25, 0.5, 0.75, 1.0)
    ]
    marks += [Line(points=((0.0, 0.0), corner), role="soft", thin=True, faint=True) for corner in CORNERS]
    names: tuple[tuple[str, float, Anchor], ...] = (
        (levels.quality_name, -9.0, "middle"),
        ("throughput", 36.0, "end"),
        ("work per dollar", 36.0, "start"),
    )
    for (x, y), (name, down, anchor) in zip(CORNERS, names, strict=True):
        marks.append(Label(x=x, y=y, text=name, role="ink", down=down, anchor=anchor, strong=True))
    places = {
        one.row.workers: [(x * min(share, BEYOND), y * min(share, BEYOND)) for (x, y), share in zip(CORNERS, one.of, strict=True)]
        for one in drawn
    }
    for row in sorted((one.row for one in drawn), key=lambda row: row.chosen):  # the chosen one on top
        marks.append(_closed(places[row.workers], role=_role(row), thin=not row.chosen, dashed=row.refused))
    labelled = _labelled([one.row for one in drawn], {workers: spots[1] for workers, spots in places.items()})
    for one in drawn:
        shape: Shape = "cross" if one.row.refused else "circle"
        x, y = places[one.row.workers][1]
        reading, label = Reading(name=one.row.name, text=one.in_words), str(one.row.workers) if one.row.workers in labelled else ""
        marks.append(Point(x=x, y=y, role=_role(one.row), shape=shape, hollow=not one.row.refused, label=label, reading=reading))
    side = Axis(low=-1.15, high=1.15, grid=False)
    return Panel(x=side, y=Axis(low=-0.9, high=1.2, grid=False), marks=tuple(marks), height=300, view="Triangle")


def _labelled(rows: Sequence[Level], spots: Mapping[int, tuple[float, float]]) -> set[int]:
    """Worker counts whose labels cover no other; the chosen one keeps its label, and the bars name them all."""
    kept: dict[int, tuple[float, float]] = {}
    for row in sorted(rows, key=lambda row: not row.chosen):
        if all(math.dist(spots[row.workers], other) >= APART for other in kept.values()):
            kept[row.workers] = spots[row.workers]
    return set(kept)


def _closed(places: Sequence[tuple[float, float]], *, role: Role, thin: bool, dashed: bool = False, faint: bool = False) -> Line:
    return Line(points=(*places, places[0]), role=role, thin=thin, dashed=dashed, faint=faint)


def _bars(found: Sequence[Shares]) -> Panel:
    marks: list[Drawn] = []
    for index, one in enumerate(found):
        for place, (side, share) in enumerate(zip(SIDES, one.of, strict=True)):
            look: Look = "rest" if one.row.refused else ""
            label, drop = f"{100 * share:.0f} %", 10 * place - 6
            marks.append(Bar(row=index, left=0.0, right=100.0 * share, role=side.role, look=look, height=8, drop=drop, label=label))
    names = (f"{_short(one.row)}{', quality not held' if one.row.refused else ''}" for one in found)
    return Panel(
        x=linear(0.0, 112.0 * max(share for one in found for share in one.of), "share of the best, %"),
        y=rows_axis(names, row=62),
        marks=tuple(marks),
        view="Bars",
    )


# ---- for a workbook ------------------------------------------------------------------------------------------------------


def in_cells(levels: Levels) -> Charts:
    """The four charts as courses of a workbook."""
    x = counts_axis(levels.word, [row.workers for row in levels.rows])
    held = [row for row in levels.rows if not row.refused]
    if len(held) < 2:
        return ()
    charts = [
        _plane(levels, "Speedup, the ideal and Amdahl’s law", "Speedup", lambda row: row.speedup, x, _laws(levels)),
        _plane(levels, "Efficiency and its threshold", "Efficiency, %", lambda row: row.efficiency, x, _threshold(levels), factor=100.0),
    ]
    if all(row.cost is not None for row in held):
        scale, quantity = _per(max(_value(row.cost) for row in held if row.cost is not None), levels.cost_of)
        charts.append(_plane(levels, "Cost of equal work", quantity, lambda row: row.cost, x, (), factor=scale))
    if not isinstance(found := shares(levels), str):
        courses = tuple(
            Course(
                name=side.text,
                quantity=f"{side.text}, share of the best",
                spots=tuple(Spot(name=one.row.name, x=None, y=one.of[place]) for one in found if not one.row.refused),
                look="bar",
                colour=place,
            )
            for place, side in enumerate(SIDES)
        )
        charts.append(
            workbook("Quality, throughput and work per dollar", courses, Axis(), Axis(title="share of the best"), stub=levels.word)
        )
    return tuple(charts)


Of = Callable[[Level], Amount | None]


def _plane(levels: Levels, title: str, quantity: str, of: Of, x: Axis, lines: Sequence[tuple[str, Of]], *, factor: float = 1.0) -> Chart:
    """Measured marks and the lines of comparison; rows that lost quality are left out."""
    held = [row for row in levels.rows if not row.refused]
    measured = Course(name="measured", quantity=quantity, spots=_spots(held, of, factor), factor=factor, at=levels.word, look="joined")
    dashed = (
        Course(name=name, quantity=name, spots=_spots(held, line, factor), at=levels.word, look="dashes", colour=place or REFERENCE)
        for place, (name, line) in enumerate(lines)
    )
    out = [row.name for row in levels.rows if row.refused]
    caption = f"Left out, as quality was not held: {', '.join(out)}." if out else ""
    return workbook(title, (measured, *dashed), x, Axis(title=quantity), stub=levels.word.capitalize(), caption=caption)


def _spots(rows: Sequence[Level], of: Of, factor: float) -> tuple[Spot, ...]:
    """An estimate is taken to the unit by its course, a plain number here."""
    values = ((row, of(row)) for row in rows)
    return tuple(Spot(name=row.name, x=row.workers, y=factor * value if isinstance(value, float | int) else value) for row, value in values)


def _laws(levels: Levels) -> tuple[tuple[str, Of], ...]:
    ideal: tuple[str, Of] = ("ideal", lambda row: row.workers / levels.base)
    s, ceiling = levels.serial, _ceiling(levels.serial)
    law: tuple[tuple[str, Of], ...] = (("Amdahl’s law", lambda row: amdahl_speedup(s, row.workers / levels.base)),) if _fits(s) else ()
    above: tuple[tuple[str, Of], ...] = (("Amdahl’s ceiling", lambda _: ceiling),) if ceiling is not None else ()
    return (ideal, *law, *above)


def _threshold(levels: Levels) -> tuple[tuple[str, Of], ...]:
    least = levels.threshold
    return () if least is None else (("threshold", lambda _: least),)


# ---- shared parts ----------------------------------------------------------------------------------------------------------


def _value(amount: Amount) -> float:
    return amount.value if isinstance(amount, Estimate) else amount


def _axis(levels: Levels) -> Axis:
    return levels_axis([row.workers for row in levels.rows], levels.word)


def _role(row: Level) -> Role:
    return "soft" if row.refused else "blue" if row.chosen else "ink"


def _short(row: Level) -> str:
    return f"{row.name}, recommended" if row.chosen else row.name


def _points(known: Sequence[tuple[Level, Amount]], factor: float, form: str) -> Iterator[Point]:
    """A mark for each row: filled where it is chosen, a cross where it is refused."""
    for place, (row, value) in enumerate(known):
        drawn = replace(PLAIN, factor=factor)
        number = factor * _value(value)
        text = form.format(number)
        more = "quality not held" if row.refused else "recommended" if row.chosen else ""
        shape: Shape = "cross" if row.refused else "circle"
        if isinstance(value, Estimate):
            made = point(row.name, row.workers, value, drawn, more=more)
        else:
            reading = replace(plain(row.name, text, number, more=more), interval="no interval")
            made = Point(x=row.workers, y=number, hollow=not row.refused, reading=reading)
        labelled = len(known) <= MAX_LABELS or row.chosen or place in (0, len(known) - 1)
        yield replace(made, role=_role(row), shape=shape, label=text if labelled else "", target=row.target)


def _key(levels: Levels) -> tuple[Key, ...]:
    chosen = next((row for row in levels.rows if row.chosen), None)
    bounded = any(isinstance(row.cost, Estimate) or isinstance(row.speedup, Estimate) for row in levels.rows)
    keys = [Key(mark="point", role="ink", text="mean and interval")] if bounded else [Key(mark="hollow", role="ink", text=levels.point)]
    keys += [Key(mark="point" if bounded else "hollow", role="blue", text=_short(chosen))] if chosen is not None else []
    keys += [Key(mark="cross", role="soft", text="quality not held")] if any(row.refused for row in levels.rows) else []
    return tuple(keys)


def _amdahl(levels: Levels, x: Axis) -> Iterator[Line]:
    """The fitted curve from the base to the end of the axis, if its share lies within 0..1."""
    s = levels.serial
    if not _fits(s) or x.high <= levels.base:
        return
    ratio = x.high / levels.base
    counts = [levels.base * ratio ** (i / (CURVE_POINTS - 1)) for i in range(CURVE_POINTS)]
    yield Line(points=tuple((p, amdahl_speedup(s, p / levels.base)) for p in counts), role="orange", thin=True, series="law")


def _law_key(levels: Levels) -> tuple[Key, ...]:
    return (Key(mark="line", role="orange", text="Amdahl’s law, fitted", series="law"),) if _fits(levels.serial) else ()


def _fits(serial: float | None) -> TypeGuard[float]:
    """True if a fitted share lies within 0..1, as Amdahl's law wants it."""
    return serial is not None and 0.0 <= serial <= 1.0


def _ceiling(serial: float | None) -> float | None:
    """The largest speedup by Amdahl's law; None where it is unbounded or not fitted."""
    return 1.0 / serial if serial is not None and 0.0 < serial <= 1.0 else None


def _fit_words(levels: Levels) -> str:
    s = levels.serial
    if s is None:
        return "No law is fitted."
    return f"Amdahl’s serial fraction is {s:.4f}." if 0.0 <= s <= 1.0 else "Amdahl’s law does not describe these rows."


def _broken(levels: Levels) -> str:
    out = [str(row.workers) for row in levels.rows if row.refused]
    left = f" {levels.left:,} more rows are in the table." if levels.left else ""
    return f"{left} Quality was not held at {', '.join(out)} {levels.word}: struck out." if out else left


def _spoken(known: Sequence[tuple[Level, Amount]], form: str) -> str:
    return "; ".join(f"{row.name}: {form.format(_value(value))}{', quality not held' if row.refused else ''}" for row, value in known)


def _per(largest: float, thing: str) -> tuple[float, str]:
    """A factor that makes small costs readable, and the unit with it: $1.9e-6 an item are $1.9 per million items."""
    for factor, words in ((1.0, thing), (1e3, f"thousand {thing}s"), (1e6, f"million {thing}s")):
        if largest * factor >= 0.1:
            return factor, f"$ per {words}"
    return 1e9, f"$ per billion {thing}s"
