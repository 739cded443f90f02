"""How is a comparison quoted, why was one refused, and what limits it?

How is a change worded: direction, size with interval, and smallest detectable change?

Changes between a half and double are given in per cent, beyond that as "times"; where only a difference exists, in the metric's unit.
No change acts as a limit for rounding: an interval that excludes it is printed so. Only `fireassay.estimates.format` turns numbers into text.

How is the occasion of two measurements worded, and what does it leave open?
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import bracketed, count, given, percent, reading, with_interval
from fireassay.metrics.metric import Metric
from fireassay.printable import shell_word
from fireassay.stats.comparing.between_records import MIN_RECORDS
from fireassay.stats.comparing.comparison import Difference
from fireassay.units import FRACTION, RATIO
from fireassay.verdict.comparison.comparability import ALIASES, unknown_on_all
from fireassay.verdict.comparison.groups import Group, Quality, in_turn
from fireassay.verdict.comparison.sessions import Found
from fireassay.verdict.comparison.types import Change, Comparison, Mismatch, Occasion, Side

MAX_FLAGS: Final = 5  # of a refusal, spelled out in its sentence
NOT_INTERLEAVED: Final = "were not interleaved"  # in the note on sessions
UNKNOWN: Final = "Not recorded on any side"  # likewise
REPEATS: Final = "prompts_repeat"  # rule of a finding
ALONE: Final = "Not compared: "  # start of the note on benchmarks of one side
MAX_ALONE: Final = 4
UNCHANGED: Final = "Declared as studied, but the same on all sides"  # start of a note


def refused_sentence(sides: Sequence[str], refused: Sequence[Mismatch]) -> str:
    parts = [f"{m.field} differs ({' / '.join(shortened(value) for value in m.values)})" for m in refused[:3]]
    more = f" and {count(len(refused) - 3, 'more fields')}" if len(refused) > 3 else ""
    few = len(refused) <= MAX_FLAGS
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
    by_benchmark = bool(base.measured.experiment.timing.benchmarks)
    claims = [_of_benchmark(change, title, base.label, held, where if not by_benchmark else "") for change in made.decisive()]
    if base.measured.kind.judges_quality and not (
        claims and all(held[group.label, where].held == "NOT_MEASURED" for group in deciding[1:])
    ):
        # the quality of answers is the result; how fast they came is beside it
        claims = [f"{group.label} against {base.label}: {held[group.label, where].sentence}" for group in deciding[1:]]
    studied = f" Studied: {', '.join(made.varying)}." if made.varying else ""
    head = ""
    if made.exploratory:
        head = f"{EXPLORATORY}, forced although these differ: {', '.join(m.field for m in made.refused)}. "
    prefix = "" if by_benchmark or len({group.configuration for group in deciding}) > 1 else f"At {where}: "
    if "engine" in made.varying and base.measured is deciding[-1].measured:
        prefix = f"At {shared_load(base)}: "
    return f"{head}{prefix}{'. '.join(claims)}. {given(made.confidence * 100)} % confidence.{studied}"


def shared_load(group: Group) -> str:
    """The configuration's name without its engine, common to all engines at one load."""
    return group.configuration.removeprefix(f"engine={group.label} ")


def _of_benchmark(change: Change, title: str, baseline: str, held: Mapping[tuple[str, str], Quality], where: str) -> str:
    """The claim at the deciding configuration; without one, at the change's own benchmark."""
    claim = _claim(change, title, baseline, held[change.side, where or change.configuration])
    return claim if where else f"{change.configuration}: {claim}"


def _claim(change: Change, title: str, baseline: str, held: Quality) -> str:
    number = allowed_text(change)
    against = ", ".join(filter(None, (f"{change.side} against {baseline}", occasion_text(change))))
    if not number:
        return f"{change.side} against {baseline}: {title} {change.word} ({change.sentence.rpartition('; ')[2]})"
    launches = f"{_launches(change.baseline)} against {_launches(change.value)} launches"
    parts = [
        f"{title} {number}, {launches}",
        apart_text(change),
        detectable_text(change),
        needed_text(change),
        way_on_text(change),
        held.sentence,
    ]
    return f"{against}: {change.word}: {'; '.join(part for part in parts if part)}"


def _launches(value: Value) -> int:
    return 0 if isinstance(value, Absent) else value.n_launches


def notes_of(made: Comparison, deciding: Sequence[Group], held: Mapping[tuple[str, str], Quality]) -> tuple[str, ...]:
    """Limits of this comparison, in sentences."""
    base = deciding[0]
    notes = [f"{group.label}: {held[group.label, base.configuration].sentence}." for group in deciding[1:]]
    notes += [f"{group.label}: {tested}." for group in deciding[1:] if (tested := held[group.label, base.configuration].tested)]
    # answers that existed already have no session
    timed = made.state != "nothing_measured" and (bool(made.changes) or not base.measured.kind.judges_quality)
    unpaired = [group.label for group in deciding[1:] if timed and not in_turn(base, group)]
    if unpaired:
        notes.append(
            f"{', '.join(unpaired)} and {base.label} {NOT_INTERLEAVED}: the intervals include the variation between sessions, and a difference "
            "does not show its cause."
        )
    if timed and not made.floor and any(group.measured.foreign is None for group in deciding):
        notes.append("The noise floor of the machine is unknown: run `assay doctor` before measuring.")
    notes += [_mismatch_note(m) for m in made.mismatches if m.kind != "context" and not m.refuses]
    notes += [
        f"{side.label}: {found.evidence}."
        for side in _later(deciding)
        for found in side.judgement.verdict.findings
        if found.rule == REPEATS
    ]
    notes += _price_notes(made) + _unknown_notes(deciding) + _idle_notes(made, deciding)
    return tuple(notes)


def _mismatch_note(mismatch: Mismatch) -> str:
    values = " / ".join(shortened(value) for value in mismatch.values)
    return f"{mismatch.field} differs beyond its tolerance ({values}): {mismatch.why}."


def _later(deciding: Sequence[Group]) -> list[Side]:
    """The other records, which an engine may have answered out of what the first left in its caches."""
    return list({id(group.side): group.side for group in deciding if group.side is not deciding[0].side}.values())


def one_sided(sides: Sequence[Side], common: Sequence[str]) -> Iterator[str]:
    """The benchmarks of imported timings that not every side has: one that failed or was removed is in no verdict."""
    for side in sides:
        if common and side.measured.experiment.timing.benchmarks:
            alone = [name.removeprefix("benchmark=") for name in side.measured.configurations if name not in common]
            more = f" and {len(alone) - MAX_ALONE} more" if len(alone) > MAX_ALONE else ""
            if alone:
                yield f"{ALONE}{', '.join(alone[:MAX_ALONE])}{more}: only in {side.label}."


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


EXPLORATORY: Final = "EXPLORATORY"


def direction_word(metric: Metric, verdict: str) -> str:
    """faster, slower, cheaper, dearer, less energy ...: the meaning of "higher" or "lower" for this metric."""
    up = verdict == "higher"
    unit = metric.unit.partition("/")[0]
    if metric.unit == "s" or metric.unit == "1/s":
        return "faster" if up == (metric.unit == "1/s") else "slower"
    if "USD" in metric.unit:
        return "dearer" if up == (unit == "USD") else "cheaper"
    if unit in ("J", "B"):
        return f"{'more' if up else 'less'} {'energy' if unit == 'J' else 'memory'}"
    return verdict


def change_text(change: Change) -> str:
    """The change with its interval: "+4.80 % [3.10, 6.50]"; empty without one."""
    return with_interval(*change_parts(change))


def change_column(change: Change) -> tuple[str, str]:
    """The same for a column of a table, where every ratio is in per cent: "+260 %"."""
    if change.ratio is None or change.low is None or change.high is None:
        return change_parts(change)
    low = change.low if change.low > 0.0 else -math.inf
    return _signed(change.ratio - 1.0, low - 1.0, change.high - 1.0, FRACTION, _fewest_launches(change))


def change_parts(change: Change) -> tuple[str, str]:
    """The change and its interval, or why it has none; two empty texts without a change."""
    if change.low is None or change.high is None:
        return "", ""
    if change.ratio is None:
        text, interval = _signed(change.difference or 0.0, change.low, change.high, _unit(change), _fewest_launches(change))
        return f"difference {text}", interval
    return _ratio(change.ratio, change.low, change.high, _fewest_launches(change))


def difference_text(difference: Difference, unit: str = "") -> str:
    """The same for a difference outside of a comparison."""
    return with_interval(*difference_parts(difference, unit))


def difference_parts(difference: Difference, unit: str = "") -> tuple[str, str]:
    """The same in two parts."""
    if difference.scale == "difference":
        return _signed(difference.value, difference.low, difference.high, unit, 2)
    return _ratio(difference.value, difference.low, difference.high, 2)


def _ratio(ratio: float, low: float, high: float, launches: int) -> tuple[str, str]:
    """A ratio in parts: "+4.80 %" and "[3.10, 6.50]", "3.600 times" and "[3.500, 3.700]"."""
    low = low if low > 0.0 else -math.inf  # a lower end of 0 bounds nothing
    if 0.5 < ratio < 2.0:
        return _signed(ratio - 1.0, low - 1.0, high - 1.0, FRACTION, launches)
    text, interval = bracketed(ratio, low, high, RATIO, beside=(1.0,), launches=launches)
    return f"{text} times", interval


def detectable_text(change: Change) -> str:
    """The smallest change that this comparison detects with 80 % power; always printed."""
    effect = change.minimum_detectable_effect
    if effect is None or not math.isfinite(effect):
        return "too few launches to detect any change"
    return f"detectable change {reading(effect, FRACTION if change.ratio is not None else _unit(change), way='up')}"


def needed_text(change: Change) -> str:
    """How many launches would decide; empty if decided or unknown."""
    if change.launches_needed is None:
        return ""
    return f"about {count(change.launches_needed, 'launches')} per side would decide"


def probability_text(p: float | None) -> str:
    """A p-value as text."""
    if p is None:
        return ""
    return "p < 0.001" if p < 0.001 else f"p = {reading(p, '')}"


def sentence(change: Change, title: str, baseline: str, *, exploratory: bool, why: str = "") -> str:
    """One sentence about one metric."""
    word = f"{change.word} ({EXPLORATORY})" if exploratory else change.word
    where = ", ".join(filter(None, (f"{title} of {change.side} against {baseline} at {change.configuration}", occasion_text(change))))
    parts = [
        allowed_text(change),
        apart_text(change),
        why,
        detectable_text(change) if change.low is not None else "",
        needed_text(change),
        way_on_text(change),
    ]
    return "; ".join([f"{where}: {word}", *(part for part in parts if part)])


def occasion_text(change: Change) -> str:
    """ "between these two sessions"; empty if they were interleaved."""
    return "" if change.occasion is None else change.occasion.words


def allowed_text(change: Change) -> str:
    """The change with the allowance for sessions.

    "+5.1 % [−31.0, 61.4] with 15 % assumed between sessions (launches alone: +5.10 % [4.02, 6.18])".
    """
    text, occasion = change_text(change), change.occasion
    if not text or occasion is None or not occasion.allowance:
        return text
    alone = difference_text(occasion.launches, _unit(change))
    return f"{text} {occasion.allowance} (launches alone: {alone})"


def days_text(change: Change) -> str:
    """What the interval takes the sessions to differ by, and what the launches alone say; empty if they were made in turn."""
    occasion = change.occasion
    if occasion is None or not occasion.allowance:
        return ""
    return sessions_text(occasion.allowance, difference_text(occasion.launches, _unit(change)))


def sessions_text(allowance: str, alone: str) -> str:
    """The sentence on an interval with an allowance for sessions."""
    return f"The interval is {allowance}; the launches alone give {alone}. Only measured in turn do both show whether it was the day."


def apart_text(change: Change) -> str:
    """Why the two values point one way and the change another; empty if they do not."""
    return _apart(change.baseline, change.value, change.ratio, change_text(change))


def values_apart(baseline: Value | None, value: Value | None, found: Difference | None) -> str:
    """The same of a difference outside of a comparison."""
    if found is None or found.scale != "ratio":
        return ""
    return _apart(baseline, value, found.value, difference_text(found))


def _apart(a: Value | None, b: Value | None, ratio: float | None, shown: str) -> str:
    if ratio is None or not (isinstance(a, Estimate) and isinstance(b, Estimate)):
        return ""
    if math.isclose(a.value, b.value) or math.isclose(ratio, 1.0) or not (b.value - a.value) * (ratio - 1.0) < 0.0:
        return ""
    return f"{APART}: {reading(a.value, a.unit)} to {reading(b.value, b.unit)} over all launches together, {shown} launch by launch"


def way_on_text(change: Change) -> str:
    """What would decide; empty if decided, or if the sides were interleaved."""
    return change.occasion.way_on if change.occasion is not None and change.outcome == "inconclusive" else ""


def _signed(value: float, low: float, high: float, unit: str, launches: int) -> tuple[str, str]:
    if unit == FRACTION:  # a rounding residue is no change
        value, low, high = (round(bound, 9) + 0.0 if math.isfinite(bound) else bound for bound in (value, low, high))
    text, interval = bracketed(value, low, high, unit, launches=launches)
    return f"{'+' if value > 0.0 and text.strip('0.% ') else ''}{text}", interval


def _fewest_launches(change: Change) -> int:
    return min(_launches(change.baseline), _launches(change.value))


def _unit(change: Change) -> str:
    return next((value.unit for value in (change.value, change.baseline) if isinstance(value, Estimate)), "")


TWO_SESSIONS: Final = "between these two sessions"
APART: Final = "two estimators disagree on the sign, so it is not known"
SUSPECTED: Final = "the launches differ, but variation between the two sessions may explain it"
CODE: Final = frozenset(name for name, meant in ALIASES.items() if meant == ALIASES["code"])
_OCCASIONS: Final = {"history": TWO_SESSIONS, "assumed": TWO_SESSIONS, "alternating": "in alternating sittings"}


def occasion_of(found: Found, baseline: Group, side: Group, varying: Sequence[str]) -> Occasion:
    """When the two were measured, in words."""
    return Occasion(
        evidence=found.evidence,
        words=occasion(found),
        allowance=allowance(found),
        launches=found.launches,
        way_on=way_on(found, baseline, side, varying),
    )


def occasion(found: Found | None) -> str:
    """When both were measured, unless interleaved: "between these two sessions"; else ""."""
    return "" if found is None else _OCCASIONS.get(found.evidence, "")


def allowance(found: Found | None) -> str:
    """The allowance for sessions in the interval: "with 15 % assumed between sessions"; else ""."""
    if found is None or not found.apart:
        return ""
    if found.days is None:
        return f"with {percent(found.assumed, 12)} assumed between sessions"
    sessions = count(found.days.records, "other sessions")
    if found.difference.scale == "difference":
        return f"with the variation between {sessions}"
    return f"with the {percent(found.days.deviation, way='up')} variation between {sessions}"


def way_on(found: Found | None, baseline: Group, side: Group, varying: Sequence[str]) -> str:
    """What would decide; "" if both were interleaved."""
    if found is None or not found.apart:
        return ""
    history = f" or provide {MIN_RECORDS} or more comparable sessions (--history)" if found.days is None else ""
    return f"to decide, interleave both ({_in_turn(baseline, side, varying)}){history}"


def _in_turn(baseline: Group, side: Group, varying: Sequence[str]) -> str:
    """How to measure both in one session."""
    measured = side.measured
    if measured.experiment.workload.runner == "command":
        return "both commands in one assay time, with --- between them"
    if measured.foreign is not None:
        return "in one session of the program that measured them"
    if set(varying) <= CODE:  # both code versions run with the record's settings
        if any(" " in label for label in (side.label, baseline.label)):  # no record is called so
            return "assay check of the two records, with --confirm always"
        return f"assay check {shell_word(side.label)} --against {shell_word(baseline.label)} --confirm always"
    return measured.kind.interleaving
