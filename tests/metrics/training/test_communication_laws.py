"""What must hold of communication whatever was recorded: against sets of ticks, which need no cleverness.

Of kernels on several streams, damaged durations included: exposed + computing + copying + idle = the step, hidden + exposed = total.
Of recorded collectives of several ranks: transfer + wait = total <= the step's span of calls, 0 <= exposed <= total; clocks do not matter."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireassay.frames.training.communication.kernel_trace import intervals, overlap
from fireassay.frames.training.communication.step_communication import Communicated
from tests.frames.training.communication.test_kernel_trace import GEMM, NEW, OLD, host, kernel, trace
from tests.handmade import Handmade

pytestmark = pytest.mark.slow


Span = tuple[int, int]


TICK = 1000  # nanoseconds: a tick of a trace is a microsecond


SPANS = st.lists(st.tuples(st.integers(-20, 80), st.integers(-5, 40)), max_size=7)  # begin, duration; some last less than nothing


def ticks(spans: list[Span], window: Span) -> set[int]:
    return {tick for begin, lasting in spans for tick in range(begin, begin + lasting) if window[0] <= tick < window[1]}


@settings(max_examples=60, deadline=None)
@given(computing=SPANS, communicating=SPANS, copying=SPANS, waiting=SPANS, window=st.tuples(st.integers(0, 20), st.integers(21, 60)))
def test_a_step_of_kernels_divides(
    computing: list[Span], communicating: list[Span], copying: list[Span], waiting: list[Span], window: Span
) -> None:
    """Every kernel has a stream of its own; what only waits for a stream is nobody's work; what the processor runs does not count."""
    kinds = (
        (GEMM, "kernel", computing),
        (NEW, "kernel", communicating[::2]),
        (OLD, "kernel", communicating[1::2]),
        ("Memcpy DtoD", "gpu_memcpy", copying),
        ("Stream Wait Event", "cuda_sync", waiting),
    )
    step = host("ProfilerStep#3", 20.0 + window[0], 20.0 + window[1])
    events = [
        kernel(name, 20.0 + begin, 20.0 + begin + lasting, stream=number, category=category)
        for name, category, spans in kinds
        for number, (begin, lasting) in enumerate(spans, 100 * len(name))
    ]
    computed = intervals(trace([host("aten::mm", 0.0, 19.0, category="cpu_op"), step, *events]))
    found = overlap(computed, 3)
    c, m, k = (ticks(spans, window) for spans in (computing, communicating, copying))
    if not computing:  # nothing was computed on a device: then the processor's operators count, of which none is in the window
        assert found.compute_ns == 0
    assert found.window_ns == (window[1] - window[0]) * TICK
    assert (found.total_ns, found.hidden_ns, found.exposed_ns) == (len(m) * TICK, len(m & c) * TICK, len(m - c) * TICK)
    assert (found.compute_ns, found.copy_ns) == (len(c) * TICK, len(k - m - c) * TICK)
    assert found.exposed_ns + found.compute_ns + found.copy_ns + found.idle_ns == found.window_ns
    assert found.idle_ns >= 0


CALLS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), min_size=1, max_size=5)


STEPS = st.lists(
    st.tuples(CALLS, st.lists(st.tuples(st.integers(-10, 10), st.integers(0, 20)), min_size=5, max_size=5), st.integers(0, 90)),
    min_size=1,
    max_size=6,
)


def recorded(steps: Any, apart: tuple[int, int]) -> Communicated:
    """Two ranks; of each step the calls (begin, duration) of rank 0, by how much rank 1's differ, and what both say was exposed."""
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    for rank in (0, 1):
        made.steps(number, rank=rank, seconds=[0.1] * len(steps))
        for step, (calls, others, exposed) in enumerate(steps):
            origin = made.begin[number] + step * 100_000_000 + apart[rank]
            for place, (begin, lasting) in enumerate(calls):
                later, longer = others[place] if rank else (0, 0)
                at = origin + (begin + later + 10) * TICK
                made.rows["collectives"].append(
                    (
                        number,
                        rank,
                        0,
                        "0",
                        10 * step + place,
                        step,
                        "all_reduce",
                        2,
                        100,
                        "float32",
                        "",
                        None,
                        at,
                        at + (lasting + longer) * TICK,
                        None,
                        None,
                        None,
                        "host",
                    )
                )
            made.rows["communication"].append((number, rank, 0, step, "group", None, exposed * TICK, None, 100 * len(calls)))
    return made.measured().communicated


@settings(max_examples=12, deadline=None)
@given(steps=STEPS)
def test_recorded_collectives_divide_into_transfer_and_waiting(steps: Any) -> None:
    """Each call transfers for as long as the rank that needed least; rank 1 never needs less than rank 0 here."""
    found = recorded(steps, (0, 0))
    again = recorded(steps, (0, 10**15))  # its host's clock is days off
    assert again.calls.equals(found.calls)
    assert again.ways.equals(found.ways)
    for row in found.calls.rows(named=True):
        calls, others, _ = steps[row["step"]]
        moved = [
            (begin + (others[n][0] if row["rank"] else 0), lasting + (others[n][1] if row["rank"] else 0))
            for n, (begin, lasting) in enumerate(calls)
        ]
        least = [(begin + whole - lasting, lasting) for (begin, whole), (_, lasting) in zip(moved, calls, strict=True)]
        assert row["total_ns"] == len(ticks(moved, (-100, 200))) * TICK
        assert row["transfer_ns"] == len(ticks(least, (-100, 200))) * TICK
        assert 0 <= row["transfer_ns"] <= row["total_ns"] <= row["sum_ns"]
        assert row["wait_ns"] == row["total_ns"] - row["transfer_ns"]
        assert row["calls"] == len(calls)
    for way in found.ways.rows(named=True):
        assert 0.0 <= way["exposed_s"] <= way["total_s"] + 1e-12
        assert way["compute_s"] == pytest.approx(0.1 - way["exposed_s"], abs=1e-9) or len(steps) > 1
