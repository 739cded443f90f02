"""`assay doctor`: is this machine fit to measure, how small a difference can it show, and what does its load client add?"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fireassay.cli.support.output import Output, add_formats, emit, plain_stdout
from fireassay.cli.support.verb import Verb
from fireassay.printable import say

if TYPE_CHECKING:
    from fireassay.runners.calibration.machine import MachineExamination

SECONDS = 180.0
MOST_SECONDS = 300.0
SUBJECTS = ("machine", "client")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The subject, the time budget and the flags of the verb."""
    parser.add_argument(
        "subject",
        nargs="?",
        choices=SUBJECTS,
        default="machine",
        help="what to examine: this machine, or its load client (default: machine)",
    )
    parser.add_argument("--seconds", type=float, metavar="S", help="time budget (default: 180, for the client 60; at most 300)")
    parser.add_argument("--show", action="store_true", help="show the result of the last examination")
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.record import machine_fitness as machine
    from fireassay.reports.pages.doctor import EXIT_OF

    if arguments.subject == "client":
        from fireassay.cli.support import client_calibration

        seconds = client_calibration.SECONDS if arguments.seconds is None else _seconds(arguments.seconds)
        return client_calibration.run(arguments, seconds)
    if arguments.show:
        return _show(machine.read(), arguments)
    result, stopped = examined(_seconds(SECONDS if arguments.seconds is None else arguments.seconds), quiet=arguments.quiet)
    if result["launches"] < _enough() and stopped:
        say(f"assay: {stopped}; too few measurements to keep", file=sys.stderr)
        return 130
    path = machine.write(result)
    emit(shown(result), arguments)
    say(f"stored for later records: {path}", file=sys.stdout if plain_stdout(arguments) else sys.stderr)
    return 130 if stopped else EXIT_OF[result["fitness"]]


def _enough() -> int:
    from fireassay.stats.comparing.aa_test import LEAST

    return LEAST


def _seconds(seconds: float) -> float:
    from fireassay.errors import refuse

    if not 0.0 < seconds <= MOST_SECONDS:
        raise refuse("--seconds", f"{seconds:g}", f"above 0 and at most {MOST_SECONDS:g}", "Write --seconds 180.", source="the flags")
    return seconds


def examined(seconds: float, *, quiet: bool, launches: int | None = None) -> tuple[dict[str, Any], str]:
    """Measure, then judge: the result to store, and why it ended early (empty if it did not)."""
    from fireassay.cli.support.progress import display
    from fireassay.runners.calibration import machine

    with tempfile.TemporaryDirectory(prefix="assay-doctor-") as scratch, display(sys.stderr, quiet=quiet) as show:
        seen = machine.examine(Path(scratch), seconds, launches=launches or machine.LAUNCHES, on_progress=show)
        begins, values = launch_values(seen.record)
    return result_of(seen, begins, values), seen.stopped


def launch_values(record: Path | None) -> tuple[list[float], list[float]]:
    """Begin (seconds) and median time of a call (seconds) of every launch that ended well, in order."""
    from fireassay.errors import RecordError
    from fireassay.frames.record_data import from_record
    from fireassay.frames.trials import counted, per_launch
    from fireassay.record.reader import open_record

    if record is None:
        return [], []
    try:
        measured = from_record(open_record(record))
    except RecordError:  # stopped before anything was written
        return [], []
    medians = per_launch(counted(measured), "seconds", "median")
    rows = measured.timed.join(medians, on="launch").sort("begin_ns")
    return [begin / 1e9 for begin in rows["begin_ns"].to_list()], rows["value"].to_list()


def result_of(seen: MachineExamination, begins: Sequence[float], values: Sequence[float]) -> dict[str, Any]:
    """The content to store: numbers, and each check with its verdict."""
    from dataclasses import asdict

    from fireassay import __version__
    from fireassay.clock import SystemClock
    from fireassay.stats.comparing.aa_test import alike
    from fireassay.stats.series.trend import drift, memory
    from fireassay.verdict.fitness.machine import examine, whole

    comparison, trend, resembles = alike(values), drift(begins, values), memory(values)
    checks = examine(comparison, trend, resembles, len(values), seen.clock, seen.context, seen.shares)
    aa = (
        {}
        if comparison is None
        else {
            "noise_floor": comparison.noise_floor,
            "noise_floor_apart": comparison.noise_floor_apart,
            "minimum_detectable_effect_k5": comparison.minimum_detectable_effect,
            "spread": comparison.spread,
            "false_alarm_rate": asdict(comparison.false_alarms),
            "false_alarm_rate_apart": asdict(comparison.false_alarms_apart),
        }
    )
    return {
        "utc": SystemClock().utc().isoformat(timespec="seconds"),
        "assay_version": __version__,
        "fitness": whole(checks),
        "launches": len(values),
        "seconds": seen.seconds,
        **aa,
        # over the examined time: extrapolating to an hour would raise it to a power
        "drift_over_the_run": None if trend is None else {"value": trend.over_the_run, "p_value": trend.p_value},
        "autocorrelation": resembles,
        "clock": dict(seen.clock),
        "shares": dict(seen.shares),
        "context": dict(seen.context),
        "checks": [asdict(check) for check in checks],
        "launch_values_s": list(values),
    }


def _show(result: Mapping[str, Any], arguments: argparse.Namespace) -> int:
    from fireassay.clock import SystemClock
    from fireassay.errors import RecordError
    from fireassay.record.machine_fitness import stale
    from fireassay.reports.pages.doctor import EXIT_OF

    if "absent" in result:
        raise RecordError(f"{result['absent']}. Run it: assay doctor")
    emit(shown(result), arguments)
    if why := stale(result, SystemClock().utc()):
        say(f"note: this result is {why}", file=sys.stderr)
    return EXIT_OF.get(str(result.get("fitness")), 4)


def shown(result: Mapping[str, Any]) -> Output:
    """The verdict, every check, then the fixes."""
    from fireassay.reports.pages.doctor import page

    head = f"this machine is {result['fitness']} ({result['launches']} launches of fixed work, {result['utc']})"
    if result["fitness"] == "unknown":
        head = f"the fitness of this machine is unknown ({result['launches']} launches of fixed work)"
    return Output(
        name="doctor",
        page=lambda: page("this machine", head, result["fitness"], result["checks"]),
        document=lambda: json.dumps(result, indent=2),
    )


VERB = Verb(
    name="doctor",
    group="instrument",
    summary="examine this machine: noise floor, drift, clock, contention; or its load client; at most 5 minutes",
    description="""Examine whether this machine is fit to measure: many launches of the same work by assay itself, compared with each other.

    assay doctor                   about three minutes; nothing on the machine is changed
    assay doctor --seconds 60      shorter and less certain
    assay doctor --show            the result of the last examination
    assay doctor client            a minute: the load client's own error and ceiling

The result is stored in $XDG_STATE_HOME/assay/doctor (else ~/.local/state) and goes into every later record; differences
below its noise floor are then called inconclusive. Exit codes: 0 fit, 4 noisy or unknown, 1 unfit.""",
    add_arguments=add_arguments,
    run=_run,
    exits={0: "FIT", 1: "UNFIT", 4: "NOISY or unknown"},
)
