"""How a target is written, and what is no target."""

from __future__ import annotations

import math

import pytest

from fireassay.errors import SpecError
from fireassay.spec.experiment import Experiment, Factor
from fireassay.spec.load import from_mapping
from fireassay.spec.model import Unreadable
from fireassay.spec.sections.target import Goal, Target, goal_of
from fireassay.spec.sections.workload import Workload
from tests.spec.making import smallest


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("accuracy=0.75", Goal("accuracy", ">=", 0.75)),
        ("accuracy >= 75%", Goal("accuracy", ">=", 0.75)),
        ("loss=0.3", Goal("loss", "<=", 0.3)),
        ("eval/loss<=3e-1", Goal("eval/loss", "<=", 0.3)),
        ("perplexity<20", Goal("perplexity", "<", 20.0)),
        ("test accuracy==1", Goal("test accuracy", ">=", 1.0)),
        ("elo=-5", Goal("elo", ">=", -5.0)),
    ],
)
def test_a_goal_is_a_name_a_sign_and_a_number(text: str, goal: Goal) -> None:
    assert goal_of(text) == goal


@pytest.mark.parametrize(
    "text", ["", "accuracy", "=0.75", "accuracy=", "accuracy=high", "accuracy=nan", "accuracy=inf", "a=1=2", "x" * 200 + "=1"]
)
def test_what_is_no_goal_is_refused(text: str) -> None:
    with pytest.raises(Unreadable, match="a score's name and a finite number"):
        goal_of(text)


def test_a_bound_is_met_by_equality_unless_it_is_strict_and_never_by_what_is_no_number() -> None:
    assert goal_of("a=1").met(1.0)
    assert goal_of("loss=1").met(1.0)
    assert not goal_of("a>1").met(1.0)
    assert not goal_of("a<1").met(1.0)
    assert not goal_of("a=1").met(math.nan)
    assert not goal_of("loss=1").met(math.nan)


def test_it_is_written_with_its_sign_where_the_name_does_not_imply_it() -> None:
    assert [str(goal_of(text)) for text in ("accuracy=0.75", "accuracy<=0.75", "loss=0.3", "loss>=2")] == [
        "accuracy 0.75",
        "accuracy <= 0.75",
        "loss 0.3",
        "loss >= 2",
    ]


def test_of_several_goals_the_first_decides_and_has_the_limit() -> None:
    target = Target(goal=("accuracy=0.75", "loss<=0.3"), within_s=60.0)
    assert (target.parsed, target.goals[1]) == (Goal("accuracy", ">=", 0.75), Goal("loss", "<=", 0.3))
    assert [(one.goal, one.within_s) for one in target.each()] == [(("accuracy=0.75",), 60.0), (("loss<=0.3",), None)]
    assert Target(goal="accuracy=0.75") == Target(goal=("accuracy=0.75",))  # as older records have it


def test_a_bad_goal_among_several_is_refused() -> None:
    with pytest.raises(SpecError, match=r"target\.goal"):
        Experiment(name="a", workload=Workload(script="t.py"), factor=Factor(levels=(1,)), target=Target(goal=("accuracy=1", "loss")))
    with pytest.raises(ValueError, match="at least 1 item"):
        Target(goal=())


@pytest.mark.parametrize("goal", [3, "3", [3], ["accuracy=1", 3], {"a": 1}, True])
def test_a_goal_of_a_file_that_is_none_is_one_problem(goal: object) -> None:
    with pytest.raises(SpecError) as caught:
        from_mapping(smallest(target={"goal": goal}))
    (problem,) = caught.value.problems
    assert problem.where.startswith("target.goal")


def test_an_experiment_refuses_a_bad_goal_and_a_target_of_what_is_no_training() -> None:
    with pytest.raises(SpecError, match=r"target\.goal"):
        Experiment(name="a", workload=Workload(script="t.py"), factor=Factor(levels=(1,)), target=Target(goal="accuracy"))
    with pytest.raises(SpecError, match="only for trainings"):
        Experiment(name="a", workload=Workload(script="t", runner="command"), factor=Factor(levels=(1,)), target=Target(goal="accuracy=1"))
