"""Is a margin that the items cannot show refused before anything is sent, with what would do?"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from fireassay.estimates.format import percent
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import from_mapping
from fireassay.spec.rules.evaluation import LOAD
from fireassay.spec.sections.prices import Prices
from fireassay.verdict.evaluation_plan import KEPT, Asked, evaluation_plan, refusals, sentences


def experiment(sides: int = 2, margin: float | None = 0.01, launches: int = 1, **evaluation: Any) -> Experiment:
    targets = [{"name": f"e{index}", "urls": [f"http://127.0.0.1:{index + 1}"]} for index in range(sides)]
    data: dict[str, Any] = {
        "name": "planned",
        "workload": {"runner": "evaluation", "work": "tokens"},
        "launches": {"per_configuration": launches},
        "evaluation": {"task": "humaneval", **evaluation},
        "serving": {**LOAD, "concurrency": [1], "targets": targets, "prompts": {"source": "x", "cache": "as_is"}},
    }
    if margin is not None:
        data["quality"] = {"margin": margin}
    return from_mapping(data)


PRICES = Prices(usd_per_worker_hour=2.5, as_of=date(2026, 1, 1), source="test")
PROBLEMS = Asked(task="humaneval", items=164, clusters=None, characters=1000, most_tokens=512)


def test_164_problems_cannot_show_one_point() -> None:
    asked = experiment()
    (problem,) = refusals(asked, evaluation_plan(asked, (PROBLEMS,)))
    assert problem.where == "quality.margin"
    assert "164 items; a margin of 0.01 needs about 6," in problem.found
    assert "--explore" in problem.fix


@pytest.mark.parametrize("easier", [{"explore": True}, {"flips": 0.0, "margin": 0.05}, {"margin": 0.2}, {"sides": 1}, {"margin": None}])
def test_what_can_be_shown_or_is_explored_is_sent(easier: dict[str, Any]) -> None:
    asked = experiment(**easier)
    assert refusals(asked, evaluation_plan(asked, (PROBLEMS,))) == ()


def test_the_plan_counts_every_pass() -> None:
    asked = experiment(sides=2, launches=3)
    planned = evaluation_plan(asked, (PROBLEMS,))
    assert (planned.requests, planned.characters, planned.most_tokens) == (984, 6000, 503_808)
    assert (
        sentences(planned)[0]
        == "984 requests, each item 3 times a side, 6,000 characters of prompts (about 1,500 tokens), at most 503,808 tokens of answers"
    )


def test_every_choice_is_a_request_and_nothing_is_generated() -> None:
    choices = Asked(task="mmlu", items=10, clusters=None, characters=500, most_tokens=0, choices=40)
    planned = evaluation_plan(experiment(margin=None), (choices,))
    assert sentences(planned)[0] == "80 requests, 1,000 characters of prompts (about 250 tokens), nothing is generated"


def test_clusters_that_change_together_need_more_items() -> None:
    alone = evaluation_plan(experiment(margin=0.1), (PROBLEMS,)).tasks[0].power
    shared = evaluation_plan(experiment(margin=0.1), (Asked(task="x", items=164, clusters=20, characters=1, most_tokens=1),)).tasks[0].power
    assert alone is not None
    assert shared is not None
    assert shared.needed > 1.5 * alone.needed


def test_a_margin_is_a_part_of_the_scale() -> None:
    """10 points of 100 need as many items as 0.1 of 1."""
    asked, of_one = experiment(margin=10.0), experiment(margin=0.1)
    points = evaluation_plan(asked, (replace(PROBLEMS, scale=100.0),))
    assert points.tasks[0].power == evaluation_plan(of_one, (PROBLEMS,)).tasks[0].power
    assert "a margin of 10 needs about" in sentences(points)[1]
    assert "support a margin of 6." in sentences(points)[1]
    assert evaluation_plan(experiment(margin=100.0), (replace(PROBLEMS, scale=100.0),)).tasks[0].power is None


def test_a_score_that_is_no_mean_is_not_planned_but_told() -> None:
    translated = replace(PROBLEMS, task="wmt", unplanned="BLEU is no mean over items")
    planned = evaluation_plan(experiment(margin=2.0), (translated,))
    assert planned.tasks[0].power is None
    assert refusals(experiment(margin=2.0), planned) == ()
    assert sentences(planned)[1] == (
        "wmt: 164 items; how many a margin of 2 needs is not known beforehand, since BLEU is no mean over items; the first verdict says how many would decide"
    )
    assert len(sentences(evaluation_plan(experiment(margin=None), (translated,)))) == 1
    assert sentences(evaluation_plan(experiment(margin=2.0, sides=1), (translated,)))[1:] == (KEPT,)  # nothing is decided, and that is said


def test_a_margin_whose_control_cannot_be_made_is_refused() -> None:
    """A score that can lose 0.75 to chance cannot lose 3 margins of 0.26."""
    choices = replace(PROBLEMS, room=0.75)
    (problem,) = refusals(experiment(margin=0.26), evaluation_plan(experiment(margin=0.26), (choices,)))
    assert problem.allowed == "a margin up to 0.25"
    assert "the score can lose 0.75 at most" in problem.found
    for fine in (experiment(margin=0.25), experiment(margin=0.26, explore=True)):
        assert refusals(fine, evaluation_plan(fine, (choices,))) == ()


def test_several_tasks_have_one_power_and_a_price_is_told() -> None:
    asked = experiment(margin=0.1)
    planned = evaluation_plan(asked.model_copy(update={"prices": PRICES}), (PROBLEMS, replace(PROBLEMS, task="mbpp")))
    (power, _) = (task.power for task in planned.tasks)
    assert power is not None
    assert sentences(planned)[-1] == f"that all 2 tasks are held has a power of {percent(power.power**2)}, if they are independent"
    assert sentences(planned)[1] == "$2.5 per replica-hour (2026-01-01, test); the progress says how long it takes"
