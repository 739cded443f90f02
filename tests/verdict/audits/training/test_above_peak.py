"""above_peak: a utilisation above 1 is an error, with the likely mistake."""

from __future__ import annotations

import pytest

from fireassay.metrics.training.device import MFU
from fireassay.spec.sections.flops import Flops
from fireassay.verdict.audits.training.above_peak import AUDIT
from fireassay.verdict.judge import judge
from tests.handmade import Handmade
from tests.metrics.flops_made import made, part


def findings(record: Handmade) -> list[tuple[str, str, str]]:
    measured = record.measured()
    found = tuple(AUDIT.examine(measured, {"mfu": MFU.compute(measured, {})}))
    return [(one.severity, one.evidence, one.remedy) for one in found]


@pytest.mark.slow
def test_more_than_all_makes_the_record_invalid() -> None:
    """3 s' worth of an H200 in 2 s."""
    record = made(part(3 * 989.4e12))
    ((severity, evidence, remedy),) = findings(record)
    assert severity == "invalid"
    assert "150 %" in evidence
    assert "synchronise" in remedy
    assert judge(record.measured()).verdict.status == "INVALID"


def test_less_than_all_is_nothing_to_say() -> None:
    assert findings(made(part(989.4e12))) == []


@pytest.mark.parametrize(
    ("flops", "word"),
    [
        (Flops(peak_tflops=0.1, peak_source="a guess"), "flops.peak_tflops is that of another device"),
        (Flops(precision="float64"), "flops.precision"),
    ],
)
def test_the_likely_mistake_is_named_first(flops: Flops, word: str) -> None:
    ((_, _, remedy),) = findings(made(part(1e15), flops=flops))
    assert word in remedy.partition(";")[0]


def test_without_a_share_it_cannot_tell_and_says_why() -> None:
    measured = made(part(1e12, name="Abacus 9")).measured()
    assert AUDIT.blind is not None
    why = AUDIT.blind(measured, {"mfu": MFU.compute(measured, {})})
    assert why is not None
    assert "Abacus 9" in why
