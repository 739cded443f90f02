"""May this build go on?

Compares a record with a baseline or a history, so that a pipeline can act on one exit code.

    pass              a regression larger than the margin is excluded: the worse end of the interval lies inside it
    regression        the interval excludes no change, on the worse side; or quality is degraded, or a result is wrong
    improvement       the same on the better side: the baseline may be renewed
    inconclusive      neither; the minimum detectable effect says how large a change would have been found
    not_comparable    a condition that must match does not, or a record is inadmissible
    nothing_measured  the deciding metric has no value on one side

The meaning of a difference depends on how the sides were measured (`fireassay.verdict.comparison.sessions`, as in `compare`). A change
supported only by the launches of two sessions is *suspected*: inconclusive until interleaved launches confirm it. Against a history
alone, the decision rests on a certain change of level of interest, supported by at least 3 records and at most 10 records old; an
uncertain change only raises a suspicion; else the prediction interval for one more record, which can also only raise a suspicion.
Only the primary metric and quality decide, unless all metrics are requested; the other p-values are corrected (Benjamini and
Hochberg). What was not measured, failed, or is missing from the plan never passes.
Sources: docs/methodology.md, "Comparing two sides" and "Changes over history"; docs/decisions/0015-check.md.
Cannot tell: why something changed.

What remains of a suspicion after both codes were measured again, interleaved?

Every doubtful row takes the state that the fresh launches give it, with both sentences; the other rows stay. An improvement found
interleaved where a regression was suspected is no regression. Cannot tell: why the earlier session looked different.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from fireassay.estimates.estimate import Absent
from fireassay.estimates.format import count, given
from fireassay.stats.comparing.multiplicity import benjamini_hochberg
from fireassay.verdict.checking.history import histories, rates, worth_showing
from fireassay.verdict.checking.rows import (
    Settings,
    about_days,
    before_change,
    correctness,
    design_of,
    left_out_of,
    prediction_of,
    primary_of,
    row_of_history,
    rows_of,
)
from fireassay.verdict.checking.types import SURE, Check, CheckRow, Confirmation, RowState, State, concluded
from fireassay.verdict.comparison.groups import Group
from fireassay.verdict.comparison.phrases import NOT_INTERLEAVED, UNCHANGED
from fireassay.verdict.comparison.sessions import DAYS, Days, days_of
from fireassay.verdict.comparison.types import Comparison, Side


def check(
    comparison: Comparison,
    baseline: Side,
    record: Side,
    *,
    past: Sequence[Side] = (),
    days: float = DAYS,
    margin: float | None = None,
    everything: bool = False,
) -> Check:
    """Check a record against a baseline; `comparison` is of the two, `past` holds comparable records of other sessions.

    `days`: day-to-day deviation assumed if there are fewer than 5 past records; `margin` replaces the spec's `comparison.equivalence`.
    """
    start = _started(comparison, baseline, record)
    if start.state != "pass":
        return start
    settings = Settings(
        comparison=comparison,
        baseline=baseline,
        record=record,
        everything=everything,
        days=days_of(past, (baseline, record), days),
        margin=baseline.measured.experiment.comparison.equivalence if margin is None else margin,
    )
    rows = rows_of(settings)
    design = design_of(settings)
    notes = (*_own(comparison.notes), _sure(comparison.confidence), *about_days(settings, design, rows))
    return concluded(replace(start, rows=(*correctness(settings), *rows), design=design, notes=notes))


def check_history(
    comparison: Comparison, past: Sequence[Side], record: Side, *, margin: float | None = None, everything: bool = False
) -> Check:
    """Check a record against comparable earlier ones; `comparison` is of the last of them and the record."""
    start = _started(comparison, past[-1], record)
    if start.state != "pass":
        return start
    requested = record.measured.experiment.comparison
    series = histories([*past, record], list(worth_showing(record, comparison.primary)))
    predictions = {(history.metric, history.configuration): prediction_of(history, record) for history in series}
    others = {
        key: prediction.p_value for key, prediction in predictions.items() if prediction is not None and key != primary_of(comparison)
    }
    adjusted = dict(zip(others, benjamini_hochberg(list(others.values())), strict=True))
    limit = requested.equivalence if margin is None else margin
    rows = []
    for history in series:
        key = (history.metric, history.configuration)
        decides = everything or (history.metric == comparison.primary and bool(record.measured.experiment.timing.benchmarks))
        rows.append(row_of_history(history, comparison, limit, decides, record, predictions[key], adjusted.get(key)))
    settings = Settings(
        comparison=comparison, baseline=past[-1], record=record, days=Days(), everything=everything, margin=requested.equivalence
    )
    ordered = sorted(rows, key=lambda row: (not row.decides, not row.primary))
    decided = next((history for history in series if (history.metric, history.configuration) == primary_of(comparison)), None)
    before = before_change(decided) if decided is not None else ""
    return concluded(
        replace(
            start,
            design="a history",
            rows=(*correctness(settings), *ordered),
            histories=series,
            suspects_from=before,
            baseline=f"{count(len(past), 'records')} of the history",
            notes=(*start.notes, _sure(record.measured.confidence), *left_out_of(decided), rates(series)),
        )
    )


def alone(record: Side, place: str, left_out: int = 0) -> Check:
    """The check of a record without a comparable predecessor: inconclusive. `left_out`: number of incomparable ones."""
    are = "is" if left_out == 1 else "are"
    more = f"; {count(left_out, 'earlier records')} there {are} not comparable (see `assay compare`)" if left_out else ""
    sentence = f"INCONCLUSIVE: {place} has no earlier record comparable with {record.label}{more}."
    return Check(state="inconclusive", record=record.label, gaps=_gaps(record), sentence=sentence)


def _started(comparison: Comparison, baseline: Side, record: Side) -> Check:
    """An empty check, already decided if nothing can be compared."""
    empty = Check(
        state="pass",
        baseline=baseline.label,
        record=record.label,
        mismatches=comparison.mismatches,
        refused=comparison.refused,
        gaps=_gaps(record),
        notes=_own(comparison.notes),
        exploratory=comparison.state == "exploratory",
    )
    for side in (record, baseline):
        if side.measured.timed.height == 0:
            if side.measured.profiles:
                why = f"{side.label} only profiles: no launch was timed. Its shares next to another's: assay compare"
                return _stopped(replace(empty, gaps=()), "nothing_measured", why)
            return _stopped(empty, "nothing_measured", f"{side.label} has no successful timed launch")
        if side.inadmissible(candidate=side is record):
            invalid = [f.evidence for f in side.judgement.verdict.findings if f.severity == "invalid"]
            return _stopped(empty, "not_comparable", f"{side.label} is inadmissible: {'; '.join(invalid[:1])}")
    if comparison.state == "incomparable":
        return _stopped(empty, "not_comparable", _refusal(comparison))
    for side in (record, baseline):
        value = Group(label=side.label, side=side, configuration=comparison.configuration).value(comparison.primary)
        if isinstance(value, Absent):
            why = f"{comparison.primary} at {comparison.configuration} has no value in {side.label}: {value.detail}"
            return _stopped(empty, "nothing_measured", why)
    if comparison.state == "nothing_measured":
        return _stopped(empty, "nothing_measured", comparison.sentence)
    return empty


def _stopped(empty: Check, state: State, why: str) -> Check:
    words = {"nothing_measured": "NOTHING MEASURED", "not_comparable": "NOT COMPARABLE"}
    return replace(empty, state=state, sentence=f"{words[state]}: {why.rstrip('.')}.")


def _own(notes: Sequence[str]) -> tuple[str, ...]:
    """The comparison's notes, except those on days and on unchanged code, which a check words better."""
    return tuple(note for note in notes if NOT_INTERLEAVED not in note and not note.startswith(UNCHANGED))


def _sure(confidence: float) -> str:
    """Explain the brackets after a change and the confidence of a pass."""
    error = f"{given(100.0 * (1.0 - confidence), 3)} %"
    return f"{SURE} {given(100.0 * confidence, 4)} % confidence; a pass is wrong about its margin in at most {error} of cases"


def _refusal(comparison: Comparison) -> str:
    shown = [f"{m.field} differs ({' against '.join(m.values)}); {m.override}" for m in comparison.refused]
    return "; ".join(shown) or comparison.sentence


def _gaps(record: Side) -> tuple[str, ...]:
    """Missing parts of the plan, which a pass would hide."""
    measured = record.measured
    launches = measured.table("launches")
    bad = launches.filter((pl.col("role") == "timed") & pl.col("status").is_in(["failed", "timeout", "skipped"])).height
    gaps = [f"{count(bad, 'launches')} of {record.label} did not succeed"] if bad else []
    done = set(measured.timed["configuration"].to_list())
    missing = [name for name in measured.configurations if name not in done]
    return (*gaps, *(f"{record.label} has no successful launch of {name}" for name in missing))


def confirm(first: Check, again: Check, *, everything_in_doubt: bool = False) -> Check:
    """The first check, with every doubtful row replaced by the result of interleaved launches (`again`).

    `everything_in_doubt`: include rows that were inconclusive without a suspicion.
    """

    def doubtful(row: CheckRow) -> bool:
        open_ = everything_in_doubt and row.decides and row.state == "inconclusive" and row.value is not None
        return row.in_doubt or open_

    fresh = {(row.metric, row.configuration): row for row in again.rows}
    rows = tuple(_confirmed(row, fresh.get((row.metric, row.configuration)), again) if doubtful(row) else row for row in first.rows)
    pairs = [(row, fresh.get((row.metric, row.configuration))) for row in first.rows if doubtful(row)]
    states = [_state_again(new) for _, new in pairs]
    outcome: Confirmation = "confirmed" if "regression" in states else "undecided" if "inconclusive" in states else "refuted"
    return concluded(replace(first, rows=rows, confirmation=outcome))


def unconfirmed(first: Check, why: str) -> Check:
    """The first check, with the reason why no interleaved launches were made."""
    return concluded(replace(first, confirmation="unconfirmed", notes=(*first.notes, f"not confirmed: {why}")))


def _state_again(row: CheckRow | None) -> RowState:
    """The state after interleaved launches; an improvement instead of the suspected regression is a pass."""
    if row is None or row.state in ("listed", "nothing_measured"):
        return "inconclusive"
    return "pass" if row.state == "improvement" else row.state


def _confirmed(row: CheckRow, fresh: CheckRow | None, again: Check) -> CheckRow:
    state = _state_again(fresh)
    words = {
        "regression": "confirmed by fresh interleaved launches",
        "pass": "not confirmed: fresh interleaved launches exclude a regression beyond the margin",
        "inconclusive": "neither confirmed nor refuted by fresh interleaved launches",
    }
    seen = f" ({fresh.sentence})" if fresh is not None else f" ({again.sentence})"
    if fresh is None:
        return replace(row, state=state, suspected=False, sentence=f"{row.sentence}; {words[state]}{seen}")
    return replace(fresh, state=state, suspected=False, sentence=f"{words[state]}{seen}; suspected because {row.sentence}")
