"""The sentinel times the same work every time; how much work that is was found when nothing disturbed it."""

from __future__ import annotations

from fireassay.clock import FakeClock
from fireassay.instruments.machine.sentinel import CHUNK, Sentinel, calibrated, work


def taking(clock: FakeClock, seconds_per_chunk: list[float]) -> object:
    """Work on a machine whose speed is what the list says, chunk by chunk; its last value holds from then on."""

    def do(rounds: int) -> None:
        for _ in range(rounds // CHUNK):
            clock.advance(seconds_per_chunk.pop(0) if len(seconds_per_chunk) > 1 else seconds_per_chunk[0])

    return do


def test_calibration_takes_the_fastest_chunk_so_that_a_disturbance_does_not_shorten_the_work() -> None:
    clock = FakeClock()
    found = calibrated(0.05, clock, taking(clock, [0.004, 0.001, 0.002, 0.001, 0.009, 0.001]))  # type: ignore[arg-type]
    assert found.rounds == 50 * CHUNK


def test_a_machine_that_got_slower_shows_in_the_reading() -> None:
    clock = FakeClock()
    speed = [0.001]
    sentinel = calibrated(0.01, clock, taking(clock, speed))  # type: ignore[arg-type]
    first = sentinel.read("before")
    speed[0] = 0.0015
    second = sentinel.read("after")
    assert (first.device, first.counter, first.value, first.unit, first.method) == ("sentinel", "before", 0.01, "s", "self")
    assert (second.counter, second.value) == ("after", 0.015)


def test_a_clock_that_stands_still_gives_the_least_work() -> None:
    assert calibrated(0.05, FakeClock()).rounds == CHUNK


def test_the_work_gives_the_same_for_the_same_rounds_and_holds_only_small_numbers() -> None:
    assert Sentinel(rounds=3, clock=FakeClock()).work(3) == work(3) == (1 + 21) + (((1 * 0.999 + 0.5) * 0.999 + 0.5) * 0.999 + 0.5)
    assert work(100_000) <= 127 + 500.0  # the float's fixed point: 0.5 / 0.001
