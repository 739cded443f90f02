"""A timer fires once, not before its time; setting it again replaces the time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic_ns, thread_time_ns

import pytest
import uvloop

from fireassay.traffic.client import timer as timer_module
from fireassay.traffic.client.timer import Timer

pytestmark = pytest.mark.slow


MS = 1_000_000


def fired(use: Callable[[Timer], None], *, times: int, fine: bool, monkeypatch: pytest.MonkeyPatch, awake_ns: int = 0) -> list[int]:
    """When a timer fired, until it has so often, or nothing came for a while."""
    if not fine:
        monkeypatch.setattr(timer_module, "_timerfd", lambda: (-1, None))

    async def run() -> list[int]:
        found: list[int] = []
        enough = asyncio.Event()

        def fire() -> None:
            found.append(monotonic_ns())
            if len(found) >= times:
                enough.set()

        timer = Timer(asyncio.get_running_loop(), fire, awake_ns)
        assert timer.fine is fine
        use(timer)
        await enough.wait()
        await asyncio.sleep(0.03)
        timer.close()
        return found

    return uvloop.run(run())


@pytest.mark.parametrize("fine", [True, False])
def test_it_fires_once_and_never_early(fine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    at = monotonic_ns() + 20 * MS
    (found,) = fired(lambda timer: timer.set(at), times=1, fine=fine, monkeypatch=monkeypatch)
    assert found >= at


@pytest.mark.parametrize("fine", [True, False])
def test_a_time_that_has_passed_fires_at_once(fine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(fired(lambda timer: timer.set(1), times=1, fine=fine, monkeypatch=monkeypatch)) == 1


@pytest.mark.parametrize("fine", [True, False])
def test_a_later_setting_replaces_the_earlier(fine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    now = monotonic_ns()

    def use(timer: Timer) -> None:
        timer.set(now + 3600 * 1000 * MS)
        timer.set(now + 20 * MS)

    (found,) = fired(use, times=1, fine=fine, monkeypatch=monkeypatch)
    assert found >= now + 20 * MS


@pytest.mark.parametrize("fine", [True, False])
def test_waiting_awake_it_is_not_early_either(fine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    at = monotonic_ns() + 30 * MS
    (found,) = fired(lambda timer: timer.set(at), times=1, fine=fine, monkeypatch=monkeypatch, awake_ns=10 * MS)
    assert found >= at


def test_it_waits_awake_for_a_twentieth_of_the_time_at_most() -> None:
    """Times 2 ms apart, 1 ms awake before each: were it so for each, half of the time would be spent."""

    async def run() -> tuple[float, int]:
        left, begin = 100, monotonic_ns()
        done = asyncio.Event()

        def fire() -> None:
            nonlocal left
            left -= 1
            if left:
                timer.set(monotonic_ns() + 2 * MS)
            else:
                done.set()

        timer = Timer(asyncio.get_running_loop(), fire, MS)
        if not timer.fine:
            pytest.skip("no timerfd")
        spent = thread_time_ns()
        timer.set(begin + 2 * MS)
        await done.wait()
        timer.close()
        return (thread_time_ns() - spent) / (monotonic_ns() - begin), left

    share, left = uvloop.run(run())
    assert left == 0
    assert share < 0.3
