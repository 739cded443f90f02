"""Requests that met every objective: per second of the window, over those that were due, and up to which load."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.metrics.metric import ALL
from fireassay.metrics.serving.objectives import CAPACITY, GOODPUT, SLO_ATTAINMENT
from fireassay.metrics.serving.throughput import REQUEST_THROUGHPUT
from fireassay.spec.sections.serving import Objectives
from tests.metrics.serving.values import absent, estimate, values_of
from tests.serving_made import ServingMade


def made_of(ttfts: list[float], objectives: Objectives) -> ServingMade:
    made = ServingMade(rate=(1.0,), blocks=1, objectives=objectives)
    number = made.launch()
    for second, ttft in enumerate(ttfts):
        made.request(number, float(second), ttft_s=ttft, status="5xx" if ttft < 0 else "ok")
    return made


def test_slow_and_failed_requests_are_misses() -> None:
    """Due every second; in [0, 8) 8 requests end, of which 2 are slow and 1 fails: 5 in 8 s."""
    made = made_of([0.1, 0.9, 0.1, -1.0, 0.1, 0.1, 0.9, 0.1, 0.1], Objectives(ttft_s=0.5))
    value = estimate(GOODPUT, made)
    assert value.value == pytest.approx(5 / 8)


def test_without_objectives_there_is_no_goodput() -> None:
    value = absent(GOODPUT, made_of([0.1, 0.1], Objectives()))
    assert "serving.objectives" in value.detail


def in_waves(streams: int, latency_s: float, seconds: float, warm_up_s: float = 0.0, spread_s: float = 0.0) -> float:
    """Goodput of a closed loop whose streams keep step, every answer good."""
    made = ServingMade(concurrency=(streams,), blocks=1, warm_up_s=warm_up_s, objectives=Objectives(e2e_s=1000.0))
    number = made.launch()
    for stream in range(streams):
        due = 0.0
        while due < seconds:
            own = latency_s + spread_s * stream / streams
            made.request(number, due, stream=stream, at_s=[own], tokens_out=1, phase="main" if due >= warm_up_s else "warm_up")
            due += own
    value = estimate(GOODPUT, made, f"concurrency={streams}")
    return value.value


@pytest.mark.slow
@pytest.mark.parametrize(("latency_s", "warm_up_s"), [(10.0, 2.0), (10.0, 0.0), (3.0, 2.0), (1.5, 2.0), (1.9, 2.0), (0.05, 2.0)])
@pytest.mark.parametrize("streams", [1, 32])
def test_a_closed_loop_in_step_has_the_goodput_that_it_has(streams: int, latency_s: float, warm_up_s: float) -> None:
    """Counted by when requests were due, three waves of four lay in the time of two: 1.5 times the truth."""
    assert in_waves(streams, latency_s, 30.0 + warm_up_s, warm_up_s) == pytest.approx(streams / latency_s, rel=0.02)


@pytest.mark.slow
def test_streams_out_of_step_have_the_goodput_that_they_have() -> None:
    """32 streams of 0.5 to 1 s, each on its own: the sum of their rates."""
    truth = sum(1.0 / (0.5 + 0.5 * stream / 32) for stream in range(32))
    assert in_waves(32, 0.5, 32.0, 2.0, 0.5) == pytest.approx(truth, rel=0.02)


LOGS = st.tuples(
    st.sampled_from(["closed", "open"]),
    st.sampled_from([0.0, 0.5]),
    st.lists(
        st.tuples(st.integers(0, 3), st.floats(0.0, 3.0), st.floats(0.001, 4.0), st.sampled_from(["ok", "ok", "ok", "5xx", "timeout"])),
        min_size=1,
        max_size=14,
    ),
)


@pytest.mark.slow
@settings(max_examples=int(os.environ.get("FIREASSAY_EXAMPLES", settings().max_examples)), deadline=None)
@given(LOGS)
def test_goodput_is_never_above_throughput(log: tuple[str, float, list[tuple[int, float, float, str]]]) -> None:
    """`FIREASSAY_EXAMPLES=10000` for as many logs."""
    kind, warm_up_s, requests = log
    load = {"concurrency": (4,)} if kind == "closed" else {"rate": (1.0,)}
    made = ServingMade(**load, blocks=1, warm_up_s=warm_up_s, objectives=Objectives(ttft_s=1.0))  # type: ignore[arg-type]
    number, free = made.launch(), [0.0] * 4
    for stream, at_s, lasts_s, status in requests:
        due = free[stream] if kind == "closed" else at_s
        free[stream] = due + lasts_s
        own = {"stream": stream} if kind == "closed" else {}
        made.request(
            number, due, phase="main" if due >= warm_up_s else "warm_up", at_s=[lasts_s / 2, lasts_s], tokens_out=2, status=status, **own
        )
    measured = made.measured()
    for name, good in values_of(GOODPUT, measured).items():
        answered = values_of(REQUEST_THROUGHPUT, measured)[name]
        if isinstance(good, Estimate) and isinstance(answered, Estimate):
            assert good.value <= answered.value
        else:
            assert isinstance(good, Absent) or good.value == 0.0


# ---- attainment --------------------------------------------------------------------------------------------------


def test_every_request_that_was_due_is_in_the_denominator() -> None:
    """8 of 10 in each of two launches, as one was slow and one never sent."""
    made = ServingMade(rate=(1.0,), blocks=2, objectives=Objectives(e2e_s=1.0))
    for block in range(2):
        number = made.launch(block=block)
        for second in range(10):
            if second == 3:
                made.request(number, float(second), status="unsent", lag_s=None)
            else:
                made.request(number, float(second), at_s=[2.0 if second == 5 else 0.5], tokens_out=1)
    value = estimate(SLO_ATTAINMENT, made)
    assert (value.value, value.n_trials) == (pytest.approx(0.8), 20)
    # Clopper and Pearson, 16 of 20: [0.5634, 0.9427]
    assert (value.low, value.high) == pytest.approx((0.5634, 0.9427), abs=1e-4)


def test_without_objectives_there_is_none() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    made.request(made.launch(), 0.0)
    absent(SLO_ATTAINMENT, made)


@pytest.mark.parametrize("asked", [Objectives(tpot_s=0.01), Objectives(itl_s=0.01)])
def test_a_time_per_token_without_token_counts_is_not_assumed_met(asked: Objectives) -> None:
    """Ten chunks 50 ms apart, no usage, no tokenizer: 10 ms per token may be broken or not, and 100 % would be a guess."""
    made = ServingMade(rate=(1.0,), blocks=3, objectives=asked)
    for block in range(3):
        number = made.launch(block=block)
        for second in range(10):
            made.request(number, float(second), ttft_s=0.1, gap_s=0.05, tokens_out=None, chunks=10)
    value = absent(SLO_ATTAINMENT, made)
    assert value.reason == "not_measured"
    assert "no usage for 30 answers" in value.detail


def partly_counted(objectives: Objectives, without: int) -> ServingMade:
    """100 answers in each of three launches, 10 ms per token; of the first so many nobody counted the tokens."""
    made = ServingMade(rate=(1.0,), blocks=3, objectives=objectives)
    for block in range(3):
        number = made.launch(block=block)
        for second in range(100):
            made.request(number, second * 0.15, ttft_s=0.1, gap_s=0.01, tokens_out=None if second < without else 10, chunks=10)
    return made


@pytest.mark.parametrize("asked", [Objectives(tpot_s=0.02), Objectives(itl_s=0.02)])
def test_answers_without_token_counts_widen_the_attainment_and_hide_no_other(asked: Objectives) -> None:
    """Two of 100 are unknown: 294 of 294 known ones met; with the six missed 294 of 300 would have."""
    value = estimate(SLO_ATTAINMENT, partly_counted(asked, 2))
    assert (value.value, value.high, value.n_trials) == (1.0, 1.0, 294)
    assert value.low == pytest.approx(0.9570, abs=1e-3)  # Clopper and Pearson, 294 of 300
    assert "no usage for 6 answers" in value.method


def test_an_unknown_time_per_token_matters_only_where_the_rest_is_met() -> None:
    """All answers came too late for the time to the first token: none is open."""
    value = estimate(SLO_ATTAINMENT, partly_counted(Objectives(ttft_s=0.05, tpot_s=0.02), 2))
    assert (value.value, value.n_trials, value.low) == (0.0, 300, 0.0)


def test_goodput_is_not_measured_where_some_answers_are_open() -> None:
    assert "no usage for 6 answers" in absent(GOODPUT, partly_counted(Objectives(tpot_s=0.02), 2)).detail


def test_an_answer_of_one_chunk_leaves_the_time_per_token_open_whoever_counted() -> None:
    made = ServingMade(rate=(1.0,), blocks=1, objectives=Objectives(tpot_s=0.01))
    number = made.launch()
    for second in range(10):
        made.request(number, float(second), ttft_s=0.1, tokens_out=None, chunks=1)
    value = estimate(SLO_ATTAINMENT, made)
    assert value.value == 1.0


# ---- capacity ----------------------------------------------------------------------------------------------------


def loaded(misses: dict[float, int], blocks: int = 3, **how: object) -> ServingMade:
    """100 requests per launch, of which so many are late at each rate."""
    made = ServingMade(rate=tuple(misses), blocks=blocks, objectives=Objectives(ttft_s=0.5, attainment=0.9), **how)  # type: ignore[arg-type]
    for block in range(blocks):
        for name in made.names:
            number = made.launch(name, block=block)
            late = misses[float(name.rpartition("=")[2])]
            for place in range(100):
                made.request(number, place * 0.1, ttft_s=0.9 if place < late else 0.1)
    return made


def test_it_lies_between_the_loads_that_bracket_it() -> None:
    """2 % late at 5/s and 30 % at 10/s; allowed 10 %."""
    value = estimate(CAPACITY, loaded({5.0: 2, 10.0: 30}), ALL)
    assert 5.0 < value.value < 10.0
    assert value.unit == "1/s"
    assert (value.n_trials, value.n_launches) == (600, 6)


def test_a_sweep_that_stops_too_soon_is_refused() -> None:
    value = absent(CAPACITY, loaded({5.0: 0, 10.0: 2}), ALL)
    assert "measure higher loads" in value.detail


@pytest.mark.slow
def test_each_engine_has_its_own() -> None:
    values = values_of(CAPACITY, loaded({5.0: 2, 10.0: 30}, engines=("a", "b")))
    assert sorted(values) == ["engine=a rate=10", "engine=a rate=5", "engine=b rate=10", "engine=b rate=5"]
    assert values["engine=a rate=5"] == values["engine=a rate=10"]
    assert all(isinstance(value, Estimate) for value in values.values())


@pytest.mark.parametrize(
    "made", [ServingMade(rate=(1.0,), blocks=1), ServingMade(process="offline", blocks=1, objectives=Objectives(e2e_s=1.0))]
)
def test_without_objectives_or_loads_there_is_none(made: ServingMade) -> None:
    made.request(made.launch(), 0.0)
    absent(CAPACITY, made, ALL)
