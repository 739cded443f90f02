"""What does the page of an external table show?

Its rows with derived values, the fitted laws, and which row to choose. Decimals are fixed, those of the reference tables: without
launches there is no interval that could set the number of significant digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from fireassay.reports import answering
from fireassay.reports.charts import worker_counts
from fireassay.reports.charts.worker_counts import Level, Levels
from fireassay.reports.page import (
    GENERAL,
    Answer,
    Bullet,
    Bullets,
    Cell,
    Figure,
    Head,
    Line,
    Mark,
    Page,
    Section,
    Table,
    Tile,
    heads,
    notes,
)
from fireassay.stats.models.scaling_predictions import slower_than_base
from fireassay.verdict.claims.own_numbers import beside, limit_text
from fireassay.verdict.claims.rubric_types import CHECKED

if TYPE_CHECKING:
    from fireassay.verdict.claims.rubric_types import Fit, Gustafson, JudgedScore, Pick, Rubric, RubricRow, Scaling

EFFECTIVE = ("$/effective item", "$/effective step")  # cost divided by efficiency
BEFORE, AFTER = (
    ("seconds", "steps/s", "S", "E %", "scaling"),
    ("$", "CO2, g", "$/item", "$/step", "J/item", "J/step"),
)  # of the scores, on the first screen
PARTS: Final = {"compute": "compute", "reserved": "unused reservation", "storage": "storage", "egress": "egress", "lost": "lost work"}
MAX_SCORES: Final = 3  # on the first screen
HEADS: Final = {"S": "speedup", "E %": "efficiency, %"}
MAX_ROWS: Final = 8
MAX_LAWS: Final = 2
MAX_DOUBTS: Final = 6
NOTHING: Final = Mark(word="")
RECOMMENDED: Final = Mark(word="recommended", tone="gain")
STYLES: Final = {".2f": "0.00", ".3f": "0.000", ".0f": "0", ".4f": "0.0000", ".3e": "0.000E+00"}


def page(result: Rubric, title: str = "rubric") -> Page:
    """The page of a table."""
    chosen = next((row for row in result.rows if row.workers == result.recommended), None)
    picks = tuple(Bullet(title=pick.goal, text=_pick(result, pick.workers, pick.sentence)) for pick in _asked(result))
    return Page(
        title=title,
        mark=Mark(word="no row qualifies", tone="bad")
        if chosen is None
        else Mark(word=f"{chosen.workers} {_workers(result, chosen)}", tone="good"),
        lead=_verdict(result),
        answer=_answer(result),
        sections=(
            Section(key="brief-rows", title="", role="answer", content=(_brief(result),)),
            Section(key="rows", title="Rows", content=(_table(result),)),
            *_drawn(result),
            Section(key="laws", title="Fitted laws", content=(notes(_sentences(result)),)),
            Section(key="picks", title="Choice of row", content=(Bullets(items=picks, empty="none was requested"),)),
            *((Section(key="notes", title="Notes", content=(notes(result.notes),)),) if result.notes else ()),
        ),
        properties={"verb": "rubric"},
    )


def _drawn(result: Rubric) -> Iterator[Section]:
    """Speedup and efficiency with the answer, then cost and the triangle; and all of them for a workbook."""
    levels = worker_counts.thinned(levels_of(result))
    if len(levels.rows) < 2:
        return
    yield Section(key="speedup", title="Speedup", role="exhibit", content=worker_counts.speedup(levels))
    yield Section(key="efficiency", title="Efficiency", role="exhibit", content=worker_counts.efficiency(levels))
    charts = (*worker_counts.cost(levels), *worker_counts.triangle(levels))
    yield Section(key="cost", title="Cost and the triangle", content=(*charts, *worker_counts.in_cells(levels)))


def levels_of(result: Rubric) -> Levels:
    """The rows as worker counts to be drawn."""
    cost_of, costs = next(
        (
            (word, found)
            for word, found in (
                ("item", [row.usd_per_item for row in result.rows]),
                ("step", [row.usd_per_step for row in result.rows]),
                ("run", [row.usd for row in result.rows]),
            )
            if all(value is not None for value in found)
        ),
        ("run", [None] * len(result.rows)),
    )
    of_score = max(range(len(result.scores)), key=lambda place: max(row.scores[place].weight for row in result.rows), default=None)
    score = None if of_score is None else result.scores[of_score]
    rows = tuple(
        Level(
            name=f"{row.workers} {_workers(result, row)}",
            workers=row.workers,
            speedup=row.speedup,
            efficiency=row.efficiency,
            cost=usd,
            throughput=row.per_second if row.per_second is not None else row.speedup,
            quality=None if of_score is None else row.scores[of_score].value,
            refused=bool(row.refused),
            chosen=row.workers == result.recommended,
        )
        for row, usd in zip(result.rows, costs, strict=True)
    )
    return Levels(
        rows=rows,
        word=result.worker_word,
        base=result.base_workers,
        threshold=result.limits.efficiency,
        serial=result.fit.serial_fraction if result.fit is not None else None,
        cost_of=cost_of,
        quality_name="quality" if score is None else score.name,
        lower=score is not None and score.lower,
        point="median of repeated timings: no interval" if result.repeated else "single timing: no interval",
    )


def _answer(result: Rubric) -> Answer:
    """The row to choose, or that none qualifies; the law of the rows."""
    chosen = result.recommended is not None
    laws = [_line(text) for text in sorted(_sentences(result), key=lambda text: ": not held in " not in text)[:MAX_LAWS]]
    picks = [
        Line(label=pick.goal.removeprefix("under "), text=_pick(result, pick.workers, pick.sentence), target="picks")
        for pick in _asked(result)[1:]
    ]
    asked = [Line(label="predicted", text=result.predicted.sentence, target="laws")] if result.predicted else []
    word = Mark(word="recommended", tone="good") if len(result.rows) > 1 else Mark(word="nothing compared", tone="open")
    headline = _verdict(result).removeprefix("Verdict: ").rstrip(".") if chosen else f"wanted: {result.picks[0].sentence}"
    if result.other_base:
        word, headline = Mark(word="not comparable", tone="bad"), f"{result.other_base} {headline}"
    return Answer(
        mark=word if chosen or result.other_base else Mark(word="no row qualifies", tone="bad"),
        headline=headline,
        tiles=tuple(_tiles(result)),
        lines=(*asked, *_cost_line(result), *picks, *laws, *_doubts(result)),
        record=f"{result.source}; --full shows every column, law and pick",
        source="table",
    )


def _asked(result: Rubric) -> list[Pick]:
    """Every pick, except the cheapest row of a table without prices."""
    return [pick for pick in result.picks if pick.goal != "cheapest" or pick.workers is not None]


def _line(text: str) -> Line:
    """A law, or whether a score was held, which is no law."""
    label = "quality" if ": held (" in text or ": not held in " in text else "law"
    return Line(label=label, text=text.removeprefix(f"{label}: "), target="laws")


def _doubts(result: Rubric) -> Iterator[Line]:
    """Every note that may weaken the verdict, then the first of the others."""
    doubts = [doubt for doubt in result.doubts if doubt != result.other_base]  # that is the headline
    for doubt in doubts[:MAX_DOUBTS]:
        yield Line(label="warnings", text=doubt, mark=Mark(word="warning", tone="open", sign="~"), target="notes")
    yield answering.noted_doubts([note for note in result.notes if note not in (*doubts[:MAX_DOUBTS], result.other_base)], most=1)


def _tiles(result: Rubric) -> Iterator[Tile]:
    """The chosen row: how fast, how efficient, how good, at which cost."""
    row = next((row for row in result.rows if row.workers == result.recommended), None)
    if row is None:
        return
    where, single = f"{row.workers} {_workers(result, row)}", f"{_source(result)}: no interval"
    met = Mark(word="holds", tone="good")
    plain = Mark(word="no gate", tone="absent")
    yield Tile(title="Speedup", mark=plain, big=f"{row.speedup:.2f}×", small=where, text=single, target="rows")
    least = result.limits.efficiency
    efficiency, gate = beside(row.efficiency, least, 2), f"at least {limit_text(least)} is asked for"
    yield Tile(title="Efficiency", mark=met, big=efficiency, small=where, text=gate, target="rows")
    for name in _deciding(result):
        place = [_heading(score) for score in result.scores].index(name)
        if (quality := _quality(result, place, row.scores[place].value)) is not None:
            title = name[:1].upper() + name[1:] if len(result.scores) > 1 else "Quality"
            yield Tile(title=title, mark=met, big=quality, small=where, text="held in this row", target="rows")
    if cost := _cost(result, row).removeprefix(", "):
        yield Tile(title="Cost", mark=plain, big=cost, small=where, text=single, target="rows")


def _brief(result: Rubric) -> Table:
    """The columns that decide; the base, the recommended row and the last ones if there are many."""
    whole = _table(result)
    names = [head.text for head in whole.heads]
    scores = _deciding(result)
    energy = ("J",) if result.limits.joules is not None else ()
    columns = [names.index(name) for name in (result.worker_word, *BEFORE, *scores, *energy, *AFTER) if name in names]
    standing = names.index("") if "" in names else None
    rows = [(_sign(row[standing]) if standing is not None else NOTHING, *(row[index] for index in columns)) for row in whole.rows]
    counts = [row.workers for row in result.rows]
    at = counts.index(result.recommended) if result.recommended in counts else 0
    wanted = sorted({0, *range(max(0, at - 1), min(at + 3, len(rows))), *range(max(0, len(rows) - MAX_ROWS + 5), len(rows))})
    shown = tuple(rows[index] for index in wanted) if len(rows) > MAX_ROWS else tuple(rows)
    left = (f"{len(rows) - len(shown)} more rows: --full",) if len(shown) < len(rows) else ()
    heads_ = (Head(text=""), *(Head(text=HEADS.get(names[index], names[index])) for index in columns))
    hidden = len(result.scores) - len(scores)
    left = (*left, *((f"{hidden} more score{'s' if hidden > 1 else ''}: --full",) if hidden else ()))
    return Table(name="rows-brief", heads=heads_, rows=shown, stub=2, notes=left)


def _deciding(result: Rubric) -> list[str]:
    """The headings of the scores for the first screen: if there are many, those that lost most of their tolerance."""
    worst = [max(row.scores[place].weight for row in result.rows) for place in range(len(result.scores))]
    places = sorted(range(len(worst)), key=lambda place: -worst[place])[:MAX_SCORES]
    return [_heading(result.scores[place]) for place in sorted(places)]


def _heading(score: JudgedScore) -> str:
    return f"{score.name} %" if score.percent and "%" not in score.name else score.name


def _sign(standing: Cell) -> Mark:
    """As in every answer: what is recommended is marked, what is refused is not."""
    if not isinstance(standing, Mark):
        return NOTHING
    return RECOMMENDED if standing.tone == "good" else standing


def _table(result: Rubric) -> Table:
    """The table of rows, without empty columns."""
    of_steps = any(row.usd_per_step is not None for row in result.rows)
    steps_only = all(row.usd_per_step == row.usd for row in result.rows)
    every: tuple[tuple[str, Callable[[RubricRow], Cell]], ...] = (
        (result.worker_word, lambda row: row.workers),
        ("seconds", lambda row: _figure(row.seconds, ".10g")),
        (f"{result.rate}/s", lambda row: _figure(row.per_second if result.rate else None, ".10g")),
        ("steps/s", lambda row: _figure(row.steps_per_second, "#.4g")),
        ("S", lambda row: _figure(row.speedup, ".2f")),
        ("E", lambda row: _beside(row.efficiency, result.limits.efficiency, ".3f")),
        ("E %", lambda row: _beside(100 * row.efficiency, 100 * result.limits.efficiency, ".0f")),
        ("scaling", lambda row: row.band or None),
        ("Karp-Flatt", lambda row: _figure(row.karp_flatt, ".4f")),
        ("serial", lambda row: _figure(row.serial_share, ".4f")),
        *((_heading(score), _score_of(result, place)) for place, score in enumerate(result.scores)),
        ("$", lambda row: None if steps_only or row.usd is None else Figure(value=row.usd, text=_dollars(result, row.usd))),
        *((f"{part} $", partial(_part, part=part)) for part in PARTS),
        ("$/item", lambda row: _figure(row.usd_per_item, ".3e")),
        ("items/$", lambda row: _figure(row.items_per_usd, ".0f")),
        ("$/step", lambda row: _figure(row.usd_per_step, ".4f")),
        (EFFECTIVE[of_steps], lambda row: _figure(row.usd_per_effective_work, ".4f" if of_steps else ".3e")),
        ("J", lambda row: None if row.joules == row.joules_per_step else _figure(row.joules, ".4g")),
        ("J/item", lambda row: _figure(row.joules_per_item, ".4g")),
        ("J/step", lambda row: _figure(row.joules_per_step, ".4g")),
        ("CO2, g", lambda row: _figure(row.co2_g, ".4g")),
        ("", lambda row: _standing(result, row)),
    )
    columns = [(heading, [of(row) for row in result.rows]) for heading, of in every]
    shown = [(heading, cells) for heading, cells in columns if any(cell is not None for cell in cells)]
    rows = zip(*([cell if heading or cell else "" for cell in cells] for heading, cells in shown), strict=True)
    return Table(name="rows", heads=heads(*(heading for heading, _ in shown)), rows=tuple(rows), inline=True)


def _part(row: RubricRow, part: str) -> Figure | None:
    usd = row.usd_of.get(part)
    return None if usd is None else Figure(value=usd, text=_cents(usd))


def _cents(usd: float) -> str:
    return f"{usd:.2f}" if usd >= 0.1 or usd == 0 or round(usd, 2) == usd else f"{usd:.3g}"


def _cost_line(result: Rubric) -> Iterator[Line]:
    """What the chosen row costs, and for what; the prices that were given."""
    row = next((row for row in result.rows if row.workers == result.recommended), result.rows[0])
    if row.usd is None or not (row.usd_of or result.priced):
        return
    parts = ", ".join(f"{PARTS[part]} {_cents(usd)}" for part, usd in row.usd_of.items())
    total = f"${_dollars(result, row.usd)} a run with {row.workers} {_workers(result, row)}"
    words = [f"{total}: {parts}" if parts else total]
    words += [result.priced] if result.priced else []
    words += ["$/item, items/$ and cost per effective work are of the total"] if parts else []
    yield Line(label="cost", text="; ".join(words), target="rows", beside_tile=True)


def _figure(value: float | None, form: str) -> Figure | None:
    return None if value is None else Figure(value=value, style=STYLES.get(form, GENERAL), text=format(value, form))


def _beside(value: float, limit: float, form: str) -> Figure:
    """A figure that is not printed like a limit on whose other side it is."""
    return Figure(value=value, style=STYLES.get(form, GENERAL), text=beside(value, limit, int(form[1])))


def _standing(result: Rubric, row: RubricRow) -> Mark | None:
    if row.refused:
        return Mark(word="refused", tone="bad", why=row.refused)
    return Mark(word="recommended", tone="good") if row.workers == result.recommended else None


def _score_of(result: Rubric, place: int) -> Callable[[RubricRow], Cell]:
    factor = 100.0 if result.scores[place].percent else 1.0

    def figure(row: RubricRow) -> Figure | None:
        value = row.scores[place].value
        text = _quality(result, place, value)
        return None if value is None or text is None else Figure(value=factor * value, text=text)

    return figure


def _quality(result: Rubric, place: int, value: float | None) -> str | None:
    """A score in its given unit."""
    if value is None:
        return None
    score, base = result.scores[place], result.rows[0].scores[place].value
    factor = 100.0 if score.percent else 1.0
    least = (base or 0.0) + (1.0 if score.lower else -1.0) * score.tolerance  # the worst that is held
    return beside(factor * value, factor * least, _decimals(score))


def _decimals(score: JudgedScore) -> int:
    decimals = _quality_decimals(score.tolerance)
    return max(1, decimals - 2) if score.percent else decimals


def _quality_decimals(tolerance: float) -> int:
    """Three decimals, or more if the tolerance is finer."""
    return max(3, min(9, math.ceil(-math.log10(tolerance)))) if tolerance > 0 else 6


def _dollars(result: Rubric, usd: float) -> str:
    budget = result.limits.budget_usd
    text = f"{usd:.2f}" if usd >= 0.1 or usd == 0 else f"{usd:.3g}"
    return text if budget is None or (float(text) <= budget) is (usd <= budget) else beside(usd, budget, 2)


def _sentences(result: Rubric) -> list[str]:
    """The fitted laws, the prediction, and whether quality was held."""
    lines = _fit_lines(result, result.fit) if result.fit else []
    lines += _gustafson_lines(result, result.gustafson) if result.gustafson else []
    lines += _scaling_lines(result.scaling) if result.scaling else []
    lines += [result.predicted.sentence] if result.predicted else []
    return [*lines, *(_quality_line(result, place, score) for place, score in enumerate(result.scores))]


def _quality_line(result: Rubric, place: int, score: JudgedScore) -> str:
    lost = [row for row in result.rows if row.scores[place].lost]
    unknown = [str(row.workers) for row in lost if row.scores[place].value is None]
    held = f"not held in {len(lost)} of {len(result.rows)} rows (p = {', '.join(str(row.workers) for row in lost)})" if lost else "held"
    held += f", not given at p = {', '.join(unknown)}" if unknown else ""
    factor, unit = (100.0, " points") if score.percent else (1.0, "")
    tolerance = factor * score.tolerance
    drift = beside(factor * (score.largest_drift or 0.0), tolerance, _decimals(score))
    return f"{score.name}: {held} (largest drift {drift}{unit}, tolerance {tolerance:g}{unit})"


def _fit_lines(result: Rubric, fit: Fit) -> list[str]:
    base = result.base_workers
    relative = "" if base == 1 else f", relative to {base} {result.worker_word}"
    if slower := slower_than_base(fit.serial_fraction):
        return [slower]
    lines = [f"Amdahl serial fraction: s = {fit.serial_fraction:.4f}{relative}"]
    if sum(not row.refused for row in result.rows) < CHECKED:
        return [f"{lines[0]}, by two worker counts, which check no law: no ceiling, no prediction"]
    if fit.ceiling is not None:
        lines.append(f"speedup ceiling 1/s: {fit.ceiling:.1f}")
    if fit.half_efficiency_workers is not None:
        lines.append(f"efficiency expected to fall to 0.50 at: p = {fit.half_efficiency_workers:.1f}")
    expected = f"measured {fit.measured_there:.2f}, model {fit.expected_there:.2f}"
    return [*lines, f"speedup at p = {fit.at_workers}: {expected}"]


def _gustafson_lines(result: Rubric, fit: Gustafson) -> list[str]:
    relative = "" if result.base_workers == 1 else f", relative to {result.base_workers} {result.worker_word}"
    if not 0.0 <= fit.serial_share <= 1.0:
        return [f"{'slower than the base' if fit.serial_share > 1.0 else 'more than linear'}: no serial share explains it"]
    return [
        f"Gustafson serial share: s = {fit.serial_share:.4f} of the time on p workers{relative}",
        f"scaled speedup at p = {fit.at_workers}: measured {fit.measured_there:.2f}, model {fit.expected_there:.2f}",
    ]


def _scaling_lines(scaling: Scaling) -> list[str]:
    usl = next((law for law in scaling.laws if law.law == "usl"), None)
    lines = []
    if usl is not None:
        bound = f" ({', '.join(usl.on_bound)} on its bound)" if usl.on_bound else ""
        gamma, alpha, beta = (usl.parameters[name] for name in ("gamma", "alpha", "beta"))
        lines.append(
            f"Universal Scalability Law: contention alpha = {alpha:.4g}, coherency beta = {beta:.4g}, "
            f"gamma = {gamma:.4g} {scaling.per_second}/s{bound}"
        )
    return [*lines, f"law: {scaling.why}", f"peak: {scaling.peak}", f"largest row held out: {scaling.held_out}"]


def _pick(result: Rubric, workers: int | None, sentence: str) -> str:
    row = next((row for row in result.rows if row.workers == workers), None)
    return f"none (wanted: {sentence})" if row is None else f"p = {workers} ({sentence}; {_in_short(result, row)})"


def _in_short(result: Rubric, row: RubricRow) -> str:
    return f"S = {row.speedup:.2f}, E = {beside(row.efficiency, result.limits.efficiency, 3)}{_cost(result, row)}"


def _verdict(result: Rubric) -> str:
    """The quotable sentence."""
    row = next((row for row in result.rows if row.workers == result.recommended), None)
    wanted = result.picks[0].sentence
    if row is None:
        return f"Verdict: no row qualifies ({wanted})."
    held = _held(result)
    counted = f"{row.workers} {_workers(result, row)}"
    if len(result.rows) == 1:
        return f"Verdict: {counted} alone: a single row has nothing to compare with."
    if row.workers == result.base_workers:
        return f"Verdict: stay at {counted}: no larger row qualifies ({wanted}); from {_source(result)}, without intervals."
    speedup = f"{row.speedup:.2f} times as fast as {result.base_workers}" + (" (superlinear)" if row.workers in result.superlinear else "")
    least = result.limits.efficiency
    efficiency = f"efficiency {beside(row.efficiency, least, 2)} (at least {limit_text(least)})"
    return f"Verdict: {counted}: {speedup}, {efficiency}, {held}{_cost(result, row)}{_within(result, row)}; from {_source(result)}, without intervals."


def _within(result: Rubric, row: RubricRow) -> str:
    """The row's time and energy, where they are limited."""
    limited = ((row.seconds, result.limits.deadline_s, "s"), (row.joules, result.limits.joules, "J"))
    return "".join(
        f", {value:.4g} {unit} (at most {most:g} {unit})" for value, most, unit in limited if value is not None and most is not None
    )


def _source(result: Rubric) -> str:
    return "medians of repeated timings" if result.repeated else "single timings"


def _held(result: Rubric) -> str:
    """That quality was held, by which scores."""
    names = [score.name for score in result.scores]
    if len(names) > MAX_SCORES:
        return f"all {len(names)} scores held"
    return f"{', '.join([*names[:-2], ' and '.join(names[-2:])])} held" if names else "quality not measured"


def _workers(result: Rubric, row: RubricRow) -> str:
    return result.worker_word if row.workers != 1 else result.worker_word.rstrip("s")


def _cost(result: Rubric, row: RubricRow) -> str:
    if row.usd is None and row.usd_per_item is not None:
        return f", ${row.usd_per_item:.3e} an item"
    if row.usd_per_step is not None and row.usd_per_step == row.usd:
        return f", ${row.usd_per_step:.4f} a step"
    return f", ${_dollars(result, row.usd)} a run" if row.usd is not None else ""
