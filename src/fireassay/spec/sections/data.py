"""Which data does the workload read: files, version, split?

The section [data].  All three are conditions: records that differ in one are not compared, unless it is under study.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from fireassay.spec.model import MAX_LABEL, Model, Words, flag, label, listed

Label = Annotated[str, Field(min_length=1, max_length=MAX_LABEL)]


class Data(Model):
    """The data that the workload reads."""

    paths: Annotated[
        Words,
        BeforeValidator(listed),
        flag("--data", "PATH", "data that it reads, a file or folder: their digest is a condition; may be repeated", many=True, run=112),
    ] = Field(
        (),
        description="Files and folders, relative to the experiment's file or to the working directory. The record keeps one digest of each by "
        "content, taken before the first launch; where they are makes no difference.",
    )
    version: Annotated[
        Label | None,
        flag("--data-version", "V", "version of the data, as in v2.1: a condition", read=label, run=113, load=215, evaluate=85, score=95),
    ] = Field(None, description="Version of the data, as their publisher names it.")
    split: Annotated[
        Label | None,
        flag("--split", "NAME", "split of the data, as in test: a condition", read=label, run=114, load=216, evaluate=86, score=96),
    ] = Field(None, description="Split of the data that is trained on, asked or scored.")
