"""The twelve rules are answered by what was done: every answer that a record can lose is lost by one."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from fireassay.verdict.artifact import artifact
from fireassay.verdict.hoefler_belli import Rule, checklist, shape
from tests.handmade import Handmade
from tests.verdict.making import change, good, judged

pytestmark = pytest.mark.slow


def rules(made: Handmade, *, state: str = "complete") -> dict[int, Rule]:
    return {rule.number: rule for rule in checklist(made.measured(state=state), judged(made, state=state))}


def test_all_twelve_rules_are_answered_in_order() -> None:
    assert list(rules(good())) == list(range(1, 13))


def test_every_rule_that_is_not_kept_says_what_to_do() -> None:
    for rule in rules(good()).values():
        assert bool(rule.remedy) == (rule.answer in ("in part", "not kept")), rule


def test_the_base_of_a_speedup_is_told_with_its_absolute_time() -> None:
    rule = rules(good())[1]
    # Steps of 1 s, times 1.00 ... 1.04: the geometric mean is 1.0199.
    assert rule.answer == "in part"
    assert "1 worker: 1.020 s" in rule.evidence
    assert rules(good(levels=(1,)))[1].answer == "not applicable"


def test_a_failed_launch_without_a_reason_breaks_the_rule_on_subsets() -> None:
    made = good()
    made.launch(workers=2, block=5, status="failed", reason="out of memory")
    made.launch(workers=1, block=5)
    assert rules(made)[2].answer == "kept"
    assert "1 failed, each with a reason" in rules(made)[2].evidence
    made.launch(workers=2, block=6, status="failed")
    assert rules(made)[2].answer == "not kept"


def test_planned_launches_that_were_never_started_break_the_rule_on_subsets() -> None:
    made = good()
    made.rows["launches"] = made.rows["launches"][:-2]
    rule = rules(made, state="interrupted")[2]
    assert rule.answer == "not kept"
    assert "2 planned launches were never started" in rule.evidence
    made.manifest["looks_ended"] = "precision"  # adaptive launches did not need them
    assert rules(made)[2].answer == "kept"


def test_too_few_launches_break_the_rule_on_comparison() -> None:
    assert rules(good(blocks=5))[7].answer == "kept"
    assert rules(good(blocks=4))[7].answer == "not kept"
    assert rules(good(levels=(1,)))[7].answer == "not applicable"


def test_one_launch_has_numbers_without_intervals() -> None:
    assert rules(good(blocks=1))[5].answer == "in part"


def test_an_environment_and_named_conditions_are_needed_for_the_rule_on_factors() -> None:
    made = good()
    assert rules(made)[9].answer == "not kept"
    made.manifest["environment"] = {"before": {"cpu": {"model": "A", "smt": {"absent": "no such file"}}}}
    assert rules(made)[9].answer == "in part"
    assert "1 facts about machine and software are in the record; 1 could not be read" in rules(made)[9].evidence
    made.experiment = made.experiment.model_copy(update={"conditions": {"precision": "float32"}})
    assert rules(made)[9].answer == "kept"


def test_launches_timed_from_outside_answer_the_rules_on_tails_and_parallel_time_in_part() -> None:
    found = rules(good(leave_out=("steps",)))
    assert (found[8].answer, found[10].answer) == ("in part", "in part")
    assert rules(good())[10].answer == "kept"


def test_skewness_and_shapiro_are_those_of_scipy_on_logarithms() -> None:
    values = (1.0, 1.1, 1.3, 2.0, 5.0)
    logs = [math.log(value) for value in values]
    assert shape(values) == (pytest.approx(float(stats.skew(logs, bias=False))), pytest.approx(float(stats.shapiro(logs).pvalue)))
    assert shape((2.0, 2.0, 2.0)) == (0.0, 1.0)


def test_the_artifact_form_counts_failed_launches_in_the_compute() -> None:
    made = good(levels=(1,), blocks=5)
    made.launch(workers=1, block=5, wall_s=30.0, status="failed", reason="x")
    fields = {field.name: field for field in artifact(made.measured())}
    # 5 launches of 20 s, times 1 + (0 + .01 - .01 + .005 - .005), and one of 30 s.
    assert fields["Total compute"].text.startswith("6 launches, failed and fault launches included: 130 s")
    assert not fields["Processors"].known
    assert fields["Processors"].text == "not recorded"


def test_a_dirty_commit_is_told() -> None:
    made = good()
    made.manifest["environment"] = {"before": {"workload": {"git": {"commit": "a" * 40, "dirty": True}}}}
    fields = {field.name: field for field in artifact(made.measured())}
    assert fields["Code"].text == "commit aaaaaaaaaaaa, with uncommitted changes"


def test_a_launch_that_used_other_statuses_is_counted_by_kind() -> None:
    made = good()
    change(made, "launches", 12, "contaminated", workers=2)
    change(made, "launches", 13, "steal", workers=2)
    assert "5 contaminated, each with a reason" in rules(made)[2].evidence
