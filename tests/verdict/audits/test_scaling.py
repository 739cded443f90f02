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
from fireassay.verdict.audits import scaling as audited
from fireassay.verdict.audits.scaling import _division
from fireassay.verdict.pitfalls import of_record
from fireassay.verdict.types import Finding
from tests.handmade import Handmade
from tests.simulated_made import record
from tests.verdict.making import change, good, judged, rules_of, wrong

rules = rules_of(audited.AUDITS)

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


@pytest.mark.slow
def test_a_model_that_misses_is_a_warning() -> None:
    whole = record()
    last = whole.timed.filter(pl.col("workers") == 16)["launch"].implode()
    longer = pl.col("begin_ns") + 2 * (pl.col("end_ns") - pl.col("begin_ns"))
    steps = whole.table("steps").with_columns(pl.when(pl.col("launch").is_in(last)).then(longer).otherwise("end_ns").alias("end_ns"))
    found = told(replace(whole, tables={**whole.tables, "steps": steps}))
    assert [one.severity for one in found] == ["note", "warning"]
    assert found[1].rule == "communication_model_misses"
