"""`assay reproduce`: does this record's experiment give the same numbers here and now?"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fireassay.cli.support.output import JSON, Output, add_formats, emit, plain_stdout
from fireassay.cli.support.record_lookup import add_days
from fireassay.cli.support.verb import A_RECORD, Verb, add_root
from fireassay.printable import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fireassay.frames.record_data import RecordData
    from fireassay.spec.experiment import Experiment
    from fireassay.verdict.comparison.types import Mismatch, Side


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("record", metavar="RECORD", help=f"{A_RECORD}; or its address in a store")
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
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.cli.support import record_lookup
    from fireassay.record.arrow_import import without_pandas

    without_pandas()
    path = record_lookup.find(arguments.record, arguments.root)
    if arguments.dry_run and arguments.against is None:
        return _dry_run(arguments, path)
    first = record_lookup.side(path)
    given = arguments.against
    if given is None:
        _refuse_imported(first.measured, arguments.record)
    other = record_lookup.find(given, arguments.root) if given is not None else _again(arguments, first.measured)
    label = other.resolve().name
    second = record_lookup.side(other, label if label != first.label else f"{label} (again)")
    record_lookup.refuse_itself((first, second), "--against")
    return _show_result(arguments, first, second, other)


def _show_result(arguments: argparse.Namespace, first: Side, second: Side, path: Path) -> int:
    from fireassay.cli.support import record_lookup
    from fireassay.reports.documents.reproduction import render
    from fireassay.reports.pages.reproduction import page
    from fireassay.verdict.comparison.compare import compare
    from fireassay.verdict.reproduction import STATES, reproduction

    days = record_lookup.days(arguments.history, arguments.day_to_day, (first, second), ())
    comparison = compare((first, second), force=True, days=days)
    result = reproduction(comparison, first, second, force=arguments.force, days=days)
    emit(Output(name="reproduction", page=lambda: page(result), document=lambda: render(result, record=str(path))), arguments)
    if plain_stdout(arguments):
        say(f"record: {path}")
    return STATES[result.state][0]


def _refuse_imported(measured: RecordData, name: str) -> None:
    """Refuse an imported record: assay does not have the program that made it."""
    from fireassay.errors import RecordError

    if measured.foreign is not None:
        title = measured.foreign.get("title")
        raise RecordError(
            f"{name} was imported from {title}, so assay cannot reproduce it. Measure with `assay load`, or compare it with another "
            "record: assay reproduce RECORD --against OTHER."
        )


# ---- run again -------------------------------------------------------------------------------------------------------


def _again(arguments: argparse.Namespace, measured: RecordData) -> Path:
    """A new record of the same experiment. Ctrl-C keeps the measurements; continue with `assay resume`, then --against."""
    from fireassay.cli.support.experiment_run import run
    from fireassay.cli.support.progress import display
    from fireassay.errors import Interrupted

    folder = _folder(arguments, measured)
    _refuse_another_script(arguments, measured, folder)
    spec = again(measured)
    try:
        with display(sys.stderr, quiet=arguments.quiet) as show:
            return run(spec, folder=folder, root=arguments.root, on_progress=show)
    except Interrupted as error:
        raise Interrupted(
            f"{error}\n\nThen compare the two, with the path that it prints:\n\n"
            f"    assay reproduce {shlex.quote(arguments.record)} --against NEW"
        ) from error


def again(measured: RecordData) -> Experiment:
    """The experiment with the same seeds and as many blocks as were made, its secrets taken from this environment."""
    from fireassay.runners.experiment.script import with_secrets

    return with_secrets(fixed(measured))


def fixed(measured: RecordData) -> Experiment:
    """The experiment with a fixed number of blocks: an adaptive one ends where the record's did."""
    experiment = measured.experiment
    blocks = len(set(measured.timed["block"].to_list())) or experiment.launches.per_configuration
    if experiment.launches.precision is not None:
        launches = experiment.launches.model_copy(update={"per_configuration": blocks, "precision": None})
        experiment = experiment.model_copy(update={"launches": launches})
    return experiment


def _folder(arguments: argparse.Namespace, measured: RecordData) -> Path:
    """The folder of the script: from --folder, as recorded, or the working directory."""
    from fireassay.runners.experiment.script import script_identity

    if arguments.folder is not None:
        return Path(arguments.folder)
    recorded = Path(str(_recorded(measured).get("folder") or "."))
    candidates = (recorded, Path.cwd())
    matching = [candidate for candidate in candidates if script_identity(measured.experiment, candidate)["sha256"] is not None]
    return matching[0] if matching else Path.cwd()


def _recorded(measured: RecordData) -> dict[str, object]:
    return dict(measured.before.get("script") or {})


def _refuse_another_script(arguments: argparse.Namespace, measured: RecordData, folder: Path) -> None:
    """Refuse a changed script, which is another experiment, unless --force is given."""
    from fireassay.errors import refuse
    from fireassay.runners.experiment.script import script_identity

    then, now = _recorded(measured).get("sha256"), script_identity(measured.experiment, folder)
    if then is None or now["sha256"] is None or then == now["sha256"]:
        return  # the runner refuses a missing script with its path
    if not arguments.force:
        raise refuse(
            "workload.script",
            f"{now['path']}, changed since the record was made",
            "the script as it was measured",
            "Give the folder of the old code with --folder, or run the changed script with --force.",
            source="the record to reproduce",
        )
    say(f"note: {now['path']} has changed since the record was made", file=sys.stderr)


def _dry_run(arguments: argparse.Namespace, path: Path) -> int:
    import json

    from fireassay.cli.support.progress import duration
    from fireassay.cli.support.record_lookup import whole
    from fireassay.frames.record_data import from_record
    from fireassay.runners.experiment.script import script_identity
    from fireassay.spec.plan import plan
    from fireassay.verdict.reproduction import another_experiment

    record = whole(path)  # a changed record is no experiment to repeat
    measured = from_record(record)
    _refuse_imported(measured, arguments.record)
    folder = _folder(arguments, measured)
    script = script_identity(fixed(measured), folder)
    rows = measured.timed
    seconds = float(((rows["end_ns"] - rows["begin_ns"]) / 1e9).sum())
    launches = len(plan(fixed(measured)))
    then = _recorded(measured).get("sha256")
    same = script["sha256"] == then
    differing = _differing_now(measured, folder)
    if arguments.form == JSON:
        conditions = [
            {
                "condition": m.field,
                "kind": m.kind,
                "then": m.values[0],
                "now": m.values[1],
                "refuses": another_experiment(m, force=arguments.force),
            }
            for m in differing
        ]
        summary = {
            "sealed": record.sealed,
            "launches": launches,
            "expected_s": seconds,
            "script": script["path"],
            "script_unchanged": same,
            "differs": conditions,
        }
        print(json.dumps(summary, indent=2))
        return 0
    say("the record is as it was sealed" if record.sealed else "the record is not sealed: nothing shows that it is unchanged")
    say(f"{launches} launches of {script['path']}, with the seeds of {path.name}")
    say(f"expected time: about {duration(seconds)}, as the timed launches of the record took")
    say(_script_line(then, script["sha256"]))
    for line in _condition_lines(measured, differing, force=arguments.force):
        say(line)
    return 0


def _script_line(then: object, now: object) -> str:
    if then is None:
        return "the record does not say which script was measured"
    if now is None:
        return "the script is not there: give the folder of the code with --folder"
    return f"the script is {'' if then == now else 'NOT '}the one that was measured"


def _differing_now(measured: RecordData, folder: Path) -> tuple[Mismatch, ...]:
    from fireassay.clock import SystemClock
    from fireassay.record import machine_fitness
    from fireassay.record.environment import capture
    from fireassay.record.secrets.redact import secret_values
    from fireassay.runners.experiment.script import script_identity
    from fireassay.verdict.comparison.comparability import differences_now

    seen = capture(secret_values(measured.experiment.workload.environment), folder=folder)
    return differences_now(
        measured, {"doctor": machine_fitness.carried(SystemClock().utc()), **seen, "script": script_identity(fixed(measured), folder)}
    )


def _condition_lines(measured: RecordData, differing: Sequence[Mismatch], *, force: bool) -> list[str]:
    from fireassay.verdict.reproduction import another_experiment

    if not measured.before:
        return ["conditions: the record holds no environment to compare with"]
    if not differing:
        return ["conditions of machine and software: none differs now; data and engines are compared after the run"]
    parts: dict[bool, list[str]] = {True: [], False: []}
    for m in differing:
        parts[another_experiment(m, force=force)].append(f"  {m.field}: {m.values[0]}, now {m.values[1]}")
    refusing = "these refuse the comparison (exit 3), as it would be another experiment; --force, where allowed, compares all the same:"
    return [
        *([refusing, *parts[True]] if parts[True] else ["nothing that differs now refuses the comparison"]),
        *(["these are listed in the result, and refuse nothing:", *parts[False]] if parts[False] else []),
        "data and engines are compared after the run",
    ]


VERB = Verb(
    name="reproduce",
    group="records",
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
)
