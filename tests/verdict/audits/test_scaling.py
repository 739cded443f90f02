"""Is a speedup what it seems, and what limits it?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from fireassay import catalog
from fireassay.frames.record_data import RecordData
from fireassay.metrics.results import LazyResults
from fireassay.spec.experiment import Scaling
from fireassay.stats.models.communication_wall import Division
from fireassay.verdict.audits.scaling import _division
from fireassay.verdict.claims.pitfalls import of_record
from fireassay.verdict.types import Finding
from tests.handmade import Handmade
from tests.simulated_made import record
from tests.verdict.claiming import BASELINE, NOTHING, NUMBER, claim, found, the_finding
from tests.verdict.making import change, good, judged, rules, wrong

# ---- scaling mode ----
# scaling_mode: the recorded work against the declared mode.

ITEMS = 12  # column of steps
STRONG, WEAK = Scaling(mode="strong"), Scaling(mode="weak")


def with_items(per_rank: float, **asked: object) -> Handmade:
    """The base does 8 items per step; two workers do so many each. Nothing is said about sample ids."""
    made = good(leave_out=("samples",), **asked)  # type: ignore[arg-type]
    change(made, "steps", ITEMS, per_rank, workers=2)
    return made


@pytest.mark.slow
def test_a_fixed_global_batch_is_strong_scaling() -> None:
    assert rules(judged(with_items(4.0))) == {}


@pytest.mark.slow
def test_a_batch_that_grows_with_the_workers_is_not_strong_scaling() -> None:
    judgement = judged(with_items(8.0, scaling=STRONG))
    assert rules(judgement) == {"scaling_mode_mismatch": ["workers=2"]}
    assert judgement.verdict.status == "INVALID"
    assert judgement.verdict.findings[0].evidence == "strong scaling needs 8 items per step at 2 workers; recorded: 16"
    assert judgement.verdict.dimensions["workers=2"]["performance"].status == "INVALID"


@pytest.mark.slow
def test_a_batch_that_grows_with_the_workers_is_weak_scaling() -> None:
    assert wrong(judged(with_items(8.0, scaling=WEAK))) == []


@pytest.mark.slow
@pytest.mark.parametrize(("per_rank", "mode"), [(4.0, "strong"), (8.0, "weak"), (7.9, "weak"), (4.05, "strong")])
def test_a_mode_that_nobody_declared_is_that_of_the_recorded_work(per_rank: float, mode: str) -> None:
    made = with_items(per_rank)
    assert made.measured().mode == mode
    judgement = judged(made)
    assert wrong(judgement) == []
    assert ("scaling_mode_taken" in rules(judgement)) == (mode == "weak"), "said, for it may be ranks that read the same"


@pytest.mark.slow
def test_work_that_is_neither_fixed_nor_in_proportion_is_no_scaling_at_all() -> None:
    judgement = judged(with_items(6.0))
    assert wrong(judgement) == ["scaling_mode_mismatch"]
    assert judgement.verdict.status == "INVALID"
    evidence = judgement.verdict.findings[0].evidence
    assert evidence == "neither strong nor weak scaling: 8 items per step at the base, 12 at 2 workers"


@pytest.mark.slow
def test_a_fixed_global_batch_is_not_weak_scaling() -> None:
    judgement = judged(with_items(4.0, scaling=WEAK))
    assert wrong(judgement) == ["scaling_mode_mismatch"]
    assert judgement.verdict.findings[0].evidence == "weak scaling needs 16 items per step at 2 workers; recorded: 8"


@pytest.mark.slow
def test_batches_that_differ_by_a_rounding_of_two_hundredths_are_let_pass() -> None:
    """2 x 3.93 = 7.86 of 8 is 1.75 % less; 2 x 3.9 = 7.8 is 2.5 % less."""
    assert rules(judged(with_items(3.93))) == {}
    assert rules(judged(with_items(3.9))) == {"scaling_mode_mismatch": ["workers=2"]}


@pytest.mark.slow
def test_the_base_of_weak_scaling_need_not_be_one_worker() -> None:
    """Base 2 with 4 items on each of its ranks: 16 items at 4 workers."""
    made = good(levels=(2, 4), scaling=WEAK, leave_out=("samples",))
    change(made, "steps", ITEMS, 4.0)
    assert wrong(judged(made)) == []


@pytest.mark.slow
def test_where_no_items_are_counted_nothing_is_said() -> None:
    made = good(leave_out=("samples",))
    change(made, "steps", ITEMS, None)
    assert rules(judged(made)) == {}


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


# ---- weak baseline ----
# weak_baseline: what the baseline was not given, and speedups that are too good.


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


# ---- communication wall ----
# communication_wall: which of serial work, communication and waiting limits, on clusters of which that is known.

COMMUNICATION_WALL = catalog.load("verdict.audits", "communication_wall")


def told(measured: RecordData) -> list[Finding]:
    return list(COMMUNICATION_WALL.examine(measured, LazyResults(measured)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cluster", "rule"),
    [
        ({}, "limited_by_communication"),  # c(16) = 0.15 s, serial 0.047 s
        ({"serial": 0.4}, "limited_by_serial"),
        ({"serial": 0.15}, "limited_by_serial_and_communication"),
        ({"serial": 0.0, "gradient": 1e4, "alpha_s": 1e-7, "jitter": 0.4}, "limited_by_slowest"),
        ({"serial": 0.0, "gradient": 1e4, "alpha_s": 1e-7, "jitter": 0.01}, "limited_by_nothing"),
    ],
)
def test_what_limits_is_named(cluster: dict[str, Any], rule: str) -> None:
    assert [one.rule for one in told(record(**cluster))] == [rule]


@pytest.mark.slow
def test_the_evidence_is_a_plain_sentence_with_numbers() -> None:
    """A ring bound by bandwidth hardly grows with the workers: the Karp-Flatt series is flat, and says so."""
    evidence = told(record())[0].evidence
    for words in (
        "a step with 16 workers takes 2",
        " ms beyond T1/p (by the model: serial work 4",
        "exposed communication 15",
        "communication limits, not serial work",
        "Amdahl's fit calls",
        "the Karp-Flatt series is flat, as it does with serial work; so it does with a bandwidth-bound ring",
        "the largest worker count is missed by",
        "by the model a step is shortest with",
        "far beyond what was measured",
    ):
        assert words in evidence


@pytest.mark.slow
def test_the_parts_are_the_models_and_in_the_unit_of_the_other_findings() -> None:
    """Beside them may stand what was measured; 14.4 ms and 35.5 ms of "exposed communication" would contradict each other."""
    parts = Division(workers=2.0, lost_s=0.0467, serial_s=0.0321, communication_s=0.0144, slowest_s=0.0, rest_s=0.0002, limit="serial")
    assert _division(parts, 0.068, weak=False) == (
        "a step with 2 workers takes 68 ms, of which 46.7 ms beyond T1/p (by the model: serial work 32.1 ms, exposed communication 14.4 ms)"
    )
    nothing = replace(parts, lost_s=-0.001, serial_s=0.0, communication_s=0.0, rest_s=0.0, limit="nothing")
    assert _division(nothing, 2.0, weak=True) == ("a step with 2 workers takes 2 s, of which 0 s beyond T1 (by the model nothing visible)")


@pytest.mark.slow
def test_latency_makes_the_karp_flatt_series_rise() -> None:
    evidence = told(record(alpha_s=1e-3, gradient=1e5))[0].evidence
    assert "the Karp-Flatt series rises, as it does with communication or waiting" in evidence


@pytest.mark.slow
def test_a_model_that_misses_is_a_warning() -> None:
    whole = record()
    last = whole.timed.filter(pl.col("workers") == 16)["launch"].implode()
    longer = pl.col("begin_ns") + 2 * (pl.col("end_ns") - pl.col("begin_ns"))
    steps = whole.table("steps").with_columns(pl.when(pl.col("launch").is_in(last)).then(longer).otherwise("end_ns").alias("end_ns"))
    found = told(replace(whole, tables={**whole.tables, "steps": steps}))
    assert [one.severity for one in found] == ["note", "warning"]
    assert found[1].rule == "communication_model_misses"


@pytest.mark.slow
def test_a_record_without_collectives_is_not_examined() -> None:
    assert rules(judged(good())) == {}


@pytest.mark.slow
def test_weak_scaling_names_no_serial_work() -> None:
    assert told(record(weak=True))[0].rule == "limited_by_communication"


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
def test_serial_work_is_not_to_be_looked_for_where_workers_share_processors(monkeypatch: pytest.MonkeyPatch, shared: bool) -> None:
    """The model knows no processors: two notes of one record would blame different things."""
    monkeypatch.setattr("fireassay.verdict.audits.scaling.sharing", lambda *_: ["a note"] if shared else [])
    (note,) = [finding for finding in told(record(serial=0.4)) if finding.rule == "limited_by_serial"]
    assert ("processor for each worker" in note.remedy) == shared
