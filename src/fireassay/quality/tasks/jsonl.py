"""Which prompts does an own file hold?  JSONL: prompt or messages, reference or references, and optionally id, cluster, groups, weight."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fireassay.quality.scoring.items import Format, Task
from fireassay.quality.tasks.support import files, own_task, prompts
from fireassay.quality.tasks.support.prompts import Example

OPTIONS: Final[Mapping[str, files.Option]] = {"metrics": "exact_match", "extractor": "whole", "max_tokens": 256, "stop": ""}
FIELDS: Final = ("prompt", "messages", "reference", "references", *own_task.BESIDE)
ROLES: Final = ("system", "user", "assistant")


def read(path: Path, given: Mapping[str, files.Option]) -> tuple[Task, ...]:
    """The prompts of a file, as they are; `metrics` names scores, separated by commas."""
    chosen = files.checked("jsonl", given, OPTIONS, {})
    text = files.read(path)
    examples = [_example(row) for row in files.json_lines(text)]
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
        cluster="cluster" if any(example.cluster for example in examples) else "",
        options=chosen,
    )
    return (task,)


def _example(row: files.SourceRow) -> Example:
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


FORMAT = Format(
    name="jsonl",
    title="own prompts",
    layout="a JSONL file with prompt or messages, reference or references, and optionally id, cluster, groups, weight",
    read=read,
    options=OPTIONS,
)
