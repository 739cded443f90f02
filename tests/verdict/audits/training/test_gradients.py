"""Are losses, gradients and batch statistics those of one worker?"""

from __future__ import annotations

import json
import math

import pytest

from fireassay import catalog
from fireassay.metrics.metric import Results
from fireassay.spec.experiment import Scaling
from fireassay.verdict.audits.training import gradients as audited
from tests.handmade import Handmade
from tests.metrics.gradients_made import Named, add
from tests.verdict.making import change, good, judged, rules_of

rules = rules_of(audited.AUDITS)

# ---- losses ----
# losses: no finite number at the end is a failure, in between a warning; with one worker too.

LOSSES = catalog.load("verdict.audits", "losses")
NAN, INF = math.nan, math.inf


def losses_found(losses: list[list[float]]) -> list[tuple[str, str | None, str]]:
    """Of a launch with the losses of each rank."""
    made = Handmade(levels=(1, 2), blocks=1)
    number = made.launch(workers=len(losses))
    for rank, own in enumerate(losses):
        for step, loss in enumerate(own):
            made.fingerprint(number, "loss", loss, rank=rank, step=step)
    return [(one.severity, one.configuration, one.evidence) for one in LOSSES.examine(made.measured(), {})]


@pytest.mark.parametrize("last", [NAN, INF, -INF])
def test_a_last_loss_that_is_no_finite_number_is_a_failure(last: float) -> None:
    ((severity, name, evidence),) = losses_found([[1.0, 0.5, 0.4], [1.0, last, last]])
    assert (severity, name) == ("fail", "workers=2")
    assert evidence.startswith(f"the loss is {last} on rank 1 in step 1 of launch 0, and not finite in 2 of 3 steps")


def test_one_worker_breaks_as_well() -> None:
    ((severity, name, _),) = losses_found([[1.0, NAN]])
    assert (severity, name) == ("fail", "workers=1")


def test_a_training_that_recovers_is_a_warning() -> None:
    ((severity, _, evidence),) = losses_found([[1.0, INF, 0.5], [1.0, 0.7, 0.5]])
    assert severity == "warning"
    assert "including the last" not in evidence


def test_finite_losses_of_any_size_are_nothing() -> None:
    assert losses_found([[1e300, -1e300, 0.0]]) == []
    assert losses_found([[]]) == []


# ---- same loss ----
# same_loss: the first loss against that of the base.

VALUE = 5  # column of fingerprints


def with_first_loss(factor: float, **asked: object) -> Handmade:
    made = good(**asked)  # type: ignore[arg-type]
    change(made, "fingerprints", VALUE, lambda row: 2.0 * factor if row[3:5] == (0, "loss") else row[VALUE], workers=2)
    return made


@pytest.mark.slow
def test_rounding_is_not_named() -> None:
    assert rules(judged(with_first_loss(1.0 + 1e-6))) == {}


@pytest.mark.slow
def test_another_first_loss_is_a_warning() -> None:
    judgement = judged(with_first_loss(1.01))
    assert rules(judgement) == {"first_loss_differs": ["workers=2"]}
    assert judgement.verdict.findings[0].severity == "warning"
    assert judgement.verdict.status == "GAIN"


@pytest.mark.slow
@pytest.mark.parametrize("factor", [math.nan, math.inf])
def test_a_first_loss_that_is_no_number_is_named_so_and_not_another_first_loss(factor: float) -> None:
    assert rules(judged(with_first_loss(factor))) == {"loss_not_finite": ["workers=2"]}


@pytest.mark.slow
def test_later_losses_may_drift() -> None:
    made = good()
    change(made, "fingerprints", VALUE, lambda row: 9.0 if row[4] == "loss" and row[3] > 0 else row[VALUE], workers=2)
    assert rules(judged(made)) == {}


@pytest.mark.slow
def test_under_weak_scaling_the_batches_differ_and_so_may_the_losses() -> None:
    assert "first_loss_differs" not in rules(judged(with_first_loss(1.5, scaling=Scaling(mode="weak"))))


# ---- gradients ----
# gradients: a scaled, another, or a merely rounded gradient; nothing where an earlier layer explains it.

GRADIENTS = catalog.load("verdict.audits", "gradients")
NOTHING: Results = {}
RIGHT: Named = {"w": [3.0, 4.0], "b": [0.5]}


def gradients_found(two: Named, **words: object) -> dict[str, str]:
    made = Handmade(levels=(1, 2), blocks=1)
    add(made, [RIGHT])
    add(made, [two, two], **words)  # type: ignore[arg-type]
    return {finding.rule: finding.severity for finding in GRADIENTS.examine(made.measured(), NOTHING)}


@pytest.mark.slow
def test_a_scaled_gradient_is_a_failure() -> None:
    assert gradients_found({"w": [1.5, 2.0], "b": [0.25]}) == {"gradient_scaled": "fail"}


@pytest.mark.slow
def test_another_gradient_is_a_failure_where_no_rounding_explains_it() -> None:
    assert gradients_found({"w": [3.0, 4.5], "b": [0.5]}) == {"gradient_differs": "fail"}
    assert gradients_found({"w": [3.0, 4.5], "b": [0.5]}, precision="float32") == {"gradient_differs": "fail"}
    assert gradients_found({"w": [3.0, 4.001], "b": [0.5]}, precision="float32") == {"gradient_differs": "warning"}  # 2e-4
    assert gradients_found({"w": [3.0, 4.5], "b": [0.5]}, precision="bfloat16") == {"gradient_differs": "warning"}


@pytest.mark.slow
def test_rounding_and_an_equal_gradient_are_nothing() -> None:
    assert gradients_found(RIGHT) == {}
    assert gradients_found({"w": [3.0, 4.0 + 1e-6], "b": [0.5]}, precision="float32") == {}
    assert gradients_found({"w": [3.0, 4.0 + 1e-13], "b": [0.5]}) == {}


@pytest.mark.slow
def test_what_another_start_explains_is_not_said_again() -> None:
    assert gradients_found({"w": [9.0, 9.0], "b": [0.5]}, start="another") == {}


@pytest.mark.slow
def test_a_record_without_gradients_could_not_be_examined() -> None:
    made = good()
    assert GRADIENTS.blind is not None
    assert "probe.watch" in str(GRADIENTS.blind(made.measured(), NOTHING))
    assert "gradient_differs" not in rules(judged(made))
    compared = Handmade(levels=(1, 2), blocks=1)
    add(compared, [RIGHT])
    add(compared, [RIGHT, RIGHT])
    assert GRADIENTS.blind(compared.measured(), NOTHING) is None


# ---- batch statistics ----
# batch_statistics: a drift that nobody makes up for, in standard deviations.

BATCH_STATISTICS = catalog.load("verdict.audits", "batch_statistics")


def batch_statistics_found(
    ranks: list[list[float]], *, sent: float | None = 0.0, then: list[list[float]] | None = None
) -> list[tuple[str, str]]:
    """The sketches of ranks after 8 steps, and after 16."""
    made = Handmade(levels=(1, 2), blocks=1)
    number = made.launch(workers=2)
    for rank in range(2):
        if sent is not None:
            made.fingerprint(number, "buffers_broadcast", sent, rank=rank)
        for step, sketches in ((8, ranks), (16, then)):
            if sketches is not None:
                row = (number, rank, 0, step, "batch_statistics", float(len(sketches[rank])), json.dumps(sketches[rank]))
                made.rows["fingerprints"].append(row)
    return [(one.severity, one.evidence) for one in BATCH_STATISTICS.examine(made.measured(), {})]


def test_the_drift_is_the_root_mean_square_in_standard_deviations() -> None:
    ((severity, evidence),) = batch_statistics_found([[0.0, 0.0], [0.3, 0.4]])  # sqrt((0.09 + 0.16) / 2)
    assert severity == "warning"
    assert "by 0.35 standard deviations after 8 steps of launch 0" in evidence


@pytest.mark.parametrize(("apart", "expected"), [(2e-3, ["warning"]), (5e-4, ["note"]), (1e-6, [])])
def test_a_small_drift_is_a_note_and_rounding_nothing(apart: float, expected: list[str]) -> None:
    assert [severity for severity, _ in batch_statistics_found([[0.0], [apart]])] == expected


def test_who_sends_them_or_makes_them_equal_in_the_end_has_none() -> None:
    assert batch_statistics_found([[0.0], [0.5]], sent=1.0) == []
    assert batch_statistics_found([[0.0], [0.5]], sent=None) == [], "not known"
    assert batch_statistics_found([[0.0], [0.5]], then=[[0.2], [0.2]]) == []
