"""Which word problems does GSM8K hold?  JSONL with `question` and `answer`, whose last line is "#### 42".

The prompt is "Question: ...\\nAnswer:", as in lm-evaluation-harness (`tasks/gsm8k/gsm8k.yaml`, version 3), with the answers of the first
rows of train.jsonl as examples; there they are drawn at random.  Annotations of a calculator (`<<6*7=42>>`) are kept unless
`calculator` is false.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fireassay.quality.scoring.extractors.support.numerals import normalised
from fireassay.quality.scoring.items import Format, Task
from fireassay.quality.tasks.support import files, prompts
from fireassay.quality.tasks.support.prompts import Example

OPTIONS: Final[Mapping[str, files.Option]] = {
    "shots": 5,
    "shots_from": "train.jsonl",
    "calculator": True,
    "extractor": "final_number",
    "max_tokens": 512,
}
CHOICES: Final = {"extractor": ("final_number", "hashes", "last_number", "boxed")}
TEMPLATE: Final = "Question: {question}\nAnswer: {answer}\n\n"
_ANNOTATION: Final = re.compile(r"<<[^<>\n]{0,200}>>")


def read(path: Path, given: Mapping[str, files.Option]) -> tuple[Task, ...]:
    """The problems of a file, or of test.jsonl in a folder."""
    chosen = files.checked("gsm8k", given, OPTIONS, CHOICES)
    test = path / "test.jsonl" if path.is_dir() else path
    text, shots = files.read(test), int(chosen["shots"])
    digests, before = {text.name: text.sha256}, ""
    if shots:
        train = files.examples(test.parent / str(chosen["shots_from"]), shots)
        digests[train.name] = train.sha256
        before = prompts.head([_example(row, bool(chosen["calculator"])) for row in files.json_lines(train)], shots, train.name)
    examples = [_example(row, bool(chosen["calculator"])) for row in files.json_lines(text)]
    task = Task(
        name="gsm8k",
        items=tuple(prompts.item(example, before) for example in examples),
        metrics=("exact_match",),
        method="generation",
        extractor=str(chosen["extractor"]),
        stop=("Question:", "</s>", "<|im_end|>"),
        max_tokens=int(chosen["max_tokens"]),
        template=before + TEMPLATE,
        shots=shots,
        files=digests,
        options=chosen,
    )
    return (task,)


def _example(row: files.SourceRow, calculator: bool) -> Example:
    answer = files.text_of(row, "answer")
    _, mark, last = answer.rpartition("####")
    number = normalised(last.strip()) if mark else None
    if number is None:
        found = f"{files.shown(answer[-40:])} at the end of 'answer'"
        raise files.wrong(row.where, found, '"#### " and a number', "Is this a split with answers?")
    shown = answer if calculator else _ANNOTATION.sub("", answer)
    return Example(
        id=str(row.number), prompt=f"Question: {files.text_of(row, 'question')}\nAnswer:", answer=f" {shown}", references=(number,)
    )


FORMAT = Format(
    name="gsm8k",
    title="GSM8K",
    layout="test.jsonl and train.jsonl with question and answer (... #### 42), or one such file",
    read=read,
    options=OPTIONS,
)
