"""How accurate are this client's timestamps, and how much load can it generate on this machine?

The body of `assay doctor client`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fireassay.cli.support.output import Output, emit, plain_stdout
from fireassay.printable import say

if TYPE_CHECKING:
    from fireassay.runners.calibration.client import ClientCalibration

SECONDS = 60.0


def run(arguments: argparse.Namespace, seconds: float) -> int:
    """Measure, judge and store, or show the stored result; returns the exit code."""
    from fireassay.record import machine_fitness
    from fireassay.reports.pages.doctor import EXIT_OF

    if arguments.show:
        return _show(machine_fitness.read_client(), arguments)
    result, stopped = calibrated(seconds, quiet=arguments.quiet)
    if not result["errors"]:
        print(f"assay: {stopped or 'nothing was measured'}; too few measurements to keep", file=sys.stderr)
        return 130
    path = machine_fitness.write_client(result)
    emit(shown(result), arguments)
    say(f"stored for later records: {path}", file=sys.stdout if plain_stdout(arguments) else sys.stderr)
    return 130 if stopped else EXIT_OF[result["fitness"]]


def calibrated(seconds: float, *, quiet: bool) -> tuple[dict[str, Any], str]:
    """The result to store, and why it ended early (empty if it did not)."""
    from fireassay.runners.calibration import client

    def tell(what: str) -> None:
        if not quiet:
            say(f"calibrating the client: {what}", file=sys.stderr)

    with tempfile.TemporaryDirectory(prefix="assay-doctor-") as scratch:
        seen = client.calibrate(Path(scratch), seconds, tell)
    return result_of(seen, client.about()), seen.stopped


def result_of(seen: ClientCalibration, about: Mapping[str, str]) -> dict[str, Any]:
    """The content to store: numbers, and each check with its verdict."""
    from dataclasses import asdict

    from fireassay import __version__
    from fireassay.clock import SystemClock
    from fireassay.verdict.fitness.client import examine_client
    from fireassay.verdict.fitness.machine import whole

    checks = examine_client(seen.errors, seen.ceiling, seen.timer_lag_ms, seen.provoked)
    busiest = seen.errors[-1] if seen.errors else {}
    return {
        "utc": SystemClock().utc().isoformat(timespec="seconds"),
        "assay_version": __version__,
        **about,
        "fitness": whole(checks),
        "errors": seen.errors,
        "provoked": seen.provoked,
        "ceiling": seen.ceiling,
        "timer_lag_ms": seen.timer_lag_ms,
        # delay of due requests in a busy process
        "loop_lag_ms": busiest.get("lag_ms"),
        "seconds": seen.seconds,
        "checks": [asdict(check) for check in checks],
    }


def shown(result: Mapping[str, Any]) -> Output:
    """The verdict, every check, then the fixes."""
    from fireassay.reports.pages.doctor import page

    head = f"this client is {result['fitness']} to measure here (Python {result['python']}, {result['loop']}, {result['utc']})"
    if result["fitness"] == "unknown":
        head = "the fitness of this client is unknown"
    return Output(
        name="doctor-client",
        page=lambda: page("this client", head, result["fitness"], result["checks"], "assay doctor client"),
        document=lambda: json.dumps(result, indent=2),
    )


def _show(result: Mapping[str, Any], arguments: argparse.Namespace) -> int:
    from fireassay.clock import SystemClock
    from fireassay.errors import RecordError
    from fireassay.record.machine_fitness import stale
    from fireassay.reports.pages.doctor import EXIT_OF

    if "absent" in result:
        raise RecordError(f"{result['absent']}. Run it: assay doctor client")
    emit(shown(result), arguments)
    if why := stale(result, SystemClock().utc()):
        say(f"note: this result is {why}", file=sys.stderr)
    return EXIT_OF.get(str(result.get("fitness")), 4)
