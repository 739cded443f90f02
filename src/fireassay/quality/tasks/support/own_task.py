"""What may an own task's TOML file say, and is it valid?  All problems at once, each below its line.

How is a template filled?  `{name}` is a field of the row, `{{` and `}}` are braces; nothing else: no attribute, index or format.

What do rows of the user's own files say beside the question: id, cluster, groups and weight?
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, ValidationError

from fireassay import catalog
from fireassay.errors import Problem, SpecError
from fireassay.quality.scoring.scoring import PATTERN, extractor
from fireassay.quality.tasks.support import files
from fireassay.quality.tasks.support.files import SourceRow
from fireassay.spec.explain import closest, did_you_mean, explain, shown
from fireassay.spec.load import with_lines
from fireassay.spec.model import NAME_PATTERN, Model, Words, listed
from fireassay.spec.rules.evaluation import unfit
from fireassay.spec.toml_file import parse

_PIECE: Final = re.compile(r"\{\{|\}\}|\{([^{}\n]{1,100})\}|[{}]")


def lone_brace(template: str) -> str:
    """What stands at a brace that is neither doubled nor around a name; empty if there is none."""
    for piece in _PIECE.finditer(template):
        if piece[0] in ("{", "}"):
            return template[max(0, piece.start() - 10) : piece.end() + 10]
    return ""


def filled(template: str, field: Callable[[str], str]) -> str:
    """The template with its fields' values; a value is never read as a template."""
    return _PIECE.sub(lambda piece: field(piece[1]) if piece[1] else piece[0][0], template)


BESIDE: Final = ("id", "cluster", "groups", "weight")
LIGHTEST: Final = 1e-9
HEAVIEST: Final = 1e9


def id_of(row: SourceRow, name: str = "id") -> str:
    """The row's id, or its number."""
    return files.text_of(row, name) if name and row.values.get(name) is not None else str(row.number)


def label_of(row: SourceRow, name: str = "cluster") -> str | None:
    """A label, or None where the row has none."""
    return files.text_of(row, name) if row.values.get(name) is not None else None


def groups_of(row: SourceRow) -> Mapping[str, str]:
    """The labels of subgroups: an object of texts."""
    groups = row.values.get("groups")
    if groups is None:
        return {}
    if not isinstance(groups, dict):
        raise files.wrong(row.where, f"{files.shown(groups)} in 'groups'", 'an object of labels, as {"language": "en"}')
    inner = SourceRow(where=f"{row.where}, groups", number=row.number, values=groups)
    return {name: files.text_of(inner, name) for name in groups}


def weight_of(row: SourceRow, name: str = "weight") -> float:
    """A weight, or 1 where the row has none; squares of weights must be numbers that are not 0."""
    found = row.values.get(name)
    if found is None:
        return 1.0
    try:
        weight = float(found) if not isinstance(found, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        weight = math.nan
    if not LIGHTEST <= weight <= HEAVIEST:
        raise files.wrong(row.where, f"{files.shown(found)} in {name!r}", f"a number from {LIGHTEST:g} to {HEAVIEST:g}")
    return weight


def known(row: SourceRow, names: tuple[str, ...]) -> None:
    """Refuse a field that looks like a misspelt one; other fields are the user's."""
    for name in row.values:
        match = None if name in names or len(name) <= 3 else closest(name, names)
        if match is not None and match not in row.values:
            raise files.wrong(
                row.where, f"the field {files.shown(name)}", f"fields with these names: {', '.join(names)}", f"Did you mean {match}?"
            )


Option = str | int | float | bool
Stops = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], BeforeValidator(listed)]


class RowFields(Model):
    """The fields of the data's rows."""

    reference: str = Field(
        "answer", min_length=1, description="The field of the right answer: a text or a list; for choices an index, letter or text."
    )
    choices: str = Field("", description="The field with the list of choices, for method = loglikelihood and extractors of choices.")
    id: str = Field("", description="The field that identifies a row. Default: the row's number.")
    cluster: str = Field("", description="The field that rows share which depend on each other: a passage, a subject.")
    weight: str = Field("", description="The field of a row's weight. Default: all count alike.")
    groups: Words = Field((), description="Fields whose values are scored apart.")


class OwnTask(Model):
    """A task of the user's own: data, prompt and scores."""

    name: str = Field(min_length=1, max_length=60, pattern=NAME_PATTERN, description="The task's name in reports.")
    data: str = Field(min_length=1, description="The file with the data, relative to this file.")
    layout: Literal["jsonl", "csv", "tsv"] = Field(
        "jsonl", description="jsonl: an object per line. csv, tsv: a first line with the columns' names."
    )
    template: str = Field(min_length=1, description="The prompt, with {field} for a field of the row; {{ and }} are braces.")
    answer_template: str = Field("", description="An example's answer, with the space before it. Default: a space and the reference.")
    separator: str = Field("\n\n", description="What stands between few-shot examples.")
    introduction: str = Field("", description="What stands before the first example.")
    shots: int = Field(0, ge=0, le=1000, description="Number of few-shot examples: the first rows of shots_from.")
    shots_from: str = Field("", description="The file with the few-shot examples, relative to this file, in the same layout.")
    metrics: Words = Field(("exact_match",), min_length=1, description="Scores by name; the first decides.")
    options: dict[str, Option] = Field(default_factory=dict, description='Options of scores, as "rouge_l.stem" = true.')
    extractor: str = Field(
        "whole", min_length=1, description="How the answer is found in a text: a name, or regex: and a pattern of your own."
    )
    majority: bool = Field(False, description="Whether the answer to an item is the one that most of its repetitions give.")
    method: Literal["generation", "loglikelihood"] = Field("generation", description="loglikelihood: the most likely choice is the answer.")
    stop: Stops = Field((), description="Texts at which the model stops.")
    max_tokens: int = Field(256, ge=1, le=1_000_000, description="Most tokens of an answer.")
    chance: float | None = Field(
        None, ge=0.0, le=1.0, description="Score of a guesser without knowledge. Default: that of the choices, if any."
    )
    fields: RowFields = RowFields()


def load(path: Path) -> OwnTask:
    """The task that a TOML file describes. Raises SpecError: it cannot be read, or is invalid: all problems at once."""
    data, text = parse(path, "a task")
    try:
        task = OwnTask.model_validate(data)
    except ValidationError as error:
        raise SpecError(with_lines(explain(OwnTask, error), text), str(path)) from None
    if problems := tuple(_contradictions(task)):
        raise SpecError(with_lines(problems, text), str(path))
    return task


def _contradictions(task: OwnTask) -> Iterator[Problem]:
    if brace := lone_brace(task.template):
        yield Problem("template", f"a single brace at {shown(brace)}", "{field}, or {{ and }} for braces")
    if task.shots and not task.shots_from:
        yield Problem("shots_from", "nothing", f"the file with the examples, for shots = {task.shots}")
    if task.method == "loglikelihood" and not task.fields.choices:
        yield Problem("fields.choices", "nothing", "the field with the list of choices, for method = loglikelihood")
    known = (*catalog.names("quality.scoring.extractors"), *catalog.third_party("quality.scoring.extractors"))
    if task.extractor.startswith(PATTERN):
        extractor(task.extractor)
    elif task.extractor not in known:
        fix = did_you_mean(task.extractor, known)
        yield Problem("extractor", shown(task.extractor), f"one of {', '.join(known)}", fix)
    for name in task.metrics:
        yield from unfit("metrics", name, task.method)
    for name in task.options:
        if name.partition(".")[0] not in task.metrics:
            fix = did_you_mean(name, [f"{metric}.{name.partition('.')[2]}" for metric in task.metrics])
            yield Problem("options", shown(name), f"SCORE.OPTION, with one of {', '.join(task.metrics)}", fix)
