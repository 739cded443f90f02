"""What is recommended: the largest that passes everything; cheapest and fastest among those that hold quality."""

from __future__ import annotations

import pytest

from fireassay.spec.experiment import Gates, Quality
from fireassay.verdict.judging import admissible
from fireassay.verdict.types import Finding, GateResult, Severity, Status
from tests.verdict.making import good, judged, pick

pytestmark = pytest.mark.slow


def finding(severity: Severity, configuration: str | None) -> Finding:
    return Finding(rule="r", severity=severity, configuration=configuration, evidence="e", remedy="m")


def result(status: Status, configuration: str = "workers=2") -> GateResult:
    return GateResult(gate="g", configuration=configuration, status=status, sentence="s")


def test_the_gravest_status_of_a_configuration_s_gates_is_its_own() -> None:
    assert admissible("workers=2", [], []) == "PASS"
    assert admissible("workers=2", [], [result("PASS"), result("INCONCLUSIVE")]) == "INCONCLUSIVE"
    assert admissible("workers=2", [], [result("PASS"), result("NOT_MEASURED")]) == "INCONCLUSIVE"
    assert admissible("workers=2", [], [result("INCONCLUSIVE"), result("FAIL")]) == "FAIL"
    assert admissible("workers=2", [], [result("FAIL", "workers=4")]) == "PASS"


def test_a_finding_on_the_record_or_on_the_configuration_rules_it_out_and_a_warning_does_not() -> None:
    for severity, expected in (("fail", "FAIL"), ("invalid", "FAIL"), ("warning", "PASS"), ("note", "PASS")):
        for configuration in (None, "workers=2"):
            assert admissible("workers=2", [finding(severity, configuration)], [result("PASS")]) == expected  # type: ignore[arg-type]
        assert admissible("workers=2", [finding(severity, "workers=4")], [result("PASS")]) == "PASS"  # type: ignore[arg-type]


def test_the_largest_worker_count_that_passes_every_gate_is_recommended() -> None:
    assert pick(judged(good(levels=(1, 2, 4))), "recommended") == "workers=4"
    assert pick(judged(good(levels=(1, 2, 4), efficiency={4: 0.5})), "recommended") == "workers=2"
    assert pick(judged(good(levels=(1, 2, 4), efficiency={2: 0.5, 4: 0.5})), "recommended") == "workers=1"


def test_an_efficient_worker_count_above_an_inefficient_one_is_recommended() -> None:
    """`knee`: the largest measured p that meets everything."""
    assert pick(judged(good(levels=(1, 2, 4), efficiency={2: 0.5, 4: 0.8})), "recommended") == "workers=4"


def test_the_cheapest_and_the_fastest_need_quality_and_not_efficiency() -> None:
    """Runs take 20, 14.1 and 10 s: 1 worker is cheapest.  Steps: 4 x 0.5 = 2 times as fast, 2 x 0.9 = 1.8 times."""
    judgement = judged(good(levels=(1, 2, 4), efficiency={4: 0.5}, prices=1.0))
    assert (pick(judgement, "cheapest"), pick(judgement, "fastest")) == ("workers=1", "workers=4")
    assert pick(judgement, "recommended") == "workers=2"


def test_what_does_not_hold_quality_is_neither_cheapest_nor_fastest_whatever_its_speedup() -> None:
    judgement = judged(good(levels=(1, 2, 4), efficiency={4: 5.0}, right={4: 10}, prices=1.0))
    assert (pick(judgement, "recommended"), pick(judgement, "fastest")) == ("workers=2", "workers=2")
    assert pick(judgement, "cheapest") == "workers=1"


def test_what_is_not_shown_to_hold_quality_is_not_picked_either() -> None:
    """The margin of 0.05 cannot be shown with 40 examples: only the reference itself is left."""
    judgement = judged(good(quality=Quality(margin=0.05), efficiency={2: 2.0}))
    assert (pick(judgement, "recommended"), pick(judgement, "fastest")) == ("workers=1", "workers=1")


def test_fastest_is_told_by_the_rate_of_work_where_items_are_counted() -> None:
    sentence = next(r.sentence for r in judged(good()).verdict.recommendations if r.goal == "fastest")
    assert sentence.startswith("14.1")  # 8 items in 1.02/1.8 s = 14.1 a second


def test_rivals_that_the_intervals_do_not_separate_are_named() -> None:
    """4 workers at an efficiency of 0.45 are as fast as 2 at 0.9: 1.8 times."""
    judgement = judged(good(levels=(1, 2, 4), efficiency={4: 0.45}))
    fastest = next(found for found in judgement.verdict.recommendations if found.goal == "fastest")
    assert "not separated from" in fastest.sentence
    assert "1 worker " not in fastest.sentence


def test_where_every_configuration_fails_for_certain_nothing_is_recommended() -> None:
    judgement = judged(good(gates=Gates(deadline_s=1.0)))
    assert judgement.verdict.status == "FAIL"
    assert pick(judgement, "recommended") is None
    assert "1 worker and 2 workers hold quality, but none passes every gate" in judgement.verdict.recommendations[0].sentence


def test_where_one_configuration_may_still_pass_the_verdict_is_open() -> None:
    """The base certainly misses 14.14 s; two workers may or may not."""
    judgement = judged(good(gates=Gates(deadline_s=20.0 / 2**0.5)))
    assert pick(judgement, "recommended") is None
    assert judgement.verdict.status == "INCONCLUSIVE"
