"""Which texts, or which choices, does a file give for scoring by log-likelihood?  JSONL, one object per line.

    {"prompt": "2+2=", "continuation": " 4"}                          a given text, or another engine's answer: perplexity, bits_per_byte
    {"prompt": "2+2=", "choices": [" 3", " 4"], "label": 1}           multiple choice: acc, acc_norm

Texts are used as they are, the space before a continuation included.  `label`: the index from 0, or the text of the right choice.
Optional: `id`, `cluster`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fireassay.quality.scoring.items import Format, Item, Task
from fireassay.quality.tasks.support import files, own_task, prompts

OPTIONS: Final[Mapping[str, files.Option]] = {}


def read(path: Path, given: Mapping[str, files.Option]) -> tuple[Task, ...]:
    files.checked("continuations", given, OPTIONS, {})
    text = files.read(path)
    items = tuple(map(_item, files.json_lines(text)))
    kinds = {len(item.choices) > 1 for item in items}
    if len(kinds) != 1:
        raise files.wrong(text.name, "choices in some lines, and continuations in others", "one kind in all lines")
    prompts.distinct(items, text.name)
    return (
        Task(
            name=path.stem,
            items=items,
            metrics=("acc", "acc_norm") if kinds == {True} else ("bits_per_byte", "perplexity"),
            method="loglikelihood",
            files={text.name: text.sha256},
            cluster="cluster" if any(item.cluster for item in items) else "",
        ),
    )


def _item(row: files.SourceRow) -> Item:
    choices = _choices(row)
    return Item(
        id=own_task.id_of(row),
        prompt=_text(row, "prompt"),
        choices=choices,
        references=(_label(row, choices),) if "choices" in row.values else (),
        cluster=own_task.label_of(row),
    )


def _choices(row: files.SourceRow) -> tuple[str, ...]:
    if ("choices" in row.values) == ("continuation" in row.values):
        raise files.wrong(row.where, f"the keys {', '.join(row.values) or 'none'}", "either continuation, or choices with label")
    if "continuation" in row.values:
        return (_text(row, "continuation"),)
    choices = row.values["choices"]
    if not isinstance(choices, list) or len(choices) < 2 or not all(isinstance(choice, str) and choice for choice in choices):
        raise files.wrong(row.where, f"choices {files.shown(choices)}", "a list of two texts or more, none empty")
    return tuple(choices)


def _label(row: files.SourceRow, choices: tuple[str, ...]) -> str:
    label = row.values.get("label")
    if type(label) is int and 0 <= label < len(choices):
        return str(label)
    right = [index for index, choice in enumerate(choices) if isinstance(label, str) and choice.strip() == label.strip()]
    if len(right) != 1:
        raise files.wrong(row.where, f"label {files.shown(label)}", f"an index from 0 to {len(choices) - 1}, or the text of one choice")
    return str(right[0])


def _text(row: files.SourceRow, name: str) -> str:
    """A text as it is: white space alone may be a continuation."""
    value = row.values.get(name)
    if not isinstance(value, str) or not value:
        raise files.wrong(row.where, f"{name} {files.shown(value)}", "a text that is not empty")
    return value


FORMAT = Format(
    name="continuations",
    title="Texts or choices to score by log-likelihood",
    layout='JSONL: {"prompt", "continuation"} or {"prompt", "choices", "label"}',
    read=read,
)
