"""What does an own task ask?  One TOML file names the data, the prompt's template, the scores and how an answer is found.

    name = "capitals"
    data = "capitals.jsonl"            # relative to this file
    template = "Q: What is the capital of {country}?\nA:"
    extractor = "first_line"
    metrics = ["exact_match"]
    [fields]
    reference = "capital"
    cluster = "continent"

Every key is in `quality/tasks/support/own_task.py`.  In a template only fields of the row are filled in.

Which prompts does an own file hold?  JSONL: prompt or messages, reference or references, and optionally id, cluster, groups, weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from fireassay import catalog
from fireassay.quality.scoring.items import Format, Task
from fireassay.quality.tasks.support import files, own_task, prompts
from fireassay.quality.tasks.support.grouping import grouping
from fireassay.quality.tasks.support.own_task import OwnTask, load
from fireassay.quality.tasks.support.prompts import LETTERS, Example

OPTIONS: Final[Mapping[str, files.Option]] = {}


def read(path: Path, given: Mapping[str, files.Option]) -> tuple[Task, ...]:
    files.checked("file", given, OPTIONS, {})
    own = load(path)
    data = files.read(path.parent / Path(own.data).expanduser())
    digests, before = {data.name: data.sha256}, own.introduction
    if own.shots:
        train = files.read(path.parent / Path(own.shots_from).expanduser())
        digests[train.name] = train.sha256
        shown = [_example(own, row) for row in _rows(own, train)]
        prompts.head(shown, own.shots, train.name)  # there are enough
        before += "".join(f"{example.prompt}{example.answer}{own.separator}" for example in shown[: own.shots])
    rows = list(_rows(own, data))
    examples = [_example(own, row) for row in rows]
    if not examples:
        raise files.wrong(data.name, "no row", "at least one")
    prompts.distinct(examples, data.name)
    of_choices = catalog.load("quality.scoring.metrics", own.metrics[0]).of_choices
    chance = prompts.guess(examples) if own.chance is None and of_choices else own.chance
    task = Task(
        name=own.name,
        items=tuple(prompts.item(example, before) for example in examples),
        metrics=own.metrics,
        method=own.method,
        extractor=own.extractor,
        stop=own.stop,
        max_tokens=own.max_tokens,
        template=before + own.template,
        shots=own.shots,
        chance=chance,
        files=digests,
        cluster=own.fields.cluster,
        grouping=None
        if own.fields.cluster
        else grouping((row.values for row in rows), (own.fields.id, own.fields.reference, own.fields.weight)),
        options={**own.options, **({"majority": True} if own.majority else {})},
    )
    return (task,)


def _rows(own: OwnTask, text: files.Text) -> Iterator[files.SourceRow]:
    if own.layout == "jsonl":
        yield from files.json_lines(text)
        return
    if own.layout == "csv":
        yield from files.table(text)
        return
    for row in files.tabbed(text):
        if isinstance(row, files.Broken):
            raise files.wrong(row.where, row.found, "one value per column, separated by tabs")
        yield row


def _example(own: OwnTask, row: files.SourceRow) -> Example:
    fields = own.fields
    texts = files.texts_of(row, fields.choices) if fields.choices else ()
    references = _references(own, row, texts)
    answer = (
        own_task.filled(own.answer_template, lambda name: _value(row, name))
        if own.answer_template
        else f" {_shown(own, references, texts)}"
    )
    return Example(
        id=own_task.id_of(row, fields.id) if not fields.id else files.text_of(row, fields.id),
        prompt=own_task.filled(own.template, lambda name: _value(row, name)),
        answer=answer,
        references=references,
        choices=tuple(f" {text}" for text in texts),
        cluster=files.text_of(row, fields.cluster) if fields.cluster else None,
        groups={name: files.text_of(row, name) for name in fields.groups},
        weight=own_task.weight_of(row, fields.weight) if fields.weight else 1.0,
    )


def _value(row: files.SourceRow, name: str) -> str:
    """A field of the template; a list of choices is lettered, one a line."""
    found: Any = row.values.get(name)
    if isinstance(found, list):
        return "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, files.texts_of(row, name), strict=False))
    return files.text_of(row, name)


def _references(own: OwnTask, row: files.SourceRow, texts: tuple[str, ...]) -> tuple[str, ...]:
    """The field's texts; for log-likelihood the index of the right choice."""
    given = files.texts_of(row, own.fields.reference)
    if own.method != "loglikelihood":
        return given
    found = row.values[own.fields.reference]
    return tuple(_index(row, one, texts, own.fields.reference) for one in (found if isinstance(found, list) else [found]))


def _index(row: files.SourceRow, given: object, texts: tuple[str, ...], name: str) -> str:
    """A whole number is an index; a text is a choice's own before it is a letter or an index, since tables hold only texts."""
    letters, number = LETTERS[: len(texts)], given if isinstance(given, int) and not isinstance(given, bool) else None
    if isinstance(given, str):
        if given in texts:
            return str(texts.index(given))
        if len(given) == 1 and given in letters:
            return str(letters.index(given))
        number = int(given) if given.isdecimal() and len(given) < 4 else None
    if number is not None and 0 <= number < len(texts):
        return str(number)
    raise files.wrong(
        row.where, f"{files.shown(given)} in {name!r}", f"a choice's text, its letter, or its index from 0 to {len(texts) - 1}"
    )


def _shown(own: OwnTask, references: tuple[str, ...], texts: tuple[str, ...]) -> str:
    return texts[int(references[0])] if own.method == "loglikelihood" else references[0]


OWN_FILE = Format(
    name="file",
    title="own task",
    layout="a TOML file with name, data, template, metrics, extractor and [fields]",
    read=read,
    options=OPTIONS,
)


# ---- JSON lines ----

JSONL_OPTIONS: Final[Mapping[str, files.Option]] = {"metrics": "exact_match", "extractor": "whole", "max_tokens": 256, "stop": ""}
FIELDS: Final = ("prompt", "messages", "reference", "references", *own_task.BESIDE)
ROLES: Final = ("system", "user", "assistant")


def read_jsonl(path: Path, given: Mapping[str, files.Option]) -> tuple[Task, ...]:
    """The prompts of a file, as they are; `metrics` names scores, separated by commas."""
    chosen = files.checked("jsonl", given, JSONL_OPTIONS, {})
    text = files.read(path)
    rows = list(files.json_lines(text))
    examples = [_jsonl_example(row) for row in rows]
    clustered = any(example.cluster for example in examples)
    prompts.distinct(examples, text.name)
    metrics = files.listed(chosen["metrics"])
    if not metrics:
        raise files.wrong("evaluation.task_options.metrics", "nothing", "at least one score, as exact_match")
    task = Task(
        name=path.stem,
        items=tuple(prompts.item(example) for example in examples),
        metrics=metrics,
        method="generation",
        extractor=str(chosen["extractor"]),
        stop=(str(chosen["stop"]),) if chosen["stop"] else (),
        max_tokens=int(chosen["max_tokens"]),
        template="{prompt}",
        files={text.name: text.sha256},
        cluster="cluster" if clustered else "",
        grouping=None if clustered else grouping((row.values for row in rows), FIELDS),
        options=chosen,
    )
    return (task,)


def _jsonl_example(row: files.SourceRow) -> Example:
    own_task.known(row, FIELDS)
    if ("messages" in row.values) == ("prompt" in row.values):
        found = "both prompt and messages" if "prompt" in row.values else "neither prompt nor messages"
        raise files.wrong(row.where, found, "one of the two")
    if ("references" in row.values) == ("reference" in row.values):
        found = "both reference and references" if "reference" in row.values else "neither reference nor references"
        raise files.wrong(row.where, found, "one of the two")
    messages = _messages(row) if "messages" in row.values else ()
    return Example(
        id=own_task.id_of(row),
        prompt="" if messages else files.text_of(row, "prompt"),
        answer="",
        references=files.texts_of(row, "references" if "references" in row.values else "reference"),
        cluster=own_task.label_of(row),
        groups=own_task.groups_of(row),
        weight=own_task.weight_of(row),
        messages=messages,
    )


def _messages(row: files.SourceRow) -> tuple[Mapping[str, str], ...]:
    messages = files.value(row, "messages")
    proper = (
        isinstance(messages, list)
        and messages
        and all(
            isinstance(one, dict) and one.get("role") in ROLES and isinstance(one.get("content"), str) and len(one) == 2 for one in messages
        )
    )
    if not proper:
        raise files.wrong(row.where, f"{files.shown(messages)} in 'messages'", f"a list of {{role, content}}; roles: {', '.join(ROLES)}")
    return tuple(messages)


JSONL = Format(
    name="jsonl",
    title="own prompts",
    layout="a JSONL file with prompt or messages, reference or references, and optionally id, cluster, groups, weight",
    read=read_jsonl,
    options=JSONL_OPTIONS,
)
FORMATS = (OWN_FILE, JSONL)
