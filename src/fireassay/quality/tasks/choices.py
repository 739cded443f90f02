"""Which multiple-choice questions does an own file hold?  JSONL: question, choices, answer, and optionally id, cluster, groups, weight.

The answer is the index of a choice from 0, its letter, or its text.  `variant` is that of `mmlu`: letter, text or generation.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fireassay.quality.scoring.items import Format, Task
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


FORMAT = Format(
    name="choices",
    title="own multiple choice",
    layout="a JSONL file with question, choices, answer (index, letter or text), and optionally id, cluster, groups, weight",
    read=read,
    options=OPTIONS,
)
