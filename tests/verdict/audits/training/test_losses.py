"""losses: no finite number at the end is a failure, in between a warning; with one worker too."""

from __future__ import annotations

import math

import pytest

from fireassay.verdict.audits.training.losses import AUDIT
from tests.handmade import Handmade

NAN, INF = math.nan, math.inf


def found(losses: list[list[float]]) -> list[tuple[str, str | None, str]]:
    """Of a launch with the losses of each rank."""
    made = Handmade(levels=(1, 2), blocks=1)
    number = made.launch(workers=len(losses))
    for rank, own in enumerate(losses):
        for step, loss in enumerate(own):
            made.fingerprint(number, "loss", loss, rank=rank, step=step)
    return [(one.severity, one.configuration, one.evidence) for one in AUDIT.examine(made.measured(), {})]


@pytest.mark.parametrize("last", [NAN, INF, -INF])
def test_a_last_loss_that_is_no_finite_number_is_a_failure(last: float) -> None:
    ((severity, name, evidence),) = found([[1.0, 0.5, 0.4], [1.0, last, last]])
    assert (severity, name) == ("fail", "workers=2")
    assert evidence.startswith(f"the loss is {last} on rank 1 in step 1 of launch 0, and not finite in 2 of 3 steps")


def test_one_worker_breaks_as_well() -> None:
    ((severity, name, _),) = found([[1.0, NAN]])
    assert (severity, name) == ("fail", "workers=1")


def test_a_training_that_recovers_is_a_warning() -> None:
    ((severity, _, evidence),) = found([[1.0, INF, 0.5], [1.0, 0.7, 0.5]])
    assert severity == "warning"
    assert "including the last" not in evidence


def test_finite_losses_of_any_size_are_nothing() -> None:
    assert found([[1e300, -1e300, 0.0]]) == []
    assert found([[]]) == []
