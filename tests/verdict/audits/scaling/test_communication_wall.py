"""communication_wall: which of serial work, communication and waiting limits, on clusters of which that is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from fireassay.frames.record_data import RecordData
from fireassay.metrics.results import LazyResults
from fireassay.stats.models.communication_wall import Division
from fireassay.verdict.audits.scaling import communication_wall
from fireassay.verdict.audits.scaling.communication_wall import AUDIT, _division
from fireassay.verdict.types import Finding
from tests.simulated_made import record
from tests.verdict.making import good, judged, rules

pytestmark = pytest.mark.slow


def told(measured: RecordData) -> list[Finding]:
    return list(AUDIT.examine(measured, LazyResults(measured)))


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


def test_the_parts_are_the_models_and_in_the_unit_of_the_other_findings() -> None:
    """Beside them may stand what was measured; 14.4 ms and 35.5 ms of "exposed communication" would contradict each other."""
    parts = Division(workers=2.0, lost_s=0.0467, serial_s=0.0321, communication_s=0.0144, slowest_s=0.0, rest_s=0.0002, limit="serial")
    assert _division(parts, 0.068, weak=False) == (
        "a step with 2 workers takes 68 ms, of which 46.7 ms beyond T1/p (by the model: serial work 32.1 ms, exposed communication 14.4 ms)"
    )
    nothing = replace(parts, lost_s=-0.001, serial_s=0.0, communication_s=0.0, rest_s=0.0, limit="nothing")
    assert _division(nothing, 2.0, weak=True) == ("a step with 2 workers takes 2 s, of which 0 s beyond T1 (by the model nothing visible)")


def test_latency_makes_the_karp_flatt_series_rise() -> None:
    evidence = told(record(alpha_s=1e-3, gradient=1e5))[0].evidence
    assert "the Karp-Flatt series rises, as it does with communication or waiting" in evidence


def test_a_model_that_misses_is_a_warning() -> None:
    whole = record()
    last = whole.timed.filter(pl.col("workers") == 16)["launch"].implode()
    longer = pl.col("begin_ns") + 2 * (pl.col("end_ns") - pl.col("begin_ns"))
    steps = whole.table("steps").with_columns(pl.when(pl.col("launch").is_in(last)).then(longer).otherwise("end_ns").alias("end_ns"))
    found = told(replace(whole, tables={**whole.tables, "steps": steps}))
    assert [one.severity for one in found] == ["note", "warning"]
    assert found[1].rule == "communication_model_misses"


def test_a_record_without_collectives_is_not_examined() -> None:
    assert rules(judged(good())) == {}


def test_weak_scaling_names_no_serial_work() -> None:
    assert told(record(weak=True))[0].rule == "limited_by_communication"


@pytest.mark.parametrize("shared", [False, True])
def test_serial_work_is_not_to_be_looked_for_where_workers_share_processors(monkeypatch: pytest.MonkeyPatch, shared: bool) -> None:
    """The model knows no processors: two notes of one record would blame different things."""
    monkeypatch.setattr(communication_wall, "sharing", lambda *_: ["a note"] if shared else [])
    (note,) = [finding for finding in told(record(serial=0.4)) if finding.rule == "limited_by_serial"]
    assert ("processor for each worker" in note.remedy) == shared
