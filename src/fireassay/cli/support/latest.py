"""Which record is meant where none is named?  The latest, and the screen says which one that is."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fireassay.printable import say
from fireassay.record.lookup import LATEST, resolve


def announced(arguments: argparse.Namespace, path: Path | None = None) -> str:
    """The path of the latest record, or of this one, which is said on standard error.

    A path, as a record that is made meanwhile would be the latest then.
    """
    path = resolve(LATEST, arguments.root) if path is None else path
    if not arguments.quiet:
        say(f"latest: {path}", file=sys.stderr)
    return str(path)
