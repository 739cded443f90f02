"""cherry_picked: one launch, launches left out, the best of several."""

from __future__ import annotations

import pytest

from assay.spec.experiment import Launches
from tests.verdict.claiming import NOTHING, claim, found, the_finding
from tests.verdict.making import good, judged, rules

STATUS = 12  # column of launches


def test_a_record_that_holds_its_plan_is_clear() -> None:
    assert rules(judged(good())) == {}


def test_launches_of_the_plan_that_are_not_in_the_record_are_named() -> None:
    """Five blocks were planned; the two workers' launch of the last block is nowhere."""
    made = good()
    made.rows["launches"] = [row for row in made.rows["launches"] if (row[4], row[5]) != (2, 4)]
    judgement = judged(made)
    assert rules(judgement) == {"launches_missing": ["workers=2"], "few_launches": ["workers=2"]}
    finding = next(f for f in judgement.verdict.findings if f.rule == "launches_missing")
    assert finding.evidence.startswith("1 of 5 launches of the plan")


def test_a_failed_launch_is_not_missing() -> None:
    made = good()
    made.rows["launches"][3] = (*made.rows["launches"][3][:STATUS], "failed", "exit 1", *made.rows["launches"][3][14:])
    assert "launches_missing" not in rules(judged(made))


def test_launches_that_adaptive_launches_did_not_need_are_not_missing() -> None:
    """With precision the plan says 60 launches at most; 5 were enough."""
    made = good()
    made.experiment = made.experiment.model_copy(update={"launches": Launches(per_configuration=5, precision=0.02)})
    made.manifest |= {
        "looks": [{"blocks": 5, "confidence": 0.98, "widths": {}, "enough": True, "sentence": "narrow"}],
        "looks_ended": "precision",
    }
    assert "launches_missing" not in rules(judged(made))
    made.rows["launches"] = [row for row in made.rows["launches"] if (row[4], row[5]) != (2, 3)]
    assert rules(judged(made))["launches_missing"] == ["workers=2"], "the others have five blocks"


def test_an_interrupted_record_is_named_by_another_audit() -> None:
    made = good()
    made.rows["launches"] = made.rows["launches"][:8]
    assert "launches_missing" not in rules(judged(made, state="interrupted"))


def test_quiet_moments_that_were_picked_are_named_and_a_few_repetitions_are_not() -> None:
    made = good()
    for block in range(5):
        made.launch(workers=2, block=block, status="contaminated", reason="other programs used 60 %")
    assert rules(judged(made))["mostly_replaced"] == ["workers=2"]
    made.rows["launches"] = made.rows["launches"][:-1]  # four of five
    assert "mostly_replaced" not in rules(judged(made))


@pytest.mark.parametrize("statistic", ["best", "min", "max"])
def test_the_best_of_several_is_inadmissible(statistic: str) -> None:
    finding = the_finding(claim({"statistic": statistic}), "best_of_n")
    assert (finding.severity, finding.needs) == ("invalid", ("launch_values",))


def test_one_launch_and_launches_left_out_are_named() -> None:
    assert found(claim({"launches": 1, "planned_launches": 1}))["one_launch"] == "warning"
    finding = the_finding(claim({"planned_launches": 12}), "launches_left_out")
    assert finding.severity == "invalid"
    assert finding.evidence == "7 of 12 launches were left out of it"


def test_a_number_that_does_not_say_which_statistic_it_is_is_left_open() -> None:
    assert found(claim({"statistic": NOTHING})) == {"statistic_unsaid": "note"}
    assert found(claim()) == {}
