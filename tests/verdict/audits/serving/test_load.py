"""Did the load reach a steady state, without stalls, and within its objectives?"""

from __future__ import annotations

import re

import polars as pl
import pytest

from fireassay.spec.experiment import Gates
from fireassay.verdict.audits.serving.load import little_fold
from fireassay.verdict.pitfalls import of_record
from tests.serving_made import ServingMade
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


@pytest.mark.slow
def test_a_record_can_be_examined_where_it_has_a_deadline() -> None:
    states = {}
    for gates in (Gates(), Gates(deadline_s=100.0)):
        made = good(gates=gates)
        pitfalls = of_record(made.measured())
        states[gates.deadline_s] = next(p.state for p in pitfalls if p.name == "silent_slo")
    assert states == {None: "not examined", 100.0: "clear"}
