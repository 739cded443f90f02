"""Can this kind of workload compute the deciding score at all?

Checked before a run but not when reading a record: measurements stay readable whatever was requested.
The scores of a training come from its script, so they cannot be checked beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from fireassay import catalog
from fireassay.errors import Problem
from fireassay.spec.explain import NOTHING, did_you_mean, shown
from fireassay.spec.rules.data import Data, table
from fireassay.spec.rules.serving import WITHOUT_TEXT
from fireassay.spec.sections.scenario import DATASET

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
        yield Problem(where=where, found=shown(name), allowed=f"one of {', '.join(scores_of(method))}", fix=fix)


def uncomputable(data: Data) -> Iterator[Problem]:
    """Why [quality] cannot be answered, as problems of single keys; ignores values of the wrong type."""
    quality, runner = data.get("quality"), table(data, "workload").get("runner")
    if not isinstance(quality, Mapping):
        return
    if runner in SCORELESS:
        yield Problem(
            where="quality",
            found=f"a table, where workload.runner is {shown(runner)}",
            allowed="no [quality]: this runner reports no scores",
            fix="Remove it, or measure quality with a script or an engine that gives answers.",
        )
    elif quality.get("max_flip_rate") is not None and not isinstance(data.get("evaluation"), Mapping):
        yield Problem(
            where="quality.max_flip_rate",
            found=shown(quality["max_flip_rate"]),
            allowed="no such limit: only an evaluation pairs answers item by item",
            fix="Remove it.",
        )
    elif runner == "serving" and isinstance(data.get("serving"), Mapping):
        yield from _of_load(quality, table(data, "serving"))


def _of_load(quality: Data, serving: Data) -> Iterator[Problem]:
    metric, prompts, task = quality.get("metric", "accuracy"), table(serving, "prompts"), serving.get("task", "chat")
    if task in WITHOUT_TEXT:
        yield Problem(
            where="quality",
            found=f"a table, where serving.task is {shown(task)}",
            allowed="no [quality]: its answers are numbers",
            fix="Leave it out.",
        )
        return
    if isinstance(metric, str) and metric not in scores_of_a_load():
        yield Problem(
            where="quality.metric",
            found=shown(metric),
            allowed=f"one of {', '.join(scores_of_a_load())}, the scores that a load can compute itself",
            fix=did_you_mean(metric, scores_of_a_load()) or 'Write metric = "exact_match" or "contains" below [quality].',
        )
    if not prompts.get("answer_field"):
        yield Problem(
            where="serving.prompts.answer_field",
            found=NOTHING,
            allowed="the field of the reference answer, required by [quality]",
            fix='Write source = "FILE.jsonl" and answer_field = "answer" below [serving.prompts] (--prompts, --answer-field), or leave '
            "[quality] out.",
        )
    elif prompts.get("source", "synthetic") == "synthetic" or prompts.get("format") in FIELDLESS:
        yield Problem(
            where="serving.prompts.source",
            found=shown(prompts.get("source", "synthetic")),
            allowed="a file of JSONL or CSV with reference answers",
            fix='Write source = "FILE.jsonl" below [serving.prompts].',
        )
    scenarios = serving.get("scenarios")
    scenarios = scenarios if isinstance(scenarios, list | tuple) else []
    others = [scenario for scenario in scenarios if scenario != DATASET]
    if others or not scenarios:
        yield Problem(
            where="serving.scenarios",
            found=shown(scenarios) if scenarios else NOTHING,
            allowed=f'"{DATASET}" only, since [quality] needs reference answers and synthetic prompts have none',
            fix=f'Write scenarios = ["{DATASET}"] below [serving], and measure other lengths without [quality].',
        )
    if table(serving, "client").get("keep_text") is False:
        yield Problem(
            where="serving.client.keep_text",
            found="false",
            allowed="true, since [quality] scores the text",
            fix="Remove keep_text from [serving.client].",
        )
