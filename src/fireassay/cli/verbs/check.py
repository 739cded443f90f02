"""`assay check`: is this build no worse than its baseline?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from fireassay.catalog import load
from fireassay.cli.support.again import OF_COMPARE, flags
from fireassay.cli.support.bar import bar
from fireassay.cli.support.output import STDOUT, TERMINAL, WRITERS, Output, add_formats, emit, plain_stdout, shown, write
from fireassay.cli.support.states import accepted_states, add_accept
from fireassay.cli.support.trust import add_trust, allow
from fireassay.cli.support.verb import A_RECORD, Verb, add_root, share
from fireassay.errors import EnvironmentLacks, Interrupted, Problem, refuse_any
from fireassay.printable import say

if TYPE_CHECKING:
    from fireassay.api.checking import Checked, Checking
    from fireassay.runners.experiment.progress import RunProgress
    from fireassay.spec.experiment import Experiment
    from fireassay.verdict.checking.types import Check


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("record", nargs="?", metavar="RECORD", help=f"{A_RECORD}; or its address in a store (default: latest; of --history: its newest)")
    add("--against", metavar="BASELINE", help="the record to compare with: path, name, or address in a store")
    add("--history", metavar="STORE", help="folder or store of records: all comparable ones give the day-to-day variation")
    add_root(parser, "where records are looked up and made (default: records)")
    add("--varying", action="append", metavar="NAME", help="condition under study, which may differ (default: code)")
    add("--force", action="store_true", help="check even if other conditions differ; marked exploratory")
    add("--primary", metavar="METRIC", help="the metric that decides (default: the experiment's comparison.primary)")
    add("--at", metavar="NAME", help="the configuration that decides (default: the largest)")
    add("--margin", type=share, metavar="SHARE", help="largest tolerable loss (comparison.equivalence)")
    add("--day-to-day", type=share, metavar="SHARE", help="assumed day-to-day variation without a history (default: 0.15)")
    add("--all", action="store_true", help="every metric decides, not only the primary one and quality")
    add_accept(parser)
    add(
        "--confirm",
        choices=("auto", "always", "never"),
        default="auto",
        metavar="WHEN",
        help="measure both again in turn: auto (on suspicion), always (also if undecided) or never",
    )
    add("--baseline-folder", type=Path, metavar="DIR", help="the baseline's code for measuring again (default: its commit)")
    add("--folder", type=Path, metavar="DIR", help="the record's code for measuring again (default: the working directory)")
    add("--rounds", "--blocks", dest="blocks", type=int, default=5, metavar="N", help="rounds to measure again (5; at least 3)")
    add("--show", action="store_true", help="show the history as tables and write history.html")
    add_trust(parser)
    add_formats(parser, besides=("junit", "markdown"))
    add("--junit", type=Path, metavar="FILE", help="also write a JUnit file")
    add(
        "--markdown",
        type=Path,
        nargs="?",
        const=STDOUT,
        metavar="FILE",
        help="append a section to FILE, for a job summary; without FILE, output as markdown",
    )
    add("--push", metavar="STORE", help="copy the record to this folder or store if the exit code is 0")


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.record.store import Store

    accepted = accepted_states(arguments.accept)
    _refuse_nonsense(arguments)
    checking = _checking(arguments)
    checked = checking.run()
    is_accepted = checked.check.state in accepted
    code = 0 if is_accepted else checked.exit_code
    _show_result(arguments, checked, checking.named(checked.record), accepted=is_accepted)
    if arguments.push and code == 0:
        say(f"kept: {Store(arguments.push).push(checked.record)}", file=sys.stderr)
    return code


def _refuse_nonsense(arguments: argparse.Namespace) -> None:
    problems = []
    if arguments.against is None and arguments.history is None:
        fix = "Add --against BASELINE or --history FOLDER."
        problems.append(Problem("--against", "neither a baseline nor a history", "at least one of them", fix))
    if arguments.blocks < 3:
        problems.append(Problem("--rounds", str(arguments.blocks), "3 or more: fewer launches cannot decide"))
    if arguments.show and arguments.history is None:
        problems.append(Problem("--show", "no history", "together with --history FOLDER"))
    refuse_any(problems, "the command line")


def _checking(arguments: argparse.Namespace) -> Checking:
    from fireassay.api.checking import Checking, Place
    from fireassay.cli.support.progress import display

    @contextmanager
    def again(why: str) -> Iterator[Callable[[RunProgress], None] | None]:
        say(why, file=sys.stderr)
        with display(sys.stderr, quiet=arguments.quiet) as show:
            yield show

    def trusted(record: Path, experiment: Experiment, folder: Path) -> None:
        try:
            allow(record, experiment, folder, arguments)
        except Interrupted as no:  # the check itself stands
            raise EnvironmentLacks("you did not want it measured again") from no

    return Checking(
        record=arguments.record,
        against=arguments.against,
        history=arguments.history,
        root=arguments.root,
        varying=tuple(arguments.varying or ("code",)),
        force=arguments.force,
        primary=arguments.primary,
        at=arguments.at,
        margin=arguments.margin,
        day_to_day=arguments.day_to_day,
        everything=arguments.all,
        confirm=arguments.confirm,
        blocks=arguments.blocks,
        code=Place(folder=arguments.folder, baseline=arguments.baseline_folder, here=Path.cwd()),
        again=again,
        trust=trusted,
        watch=bar,
    )


# ---- output ----------------------------------------------------------------------------------------------------------


def _show_result(arguments: argparse.Namespace, checked: Checked, named: Sequence[str], *, accepted: bool) -> None:
    from fireassay.reports.answering import Asked
    from fireassay.reports.documents.check import render
    from fireassay.reports.pages.check import page

    check = checked.check
    if arguments.markdown == STDOUT:
        arguments.form = "markdown"
    where = sys.stdout if plain_stdout(arguments) else sys.stderr
    if arguments.show:
        _show_history(arguments, check, where)
    fresh = [str(path) for path in checked.fresh]
    given = flags(VERB, arguments, leave=("--against", "--confirm"))
    asked = Asked(flags=tuple(given), compare=tuple(flags(VERB, arguments, only=OF_COMPARE)), cannot=checked.cannot)
    emit(
        Output(name="check", page=lambda: page(check, named, asked), document=lambda: render(check, accepted=accepted, fresh=fresh)),
        arguments,
    )
    for path in checked.fresh:
        say(f"record: {path}", file=where)
    if accepted and check.state != "pass":
        say(f"accepted: {check.state.replace('_', ' ')}", file=where)
    if arguments.junit:
        write(arguments.junit, load(WRITERS, "junit").write(page(check)))
    if arguments.markdown not in (None, STDOUT):
        write(arguments.markdown, load(WRITERS, "markdown").write(page(check, named, asked)), append=True)


def _show_history(arguments: argparse.Namespace, result: Check, where: TextIO) -> None:
    """Show the history: as text, and as a page next to its records."""
    from fireassay.record.store import Store
    from fireassay.reports.pages.history import page

    history = page(result.histories, f"History of {result.record}")
    where.write(str(shown(load(WRITERS, TERMINAL), history)))
    local = Store(arguments.history).local
    target = (arguments.output if plain_stdout(arguments) else None) or (local or Path()) / "history.html"
    write(target, load(WRITERS, "html").write(history))
    say(f"history: {target}", file=where)
    if plain_stdout(arguments):
        arguments.output = None


VERB = Verb(
    name="check",
    group="judge",
    call="fireassay.api.checking.Checking",
    summary="for CI: is this record worse than a baseline or a history?",
    description="""Check a record against a baseline record, against a history of records, or against a baseline with a history that gives
the day-to-day variation. Only the primary metric and quality decide, unless --all is given.

    assay check latest --against main-baseline
    assay check latest --against base --history records
    assay check latest --against base --accept improvement --junit check.xml
    assay check latest --against base --history s3://bucket/records --push s3://bucket/records
    assay check --history records --show

A suspected regression is measured again before it fails the build, both versions interleaved, if the code of both is available.
Code runs only if its script is the one that was measured. The experiment defines what is compared; see comparison.primary.

Exit codes: 0 pass, 1 regression, 2 bad input, 3 not comparable, 4 inconclusive, 5 nothing measured, 8 improvement.""",
    add_arguments=_add_arguments,
    run=_run,
    usual={
        "against": ("--against", "--history"),
        "judge": ("--margin", "--primary", "--accept"),
        "again": ("--confirm", "--baseline-folder", "--rounds"),
    },
    exits={0: "PASS", 1: "REGRESSION", 3: "NOT COMPARABLE", 4: "INCONCLUSIVE", 5: "nothing measured", 8: "IMPROVEMENT"},
    tables=True,
)
