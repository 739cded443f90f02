"""What does a difference mean, given whether the sides were interleaved or measured on two occasions?

The one rule for all verdicts (`compare`, `check`, `reproduce`), by evidence:

    in turn       two configurations of one record, or two records of one session: launches are paired by block, and the
                  difference is used as it is
    alternating   two records of one host whose launches alternate, in 3 or more sittings each: the sitting is the unit, and a
                  linear drift is removed (`fireassay.stats.comparing.between_records.alternating`)
    history       two sessions, and 5 or more comparable ones: their variance is included in the interval
    assumed       two sessions without such a history: a deviation between sessions is assumed (15 %, or --day-to-day)
    constant      a count that did not vary at all, so not between days either

A machine differs from session to session, and launches within one session do not show it. A change supported only by the launches of
two sessions is *suspected*: reported, without deciding.
Sources: Kalibera & Jones, ISMM 2013; docs/decisions/0030-between-sessions.md; false alarms and power:
benchmarks/results/between_days.md. Cannot tell: why two sessions differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby, pairwise
from typing import Final, Literal

import polars as pl

from fireassay.estimates.estimate import Estimate, Value
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.metrics.metric import Better
from fireassay.stats.comparing.between_records import (
    MIN_SITTINGS,
    Between,
    Sitting,
    alternating,
    assumed,
    detectable_with_days,
    level,
    widened,
)
from fireassay.stats.comparing.comparison import Decision, Difference, decide
from fireassay.verdict.checking.history import histories
from fireassay.verdict.comparison.groups import Group, by_block, difference, in_turn, launch_values, launched
from fireassay.verdict.comparison.types import Side

DAYS: Final = 0.15  # deviation between sessions assumed without a history; reached on hosted machines
COUNTED: Final = ("count", "B", "steps", "workers", "FLOP")  # units of quantities that may be constant across days
Evidence = Literal["in turn", "alternating", "history", "assumed", "constant"]


@dataclass(frozen=True, kw_only=True)
class Days:
    """Knowledge of the variation between sessions."""

    past: tuple[Side, ...] = ()  # comparable records of other sessions
    assumed: float = DAYS
    _seen: dict[tuple[str, str], tuple[str, Between | None]] = field(default_factory=dict, repr=False, compare=False)

    def between(self, metric: str, configuration: str) -> tuple[str, Between | None]:
        """Scale and variation of a metric's past values; None for fewer than 5."""
        if not self.past or metric not in self.past[0].judgement.metrics:
            return "", None
        key = (metric, configuration)
        if key not in self._seen:
            history = histories(self.past, [key])[0]
            self._seen[key] = (history.scale, history.days)
        return self._seen[key]


def days_of(past: Sequence[Side], sides: Sequence[Side], deviation: float = DAYS) -> Days:
    """Variation of past records without the sides themselves, which would bias the estimate."""
    ids = {side.measured.manifest.get("id") for side in sides}
    return Days(past=tuple(record for record in past if record.measured.manifest.get("id") not in ids), assumed=deviation)


@dataclass(frozen=True, kw_only=True)
class Found:
    """b against a: the difference by the launches alone, and the one that decides."""

    launches: Difference
    difference: Difference
    evidence: Evidence
    days: Between | None = None  # from a history
    assumed: float = 0.0

    @property
    def apart(self) -> bool:
        """True if the interval includes the variation between sessions."""
        return self.evidence in ("history", "assumed")


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A decision, and whether a change is supported only by the launches of two sessions."""

    decision: Decision
    alone: Decision  # decision by the launches alone, without the variation between sessions
    suspected: bool  # `alone` is higher or lower, the decision is not


def found_between(a: Group, b: Group, metric: str, *, confidence: float, smallest_effect: float, days: Days) -> Found | None:
    """b against a; None if a side has no value per launch."""
    raw = difference(a, b, metric, confidence, smallest_effect)
    if raw is None:
        return None
    if in_turn(a, b):
        return Found(launches=raw, difference=raw, evidence="in turn")
    ours, theirs = a.value(metric), b.value(metric)
    if sittings := _sittings(a, b, ours, theirs, raw):
        adjusted = alternating(sittings, raw)
        return Found(launches=raw, difference=adjusted, evidence="alternating")
    return _apart(a, b, metric, raw, days)


def judged(found: Found, *, better: Better, margin: float, smallest_effect: float, floor: float, p_adjusted: float | None) -> Judged:
    """The decision; margins are relative and apply on the ratio scale only."""

    def ask(one: Difference, p: float | None) -> Decision:
        relative = one.scale == "ratio"
        return decide(
            one,
            better=better,
            margin=margin if relative else None,
            smallest_effect=smallest_effect if relative else None,
            floor=floor if relative else 0.0,
            p_adjusted=p,
        )

    decision = ask(found.difference, p_adjusted)
    if found.evidence in ("in turn", "constant"):
        return Judged(decision=decision, alone=decision, suspected=False)
    # More launches in the same sessions do not reduce the variation between days, and its degrees of freedom apply.
    widened_by_days = found.difference.standard_error != found.launches.standard_error
    effect = detectable_with_days(found.difference, max(smallest_effect, floor)) if widened_by_days else None
    decision = replace(
        decision,
        launches_needed=decision.launches_needed if decision.reason == "few_launches" else None,
        minimum_detectable_effect=decision.minimum_detectable_effect if effect is None else effect,
    )
    alone = ask(found.launches, _as_corrected(found, p_adjusted))
    only = alone.verdict in ("higher", "lower") and alone.verdict != decision.verdict
    return Judged(decision=decision, alone=alone, suspected=only)


def _as_corrected(result: Found, p_adjusted: float | None) -> float | None:
    """P-value of the launches alone, corrected by the same factor as the difference's."""
    if p_adjusted is None or result.difference.p_value <= 0.0:
        return p_adjusted
    return min(1.0, result.launches.p_value * p_adjusted / result.difference.p_value)


def _apart(a: Group, b: Group, metric: str, raw: Difference, days: Days) -> Found:
    """The difference including the variation between sessions."""
    ours, theirs = (launch_values(group.value(metric)) for group in (a, b))
    first, second = level(ours, raw.scale), level(theirs, raw.scale)
    known = [days.between(metric, name) for name in dict.fromkeys((a.configuration, b.configuration))]
    fitting = [variation for scale, variation in known if variation is not None and scale == raw.scale]
    if fitting and len(fitting) == len(known):
        widest = max(fitting, key=lambda variation: variation.total)
        return Found(launches=raw, difference=widened(raw, first, second, widest), evidence="history", days=widest)
    if first.variance == second.variance == 0.0 and _counted(a.value(metric)):
        return Found(launches=raw, difference=raw, evidence="constant")
    adjusted = assumed(raw, first, second, days.assumed)
    return Found(launches=raw, difference=adjusted, evidence="assumed", assumed=days.assumed)


def _counted(value: Value) -> bool:
    """True if the unit may be constant across days; a constant time only shows a coarse clock."""
    return isinstance(value, Estimate) and value.unit in COUNTED


# ---- alternating launches --------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, order=True)
class _Made:
    begin_s: float
    end_s: float
    side: int
    value: float


def _sittings(a: Group, b: Group, ours: Value, theirs: Value, raw: Difference) -> list[Sitting]:
    """Runs of launches of one side, in time order; empty if the sides did not alternate on one host."""
    if _host(a) is None or _host(a) != _host(b):
        return []
    timed = sorted([*_made(a, 0, ours), *_made(b, 1, theirs)])
    if any(after.begin_s < before.end_s and after.side != before.side for before, after in pairwise(timed)):
        return []  # overlapping in time: they disturbed each other
    sittings = []
    for side, items in groupby(timed, key=lambda item: item.side):
        launches = list(items)
        mean = level([item.value for item in launches], raw.scale).mean
        sittings.append(Sitting(side=side, at_s=(launches[0].begin_s + launches[-1].end_s) / 2.0, mean=mean))
    enough = min((sum(item.side == side for item in sittings) for side in (0, 1)), default=0) >= MIN_SITTINGS
    return sittings if enough else []


def _host(group: Group) -> str | None:
    host = group.measured.before.get("host")
    name = host.get("name") if isinstance(host, dict) else None
    return str(name) if name else None


def _made(group: Group, side: int, value: Value) -> list[_Made]:
    """A side's launches with their values; empty if values cannot be matched to launches."""
    values = by_block(group.blocks(), launch_values(value))
    moments = _moments(group.measured, launched(group.measured, group.configuration))
    return [_Made(begin_s=begin_s, end_s=end_s, side=side, value=values[block]) for block, begin_s, end_s in moments if block in values]


@once_per_record
def _moments(measured: RecordData, configuration: str) -> tuple[tuple[int, float, float], ...]:
    """The block, begin and end of every timed launch that ended; none if a begin is no time of day."""
    timed = measured.timed.filter(pl.col("configuration") == configuration)
    moments = []
    for block, begin, begin_ns, end_ns in timed.select("block", "begin_utc", "begin_ns", "end_ns").iter_rows():
        try:
            begin_s = datetime.fromisoformat(str(begin)).timestamp()
        except ValueError:
            return ()
        if end_ns is not None:
            moments.append((block, begin_s, begin_s + (end_ns - begin_ns) / 1e9))
    return tuple(moments)
