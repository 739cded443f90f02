"""Does a second run of the same experiment give the same numbers?

Per metric, at launch level, with the confidence and margin of the first record's experiment:

    agrees      the launches' interval lies inside the equivalence margin and includes no effect (or one below
                `comparison.smallest_effect`)
    differs     with the variation between sessions included (`fireassay.verdict.comparison.sessions`, as in `compare` and `check`), the
                interval excludes no effect, and the effect is of interest and above the machines' noise floor
    undecided   else, with what would decide; absence of a difference is not agreement

The primary metric and quality (tested in both directions) decide; other metrics are listed with corrected p-values. Losses and
hashes are exact: with equal software and hardware they must match bit for bit, otherwise a difference is reported and decides nothing.
A differing condition of class identity makes it another experiment; hardware may differ, as reproducing allows.
Agreement is a statement about these two sessions. A difference counts only beyond the variation between sessions.
Cannot tell: whether a third session would agree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.format import count, given
from fireassay.frames.record_data import RecordData
from fireassay.stats.comparing.comparison import REASONS, Difference
from fireassay.verdict.comparison.groups import Group, launch_values, quality
from fireassay.verdict.comparison.phrases import SUSPECTED, UNCHANGED, allowance, difference_text, occasion, sessions_text
from fireassay.verdict.comparison.sessions import Days, Found, found_between, judged
from fireassay.verdict.comparison.types import Change, Comparison, Mismatch, Side

State = Literal["reproduced", "differs", "undecided", "not_comparable", "nothing_measured"]
Agreement = Literal["agrees", "differs", "undecided", "not_measured"]
STATES: Final[dict[State, tuple[int, str]]] = {
    "reproduced": (0, "the primary metric, quality and exact quantities agree"),
    "differs": (1, "at least one of them differs"),
    "not_comparable": (3, "it is another experiment, or a record is inadmissible"),
    "undecided": (4, "the evidence shows neither agreement nor a difference"),
    "nothing_measured": (5, "the primary metric has no value"),
}


@dataclass(frozen=True, kw_only=True)
class AgreementRow:
    """One metric of one configuration in both records."""

    metric: str
    title: str
    configuration: str
    agreement: Agreement
    decides: bool = True
    first: Value | None = None
    second: Value | None = None
    difference: Difference | None = None
    launches_needed: int | None = None
    sentence: str
    days: str = ""  # what the interval takes the sessions to differ by


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """The result of reproducing a record."""

    state: State
    first: str  # labels
    second: str
    rows: tuple[AgreementRow, ...]  # deciding rows first
    mismatches: tuple[Mismatch, ...]  # all conditions that differ
    notes: tuple[str, ...]
    sentence: str


def reproduction(comparison: Comparison, first: Side, second: Side, *, force: bool = False, days: Days | None = None) -> Reproduction:
    """Second record against the first; `comparison` is theirs: forced, with nothing declared, and the same `days`.

    `force`: judge even if a condition of class identity differs; `days`: variation between sessions.
    """
    mismatches = comparison.mismatches
    identity = [m for m in comparison.refused if another_experiment(m, force=force)]
    if identity:
        shown = "; ".join(f"{m.field} ({' against '.join(m.values)})" for m in identity)
        sentence = f"NOT COMPARABLE: this is not the same experiment: {shown}."
        return _without(comparison, first, second, "not_comparable", sentence)
    empty = [side.label for side in (first, second) if side.measured.timed.height == 0]
    if empty or comparison.state == "nothing_measured":
        sentence = f"NOTHING MEASURED: {', '.join(empty) or comparison.sentence} has no successful timed launch."
        return _without(comparison, first, second, "nothing_measured", sentence if empty else comparison.sentence)
    rows = [*_quality(comparison, first, second), *_exact(comparison, first, second)]
    known = days or Days()
    numbers = [_row(comparison, change, first, second, known) for change in comparison.changes]
    rows += sorted(numbers, key=lambda row: not row.decides)
    state = _state([row for row in rows if row.decides])
    return Reproduction(
        state=state,
        first=first.label,
        second=second.label,
        rows=tuple(rows),
        mismatches=mismatches,
        notes=_notes(comparison),
        sentence=_sentence(state, rows, first, mismatches),
    )


def another_experiment(mismatch: Mismatch, *, force: bool = False) -> bool:
    """True if this difference refuses the comparison; any other is only listed."""
    return mismatch.kind == "identity" and mismatch.refuses and not mismatch.declared and not (force and bool(mismatch.override))


# ---- numbers ---------------------------------------------------------------------------------------------------------


def _row(comparison: Comparison, change: Change, first: Side, second: Side, days: Days) -> AgreementRow:
    metric = first.judgement.metrics[change.metric]
    a, b = (Group(label=side.label, side=side, configuration=change.configuration) for side in (first, second))
    measured = first.measured
    finite = all(math.isfinite(x) for group in (a, b) for x in launch_values(group.value(change.metric)))
    smallest = measured.experiment.comparison.smallest_effect
    interval = None
    if finite:
        interval = found_between(a, b, change.metric, confidence=comparison.confidence, smallest_effect=smallest, days=days)
    where = ", ".join(filter(None, (f"{metric.title} at {change.configuration}", occasion(interval))))
    agreement, needed, reading = _judged(interval, change, measured, comparison.floor)
    return AgreementRow(
        metric=change.metric,
        title=metric.title,
        configuration=change.configuration,
        agreement=agreement,
        decides=change.primary,
        first=change.baseline,
        second=change.value,
        launches_needed=needed,
        difference=None if interval is None else interval.launches if agreement == "agrees" else interval.difference,
        sentence=f"{where}: {reading}",
        days="" if agreement == "agrees" else _days(interval),
    )


def _days(interval: Found | None) -> str:
    if interval is None or not (assumed := allowance(interval)):
        return ""
    return sessions_text(assumed, difference_text(interval.launches))


def _judged(interval: Found | None, change: Change, measured: RecordData, floor: float) -> tuple[Agreement, int | None, str]:
    if interval is None:
        absent = next((v for v in (change.value, change.baseline) if isinstance(v, Absent)), None)
        return "not_measured", None, absent.detail if absent is not None else "no value per launch on one side"
    wanted = measured.experiment.comparison
    judgement = judged(
        interval,
        better="neither",
        margin=wanted.equivalence,
        smallest_effect=wanted.smallest_effect,
        floor=floor,
        p_adjusted=change.p_adjusted,
    )
    alone = judgement.alone
    shown = " ".join(filter(None, (difference_text(interval.difference), allowance(interval))))
    if judgement.decision.verdict in ("higher", "lower"):
        return "differs", None, f"differs, {shown}"
    difference, none = interval.launches, 1.0 if interval.launches.scale == "ratio" else 0.0
    same = difference.low == difference.high == difference.value == none
    if alone.verdict == "equivalent" or (same and alone.verdict != "insufficient"):
        return "agrees", None, f"agrees, {difference_text(difference)}"
    if judgement.suspected:
        return "undecided", None, f"undecided, {shown}; {SUSPECTED} ({difference_text(difference)})"
    needed = alone.launches_needed if alone.margin is None or abs(difference.effect) < alone.margin else None  # else the days limit it
    more = f"; {count(needed, 'launches')} in each record would decide" if needed else ""
    why = f"; {REASONS[alone.reason]}" if alone.reason in ("below_floor", "floor_above_margin") else ""
    return "undecided", needed, f"undecided, {difference_text(difference)}{why}{more}"


# ---- exact values ----------------------------------------------------------------------------------------------------


def _quality(comparison: Comparison, first: Side, second: Side) -> list[AgreementRow]:
    """Agreement is equivalence: non-inferiority in both directions (two one-sided tests)."""
    if first.measured.experiment.quality is None:
        return []
    ours, theirs = (Group(label=side.label, side=side, configuration=comparison.configuration) for side in (first, second))
    there, back = quality(ours, theirs), quality(theirs, ours)
    if "DEGRADED" in (there.held, back.held):
        agreement: Agreement = "differs"
        sentence = there.full if there.held == "DEGRADED" else f"quality is better than that of {first.label}"
    else:
        agreement = "agrees" if there.held == back.held == "HELD" else "undecided"
        sentence = there.full if there.held != "HELD" or back.held == "HELD" else f"held, but possibly better than {first.label}"
    return [_plain("quality", "Quality", comparison.configuration, agreement, sentence)]


def _exact(comparison: Comparison, first: Side, second: Side) -> list[AgreementRow]:
    """Losses and hashes per slot; they decide only with equal software and hardware."""
    same = not any(m.kind == "hardware" or m.field.startswith("software.") for m in comparison.mismatches)
    rows = []
    for what in ("loss", "parameter_hash", "gradient_norm"):
        ours, theirs = (_fingerprints(side.measured, what) for side in (first, second))
        pairs = ours.join(theirs, on=["slot", "rank", "step"], suffix="_again")
        if pairs.height == 0:
            continue
        unlike = pairs.filter(~_same_number("value") | ~pl.col("text").eq_missing(pl.col("text_again")))
        where = f"at all {pairs.height:,} positions" if unlike.height == 0 else _first_position(unlike, pairs.height)
        agreement: Agreement = "agrees" if unlike.height == 0 else "differs" if same else "undecided"
        why = "" if same or unlike.height == 0 else "; with different software or hardware this is no contradiction"
        title = what.replace("_", " ")
        sentence = f"{title}: {'bitwise equal' if unlike.height == 0 else 'not bitwise equal'} {where}{why}"
        rows.append(_plain(what, title.capitalize(), "all", agreement, sentence, decides=same))
    return rows


def _fingerprints(measured: RecordData, what: str) -> pl.DataFrame:
    """(slot, rank, step, value, text) of the timed launches; the last incarnation counts."""
    timed = measured.timed.select("launch", "slot")
    rows = measured.table("fingerprints").filter(pl.col("what") == what).join(timed, on="launch")
    ordered = rows.sort("incarnation", maintain_order=True)
    return ordered.group_by("slot", "rank", "step").agg(pl.col("value").last(), pl.col("text").last())


def _same_number(column: str) -> pl.Expr:
    """Equal bit for bit; two NaN are the same result."""
    return pl.col(column).eq_missing(pl.col(f"{column}_again"))


def _first_position(unlike: pl.DataFrame, positions: int) -> str:
    row = unlike.sort("step", "slot", "rank").row(0, named=True)
    return (
        f"at {unlike.height:,} of {positions:,} positions, first at step {row['step']} on rank {row['rank']} of launch slot {row['slot']}"
    )


def _plain(metric: str, title: str, at: str, agreement: Agreement, sentence: str, *, decides: bool = True) -> AgreementRow:
    return AgreementRow(metric=metric, title=title, configuration=at, agreement=agreement, decides=decides, sentence=sentence)


# ---- verdict ---------------------------------------------------------------------------------------------------------


def _state(rows: Sequence[AgreementRow]) -> State:
    agreements = {row.agreement for row in rows}
    if "differs" in agreements:
        return "differs"
    if not rows or "not_measured" in agreements:
        return "nothing_measured"
    return "undecided" if "undecided" in agreements else "reproduced"


def _sentence(state: State, rows: Sequence[AgreementRow], first: Side, mismatches: Sequence[Mismatch]) -> str:
    wanted = {"reproduced": "agrees", "differs": "differs", "undecided": "undecided", "nothing_measured": "not_measured"}
    chosen = [row for row in rows if row.decides and row.agreement == wanted.get(state)]
    listed = "; ".join(row.sentence for row in chosen[:3])
    weighty = [m for m in mismatches if m.kind in ("identity", "hardware")]
    under = f" {count(len(weighty), 'identity or hardware conditions')} differ." if weighty else ""
    return f"{state.replace('_', ' ').upper()}: {first.label}: {listed}.{under}"


def _notes(comparison: Comparison) -> tuple[str, ...]:
    kept = [note for note in comparison.notes if not note.startswith(UNCHANGED)]
    return (*kept, f"intervals have {given(100.0 * comparison.confidence, 4)} % confidence")


def _without(comparison: Comparison, first: Side, second: Side, state: State, sentence: str) -> Reproduction:
    return Reproduction(
        state=state, first=first.label, second=second.label, rows=(), mismatches=comparison.mismatches, notes=(), sentence=sentence
    )
