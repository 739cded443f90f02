"""How does a program evaluate?  It scores answers that exist, or puts a task's items to engines, and gets the record.

The code of `assay score` and `assay evaluate`. Nothing is printed.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from fireassay.api.flags import texts_of
from fireassay.api.measuring import measured
from fireassay.api.record import ROOT, Record
from fireassay.errors import Problem

if TYPE_CHECKING:
    from fireassay.api.measuring import Progress


def score(
    *files: str | os.PathLike[str], root: str | os.PathLike[str] = ROOT, on_progress: Progress | None = None, **flags: object
) -> Record:
    """Score files of answers and return the sealed record of every item; of several files the first is the reference side.

    >>> import fireassay, json, pathlib
    >>> for name, right in (("before", 360), ("after", 358)):
    ...     answers = [{"id": item, "answer": "yes" if item < right else "no", "reference": "yes"} for item in range(400)]
    ...     _ = pathlib.Path(f"{name}.jsonl").write_text("\\n".join(map(json.dumps, answers)))
    >>> record = fireassay.score("before.jsonl", "after.jsonl", id="id", metric="exact_match", margin=0.03)
    >>> print(record.judge())
    PASS  before: after: quality held: Exact match −0.0050 [−0.0157, 0.0025], one-sided bounds, margin 0.03; ...
    >>> print(record.metric("exact_match", configuration="answers=after"))
    0.895 [0.861, 0.922]

    Args:
        files: JSONL or CSV with an answer per line; "NAME=FILE" names a side.
        root: where the record is made.
        on_progress: called several times a second.
        flags: those of `assay score`: metric=["rouge_l", "f1"], reference="gold", extract="last_number", margin=0.02, own_references=True.

    Raises:
        SpecError: every wrong argument at once, or a file that cannot be scored. Others as `run`.
    """
    from fireassay.spec.flags.score import experiment_from

    missing = () if files else (Problem("files", "nothing", "JSONL or CSV with one answer per line"),)
    given = argparse.Namespace(files=[os.fspath(file) for file in files], **texts_of("score", flags, missing))
    return measured(experiment_from(given), Path(), root, on_progress)


def evaluate(*targets: str, root: str | os.PathLike[str] = ROOT, on_progress: Progress | None = None, **flags: object) -> Record:
    """Put the items of a task to engines and return the sealed record; of several targets the first is the reference.

    >>> import fireassay
    >>> fireassay.evaluate("http://localhost:8000", task="gsm8k", dta="test.jsonl", model="tiny")
    Traceback (most recent call last):
    fireassay.errors.SpecError: the arguments of fireassay.evaluate: dta: found 'test.jsonl'; allowed: a flag of `assay evaluate`. Did you mean data?

    Args:
        targets: addresses of engines, or folders with a model that is run in this process; "NAME=URL" names one.
        root: where the record is made.
        on_progress: called several times a second.
        flags: those of `assay evaluate`: task="gsm8k", data="test.jsonl", model="M", margin=0.02, task_option=["shots=5"].

    Raises:
        SpecError: every wrong argument at once, or too few items for the margin: nothing was sent. Others as `run`.
    """
    from fireassay.cli.verbs.evaluate import asked, planned

    missing = () if targets else (Problem("targets", "nothing", "the address of an engine, or a folder with a model"),)
    experiment = asked(argparse.Namespace(targets=list(targets), **texts_of("evaluate", flags, missing)))
    planned(experiment, quiet=True)
    return measured(experiment, Path(), root, on_progress)
