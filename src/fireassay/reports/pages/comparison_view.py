"""What does a comparison show?  Rows with values, from which its page is made, and the items that changed, side by side.

In an exploratory comparison, the mark is part of the words, so that no format can omit it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import Scale, Shown, count, given, reading, scale_for, show
from fireassay.frames.evaluation.flipped import Flip
from fireassay.metrics.metric import Metric
from fireassay.reports.answering import change_estimate
from fireassay.reports.image_cell import one, score_words
from fireassay.reports.metric_tables import OVERVIEW
from fireassay.reports.page import Cell, Figure, Table, Tone, Words, heads
from fireassay.reports.words import cut
from fireassay.units import FRACTION
from fireassay.verdict.comparison.phrases import EXPLORATORY, change_column, detectable_text, needed_text, probability_text, shortened
from fireassay.verdict.comparison.types import Change, Comparison, Mismatch, State

STATE_WORDS: Final[Mapping[State, str]] = {
    "compared": "compared",
    "exploratory": f"{EXPLORATORY}: compared although conditions differ",
    "incomparable": "not comparable",
    "nothing_measured": "nothing measured",
}
_TONES: Final[Mapping[str, Tone]] = {"improved": "good", "worse": "bad", "equivalent": "good", "struck_out": "struck"}
MAX_HEADS: Final = 6  # of an overview that no metric asks for
DECIDED: Final = ("improved", "worse", "higher", "lower")


@dataclass(frozen=True, kw_only=True)
class ChangeRow:
    """One metric of one configuration on one side, in words; `change` holds the numbers."""

    title: str
    metric: str
    configuration: str
    side: str
    word: str  # with the mark if the comparison is exploratory
    tone: Tone
    baseline: Shown
    value: Shown
    effect: Shown | None  # "+4.8 %" and "[3.1, 6.5]"
    detectable: str
    needed: str
    probability: str
    method: str
    sentence: str
    struck: bool
    primary: bool
    shown: bool  # on the first page, as in the report of a record
    change: Change
    band: Callable[[float], str] | None = None  # of the metric


@dataclass(frozen=True, kw_only=True)
class MismatchRow:
    """A condition that differs."""

    field: str
    kind: str
    values: tuple[str, ...]
    standing: str  # refuses, declared, forced, noted, context
    why: str
    override: str


@dataclass(frozen=True, kw_only=True)
class OverviewRow:
    """One side in the table of many."""

    side: str
    cells: tuple[Shown, ...]
    word: str  # the primary metric against the first side; empty for the first


@dataclass(frozen=True, kw_only=True)
class ComparisonView:
    """Everything that any rendering shows."""

    state: State
    word: str
    sentence: str
    exploratory: bool
    sides: tuple[str, ...]
    varying: tuple[str, ...]
    primary: str
    configuration: str
    rows: tuple[ChangeRow, ...]
    mismatches: tuple[MismatchRow, ...]
    heads: tuple[str, ...]  # of the overview's columns
    overview: tuple[OverviewRow, ...]
    quality: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    confidence: str
    floor: str
    equivalence: float
    comparison: Comparison

    @property
    def deciding(self) -> tuple[ChangeRow, ...]:
        """The rows at the configuration that decides."""
        primaries = {row.configuration for row in self.rows if row.primary}
        return tuple(row for row in self.rows if row.configuration in primaries)

    @property
    def elsewhere(self) -> tuple[ChangeRow, ...]:
        """The rows at other configurations."""
        shown = set(map(id, self.deciding))
        return tuple(row for row in self.rows if id(row) not in shown)

    @property
    def important(self) -> tuple[MismatchRow, ...]:
        """The differences, without irrelevant context."""
        return tuple(row for row in self.mismatches if row.kind != "context")


def build(comparison: Comparison, metrics: Mapping[str, Metric], work: str = "items") -> ComparisonView:
    """The whole tree; `metrics` says what the names mean, `work` names one item in the plural."""
    primary = sorted((metric.rank, name) for name, metric in metrics.items() if metric.primary)  # of kinds without an overview: evaluations
    measured = {name for row in comparison.table.values() for name, value in row.items() if isinstance(value, Estimate)}
    listed = [metric.name for _, metric in OVERVIEW.of(metrics.values()) if metric.name in measured]
    names = listed or [name for _, name in primary if name in measured][:MAX_HEADS] or [name for name in metrics if name in measured]
    return ComparisonView(
        state=comparison.state,
        word=STATE_WORDS[comparison.state],
        sentence=comparison.sentence,
        exploratory=comparison.exploratory,
        sides=comparison.sides,
        varying=comparison.varying,
        primary=metrics[comparison.primary].title if comparison.primary in metrics else comparison.primary,
        configuration=comparison.configuration,
        rows=tuple(_row(change, metrics[change.metric], comparison, work) for change in comparison.changes),
        mismatches=tuple(_mismatch(mismatch, comparison) for mismatch in comparison.mismatches),
        heads=tuple(metrics[name].title for name in names),
        overview=_overview(comparison, names, metrics, work),
        quality=tuple((side, _marked(held.lower().replace("_", " "), comparison)) for side, held in comparison.quality.items()),
        notes=comparison.notes,
        confidence=f"{given(comparison.confidence * 100)} %",
        floor=reading(comparison.floor, FRACTION) if comparison.floor else "unknown",
        equivalence=comparison.equivalence,
        comparison=comparison,
    )


def _marked(word: str, comparison: Comparison) -> str:
    return f"{word} ({EXPLORATORY})" if comparison.exploratory else word


def _row(change: Change, metric: Metric, comparison: Comparison, work: str) -> ChangeRow:
    values = [value.value for value in (change.baseline, change.value) if isinstance(value, Estimate)]
    scale = scale_for(metric.unit, values, work)
    p = change.p_adjusted if change.p_adjusted is not None else change.p_value
    return ChangeRow(
        title=metric.title,
        metric=change.metric,
        configuration=change.configuration,
        side=change.side,
        word=_marked(change.word, comparison),
        tone=_TONES.get(change.outcome, "open"),
        baseline=_short(change.baseline, scale, change),
        value=_short(change.value, scale, change),
        effect=_effect(change, metric, comparison),
        detectable=detectable_text(change) if change.low is not None else "",
        needed=needed_text(change),
        probability=probability_text(p),
        method=change.method,
        sentence=change.sentence,
        struck=change.outcome == "struck_out",
        primary=change.primary,
        shown=metric.primary,
        change=change,
        band=metric.band,
    )


def _effect(change: Change, metric: Metric, comparison: Comparison) -> Shown | None:
    if change.low is None or change.high is None:
        return None
    unit, value = ("ratio", change.ratio) if change.ratio is not None else (metric.unit, change.difference or 0.0)
    return effect(
        change_column(change),
        change_estimate(value, change.low, change.high, unit=unit, confidence=comparison.confidence, method=change.method),
    )


def effect(parts: tuple[str, str], value: Estimate) -> Shown:
    """A change as text and its interval."""
    text, interval = parts
    return Shown(text=text, interval=interval, note="", value=value, scale=Scale(factor=1.0))


def _short(value: Value, scale: Scale, change: Change) -> Shown:
    """A value with enough digits that two values reported as different do not print alike."""
    pair = (change.baseline, change.value) if change.outcome in DECIDED else ()
    beside = [other.value for other in pair if isinstance(other, Estimate) and other is not value]
    return show(value, None if isinstance(value, Absent) else scale, beside=beside)


def _mismatch(mismatch: Mismatch, comparison: Comparison) -> MismatchRow:
    standing = "context" if mismatch.kind == "context" else "noted"
    if mismatch.refuses:
        standing = "studied" if mismatch.declared else "forced" if comparison.exploratory else "refuses"
    elif mismatch.declared:
        standing = "studied"
    return MismatchRow(
        field=mismatch.field,
        kind=mismatch.kind,
        values=tuple(shortened(value) for value in mismatch.values),
        standing=standing,
        why=mismatch.why,
        override=mismatch.override,
    )


def _overview(comparison: Comparison, names: list[str], metrics: Mapping[str, Metric], work: str) -> tuple[OverviewRow, ...]:
    scales = {}
    for name in names:
        values = [row[name] for row in comparison.table.values() if name in row]
        scales[name] = scale_for(metrics[name].unit, [v.value for v in values if isinstance(v, Estimate)], work)
    words = {change.side: _marked(change.word, comparison) for change in comparison.decisive()}
    missing = Absent(reason="not_measured", detail="this record has no such metric")
    return tuple(
        OverviewRow(side=side, word=words.get(side, ""), cells=tuple(show(row.get(name, missing), scales[name], work) for name in names))
        for side, row in comparison.table.items()
    )


# ---- items that changed ----------------------------------------------------------------------------------------------


MAX_FLIPS: Final = 200  # on a page
MAX_IN_TEXT: Final = 10  # where nothing can be searched
MAX_SENTENCE_LENGTH: Final = 600  # characters of a text on a page
SHOWN_CHARACTERS: Final = 120  # of them before the reader opens the others
MAX_BRIEF_LENGTH: Final = 28  # characters of a text on one screen


def flips_table(flips: Sequence[Flip]) -> Table:
    """The first of these, in their order; columns that hold nothing are left out."""
    tasks, sides = len({flip.task for flip in flips}) > 1, len({flip.side for flip in flips}) > 1
    asked = any(flip.prompt for flip in flips)  # a file of answers need not say what was asked
    wanted = any(flip.images is None or flip.reference != flip.prompt for flip in flips)  # images are to show what was asked
    judged = any(flip.judged for flip in flips)
    texts = (*(("Asked",) if asked else ()), *(("Reference",) if wanted else ()))
    names = (*(("Side",) if sides else ()), "Score", *texts, "Answer of the reference side", "Answer", *(("Judge",) if judged else ()))
    changed = count(len(flips), "changes") if sides else f"{count(len(flips), 'items')} changed"
    return Table(
        name="flips",
        heads=heads("Item", *names),
        rows=tuple(
            (
                Words(text=cut(f"{flip.task} {flip.item}" if tasks else flip.item)),
                *((Words(text=flip.side),) if sides else ()),
                _scores(flip),
                *(_long(text) for text in (*((flip.prompt,) if asked else ()), *((flip.reference,) if wanted else ()))),
                *_answers(flip),
                *((_long(flip.judged),) if judged else ()),
            )
            for flip in flips[:MAX_FLIPS]
        ),
        notes=(f"{len(flips) - MAX_FLIPS:,} further changes are left out; the record has them all.",) if len(flips) > MAX_FLIPS else (),
        folded=f"{changed}, the {MAX_FLIPS} largest shown" if len(flips) > MAX_FLIPS else changed,
        opened=True,
        most=MAX_IN_TEXT,
    )


def flips_brief(flips: Sequence[Flip], most: int) -> Table:
    """The first of them, each on one line."""
    sides = len({flip.side for flip in flips}) > 1
    rows = tuple(
        (
            Words(text=cut(flip.item, MAX_BRIEF_LENGTH)),
            *((Words(text=flip.side),) if sides else ()),
            Words(text=_scores(flip).text),
            *(Words(text=cut(" ".join(text.split()), MAX_BRIEF_LENGTH)) for text in _said(flip)),
        )
        for flip in flips[:most]
    )
    left = (f"{count(len(flips) - most, 'more changes')}: --full, or searchable with --html",) if len(flips) > most else ()
    return Table(name="flips", heads=heads("item", *(("side",) if sides else ()), "score", "before", "after"), rows=rows, notes=left)


def _said(flip: Flip) -> tuple[str, str]:
    """What both sides answered; of images their files."""
    return (flip.before, flip.after) if flip.images is None else (flip.images[0].name, flip.images[1].name)


def _answers(flip: Flip) -> tuple[Cell, Cell]:
    """Both sides' answers; images with what every score says of them, if there are several."""
    if flip.images is None:
        return _long(flip.before), _long(flip.after)
    before, after = (one(image, *(score_words(image.scores) if len(image.scores) > 1 else ())) for image in flip.images)
    return before, after


def _scores(flip: Flip) -> Figure:
    return Figure(value=flip.score_after - flip.score_before, text=f"{flip.score_before:.3g} to {flip.score_after:.3g}")


def _long(text: str) -> Words:
    """A text whose end opens, up to a limit."""
    if len(text) <= SHOWN_CHARACTERS:
        return Words(text=text)
    return Words(
        text=cut(text, SHOWN_CHARACTERS), title="whole" if len(text) <= MAX_SENTENCE_LENGTH else "more", fold=cut(text, MAX_SENTENCE_LENGTH)
    )
