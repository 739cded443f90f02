"""What does the page of a tuning show?

The deciding sentence, the last round's comparison, and every round with its settings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from fireassay.estimates.format import count
from fireassay.reports.answering import noted_doubts, shortened
from fireassay.reports.page import Answer, Bullet, Bullets, Line, Mark, Page, Section, Table, Words, heads
from fireassay.reports.pages import comparison_answer as answers
from fireassay.reports.pages.comparison import footer, last_round
from fireassay.reports.pages.comparison_view import ComparisonView, build
from fireassay.spec.sections.tune import TODAY, shown
from fireassay.verdict.tuning import gain_text

if TYPE_CHECKING:
    from fireassay.verdict.tuning import Round, Standing, Tuned

MAX_SENTENCE_LENGTH: Final = 240  # characters of the sentence


def page(tuned: Tuned, name: str) -> Page:
    """The page of a tuning."""
    view = comparison_of(tuned)
    settings = ", ".join(f"{key} = {shown(value)}" for key, value in (tuned.adopted or {}).items())
    return Page(
        title=name,
        mark=Mark(word="better settings", tone="good") if tuned.adopted else Mark(word="stay", tone="open"),
        lead=sentence(tuned),
        about=tuple(line for line in (settings, left_out(tuned)) if line),
        sections=(*(answers.brief(view) if view else ()), *_sections(tuned, view)),
        answer=_answer(tuned, view, settings),
        footer=(*(footer(view) if view else ()), "Rounds only select; numbers used for selection decide nothing."),
    )


def _answer(tuned: Tuned, view: ComparisonView | None, settings: str) -> Answer:
    """The settings to use, or that today's stay; the last round alone decides."""
    told = [Line(label="settings", text=settings)] if settings else []
    told += [Line(label="not tried", text=left, mark=Mark(word="not tried", tone="absent"))] if (left := left_out(tuned)) else []
    weak = [note for note in view.notes if not any(note.startswith(f"{side}: ") for side in view.sides)] if view else []
    rounds = count(len(tuned.rounds), "rounds")
    return Answer(
        mark=Mark(word="better settings", tone="good") if tuned.adopted else Mark(word="stay", tone="open"),
        headline=shortened(sentence(tuned).rstrip("."), MAX_SENTENCE_LENGTH),
        tiles=answers.tiles(view) if view else (),
        lines=(*told, noted_doubts(weak)),
        record=f"{rounds}, of which only the last decides; --full shows all",
    )


def _sections(tuned: Tuned, view: ComparisonView | None) -> Iterator[Section]:
    if view is not None:
        yield from last_round(view)
    for index, tuning_round in enumerate(tuned.rounds, 1):
        yield Section(key=f"round-{index}", title=_head(index, tuning_round), content=(_round(index, tuning_round),))
    if tuned.records:
        records = Bullets(items=tuple(Bullet(text=record) for record in tuned.records))
        yield Section(key="records", title="Records of the last round", depth="detail", content=(records,))


def _round(index: int, tuning_round: Round) -> Table:
    rows = tuple((s.label, Words(text=standing(s), strong=s.goes_on), Words(text=s.record, code=True)) for s in tuning_round.standings)
    return Table(name=f"standings-{index}", heads=heads("Setting", "Standing", "Record"), rows=rows)


def comparison_of(tuned: Tuned) -> ComparisonView | None:
    """The last round's comparison, if any."""
    if tuned.final is None:
        return None
    base = tuned.sides[0]
    return build(tuned.final, base.judgement.metrics, base.measured.experiment.workload.work)


def sentence(tuned: Tuned) -> str:
    """The quotable sentence."""
    bare = tuned.sentence.rstrip(".")
    return f"{bare[0].upper()}{bare[1:]}."


def left_out(tuned: Tuned) -> str:
    """Settings not tried for lack of budget; "" if all were."""
    return f"{count(tuned.left_out, 'combinations')} not tried (tune.at_most)." if tuned.left_out else ""


def standing(arm: Standing) -> str:
    """An arm's standing: "1.2 [1.1, 1.3] times as good, continues"."""
    if arm.label == TODAY:
        return "1"
    if arm.out:
        return f"dropped: {arm.out}"
    gain = "? times as good" if arm.gain is None else gain_text(arm.gain, arm.low, arm.high)
    return f"{gain}, {'continues' if arm.goes_on else 'dropped'}"


def _head(index: int, tuning_round: Round) -> str:
    metric = f", by {tuning_round.metric}" if tuning_round.metric else ""
    return f"Round {index}: {count(tuning_round.blocks, 'launches')} of each{metric}, against today's settings"
