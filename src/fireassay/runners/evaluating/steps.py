"""Can answers to these tasks have more steps, and how many turns has a conversation?"""

from __future__ import annotations

from collections.abc import Sequence

from fireassay.errors import Problem, refuse_any
from fireassay.quality.scoring.items import Task
from fireassay.quality.scoring.reading import WHOLE
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.steps import Steps

GENERATED = "generation"  # the method of tasks whose answers are texts
NAMED = "Name what is found in a text: --extract last_number, final_number, choice_letter, yes_no, or regex:PATTERN (see `assay evaluate --help-all`)."


def turns_of(experiment: Experiment) -> int:
    """Requests of one conversation: 1 unless steps are turns."""
    steps = experiment.steps
    return steps.most if steps is not None and steps.what == "turns" else 1


def again_of(experiment: Experiment) -> str:
    """The message after each answer; empty unless steps are turns."""
    steps = experiment.steps
    return steps.again if steps is not None and steps.what == "turns" else ""


def check(experiment: Experiment, tasks: Sequence[Task]) -> None:
    """Check that more steps mean something for these tasks.

    Raises:
        SpecError: a task has no generated texts, or its texts have nothing to vote over.
    """
    steps = experiment.steps
    if steps is None:
        return
    refuse_any((problem for task in tasks for problem in _problems(task, steps)), "the steps")


def _problems(task: Task, steps: Steps) -> list[Problem]:
    if task.method != GENERATED:
        fix = "Samples of programs are pass@k: -k 1,10." if task.method == "code" else "Choices by log-likelihood have no steps."
        return [Problem("evaluation.steps", f"{task.name}, a task of the method {task.method}", "a task whose answers are texts", fix)]
    if steps.what == "samples" and task.extractor in ("", WHOLE):
        found = f"{task.name}, whose answer is the whole text: two samples hardly ever agree"
        return [Problem("evaluation.extractor", found, "an extractor where samples vote", NAMED)]
    return []
