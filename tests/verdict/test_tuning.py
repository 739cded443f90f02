"""A tuning names a better setting if there is one, none if there is none, and never one that did not do the work."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from math import comb, exp
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireassay.cli.verbs.tune import exit_code
from fireassay.frames.per_launch import from_frame
from fireassay.frames.record_data import RecordData
from fireassay.spec.experiment import Quality
from fireassay.spec.load import from_mapping
from fireassay.spec.sections.tune import Choice, Tune, choices
from fireassay.units import PER_SECOND
from fireassay.verdict.comparison.types import Change, Comparison, Side
from fireassay.verdict.judge import Judgement
from fireassay.verdict.tuning import Made, Round, Standing, Tuned, finalists, gain_of, other_work, survivors, tuned, verdict
from tests.builders import estimate
from tests.handmade import Handmade
from tests.tiers import some
from tests.verdict.judging import concluded

pytestmark = pytest.mark.slow


ONE = "workers=1"
EXPERIMENT: dict[str, Any] = {
    "name": "knobs",
    "workload": {"script": "train.py", "arguments": ["{a}", "{b}", "{c}"]},
    "factor": {"levels": [1]},
    "quality": {"metric": "accuracy", "margin": 0.05},
}
GRID = {"knobs": {"a": [1, 2], "b": [1, 2], "c": [1, 2]}, "first_blocks": 2, "final_blocks": 5}


class Machine:
    """What would measure arms: a launch's speed is its arm's, times a block's luck, times its own luck of 2 %."""

    def __init__(self, seed: int, truth: Callable[[Choice], float], **lacks: set[str]) -> None:
        self.random, self.truth, self.lacks = random.Random(seed), truth, lacks
        self.rounds: list[tuple[int, int, bool]] = []

    def __call__(self, arms: Sequence[Choice], blocks: int, index: int, last: bool) -> list[Made]:
        self.rounds.append((len(arms), blocks, last))
        luck = [self.random.gauss(0.0, 0.05) for _ in range(blocks)]
        return [Made(side=self.side(number, one, luck), record=one.label) for number, one in enumerate(arms)]

    def side(self, number: int, one: Choice, luck: list[float]) -> Side:
        wrong, less, dead = (one.label in self.lacks.get(name, set()) for name in ("wrong", "less", "dead"))
        judged_once, judged = _base(0 if dead else len(luck), wrong, less)
        session = {"session": {"id": "one", "arm": number}}
        measured = replace(judged_once, manifest={**judged_once.manifest, **session})
        speeds = [self.truth(one) * exp(own + self.random.gauss(0.0, 0.02)) for own in luck]
        frame = pl.DataFrame({"launch": range(len(luck)), "value": speeds}, schema={"launch": pl.Int32, "value": pl.Float64})
        found = from_frame(measured, frame, unit=PER_SECOND, name="throughput", trials="", missing="", aggregate="")
        metrics = {"throughput": judged.metrics["throughput"]}
        return Side(
            label=one.label,
            measured=measured,
            judgement=replace(judged, results={"throughput": found, "quality": judged.results["quality"]}, metrics=metrics),
        )


@cache
def _base(blocks: int, wrong: bool, less: bool) -> tuple[RecordData, Judgement]:
    """A record of so many launches whose work and scores are as asked; judged once."""
    made = Handmade(levels=(1,), blocks=max(1, blocks), quality=Quality(metric="accuracy", margin=0.05))
    for block in range(max(1, blocks)):
        launch = made.launch(workers=1, block=block, status="ok" if blocks else "failed")
        made.steps(launch, seconds=[0.1] * (6 if less else 12), items=4)
        made.scores(launch, [0.0 if wrong and index < 20 else 1.0 for index in range(100)])
    measured = made.measured()
    return measured, concluded(measured)


def asked(**tune: Any) -> Any:
    return from_mapping({**EXPERIMENT, "tune": {**GRID, **tune}})


def alike(_: Choice) -> float:
    return 100.0


@pytest.mark.deep
def test_of_settings_that_are_all_alike_a_winner_is_named_no_oftener_than_the_confidence_allows() -> None:
    """One-sided and Holm: 2.5 % of 40 tunings of 4 equal arms; more than 5 has probability below 0.001."""
    assert sum(comb(40, k) * 0.025**k * 0.975 ** (40 - k) for k in range(6, 40)) < 0.001
    four = asked(knobs={"a": [1, 2], "b": [1, 2]})
    winners = sum(tuned(four, Machine(seed, alike)).adopted is not None for seed in range(40))
    assert winners <= 5


@pytest.mark.deep
def test_the_best_of_eight_is_found_although_some_rounds_have_few_launches() -> None:
    def truth(one: Choice) -> float:
        return 100.0 * (1.15 if one.settings["a"] == 2 else 1.0) * (1.10 if one.settings["b"] == 2 else 1.0)

    found = [tuned(asked(), Machine(seed, truth)).adopted for seed in range(12)]
    assert sum(one is not None and one["a"] == 2 for one in found) >= 11  # alike but for c, and luck in the first round
    assert sum(one is not None and one["a"] == one["b"] == 2 for one in found) >= 9


def test_every_round_has_half_the_arms_and_twice_the_launches_and_the_last_decides() -> None:
    machine = Machine(1, alike)
    tuned(asked(), machine)
    arms, blocks, last = zip(*machine.rounds, strict=True)
    assert arms[0] == 8
    assert blocks[:-1] == tuple(2 * 2**index for index in range(len(blocks) - 1))
    assert blocks[-1] == 5
    assert last == (*(False,) * (len(last) - 1), True)


def test_a_knob_without_effect_wins_nothing_and_the_interval_is_told() -> None:
    machine = Machine(3, alike)
    found = tuned(asked(knobs={"a": [1, 2]}), machine)
    assert machine.rounds == [(2, 5, True)]  # one arm beside today's needs no choosing
    assert found.adopted is None
    assert found.sentence.startswith("keep today's settings: a=2 is not shown to be better (throughput ") or (
        found.sentence.startswith("keep today's settings: a=2 makes no difference (throughput ")
    )
    assert "times as good [" in found.sentence


@pytest.mark.parametrize(
    ("lacks", "words"), some([("wrong", "quality lost"), ("less", "different work: 24 items"), ("dead", "failed: ")], rows=True)
)
def test_what_is_fast_because_it_does_not_do_the_work_goes_out_with_the_reason(lacks: str, words: str) -> None:
    def truth(one: Choice) -> float:
        return 100.0 if one.label == "today" else 300.0

    found = tuned(asked(knobs={"a": [1, 2, 3]}), Machine(1, truth, **{lacks: {"a=2", "a=3"}}))
    assert found.adopted is None
    assert all(words in one.out and not one.goes_on for one in found.rounds[0].standings[1:])
    assert found.sentence.startswith("keep today's settings: no candidate continues (a=2: ")
    alone = tuned(asked(knobs={"a": [1, 2]}), Machine(1, truth, **{lacks: {"a=2"}}))
    assert alone.adopted is None
    assert alone.sentence.startswith("keep today's settings: a=2")


def test_work_that_is_only_declared_is_held_against_todays_too() -> None:
    """No step says how many items it was; what the script declares with probe.useful_work is all that tells half a training."""

    def side(label: str, work: float, items: float | None) -> Side:
        made = Handmade(levels=(1,), blocks=3)
        for block in range(3):
            launch = made.launch(workers=1, block=block)
            made.steps(launch, seconds=[0.1] * 12, items=items)
            made.event(launch, "useful_work", 2.0, rank=0, value=work)
        measured = made.measured()
        return Side(label=label, measured=measured, judgement=Judgement(results={}, verdict=None, metrics={}))  # type: ignore[arg-type]

    whole = side("today", 240.0, None)
    half = other_work(whole, side("steps=15", 120.0, None))
    assert half == "different work: 120 items in a launch with workers=1 instead of 240"
    assert other_work(whole, side("b", 240.0, None)) == ""
    # equal items a step do not excuse it: the metric of useful work is what is declared, where anything is
    assert other_work(side("today", 240.0, 4), side("b", 120.0, 4)) == half


@pytest.mark.parametrize(("lacks", "code"), [("wrong", 1), ("less", 3), ("dead", 5)])
def test_a_tuning_of_which_no_arm_was_held_against_todays_does_not_end_as_decided(lacks: str, code: int) -> None:
    fast = Machine(1, lambda one: 100.0 if one.label == "today" else 300.0, **{lacks: {"a=2", "a=3"}})
    assert exit_code(tuned(asked(knobs={"a": [1, 2, 3]}), fast)) == code  # none goes on
    assert exit_code(tuned(asked(knobs={"a": [1, 2]}), fast)) == code  # in the last round
    slow = Machine(1, lambda one: 100.0 if one.label == "today" else 30.0, **{lacks: {"a=2"}})
    assert exit_code(tuned(asked(knobs={"a": [1, 2, 3]}, first_blocks=4), slow)) == 0  # a=3 is shown to be worse


def test_one_that_fails_in_the_last_round_does_not_keep_the_other_from_being_decided() -> None:
    """Both values of a are 30 % faster; the two together break, which only the last round can see."""

    def truth(one: Choice) -> float:
        return 100.0 if one.label == "today" else 130.0

    for lack in ("dead", "less"):
        found = tuned(asked(knobs={"a": [1, 2], "b": [1, 2]}, combine="one"), Machine(5, truth, **{lack: {"a=2 b=2"}}))
        assert found.adopted in ({"a": 2, "b": 1}, {"a": 1, "b": 2})
        assert found.sentence.startswith("use ")
        assert "a=2 b=2: " in found.sentence


def test_arms_that_are_shown_to_be_worse_are_called_worse() -> None:
    def truth(one: Choice) -> float:
        return 100.0 if one.label == "today" else 30.0

    found = tuned(asked(knobs={"a": [1, 2, 3]}, first_blocks=4), Machine(1, truth))
    assert found.adopted is None
    assert "worse, 0.3" in found.sentence


# ---- what goes on


@settings(max_examples=40)
@given(st.dictionaries(st.integers(1, 50), st.floats(0.1, 10.0), max_size=20), st.floats(0.05, 0.95))
def test_the_best_share_goes_on_and_never_all(gains: dict[int, float], keep: float) -> None:
    kept = survivors(gains, keep)
    assert len(kept) == (max(1, int(len(gains) * keep)) if gains else 0)
    worst_kept = min((gains[one] for one in kept), default=0.0)
    assert all(gains[one] <= worst_kept for one in gains if one not in kept)


def test_the_best_value_of_each_knob_goes_into_the_last_round_together() -> None:
    """From a first round of one launch each, which has no interval: what differs by more than 3 % is taken along."""
    tune = Tune(knobs={"a": (1, 2, 3), "b": (1, 2), "c": (1, 2)}, combine="one")
    gains = {"today": 1.0, "a=2": 1.3, "a=3": 1.1, "b=2": 1.2, "c=2": 1.01}
    arms = choices(tune)
    standings = tuple(
        Standing(label=one.label, settings=one.settings, gain=gains[one.label], low=None, high=None, out="", goes_on=True, record="")
        for one in arms
    )
    first = Round(blocks=1, metric="throughput", standings=standings)
    assert [one.label for one in finalists(tune, [first], arms[:2], 0.03)] == ["today", "a=2", "a=2 b=2"]
    broken = replace(first, standings=(*standings[:3], replace(standings[3], out="quality lost"), standings[4]))
    assert [one.label for one in finalists(tune, [broken], arms[:2], 0.03)] == ["today", "a=2"]


# ---- the decision


def change(ratio: float, outcome: str, metric: str = "step_time") -> Change:
    value = estimate(1.0, 0.1, "s")
    return Change(
        metric=metric,
        configuration="workers=1",
        side="b",
        outcome=outcome,
        word=outcome,
        baseline=value,
        value=value,  # type: ignore[arg-type]
        ratio=ratio,
        low=ratio * 0.9,
        high=ratio * 1.1,
        p_value=0.01,
        p_adjusted=0.01,
        minimum_detectable_effect=0.05,
        launches_needed=None,
        primary=True,
        method="",
        sentence="",
    )


def test_a_time_that_falls_is_a_gain_that_rises() -> None:
    assert gain_of(change(0.5, "improved"), higher=False) == pytest.approx((2.0, 1 / 0.55, 1 / 0.45))
    assert gain_of(change(0.5, "worse"), higher=True)[0] == 0.5


@cache
def judged_side() -> Side:
    made = Handmade(levels=(1,), blocks=3)
    for block in range(3):
        made.steps(made.launch(workers=1, block=block), seconds=[0.1] * 30, items=4)
    measured = made.measured()
    return Side(label="", measured=measured, judgement=concluded(measured))


@pytest.mark.parametrize(
    ("outcome", "quality", "adopts", "words", "code"),
    [
        ("improved", "HELD", True, "quality held", 0),
        ("improved", "INCONCLUSIVE", False, "quality is not shown to be held", 4),
        ("improved", "NOT_MEASURED", False, "quality was not measured", 4),
        ("improved", "DEGRADED", False, "keep today's settings", 1),
        ("inconclusive", "HELD", False, "b is not shown to be better (step_time 2.00 times", 4),
        ("worse", "HELD", False, "b is worse (step_time 2.00 times", 0),
    ],
)
def test_nothing_is_adopted_without_quality(outcome: str, quality: str, adopts: bool, words: str, code: int) -> None:
    sides = [replace(judged_side(), label=label) for label in ("today", "b")]
    final = Comparison(
        state="compared",
        sides=("today", "b"),
        varying=(),
        mismatches=(),
        refused=(),
        primary="step_time",
        configuration="workers=1",
        changes=(change(0.5, outcome),),
        table={},
        quality={"b": quality},
        confidence=0.95,
        floor=0.0,
        notes=(),
        sentence="As it was.",
    )
    adopted, sentence = verdict(final, sides, {"today": {"x": 1}, "b": {"x": 2}})
    assert (adopted == {"x": 2}) is adopts
    assert words in sentence
    found = Tuned(rounds=(), final=final, sides=tuple(sides), records=("", ""), adopted=adopted, sentence=sentence, left_out=0)
    assert exit_code(found) == code
