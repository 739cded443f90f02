"""Can so many items show the margin, and what will asking them take?

Computed before anything is sent.  A margin that the items cannot show with 80 % power would buy an undecided verdict.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from fireassay.errors import Problem
from fireassay.estimates.format import count, given, percent
from fireassay.estimates.price_words import price_words
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import plan
from fireassay.stats.comparing.item_power import Grouping, ItemPower, item_power
from fireassay.stats.comparing.noninferiority import CONTROL

KEPT: Final = "one side: the margin decides nothing here, and is kept for a later `assay compare`"
PER_TOKEN: Final = 4.0  # characters of English


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The items of one task, as the plan sees them."""

    task: str
    items: int
    clusters: int | None  # None: every item is a unit
    characters: int  # of all prompts
    most_tokens: int  # of one answer
    largest: float = 1.0  # weight of the largest unit, in items of mean weight
    uneven: float = 1.0  # mean(w^2) / mean(w)^2 of the items' weights
    choices: int | None = None  # of all items together, where each is a request; None: an item is one
    sample: str = ""  # how the items were chosen, if they are not all
    scale: float = 1.0  # the most that an item's score may change
    unplanned: str = ""  # why nothing is known beforehand of the score that decides
    room: float = math.inf  # the most that score can lose, from its best value to chance
    images: bool = False  # whether an answer is an image


@dataclass(frozen=True, kw_only=True)
class TaskPlan:
    """One task, and what its items can show, margins in parts of the scale; None without a margin or a second side, or if it is not known."""

    asked: Asked
    power: ItemPower | None


@dataclass(frozen=True, kw_only=True)
class EvaluationPlan:
    """What an evaluation will send, and what it can show."""

    tasks: tuple[TaskPlan, ...]
    requests: int
    characters: int  # of all prompts sent
    most_tokens: int  # of all answers together
    margin: float | None
    repetitions: int = 1  # of each item at each side
    turns: int = 1  # of each of them
    prices: str = ""  # in words; "": no price was given
    kept: bool = False  # whether a margin was given though there is one side

    @property
    def short(self) -> tuple[TaskPlan, ...]:
        """The tasks with too few items for the margin."""
        return tuple(task for task in self.tasks if task.power is not None and not task.power.enough)


def evaluation_plan(experiment: Experiment, asked: tuple[Asked, ...]) -> EvaluationPlan:
    """The plan of an experiment with these tasks."""
    steps = experiment.evaluation.steps if experiment.evaluation is not None else None
    turns = steps.most if steps is not None and steps.what == "turns" else 1
    passes = len(plan(experiment)) * max(1, turns)
    return EvaluationPlan(
        tasks=tuple(TaskPlan(asked=task, power=_power(experiment, task)) for task in asked),
        requests=passes * sum(task.items if task.choices is None else task.choices for task in asked),
        characters=passes * sum(task.characters for task in asked),
        most_tokens=passes * sum(task.items * task.most_tokens for task in asked),
        margin=experiment.quality.margin if experiment.quality is not None and _compares(experiment) else None,
        repetitions=experiment.launches.per_configuration,
        turns=max(1, turns),
        kept=experiment.quality is not None and not _compares(experiment) and not _has_steps(experiment),
        prices="" if experiment.prices is None else price_words(experiment.prices, "replica"),
    )


def _power(experiment: Experiment, task: Asked) -> ItemPower | None:
    quality, evaluation = experiment.quality, experiment.evaluation
    if (
        quality is None
        or evaluation is None
        or not _compares(experiment)
        or not task.items
        or task.unplanned
        or quality.margin >= task.scale
    ):
        return None
    return item_power(
        task.items, quality.margin / task.scale, evaluation.flips, experiment.launches.confidence, _grouping(experiment, task)
    )


def _has_steps(experiment: Experiment) -> bool:
    return experiment.evaluation is not None and bool(experiment.evaluation.steps.levels)


def _compares(experiment: Experiment) -> bool:
    """True if there are two sides and a margin; numbers of steps are no sides."""
    budgets = _has_steps(experiment) and experiment.evaluation is not None and experiment.evaluation.steps.what == "reasoning_tokens"
    return not budgets and experiment.quality is not None and len({launch.configuration for launch in plan(experiment)}) > 1


def _grouping(experiment: Experiment, task: Asked) -> Grouping | None:
    """How the items belong together; None: each is a unit that is answered once, and right or wrong."""
    assert experiment.evaluation is not None
    if task.clusters is None and task.largest <= 1.0 and experiment.launches.per_configuration == 1:
        return None
    size = task.items / (task.clusters or task.items)
    largest = max(task.largest, size)
    return Grouping(size=size, largest=largest, correlation=experiment.evaluation.alike, uneven=task.uneven)


def sentences(whole: EvaluationPlan) -> tuple[str, ...]:
    """The plan in words, before the first request."""
    tokens = f"at most {whole.most_tokens:,} tokens of answers" if whole.most_tokens else "nothing is generated"
    tokens = "an image each" if any(task.asked.images for task in whole.tasks) else tokens
    turns = f", each in {whole.turns} turns, whose prompts grow with the answers" if whole.turns > 1 else ""
    times = f"{f', each item {whole.repetitions:,} times a side' if whole.repetitions > 1 else ''}{turns}"
    prompts = f"{whole.characters:,} characters of prompts (about {round(whole.characters / PER_TOKEN):,} tokens)"
    planned = [task for task in whole.tasks if task.power is not None]
    words = [
        f"{count(whole.requests, 'requests')}{times}, {prompts}, {tokens}",
        *(() if not whole.prices else (f"{whole.prices}; the progress says how long it takes",)),
        *(f"{task.asked.task}: {task.asked.sample}" for task in whole.tasks if task.asked.sample),
        *(_words(task, whole.margin or 0.0) for task in planned),
        *(_unplanned(task, whole.margin) for task in whole.tasks if task.asked.unplanned and whole.margin is not None),
    ]
    if whole.kept:
        words.append(KEPT)
    if len(planned) > 1:
        together = math.prod(task.power.power for task in planned if task.power is not None)
        words.append(f"that all {len(planned)} tasks are held has a power of {percent(together)}, if they are independent")
    return tuple(words)


def _unplanned(task: TaskPlan, margin: float) -> str:
    return (
        f"{task.asked.task}: {count(task.asked.items, 'items')}; how many a margin of {given(margin)} needs is not known beforehand, since "
        f"{task.asked.unplanned}; the first verdict says how many would decide"
    )


def _words(task: TaskPlan, margin: float) -> str:
    power = task.power
    assert power is not None
    return (
        f"{task.asked.task}: {count(power.items, 'items')}; a margin of {given(margin)} needs about {power.needed:,} for a power of 80 % "
        f"(here {percent(power.power)}); these items support a margin of {given(round(power.supported_margin * task.asked.scale, 4))}"
    )


def refusals(experiment: Experiment, whole: EvaluationPlan) -> tuple[Problem, ...]:
    """Why nothing is sent: the margin is smaller than the items can show; none with `explore`."""
    evaluation = experiment.evaluation
    if evaluation is None or evaluation.explore:
        return ()
    return tuple(
        _refused(_no_room(task, whole.margin or 0.0), f"a margin up to {given(float(f'{task.asked.room / CONTROL:.3g}'))}", "Narrow it")
        for task in whole.tasks
        if whole.margin is not None and CONTROL * whole.margin > task.asked.room * (1.0 + 1e-9)
    ) or tuple(
        _refused(
            _words(task, whole.margin or 0.0), "a margin that the items can show", f"Widen it, ask more items, {_flips(evaluation.flips)}"
        )
        for task in whole.short
    )


def _flips(share: float) -> str:
    return f"correct --flips (now {given(share)})"


def _no_room(task: TaskPlan, margin: float) -> str:
    room = given(float(f"{task.asked.room:.3g}"))
    return (
        f"{task.asked.task}: a margin of {given(margin)}; quality is held only where a loss of {given(CONTROL)} margins could have been seen, and the "
        f"score can lose {room} at most"
    )


def _refused(found: str, allowed: str, fix: str) -> Problem:
    return Problem("quality.margin", found, allowed, f"{fix}, or add --explore to send them all the same.")
