"""Is the record whole, real and free of errors of the instrument?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireassay import catalog
from fireassay.verdict.audits.every import record as audited
from fireassay.verdict.audits.every.record import is_simulated
from tests.handmade import Handmade
from tests.simulated_made import record
from tests.verdict.judging import concluded
from tests.verdict.making import good, judged, rules_of

rules = rules_of(audited.AUDITS)

# ---- sealed ----
# sealed: only a complete, sealed record carries a verdict.


@pytest.mark.slow
def test_a_complete_sealed_record_is_let_pass() -> None:
    assert rules(judged(good())) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("state", "sealed", "rule", "remedy"),
    [
        ("interrupted", False, "record_interrupted", "`assay resume`"),
        ("complete", False, "record_unsealed", "`assay resume`"),
        ("failed", True, "record_failed", "run the experiment again"),
        ("running", False, "record_running", "wait until the experiment has ended"),
    ],
)
def test_every_other_record_is_invalid_with_its_remedy(state: str, sealed: bool, rule: str, remedy: str) -> None:
    judgement = judged(good(), state=state, sealed=sealed)
    assert rules(judgement) == {rule: [None]}
    (finding,) = judgement.verdict.findings
    assert finding.severity == "invalid"
    assert remedy in finding.remedy
    assert judgement.verdict.status == "INVALID"
    assert "INVALID, no number of this record may be quoted" in judgement.verdict.sentence


@pytest.mark.slow
def test_the_reason_in_the_manifest_is_told() -> None:
    made = good()
    made.manifest["reason"] = "no launch of workers=2 succeeded"
    assert judged(made, state="failed").verdict.findings[0].evidence.endswith(": no launch of workers=2 succeeded")


# ---- simulated ----
# simulated: a record that a simulator made is never evidence, and no other record is called so.

SIMULATED = catalog.load("verdict.audits", "simulated")


@pytest.mark.slow
def test_a_simulated_record_is_invalid() -> None:
    judgement = concluded(record(levels=(1, 2), launches=1, steps=3))
    assert judgement.verdict.status == "INVALID"
    assert judgement.verdict.findings[0].rule == "simulated"
    assert "INVALID, no number of this record may be quoted: simulated, not measured" in judgement.verdict.sentence


@pytest.mark.slow
def test_each_of_its_marks_alone_is_enough() -> None:
    """The runner, the manifest and the rows: whoever takes two away still does not have a measurement."""
    whole = record()
    measured = good().measured()
    assert not is_simulated(measured)
    assert is_simulated(replace(measured, experiment=whole.experiment))
    assert is_simulated(replace(measured, manifest={**measured.manifest, "simulated": {}}))
    assert is_simulated(replace(measured, tables={**measured.tables, "steps": whole.table("steps")}))


@pytest.mark.slow
def test_a_measured_record_is_let_pass() -> None:
    assert rules(judged(good())) == {}
    assert tuple(SIMULATED.examine(good().measured(), {})) == ()


# ---- instrument errors ----
# What the instrument lost is named.

INSTRUMENT_ERRORS = catalog.load("verdict.audits", "instrument_errors")


def made() -> Handmade:
    record = Handmade(levels=(1,), blocks=1)
    record.launch(workers=1)
    return record


def test_a_record_without_trouble_has_no_finding() -> None:
    assert tuple(INSTRUMENT_ERRORS.examine(made().measured(), {})) == ()


def test_a_probe_that_gave_up_and_rows_that_were_dropped_are_named_with_their_place() -> None:
    record = made()
    record.event(0, "probe_error", 1.0, rank=0, incarnation=0, detail={"error": "KeyError: 'x'"})
    record.event(0, "rows_dropped", 2.0, rank=0, incarnation=0, value=3.0)
    record.event(0, "rows_dropped", 3.0, rank=0, incarnation=0, value=4.0)
    findings = {finding.rule: finding for finding in INSTRUMENT_ERRORS.examine(record.measured(), {})}
    assert "in launch 0 on rank 0" in findings["probe_error"].evidence
    assert findings["probe_error"].evidence.endswith("rank 0: KeyError: 'x' (launches 0)")
    assert findings["rows_dropped"].evidence.startswith("7 rows")
    assert {finding.severity for finding in findings.values()} == {"invalid"}  # half a launch proves nothing


def test_what_a_failed_launch_lost_does_not_count_since_its_numbers_are_not_used() -> None:
    record = Handmade(levels=(1,), blocks=1)
    record.launch(workers=1, status="failed")
    record.event(0, "probe_error", 1.0, rank=0, incarnation=0, detail={"error": "KeyError"})
    assert tuple(INSTRUMENT_ERRORS.examine(record.measured(), {})) == ()
