"""Which settings of the knobs are shown to be better than today's?

Successive halving over blocks, then a separate final round. Every round compares all arms with today's settings, interleaved by block.
The best share continues to a round of twice as many launches. An arm is dropped at once, with the reason, if it did other work, lost
quality, gave a wrong result, failed, or is shown to be worse. The survivors are measured again together with today's, and only this
last round decides: reusing the numbers that selected an arm would flatter it. The sides share one error probability (Holm), so if all
arms are equal, at most `1 - confidence` of tunings name a winner. If knobs were varied one at a time, the best values that differ from
today's by more than `comparison.equivalence` are combined for the last round, in addition to the best single arm.
The measuring function is injected (`fireassay.api.tuning_rounds`): nothing here starts a process.
Source of the halving: Karnin, Koren & Somekh, "Almost optimal exploration in multi-armed bandits", ICML 2013.
Cannot tell: the effect of settings that were not tried, or why one is faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import polars as pl

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import bracketed, given
from fireassay.frames.record_data import RecordData
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.tune import (
    TODAY,
    Choice,
    Setting,
    Tune,
    check,
    choices,
    is_grid,
    label,
    left_out,
    survivors_at_most,
    today,
    varying,
)
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.types import Change, Comparison, Side

SAME_WORK: Final = 0.005  # relative tolerance on the items of a launch: the last batch may be partial
MAX_NAMED: Final = 5  # arms named in a sentence


@dataclass(frozen=True, kw_only=True)
class Made:
    """A measured arm."""

    side: Side  # labelled as the choice
    record: str  # path of its record


Undecided = Literal["", "failed", "quality lost", "not comparable"]
Measure = Callable[[Sequence[Choice], int, int, bool], Sequence[Made]]  # arms, launches of each, index of the round, last round?


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One arm after a round."""

    label: str
    settings: Mapping[str, Setting]
    gain: float | None  # factor by which it beats today's; None: unknown
    low: float | None
    high: float | None
    out: str  # why it is dropped whatever its gain; else ""
    goes_on: bool
    record: str  # path of its record


@dataclass(frozen=True, kw_only=True)
class Round:
    """One round; the first standing is today's."""

    blocks: int
    metric: str
    standings: tuple[Standing, ...]


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """The result of a tuning."""

    rounds: tuple[Round, ...]
    final: Comparison | None  # None: no arm was left to compare with today's
    sides: tuple[Side, ...]
    records: tuple[str, ...]  # of the last round, in the order of `sides`
    adopted: Mapping[str, Setting] | None  # settings shown to be better with quality held; None: keep today's
    sentence: str
    left_out: int
    undecided: Undecided = ""  # without a last comparison: why no arm could be compared; "": one is shown to be worse


@dataclass(frozen=True, kw_only=True)
class Against:
    """An arm compared with today's settings."""

    gain: float | None
    low: float | None
    high: float | None
    out: str
    metric: str

    @property
    def may_go_on(self) -> bool:
        """False if dropped or shown to be worse."""
        return self.gain is not None and not self.out and (self.high is None or self.high >= 1.0)


ITSELF: Final = Against(gain=1.0, low=None, high=None, out="", metric="")  # today's settings compared with themselves


def tuned(experiment: Experiment, measure: Measure) -> Tuned:
    """Run all rounds; `measure` runs the arms interleaved and returns their judged records, today's first.

    Raises:
        SpecError: no knobs, or one without effect.
    """
    tune, studied = check(experiment), varying(experiment, check(experiment))
    arms, blocks, rounds = list(choices(tune)), tune.first_blocks, list[Round]()
    while len(arms) > 2:  # a single arm needs no selection
        rounds.append(halved(arms, measure(arms, blocks, len(rounds), False), blocks, studied, tune.keep))
        going = {item.label for item in rounds[-1].standings if item.goes_on}
        arms, blocks = [item for item in arms if item.label in going], 2 * blocks
    last = finalists(tune, rounds, arms, experiment.comparison.equivalence)
    if len(last) == 1:
        return Tuned(
            rounds=tuple(rounds),
            final=None,
            sides=(),
            records=(),
            adopted=None,
            sentence=_nothing_left(rounds[-1]),
            left_out=left_out(tune),
            undecided=undecided([item.out for item in rounds[-1].standings[1:]]),
        )
    measurements = measure(last, tune.final_blocks, len(rounds), True)
    final, adopted, sentence, unfit = _decided([item.side for item in measurements], last, studied)
    return Tuned(
        rounds=tuple(rounds),
        final=final,
        sides=tuple(item.side for item in measurements),
        records=tuple(item.record for item in measurements),
        adopted=adopted,
        sentence=sentence,
        left_out=left_out(tune),
        undecided=undecided(unfit) if final is None else "",
    )


# ---- a round ---------------------------------------------------------------------------------------------------------


def halved(arms: Sequence[Choice], made: Sequence[Made], blocks: int, studied: Sequence[str], keep: float) -> Round:
    """Standings after a round, and which arms continue."""
    comparisons = [_against_today(made[0].side, comparison.side, studied) for comparison in made[1:]]
    gains = {
        number: comparison.gain for number, comparison in enumerate(comparisons, 1) if comparison.may_go_on and comparison.gain is not None
    }
    best = {0, *survivors(gains, keep)}
    standings = tuple(
        Standing(
            label=choice.label,
            settings=choice.settings,
            gain=comparison.gain,
            low=comparison.low,
            high=comparison.high,
            out=comparison.out,
            goes_on=number in best,
            record=measurement.record,
        )
        for number, (choice, measurement, comparison) in enumerate(zip(arms, made, (ITSELF, *comparisons), strict=True))
    )
    return Round(
        blocks=blocks, metric=next((comparison.metric for comparison in comparisons if comparison.metric), ""), standings=standings
    )


def survivors(gains: Mapping[int, float], keep: float) -> list[int]:
    """The best share of the arms by gain, at least one if there are any."""
    return sorted(sorted(gains, key=lambda number: -gains[number])[: survivors_at_most(len(gains), keep)])


def finalists(tune: Tune, rounds: Sequence[Round], arms: Sequence[Choice], equivalence: float) -> list[Choice]:
    """Today's settings, the best arm and, if knobs were varied one at a time, their best values combined."""
    chosen = list(arms)
    if is_grid(tune) or not rounds:
        return chosen
    together = dict(today(tune))
    for name in tune.knobs:
        standings = [item for item in rounds[0].standings[1:] if _turned(tune, item) == [name] and _differs(item, equivalence)]
        if standings:
            together[name] = max(standings, key=lambda item: item.gain or 0.0).settings[name]
    name = label(tune, together)
    if name != TODAY and all(item.label != name for item in chosen):
        chosen.append(Choice(settings=together, label=name))
    return chosen


def _differs(standing: Standing, equivalence: float) -> bool:
    return not standing.out and standing.gain is not None and standing.gain > 1.0 + equivalence


def _turned(tune: Tune, standing: Standing) -> list[str]:
    base = today(tune)
    return [name for name, value in standing.settings.items() if value != base[name]]


# ---- one arm ---------------------------------------------------------------------------------------------------------


def _against_today(base: Side, side: Side, studied: Sequence[str]) -> Against:
    if failed := _failed(side):
        return Against(gain=None, low=None, high=None, out=failed, metric="")
    comparison = compare((base, side), varying=studied)
    out = other_work(base, side) or _out(comparison, side) or _loss(base, side)
    decisive = comparison.decisive()
    if not decisive:
        return Against(gain=None, low=None, high=None, out=out or comparison.sentence, metric=comparison.primary)
    gain, low, high = gain_of(decisive[0], higher_is_better(base, comparison.primary))
    if gain is None:
        out = out or decisive[0].sentence
    return Against(gain=gain, low=low, high=high, out=out, metric=comparison.primary)


def _failed(side: Side) -> str:
    if side.measured.timed.height:
        return ""
    return f"failed: {side.measured.manifest.get('reason') or side.judgement.verdict.sentence}"


def _out(comparison: Comparison, side: Side) -> str:
    """Why an arm is dropped whatever its speed; else ""."""
    if comparison.refused:
        first = comparison.refused[0]
        if first.field == "verdict.status":
            return f"not comparable: {first.why}"
        batch = "; name the knob batch if it is the batch that is tuned" if first.field.startswith("batch.") else ""
        return f"not comparable: {first.field} is {' and '.join(first.values)}{batch}"
    if comparison.quality.get(side.label) == "DEGRADED":
        return "quality lost"
    wrong = [finding for finding in side.judgement.verdict.findings if finding.severity in ("invalid", "fail")]
    return f"{wrong[0].rule}: {wrong[0].evidence}" if wrong else ""


def _loss(base: Side, side: Side) -> str:
    """Score loss beyond the margin, significant or not: an arm likely to be refused at the end takes no other's slot."""
    quality = base.measured.experiment.quality
    for name in base.measured.configurations if quality is not None else ():
        ours, theirs = (compared.judgement.results.get("quality", {}).get(name) for compared in (base, side))
        if isinstance(ours, Estimate) and isinstance(theirs, Estimate) and quality is not None:
            loss = (theirs.value - ours.value) * (1.0 if quality.direction == "lower" else -1.0)
            if loss > quality.margin:
                return f"quality lost: {quality.metric} {given(theirs.value, 4)} instead of {given(ours.value, 4)}"
    return ""


def other_work(base: Side, side: Side) -> str:
    """Why launches of the two sides did different work; "" if equal or not counted."""
    for name in base.measured.configurations:
        for counted in (_items, _declared):
            ours, theirs = (counted(compared.measured, name) for compared in (base, side))
            if ours and theirs and abs(theirs / ours - 1.0) > SAME_WORK:
                return f"different work: {theirs:g} {base.measured.experiment.workload.work} in a launch with {name} instead of {ours:g}"
    return ""


def _declared(measured: RecordData, configuration: str) -> float | None:
    """Median useful work per launch as the script reports it (`probe.useful_work`)."""
    launches = measured.timed.filter(pl.col("configuration") == configuration)["launch"]
    declared = measured.table("events").filter((pl.col("kind") == "useful_work") & pl.col("launch").is_in(launches.to_list()))
    middle = declared.group_by("launch").agg(pl.col("value").max())["value"].median()
    return None if middle is None else float(middle)  # type: ignore[arg-type]


def _items(measured: RecordData, configuration: str) -> float | None:
    """Median items per launch."""
    launches = measured.timed.filter(pl.col("configuration") == configuration).select("launch")
    steps = measured.global_steps.join(launches, on="launch")
    if steps.height == 0 or steps["items"].null_count():
        return None
    return float(steps.group_by("launch").agg(pl.col("items").sum())["items"].median() or 0.0)  # type: ignore[arg-type]


def higher_is_better(base: Side, metric: str) -> bool:
    """True if the metric declares higher as better."""
    return bool(base.judgement.metrics[metric].better == "higher")


def gain_of(change: Change, higher: bool) -> tuple[float | None, float | None, float | None]:
    """Gain (above 1 is better in either direction of the metric) with its interval."""
    if change.ratio is None:
        return None, None, None
    if higher:
        return change.ratio, change.low, change.high
    return 1.0 / change.ratio, 1.0 / change.high if change.high else None, 1.0 / change.low if change.low else None


# ---- the decision ----------------------------------------------------------------------------------------------------


def _decided(
    sides: Sequence[Side], last: Sequence[Choice], studied: Sequence[str]
) -> tuple[Comparison | None, Mapping[str, Setting] | None, str, Sequence[str]]:
    """Failed or incomparable arms are reported, reasons last, and do not block the decision on the others."""
    base, *others = sides
    unfit = {item.label: _failed(item) or other_work(base, item) or _refused(base, item, studied) for item in others}
    fit = [base, *(item for item in others if not unfit[item.label])]
    why = [f"{name}: {reason}" for name, reason in unfit.items() if reason]
    if len(fit) == 1:
        return None, None, f"keep today's settings: {'; '.join(why)}", list(unfit.values())
    final = compare(fit, varying=studied)
    adopted, sentence = verdict(final, fit, {item.label: item.settings for item in last})
    return final, adopted, "; ".join([sentence, *why]), []


def undecided(out: Sequence[str]) -> Undecided:
    """Why no arm could be compared, from the reasons for dropping; an arm without one is shown to be worse."""
    if "" in out:
        return ""
    if all(reason.startswith("failed: ") for reason in out):
        return "failed"
    return "quality lost" if any(reason.startswith("quality lost") for reason in out) else "not comparable"


def _refused(base: Side, side: Side, studied: Sequence[str]) -> str:
    comparison = compare((base, side), varying=studied)
    return _out(comparison, side) if comparison.refused else ""


def verdict(
    final: Comparison, sides: Sequence[Side], settings: Mapping[str, Mapping[str, Setting]]
) -> tuple[Mapping[str, Setting] | None, str]:
    """Settings to adopt: of the arm shown to be better with quality held; None: today's."""
    good: list[tuple[float, str, str]] = []
    why = []
    for change in final.decisive():
        side = next(candidate for candidate in sides if candidate.label == change.side)
        gain, sentence = _gain_sentence(sides[0], change)
        against = other_work(sides[0], side) or _out(final, side)
        held = final.quality.get(change.side, "NOT_MEASURED")
        if change.outcome == "improved" and gain is not None and not against and held == "HELD":
            good.append((gain, change.side, sentence))
        why.append(f"{sentence}, but {against}" if against else _why_not(change, held, sentence))
    if good:
        _, name, sentence = max(good)
        return settings[name], f"use {sentence}, quality held"
    return None, f"keep today's settings: {'; '.join(why)}"


_UNHELD: Final = {
    "DEGRADED": "quality was lost",
    "INCONCLUSIVE": "quality is not shown to be held",
    "NOT_MEASURED": "quality was not measured (add [quality], and probe.examples to the script)",
}
_PLAINLY: Final = {"equivalent": "makes no difference", "worse": "is worse", "not_measured": "was not measured"}


def _why_not(change: Change, held: str, sentence: str) -> str:
    if change.outcome in ("improved", "struck_out"):
        return f"{sentence}, but {_UNHELD.get(held, change.sentence)}"
    name, _, numbers = sentence.partition(": ")
    needed = f"; about {change.launches_needed} launches of each would decide" if change.launches_needed else ""
    return f"{name} {_PLAINLY.get(change.outcome, 'is not shown to be better')} ({numbers}{needed})"


def _gain_sentence(base: Side, change: Change) -> tuple[float | None, str]:
    gain, low, high = gain_of(change, higher_is_better(base, change.metric))
    if gain is None:
        return None, f"{change.side}: {change.sentence}"
    return gain, f"{change.side}: {change.metric} {gain_text(gain, low, high)}"


def gain_text(gain: float, low: float | None, high: float | None) -> str:
    """Gain as text: "1.20 times as good [1.11, 1.30]"; an unknown end is open."""
    bottom, top = -math.inf if low is None else low, math.inf if high is None else high
    text, ends = bracketed(gain, bottom, top, beside=(1.0,))
    return f"{text} times as good {ends if ends[:1] == '[' else f'({ends})'}"


def _nothing_left(last: Round) -> str:
    """Why no arm of a round continues."""
    others = last.standings[1:]
    why = [
        f"{standing.label}: {standing.out or f'worse, {given(standing.gain or 0.0, 3)} times as good'}" for standing in others[:MAX_NAMED]
    ]
    more = f"; and {len(others) - MAX_NAMED} more" if len(others) > MAX_NAMED else ""
    return f"keep today's settings: no candidate continues ({'; '.join(why)}{more})"
