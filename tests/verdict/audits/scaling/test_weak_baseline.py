"""weak_baseline: what the baseline was not given, and speedups that are too good."""

from __future__ import annotations

import pytest

from fireassay.verdict.claims.pitfalls import of_record
from tests.verdict.claiming import BASELINE, NOTHING, NUMBER, claim, found, the_finding
from tests.verdict.making import good, judged, rules


@pytest.mark.slow
def test_a_record_within_its_workers_is_clear_and_one_above_is_named() -> None:
    """Efficiency 0.9: within. 1.3 with a luck of 1 % from launch to launch: the whole interval is above 1."""
    assert rules(judged(good())) == {}
    judgement = judged(good(efficiency={2: 1.3}))
    assert rules(judgement) == {"speedup_above_workers": ["workers=2"]}
    assert judgement.verdict.findings[0].needs == ("strong_base",)


@pytest.mark.slow
def test_an_interval_that_reaches_below_1_proves_nothing() -> None:
    assert rules(judged(good(efficiency={2: 1.001}))) == {}


@pytest.mark.slow
def test_speed_that_the_samples_explain_is_not_blamed_on_the_base() -> None:
    made = good(efficiency={2: 1.3})
    made.rows["samples"] = [row for row in made.rows["samples"] if not (row[1] == 1 and row[4] == 0)]
    assert "speedup_above_workers" not in rules(judged(made))


@pytest.mark.slow
def test_a_record_cannot_tell_whether_another_program_is_faster_unless_the_experiment_says_so() -> None:
    made = good()
    state = {p.name: p for p in of_record(made.measured())}["weak_baseline"]
    assert state.state == "not examined"
    assert "another program is faster on one worker was not measured" in state.reason
    made.experiment = made.experiment.model_copy(update={"conditions": {"base_kind": "best_serial"}})
    states = {p.name: p.state for p in of_record(made.measured())}
    assert states["weak_baseline"] == "clear"


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("precision", ("fp32", "fp16")),
        ("compile", (False, True)),
        ("threads", (1, 8)),
        ("batch", (1, 256)),
        ("dtype", ("float32", "bfloat16")),
    ],
)
def test_a_side_that_was_given_less_makes_the_claim_inadmissible(key: str, values: tuple[object, object]) -> None:
    finding = the_finding(claim(baseline={key: values[0]}, candidate={key: values[1]}), "baseline_not_equally_optimised")
    assert finding.severity == "invalid"
    assert finding.needs == ("strong_base",)
    assert key in finding.evidence


def test_the_same_value_written_otherwise_is_the_same() -> None:
    assert found(claim(baseline={"precision": "BF16", "threads": 8.0})) == {}


def test_what_is_studied_may_differ() -> None:
    said = claim(baseline={"precision": "fp32"}, claim={"varying": ["precision"], "text": "x", "source": "y"})
    assert "baseline_not_equally_optimised" not in found(said)


@pytest.mark.parametrize(
    ("value", "interval", "named"), [(8.0, (7.9, 8.1), True), (8.5, (8.4, 8.6), True), (7.9, (7.8, 8.1), False), (6.0, (5.8, 6.2), False)]
)
def test_a_speedup_at_the_worker_count_or_above_is_a_red_flag(value: float, interval: tuple[float, float], named: bool) -> None:
    said = claim({"value": value, "interval": {"low": interval[0], "high": interval[1], "kind": "confidence"}})
    assert ("speedup_at_workers" in found(said)) is named


def test_the_ratio_of_workers_counts_and_not_their_number() -> None:
    """16 workers against 8: at most 2 times as fast."""
    change = {"value": 2.0, "workers": 16, "interval": {"low": 1.9, "high": 2.1}, "baseline": BASELINE | {"workers": 8, "kind": "one_node"}}
    assert found(claim(change))["speedup_at_workers"] == "warning"


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("one_worker", "best_serial_unsaid"),
        ("unknown", "baseline_kind_unsaid"),
        (NOTHING, "baseline_kind_unsaid"),
        ("best_serial", None),
        ("one_node", None),
    ],
)
def test_a_base_that_may_be_slower_than_the_best_serial_program_is_left_open(kind: object, rule: str | None) -> None:
    baseline = {key: value for key, value in {**BASELINE, "kind": kind}.items() if value is not NOTHING}
    assert found(claim({"baseline": baseline})) == ({rule: "note"} if rule else {})


def too_good(**changes: object) -> bool:
    return "speedup_at_workers" in found(claim({key: NOTHING if value is None else value for key, value in changes.items()}))


def test_an_efficiency_of_1_is_too_good_in_every_form() -> None:
    """The base does 100 items/s on 1 worker; the number is on 8."""
    ratio = {"value": 8.0, "interval": None}
    assert too_good(**ratio)
    assert too_good(metric="throughput ratio", **ratio)
    assert too_good(metric="times as fast", unit=None, **ratio)
    assert too_good(metric="throughput increase", unit="%", value=700, interval=None)
    assert too_good(metric="throughput", unit="items/s", value=800, interval=None)
    assert too_good(metric="efficiency", unit="fraction", value=1.04, interval=None)
    assert too_good(metric="parallel efficiency", unit="%", value=100, interval=None)
    assert too_good(metric="scaling efficiency", unit=None, value=101, interval=None)
    seconds = BASELINE | {"value": 2.0, "unit": "s"}
    assert too_good(metric="step time", unit="ms", value=250, interval=None, baseline=seconds)
    assert too_good(metric="step time", unit="s", value=1.9, interval=None, baseline=seconds, scaling="weak", global_batch=2048)
    assert too_good(metric="throughput", unit="items/s/GPU", value=100, interval=None, baseline=BASELINE | {"unit": "items/s/GPU"})


def test_what_is_below_the_workers_or_scales_nothing_is_not_too_good() -> None:
    assert not too_good(value=7.9, interval=None)
    assert not too_good(metric="throughput", unit="items/s", value=790, interval=None)
    assert not too_good(metric="efficiency", unit="%", value=97, interval=None)
    assert not too_good(value=9.5, interval=None, baseline={"kind": "other_system", "value": 100.0, "unit": "items/s"})
    assert not too_good(value=9.5, interval=None, baseline=BASELINE | {"kind": "other_system", "workers": 8})
    assert not too_good(metric="efficiency", unit="ratio", value=85, interval=None), "`units` names the missing percent sign"
    assert not too_good(metric="energy efficiency", unit="tokens/J", value=12, interval=None)
    assert not too_good(metric="step time", unit="s", value=1.9, interval=None, baseline=BASELINE | {"value": 2.0, "unit": "s"})


def test_two_numbers_on_different_workers_have_an_efficiency() -> None:
    def numbers(most: float) -> list[dict[str, object]]:
        plain = {key: value for key, value in NUMBER.items() if key not in ("baseline", "interval", "scaling")}
        rate = plain | {"metric": "throughput", "unit": "items/s", "statistic": "median"}
        return [rate | {"workers": 1, "value": 100}, rate | {"workers": 8, "value": most}]

    assert "8 times as fast with 8 times the workers" in the_finding(claim(numbers=numbers(800)), "speedup_at_workers").evidence
    assert "speedup_at_workers" not in found(claim(numbers=numbers(700)))


def test_a_base_that_has_the_advantage_is_not_weak() -> None:
    assert "baseline_not_equally_optimised" not in found(claim(candidate={"compile": False}))
    assert found(claim(baseline={"compile": False}))["baseline_not_equally_optimised"] == "invalid"
    assert "baseline_not_equally_optimised" not in found(claim(baseline={"precision": "fp8"}))
    assert found(claim(baseline={"precision": "float32"}))["baseline_not_equally_optimised"] == "invalid"
