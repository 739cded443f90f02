"""Which setting of the knobs is better than today's, and is that so?  Successive halving over blocks, then a trial of its own.

Every round holds all arms against today's, made in turn, block by block.  The best share goes on to a round of twice as many launches;
an arm goes out at once where it did other work, lost quality, gave a wrong result, failed, or is shown to be worse, and the reason is
told.  What is left at the end is made again together with today's, and that last round alone decides: numbers that were looked at to
choose would flatter what they chose.  There the sides share one error probability (Holm), so that of arms that are all alike a winner is
named in at most `1 - confidence` of the tunings.  Where the knobs were tried one by one, the best value of each that differs from
today's by more than `comparison.equivalence` is put together for the last round, beside the best single arm.
Who measures is handed in (`assay.cli.support.tuning_rounds`): nothing here starts anything.
Source of the halving: Karnin, Koren, Somekh (2013), "Almost optimal exploration in multi-armed bandits".
Cannot tell: what settings that were not asked for would do, nor why one is faster.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from assay.spec.knobs import check, survivors_at_most, varying
from assay.spec.sections.tune import TODAY, Choice, Setting, Tune, choices, is_grid, label, left_out, today
from assay.verdict.comparison.compare import compare
from assay.verdict.comparison.types import Change, Comparison, Side

if TYPE_CHECKING:
    from assay.frames.record_data import Measured
    from assay.spec.experiment import Experiment

SAME_WORK: Final = 0.005  # items of a launch may differ by this share: a last batch that is not full
MOST_TOLD: Final = 5  # arms that a sentence names


@dataclass(frozen=True, kw_only=True)
class Made:
    """An arm that was measured."""

    side: Side  # its label is the choice's
    record: str  # where its record is


Undecided = Literal["", "failed", "quality lost", "not comparable"]
Measure = Callable[[Sequence[Choice], int, int, bool], Sequence[Made]]  # arms, launches of each, place of the round, whether it is the last


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One arm after a round."""

    label: str
    settings: Mapping[str, Setting]
    gain: float | None  # how many times better than today's; None: it cannot be told
    low: float | None
    high: float | None
    out: str  # why it goes out whatever its gain; ""
    goes_on: bool
    record: str  # where its record is


@dataclass(frozen=True, kw_only=True)
class Round:
    """One round; the first standing is today's."""

    blocks: int
    metric: str
    standings: tuple[Standing, ...]


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """What came of it."""

    rounds: tuple[Round, ...]
    final: Comparison | None  # None: nothing was left that could be held against today's
    sides: tuple[Side, ...]
    records: tuple[str, ...]  # of the last round, as `sides`
    adopted: Mapping[str, Setting] | None  # what is shown to be better, with quality held; None: stay with today's
    sentence: str
    left_out: int
    undecided: Undecided = ""  # where there is no last comparison: why no arm was held against today's; "": one is shown to be worse


@dataclass(frozen=True, kw_only=True)
class Against:
    """An arm beside today's."""

    gain: float | None
    low: float | None
    high: float | None
    out: str
    metric: str

    @property
    def may_go_on(self) -> bool:
        """What is shown to be worse goes out."""
        return self.gain is not None and not self.out and (self.high is None or self.high >= 1.0)


ITSELF: Final = Against(gain=1.0, low=None, high=None, out="", metric="")  # today's beside today's


def tuned(experiment: Experiment, measure: Measure) -> Tuned:
    """All rounds; `measure` makes the arms in turn and gives their records, judged, today's first.

    Raises:
        SpecError: no knobs, or one that turns nothing.
    """
    tune, studied = check(experiment), varying(experiment, check(experiment))
    arms, blocks, rounds = list(choices(tune)), tune.first_blocks, list[Round]()
    while len(arms) > 2:  # one alone beside today's needs no choosing
        rounds.append(halved(arms, measure(arms, blocks, len(rounds), False), blocks, studied, tune.keep))
        going = {one.label for one in rounds[-1].standings if one.goes_on}
        arms, blocks = [one for one in arms if one.label in going], 2 * blocks
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
            undecided=undecided([one.out for one in rounds[-1].standings[1:]]),
        )
    made = measure(last, tune.final_blocks, len(rounds), True)
    final, adopted, sentence, unfit = _decided([one.side for one in made], last, studied)
    return Tuned(
        rounds=tuple(rounds),
        final=final,
        sides=tuple(one.side for one in made),
        records=tuple(one.record for one in made),
        adopted=adopted,
        sentence=sentence,
        left_out=left_out(tune),
        undecided=undecided(unfit) if final is None else "",
    )


# ---- a round ---------------------------------------------------------------------------------------------------------


def halved(arms: Sequence[Choice], made: Sequence[Made], blocks: int, studied: Sequence[str], keep: float) -> Round:
    """Where every arm stands after a round, and which go on."""
    found = [_against_today(made[0].side, one.side, studied) for one in made[1:]]
    gains = {number: one.gain for number, one in enumerate(found, 1) if one.may_go_on and one.gain is not None}
    best = {0, *survivors(gains, keep)}
    standings = tuple(
        Standing(
            label=choice.label,
            settings=choice.settings,
            gain=one.gain,
            low=one.low,
            high=one.high,
            out=one.out,
            goes_on=number in best,
            record=own.record,
        )
        for number, (choice, own, one) in enumerate(zip(arms, made, (ITSELF, *found), strict=True))
    )
    return Round(blocks=blocks, metric=next((one.metric for one in found if one.metric), ""), standings=standings)


def survivors(gains: Mapping[int, float], keep: float) -> list[int]:
    """The best share of the arms by gain, at least one where there is any."""
    return sorted(sorted(gains, key=lambda number: -gains[number])[: survivors_at_most(len(gains), keep)])


def finalists(tune: Tune, rounds: Sequence[Round], arms: Sequence[Choice], equivalence: float) -> list[Choice]:
    """Today's, the best arm, and of knobs that were tried one by one their best values together."""
    found = list(arms)
    if is_grid(tune) or not rounds:
        return found
    together = dict(today(tune))
    for name in tune.knobs:
        own = [one for one in rounds[0].standings[1:] if _turned(tune, one) == [name] and _differs(one, equivalence)]
        if own:
            together[name] = max(own, key=lambda one: one.gain or 0.0).settings[name]
    name = label(tune, together)
    if name != TODAY and all(one.label != name for one in found):
        found.append(Choice(settings=together, label=name))
    return found


def _differs(standing: Standing, equivalence: float) -> bool:
    return not standing.out and standing.gain is not None and standing.gain > 1.0 + equivalence


def _turned(tune: Tune, standing: Standing) -> list[str]:
    base = today(tune)
    return [name for name, value in standing.settings.items() if value != base[name]]


# ---- one arm ---------------------------------------------------------------------------------------------------------


def _against_today(base: Side, side: Side, studied: Sequence[str]) -> Against:
    if failed := _failed(side):
        return Against(gain=None, low=None, high=None, out=failed, metric="")
    found = compare((base, side), varying=studied)
    out = other_work(base, side) or _out(found, side) or _loss(base, side)
    decisive = found.decisive()
    if not decisive:
        return Against(gain=None, low=None, high=None, out=out or found.sentence, metric=found.primary)
    gain, low, high = gain_of(decisive[0], higher_is_better(base, found.primary))
    if gain is None:
        out = out or decisive[0].sentence
    return Against(gain=gain, low=low, high=high, out=out, metric=found.primary)


def _failed(side: Side) -> str:
    if side.measured.timed.height:
        return ""
    return f"failed: {side.measured.manifest.get('reason') or side.judgement.verdict.sentence}"


def _out(found: Comparison, side: Side) -> str:
    """Why an arm goes out whatever its speed; "" if nothing speaks against it."""
    if found.refused:
        first = found.refused[0]
        if first.field == "verdict.status":
            return f"not comparable: {first.why}"
        batch = "; call the knob batch if that is what is tried" if first.field.startswith("batch.") else ""
        return f"not comparable: {first.field} is {' and '.join(first.values)}{batch}"
    if found.quality.get(side.label) == "DEGRADED":
        return "quality lost"
    wrong = [one for one in side.judgement.verdict.findings if one.severity in ("invalid", "fail")]
    return f"{wrong[0].rule}: {wrong[0].evidence}" if wrong else ""


def _loss(base: Side, side: Side) -> str:
    """Whether it scored worse by more than the margin, however surely: what is likely to be refused in the end takes no one's place."""
    from assay.estimates.estimate import Estimate
    from assay.estimates.format import given

    asked = base.measured.experiment.quality
    for name in base.measured.configurations if asked is not None else ():
        ours, theirs = (one.judgement.results.get("quality", {}).get(name) for one in (base, side))
        if isinstance(ours, Estimate) and isinstance(theirs, Estimate) and asked is not None:
            loss = (theirs.value - ours.value) * (1.0 if asked.direction == "lower" else -1.0)
            if loss > asked.margin:
                return f"quality lost: {asked.metric} {given(theirs.value, 4)} instead of {given(ours.value, 4)}"
    return ""


def other_work(base: Side, side: Side) -> str:
    """Why a launch of one side does not do the work of the other's; "" where it does, or where work was not counted."""
    for name in base.measured.configurations:
        for counted in (_items, _declared):
            ours, theirs = (counted(one.measured, name) for one in (base, side))
            if ours and theirs and abs(theirs / ours - 1.0) > SAME_WORK:
                return f"other work: {theirs:g} {base.measured.experiment.workload.work} in a launch with {name} instead of {ours:g}"
    return ""


def _declared(measured: Measured, configuration: str) -> float | None:
    """What the script says that a launch did, in the median: `probe.useful_work`."""
    import polars as pl

    launches = measured.timed.filter(pl.col("configuration") == configuration)["launch"]
    told = measured.table("events").filter((pl.col("kind") == "useful_work") & pl.col("launch").is_in(launches.to_list()))
    middle = told.group_by("launch").agg(pl.col("value").max())["value"].median()
    return None if middle is None else float(middle)  # type: ignore[arg-type]


def _items(measured: Measured, configuration: str) -> float | None:
    """The median items of a launch."""
    import polars as pl

    launches = measured.timed.filter(pl.col("configuration") == configuration).select("launch")
    steps = measured.global_steps.join(launches, on="launch")
    if steps.height == 0 or steps["items"].null_count():
        return None
    return float(steps.group_by("launch").agg(pl.col("items").sum())["items"].median() or 0.0)  # type: ignore[arg-type]


def higher_is_better(base: Side, metric: str) -> bool:
    """Which way is better, by the metric's own word."""
    return bool(base.judgement.metrics[metric].better == "higher")


def gain_of(change: Change, higher: bool) -> tuple[float | None, float | None, float | None]:
    """How many times better, with its interval, whichever way the metric counts."""
    if change.ratio is None:
        return None, None, None
    if higher:
        return change.ratio, change.low, change.high
    return 1.0 / change.ratio, 1.0 / change.high if change.high else None, 1.0 / change.low if change.low else None


# ---- the decision ----------------------------------------------------------------------------------------------------


def _decided(
    sides: Sequence[Side], last: Sequence[Choice], studied: Sequence[str]
) -> tuple[Comparison | None, Mapping[str, Setting] | None, str, Sequence[str]]:
    """One that failed or is not comparable is told (the reasons last), and does not keep the others from being decided."""
    base, *others = sides
    unfit = {one.label: _failed(one) or other_work(base, one) or _refused(base, one, studied) for one in others}
    fit = [base, *(one for one in others if not unfit[one.label])]
    why = [f"{name}: {reason}" for name, reason in unfit.items() if reason]
    if len(fit) == 1:
        return None, None, f"stay with today's settings: {'; '.join(why)}", list(unfit.values())
    final = compare(fit, varying=studied)
    adopted, sentence = verdict(final, fit, {one.label: one.settings for one in last})
    return final, adopted, "; ".join([sentence, *why]), []


def undecided(out: Sequence[str]) -> Undecided:
    """Why no arm was held against today's, from the reasons for which they went out; an arm without one is shown to be worse."""
    if "" in out:
        return ""
    if all(one.startswith("failed: ") for one in out):
        return "failed"
    return "quality lost" if any(one.startswith("quality lost") for one in out) else "not comparable"


def _refused(base: Side, side: Side, studied: Sequence[str]) -> str:
    found = compare((base, side), varying=studied)
    return _out(found, side) if found.refused else ""


def verdict(
    final: Comparison, sides: Sequence[Side], settings: Mapping[str, Mapping[str, Setting]]
) -> tuple[Mapping[str, Setting] | None, str]:
    """What to use from now on: the arm that is shown to be better, with quality held; None: today's."""
    good: list[tuple[float, str, str]] = []
    why = []
    for change in final.decisive():
        side = next(one for one in sides if one.label == change.side)
        gain, told = _told(sides[0], change)
        against = other_work(sides[0], side) or _out(final, side)
        held = final.quality.get(change.side, "NOT_MEASURED")
        if change.outcome == "improved" and gain is not None and not against and held == "HELD":
            good.append((gain, change.side, told))
        why.append(f"{told}, but {against}" if against else _why_not(change, held, told))
    if good:
        _, name, told = max(good)
        return settings[name], f"use {told}, quality held"
    return None, f"stay with today's settings: {'; '.join(why)}"


_UNHELD: Final = {
    "DEGRADED": "quality was lost",
    "INCONCLUSIVE": "it is not shown that quality was held",
    "NOT_MEASURED": "quality was not measured (add [quality], and probe.examples to the script)",
}
_PLAINLY: Final = {"equivalent": "makes no difference", "worse": "is worse", "not_measured": "was not measured"}


def _why_not(change: Change, held: str, told: str) -> str:
    if change.outcome in ("improved", "struck_out"):
        return f"{told}, but {_UNHELD.get(held, change.sentence)}"
    name, _, numbers = told.partition(": ")
    needed = f"; about {change.launches_needed} launches of each would tell" if change.launches_needed else ""
    return f"{name} {_PLAINLY.get(change.outcome, 'is not shown to be better')} ({numbers}{needed})"


def _told(base: Side, change: Change) -> tuple[float | None, str]:
    gain, low, high = gain_of(change, higher_is_better(base, change.metric))
    if gain is None:
        return None, f"{change.side}: {change.sentence}"
    return gain, f"{change.side}: {change.metric} {gain_text(gain, low, high)}"


def gain_text(gain: float, low: float | None, high: float | None) -> str:
    """How many times better: "1.20 times as good [1.11, 1.30]"; an end that is not known is open."""
    from assay.estimates.format import bracketed

    bottom, top = -math.inf if low is None else low, math.inf if high is None else high
    text, ends = bracketed(gain, bottom, top, beside=(1.0,))
    return f"{text} times as good {ends if ends[:1] == '[' else f'({ends})'}"


def _nothing_left(last: Round) -> str:
    """Why no arm of a round went on."""
    from assay.estimates.format import given

    others = last.standings[1:]
    why = [f"{one.label}: {one.out or f'worse, {given(one.gain or 0.0, 3)} times as good'}" for one in others[:MOST_TOLD]]
    more = f"; and {len(others) - MOST_TOLD} more" if len(others) > MOST_TOLD else ""
    return f"stay with today's settings: none of what was tried goes on ({'; '.join(why)}{more})"
