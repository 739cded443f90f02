"""What follows a verb?  Every record that it sealed is exported as the user's own `export` asks."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from fireassay.cli.support.judged import judged, only_profiled
from fireassay.printable import say, shell_word
from fireassay.record.secrets.redact import redact
from fireassay.record.staging import destination


def export_sealed(records: Sequence[Path], asked: Sequence[str]) -> None:
    """Export each record that is still there and has something to judge.  A failure is said, and changes neither record nor exit code."""
    for path in map(destination, records):
        try:
            if path.is_dir() and not only_profiled(path):
                _export(path, asked)
        except Exception as error:  # of judging
            say(f"assay: {path} is not exported: {redact(str(error))}", file=sys.stderr)


def _export(path: Path, asked: Sequence[str]) -> None:
    from fireassay.api.exporting import export

    view, _ = judged(path)
    for one in asked:
        name, _, to = one.partition("=")
        try:
            sent = export(view, path, name, os.path.expanduser(to))  # a path would break an address
        except Exception as error:  # also of a plug-in of others: the run was measured, and its verdict stands
            say(f"assay: not exported to {name}: {redact(str(error))}", file=sys.stderr)
            say(f"  the record is kept; put that right, then: assay export {shell_word(path)} --to {shell_word(name)}", file=sys.stderr)
            continue
        for note in sent.notes:
            say(f"note: {note}", file=sys.stderr)
        say(f"exported: {sent.where}", file=sys.stderr)
