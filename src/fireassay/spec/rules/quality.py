"""Can this kind of workload compute the deciding score at all?

Checked before a run but not when reading a record: measurements stay readable whatever was requested.
The scores of a training come from its script, so they cannot be checked beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

from fireassay import catalog
from fireassay.errors import Problem
from fireassay.spec.explain import NOTHING, did_you_mean, shown
from fireassay.spec.rules.serving import WITHOUT_TEXT
from fireassay.spec.sections.scenario import DATASET
from fireassay.spec.sections.serving import Serving

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment

SCORELESS: Final = ("command", "function", "collectives", "network")  # runners whose workload reports no scores
FIELDLESS: Final = ("text", "sharegpt")  # prompt formats without reference answers

READS: Final = {"generation": ("texts",), "loglikelihood": ("texts", "likelihoods"), "code": ("programs",)}  # method -> what scores read
INSTEAD: Final = {
    "programs": "Programs are judged by their tests: assay evaluate --task humaneval --data problems.jsonl",
    "likelihoods": "It needs a task of choices by log-likelihood: assay evaluate --task mmlu --task-option variant=letter.",
}


@cache
def scores_of_a_load() -> tuple[str, ...]:
    """The scores that a load can compute from its own answers."""
    return tuple(name for name, metric in sorted(catalog.load_all("quality.scoring.metrics").items()) if metric.timed)


@cache
def scores_of(method: str) -> tuple[str, ...]:
    """The scores that read what a task of this method gives."""
    return tuple(name for name, metric in sorted(catalog.load_all("quality.scoring.metrics").items()) if metric.reads in READS[method])


def unfit(where: str, name: str, method: str) -> Iterator[Problem]:
    """Why a score cannot be had from answers to tasks of this method: it does not exist, or reads something else."""
    if name not in scores_of(method):
        reads = catalog.load("quality.scoring.metrics", name).reads if name in catalog.names("quality.scoring.metrics") else ""
        fix = INSTEAD.get(reads, "") or did_you_mean(name, scores_of(method))
        yield Problem(where, shown(name), f"one of {', '.join(scores_of(method))}", fix)


def uncomputable(experiment: Experiment) -> Iterator[Problem]:
    """Why [quality] cannot be answered, as problems of single keys."""
    quality, runner, serving = experiment.quality, experiment.workload.runner, experiment.serving
    if quality is None:
        return
    if runner in SCORELESS:
        fix = "Remove it, or measure quality with a script or an engine that gives answers."
        found = f"a table, where workload.runner is {shown(runner)}"
        yield Problem("quality", found, "no [quality]: this runner reports no scores", fix)
    elif quality.max_flip_rate is not None and experiment.evaluation is None:
        allowed = "no such limit: only an evaluation pairs answers item by item"
        yield Problem("quality.max_flip_rate", shown(quality.max_flip_rate), allowed, "Remove it.")
    elif runner == "serving" and serving is not None:
        yield from _of_load(quality.metric, serving)


def _of_load(metric: str, serving: Serving) -> Iterator[Problem]:
    prompts = serving.prompts
    if serving.task in WITHOUT_TEXT:
        found = f"a table, where serving.task is {shown(serving.task)}"
        yield Problem("quality", found, "no [quality]: its answers are numbers", "Leave it out.")
        return
    if metric not in scores_of_a_load():
        allowed = f"one of {', '.join(scores_of_a_load())}, the scores that a load can compute itself"
        fix = did_you_mean(metric, scores_of_a_load()) or 'Write metric = "exact_match" or "contains" below [quality].'
        yield Problem("quality.metric", shown(metric), allowed, fix)
    if not prompts.answer_field:
        yield Problem(
            "serving.prompts.answer_field",
            NOTHING,
            "the field of the reference answer, required by [quality]",
            'Write source = "FILE.jsonl" and answer_field = "answer" below [serving.prompts] (--prompts, --answer-field), or leave '
            "[quality] out.",
        )
    elif prompts.source == "synthetic" or prompts.format in FIELDLESS:
        fix = 'Write source = "FILE.jsonl" below [serving.prompts].'
        yield Problem("serving.prompts.source", shown(prompts.source), "a file of JSONL or CSV with reference answers", fix)
    if any(scenario != DATASET for scenario in serving.scenarios):
        yield Problem(
            "serving.scenarios",
            shown(serving.scenarios) if "scenarios" in serving.model_fields_set else NOTHING,
            f'"{DATASET}" only, since [quality] needs reference answers and synthetic prompts have none',
            f'Write scenarios = ["{DATASET}"] below [serving], and measure other lengths without [quality].',
        )
    if serving.client.keep_text is False:
        fix = "Remove keep_text from [serving.client]."
        yield Problem("serving.client.keep_text", "false", "true, since [quality] scores the text", fix)
