"""What must a verb's file declare?  One file holds one `VERB`; its stem is the verb.

Top-level imports of a verb's file stay light (argparse, dataclasses, pathlib): `assay --help` imports every verb.
Everything heavy is imported inside `run`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Group = Literal["measure", "judge", "records", "instrument"]


@dataclass(frozen=True, kw_only=True)
class Verb:
    """A verb of the command line."""

    name: str
    group: Group
    summary: str  # one line, shown by `assay --help`
    description: str  # shown by `assay VERB --help`: what it does, with an example
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]  # returns the exit code; raises AssayError for known errors
