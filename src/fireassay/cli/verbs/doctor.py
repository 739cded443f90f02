"""`assay doctor`: is this machine fit to measure, how small a difference can it show, and what does its load client add?"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from fireassay.cli.support.output import Output, add_formats, emit, plain_stdout
from fireassay.cli.support.verb import Verb
from fireassay.clock import SystemClock
from fireassay.errors import RecordError, refuse
from fireassay.printable import say

SECONDS: Final = {"machine": 180.0, "client": 60.0}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The subject, the time budget and the flags of the verb."""
    parser.add_argument(
        "subject",
        nargs="?",
        choices=tuple(SECONDS),
        default="machine",
        help="what to examine: this machine, or its load client (default: machine)",
    )
    parser.add_argument("--seconds", type=float, metavar="S", help="time budget (default: 180, for the client 60; at most 300)")
    parser.add_argument("--show", action="store_true", help="show the result of the last examination")
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.record import environment
    from fireassay.reports.pages.doctor import EXIT_OF

    of_client = arguments.subject == "client"
    if arguments.show:
        stored = environment.read_client_fitness() if of_client else environment.read_fitness()
        if "absent" in stored:
            raise RecordError(f"{stored['absent']}. Run it: assay doctor{' client' if of_client else ''}")
        emit(_shown(stored, arguments.subject), arguments)
        if why := environment.stale_fitness(stored, SystemClock().utc()):
            say(f"note: this result is {why}", file=sys.stderr)
        return EXIT_OF.get(str(stored.get("fitness")), 4)
    result, stopped = _examined(arguments)
    if result is None:
        say(f"assay: {stopped or 'nothing was measured'}; too few measurements to keep", file=sys.stderr)
        return 130
    path = environment.write_client_fitness(result) if of_client else environment.write_fitness(result)
    emit(_shown(result, arguments.subject), arguments)
    say(f"stored for later records: {path}", file=sys.stdout if plain_stdout(arguments) else sys.stderr)
    return 130 if stopped else EXIT_OF[result["fitness"]]


def _examined(arguments: argparse.Namespace) -> tuple[dict[str, Any] | None, str]:
    """The result, if enough was measured; and why it ended early, empty if it did not."""
    seconds = SECONDS[arguments.subject] if arguments.seconds is None else arguments.seconds
    from fireassay.api import fitness
    from fireassay.cli.support.progress import display
    from fireassay.verdict.fitness import MAX_SECONDS

    if not 0.0 < seconds <= MAX_SECONDS:
        raise refuse("--seconds", f"{seconds:g}", f"above 0 and at most {MAX_SECONDS}", "Write --seconds 180.", source="the flags")

    if arguments.subject == "client":
        return fitness.client_examined(
            seconds, lambda what: None if arguments.quiet else say(f"calibrating the client: {what}", file=sys.stderr)
        )
    with display(sys.stderr, quiet=arguments.quiet) as show:
        return fitness.machine_examined(seconds, show)


def _shown(result: Mapping[str, Any], subject: str) -> Output:
    """The verdict, every check, then the fixes."""
    from fireassay.reports.pages.doctor import page

    known, fitness = result["fitness"] != "unknown", result["fitness"]
    if subject == "client":
        about = f" to measure here (Python {result['python']}, {result['loop']}, {result['utc']})" if known else ""
    else:
        about = f" ({result['launches']} launches of fixed work{', ' + result['utc'] if known else ''})"
    head = f"this {subject} is {fitness}{about}" if known else f"the fitness of this {subject} is unknown{about}"
    words = (f"this {subject}", head, fitness, result["checks"], *(("assay doctor client",) if subject == "client" else ()))
    name = "doctor-client" if subject == "client" else "doctor"
    return Output(name=name, page=partial(page, *words), document=lambda: json.dumps(result, indent=2))


VERB = Verb(
    name="doctor",
    group="instrument",
    call="fireassay.api.fitness.machine_examined",
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
