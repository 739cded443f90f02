"""What does the page of a comparison show?

The sentence, differing conditions, the deciding metric and the others, and the sides next to each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fireassay.estimates.format import banded, count
from fireassay.metrics.serving.latency import TPOT_P50
from fireassay.reports.answering import Asked
from fireassay.reports.charts.comparison import forest, forest_in_cells
from fireassay.reports.page import Blocks, Bullet, Bullets, Cell, Head, Mark, Number, Page, Section, Table, Tone, Words, heads, notes
from fireassay.reports.pages import comparison_answer as answers
from fireassay.reports.pages.comparison_view import ChangeRow, ComparisonView, MismatchRow
from fireassay.reports.pages.comparison_view import flips_table as of_flips

ANYHOW: Final = Asked()
STATES: Final[dict[str, Tone]] = {"compared": "good", "exploratory": "open", "incomparable": "bad", "nothing_measured": "bad"}
STANDINGS: Final[dict[str, Tone]] = {"refuses": "bad", "forced": "open", "studied": "good", "noted": "absent", "context": "plain"}


def page(view: ComparisonView, records: Sequence[str] = (), *, by_quality: bool = False, asked: Asked = ANYHOW) -> Page:
    """The page of a comparison; `records` name the records in a command, `by_quality`: only quality decides."""
    return Page(
        title=answers.title(view),
        mark=Mark(word=view.word, tone=STATES[view.state]),
        lead=view.sentence,
        about=(f"Studied: {', '.join(view.varying)}.",) if view.varying else (),
        sections=(*answers.brief(view, records), *sections(view)),
        answer=answers.answer(view, records, by_quality=by_quality, asked=asked),
        footer=(*footer(view), "A comparison is made from the records alone and can be made again at any time."),
    )


def sections(view: ComparisonView) -> Iterator[Section]:
    """Differing conditions, changes, sides, notes; context that never matters last."""
    if view.important:
        yield Section(key="differs", title="Differences", content=(differing(view.important, view.sides),))
    elif view.rows:
        yield Section(key="differs", title="Differences", depth="detail", content=(Bullets(items=(), empty="Nothing relevant."),))
    yield from _changes(view)
    yield from _items(view)
    yield from _frontier(view)
    if view.overview:
        depth = "front" if len(view.sides) > 2 or not view.deciding else "detail"
        yield Section(key="sides", title="Side by side", depth=depth, content=(_overview(view),))  # type: ignore[arg-type]
    if view.notes:
        yield Section(key="notes", title="Notes", content=(notes(view.notes),))
    if context := [row for row in view.mismatches if row.kind == "context"]:
        yield Section(key="context", title="Context that differs", depth="detail", content=(_context(context, view.sides),))


def _changes(view: ComparisonView) -> Iterator[Section]:
    """The deciding configuration, then the others; primary metrics first, then all."""
    first = [row for row in view.deciding if len(view.sides) == 2 or row.shown or row.primary]
    second = [row for row in view.elsewhere if row.shown]
    if first:
        where = {row.configuration for row in first}
        title = f"Changes at {where.pop()}" if len(where) == 1 else "Changes"
        yield Section(key="changes", title=title, content=(changes("changes", first), forest(view), *forest_in_cells(first)))
    if second:
        yield Section(key="elsewhere", title="Other configurations", content=(changes("elsewhere", second),))
    if rest := [row for row in (*view.deciding, *view.elsewhere) if row not in first and row not in second]:
        yield Section(key="further", title="Further changes", depth="detail", content=(changes("further", rest, folded=True),))


def _items(view: ComparisonView) -> Iterator[Section]:
    """Of evaluations: the items that score otherwise than at the first side."""
    if flips := view.comparison.flips:
        yield Section(key="flips", title="Items that changed", content=(of_flips(flips),))


def _frontier(view: ComparisonView) -> Iterator[Section]:
    """Of records of loads: yield against the speed for one user, and how far apart they are at equal loads."""
    if not any(row.metric == TPOT_P50.name for row in view.rows):
        return
    from fireassay.reports.charts.trade_offs import pareto_of_sides

    (chart,) = pareto_of_sides(view)
    if chart.missing:
        return
    yield Section(key="pareto", title="Frontier", role="exhibit", content=(chart, *(b for s in answers.brief(view) for b in s.blocks)))
    if plot := answers.equal_loads(view):
        yield Section(
            key="equal", title="Equal loads", question="How far apart are they at equal loads?", depth="appendix", content=(plot,)
        )


def changes(name: str, rows: Sequence[ChangeRow], *, folded: bool = False) -> Table:
    """One line per metric."""
    several = len({row.side for row in rows}) > 1 or len({row.configuration for row in rows}) > 1 or folded
    return Table(
        name=name,
        heads=heads("Metric", "Verdict", "Change", "From", "To", "p"),
        rows=tuple(_change(row, several) for row in rows),
        folded=count(len(rows), "changes") if folded else "",
    )


def _change(row: ChangeRow, several: bool) -> tuple[Cell, ...]:
    where = row.side if row.side.endswith(row.configuration) else f"{row.side}, {row.configuration}"
    title = f"{row.title} (decides)" if row.primary else row.title
    detectable = row.detectable if row.primary or row.change.outcome == "inconclusive" else ""  # an undetected change may exist
    effect = None if row.effect is None else Number(shown=row.effect, struck=row.struck, extra=detectable)
    ends = (
        Number(shown=shown, interval=False, struck=row.struck, extra=banded(shown.value, row.band)) for shown in (row.baseline, row.value)
    )
    why = f"{row.sentence}. Method: {row.method}."
    name = Words(text=title, below=where if several else "", strong=row.primary)
    return (name, Mark(word=row.word, tone=row.tone, why=why), effect, *ends, Words(text=row.probability or "–"))


def differing(rows: Sequence[MismatchRow], sides: tuple[str, ...]) -> Bullets:
    """Each differing condition with its values, why it matters, and its override."""
    return Bullets(items=tuple(_mismatch(row, sides) for row in rows))


def _mismatch(row: MismatchRow, sides: tuple[str, ...]) -> Bullet:
    way = ""
    if row.standing == "refuses":
        way = f" To compare anyway: {row.override}." if row.override else " This cannot be overridden."
    return Bullet(
        mark=Mark(word=row.standing, tone=STANDINGS[row.standing]),
        title=row.field,
        where=row.kind,
        text=f"{_values(row, sides)}. It matters because {row.why}.{way}",
    )


def _values(row: MismatchRow, sides: tuple[str, ...]) -> str:
    """Each side with its value; one value if a record is compared with itself."""
    named = (
        zip(sides, row.values, strict=False) if len(sides) == len(row.values) else ((f"value {n}", v) for n, v in enumerate(row.values, 1))
    )
    return "; ".join(f"{side}: {value}" for side, value in named)


def _overview(view: ComparisonView) -> Table:
    return Table(
        name="sides",
        heads=heads("Side", *view.heads, "Against the first"),
        rows=tuple((row.side, *(Number(shown=shown) for shown in row.cells), row.word) for row in view.overview),
    )


def _context(rows: Sequence[MismatchRow], sides: tuple[str, ...]) -> Table:
    wide = max(len(row.values) for row in rows)
    columns = sides if wide == len(sides) else tuple(f"value {index + 1}" for index in range(wide))
    return Table(
        name="context",
        heads=(Head(text="Field"), *heads(*columns)),
        rows=tuple((Words(text=row.field, code=True), *row.values, *[""] * (wide - len(row.values))) for row in rows),
        folded=f"{count(len(rows), 'fields')}, recorded, never a reason to refuse",
    )


def footer(view: ComparisonView) -> Iterator[str]:
    """How to read the numbers."""
    if not view.rows:
        return
    if any(row.struck for row in view.rows):
        yield "Struck out: shown, but decides nothing."
    yield (
        f"Intervals: {view.confidence} confidence, the launch is the unit. Rows marked (decides) decide; the others are corrected for "
        f"their number. Noise floor by assay doctor: {view.floor}."
    )


def last_round(view: ComparisonView) -> Iterator[Section]:
    """The same for a tuning: the deciding metric with every setting, the other metrics, and the differences."""
    first = [row for row in view.deciding if row.primary]
    if not first:
        return
    content: Blocks = (changes("last", first), forest(view), *forest_in_cells(first), notes(view.notes))
    yield Section(key="last", title="Last round, which alone decides", content=content)
    if second := [row for row in view.deciding if row.shown and row not in first]:
        yield Section(key="others", title="Other metrics of the last round", content=(changes("others", second),))
    if view.important:
        yield Section(key="differs", title="Differences", depth="detail", content=(differing(view.important, view.sides),))
    if rest := [row for row in view.rows if row not in first and row not in second]:
        yield Section(key="further", title="Further changes", depth="detail", content=(changes("further", rest, folded=True),))
