"""littles_law: rows that are missing break the law, a queue that grows is named, a stable load is silent."""

from __future__ import annotations

import polars as pl
import pytest

from fireassay.verdict.audits.serving.littles_law import fold
from tests.serving_made import ServingMade
from tests.verdict.served import blind, changed, clean, found

pytestmark = pytest.mark.slow


def even(*, seconds: float = 100.0, each_s: float = 0.4, every_s: float = 0.1) -> ServingMade:
    """One launch: a request every 0.1 s that takes 0.4 s, so that 4 are in flight."""
    made = ServingMade(rate=(10.0,), blocks=1, seconds=seconds)
    launch = made.launch()
    for place in range(round(seconds / every_s)):
        made.request(launch, every_s * place, at_s=[each_s], tokens_out=1)
    return made


def test_both_sides_are_those_of_the_textbook() -> None:
    """10/s x 0.4 s = 4; the integral lacks the first requests' predecessors: 1000 x 0.4 - (0.1 + 0.2 + 0.3) s of 100 s = 3.994."""
    (flow,) = fold(even().measured())
    assert flow.arrivals == pytest.approx(10.0)
    assert flow.mean_s == pytest.approx(0.4)
    assert flow.in_flight == pytest.approx(3.994)
    assert flow.tested
    assert flow.residual == pytest.approx((3.994 - 4.0) / 3.994)


def test_a_clean_load_is_silent_and_a_short_one_is_not_tested() -> None:
    assert found("littles_law", even().measured()) == ()
    assert blind("littles_law", even().measured()) is None
    short = even(seconds=20.0).measured()  # 50 times
    assert found("littles_law", short) == ()
    assert "200 mean latencies" in (blind("littles_law", short) or "")


@pytest.mark.parametrize("seed", range(5))
def test_simulated_loads_are_silent(seed: int) -> None:
    assert found("littles_law", clean(seed=seed, blocks=1, seconds=90.0, rate=(10.0,))) == ()


def test_rows_that_are_missing_break_the_law() -> None:
    """One row in twenty: 5 % fewer in flight than the schedule and the mean time ask for."""
    gone = pl.col("request") % 20 == 7
    (finding,) = found("littles_law", changed(even().measured(), "requests", lambda frame: frame.filter(~gone)))
    assert (finding.rule, finding.severity) == ("littles_law", "invalid")
    assert "3.79 requests were in flight on average, but 10 planned per second at 0.4 s each are 4" in finding.evidence


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


def test_the_end_of_the_window_cutting_a_few_that_hung_is_no_missing_row() -> None:
    """Of 6 x 10 s the last two are cut by 5 s and 10 s: 10 % of 4.5 in flight, all of it explained by the window's end."""
    (flow,) = fold(hanging(10.0).measured())
    assert flow.tested
    assert flow.residual < -0.1
    assert flow.residual + flow.edges / flow.in_flight == pytest.approx(0.0, abs=1e-9)
    assert found("littles_law", hanging(10.0).measured()) == ()


def test_rows_that_are_missing_beside_some_that_hung_break_the_law_all_the_same() -> None:
    gone = pl.col("request") % 10 == 7
    (finding,) = found("littles_law", changed(hanging(10.0).measured(), "requests", lambda frame: frame.filter(~gone)))
    assert finding.severity == "invalid"


def test_an_end_after_the_launch_itself_is_a_wrong_time() -> None:
    (finding,) = found("littles_law", hanging(20.0).measured())
    assert finding.severity == "invalid"


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


def test_a_closed_loop_has_no_queue_that_could_grow() -> None:
    assert found("littles_law", clean(rate=(), concurrency=(4, 64))) == ()
