"""A stop is noted, not thrown into the middle of a write; only the third one is."""

from __future__ import annotations

import signal
import threading

import pytest

from fireassay.errors import Interrupted
from fireassay.runners.experiment.context import listening


def test_the_first_two_signals_are_noted_and_the_third_is_thrown() -> None:
    with listening() as stop:
        signal.raise_signal(signal.SIGTERM)
        assert (stop.count, stop.reason) == (1, "a termination signal")
        signal.raise_signal(signal.SIGINT)
        assert (stop.count, stop.reason) == (2, "a termination signal")
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_computation_that_cannot_poll_is_left_at_the_first_signal() -> None:
    with listening() as stop:
        with pytest.raises(Interrupted), stop.at_once():
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)  # while what was computed so far is put away
        assert (stop.count, stop.reason) == (2, "Ctrl-C")
        with pytest.raises(Interrupted), stop.at_once():
            pytest.fail("it was begun after the stop")


def test_after_a_computation_signals_are_noted_again() -> None:
    with listening() as stop:
        with stop.at_once():
            pass
        signal.raise_signal(signal.SIGINT)
        assert stop.count == 1


def test_the_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with listening():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


def test_a_signal_that_was_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with listening() as stop:
            signal.raise_signal(signal.SIGHUP)
            assert stop.count == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_outside_the_main_thread_nothing_is_installed() -> None:
    seen: list[int] = []

    def body() -> None:
        with listening() as stop:
            seen.append(stop.count)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert seen == [0]
