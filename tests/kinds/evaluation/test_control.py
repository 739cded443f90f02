"""Does the gate fail a control that it ought to fail, and is held worth nothing where it does not?"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from fireassay import catalog
from fireassay.estimates.estimate import Absent
from fireassay.frames.evaluation.item_scores import ItemScores, Paired, metric_named
from fireassay.kinds.evaluation.gates.held import GATE
from fireassay.kinds.evaluation.held import DRAWS, FEWER, Chance, Control, Rule, control, held
from fireassay.quality.scoring.text_metric import TextMetric
from fireassay.stats.comparing.item_power import Grouping, item_power
from tests.answered import rows, scored
from tests.kinds.evaluation.test_held import METRIC
from tests.tiers import some

Array = NDArray[np.float64]
RUNS = 500
FLIPS, MARGIN, CLUSTER = 0.05, 0.05, 10


def paired(before: Array, after: Array, metric: TextMetric = METRIC, labels: tuple[str, ...] | None = None) -> Paired:
    """The same items on two sides; rows or, of one statistic, scores."""
    before, after = (rows[:, None] if rows.ndim == 1 else rows for rows in (before, after))
    side = ItemScores(
        metric=metric,
        items=tuple(map(str, range(len(before)))),
        rows=before,
        weights=np.ones(len(before)),
        clusters=labels or (None,) * len(before),
        repetitions=1,
        launches=1,
        unscored=0,
    )
    return Paired(reference=side, candidate=replace(side, rows=after), left=0)


@cache
def planned(grouping: Grouping | None = None) -> int:
    return item_power(1, MARGIN, FLIPS, 0.95, grouping).needed


def binary(rng: np.random.Generator) -> Paired:
    """As many items as are planned, of which a share flips either way."""
    n = planned()
    before = (rng.random(n) < 0.8).astype(np.float64)
    return paired(before, np.where(rng.random(n) < FLIPS, 1.0 - before, before))


def clustered(rng: np.random.Generator) -> Paired:
    """Passages of ten questions, of which some change together."""
    n = math.ceil(planned(Grouping(size=CLUSTER, largest=CLUSTER, correlation=0.1)) / CLUSTER) * CLUSTER
    before = (rng.random(n) < 0.8).astype(np.float64)
    rate = np.repeat(rng.beta(FLIPS * 9.0, (1.0 - FLIPS) * 9.0, n // CLUSTER), CLUSTER)  # intraclass correlation 0.1
    labels = tuple(str(index // CLUSTER) for index in range(n))
    return paired(before, np.where(rng.random(n) < rate, 1.0 - before, before), labels=labels)


def graded(rng: np.random.Generator) -> Paired:
    n = planned(Grouping())
    before = rng.beta(4.0, 1.5, n)
    return paired(before, np.clip(before + rng.normal(0.0, math.sqrt(FLIPS), n), 0.0, 1.0))


@pytest.mark.parametrize("draw", some([binary, clustered, graded]))
def test_the_negative_control_is_rejected_in_99_of_100_runs_at_planned_sizes(draw: object) -> None:
    seen = failed = 0
    for run in range(RUNS):
        made = control(draw(np.random.default_rng([17, run])), Rule(margin=MARGIN, confidence=0.95, seed=run))  # type: ignore[operator]
        seen, failed = seen + made.seen, failed + bool(made.why)
    assert failed <= 0.01 * RUNS
    assert seen >= 0.99 * RUNS * DRAWS


def lenient(seed: int) -> Control:
    """Eleven unchanged clusters and a bound of little confidence, which holds a control that spares all of them: 0.79^11 = 7.5 % do."""
    labels = tuple(str(index // 10) for index in range(110))
    return control(paired(np.ones(110), np.ones(110), labels=labels), Rule(margin=0.07, confidence=0.51, seed=seed))


def test_a_rule_that_holds_more_than_5_of_100_controls_fails() -> None:
    made = lenient(0)
    assert made.why == f"its negative control failed: a loss of 3 margins would have been seen in {made.seen} of {DRAWS} draws"
    assert made.seen / DRAWS == pytest.approx(1.0 - 0.79**11, abs=0.06)


def test_the_same_seed_draws_the_same_controls_and_another_seed_others() -> None:
    assert lenient(0) == lenient(0)
    assert len({lenient(seed).seen for seed in range(4)}) > 1


@pytest.mark.parametrize(("right", "why"), [(0.14, "leads nothing right by 0.14 only"), (0.16, "")])
def test_a_loss_of_3_margins_must_be_possible(right: float, why: str) -> None:
    before = np.where(np.arange(1000) < 1000 * right, 1.0, 0.0)
    made = control(paired(before, before), Rule(margin=0.05, confidence=0.95), Chance(value=0.0, guessed=False))
    assert why in made.why
    assert (made.draws == 0) == bool(why)


def test_above_guessing_there_must_be_room_for_3_margins() -> None:
    before = np.where(np.arange(4000) < 1500, 1.0, 0.0)
    guess = Chance(value=0.25, guessed=True)
    made = control(paired(before, before), Rule(margin=0.05, confidence=0.95), guess)
    assert made == Control(draws=0, seen=0, why="the reference leads guessing by 0.125 only: a loss of 3 margins, 0.15, cannot occur")
    assert control(paired(before, before), Rule(margin=0.04, confidence=0.95), guess).seen == DRAWS


def test_a_score_without_a_lowest_one_is_spoilt_with_the_worst_given() -> None:
    rng, metric = np.random.default_rng(0), replace(METRIC, better="lower", scale=(0.0, math.inf))
    before = rng.gamma(4.0, 0.5, 2000)
    made = control(paired(before, before + rng.normal(0.0, 0.05, 2000), metric), Rule(margin=0.1, confidence=0.95))
    assert (made.seen, made.why) == (DRAWS, "")
    nothing = control(paired(np.full(500, 2.0), np.full(500, 2.0), metric), Rule(margin=0.1, confidence=0.95))
    assert nothing.why == "no answer is so bad: a loss of 3 margins, 0.3, cannot occur"


@pytest.mark.parametrize("name", ["bleu", "mcc", "f1_macro", "pearson", "ter"])
def test_a_score_that_is_no_mean_is_spoilt_through_its_rows(name: str) -> None:
    rng, metric, n = np.random.default_rng(3), metric_named(name), 400
    if name in ("mcc", "f1_macro"):
        label = rng.integers(0, 3, n)
        answer = np.where(rng.random(n) < 0.1, rng.integers(0, 3, n), label)
        before, margin = np.stack([answer == label, label, answer], axis=1).astype(np.float64), 0.1
    elif name == "pearson":
        wanted = rng.normal(size=n)
        answer_ = wanted + rng.normal(0.0, 0.5, n)
        before, margin = np.stack([-abs(answer_ - wanted), answer_, wanted], axis=1), 0.1
    elif name == "ter":
        before, margin = np.stack([rng.integers(0, 12, n), np.full(n, 12)], axis=1).astype(np.float64), 5.0
    else:
        words = rng.integers(8, 16, n)
        common = np.stack([rng.binomial(words - order, 0.8 ** (order + 1)) for order in range(4)], axis=1)
        before = np.column_stack([words, words, common, *(words - order for order in range(4))]).astype(np.float64)
        margin = 5.0
    after = before.copy()
    after[:20] = before[20:40]
    made = control(paired(before, after, metric), Rule(margin=margin, confidence=0.95))
    assert made == Control(draws=FEWER, seen=FEWER)


def test_no_score_of_the_record_is_touched() -> None:
    pairs = binary(np.random.default_rng(1))
    before = pairs.candidate.rows.copy()
    control(pairs, Rule(margin=MARGIN, confidence=0.95))
    assert (pairs.candidate.rows == before).all()


def test_held_shows_its_control(tmp_path: Path) -> None:
    a = ["yes"] * 350 + ["no"] * 50
    (found,) = held(scored(tmp_path, {"a": rows(a), "b": rows(a)}, margin=0.02), "answers=b")
    assert found.control == Control(draws=DRAWS, seen=DRAWS)
    assert found.control.words == "a loss of 3 margins would have been seen in 200 of 200 draws"


def test_held_without_room_for_3_margins_is_undecided_and_says_so(tmp_path: Path) -> None:
    """5 % right leads nothing by more than the margin of 2 points, but by less than three of them."""
    a = ["yes"] * 20 + ["no"] * 380
    measured = scored(tmp_path, {"a": rows(a), "b": rows(a)}, margin=0.02)
    (found,) = held(measured, "answers=b")
    assert not isinstance(found.decision, Absent)
    assert (found.decision.verdict, found.decision.items_needed) == ("INCONCLUSIVE", None)
    (result,) = GATE.check(measured, {})
    assert result.status == "INCONCLUSIVE"
    assert "the reference leads nothing right by 0.05 only: a loss of 3 margins, 0.06, cannot occur" in result.sentence
    (finding,) = catalog.load("verdict.audits", "insensitive_items").examine(measured, {})
    assert (finding.severity, finding.configuration, finding.evidence) == ("warning", "answers=b", found.overturned)


def test_a_shown_gain_and_a_shown_loss_need_no_control(tmp_path: Path) -> None:
    low, high = ["yes"] * 20 + ["no"] * 380, ["yes"] * 200 + ["no"] * 200
    for name, a, b in (("gain", low, high), ("loss", high, low)):
        (found,) = held(scored(tmp_path / name, {"a": rows(a), "b": rows(b)}, margin=0.02), "answers=b")
        assert not isinstance(found.decision, Absent)
        assert (found.decision.verdict, found.control) == ("HELD" if name == "gain" else "DEGRADED", None)
