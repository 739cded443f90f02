"""Which keys of [evaluation.steps] contradict each other, or the rest of the experiment?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from fireassay.errors import Problem
from fireassay.spec.explain import NOTHING, shown
from fireassay.spec.rules.partial import Demand, repeated, right
from fireassay.spec.sections.steps import MOST_SAMPLES, MOST_TURNS

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment

LEVELS: Final = "evaluation.steps.levels"
FIELD: Final = "evaluation.steps.field"
MOST: Final = {"samples": MOST_SAMPLES, "turns": MOST_TURNS}
KEY: Final = re.compile(r"[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*")
KEYS: Final = (
    "Name the engine's key: --step-field thinking.budget_tokens, --step-field chat_template_kwargs.thinking_budget, or, with one word for each "
    "level, --step-field reasoning_effort=low,medium,high."
)


def _levels(experiment: Experiment) -> Iterator[Problem]:
    steps = experiment.evaluation.steps if experiment.evaluation is not None else None
    if steps is None or not steps.levels:
        return
    if steps.what == "candidates":
        yield Problem(
            "evaluation.steps.what", '"candidates"', "samples, turns or reasoning_tokens", "Candidates are compared by --best-of N."
        )
    found = [level for _, level in right(steps.levels)]
    for level in repeated(found):
        yield Problem(LEVELS, f"{level} twice", "each number of steps once")
    if len(set(found)) < 2:
        yield Problem(LEVELS, shown(steps.levels), "two numbers of steps or more", "A curve needs another number: --steps 1,2,4,8.")
    most = MOST.get(steps.what)
    if most is not None and max(found, default=0) > most:
        yield Problem(LEVELS, shown(max(found)), f"at most {most} {steps.what}")


def _budget(experiment: Experiment) -> Iterator[Problem]:
    """A budget is sent under a name that only the user knows."""
    steps = experiment.steps
    if steps is None:
        return
    if steps.what != "reasoning_tokens":
        if steps.field:
            found = f"{shown(steps.field)}, where a step is one of {steps.what}"
            yield Problem(FIELD, found, "none, unless evaluation.steps.what = reasoning_tokens", "Add --step-is reasoning_tokens.")
        return
    if not KEY.fullmatch(steps.key):
        yield Problem(FIELD, shown(steps.field) if steps.field else NOTHING, "the key of the request's body that holds the budget", KEYS)
    elif "=" in steps.field and (len(steps.words) != len(steps.levels) or not all(word.strip() for word in steps.words)):
        yield Problem(FIELD, f"{len(steps.words)} words for {len(steps.levels)} levels", "one word for each level, in their order", KEYS)
    serving = experiment.serving
    if serving is not None and len(serving.targets) > 1:
        fix = "Make a record of each engine, then: assay compare RECORD RECORD --at ... "
        yield Problem("serving.targets", f"{len(serving.targets)} engines", "one engine for a curve over budgets", fix.strip())


def _sampled(experiment: Experiment) -> Iterator[Problem]:
    """A vote needs as many samples, which differ only if they are sampled."""
    steps, serving = experiment.steps, experiment.serving
    if steps is None or steps.what != "samples" or serving is None or len(steps.levels) < 2:
        return
    most, launches = max((level for _, level in right(steps.levels)), default=0), experiment.launches.per_configuration
    if most > launches:
        fix = f"Set launches.per_configuration = {most} or more (--repetitions)."
        yield Problem(LEVELS, shown(most), f"at most the {launches} answers to each item", fix)
    if serving.temperature == 0.0:
        fix = "Leave --temperature out (0.8 then), or compare another kind of step: --step-is turns."
        yield Problem("serving.temperature", "0", "above 0 where samples vote: greedy answers are copies of one", fix)


STEP_RULES = (
    Demand(
        LEVELS,
        lambda e: e.steps is not None and e.serving is None and e.steps.what != "candidates",
        "steps of a running engine: the steps of stored answers are fixed",
        "Use: assay evaluate --task NAME --data PATH --target URL --steps 1,2,4,8",
    ),
    _levels,
    _budget,
    _sampled,
)
