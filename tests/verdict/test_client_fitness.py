"""Is a client called fit, noisy or unfit by its calibration, and does the text say who was the limit?"""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.verdict.fitness import examine_client, inadmissible, whole

GOOD = {"p50": 0.05, "p99": 0.4, "max": 3.0}
CEILING: dict[str, Any] = {
    "streams": 64,
    "tokens": 32,
    "requests": {"measured": 9000.0, "reachable": 9000.0, "limited_by": "client", "client_cores": 0.98},
    "chunks": {"measured": 150_000.0, "reachable": 300_000.0, "limited_by": "server", "client_cores": 0.5},
}


def one(streams: int = 32, **changes: Any) -> dict[str, Any]:
    return {
        "streams": streams,
        "requests": 240,
        "ttft_ms": GOOD,
        "itl_ms": GOOD,
        "told_ms": {"p50": 50.0, "p99": 51.0, "max": 52.0},
        "unsure_ms": GOOD,
        "within": 1.0,
        "unpaired": 0,
        "foreign_cores": 0.0,
        **changes,
    }


def test_a_client_within_the_limits_is_fit_and_nothing_is_to_be_mended() -> None:
    checks = examine_client([one(1), one(512)], CEILING, GOOD)
    assert whole(checks) == "fit"
    assert not any(check.mend for check in checks)
    assert [check.name for check in checks] == [
        "TTFT at 1 stream",
        "ITL at 1 stream",
        "TTFT at 512 streams",
        "ITL at 512 streams",
        "uncertainty at 1 stream",
        "uncertainty at 512 streams",
        "ceiling, requests",
        "ceiling, chunks",
        "timer",
    ]


@pytest.mark.parametrize(
    ("p50", "p99", "fitness"),
    [(0.2, 1.0, "fit"), (0.21, 0.5, "noisy"), (0.1, 1.1, "noisy"), (1.0, 5.0, "noisy"), (1.1, 1.2, "unfit"), (0.1, 5.1, "unfit")],
)
def test_either_percentile_decides(p50: float, p99: float, fitness: str) -> None:
    found = examine_client([one(ttft_ms={"p50": p50, "p99": p99, "max": 9.0})], None, None)
    assert found[0].fitness == fitness
    assert bool(found[0].mend) is (fitness != "fit")


def test_who_disturbed_the_calibration_is_told_before_anything_else_is_advised() -> None:
    bad = {"p50": 0.1, "p99": 4.0, "max": 9.0}
    disturbed, alone, crowded = (
        examine_client([one(streams, ttft_ms=bad, foreign_cores=foreign)], None, None)[0]
        for streams, foreign in ((32, 0.8), (1, 0.0), (512, None))
    )
    assert disturbed.mend.startswith("end other programs")
    assert "other programs used 0.80 cores" in disturbed.evidence
    assert "idle states" in alone.mend
    assert "--processes" in crowded.mend


def test_a_ceiling_that_was_not_the_clients_is_called_at_least() -> None:
    requests, chunks = examine_client([], CEILING, None)
    assert requests.evidence == "one client process carries 9,000 requests per second at 64 streams of 32 tokens"
    assert "at least 150,000 chunks per second" in chunks.evidence
    assert "the reference server was the limit" in chunks.evidence
    assert "(50 % of a core) it would carry about 300,000" in chunks.evidence


def test_a_late_timer_is_no_more_than_noisy() -> None:
    (check,) = examine_client([], None, {"p50": 0.1, "p99": 90.0, "max": 99.0})
    assert check.fitness == "noisy"


def test_answers_that_were_not_what_was_sent_are_a_fault_of_ours() -> None:
    (check,) = (check for check in examine_client([one(unpaired=3)], None, None) if check.name == "answers")
    assert check.fitness == "unfit"


def test_nothing_measured_is_unknown() -> None:
    assert whole(examine_client([one(ttft_ms={}, itl_ms={}, unsure_ms={}, within=None)], None, None)) == "unknown"


UNSURE = {"p50": 40.0, "p99": 101.0, "max": 102.0}


def test_a_client_that_does_not_know_a_time_and_says_so_is_fit() -> None:
    """Stopped for 100 ms: its times are off by as much, and a record of them is INVALID."""
    off = one(32, disturbed="stopped", ttft_ms={"p50": 30.0, "p99": 90.0, "max": 90.0}, unsure_ms=UNSURE, within=0.996)
    (check,) = examine_client([], None, None, [off])
    assert (check.name, check.fitness, check.mend) == ("uncertainty at 32 streams, stopped repeatedly", "fit", "")
    assert check.evidence == (
        "a first token came within its own uncertainty in 99.6 % of 240 answers; p99 of the uncertainty 101.00 ms, for which a record is INVALID"
    )


def test_a_client_that_is_surer_than_it_may_be_is_unfit() -> None:
    (check,) = examine_client([], None, None, [one(32, disturbed="busy", within=0.989)])
    assert check.fitness == "unfit"
    assert "98.9 % of 240 answers" in check.evidence
    assert "understates its uncertainty" in check.mend


def test_a_client_that_says_nothing_of_its_uncertainty_is_not_known_to_be_right() -> None:
    (check,) = examine_client([], None, None, [one(32, within=None, unsure_ms={})])
    assert check.fitness == "unknown"


@pytest.mark.parametrize(("p99", "told", "found"), [(1.0, 10.0, False), (1.1, 10.0, True), (1.9, 100.0, False), (2.1, 100.0, True)])
def test_a_record_is_inadmissible_beyond_a_fiftieth_and_a_millisecond(p99: float, told: float, found: bool) -> None:
    run = one(32, unsure_ms={**GOOD, "p99": p99}, told_ms={"p50": told, "p99": told, "max": told})
    assert inadmissible(run) is found
