"""Does a launch last ten requests, and does the plan say beforehand what it cannot?"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from fireassay.api import load_fit
from fireassay.api.load_fit import fitted, may_change, needed
from fireassay.errors import WorkloadError
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import from_mapping


def asked(**serving: Any) -> Experiment:
    return from_mapping(
        {
            "name": "served",
            "workload": {"runner": "serving", "work": "tokens"},
            "serving": {"targets": [{"urls": ["http://127.0.0.1:9"]}], "concurrency": [1, 8], "arrivals": {"duration_s": 10.0}, **serving},
            "launches": {"per_configuration": 9},
        }
    )


@pytest.fixture
def takes(monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda seconds: monkeypatch.setattr(load_fit, "one_request", lambda *_: seconds)


def lengths(experiment: Experiment) -> tuple[float, int]:
    assert experiment.serving is not None
    return experiment.serving.arrivals.duration_s, experiment.launches.per_configuration


def test_a_launch_lasts_ten_requests_with_fewer_launches(takes: Any) -> None:
    takes(5.0)
    made, notes = fitted(asked(), fixed=False)
    assert lengths(made) == (50.0, 5)
    assert notes[0] == "one request takes 5 s, so a launch lasts 50 s instead of 10 s, 5 times."


@pytest.mark.parametrize(("seconds", "length"), [(1.2, (12.0, 8)), (1.5, (15.0, 6)), (2.0, (20.0, 5)), (30.0, (300.0, 5))])
def test_a_fit_never_measures_less_than_was_planned(takes: Any, seconds: float, length: tuple[float, int]) -> None:
    """9 x 10 s were planned: 8 x 12 s, 6 x 15 s, 5 x 20 s; never fewer than 5."""
    takes(seconds)
    made, _ = fitted(asked(), fixed=False)
    assert lengths(made) == length
    assert length[0] * length[1] >= 90.0


def test_a_plan_says_how_the_fit_may_change_it_and_nothing_else_does(takes: Any) -> None:
    assert may_change(asked(), fixed=False) == "5 to 9, and longer ones, where a request takes over 1 s"
    assert may_change(asked(), fixed=True) == ""
    quick = asked()
    quick = quick.model_copy(update={"launches": quick.launches.model_copy(update={"quick": True, "per_configuration": 1})})
    assert may_change(quick, fixed=False) == "up to 40 s long where a request takes over 1 s"
    takes(0.9)
    assert lengths(fitted(asked(), fixed=False)[0]) == (10.0, 9)


def test_what_the_user_fixed_stays_and_the_smallest_change_is_named(takes: Any) -> None:
    takes(5.0)
    made, notes = fitted(asked(), fixed=True)
    assert lengths(made) == (10.0, 9)
    assert "--duration 50s" in notes[0]


def test_a_quick_launch_stays_below_a_minute(takes: Any) -> None:
    takes(20.0)
    quick = asked()
    quick = quick.model_copy(update={"launches": quick.launches.model_copy(update={"quick": True, "per_configuration": 1})})
    made, notes = fitted(quick, fixed=False)
    assert lengths(made) == (40.0, 1)
    assert notes == ("one request takes 20 s, so a launch lasts 40 s instead of 10 s.",)
    assert fitted(quick, fixed=True)[1][0].endswith("--duration 40s is 2 of them.")


def test_short_requests_change_nothing(takes: Any) -> None:
    takes(0.05)
    made, notes = fitted(asked(), fixed=False)
    assert lengths(made) == (10.0, 9)
    assert notes == ()  # 1 in flight: 9 x 10 s / 0.05 s = 1,800 requests


def test_percentiles_that_the_requests_cannot_carry_are_named_with_what_does(takes: Any) -> None:
    """1 in flight: 9 launches x 10 s / 1 s = 90 requests; --duration has 5 launches: 1,000 take 200 s in each, 200 take 40 s."""
    takes(1.0)
    _, notes = fitted(asked(), fixed=False)
    assert notes == ("concurrency=1 sends about 90 requests in all; p99 needs 1,000: --duration 200s; p95 needs 200: --duration 40s.",)


def test_objectives_that_the_requests_cannot_show_are_named_before_the_load(takes: Any) -> None:
    """99 % needs 368 requests of which none misses: 0.99^368 < 0.025. 9 x 10 s / 0.45 s = 200."""
    takes(0.45)
    _, notes = fitted(asked(concurrency=[1], objectives={"ttft_s": 0.5}), fixed=False)
    assert notes[0].endswith("p99 needs 1,000: --duration 90s; 99 % within the objectives needs 368: --duration 34s.")
    _, notes = fitted(asked(concurrency=[1], objectives={"ttft_s": 0.5}), fixed=True)
    assert notes[0].endswith("p99 needs 1,000: --duration 50s; 99 % within the objectives needs 368: --duration 19s.")


def test_an_open_loop_sends_its_rate_whatever_a_request_takes(takes: Any) -> None:
    takes(0.5)
    _, notes = fitted(asked(concurrency=[], rate=[5.0], arrivals={"process": "poisson", "duration_s": 10.0}), fixed=False)
    assert notes == ("rate=5 sends about 450 requests in all; p99 needs 1,000: --duration 40s.",)


def test_an_engine_that_did_not_answer_leaves_the_plan_alone(takes: Any) -> None:
    takes(None)
    assert fitted(asked(), fixed=False)[1] == ()


def test_an_engine_that_stays_silent_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It accepts the connection and never answers: the load would wait far longer, without a word."""
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        silent = asked(targets=[{"urls": [url]}], client={"timeout_s": 0.3})
        with pytest.raises(WorkloadError, match=rf"{url} did not answer one request in 300 ms\n.*--request-timeout 2s"):
            fitted(silent, fixed=False)


def test_a_percentile_needs_ten_requests_beyond_it() -> None:
    assert (needed(99), needed(95)) == (1000, 200)
