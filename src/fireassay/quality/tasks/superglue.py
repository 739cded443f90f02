"""Which rows do the tasks of SuperGLUE hold?  JSONL files train, val and test in the folders BoolQ, CB, COPA, MultiRC, ReCoRD, RTE, WiC, WSC;
the diagnostics AX-b and AX-g are one file each.

Fields as in the official files and in huggingface/datasets (`datasets/super_glue/super_glue.py`); prompts are those of
lm-evaluation-harness (`tasks/super_glue/*/default.yaml`), but for COPA and ReCoRD, which there cannot be generated.  Official metrics:
accuracy; CB also F1 as the mean over classes; ReCoRD exact match and token F1, the best over all aliases; MultiRC F1 over answers (F1a) and
exact match over questions, which are keyed by paragraph and question; AX-b Matthews' correlation, AX-g accuracy and gender parity.  Items
about one passage are a cluster, and so are the sides of a pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from fireassay.quality.scoring.items import Format, Task
from fireassay.quality.tasks.support import classes, files, options, prompts
from fireassay.quality.tasks.support.classes import Kind, Read
from fireassay.quality.tasks.support.prompts import Example
from fireassay.quality.tasks.support.superglue_kinds import KINDS, examples_of

OPTIONS: Final[Mapping[str, options.Option]] = {"task": "", "split": "val", "form": "generation", "shots": 0}
CHOICES: Final = {"split": ("train", "val", "test"), "form": classes.FORMS}
CLUSTERS: Final = {"multirc": "passage", "record": "passage", "boolq": "passage", "axg": "pair"}


def read(path: Path, given: Mapping[str, options.Option]) -> tuple[Task, ...]:
    """The tasks of SuperGLUE's folder, or of one task's."""
    asked = options.checked("superglue", given, OPTIONS, CHOICES)
    return tuple(_task(kind, home, asked) for kind, home in classes.homes("SuperGLUE", path, KINDS, asked["task"]))


def _task(kind: Kind, home: Path, asked: Mapping[str, options.Option]) -> Task:
    digests: dict[str, str] = {}
    before, shots = "", int(asked["shots"])
    if shots:
        before = prompts.head(_read(kind, home, "train", asked, digests), shots, f"{kind.folder}/train.jsonl")
    examples = _read(kind, home, str(asked["split"]), asked, digests)
    made = Read(name=f"superglue/{kind.name}", examples=examples, digests=digests, before=before, cluster=CLUSTERS.get(kind.name, ""))
    task = classes.task(kind, made, asked)
    if kind.called("record"):
        if asked["form"] == "choices":
            return replace(task, metrics=("accuracy",), chance=prompts.guess(examples))
        return replace(task, extractor="first_line", stop=("\n",), max_tokens=32)
    if kind.called("copa") and asked["form"] == "generation":
        return replace(task, extractor="choice_letter")
    return task


def _read(kind: Kind, home: Path, split: str, asked: Mapping[str, options.Option], digests: dict[str, str]) -> list[Example]:
    split = split if split == "train" else kind.files[0].format(split=split)  # a diagnostic is one file
    name = f"{kind.folder}/{split}.jsonl"
    text = files.examples(home / f"{split}.jsonl", int(asked["shots"]) if split == "train" else 0, name)
    digests[name] = text.sha256
    examples = [example for row in files.json_lines(text) for example in examples_of(kind, row, str(asked["form"]))]
    if not examples:
        raise files.wrong(name, "no question", "at least one")
    prompts.distinct(examples, name)
    return examples


FORMAT = Format(
    name="superglue",
    title="SuperGLUE",
    layout="SuperGLUE's folder (BoolQ, CB, COPA ...) or one task's, with val.jsonl",
    read=read,
    options=OPTIONS,
)
