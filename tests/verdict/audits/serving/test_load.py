"""Did the load reach a steady state, without stalls, and within its objectives?"""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import pytest

from fireassay.spec.experiment import Gates
from fireassay.verdict.audits.serving.load import little_fold
from fireassay.verdict.claims.pitfalls import of_record
from tests.serving_made import ServingMade
from tests.verdict.claiming import LATENCY, THROUGHPUT, claim, the_finding
from tests.verdict.claiming import found as claim_found
from tests.verdict.making import good
from tests.verdict.served import blind, changed, clean, found

# ---- littles law ----
# littles_law: rows that are missing break the law, a queue that grows is named, a stable load is silent.


def even(*, seconds: float = 100.0, each_s: float = 0.4, every_s: float = 0.1) -> ServingMade:
    """One launch: a request every 0.1 s that takes 0.4 s, so that 4 are in flight."""
    made = ServingMade(rate=(10.0,), blocks=1, seconds=seconds)
    launch = made.launch()
    for place in range(round(seconds / every_s)):
        made.request(launch, every_s * place, at_s=[each_s], tokens_out=1)
    return made


@pytest.mark.slow
def test_both_sides_are_those_of_the_textbook() -> None:
    """10/s x 0.4 s = 4; the integral lacks the first requests' predecessors: 1000 x 0.4 - (0.1 + 0.2 + 0.3) s of 100 s = 3.994."""
    (flow,) = little_fold(even().measured())
    assert flow.arrivals == pytest.approx(10.0)
    assert flow.mean_s == pytest.approx(0.4)
    assert flow.in_flight == pytest.approx(3.994)
    assert flow.tested
    assert flow.residual == pytest.approx((3.994 - 4.0) / 3.994)


@pytest.mark.slow
def test_a_clean_load_is_silent_and_a_short_one_is_not_tested() -> None:
    assert found("littles_law", even().measured()) == ()
    assert blind("littles_law", even().measured()) is None
    short = even(seconds=20.0).measured()  # 50 times
    assert found("littles_law", short) == ()
    assert "200 mean latencies" in (blind("littles_law", short) or "")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_simulated_loads_are_silent(seed: int) -> None:
    assert found("littles_law", clean(seed=seed, blocks=1, seconds=90.0, rate=(10.0,))) == ()


@pytest.mark.slow
def test_rows_that_are_missing_break_the_law() -> None:
    """One row in twenty: 5 % fewer in flight than the schedule and the mean time ask for."""
    gone = pl.col("request") % 20 == 7
    (finding,) = found("littles_law", changed(even().measured(), "requests", lambda frame: frame.filter(~gone)))
    assert (finding.rule, finding.severity) == ("littles_law", "invalid")
    assert "3.79 requests were in flight on average, but 10 planned per second at 0.4 s each are 4" in finding.evidence


@pytest.mark.slow
def test_one_row_in_a_hundred_is_within_the_tolerance() -> None:
    gone = pl.col("request") % 100 == 7
    assert found("littles_law", changed(even().measured(), "requests", lambda frame: frame.filter(~gone))) == ()


def hanging(done_s: float) -> ServingMade:
    """60 a second of 50 ms for 30 s, of which one in 300 ends late; the launch lasts until 45 s after the load began."""
    made = ServingMade(rate=(60.0,), blocks=1, seconds=30.0)
    launch = made.launch(wall_s=46.0)
    for place in range(1800):
        if place % 300 == 299:
            made.request(launch, place / 60.0, status="timeout", done_s=done_s)
        else:
            made.request(launch, place / 60.0, at_s=[0.05], tokens_out=1)
    return made


@pytest.mark.slow
def test_the_end_of_the_window_cutting_a_few_that_hung_is_no_missing_row() -> None:
    """Of 6 x 10 s the last two are cut by 5 s and 10 s: 10 % of 4.5 in flight, all of it explained by the window's end."""
    (flow,) = little_fold(hanging(10.0).measured())
    assert flow.tested
    assert flow.residual < -0.1
    assert flow.residual + flow.edges / flow.in_flight == pytest.approx(0.0, abs=1e-9)
    assert found("littles_law", hanging(10.0).measured()) == ()


@pytest.mark.slow
def test_rows_that_are_missing_beside_some_that_hung_break_the_law_all_the_same() -> None:
    gone = pl.col("request") % 10 == 7
    (finding,) = found("littles_law", changed(hanging(10.0).measured(), "requests", lambda frame: frame.filter(~gone)))
    assert finding.severity == "invalid"


@pytest.mark.slow
def test_an_end_after_the_launch_itself_is_a_wrong_time() -> None:
    (finding,) = found("littles_law", hanging(20.0).measured())
    assert finding.severity == "invalid"


@pytest.mark.slow
def test_a_queue_that_grows_is_named_with_its_length() -> None:
    """10 a second, of which 9 are served: the one more waits; at t there are t in the queue."""
    made = ServingMade(rate=(10.0,), blocks=1, seconds=40.0)
    launch = made.launch()
    for place in range(400):
        due = 0.1 * place
        made.request(launch, due, at_s=[(place + 1) / 9.0 - due + 0.001], tokens_out=1)
    (finding,) = found("littles_law", made.measured())
    assert (finding.rule, finding.severity) == ("queue_grew", "warning")
    assert "cannot keep up" in finding.evidence


@pytest.mark.slow
def test_a_closed_loop_has_no_queue_that_could_grow() -> None:
    assert found("littles_law", clean(rate=(), concurrency=(4, 64))) == ()


# ---- stall ----
# stall: a silence of all streams while requests are under way is named with its place; idle times are not.


def load(*, stalled: tuple[float, float] | None = None, every_s: float = 0.1, streamed: bool = True) -> ServingMade:
    """A request every 0.1 s that takes 0.5 s (first text after 0.1 s); in a stall everything waits for its end."""
    made = ServingMade(rate=(1 / every_s,), blocks=1, seconds=20.0)
    launch = made.launch()
    for place in range(round(20.0 / every_s)):
        due = every_s * place
        usual = [due + 0.1 * step for step in ((1, 2, 3, 4, 5) if streamed else (5,))]
        times = usual if stalled is None else [max(t, stalled[1] + 0.001) if t >= stalled[0] else t for t in usual]
        made.request(launch, due, at_s=[t - due for t in times], tokens_out=len(times))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("streamed", [True, False])
def test_a_load_without_a_stall_is_silent(streamed: bool) -> None:
    assert found("stall", load(streamed=streamed).measured()) == ()
    assert found("stall", clean()) == ()
    assert found("stall", clean(rate=(), concurrency=(1,))) == ()


@pytest.mark.parametrize("streamed", [True, False])
def test_a_stall_of_two_seconds_is_named_with_its_place(streamed: bool) -> None:
    """The longest own wait is 0.1 s, without streaming 0.5 s: six times that are 0.6 s and 3 s. Bins of 50 ms cost up to two of them."""
    length = 2.0 if streamed else 4.0
    (finding,) = found("stall", load(stalled=(8.0, 8.0 + length), streamed=streamed).measured())
    assert (finding.rule, finding.severity, finding.configuration) == ("stalled", "warning", "rate=10")
    seconds, into = re.findall(r"[\d.]+", finding.evidence)[:2]
    assert length - 0.1 <= float(seconds) <= length + 0.1  # the last text before it came at 7.9 s
    assert 7.9 <= float(into) <= 8.05


def test_half_a_second_is_the_shortest_that_is_named() -> None:
    assert found("stall", load(stalled=(8.0, 8.4)).measured()) == ()


def test_a_time_without_requests_is_no_stall() -> None:
    """One request every 5 s that takes 0.5 s."""
    made = ServingMade(rate=(1.0,), blocks=1, seconds=100.0)
    launch = made.launch()
    for place in range(20):
        made.request(launch, 5.0 * place, ttft_s=0.1, gap_s=0.1, tokens_out=5)
    assert found("stall", made.measured()) == ()


def test_slow_answers_one_after_the_other_are_no_stall() -> None:
    made = ServingMade(concurrency=(1,), blocks=1, seconds=100.0, stream=False)
    launch = made.launch()
    for place in range(20):
        made.request(launch, 5.0 * place, at_s=[4.9], tokens_out=1, stream=0, follows=place > 0)
    assert found("stall", made.measured()) == ()


@pytest.mark.slow
def test_few_requests_show_nothing() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    made.request(made.launch(), 0.0)
    assert blind("stall", made.measured()) == "no launch sent 10 requests"
    assert blind("stall", clean()) is None


# ---- silent slo ----
# silent_slo: a throughput beside a broken objective.

SLO = {"objective": "p99 latency of at most 300 ms", "metric": "latency", "limit": 0.3}


def served(latency: float = 0.2, **sections: Any) -> Any:
    bounds = {"low": latency * 0.9, "high": latency * 1.1, "kind": "confidence"}
    return claim(numbers=[THROUGHPUT, LATENCY | {"value": latency, "interval": bounds}], **sections)


def test_an_objective_that_a_published_number_breaks_makes_the_throughput_inadmissible() -> None:
    finding = the_finding(served(4.0, slo=SLO), "objective_not_met")
    assert finding.severity == "invalid"
    assert finding.needs == ("goodput",)
    assert "4 s, the limit is 0.3 s" in finding.evidence


def test_an_objective_that_is_said_not_to_be_met_does_so_too() -> None:
    assert claim_found(served(slo={"objective": "x", "met": False}))["objective_not_met"] == "invalid"


def test_an_objective_that_is_met_is_clear_and_one_that_is_not_said_is_left_open() -> None:
    assert claim_found(served(slo=SLO)) == {}
    assert claim_found(served(slo={"objective": "x", "met": True})) == {}
    assert claim_found(served(slo={"objective": "x"})) == {"objective_met_unsaid": "note"}
    assert claim_found(served()) == {"objective_unsaid": "note"}


def test_a_training_throughput_needs_no_objective() -> None:
    assert claim_found(claim(numbers=[THROUGHPUT | {"unit": "samples/s"}])) == {}


@pytest.mark.slow
def test_a_record_can_be_examined_where_it_has_a_deadline() -> None:
    states = {}
    for gates in (Gates(), Gates(deadline_s=100.0)):
        made = good(gates=gates)
        pitfalls = of_record(made.measured())
        states[gates.deadline_s] = next(p.state for p in pitfalls if p.name == "silent_slo")
    assert states == {None: "not examined", 100.0: "clear"}


def wait(value: float, statistic: str, **changes: Any) -> dict[str, Any]:
    bounds = {"low": value * 0.99, "high": value * 1.01, "kind": "confidence"}
    return LATENCY | {"value": value, "statistic": statistic, "interval": bounds} | changes


def objective(*waits: dict[str, Any], **slo: Any) -> dict[str, str]:
    return {
        rule: severity
        for rule, severity in claim_found(claim(numbers=[THROUGHPUT, *waits], slo=SLO | slo)).items()
        if rule.startswith("objective")
    }


@pytest.mark.parametrize(
    ("waits", "expected"),
    [
        ([(0.25, "p99"), (0.41, "p999")], {}),  # the objective is on the p99
        ([(0.28, "p999")], {}),  # implies the p99
        ([(0.28, "max")], {}),
        ([(0.41, "p999")], {"objective_met_unsaid": "note"}),
        ([(0.2, "p90")], {"objective_answered_by_less": "warning"}),
        ([(0.2, "mean")], {"objective_answered_by_less": "warning"}),
        ([(0.2, "median")], {"objective_answered_by_less": "warning"}),
        ([(0.35, "p95")], {"objective_not_met": "invalid"}),  # then the p99 is above as well
        ([(0.35, "mean")], {"objective_not_met": "invalid"}),
        ([(0.298, "p99")], {"objective_undecided": "note"}),  # its interval reaches over the limit
    ],
)
def test_a_percentile_answers_for_lower_ones_only(waits: list[tuple[float, str]], expected: dict[str, str]) -> None:
    assert objective(*(wait(value, statistic) for value, statistic in waits)) == expected


def test_a_lower_percentile_beside_an_objective_that_is_said_to_be_met_is_left_open() -> None:
    assert objective(wait(0.2, "p90"), met=True) == {"objective_answered_by_less": "note"}


def test_the_limit_is_read_in_its_own_unit() -> None:
    assert objective(wait(0.25, "p99"), limit=300) == {}, "300 ms, as the objective says"
    assert objective(wait(0.9, "p99"), limit=300) == {"objective_not_met": "invalid"}
    assert objective(wait(250.0, "p99", unit="ms"), limit=0.3, unit="s") == {}
    assert objective(wait(350.0, "p99", unit="ms"), limit=0.3, unit="s") == {"objective_not_met": "invalid"}
    assert objective(wait(0.35, "p99"), objective="a p99 of at most 300 ms") == {"objective_not_met": "invalid"}


def test_the_limited_metric_has_many_names_and_the_statistic_may_be_said() -> None:
    assert objective(wait(0.9, "p99", metric="time to first token"), metric="TTFT") == {"objective_not_met": "invalid"}
    assert objective(wait(0.2, "p90"), objective="fast", statistic="p99") == {"objective_answered_by_less": "warning"}


def test_a_floor_is_kept_from_above() -> None:
    floor = {"objective": "at least 30 tokens/s per user", "metric": "speed per user", "limit": 30}
    for value, expected in ((45.0, {}), (20.0, {"objective_not_met": "invalid"})):
        speed = THROUGHPUT | {
            "metric": "speed per user",
            "value": value,
            "interval": {"low": value, "high": value + 1, "kind": "confidence"},
        }
        assert objective(speed, **floor) == expected


@pytest.mark.parametrize(
    ("words", "statistic", "expected"),
    [
        ("99% of requests within 300 ms", "p99", {}),
        ("99 % of requests within 300 ms", "p90", {"objective_answered_by_less": "warning"}),
        ("99.9% of requests within 300 ms", "p99", {"objective_answered_by_less": "warning"}),
    ],
)
def test_a_share_of_requests_is_a_percentile(words: str, statistic: str, expected: dict[str, str]) -> None:
    assert objective(wait(0.2, statistic), objective=words) == expected


def test_a_goodput_in_percent_of_time_needs_no_objective() -> None:
    goodput = THROUGHPUT | {"metric": "goodput", "unit": "%", "value": 96.2, "interval": {"low": 96, "high": 96.4, "kind": "confidence"}}
    assert claim_found(claim(numbers=[goodput])) == {}
