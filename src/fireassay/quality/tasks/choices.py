"""Which multiple-choice questions does an own file hold?  JSONL: question, choices, answer, and optionally id, cluster, groups, weight.

The answer is the index of a choice from 0, its letter, or its text.  `variant` is that of `mmlu`: letter, text or generation.

Which texts, or which choices, does a file give for scoring by log-likelihood?  JSONL, one object per line.

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
from fireassay.quality.tasks.support.prompts import LETTERS, Example

OPTIONS: Final[Mapping[str, files.Option]] = {"variant": "generation", "shots": 0, "shots_from": "", "max_tokens": 32}
CHOICES: Final = {"variant": ("letter", "text", "generation")}
FIELDS: Final = ("question", "choices", "answer", *own_task.BESIDE)


def read(path: Path, given: Mapping[str, files.Option]) -> tuple[Task, ...]:
    """The questions of a file; `shots_from`: the file beside it with the examples."""
    chosen = files.checked("choices", given, OPTIONS, CHOICES)
    text = files.read(path)
    digests, before, shots = {text.name: text.sha256}, "", int(chosen["shots"])
    if shots:
        if not chosen["shots_from"]:
            raise files.wrong("evaluation.task_options.shots_from", "nothing", "the file with the examples")
        train = files.examples(path.parent / str(chosen["shots_from"]), shots)
        digests[train.name] = train.sha256
        before = prompts.head([_example(row, str(chosen["variant"])) for row in files.json_lines(train)], shots, train.name)
    examples = [_example(row, str(chosen["variant"])) for row in files.json_lines(text)]
    prompts.distinct(examples, text.name)
    generation = chosen["variant"] == "generation"
    task = Task(
        name=path.stem,
        items=tuple(prompts.item(example, before) for example in examples),
        metrics=("exact_match",) if generation else ("acc", "acc_norm"),
        method="generation" if generation else "loglikelihood",
        extractor="choice_letter" if generation else "whole",
        max_tokens=int(chosen["max_tokens"]),
        template=f"{before}{{question}}\n" + ("" if chosen["variant"] == "text" else "{letter}. {choice}\n") + "Answer:",
        shots=shots,
        chance=prompts.guess(examples),
        files=digests,
        cluster="cluster" if any(example.cluster for example in examples) else "",
        options=chosen,
    )
    return (task,)


def _example(row: files.SourceRow, variant: str) -> Example:
    own_task.known(row, FIELDS)
    texts = files.texts_of(row, "choices")
    if not 2 <= len(texts) <= len(LETTERS):
        raise files.wrong(row.where, f"{len(texts)} choices", f"from 2 to {len(LETTERS)}")
    right = _index(row, texts)
    listed = "" if variant == "text" else "".join(f"{letter}. {text}\n" for letter, text in zip(LETTERS, texts, strict=False))
    shown = texts if variant == "text" else tuple(LETTERS[: len(texts)])
    return Example(
        id=own_task.id_of(row),
        prompt=f"{files.text_of(row, 'question').strip()}\n{listed}Answer:",
        answer=f" {shown[right]}",
        references=(LETTERS[right] if variant == "generation" else str(right),),
        choices=tuple(f" {text}" for text in shown),
        cluster=own_task.label_of(row),
        groups=own_task.groups_of(row),
        weight=own_task.weight_of(row),
    )


def _index(row: files.SourceRow, texts: tuple[str, ...]) -> int:
    """Which choice is right."""
    answer = files.value(row, "answer")
    letters = LETTERS[: len(texts)]
    if isinstance(answer, int) and not isinstance(answer, bool) and 0 <= answer < len(texts):
        return answer
    if isinstance(answer, str) and texts.count(answer) == 1:
        return texts.index(answer)
    if isinstance(answer, str) and len(answer) == 1 and answer in letters and answer not in texts:
        return letters.index(answer)
    allowed = f"an index from 0 to {len(texts) - 1}, a letter from A to {letters[-1]}, or the text of one choice"
    raise files.wrong(row.where, f"{files.shown(answer)} in 'answer'", allowed)


MULTIPLE_CHOICE = Format(
    name="choices",
    title="own multiple choice",
    layout="a JSONL file with question, choices, answer (index, letter or text), and optionally id, cluster, groups, weight",
    read=read,
    options=OPTIONS,
)


# ---- continuations ----

CONTINUATIONS_OPTIONS: Final[Mapping[str, files.Option]] = {}


def read_continuations(path: Path, given: Mapping[str, files.Option]) -> tuple[Task, ...]:
    files.checked("continuations", given, CONTINUATIONS_OPTIONS, {})
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


CONTINUATIONS = Format(
    name="continuations",
    title="Texts or choices to score by log-likelihood",
    layout='JSONL: {"prompt", "continuation"} or {"prompt", "choices", "label"}',
    read=read_continuations,
)
FORMATS = (MULTIPLE_CHOICE, CONTINUATIONS)
