"""simulated: a record that a simulator made is never evidence, and no other record is called so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireassay.verdict.audits.every.simulated import AUDIT, is_simulated
from fireassay.verdict.judge import judge
from tests.simulated_made import record
from tests.verdict.making import good, judged, rules

pytestmark = pytest.mark.slow


def test_a_simulated_record_is_invalid() -> None:
    judgement = judge(record(levels=(1, 2), launches=1, steps=3))
    assert judgement.verdict.status == "INVALID"
    assert judgement.verdict.findings[0].rule == "simulated"
    assert "INVALID, no number of this record may be quoted: simulated, not measured" in judgement.verdict.sentence


def test_each_of_its_marks_alone_is_enough() -> None:
    """The runner, the manifest and the rows: whoever takes two away still does not have a measurement."""
    whole = record()
    measured = good().measured()
    assert not is_simulated(measured)
    assert is_simulated(replace(measured, experiment=whole.experiment))
    assert is_simulated(replace(measured, manifest={**measured.manifest, "simulated": {}}))
    assert is_simulated(replace(measured, tables={**measured.tables, "steps": whole.table("steps")}))


def test_a_measured_record_is_let_pass() -> None:
    assert rules(judged(good())) == {}
    assert tuple(AUDIT.examine(good().measured(), {})) == ()
