"""`assay load`: how does a serving engine behave under load?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fireassay.cli.support.detach import add_detach
from fireassay.cli.support.output import Output, add_formats, emit, plain_stdout, print_toml
from fireassay.cli.support.trust import add_trust, allow
from fireassay.cli.support.verb import Verb, add_detect, add_root
from fireassay.errors import refuse
from fireassay.exit_codes import WITHOUT_NO_GAIN
from fireassay.printable import say
from fireassay.runners.experiment.script import refuse_secrets, with_secrets
from fireassay.spec.experiment import Experiment
from fireassay.spec.flags.load import add_flags, as_flags, experiment_from, notes
from fireassay.spec.plan import targets_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The addresses, the load, and the flags of the verb."""
    add_flags(parser)
    add_root(parser, "where the record is made (default: records)")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--check", action="store_true", help="send ten requests and report how the server answers; keeps no record")
    instead.add_argument("--dry-run", action="store_true", help="show the plan and its time; send nothing")
    instead.add_argument("--toml", action="store_true", help="print the experiment as a file for `assay run`; send nothing")
    add_detect(parser)
    add_trust(parser)
    add_detach(parser)
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    with as_flags():
        return _load(arguments)


def _load(arguments: argparse.Namespace) -> int:
    from fireassay.api.experiment_run import recorded_load

    recorded = recorded_load(arguments.urls, arguments.root)
    experiment = experiment_from(arguments, recorded=recorded)
    experiment = with_secrets(experiment) if recorded is not None else experiment  # a record holds none: they come from this environment
    refuse_secrets(experiment)  # before any of it is printed
    if arguments.toml:
        return print_toml(experiment)
    if recorded is not None and not arguments.dry_run:
        allow(recorded.record, experiment, recorded.folder, arguments)
    if arguments.check:
        return _check(experiment, arguments)
    from fireassay.cli.support.dry_run import refuse_detect, show_dry_run, show_notes

    for note in () if recorded or arguments.quiet or experiment.launches.quick else notes(arguments):
        say(f"note: {note}", file=sys.stderr)
    show_notes(experiment)
    from fireassay.api.load_fit import fitted, may_change, says_how_long

    fixed = says_how_long(arguments) or recorded is not None
    if arguments.dry_run:
        changes = may_change(experiment, fixed=fixed)
        return show_dry_run(experiment, arguments, recorded.folder if recorded else Path(), changes)
    refuse_detect(arguments)
    from fireassay.api.served_model import with_served_models
    from fireassay.cli.support.progress import run_and_judge

    experiment = with_served_models(experiment)
    experiment, fit = fitted(experiment, fixed=fixed)
    for note in fit if not arguments.quiet else ():
        say(f"note: {note}", file=sys.stderr)

    return run_and_judge(experiment, arguments, folder=recorded.folder if recorded else Path(), tables=True)


def _check(experiment: Experiment, arguments: argparse.Namespace) -> int:
    from fireassay.api.served_model import with_served_models
    from fireassay.api.serving_check import announcement, check, exit_code, lines, of_ten
    from fireassay.reports.pages.serving_check import page, render

    small = of_ten(with_served_models(experiment))
    urls = _one_engine(experiment)
    if plain_stdout(arguments) and not arguments.quiet:
        say(announcement(small), file=sys.stderr)
    seen = check(small)
    results = lines(seen)
    emit(Output(name="check", page=lambda: page(urls, results), document=lambda: render(urls, results)), arguments)
    return exit_code(seen)


def _one_engine(experiment: Experiment) -> tuple[str, ...]:
    """The addresses to check."""
    targets = targets_of(experiment.serving) if experiment.serving else ()
    if len(targets) > 1:
        names = ", ".join(target.name for target in targets)
        raise refuse("--check", f"{len(targets)} engines ({names})", "one engine", "Check each engine alone.", source="the flags")
    return tuple(url for target in targets for url in target.urls)


VERB = Verb(
    name="load",
    group="measure",
    call="fireassay.load",
    summary="put a load on an engine, or on two",
    front=2,
    description="""Put a load on a serving engine, seal a record of every request, judge it and show the verdict.

    assay load URL --quick                      plain numbers within a minute, no verdict
    assay load URL --model M --check            how the server answers, in ten requests
    assay load URL --model M --concurrency 1,8,16 --slo ttft=0.2,tpot=0.05
    assay load URL --model M --rate 5,10,20 --duration 120s --goodput
    assay load URL --model M --scenario "D(100,100)" --rate 5,10,20 --arrival gamma --cv 2
    assay load http://a:8000 http://b:8000 --model M --concurrency 32 --identity 8 --canaries 0.02
    assay load a=http://a:8000 b=http://b:8000 --model M --concurrency 8,16,32 --slo ttft=0.5
    assay load 5c07aa --concurrency 40,48,56    a record: its load again, with these flags on top

--check sends ten requests and reports whether the server streams, which model answers, whether its usage is plausible, how many
tokens an event holds, and whether a rate limit, compression or a cold start would spoil a load.
Every latency starts when its request was due, so a stall hides nothing; in a closed loop, when it was sent. Arrivals and texts are fixed before
the load begins, and `assay doctor client` shows the accuracy of this machine's client.
--slo ttft=0.5 asks for at most 0.5 s to the first token; a load has to reach it for 99 % of its requests (--attainment).
Plain addresses are replicas of one engine; NAME=URL names engines, which take turns in every round: the report says which to choose.
A record instead of an address repeats its load with the given flags on top.
Engines started by assay and faults need an experiment file for `assay run` (--toml prints one).
Ctrl-C ends the load cleanly and keeps all measurements; `assay resume RECORD` continues.""",
    add_arguments=add_arguments,
    run=_run,
    usual={
        "measure": ("--quick", "--model", "--concurrency", "--rate", "--duration", "--launches"),
        "judge": ("--slo", "--attainment"),
        "before": ("--check", "--dry-run"),
    },
    exits=WITHOUT_NO_GAIN,
    tables=True,
)
