"""How is somebody asked before a verb runs or sends what a foreign record says?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fireassay.errors import Interrupted
from fireassay.printable import say
from fireassay.spec.experiment import Experiment


def can_ask() -> bool:
    """True if a question can be put and answered here; a stream that was closed is None."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Add the flag of the verbs that run or send what a record says."""
    parser.add_argument("--trust", action="store_true", help="run and send what the record says, though you did not make it here")


def allow(record: Path, experiment: Experiment, folder: Path, arguments: argparse.Namespace) -> None:
    """Ask before a foreign record's experiment runs; the user's own record, or --trust, needs no answer.

    Raises:
        SpecError: nobody can be asked.
        Interrupted: the answer is no.
    """
    from fireassay.api.trust import foreign, refusal

    if arguments.trust or not (lines := foreign(record, experiment, folder)):
        return
    if not can_ask():
        raise refusal(record, lines)
    for line in foreign_lines(record, experiment, folder):
        say(line, file=sys.stderr)
    print("Run it? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Interrupted("nothing was run")


def foreign_lines(record: Path, experiment: Experiment, folder: Path) -> list[str]:
    """What a foreign record's experiment would do, for people; nothing of the user's own record."""
    from fireassay.api.trust import FOREIGN, foreign

    lines = foreign(record, experiment, folder)
    return [f"{record} was {FOREIGN}; its experiment would", *(f"  {line}" for line in lines)] if lines else []
