"""Claims: comparison."""

from __future__ import annotations

import pytest

from tests.verdict.claiming import BASELINE, NOTHING, NUMBER, claim, found, the_finding

COST = {
    "metric": "cost",
    "value": 3.0,
    "unit": "USD",
    "statistic": "median",
    "launches": 5,
    "interval": {"low": 2.9, "high": 3.1, "kind": "confidence"},
    "conditions": {"price": "2 USD per GPU-hour"},
}


def test_numbers_of_one_run_are_clear() -> None:
    assert found(claim(numbers=[NUMBER, COST | {"run": "r1"}])) == {}


def test_numbers_of_different_runs_are_inadmissible() -> None:
    finding = the_finding(claim(numbers=[NUMBER, COST | {"run": "r2"}]), "numbers_of_different_runs")
    assert finding.severity == "invalid"
    assert "r1; r2" in finding.evidence
    assert finding.needs == ("one_configuration",)


def test_conditions_of_the_numbers_that_differ_are_inadmissible() -> None:
    numbers = [NUMBER | {"conditions": {"seed": 7}}, COST | {"run": "r1", "conditions": {"seed": 3, "price": "2 USD per GPU-hour"}}]
    assert found(claim(numbers=numbers)) == {"conditions_of_numbers_differ": "invalid"}


def test_quality_is_to_be_measured_too_if_it_is_among_the_numbers() -> None:
    accuracy = {"metric": "accuracy", "value": 0.9, "run": "r2"}
    assert the_finding(claim(numbers=[NUMBER, accuracy]), "numbers_of_different_runs").needs == ("one_configuration", "quality")


def test_two_systems_may_have_their_own_runs_but_not_their_own_worker_counts() -> None:
    two = [NUMBER | {"of": "A", "run": "a"}, NUMBER | {"of": "B", "run": "b"}]
    what = {"text": "x", "source": "y", "varying": ["method"], "exclusive": True}
    assert "numbers_of_different_runs" not in found(claim(numbers=two, claim=what))
    two[1] |= {"workers": 16}
    assert "workers (8 and 16)" in the_finding(claim(numbers=two, claim=what), "conditions_of_numbers_differ").evidence


def test_numbers_that_do_not_name_their_runs_are_left_open() -> None:
    without = {key: value for key, value in NUMBER.items() if key != "run"}
    assert found(claim(numbers=[without, COST])) == {"runs_unsaid": "note"}


def speed(**changes: object) -> dict[str, object]:
    return {key: value for key, value in (NUMBER | {"baseline": None} | changes).items() if value is not None}


VARIED = {"text": "x", "source": "y", "varying": ["method"], "exclusive": True}


def test_a_sweep_of_one_metric_is_no_mismatch() -> None:
    """One system at 1 and 8 workers, each from a run of its own; two systems at the same worker counts."""
    rates = [speed(metric="throughput", unit="items/s", workers=w, run=f"r{w}", value=v) for w, v in ((1, 5.9), (8, 6.0))]
    assert "numbers_of_different_runs" not in found(claim(numbers=rates))
    two = [speed(metric="throughput", unit="items/s", of=of, workers=w) for of in "AB" for w in (1, 4)]
    assert "conditions_of_numbers_differ" not in found(claim(numbers=two, claim=VARIED))
    swept = [speed(conditions={"length": length}) for length in (512, 2048)]
    assert "conditions_of_numbers_differ" not in found(claim(numbers=swept))


def test_systems_given_by_different_statistics_are_not_comparable() -> None:
    two = [speed(metric="latency", unit="s", of=of, statistic=s, trials=5000) for of, s in (("A", "p99"), ("B", "p90"))]
    finding = the_finding(claim(numbers=two, claim=VARIED), "statistics_differ")
    assert finding.severity == "invalid"
    assert "of A is a p99, of B a p90" in finding.evidence
    two.append(two[1] | {"statistic": "p99"})
    assert "statistics_differ" not in found(claim(numbers=two, claim=VARIED)), "the p99 is there of both"


def test_a_condition_that_differs_makes_the_claim_inadmissible() -> None:
    finding = the_finding(claim(baseline={"hardware": "A100"}, candidate={"hardware": "H100"}), "conditions_differ")
    assert finding.severity == "invalid"
    assert "hardware (A100 and H100)" in finding.evidence


def test_what_is_studied_and_what_follows_from_it_may_differ() -> None:
    assert found(claim(baseline={"nodes": 1, "workers": 1}, candidate={"nodes": 8, "workers": 8})) == {}
    strong = {"batch_per_worker": 256}, {"batch_per_worker": 32}
    assert found(claim(baseline=strong[0], candidate=strong[1])) == {}


def test_a_condition_of_one_side_and_no_condition_at_all_leave_it_open() -> None:
    assert found(claim(candidate={"software": "torch 2.9"})) == {"condition_of_one_side": "note"}
    assert found(claim(conditions={"baseline": {}, "candidate": {}})) == {"conditions_unsaid": "note"}


def test_a_rate_with_nothing_but_its_unit_is_a_fragment() -> None:
    """ "Forty thousand tokens per second", and the same with what makes it a measurement."""
    rate = {"metric": "throughput", "value": 40000, "unit": "tokens/s"}
    nothing = claim(numbers=[rate], conditions={"baseline": {}, "candidate": {}})
    assert found(nothing)["conditions_unsaid"] == "note"
    stated = rate | {"conditions": {"batch": 32, "precision": "fp16", "hardware": "H100"}}
    assert "conditions_unsaid" not in found(claim(numbers=[stated], conditions={"baseline": {}, "candidate": {}}))


@pytest.mark.parametrize(
    ("base", "own"),
    [("fp16", "float16"), ("bf16", "BFloat16"), (1, "1"), (True, "yes"), (False, "off"), ("H100-80GB", "H100 80GB"), (256, 256.0)],
)
def test_spellings_of_one_value_do_not_differ(base: object, own: object) -> None:
    assert "conditions_differ" not in found(claim(baseline={"precision": base}, candidate={"precision": own}))


@pytest.mark.parametrize(
    ("base", "own", "differ"),
    [
        ("1x A100", "8x A100", False),
        ("A100", "8 A100s", False),
        ("1 GPU", "8 GPUs", False),
        ("one H100", "8 × H100", False),
        ("1x A100", "8x H100", True),
        ("4x A100 40GB", "4x A100 80GB", True),
    ],
)
def test_the_number_of_devices_is_what_is_studied(base: str, own: str, differ: bool) -> None:
    said = claim(baseline={"hardware": base, "gpus": 1}, candidate={"hardware": own, "gpus": 8})
    assert ("conditions_differ" in found(said)) is differ


def test_the_number_of_devices_differs_where_something_else_is_studied() -> None:
    what = {"text": "x", "source": "y", "varying": ["engine"], "exclusive": True}
    assert "conditions_differ" in found(claim(baseline={"hardware": "1x A100"}, candidate={"hardware": "8x A100"}, claim=what))


@pytest.mark.parametrize(
    ("scaling", "base", "own", "differ"),
    [("strong", 256, 32, False), ("weak", 256, 2048, False), ("strong", 256, 2048, True), ("weak", 256, 512, True)],
)
def test_a_batch_may_follow_the_workers_as_the_scaling_says(scaling: str, base: int, own: int, differ: bool) -> None:
    """8 workers against 1: a worker's share of a fixed batch is an eighth; of a fixed share the batch is eightfold."""
    number = {"scaling": scaling, "global_batch": 256 if scaling == "strong" else 2048}
    assert ("conditions_differ" in found(claim(number, baseline={"batch_size": base}, candidate={"batch_size": own}))) is differ


@pytest.mark.slow
def test_a_claim_whose_batches_fit_its_mode_is_clear() -> None:
    assert found(claim()) == {}
    weak = {"scaling": "weak", "global_batch": 2048}  # 8 workers with 256 each
    assert found(claim(weak)) == {}


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "batch", "expected"), [("strong", 2048, "256"), ("weak", 256, "2048")])
def test_a_claim_whose_batches_contradict_its_mode_is_inadmissible(mode: str, batch: int, expected: str) -> None:
    finding = the_finding(claim({"scaling": mode, "global_batch": batch}), "scaling_mode_contradicted")
    assert finding.severity == "invalid"
    assert finding.evidence == f"{mode} scaling needs a global batch of {expected} at 8 workers; stated: {batch}"


@pytest.mark.slow
def test_a_claim_that_does_not_say_its_mode_is_left_open() -> None:
    assert found(claim({"scaling": NOTHING})) == {"scaling_mode_unsaid": "note"}


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


def test_steps_of_unequal_batches_are_unequal_work_unless_it_is_meant_to_grow() -> None:
    """Four times the items in 4.4 times the time: 0.9 of the items a second."""
    base = {"workers": 1, "kind": "one_worker", "value": 0.45, "unit": "s", "global_batch": 6}
    step = NUMBER | {
        "metric": "step time",
        "value": 2.0,
        "unit": "s",
        "workers": 4,
        "baseline": base,
        "global_batch": 24,
        "interval": NOTHING,
    }
    assert "0.9 times as fast" in the_finding(claim(step | {"scaling": NOTHING}), "unequal_work").evidence
    assert "unequal_work" not in found(claim(step | {"scaling": "weak"}))
    assert "unequal_work" not in found(claim(step | {"scaling": NOTHING, "global_batch": 6}))
