"""goodput: requests that met every objective and ended in the window, over its length."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.estimates.estimate import Absent, Estimate
from assay.metrics import request_throughput
from assay.metrics.goodput import METRIC
from assay.spec.sections.serving import Objectives
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
    value = METRIC.compute(made.measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(5 / 8)


def test_without_objectives_there_is_no_goodput() -> None:
    value = METRIC.compute(made_of([0.1, 0.1], Objectives()).measured(), {})["rate=1"]
    assert isinstance(value, Absent)
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
    value = METRIC.compute(made.measured(), {})[f"concurrency={streams}"]
    assert isinstance(value, Estimate)
    return value.value


@pytest.mark.parametrize(("latency_s", "warm_up_s"), [(10.0, 2.0), (10.0, 0.0), (3.0, 2.0), (1.5, 2.0), (1.9, 2.0), (0.05, 2.0)])
@pytest.mark.parametrize("streams", [1, 32])
def test_a_closed_loop_in_step_has_the_goodput_that_it_has(streams: int, latency_s: float, warm_up_s: float) -> None:
    """Counted by when requests were due, three waves of four lay in the time of two: 1.5 times the truth."""
    assert in_waves(streams, latency_s, 30.0 + warm_up_s, warm_up_s) == pytest.approx(streams / latency_s, rel=0.02)


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


@settings(max_examples=int(os.environ.get("ASSAY_EXAMPLES", "60")), deadline=None)
@given(LOGS)
def test_goodput_is_never_above_throughput(log: tuple[str, float, list[tuple[int, float, float, str]]]) -> None:
    """`ASSAY_EXAMPLES=10000` for as many logs."""
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
    for name, good in METRIC.compute(measured, {}).items():
        answered = request_throughput.METRIC.compute(measured, {})[name]
        if isinstance(good, Estimate) and isinstance(answered, Estimate):
            assert good.value <= answered.value
        else:
            assert isinstance(good, Absent) or good.value == 0.0
