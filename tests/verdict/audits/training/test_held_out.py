"""held_out: samples in training and evaluation."""

from __future__ import annotations

import pytest

from tests.handmade import Handmade
from tests.verdict.making import good, judged, wrong

pytestmark = pytest.mark.slow


Evaluated = tuple[int, int, bool]  # samples, trained on, of the training's own data set


def evaluated(*every: Evaluated) -> Handmade:
    made = good()
    for number in range(len(made.rows["launches"])):
        for samples, trained_on, own in every:
            detail = {"data": f"TensorDataset of {samples}", "samples": samples, "training_data": own}
            made.event(number, "evaluated_samples", 1.0, rank=0, value=float(trained_on), detail=detail)
    return made


def told(made: Handmade) -> dict[str, str]:
    findings = judged(made).verdict.findings
    return {one.rule: one.severity for one in findings if one.rule.startswith("evaluat")}


@pytest.mark.parametrize(
    ("every", "expected"),
    [
        ([], {}),
        ([(100, 0, False)], {}),
        ([(100, 0, True)], {}),  # before the first step
        ([(100, 3, False)], {"evaluation_overlaps_training": "warning"}),
        ([(100, 100, True)], {"evaluated_on_training_data": "warning"}),
        ([(100, 100, True), (50, 0, False)], {"evaluated_on_training_data": "note"}),
        ([(100, 0, False), (100, 100, True)], {"evaluated_on_training_data": "warning"}),  # before the first step, and after it
        ([(100, 100, True), (50, 1, False)], {"evaluation_overlaps_training": "warning"}),
    ],
)
def test_only_a_shared_sample_is_a_finding_and_the_training_s_own_data_are_a_note_beside_others(
    every: list[Evaluated], expected: dict[str, str]
) -> None:
    assert told(evaluated(*every)) == expected


def test_the_evidence_says_how_many_of_how_many() -> None:
    judgement = judged(evaluated((100, 3, False)))
    assert wrong(judgement) == []
    (finding, _) = [one for one in judgement.verdict.findings if one.rule == "evaluation_overlaps_training"]
    assert finding.evidence == ("of 100 samples evaluated in launch 0 (TensorDataset of 100), the model had been trained on 3")
