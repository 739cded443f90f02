"""What the instrument lost is named."""

from __future__ import annotations

from fireassay.verdict.audits.every.instrument_errors import AUDIT
from tests.handmade import Handmade


def made() -> Handmade:
    record = Handmade(levels=(1,), blocks=1)
    record.launch(workers=1)
    return record


def test_a_record_without_trouble_has_no_finding() -> None:
    assert tuple(AUDIT.examine(made().measured(), {})) == ()


def test_a_probe_that_gave_up_and_rows_that_were_dropped_are_named_with_their_place() -> None:
    record = made()
    record.event(0, "probe_error", 1.0, rank=0, incarnation=0, detail={"error": "KeyError: 'x'"})
    record.event(0, "rows_dropped", 2.0, rank=0, incarnation=0, value=3.0)
    record.event(0, "rows_dropped", 3.0, rank=0, incarnation=0, value=4.0)
    findings = {finding.rule: finding for finding in AUDIT.examine(record.measured(), {})}
    assert "in launch 0 on rank 0" in findings["probe_error"].evidence
    assert findings["probe_error"].evidence.endswith("rank 0: KeyError: 'x' (launches 0)")
    assert findings["rows_dropped"].evidence.startswith("7 rows")
    assert {finding.severity for finding in findings.values()} == {"invalid"}  # half a launch proves nothing


def test_what_a_failed_launch_lost_does_not_count_since_its_numbers_are_not_used() -> None:
    record = Handmade(levels=(1,), blocks=1)
    record.launch(workers=1, status="failed")
    record.event(0, "probe_error", 1.0, rank=0, incarnation=0, detail={"error": "KeyError"})
    assert tuple(AUDIT.examine(record.measured(), {})) == ()
