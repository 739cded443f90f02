"""Engines of one record at each load: paired by block, equal ones are not told apart, a slower one is."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from fireassay.errors import SpecError
from fireassay.kinds.serving import KIND as SERVING
from fireassay.metrics.results import LazyResults, about, deciding_metrics
from fireassay.verdict.comparison.compare import compare, compare_engines
from fireassay.verdict.comparison.sessions import Days
from fireassay.verdict.comparison.types import Comparison, Side
from fireassay.verdict.judge import Judgement
from fireassay.verdict.types import Verdict
from tests.serving_made import ServingMade, simulated
from tests.verdict.judging import concluded

pytestmark = pytest.mark.slow


def side(made: ServingMade, label: str = "record") -> Side:
    measured = made.measured()
    return Side(label=label, measured=measured, judgement=concluded(measured))


def two(*, slower: float = 1.0, blocks: int = 5, rates: tuple[float, ...] = (5.0, 10.0)) -> ServingMade:
    """Engines a and b; a first token takes 0.1 s (and a luck of 1 % from block to block, which both share), on b `slower` times that."""
    made = ServingMade(rate=rates, engines=("a", "b"), blocks=blocks, objectives={"ttft_s": 0.5})
    for block in range(blocks):
        for engine in ("a", "b"):
            for rate in rates:
                launch = made.launch(f"engine={engine} rate={rate:g}", block=block)
                first = (
                    0.1
                    * (1.0 + 0.01 * block)
                    * (slower if engine == "b" else 1.0)
                    * (1.0 + 0.002 * ((block + (engine == "b")) % 3))
                    * (1.0 + 1e-6 * rate)  # no two launches take equal times
                )
                for place in range(100):
                    spread = 1.0 + 0.1 * ((37 * place) % 101 / 50.0 - 1.0)  # from request to request, 10 % to either side
                    made.request(launch, 0.1 * place, ttft_s=first * spread, replica=place % 2)
    return made


@cache
def of_two(**how: Any) -> Side:
    """Judged once: nobody changes a side."""
    return side(two(**how))


def test_the_largest_load_decides_and_every_load_is_compared() -> None:
    made = compare_engines(of_two(slower=1.2), primary="ttft_p50")
    (change,) = made.decisive()
    assert made.state == "compared"
    assert (change.configuration, change.side, change.outcome) == ("engine=b rate=10", "b", "worse")
    assert change.ratio == pytest.approx(1.2, rel=0.005)
    assert change.method == "Student t on log ratios in 5 rounds"
    assert made.sentence.startswith("At rate=10: b against a: slower: time to first token, p50 +20")
    assert made.sentence.endswith("Studied: engine.")
    assert {"engine=b rate=5", "engine=b rate=10"} == {one.configuration for one in made.changes}


def test_a_load_may_be_named() -> None:
    made = compare_engines(of_two(slower=1.2), primary="ttft_p50", at=5.0)
    assert made.decisive()[0].configuration == "engine=b rate=5"
    assert made.sentence.startswith("At rate=5: ")


def test_the_first_engine_named_is_the_baseline() -> None:
    made = compare_engines(of_two(slower=1.2), ["b", "a"], primary="ttft_p50")
    assert made.decisive()[0].outcome == "improved"
    assert made.decisive()[0].ratio == pytest.approx(1 / 1.2, rel=0.005)


@pytest.mark.parametrize(
    ("engines", "at", "words"), [(["a", "c"], None, "found 'c'"), (["a"], None, "two or more"), (["a", "b"], 7.0, "allowed: one of 5, 10")]
)
def test_what_does_not_exist_is_refused_and_named(engines: list[str], at: float | None, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        compare_engines(of_two(blocks=3), engines, at=at)


def test_an_inadmissible_record_is_not_compared() -> None:
    made = two(blocks=3)
    made.rows["requests"] = made.rows["requests"][1:]
    assert compare_engines(side(made)).state == "incomparable"


def test_goodput_decides_where_objectives_are_asked_for_and_else_tokens() -> None:
    assert compare_engines(of_two(blocks=3)).primary == "goodput"
    made = simulated(rate=(8.0,), engines=("a", "b"), blocks=3, seconds=4.0, objectives={})
    assert compare_engines(side(made)).primary == "output_throughput"
    assert deciding_metrics(SERVING) == ("goodput", "output_throughput", "request_throughput", "ttft_p95", "e2e_p95")


@pytest.mark.deep
def test_equal_engines_are_told_apart_in_few_of_many_records() -> None:
    """A/A: 24 records of two equal engines; at 5 % one is expected, and more than 4 come in 0.6 % of cases (binomial)."""
    outcomes = [verdict(seed).decisive()[0].outcome for seed in range(24)]
    assert outcomes.count("not_measured") == 0
    assert sum(outcome in ("improved", "worse") for outcome in outcomes) <= 4


def verdict(seed: int) -> Comparison:
    """Of one metric alone: 24 records judged whole would take half a minute."""
    made = simulated(rate=(8.0,), engines=("a", "b"), blocks=5, seconds=8.0, luck=0.03, slots=32, seed=seed).measured()
    metrics = {"tpot_p50": about(made)["tpot_p50"]}
    empty = Verdict(status="PASS", findings=(), gates=(), dimensions={}, recommendations=(), sentence="")
    judgement = Judgement(results=LazyResults(made, metrics), verdict=empty, metrics=metrics)
    return compare_engines(Side(label="record", measured=made, judgement=judgement), primary="tpot_p50")


def test_two_records_of_loads_are_compared_like_any_others() -> None:
    equal = [replace(of_two(blocks=3), label=label) for label in ("before", "after")]
    made = compare(equal, primary="ttft_p50", at="engine=a rate=5", days=Days(assumed=1e-6))
    assert (made.state, made.decisive()[0].outcome) == ("compared", "equivalent")
