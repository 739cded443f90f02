"""mlperf: duration and counts of its scenarios; counts are those of the MLCommons inference rules."""

from __future__ import annotations

import pytest

from tests.serving_made import ServingMade
from tests.verdict.served import clean, found

pytestmark = pytest.mark.slow


def run(process: str, queries: int, *, seconds: float = 600.0, late: int = 0, **asked: object) -> ServingMade:
    """So many requests evenly over the time; each takes 0.1 s, `late` of them 1 s to the first token."""
    made = ServingMade(process=process, rate=(1.0,) if process == "server" else (), blocks=1, seconds=seconds, **asked)
    launch = made.launch(wall_s=seconds + 10.0)
    for place in range(queries):
        slow = 1.0 if place < late else 0.1
        made.request(launch, seconds * place / max(1, queries - 1), at_s=[slow], tokens_out=1)
    return made


def evidence(made: ServingMade) -> tuple[str, str]:
    (finding,) = found("mlperf", made.measured())
    assert finding.severity == "note"
    return finding.rule, finding.evidence


def test_other_arrivals_are_not_mlperfs() -> None:
    assert found("mlperf", clean()) == ()


def test_a_short_run_is_not_one_of_mlperf() -> None:
    rule, words = evidence(run("single_stream", 100, seconds=30.0))
    assert rule == "mlperf_not_valid"
    assert words == "MLPerf SingleStream would not accept this run: a launch lasts 30.1 s, at least 600 s are required"


def test_single_stream_needs_64_queries_and_multi_stream_662() -> None:
    assert evidence(run("single_stream", 64))[0] == "mlperf_valid"
    assert "63 queries, the early stopping of a p90 needs at least 64" in evidence(run("single_stream", 63))[1]
    assert evidence(run("multi_stream", 662))[0] == "mlperf_valid"
    assert "661 queries, the early stopping of a p99 needs at least 662" in evidence(run("multi_stream", 661))[1]


def test_a_server_run_needs_more_queries_the_more_are_late() -> None:
    """p99: 459 without a late one, 662 with one."""
    asked = {"objectives": {"ttft_s": 0.5}}
    assert evidence(run("server", 459, **asked))[0] == "mlperf_valid"
    assert "0 of 458 queries were over the latency bound, which needs at least 459" in evidence(run("server", 458, **asked))[1]
    assert evidence(run("server", 662, late=1, **asked))[0] == "mlperf_valid"
    assert "1 of 661 queries were over the latency bound, which needs at least 662" in evidence(run("server", 661, late=1, **asked))[1]


def test_a_server_run_without_a_bound_is_none() -> None:
    assert "no latency bound is set" in evidence(run("server", 662))[1]


def test_offline_needs_its_samples() -> None:
    assert "600 samples, at least 24,576 are required" in evidence(run("offline", 600, arrivals={"requests": 600}))[1]
