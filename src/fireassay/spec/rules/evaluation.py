"""Which keys of an evaluation contradict each other?

Can this kind of workload compute the deciding score at all?

Checked before a run but not when reading a record: measurements stay readable whatever was requested.
The scores of a training come from its script, so they cannot be checked beforehand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from fireassay import catalog
from fireassay.errors import Problem
from fireassay.spec.explain import NOTHING, did_you_mean, shown
from fireassay.spec.model import Model
from fireassay.spec.rules.given_scores import GIVEN_RULES
from fireassay.spec.rules.judge import JUDGE_RULES
from fireassay.spec.rules.partial import Demand, broken, right
from fireassay.spec.rules.ratings import RATINGS_RULES
from fireassay.spec.rules.serving import WITHOUT_TEXT
from fireassay.spec.rules.steps import STEP_RULES
from fireassay.spec.sections.scenario import DATASET
from fireassay.spec.sections.serving import Serving

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment

RUNNER: Final = "answers"
# of [serving] in an evaluation: every item once, as it is, and as long as the model makes it
LOAD: Final[dict[str, Any]] = {"scenarios": ["dataset"], "ignore_eos": False, "arrivals": {"warm_up_s": 0.0, "cold": 0}}


def scores_answers(experiment: Experiment) -> bool:
    """True if answers are scored that exist already."""
    return experiment.workload.runner == RUNNER


def _has_files(experiment: Experiment) -> bool:
    return experiment.evaluation is not None and bool(experiment.evaluation.answers)


def _names_once(experiment: Experiment) -> Iterator[Problem]:
    files = right(experiment.evaluation.answers) if experiment.evaluation is not None else ()
    for name, count in Counter(name for _, name in right([file.name for _, file in files])).items():
        if count > 1:
            fix = "Write NAME=FILE for each file, as in before=old/answers.jsonl after=new/answers.jsonl."
            yield Problem("evaluation.answers", f"{count} files named {shown(name)}", "each name once", fix)


def _load_of_items(experiment: Experiment) -> Iterator[Problem]:
    """A load of items sends each once, as it is."""
    serving, evaluation = experiment.serving, experiment.evaluation
    if not evaluation or not serving or not evaluation.model_fields_set or not serving.model_fields_set:
        return
    asked = (
        ("serving.scenarios", serving, ["dataset"]),
        ("serving.ignore_eos", serving, False),
        ("serving.arrivals.warm_up_s", serving.arrivals, 0.0),
        ("serving.arrivals.cold", serving.arrivals, 0),
        ("serving.prompts.cache", serving.prompts, "as_is"),
    )
    for where, table, wanted in asked:
        yield from broken((_as_it_is,), where, table, wanted)
    if len(serving.concurrency) > 1:
        yield Problem("serving.concurrency", shown(serving.concurrency), "one number of requests in flight")


def _as_it_is(where: str, table: Model, wanted: object) -> Iterator[Problem]:
    name = where.rpartition(".")[2]
    value = getattr(table, name)
    if (list(value) if isinstance(value, tuple) else value) != wanted:
        found = shown(value) if name in table.model_fields_set else NOTHING
        why = f"{shown(wanted)} in an evaluation: every item is sent once, as it is"
        yield Problem(where, found, why, "`assay evaluate ... --toml` prints a complete file.")


def _enough_samples(experiment: Experiment) -> Iterator[Problem]:
    """pass@k needs k programs of every problem, which differ only if they are sampled."""
    launches = experiment.launches.per_configuration
    wanted = max((k for _, k in right(experiment.evaluation.k)), default=1) if experiment.evaluation is not None else 1
    if experiment.serving is not None and wanted > max(1, launches):
        fix = f"Set launches.per_configuration = {wanted} or more (--repetitions), with a temperature above 0."
        yield Problem("evaluation.k", shown(wanted), f"at most the {launches} answers to each item", fix)


EVALUATION_RULES = (
    Demand(
        "evaluation.answers",
        lambda e: scores_answers(e) and not _has_files(e),
        f'at least one file of answers with workload.runner = "{RUNNER}"',
        'Add [[evaluation.answers]] with name = "a" and path = "answers.jsonl", or use: assay score FILE',
        found=NOTHING,
    ),
    Demand(
        "evaluation.answers",
        lambda e: _has_files(e) and not scores_answers(e),
        f'files of answers only with workload.runner = "{RUNNER}"',
        f'Write runner = "{RUNNER}" below [workload].',
        found="files, where workload.runner is another",
    ),
    _names_once,
    Demand(
        "launches.per_configuration",
        lambda e: scores_answers(e) and "per_configuration" in e.launches.model_fields_set and e.launches.per_configuration != 1,
        "1, since a file holds the same answers",
        "Write the repetitions of an item as rows with the same id.",
    ),
    _load_of_items,
    _enough_samples,
    *STEP_RULES,
    *GIVEN_RULES,
    *RATINGS_RULES,
    *JUDGE_RULES,
)


# ---- the deciding score ----------------------------------------------------------------------------------------------


SCORELESS: Final = ("command", "function", "collectives", "network", "fleet")  # runners whose workload reports no scores
FIELDLESS: Final = ("text", "sharegpt")  # prompt formats without reference answers

READS: Final = {  # method -> what scores read
    "generation": ("texts",),
    "loglikelihood": ("texts", "likelihoods"),
    "code": ("programs",),
    "images": ("heads", "images"),
    "image_files": ("images",),
}
INSTEAD: Final = {
    "programs": "Programs are judged by their tests: assay evaluate --task humaneval --data problems.jsonl",
    "heads": "It needs a task of images: assay evaluate --task genai_bench --data DIR --target URL",
    "images": "It reads images: name the field of their paths with --image.",
    "likelihoods": "It needs a task of choices by log-likelihood: assay evaluate --task mmlu --task-option variant=letter.",
}


@cache
def scores_of_a_load() -> tuple[str, ...]:
    """The scores that a load can compute from its own answers."""
    return tuple(name for name, metric in sorted(catalog.load_all("quality.scoring.metrics").items()) if metric.timed)


def method_of_files(experiment: Experiment) -> str:
    """What the answers of files are to scores: texts, or images that they name."""
    evaluation = experiment.evaluation
    return "image_files" if evaluation is not None and evaluation.fields.image else "generation"


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
