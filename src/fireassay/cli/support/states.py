"""Which states of a check let a pipeline continue?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from fireassay.errors import refuse


def add_accept(parser: argparse.ArgumentParser) -> None:
    """Add the flag that gives states the exit code 0."""
    parser.add_argument("--accept", action="append", default=[], metavar="STATES", help="states that give exit code 0, comma-separated")


def accepted_states(texts: Sequence[str]) -> set[str]:
    """The accepted states. Raises SpecError: there is no such state."""
    from fireassay.verdict.checking.types import STATES  # deferred: help needs no metrics

    known = [state.replace("_", "-") for state in STATES]
    named = [word.strip() for text in texts for word in text.split(",") if word.strip()]
    if wrong := [word for word in named if word.replace("_", "-") not in known]:
        raise refuse("--accept", ", ".join(wrong), f"states: {', '.join(known)}", source="the command line")
    return {word.replace("-", "_") for word in named}
