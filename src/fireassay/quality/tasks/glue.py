"""Which rows do the tasks of GLUE hold?  TSV files without quoting: CoLA without header, the others with one.

Columns as in the official files and in huggingface/datasets (`datasets/glue/glue.py`): CoLA source, label, star, sentence; MRPC Quality,
#1 String, #2 String; QQP question1, question2, is_duplicate; MNLI gold_label, matched and mismatched; STS-B score, from 0 to 5.  Official
metrics: Matthews for CoLA, F1 and accuracy for MRPC and QQP, Pearson and Spearman for STS-B, else accuracy.  Prompts are those of
lm-evaluation-harness (`tasks/glue/*/default.yaml`); STS-B, which is not there, asks for a number.

The labels of the official test files are hidden: such a split is refused.  A row with too few columns (QQP's files have some) is refused,
or skipped and counted with `broken_rows` = skip, as the public reader does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from fireassay.quality.scoring.extractors.support.numerals import normalised
from fireassay.quality.scoring.items import Format, Task
from fireassay.quality.tasks.support import classes, files, prompts
from fireassay.quality.tasks.support.classes import Kind, Read
from fireassay.quality.tasks.support.prompts import Example

OPTIONS: Final[Mapping[str, files.Option]] = {"task": "", "split": "dev", "form": "generation", "shots": 0, "broken_rows": "refuse"}
CHOICES: Final = {"split": ("train", "dev", "test"), "form": classes.FORMS, "broken_rows": ("refuse", "skip")}
NO_YES: Final = {"0": "no", "1": "yes"}


def _filled(template: str, *columns: str) -> tuple[Callable[[files.SourceRow], str], str]:
    """A prompt with %s for each column, and its template."""
    return lambda row: template % tuple(files.text_of(row, name).strip() for name in columns), template % tuple(
        f"{{{name}}}" for name in columns
    )


def _kind(prompt: tuple[Callable[[files.SourceRow], str], str], **rest: object) -> Kind:
    return Kind(prompt=prompt[0], template=prompt[1], **rest)  # type: ignore[arg-type]


def _sentence(row: files.SourceRow) -> str:
    hypothesis = files.text_of(row, "sentence2").strip()
    ended = hypothesis if hypothesis.endswith(".") else f"{hypothesis}."
    return f"{files.text_of(row, 'sentence1').strip()}\nQuestion: {ended} True, False or Neither?\nAnswer:"


_PAIR: Final = "Sentence 1: %s\nSentence 2: %s\nQuestion: Do both sentences mean the same thing?\nAnswer:"
_ENTAILS: Final = _filled("%s\nQuestion: %s True or False?\nAnswer:", "sentence1", "sentence2")
_MNLI: Final = (_sentence, "{sentence1}\nQuestion: {sentence2}. True, False or Neither?\nAnswer:")
_STSB: Final = (
    "Sentence 1: %s\nSentence 2: %s\nQuestion: How similar are the sentences, from 0 (unrelated) to 5 (the same meaning)?\nAnswer:"
)
KINDS: Final = (
    _kind(
        _filled("%s\nQuestion: Does this sentence make sense?\nAnswer:", "sentence"),
        name="cola", folder="CoLA", labels=NO_YES, metrics=("mcc",), columns=("source", "label", "star", "sentence"),
    ),
    _kind(
        _filled("%s\nQuestion: Is this sentence positive or negative?\nAnswer:", "sentence"),
        name="sst2", folder="SST-2", labels={"0": "negative", "1": "positive"}, metrics=("accuracy",),
    ),
    _kind(
        _filled(_PAIR, "#1 String", "#2 String"),
        name="mrpc", folder="MRPC", labels=NO_YES, metrics=("f1_binary", "accuracy"), label="Quality", positive="1",
    ),
    _kind(
        _filled("Question 1: %s\nQuestion 2: %s\nQuestion: Do both questions ask the same thing?\nAnswer:", "question1", "question2"),
        name="qqp", folder="QQP", labels=NO_YES, metrics=("f1_binary", "accuracy"), label="is_duplicate", positive="1",
    ),
    _kind(_filled(_STSB, "sentence1", "sentence2"), name="stsb", folder="STS-B", labels={}, metrics=("pearson", "spearman"), label="score"),
    _kind(
        _MNLI, name="mnli", folder="MNLI", labels={"entailment": "True", "neutral": "Neither", "contradiction": "False"},
        metrics=("accuracy",), label="gold_label", files=("{split}_matched", "{split}_mismatched"),
    ),
    _kind(
        _filled("%s\n%s\nQuestion: Does this response answer the question?\nAnswer:", "question", "sentence"),
        name="qnli", folder="QNLI", labels={"entailment": "yes", "not_entailment": "no"}, metrics=("accuracy",),
    ),
    _kind(_ENTAILS, name="rte", folder="RTE", labels={"entailment": "True", "not_entailment": "False"}, metrics=("accuracy",)),
    _kind(_ENTAILS, name="wnli", folder="WNLI", labels={"0": "False", "1": "True"}, metrics=("accuracy",)),
)  # fmt: skip


def read(path: Path, given: Mapping[str, files.Option]) -> tuple[Task, ...]:
    """The tasks of GLUE's folder, or of one task's; MNLI is two, except for its training files."""
    chosen = files.checked("glue", given, OPTIONS, CHOICES)
    return tuple(
        _task(kind, home, stem, chosen)
        for kind, home in classes.homes("GLUE", path, KINDS, chosen["task"])
        for stem in (kind.files if chosen["split"] != "train" else ("{split}",))
    )


def _task(kind: Kind, home: Path, stem: str, chosen: Mapping[str, files.Option]) -> Task:
    digests: dict[str, str] = {}
    before, shots = "", int(chosen["shots"])
    if shots:
        train, _ = _examples(kind, home, "train", chosen, digests)
        before = prompts.head(train, shots, f"{kind.folder}/train.tsv")
    examples, skipped = _examples(kind, home, stem.format(split=chosen["split"]), chosen, digests)
    end = stem.removeprefix("{split}")
    made = Read(name=f"glue/{kind.name}{end}", examples=examples, digests=digests, before=before, skipped=skipped)
    return _similarity(classes.task(kind, made, chosen), chosen) if not kind.labels else classes.task(kind, made, chosen)


def _examples(
    kind: Kind, home: Path, stem: str, chosen: Mapping[str, files.Option], digests: dict[str, str]
) -> tuple[Sequence[Example], int]:
    name = f"{kind.folder}/{stem}.tsv"
    text = files.examples(home / f"{stem}.tsv", int(chosen["shots"]) if stem == "train" else 0, name)
    digests[name] = text.sha256
    examples, skipped = [], 0
    # CoLA's test file, alone of CoLA's, has a header.
    for row in files.tabbed(text, kind.columns if not text.text.startswith("index\t") else ()):
        if isinstance(row, files.Broken):
            skipped += 1
            if chosen["broken_rows"] == "refuse":
                fix = "Use broken_rows = skip, as the public reader does; the number of skipped rows is recorded."
                raise files.wrong(row.where, row.found, "one value per column, separated by tabs", fix)
            continue
        key = str(row.number)
        examples.append(classes.example(kind, row, str(chosen["form"]), key) if kind.labels else _scored(kind, row, key))
    if not examples:
        raise files.wrong(name, "no row", "at least one")
    return examples, skipped


def _scored(kind: Kind, row: files.SourceRow, key: str) -> Example:
    """A row with a number as its label."""
    label = row.values.get(kind.label)
    try:
        value = float(label) if label is not None else -1.0
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 5.0:
        found = f"no label in {kind.label!r}" if label is None else f"{files.shown(label)} in {kind.label!r}"
        raise files.wrong(row.where, found, "a number from 0 to 5", "Use split = dev: the labels of test are hidden.")
    return Example(id=key, prompt=kind.prompt(row), answer=f" {label}", references=(normalised(str(label)) or str(label),))


def _similarity(task: Task, chosen: Mapping[str, files.Option]) -> Task:
    """STS-B: the answer is a number, which is no choice."""
    if chosen["form"] == "choices":
        fix = "Name the other tasks: task = cola,sst2,mrpc,qqp,mnli,qnli,rte,wnli."
        raise files.wrong("evaluation.task_options.form", "choices for stsb, whose labels are numbers", "generation", fix)
    return replace(task, extractor="first_number")


FORMAT = Format(
    name="glue", title="GLUE", layout="GLUE's folder (CoLA, SST-2, MRPC ...) or one task's, with dev.tsv", read=read, options=OPTIONS
)
