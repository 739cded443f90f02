"""Claims: method."""

from __future__ import annotations

from typing import Any

import pytest

from tests.verdict.claiming import BASELINE, LATENCY, NOTHING, NUMBER, THROUGHPUT, claim, found, the_finding


@pytest.mark.slow
@pytest.mark.parametrize(("said", "expected"), [(True, {}), (False, {"cold_start": "warning"}), (NOTHING, {"warm_up_unsaid": "note"})])
def test_a_claim_says_whether_the_cold_start_is_in_it(said: object, expected: dict[str, str]) -> None:
    assert found(claim({"warm_up_excluded": said})) == expected


@pytest.mark.slow
def test_a_claim_that_says_that_nobody_waited_is_inadmissible() -> None:
    assert found(claim({"synchronised": False})) == {"clock_read_early": "invalid"}


@pytest.mark.slow
def test_a_claim_about_a_device_must_say_it_and_one_about_processors_need_not() -> None:
    assert found(claim({"synchronised": NOTHING})) == {"synchronisation_unsaid": "note"}
    cpu = {"hardware": "two Xeons"}
    assert found(claim({"synchronised": NOTHING}, baseline=cpu, candidate=cpu)) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "expected"), [(False, {}), (True, {"data_loading_timed": "warning"}), (NOTHING, {"data_loading_unsaid": "note"})]
)
def test_a_claim_says_whether_loading_was_timed(said: object, expected: dict[str, str]) -> None:
    assert found(claim({"data_loading_timed": said})) == expected


@pytest.mark.slow
def test_requests_bring_their_data_with_them() -> None:
    number = {key: value for key, value in NUMBER.items() if key != "data_loading_timed"}
    assert found(claim(numbers=[number], slo={"objective": "x", "met": True})) == {}


SLO = {"objective": "p99 latency of at most 300 ms", "metric": "latency", "limit": 0.3}


def served(latency: float = 0.2, **sections: Any) -> Any:
    bounds = {"low": latency * 0.9, "high": latency * 1.1, "kind": "confidence"}
    return claim(numbers=[THROUGHPUT, LATENCY | {"value": latency, "interval": bounds}], **sections)


def test_an_objective_that_a_published_number_breaks_makes_the_throughput_inadmissible() -> None:
    finding = the_finding(served(4.0, slo=SLO), "objective_not_met")
    assert finding.severity == "invalid"
    assert finding.needs == ("goodput",)
    assert "4 s, the limit is 0.3 s" in finding.evidence


def test_an_objective_that_is_said_not_to_be_met_does_so_too() -> None:
    assert found(served(slo={"objective": "x", "met": False}))["objective_not_met"] == "invalid"


def test_an_objective_that_is_met_is_clear_and_one_that_is_not_said_is_left_open() -> None:
    assert found(served(slo=SLO)) == {}
    assert found(served(slo={"objective": "x", "met": True})) == {}
    assert found(served(slo={"objective": "x"})) == {"objective_met_unsaid": "note"}
    assert found(served()) == {"objective_unsaid": "note"}


def test_a_training_throughput_needs_no_objective() -> None:
    assert found(claim(numbers=[THROUGHPUT | {"unit": "samples/s"}])) == {}


def wait(value: float, statistic: str, **changes: Any) -> dict[str, Any]:
    bounds = {"low": value * 0.99, "high": value * 1.01, "kind": "confidence"}
    return LATENCY | {"value": value, "statistic": statistic, "interval": bounds} | changes


def objective(*waits: dict[str, Any], **slo: Any) -> dict[str, str]:
    return {
        rule: severity
        for rule, severity in found(claim(numbers=[THROUGHPUT, *waits], slo=SLO | slo)).items()
        if rule.startswith("objective")
    }


@pytest.mark.parametrize(
    ("waits", "expected"),
    [
        ([(0.25, "p99"), (0.41, "p999")], {}),  # the objective is on the p99
        ([(0.28, "p999")], {}),  # implies the p99
        ([(0.28, "max")], {}),
        ([(0.41, "p999")], {"objective_met_unsaid": "note"}),
        ([(0.2, "p90")], {"objective_answered_by_less": "warning"}),
        ([(0.2, "mean")], {"objective_answered_by_less": "warning"}),
        ([(0.2, "median")], {"objective_answered_by_less": "warning"}),
        ([(0.35, "p95")], {"objective_not_met": "invalid"}),  # then the p99 is above as well
        ([(0.35, "mean")], {"objective_not_met": "invalid"}),
        ([(0.298, "p99")], {"objective_undecided": "note"}),  # its interval reaches over the limit
    ],
)
def test_a_percentile_answers_for_lower_ones_only(waits: list[tuple[float, str]], expected: dict[str, str]) -> None:
    assert objective(*(wait(value, statistic) for value, statistic in waits)) == expected


def test_a_lower_percentile_beside_an_objective_that_is_said_to_be_met_is_left_open() -> None:
    assert objective(wait(0.2, "p90"), met=True) == {"objective_answered_by_less": "note"}


def test_the_limit_is_read_in_its_own_unit() -> None:
    assert objective(wait(0.25, "p99"), limit=300) == {}, "300 ms, as the objective says"
    assert objective(wait(0.9, "p99"), limit=300) == {"objective_not_met": "invalid"}
    assert objective(wait(250.0, "p99", unit="ms"), limit=0.3, unit="s") == {}
    assert objective(wait(350.0, "p99", unit="ms"), limit=0.3, unit="s") == {"objective_not_met": "invalid"}
    assert objective(wait(0.35, "p99"), objective="a p99 of at most 300 ms") == {"objective_not_met": "invalid"}


def test_the_limited_metric_has_many_names_and_the_statistic_may_be_said() -> None:
    assert objective(wait(0.9, "p99", metric="time to first token"), metric="TTFT") == {"objective_not_met": "invalid"}
    assert objective(wait(0.2, "p90"), objective="fast", statistic="p99") == {"objective_answered_by_less": "warning"}


def test_a_floor_is_kept_from_above() -> None:
    floor = {"objective": "at least 30 tokens/s per user", "metric": "speed per user", "limit": 30}
    for value, expected in ((45.0, {}), (20.0, {"objective_not_met": "invalid"})):
        speed = THROUGHPUT | {
            "metric": "speed per user",
            "value": value,
            "interval": {"low": value, "high": value + 1, "kind": "confidence"},
        }
        assert objective(speed, **floor) == expected


@pytest.mark.parametrize(
    ("words", "statistic", "expected"),
    [
        ("99% of requests within 300 ms", "p99", {}),
        ("99 % of requests within 300 ms", "p90", {"objective_answered_by_less": "warning"}),
        ("99.9% of requests within 300 ms", "p99", {"objective_answered_by_less": "warning"}),
    ],
)
def test_a_share_of_requests_is_a_percentile(words: str, statistic: str, expected: dict[str, str]) -> None:
    assert objective(wait(0.2, statistic), objective=words) == expected


def test_a_goodput_in_percent_of_time_needs_no_objective() -> None:
    goodput = THROUGHPUT | {"metric": "goodput", "unit": "%", "value": 96.2, "interval": {"low": 96, "high": 96.4, "kind": "confidence"}}
    assert found(claim(numbers=[goodput])) == {}


@pytest.mark.parametrize("metric", ["time to train", "training time", "time to accuracy"])
def test_the_time_of_a_whole_training_includes_its_loading_and_its_cold_start(metric: str) -> None:
    base = BASELINE | {"value": 60.0, "unit": "min"}
    number = NUMBER | {
        "metric": metric,
        "value": 10.0,
        "unit": "min",
        "baseline": base,
        "interval": {"low": 9.8, "high": 10.2, "kind": "confidence"},
    }
    said = claim(number | {"statistic": "median", "data_loading_timed": True, "warm_up_excluded": False})
    assert not {"data_loading_timed", "cold_start"} & set(found(said))
    step = number | {"metric": "step time", "unit": "ms", "baseline": base | {"unit": "ms"}, "data_loading_timed": True}
    assert "data_loading_timed" in found(claim(step))
