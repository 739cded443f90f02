"""client_ceiling: a load beyond what the client was calibrated for is inadmissible, near it a warning."""

from __future__ import annotations

from typing import Any

import pytest

from tests.serving_made import ServingMade
from tests.verdict.served import blind, found, rules, steady


def load(calibration: Any, *, processes: int = 1) -> ServingMade:
    """100 requests in 4.95 s: 20.2 a second; two chunks each."""
    made = ServingMade(rate=(20.0,), blocks=3, seconds=5.0, client={"processes": processes})
    steady(made, tokens_out=2)
    if calibration is not None:
        made.manifest["environment"] = {"before": {"doctor": {"client": calibration}}}
    return made


def test_without_a_calibration_there_is_a_note() -> None:
    measured = load(None).measured()
    assert rules("client_ceiling", measured) == [("client_not_calibrated", "note")]
    assert "never calibrated" in (blind("client_ceiling", measured) or "")


def test_far_below_the_ceiling_nothing_is_said() -> None:
    measured = load({"ceiling": {"requests_per_s": 14_000.0, "chunks_per_s": 400_000.0}}).measured()
    assert found("client_ceiling", measured) == ()
    assert blind("client_ceiling", measured) is None


@pytest.mark.parametrize(("ceiling", "severity"), [(41.0, []), (40.0, ["warning"]), (20.3, ["warning"]), (20.0, ["invalid"])])
def test_half_of_the_ceiling_is_let_pass_more_is_not_and_beyond_it_is_inadmissible(ceiling: float, severity: list[str]) -> None:
    measured = load({"requests_per_s": ceiling}).measured()
    assert [one.severity for one in found("client_ceiling", measured)] == severity


def test_the_share_of_the_ceiling_is_said() -> None:
    """100 / 4.95 = 20.2; 20.2 / 25.25 = 80 %."""
    (finding,) = found("client_ceiling", load({"requests_per_s": 25.25}).measured())
    assert finding.evidence == "20.2 requests per second are 80 % of what the client can carry here (25.2, by assay doctor client)"


def test_chunks_have_a_ceiling_of_their_own() -> None:
    """200 / 4.95 = 40.4; 40.4 / 30 = 135 %."""
    (finding,) = found("client_ceiling", load({"requests_per_s": 1e6, "chunks_per_s": 30.0}).measured())
    assert finding.evidence.startswith("40.4 chunks per second are 135 %")
    assert finding.severity == "invalid"


def test_several_processes_carry_as_many_times_as_much() -> None:
    assert found("client_ceiling", load({"requests_per_s": 21.0}, processes=2).measured()) == ()


def test_a_calibration_of_another_version_or_month_is_named() -> None:
    calibration = {"ceiling": {"requests_per_s": 1e6}, "stale": "40 days old: run assay doctor client again"}
    assert rules("client_ceiling", load(calibration).measured()) == [("client_calibration_stale", "note")]
