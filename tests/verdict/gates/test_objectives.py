"""The gate `objectives`: the whole interval of the attainment against the share that was asked for."""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.metrics.serving.objectives import SLO_ATTAINMENT
from fireassay.spec.sections.serving import Objectives
from fireassay.verdict.gates.limits import OBJECTIVES
from tests.handmade import Handmade
from tests.metrics.serving.test_objectives import partly_counted
from tests.metrics.serving.values import values_of
from tests.serving_made import ServingMade


def attained(value: float, low: float, high: float, launches: int = 5) -> Estimate:
    return Estimate(
        value=value,
        low=low,
        high=high,
        unit="fraction",
        confidence=0.95,
        n_launches=launches,
        n_trials=1000,
        method="",
        signature="slo_attainment|v:1",
    )


def checked(value: Value | None, *, objectives: Objectives | None = None) -> list[tuple[str, str]]:
    made = ServingMade(rate=(5.0,), objectives=objectives or Objectives(ttft_s=0.5))
    results = {} if value is None else {"slo_attainment": {"rate=5": value}}
    return [(one.status, one.sentence) for one in OBJECTIVES.check(made.measured(), results)]


@pytest.mark.parametrize(
    ("value", "status"),
    [
        (attained(0.995, 0.991, 0.999), "PASS"),
        (attained(0.995, 0.989, 0.999), "INCONCLUSIVE"),
        (attained(0.95, 0.93, 0.97), "FAIL"),
        (attained(1.0, 0.999, 1.0, launches=2), "INCONCLUSIVE"),
        (Absent(reason="not_measured", detail="nothing was due"), "NOT_MEASURED"),
        (None, "NOT_MEASURED"),
    ],
)
def test_the_whole_interval_must_be_on_one_side(value: Value | None, status: str) -> None:
    ((found, _),) = checked(value)
    assert found == status


def test_the_share_is_the_experiments() -> None:
    ((status, sentence),) = checked(attained(0.95, 0.93, 0.97), objectives=Objectives(ttft_s=0.5, attainment=0.9))
    assert status == "PASS"
    assert sentence == "requests within the objectives 95.0 % [93.0, 97.0] meets the gate of at least 90 %"


def test_without_objectives_and_without_a_load_there_is_no_gate() -> None:
    assert checked(attained(0.95, 0.93, 0.97), objectives=Objectives()) == []
    assert not Handmade().measured().kind.concerns(OBJECTIVES.about)


@pytest.mark.parametrize(
    ("without", "least", "status"), [(0, 0.9, "PASS"), (2, 0.9, "PASS"), (2, 0.99, "INCONCLUSIVE"), (30, 0.9, "INCONCLUSIVE")]
)
def test_unknown_answers_decide_unless_they_change_nothing(without: int, least: float, status: str) -> None:
    """The status stands only if it is the same with all of them missed, and with all met."""
    measured = partly_counted(Objectives(tpot_s=0.02, attainment=least), without).measured()
    (result,) = OBJECTIVES.check(measured, {SLO_ATTAINMENT.name: values_of(SLO_ATTAINMENT, measured)})
    assert result.status == status
    told = f"; {without} % of the requests are unknown (the server sent no usage for {3 * without} answers"
    assert (told in result.sentence) == (without > 0)


def test_a_gate_that_fails_whatever_the_unknown_answers_were_fails() -> None:
    """None of the known ones is fast enough: with the unknown 2 % met, 90 % are still far."""
    measured = partly_counted(Objectives(tpot_s=0.005, attainment=0.9), 2).measured()
    (result,) = OBJECTIVES.check(measured, {SLO_ATTAINMENT.name: values_of(SLO_ATTAINMENT, measured)})
    assert result.status == "FAIL"
