"""same_loss: the first loss against that of the base."""

from __future__ import annotations

import math

import pytest

from fireassay.spec.experiment import Scaling
from tests.handmade import Handmade
from tests.verdict.making import change, good, judged, rules

pytestmark = pytest.mark.slow


VALUE = 5  # column of fingerprints


def with_first_loss(factor: float, **asked: object) -> Handmade:
    made = good(**asked)  # type: ignore[arg-type]
    change(made, "fingerprints", VALUE, lambda row: 2.0 * factor if row[3:5] == (0, "loss") else row[VALUE], workers=2)
    return made


def test_rounding_is_not_named() -> None:
    assert rules(judged(with_first_loss(1.0 + 1e-6))) == {}


def test_another_first_loss_is_a_warning() -> None:
    judgement = judged(with_first_loss(1.01))
    assert rules(judgement) == {"first_loss_differs": ["workers=2"]}
    assert judgement.verdict.findings[0].severity == "warning"
    assert judgement.verdict.status == "PASS"


@pytest.mark.parametrize("factor", [math.nan, math.inf])
def test_a_first_loss_that_is_no_number_is_named_so_and_not_another_first_loss(factor: float) -> None:
    assert rules(judged(with_first_loss(factor))) == {"loss_not_finite": ["workers=2"]}


def test_later_losses_may_drift() -> None:
    made = good()
    change(made, "fingerprints", VALUE, lambda row: 9.0 if row[4] == "loss" and row[3] > 0 else row[VALUE], workers=2)
    assert rules(judged(made)) == {}


def test_under_weak_scaling_the_batches_differ_and_so_may_the_losses() -> None:
    assert "first_loss_differs" not in rules(judged(with_first_loss(1.5, scaling=Scaling(mode="weak"))))
