"""`assay reproduce`: does this record's experiment give the same numbers here and now?"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fireassay.cli.support.bar import bar
from fireassay.cli.support.latest import announced
from fireassay.cli.support.output import JSON, Output, add_formats, emit, plain_stdout
from fireassay.cli.support.trust import add_trust, allow, foreign_lines
from fireassay.cli.support.verb import A_RECORD, Verb, add_days, add_root
from fireassay.errors import Interrupted
from fireassay.printable import say
from fireassay.record.lookup import LATEST

if TYPE_CHECKING:
    from fireassay.api.reproducing import Expected
    from fireassay.frames.record_data import RecordData
    from fireassay.spec.experiment import Experiment


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("record", nargs="?", metavar="RECORD", help=f"{A_RECORD}; or its address in a store (default: latest)")
    add("--against", metavar="OTHER", help="compare with this existing record instead of running anything")
    add("--folder", type=Path, metavar="DIR", help="folder of the script (default: as recorded)")
    add_root(parser, "where records are looked up and made (default: records)")
    add_days(parser)
    add("--force", action="store_true", help="run even if the script or another condition of identity has changed")
    add(
        "--dry-run",
        action="store_true",
        help="check the seal; show what would run, how long it took, and which differences would refuse the comparison",
    )
    add_trust(parser)
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api import lookup, reproducing, sides
    from fireassay.reports.documents.reproduction import render
    from fireassay.reports.pages.reproduction import page
    from fireassay.verdict.reproduction import STATES

    if arguments.record in (None, LATEST):  # a path, as the record that is made will be the latest
        arguments.record = announced(arguments)
    path = lookup.find(arguments.record, arguments.root)
    if arguments.dry_run and arguments.against is None:
        return _dry_run(arguments, path)
    first = sides.side(path, watch=bar)
    other = _again(arguments, path, first.measured) if arguments.against is None else lookup.find(arguments.against, arguments.root)
    result = reproducing.reproduced(first, other, arguments.history, arguments.day_to_day, force=arguments.force, watch=bar)
    emit(Output(name="reproduction", page=lambda: page(result), document=lambda: render(result, record=str(other))), arguments)
    if plain_stdout(arguments):
        say(f"record: {other}")
    return STATES[result.state][0]


def _again(arguments: argparse.Namespace, path: Path, measured: RecordData) -> Path:
    """A new record of the same experiment. Ctrl-C keeps the measurements; continue with `assay resume`, then --against."""
    from fireassay.api.reproducing import run_again
    from fireassay.cli.support.progress import display

    def may_run(record: Path, experiment: Experiment, folder: Path) -> None:
        allow(record, experiment, folder, arguments)

    folder, force = arguments.folder, arguments.force
    try:
        with display(sys.stderr, quiet=arguments.quiet) as show:
            return run_again(path, measured, arguments.root, folder=folder, force=force, may_run=may_run, on_progress=show)
    except Interrupted as error:
        raise Interrupted(
            f"{error}\n\nThen compare the two, with the path that it prints:\n\n"
            f"    assay reproduce {shlex.quote(arguments.record)} --against NEW"
        ) from error


# ---- what would be run -----------------------------------------------------------------------------------------------


def _dry_run(arguments: argparse.Namespace, path: Path) -> int:
    from fireassay.api.experiment_run import recorded
    from fireassay.api.reproducing import expected
    from fireassay.estimates.format import duration

    found = expected(path, arguments.record, arguments.folder, force=arguments.force)
    if arguments.form == JSON:
        conditions = [
            {"condition": m.field, "kind": m.kind, "then": m.values[0], "now": m.values[1], "refuses": refuses}
            for m, refuses in found.differing
        ]
        summary = {
            "sealed": found.sealed,
            "launches": found.launches,
            "expected_s": found.seconds,
            "script": found.script,
            "script_unchanged": found.script_now == found.script_then,
            "differs": conditions,
        }
        print(json.dumps(summary, indent=2))
        return 0
    say("the record is as it was sealed" if found.sealed else "the record is not sealed: nothing shows that it is unchanged")
    say(f"{found.launches} launches of {found.script}, with the seeds of {path.name}")
    say(f"expected time: about {duration(found.seconds)}, as the timed launches of the record took")
    say(_script_line(found.script_then, found.script_now))
    for line in (*_condition_lines(found), *foreign_lines(path, *recorded(path))):
        say(line)
    return 0


def _script_line(then: object, now: object) -> str:
    if then is None:
        return "the record does not say which script was measured"
    if now is None:
        return "the script is not there: give the folder of the code with --folder"
    return f"the script is {'' if then == now else 'NOT '}the one that was measured"


def _condition_lines(found: Expected) -> list[str]:
    if not found.knows_conditions:
        return ["conditions: the record holds no environment to compare with"]
    if not found.differing:
        return ["conditions of machine and software: none differs now; data and engines are compared after the run"]
    parts: dict[bool, list[str]] = {True: [], False: []}
    for mismatch, refuses in found.differing:
        parts[refuses].append(f"  {mismatch.field}: {mismatch.values[0]}, now {mismatch.values[1]}")
    refusing = "these refuse the comparison (exit 3), as it would be another experiment; --force, where allowed, compares all the same:"
    return [
        *([refusing, *parts[True]] if parts[True] else ["nothing that differs now refuses the comparison"]),
        *(["these are listed in the result, and refuse nothing:", *parts[False]] if parts[False] else []),
        "data and engines are compared after the run",
    ]


VERB = Verb(
    name="reproduce",
    group="records",
    call="fireassay.api.reproducing.reproduce",
    summary="run a record's experiment again here, and compare the two",
    description="""Run a record's experiment again on this machine, with the same seeds, into a new record; list every condition that
differs, and say metric by metric whether the two agree within their intervals.

    assay reproduce records/digits-20260101T000000Z-a1b2c3
    assay reproduce latest --dry-run                   the seal, what would run, and what differs
    assay reproduce latest --against RECORD2           compare with an existing record

A metric agrees where the interval of the difference lies inside the margin of equivalence; no significant difference is
not agreement. Losses and hashes are compared bit for bit where software and hardware are the same.

Exit codes: 0 reproduced, 1 differs, 3 another experiment, 4 undecided, 5 nothing measured.""",
    add_arguments=_add_arguments,
    run=_run,
    usual={"measure": ("--folder", "--dry-run"), "judge": ("--against", "--history")},
    exits={0: "reproduced", 1: "differs", 3: "another experiment", 4: "INCONCLUSIVE", 5: "nothing measured"},
    tables=True,
)
