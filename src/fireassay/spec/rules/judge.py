"""Which keys of [evaluation.judge] contradict others?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from fireassay.errors import Problem
from fireassay.spec.explain import shown

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment
    from fireassay.spec.sections.evaluation import Evaluation

WHERE: Final = "evaluation.judge"


def _judge(experiment: Experiment) -> Iterator[Problem]:
    evaluation = experiment.evaluation
    if evaluation is None or evaluation.judge is None:
        return
    judge = evaluation.judge
    if not judge.url.startswith(("http://", "https://")):
        yield Problem(f"{WHERE}.url", shown(judge.url), "an address that begins with http:// or https://", "As in http://localhost:8000.")
    if len(judge.price) not in (0, 2):
        yield Problem(f"{WHERE}.price", shown(list(judge.price)), "two prices: of tokens in, and out")
    if any(one < 0.0 for one in judge.price):
        yield Problem(f"{WHERE}.price", shown(list(judge.price)), "prices of at least 0")
    for name, found in _beside(evaluation):
        yield Problem(f"evaluation.{name}", found, "none beside a judge, which gives the deciding score", "Score them apart.")


def _beside(evaluation: Evaluation) -> Iterator[tuple[str, str]]:
    for name in ("given", "best_of", "ratings"):
        if getattr(evaluation, name) is not None:
            yield name, "a table"
    if evaluation.fields.image:
        yield "fields.image", shown(evaluation.fields.image)
    if evaluation.majority:
        yield "majority", "true"
    if evaluation.steps.levels:
        yield "steps", "a table"


JUDGE_RULES = (_judge,)
