"""Which keys of an evaluation contradict each other?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from fireassay.errors import Problem
from fireassay.spec.explain import NOTHING, shown
from fireassay.spec.rules.data import Data, items, table, tables

RUNNER: Final = "answers"


def scores_answers(data: Data) -> bool:
    """Whether answers are scored that exist already."""
    return table(data, "workload").get("runner") == RUNNER


def _files_with_their_runner(data: Data) -> Iterator[Problem]:
    files = items(table(data, "evaluation"), "answers")
    if scores_answers(data) and not files:
        yield Problem(
            where="evaluation.answers",
            found=NOTHING,
            allowed=f'at least one file of answers with workload.runner = "{RUNNER}"',
            fix='Add [[evaluation.answers]] with name = "a" and path = "answers.jsonl", or use: assay score FILE',
        )
    if files and not scores_answers(data):
        yield Problem(
            where="evaluation.answers",
            found="files, where workload.runner is another",
            allowed=f'files of answers only with workload.runner = "{RUNNER}"',
            fix=f'Write runner = "{RUNNER}" below [workload].',
        )


def _names_once(data: Data) -> Iterator[Problem]:
    names = [file.get("name") for _, file in tables(table(data, "evaluation"), "answers")]
    for name, count in Counter(name for name in names if isinstance(name, str)).items():
        if count > 1:
            fix = "Write NAME=FILE for each file, as in before=old/answers.jsonl after=new/answers.jsonl."
            yield Problem(where="evaluation.answers", found=f"{count} files named {shown(name)}", allowed="each name once", fix=fix)


def _one_pass(data: Data) -> Iterator[Problem]:
    launches = table(data, "launches").get("per_configuration")
    if scores_answers(data) and type(launches) is int and launches != 1:
        fix = "Write the repetitions of an item as rows with the same id."
        yield Problem(where="launches.per_configuration", found=shown(launches), allowed="1, since a file holds the same answers", fix=fix)


EVALUATION_RULES: tuple[Callable[[Data], Iterator[Problem]], ...] = (_files_with_their_runner, _names_once, _one_pass)
