"""Throughput under a latency cap and latency under a throughput floor: which load is picked, and how certain its number is."""

from __future__ import annotations

import numpy as np
import pytest

from fireassay.spec.experiment import Gates
from fireassay.spec.sections.trade_off import cap_of_text, floor_of_text
from fireassay.stats.intervals.intervals import log_t
from fireassay.verdict.gates.trade_off import Picked, answers, best_of, of_loads, preferred
from tests.rivals_made import rivals
from tests.verdict.judging import concluded

LOADS = {4: 0.01, 8: 0.012, 16: 0.03}  # seconds per token; an answer takes 29 times that: 0.29, 0.348 and 0.87 s
AT = "concurrency={}".format


def gates(cap: str = "", floor: str = "") -> Gates:
    table = {"latency_cap": cap_of_text(cap)} if cap else {}
    table |= {"throughput_floor": floor_of_text(floor)} if floor else {}
    return Gates.model_validate(table)


def picked(cap: str = "", floor: str = "", blocks: int = 5) -> Picked:
    (found,) = answers(rivals({"a": LOADS}, objectives={}, gates=gates(cap, floor), blocks=blocks).measured())
    return found


def test_the_largest_throughput_that_keeps_the_cap_wins() -> None:
    """8 in flight at 0.348 s an answer are 23 requests a second, 4 at 0.29 s are 13.8; 16 in flight take 0.87 s."""
    found = picked(cap="e2e p50 500ms")
    assert found.configuration == AT(8)
    assert found.value is not None
    assert found.question.wanted == "output_throughput"


def test_the_lowest_latency_that_reaches_the_floor_wins() -> None:
    """Above 10 a second all three, of which 4 in flight answers first; above 20 only 8 in flight."""
    assert picked(floor="10 req/s, e2e p50").configuration == AT(4)
    assert picked(floor="20 req/s, e2e p50").configuration == AT(8)


def test_a_floor_in_tokens_counts_tokens() -> None:
    """Twenty an answer: 23 requests a second are 460 tokens."""
    assert picked(floor="400 tok/s, e2e p50").configuration == AT(8)


def test_a_floor_out_of_reach_is_reached_by_none_and_the_nearest_is_known() -> None:
    found = picked(floor="200 req/s, e2e p50")
    assert (found.configuration, found.value) == ("", None)
    assert found.nearest is not None
    assert found.nearest[0] == AT(8)


def test_a_load_that_reaches_the_floor_without_a_latency_is_no_miss() -> None:
    """Ninety-nine of a hundred need more requests than there are."""
    found = picked(floor="10 req/s, e2e p99")
    assert found.nearest is None
    assert "p99" in found.unknown


def test_every_interval_is_of_the_confidence_that_holds_for_all_loads() -> None:
    measured = rivals({"a": LOADS}, objectives={}, gates=gates(floor="10 req/s, e2e p50")).measured()
    for value in of_loads(measured, "request_throughput", 3).values():
        assert value.confidence == pytest.approx(1.0 - 0.05 / 3)  # type: ignore[union-attr]
    assert measured.confidence == 0.95


def test_the_gates_decide_and_the_recommended_load_is_the_one_sought() -> None:
    judged = concluded(rivals({"a": LOADS}, objectives={}, gates=gates(floor="10 req/s, e2e p50")).measured())
    assert {gate.configuration: gate.status for gate in judged.verdict.gates if gate.gate == "throughput_floor"} == dict.fromkeys(
        map(AT, LOADS), "PASS"
    )
    assert judged.verdict.recommended == AT(4), "the largest load that passes would be 16"
    assert judged.verdict.status == "PASS"


def test_two_launches_decide_nothing() -> None:
    judged = concluded(rivals({"a": LOADS}, objectives={}, gates=gates(floor="10 req/s, e2e p50"), blocks=2).measured())
    assert {gate.status for gate in judged.verdict.gates if gate.gate == "throughput_floor"} == {"INCONCLUSIVE"}


def test_engines_are_families_of_their_own() -> None:
    made = rivals({"a": LOADS, "b": {load: 2 * gap for load, gap in LOADS.items()}}, objectives={}, gates=gates(floor="10 req/s, e2e p50"))
    a, b = answers(made.measured())
    assert (a.configuration, b.configuration) == (f"engine=a {AT(4)}", f"engine=b {AT(8)}")
    assert (a.loads, b.loads) == (3, 3)


def test_without_a_cap_or_a_floor_the_largest_load_is_preferred() -> None:
    measured = rivals({"a": LOADS}).measured()
    assert answers(measured) == ()
    assert preferred(measured, list(measured.varied)).name == AT(16)


def test_a_picked_winner_is_covered_as_promised() -> None:
    """1,000 records of eight equal loads in five launches each, whose latencies differ by luck alone: the picked load's own 95 % interval
    misses the truth in far more than 5 %, that for eight loads in no more.
    """
    random = np.random.default_rng(7)
    missed = {0.95: 0, 1.0 - 0.05 / 8: 0}
    for _ in range(1000):
        launches = np.exp(random.normal(0.0, 0.1, (8, 5)))
        for confidence in missed:
            intervals = [log_t(list(load), confidence) for load in launches]
            name = best_of({str(index): interval.value for index, interval in enumerate(intervals)}, "latency")
            won = intervals[int(name)]
            missed[confidence] += not won.low <= 1.0 <= won.high
    naive, together = missed.values()
    assert naive > 100
    assert together <= 50 + 3 * 6.9, "5 % of 1,000, and three standard deviations"
