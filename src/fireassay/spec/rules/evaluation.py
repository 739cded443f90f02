"""Which keys of an evaluation contradict each other?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from fireassay.errors import Problem
from fireassay.spec.explain import NOTHING, shown
from fireassay.spec.model import Model
from fireassay.spec.rules.partial import Demand, broken, right

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
)
