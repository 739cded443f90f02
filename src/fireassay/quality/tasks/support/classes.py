"""How does a row with a label become an example?  Its label's word after the prompt, or the words of all labels as choices.

    generation   the model writes the word; extractor choice_text
    choices      log-likelihood of every word; the reference is the label's index in the official order, so that "1" is the positive class

`f1_binary` counts one class as positive; which is an option of the task, "f1_binary.positive", as all options of scores are named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fireassay.quality.scoring.items import Task
from fireassay.quality.tasks.support import files, prompts
from fireassay.quality.tasks.support.prompts import Example

FORMS: Final = ("generation", "choices")


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One task of a benchmark: its files, labels and prompt."""

    name: str
    folder: str
    labels: Mapping[Any, str]  # as in the file, in the official order -> the word that the prompt asks for
    metrics: tuple[str, ...]
    prompt: Callable[[files.SourceRow], str]
    template: str  # what `prompt` makes, with names of columns
    label: str = "label"
    columns: tuple[str, ...] = ()  # names, where the file has no header
    files: tuple[str, ...] = ("{split}",)  # stems; one task each
    positive: str = ""  # the label that f1_binary counts

    def called(self, name: str) -> bool:
        """True if it is this task of the benchmark."""
        return self.name == name

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the labels, in order."""
        return tuple(self.labels.values())


@dataclass(frozen=True, kw_only=True)
class Read:
    """The examples of a task, with what was read."""

    name: str
    examples: Sequence[Example]
    digests: Mapping[str, str]
    before: str = ""
    cluster: str = ""
    skipped: int = 0


def example(kind: Kind, row: files.SourceRow, form: str, key: str, cluster: str | None = None) -> Example:
    label = row.values.get(kind.label)
    if label is None or label in (-1, "-1", ""):
        found = (
            f"no label in {kind.label!r}"
            if label is None
            else f"{files.shown(label)} in {kind.label!r}: the labels of this split are hidden"
        )
        raise files.wrong(row.where, found, "a split with labels", "Use split = dev (GLUE) or val (SuperGLUE).")
    if isinstance(label, list | dict) or label not in kind.labels:
        raise files.wrong(row.where, f"{files.shown(label)} in {kind.label!r}", f"one of {', '.join(map(files.shown, kind.labels))}")
    word = kind.labels[label]
    return Example(
        id=key,
        prompt=kind.prompt(row),
        answer=f" {word}",
        references=(word if form == "generation" else str(list(kind.labels).index(label)),),
        choices=tuple(f" {word}" for word in kind.words),
        cluster=cluster,
    )


def task(kind: Kind, read: Read, chosen: Mapping[str, files.Option]) -> Task:
    generation = chosen["form"] == "generation"
    own: dict[str, files.Option] = {**chosen, "task": kind.name, "skipped_rows": read.skipped}
    if kind.positive:
        own["f1_binary.positive"] = kind.positive if not generation else kind.words[int(kind.positive)]
    return Task(
        name=read.name,
        items=tuple(prompts.item(example, read.before) for example in read.examples),
        metrics=kind.metrics,
        method="generation" if generation else "loglikelihood",
        extractor="choice_text" if generation else "whole",
        max_tokens=16,
        template=f"{read.before}{kind.template}",
        shots=int(chosen["shots"]),
        chance=prompts.guess(read.examples) if kind.metrics[0] == "accuracy" else None,
        files=read.digests,
        cluster=read.cluster,
        options=own,
    )


def homes(layout: str, path: Path, kinds: Sequence[Kind], wanted: files.Option) -> list[tuple[Kind, Path]]:
    """Every wanted task with its folder: `path` is the folder of all, or that of one task.

    Raises:
        SpecError: an unknown task, or no folder of one.
    """
    by_name = {kind.name: kind for kind in kinds}
    names = files.listed(wanted)
    for name in names:
        if name not in by_name:
            fix = files.did_you_mean(name, by_name)
            raise files.wrong("evaluation.task_options.task", files.shown(name), f"one of {', '.join(by_name)}", fix)
    if len(names) == 1 and not (path / by_name[names[0]].folder).is_dir() and path.is_dir():
        return [(by_name[names[0]], path)]
    if not names:
        own = [kind for kind in kinds if kind.folder.lower() == path.name.lower()]
        if own:
            return [(own[0], path)]
        names = tuple(kind.name for kind in kinds if (path / kind.folder).is_dir())
    folders = ", ".join(kind.folder for kind in kinds)
    if not names:
        raise files.wrong(
            str(path), "none of the tasks' folders in it", folders, f"Give the folder of {layout}, or of one task with task = NAME."
        )
    for name in names:
        if not (path / by_name[name].folder).is_dir():
            raise files.wrong(str(path), f"no folder {by_name[name].folder!r} in it", "the folder that holds it")
    return [(by_name[name], path / by_name[name].folder) for name in names]
