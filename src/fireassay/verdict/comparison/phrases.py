"""How is a comparison quoted, why was one refused, and what limits it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.format import count, given
from fireassay.verdict.comparison.change_phrases import EXPLORATORY, allowed_text, detectable_text, needed_text, occasion_text, way_on_text
from fireassay.verdict.comparison.comparability import unknown_on_all
from fireassay.verdict.comparison.groups import Group, Quality, in_turn
from fireassay.verdict.comparison.types import Change, Comparison, Mismatch

MOST_FLAGS: Final = 5  # of a refusal, spelled out in its sentence
NOT_INTERLEAVED: Final = "were not interleaved"  # in the note on sessions
UNKNOWN: Final = "Not recorded on any side"  # likewise
UNCHANGED: Final = "Declared as studied, but the same on all sides"  # start of a note


def refused_sentence(sides: Sequence[str], refused: Sequence[Mismatch]) -> str:
    parts = [f"{m.field} differs ({' / '.join(shortened(value) for value in m.values)})" for m in refused[:3]]
    more = f" and {count(len(refused) - 3, 'more fields')}" if len(refused) > 3 else ""
    few = len(refused) <= MOST_FLAGS
    flags = " ".join(f"--varying {m.field}" for m in refused) if few else "--varying for each of them, or for a group"
    tail = f". If this is what you study, add {flags}, or --force" if all(m.override for m in refused) else ""
    return f"{_listed(sides)} are not comparable: {'; '.join(parts)}{more}{tail}."


def _listed(names: Sequence[str]) -> str:
    """ "a, b and c"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def shortened(text: str, most: int = 60) -> str:
    """Shorten a long value in the middle."""
    return text if len(text) <= most else f"{text[: most - 20]}…{text[-18:]}"


def sentence_of(made: Comparison, deciding: Sequence[Group], held: Mapping[tuple[str, str], Quality]) -> str:
    base, where = deciding[0], deciding[0].configuration
    metrics = base.side.judgement.metrics
    title = metrics[made.primary].title.lower() if made.primary in metrics else made.primary
    claims = [_claim(change, title, base.label, held[change.side, where]) for change in made.decisive()]
    if base.measured.kind.judges_quality and not (
        claims and all(held[group.label, where].held == "NOT_MEASURED" for group in deciding[1:])
    ):
        # the quality of answers is the result; how fast they came is beside it
        claims = [f"{group.label} against {base.label}: {held[group.label, where].sentence}" for group in deciding[1:]]
    studied = f" Studied: {', '.join(made.varying)}." if made.varying else ""
    head = ""
    if made.exploratory:
        head = f"{EXPLORATORY}, forced although these differ: {', '.join(m.field for m in made.refused)}. "
    prefix = "" if len({group.configuration for group in deciding}) > 1 else f"At {where}: "
    if "engine" in made.varying and base.measured is deciding[-1].measured:
        prefix = f"At {shared_load(base)}: "
    return f"{head}{prefix}{'. '.join(claims)}. {given(made.confidence * 100)} % confidence.{studied}"


def shared_load(group: Group) -> str:
    """The configuration's name without its engine, common to all engines at one load."""
    return group.configuration.removeprefix(f"engine={group.label} ")


def _claim(change: Change, title: str, baseline: str, held: Quality) -> str:
    number = allowed_text(change)
    against = ", ".join(filter(None, (f"{change.side} against {baseline}", occasion_text(change))))
    if not number:
        return f"{change.side} against {baseline}: {title} {change.word} ({change.sentence.rpartition('; ')[2]})"
    launches = f"{_launches(change.baseline)} against {_launches(change.value)} launches"
    parts = [f"{title} {number}, {launches}", detectable_text(change), needed_text(change), way_on_text(change), held.sentence]
    return f"{against}: {change.word}: {'; '.join(part for part in parts if part)}"


def _launches(value: Value) -> int:
    return 0 if isinstance(value, Absent) else value.n_launches


def notes_of(made: Comparison, deciding: Sequence[Group], held: Mapping[tuple[str, str], Quality]) -> tuple[str, ...]:
    """Limits of this comparison, in sentences."""
    base = deciding[0]
    notes = [f"{group.label}: {held[group.label, base.configuration].sentence}." for group in deciding[1:]]
    unpaired = [group.label for group in deciding[1:] if not in_turn(base, group)]
    if unpaired:
        notes.append(
            f"{', '.join(unpaired)} and {base.label} {NOT_INTERLEAVED}: the intervals include the variation between sessions, and a difference "
            "does not show its cause."
        )
    if not made.floor:
        notes.append("The noise floor of the machine is unknown: run `assay doctor` before measuring.")
    notes += [_mismatch_note(m) for m in made.mismatches if m.kind != "context" and not m.refuses]
    notes += _price_notes(made) + _unknown_notes(deciding) + _idle_notes(made, deciding)
    return tuple(notes)


def _mismatch_note(mismatch: Mismatch) -> str:
    values = " / ".join(shortened(value) for value in mismatch.values)
    return f"{mismatch.field} differs beyond its tolerance ({values}): {mismatch.why}."


def _price_notes(comparison: Comparison) -> list[str]:
    differ = any(mismatch.field == "prices" for mismatch in comparison.mismatches)
    return ["The prices differ: a difference in cost includes the difference in prices."] if differ else []


def _unknown_notes(deciding: Sequence[Group]) -> list[str]:
    if all(group.side is deciding[0].side for group in deciding):
        return []
    names = unknown_on_all([group.side for group in deciding])
    return [f"{UNKNOWN}, so not compared: {', '.join(names)}."] if names else []


def _idle_notes(comparison: Comparison, deciding: Sequence[Group]) -> list[str]:
    """Declared conditions that do not differ: perhaps the wrong records are compared."""
    if not comparison.varying or len({id(group.measured) for group in deciding}) == 1 or any(m.declared for m in comparison.mismatches):
        return []
    return [f"{UNCHANGED}: {', '.join(comparison.varying)}."]
