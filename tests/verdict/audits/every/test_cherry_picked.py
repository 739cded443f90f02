"""cherry_picked: one launch, launches left out, the best of several."""

from __future__ import annotations

import pytest

from fireassay.spec.experiment import Launches
from tests.verdict.claiming import LATENCY, NOTHING, claim, found, the_finding
from tests.verdict.making import good, judged, rules

pytestmark = pytest.mark.slow


STATUS = 12  # column of launches


def test_a_record_that_holds_its_plan_is_clear() -> None:
    assert rules(judged(good())) == {}


def test_launches_of_the_plan_that_are_not_in_the_record_are_named() -> None:
    """Five blocks were planned; the two workers' launch of the last block is nowhere."""
    made = good()
    (gone,) = (row[0] for row in made.rows["launches"] if (row[4], row[5]) == (2, 4))
    made.rows = {table: [row for row in rows if row[0] != gone] for table, rows in made.rows.items()}
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


@pytest.mark.parametrize("statistic", ["best", "max"])
def test_the_best_of_several_is_inadmissible(statistic: str) -> None:
    finding = the_finding(claim({"statistic": statistic}), "best_of_n")
    assert (finding.severity, finding.needs) == ("invalid", ("launch_values",))


@pytest.mark.parametrize(
    ("metric", "unit", "flattering", "plain"),
    [
        ("step time", "s", "min", "max"),
        ("latency", "ms", "min", "max"),
        ("cost", "USD", "min", "max"),
        ("peak memory", "GB", "min", "max"),
        ("throughput", "tokens/s", "max", "min"),
        ("speedup", "ratio", "max", "min"),
    ],
)
def test_the_worst_of_several_is_no_best(metric: str, unit: str, flattering: str, plain: str) -> None:
    def picked(statistic: str) -> bool:
        number = {"metric": metric, "unit": unit, "statistic": statistic, "baseline": NOTHING}
        return "best_of_n" in found(claim(number))

    assert (picked(flattering), picked(plain)) == (True, False)


@pytest.mark.parametrize(
    ("text", "picked"),
    [
        ("up to 24x the throughput", True),
        ("up to 2.3 times faster", True),
        ("as much as 40 % faster", True),
        ("best of 10 runs", True),
        ("up to 10,000 tokens/s", True),
        ("busbw as high as 161 Gbps", True),
        ("loads of up to 30 requests/s", False),
        ("twice as fast as A", False),
        ("on up to 64 GPUs", False),
        ("up to 4 times as many workers", False),
        ("6 times as fast", False),
        ("latency of up to 30 ms", False),
    ],
)
def test_a_best_case_in_words_is_one(text: str, picked: bool) -> None:
    said = claim(claim={"text": text, "source": "s", "exclusive": True})
    assert ("best_case_in_words" in found(said)) is picked


def test_one_launch_and_launches_left_out_are_named() -> None:
    assert found(claim({"launches": 1, "planned_launches": 1}))["one_launch"] == "warning"
    finding = the_finding(claim({"planned_launches": 12}), "launches_left_out")
    assert finding.severity == "invalid"
    assert finding.evidence == "7 of 12 launches were left out of it"


def test_a_number_that_does_not_say_which_statistic_it_is_is_left_open() -> None:
    assert found(claim({"statistic": NOTHING})) == {"statistic_unsaid": "note"}
    assert found(claim()) == {}


def test_an_extreme_beside_the_middle_of_the_same_is_not_picked() -> None:
    least, middle = (
        LATENCY | {"statistic": "min", "value": 0.1, "interval": None},
        LATENCY | {"statistic": "median", "value": 0.15, "interval": None},
    )
    numbers = [{key: value for key, value in number.items() if value is not None} for number in (least, middle)]
    assert "best_of_n" in found(claim(numbers=numbers[:1]))
    assert "best_of_n" not in found(claim(numbers=numbers))
