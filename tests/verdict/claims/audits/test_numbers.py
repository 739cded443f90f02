"""Do the published numbers add up, in their units, and relative to what?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.verdict.claiming import BASELINE, LATENCY, NOTHING, NUMBER, THROUGHPUT, claim, found, the_finding

# ---- arithmetic ----
# arithmetic: contradictory numbers, and numbers that cannot be.

RATE: dict[str, Any] = {key: value for key, value in NUMBER.items() if key not in ("baseline", "interval", "scaling")} | {
    "metric": "throughput",
    "unit": "items/s",
    "statistic": "median",
}


@pytest.mark.parametrize(("rate", "contradicts"), [(600.0, False), (615.0, False), (450.0, True), (800.0, True)])
def test_a_speedup_is_the_ratio_of_the_rates_beside_it(rate: float, contradicts: bool) -> None:
    """6.0 times the base's 100 items/s."""
    assert ("numbers_contradict" in found(claim(numbers=[NUMBER, RATE | {"value": rate}]))) is contradicts


def test_times_and_percent_are_ratios_too() -> None:
    seconds = NUMBER | {"baseline": BASELINE | {"value": 2.0, "unit": "s"}}
    step = RATE | {"metric": "step time", "unit": "ms"}
    assert "numbers_contradict" not in found(claim(numbers=[seconds, step | {"value": 333.0}]))
    assert "numbers_contradict" in found(claim(numbers=[seconds, step | {"value": 500.0}]))
    more = NUMBER | {
        "metric": "improvement",
        "unit": "%",
        "value": 60,
        "interval": {"low": 58, "high": 62},
        "baseline": BASELINE | {"value": 39.0},
    }
    assert "numbers_contradict" not in found(claim(numbers=[more, RATE | {"value": 62.4}]))


@pytest.mark.parametrize(("efficiency", "unit", "contradicts"), [(75.0, "%", False), (0.75, "ratio", False), (90.0, "%", True)])
def test_an_efficiency_is_the_speedup_over_the_workers(efficiency: float, unit: str, contradicts: bool) -> None:
    """6 times on 8 workers."""
    own = NUMBER | {
        "metric": "efficiency",
        "value": efficiency,
        "unit": unit,
        "interval": {"low": efficiency * 0.99, "high": efficiency * 1.01},
    }
    assert ("numbers_contradict" in found(claim(numbers=[NUMBER, own]))) is contradicts


def test_percentiles_rise_with_their_level() -> None:
    def waits(median: float, unit: str) -> dict[str, str]:
        bounds = {"low": median * 0.99, "high": median * 1.01, "kind": "confidence"}
        return found(claim(numbers=[LATENCY, LATENCY | {"statistic": "median", "value": median, "unit": unit, "interval": bounds}]))

    assert "numbers_contradict" in waits(0.3, "s")
    assert "numbers_contradict" not in waits(0.1, "s")
    assert "numbers_contradict" not in waits(120.0, "ms"), "120 ms are below 0.2 s"


def test_goodput_is_a_part_and_rates_per_worker_add_up() -> None:
    goodput = RATE | {"metric": "goodput", "unit": "requests/s", "value": 60.0}
    assert "numbers_contradict" in found(claim(numbers=[goodput, RATE | {"unit": "requests/s", "value": 44.0}]))
    each = RATE | {"unit": "tokens/s/GPU", "value": 3100.0}
    assert (
        "add up to 24800; the published total is 18000"
        in the_finding(claim(numbers=[each, RATE | {"unit": "tokens/s", "value": 18000.0}]), "numbers_contradict").evidence
    )
    assert "numbers_contradict" not in found(claim(numbers=[each, RATE | {"unit": "tokens/s", "value": 24800.0}]))


@pytest.mark.parametrize(
    ("number", "impossible"),
    [
        ({"metric": "MFU", "unit": "%", "value": 108.0}, True),
        ({"metric": "MFU", "unit": "ratio", "value": 1.08}, True),
        ({"metric": "MFU", "unit": "%", "value": 58.0}, False),
        ({"metric": "latency reduction", "unit": "%", "value": 130.0}, True),
        ({"metric": "latency reduction", "unit": "%", "value": 60.0}, False),
        ({"metric": "latency reduction", "unit": "x", "value": 3.7}, False),
        ({"metric": "step time", "unit": "s", "value": -1.0}, True),
        ({"metric": "improvement", "unit": "%", "value": -3.0}, False),
        ({"metric": "accuracy", "value": 101.0}, True),
        ({"metric": "accuracy", "value": 0.9}, False),
        ({"metric": "GPU utilization", "unit": "%", "value": 97.0}, False),
        ({"launches": 5, "trials": 3}, True),
    ],
)
def test_what_cannot_be_is_named(number: dict[str, Any], impossible: bool) -> None:
    said = claim({"interval": NOTHING, "baseline": NOTHING} | number)
    assert ("impossible_value" in found(said)) is impossible


def test_a_score_above_everything_is_impossible() -> None:
    assert found(claim(quality={"baseline": 101.0, "candidate": 101.0, "margin": 0.5}))["impossible_value"] == "invalid"


# ---- units ----
# units: points and fractions, totals and rates per GPU, units that a metric cannot have.


@pytest.mark.parametrize(
    ("scores", "confused"),
    [
        ({"baseline": 0.902, "candidate": 0.899, "margin": 0.5}, True),
        ({"baseline": 90.2, "candidate": 89.9, "margin": 0.005}, True),
        ({"baseline": 0.871, "candidate": 86.9, "margin": 0.01}, True),
        ({"baseline": 90.2, "candidate": 89.9, "margin": 0.5}, False),
        ({"baseline": 0.902, "candidate": 0.899, "margin": 0.005}, False),
        ({"metric": "perplexity", "baseline": 12.0, "candidate": 12.0, "margin": 0.01}, False),
        ({"baseline": 90.0, "candidate": 80.0, "margin": 50}, True),
        ({"metric": "F1", "baseline": 0.88, "candidate": 88.0}, True),
        ({"metric": "loss", "baseline": 0.9, "candidate": 0.9, "margin": 0.5}, False),
    ],
)
def test_scores_and_margin_are_on_one_scale(scores: dict[str, Any], confused: bool) -> None:
    rules = found(claim(quality=scores))
    assert ("score_scales_differ" in rules) is confused
    assert not confused or "quality_lost" not in rules, "a loss on two scales is none"


def test_the_sentence_names_the_keys_and_what_to_do() -> None:
    finding = the_finding(claim(quality={"margin": 0.5}), "score_scales_differ")
    assert "quality.margin = 0.5 would allow 50 points" in finding.evidence
    assert "on one scale" in finding.remedy


@pytest.mark.parametrize(
    ("unit", "base", "wrong"),
    [
        ("tokens/s", "tokens/s/GPU", "per worker"),
        ("total tokens/s", "output tokens/s", "output tokens"),
        ("tokens/s", "requests/s", "requests"),
        ("tokens/s", "s", "a time"),
        ("tok/s", "tokens per second", ""),
        ("GB/s", "Gbit/s", ""),
        ("items/s", "images/s", ""),
        ("frobs", "tokens/s", ""),
        ("J/token", "kWh", "a total"),
        ("USD/million tokens", "USD", "a total"),
    ],
)
def test_both_sides_count_the_same(unit: str, base: str, wrong: str) -> None:
    said = claim({"metric": "throughput", "unit": unit, "baseline": BASELINE | {"unit": base}})
    assert ("units_of_sides_differ" in found(said)) is bool(wrong)
    assert not wrong or wrong in the_finding(said, "units_of_sides_differ").evidence


@pytest.mark.parametrize(
    ("metric", "unit", "value", "wrong"),
    [
        ("latency", "tokens/s", 45.0, True),
        ("throughput", "ms", 45.0, True),
        ("speedup", "s", 6.0, True),
        ("efficiency", "%", 0.85, True),
        ("efficiency", "ratio", 85.0, True),
        ("MFU", "%", 0.41, True),
        ("accuracy", "%", 0.87, True),
        ("latency", "ms", 45.0, False),
        ("efficiency", "%", 85.0, False),
        ("efficiency", NOTHING, 85.0, False),
        ("improvement", "%", 0.5, False),
    ],
)
def test_a_metric_has_a_unit_of_its_own(metric: str, unit: Any, value: float, wrong: bool) -> None:
    number = {"metric": metric, "unit": unit, "value": value, "interval": NOTHING, "baseline": NOTHING}
    assert ("unit_of_another_metric" in found(claim(number))) is wrong


def test_a_limit_in_another_unit_is_named() -> None:
    wait = {"metric": "latency", "value": 0.2, "unit": "s", "statistic": "p99", "trials": 5000}
    said = claim(numbers=[wait], slo={"objective": "fast", "metric": "latency", "limit": 30, "unit": "tokens/s"})
    assert found(said)["limit_in_another_unit"] == "invalid"


def test_a_score_and_its_base_are_on_one_scale_too() -> None:
    score = {"metric": "accuracy", "value": 88.0, "unit": "%", "run": "r1"}
    assert "score_scales_differ" in found(claim(numbers=[NUMBER, score | {"baseline": {"value": 0.92}}]))
    assert "score_scales_differ" not in found(claim(numbers=[NUMBER, score | {"baseline": {"value": 0.92, "unit": "fraction"}}])), (
        "they convert"
    )


# ---- ratio summary ----
# ratio_summary: HPL at 10, 100 and 40 s for 100 Gflop each is 2 Gflop/s, not 4.5 (Hoefler & Belli, rule 3): a mean has its kind.


@pytest.mark.parametrize(
    ("of", "mean", "expected"),
    [
        ("times", "arithmetic", {}),
        ("rates", "harmonic", {}),
        ("rates", "total", {}),
        ("ratios", "total", {}),
        ("ratios", "arithmetic", {"mean_of_ratios": "invalid"}),
        ("ratios", "harmonic", {"mean_of_ratios": "invalid"}),
        ("percentages", "arithmetic", {"mean_of_ratios": "invalid"}),
        ("ratios", "geometric", {"geometric_mean_of_ratios": "warning"}),
        ("rates", "arithmetic", {"wrong_mean": "invalid"}),
        ("times", "geometric", {"wrong_mean": "invalid"}),
    ],
)
def test_each_kind_of_number_has_its_mean(of: str, mean: str, expected: dict[str, str]) -> None:
    assert found(claim({"summary": {"of": of, "mean": mean, "workloads": 3}})) == expected


def test_the_evidence_says_what_was_averaged() -> None:
    said = claim({"summary": {"of": "ratios", "mean": "arithmetic", "workloads": 3}})
    assert the_finding(said, "mean_of_ratios").evidence == "an arithmetic mean of ratios over 3 workloads"


def test_a_number_of_one_workload_is_no_summary() -> None:
    assert found(claim()) == {}


# ---- absolute base ----
# absolute_base: no ratio without the value of its base, no number without its unit (Hoefler & Belli, rule 1).


@pytest.mark.parametrize("key", ["value", "unit"])
def test_a_speedup_without_the_absolute_value_of_its_base_is_named(key: str) -> None:
    finding = the_finding(claim({"baseline": {k: v for k, v in BASELINE.items() if k != key}}), "base_not_absolute")
    assert (finding.severity, finding.needs) == ("warning", ("base_value",))


def test_a_speedup_without_any_base_is_named() -> None:
    assert found(claim({"baseline": NOTHING, "global_batch": NOTHING}))["base_not_absolute"] == "warning"


def test_a_number_without_a_unit_is_named() -> None:
    numbers = [{key: value for key, value in THROUGHPUT.items() if key != "unit"}]
    assert found(claim(numbers=numbers)) == {"unit_missing": "warning"}


def test_a_score_needs_no_unit_and_the_whole_claim_is_clear() -> None:
    assert found(claim(numbers=[{"metric": "accuracy", "value": 0.9}])) == {}
    assert found(claim()) == {}


@pytest.mark.parametrize(
    ("rate", "conditions", "contradicts"),
    [
        (640.0, {"batch": 8}, True),  # 8 tokens each 100 ms are 80 tokens/s
        (80.0, {"batch": 8}, False),
        (70.0, {"concurrency": 8}, False),  # less than they could
        (640.0, {}, False),  # nobody said how many sequences
    ],
)
def test_sequences_cannot_generate_more_than_a_token_in_the_time_of_one(rate: float, conditions: dict[str, Any], contradicts: bool) -> None:
    time = LATENCY | {"metric": "TPOT", "value": 100.0, "unit": "ms", "statistic": "mean", "interval": NOTHING, "conditions": conditions}
    tokens = {
        "metric": "output token throughput",
        "value": rate,
        "unit": "tokens/s",
        "statistic": "mean",
        "run": "r1",
        "conditions": conditions,
    }
    said = claim(numbers=[{k: v for k, v in time.items() if v is not NOTHING}, tokens])
    assert ("numbers_contradict" in found(said)) is contradicts
