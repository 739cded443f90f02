"""Which keys of an evaluation contradict each other?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from fireassay.errors import Problem
from fireassay.spec.explain import NOTHING, shown
from fireassay.spec.rules.data import Data, items, table, tables

RUNNER: Final = "answers"
LAUNCHES: Final = 5  # the default of launches.per_configuration
# of [serving] in an evaluation: every item once, as it is, and as long as the model makes it
LOAD: Final[dict[str, Any]] = {"scenarios": ["dataset"], "ignore_eos": False, "arrivals": {"warm_up_s": 0.0, "cold": 0}}


def scores_answers(data: Data) -> bool:
    """Whether answers are scored that exist already."""
    return table(data, "workload").get("runner") == RUNNER


def _files_with_their_runner(data: Data) -> Iterator[Problem]:
    files = items(table(data, "evaluation"), "answers")
    if scores_answers(data) and not files:
        yield Problem(
            "evaluation.answers",
            NOTHING,
            f'at least one file of answers with workload.runner = "{RUNNER}"',
            'Add [[evaluation.answers]] with name = "a" and path = "answers.jsonl", or use: assay score FILE',
        )
    if files and not scores_answers(data):
        yield Problem(
            "evaluation.answers",
            "files, where workload.runner is another",
            f'files of answers only with workload.runner = "{RUNNER}"',
            f'Write runner = "{RUNNER}" below [workload].',
        )


def _names_once(data: Data) -> Iterator[Problem]:
    names = [file.get("name") for _, file in tables(table(data, "evaluation"), "answers")]
    for name, count in Counter(name for name in names if isinstance(name, str)).items():
        if count > 1:
            fix = "Write NAME=FILE for each file, as in before=old/answers.jsonl after=new/answers.jsonl."
            yield Problem("evaluation.answers", f"{count} files named {shown(name)}", "each name once", fix)


def _one_pass(data: Data) -> Iterator[Problem]:
    launches = table(data, "launches").get("per_configuration")
    if scores_answers(data) and type(launches) is int and launches != 1:
        fix = "Write the repetitions of an item as rows with the same id."
        yield Problem("launches.per_configuration", shown(launches), "1, since a file holds the same answers", fix)


def _load_of_items(data: Data) -> Iterator[Problem]:
    """A load of items sends each once, as it is."""
    if not data.get("evaluation") or not data.get("serving"):
        return
    serving = table(data, "serving")
    found = {
        "serving.scenarios": (serving.get("scenarios"), ["dataset"]),
        "serving.ignore_eos": (serving.get("ignore_eos"), False),
        "serving.arrivals.warm_up_s": (table(serving, "arrivals").get("warm_up_s"), 0.0),
        "serving.arrivals.cold": (table(serving, "arrivals").get("cold"), 0),
        "serving.prompts.cache": (table(serving, "prompts").get("cache"), "as_is"),
    }
    for where, (value, wanted) in found.items():
        if value != wanted:
            given = NOTHING if value is None else shown(value)
            why = f"{shown(wanted)} in an evaluation: every item is sent once, as it is"
            yield Problem(where, given, why, "`assay evaluate ... --toml` prints a complete file.")
    if len(items(serving, "concurrency")) > 1:
        yield Problem("serving.concurrency", shown(serving["concurrency"]), "one number of requests in flight")


def _enough_samples(data: Data) -> Iterator[Problem]:
    """pass@k needs k programs of every problem, which differ only if they are sampled."""
    wanted = [k for k in items(table(data, "evaluation"), "k") if type(k) is int]
    launches = table(data, "launches").get("per_configuration", LAUNCHES)
    if wanted and data.get("serving") and type(launches) is int and launches < max(wanted):
        fix = f"Set launches.per_configuration = {max(wanted)} or more (--repetitions), with a temperature above 0."
        yield Problem("evaluation.k", shown(max(wanted)), f"at most the {launches} answers to each item", fix)


EVALUATION_RULES: tuple[Callable[[Data], Iterator[Problem]], ...] = (
    _files_with_their_runner,
    _names_once,
    _one_pass,
    _load_of_items,
    _enough_samples,
)
