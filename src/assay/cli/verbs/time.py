"""`assay time`: how long does a command take, how sure is that, and which of several is faster?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.support.output import Output, add_formats, emit, plain_stdout
from assay.cli.support.verb import Verb, add_root
from assay.printable import say

if TYPE_CHECKING:
    from assay.spec.experiment import Experiment
    from assay.verdict.comparison.types import Comparison, Side

BETWEEN = "---"  # between two commands; a single word that no program takes for an option of its own
SHELL = "/bin/sh"
OUTPUT_SHOWN = 20  # lines of a command's output, with --show-output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags before `--`; the words after it are the commands."""
    from assay.cli.support.call_timing import LAUNCHES
    from assay.spec.flags.experiment import keep_command

    keep_command(parser)
    parser.usage = "%(prog)s [options] -- COMMAND ARGUMENT ... [--- COMMAND ARGUMENT ...]"
    add = parser.add_argument
    add("--launches", type=int, default=LAUNCHES, metavar="N", help=f"rounds of each command ({LAUNCHES})")
    add("--round", type=float, default=0.5, metavar="S", help="seconds that a round lasts at least (0.5)")
    add("--trials", type=int, metavar="N", help="starts in each round (as many as --round takes)")
    add("--warm-up", type=int, default=1, metavar="N", help="starts before the counted ones of each round (1)")
    add("--precision", type=float, metavar="P", help="go on until the interval is this narrow (0.02: 2 %%)")
    add("--confidence", type=float, default=0.95, metavar="C", help="confidence of the interval (0.95)")
    add("--timeout", type=float, metavar="S", help="seconds after which a round is ended (3600)")
    add("--shell", action="store_true", help=f"each command is a line for {SHELL}")
    add("--ignore-failure", action="store_true", help="accept exit codes other than 0")
    add("--show-output", action="store_true", help="keep what the commands print in the record, and show its end")
    add("--name", metavar="NAME", help="names the record (the command's name)")
    add_root(parser, "where the record is made (default: records)")
    add("--quiet", action="store_true", help="show no progress")
    add_formats(parser)


def commands(words: Sequence[str], *, shell: bool) -> list[list[str]]:
    """The commands between `---`, each a list of words; with `shell` each is one line for it.

    Raises:
        SpecError: there is none, or one is empty.
    """
    from assay.errors import Problem, SpecError

    found: list[list[str]] = [[]]
    for word in words:
        if word == BETWEEN:
            found.append([])
        else:
            found[-1].append(word)
    if not all(found) or any(not command[0].strip() for command in found):
        raise SpecError(
            (
                Problem(
                    where="assay time",
                    found=_what_is_missing(words),
                    allowed=f"a command after --, several with {BETWEEN} between them",
                    mend=f"For example: assay time -- sort data.txt {BETWEEN} sort -n data.txt",
                ),
            ),
            "the command line",
        )
    return [[SHELL, "-c", " ".join(command)] for command in found] if shell else found


def _what_is_missing(words: Sequence[str]) -> str:
    if not words:
        return "no command"
    return f"nothing beside {BETWEEN}" if BETWEEN in words else "an empty command"


def labels(asked: Sequence[Sequence[str]], *, shell: bool) -> list[str]:
    """What each command is called: as it was written, on one line; the same twice gets a number.

    What would steer a terminal is spelled out: a label is shown to people, and a file's name may hold anything.
    """
    import shlex

    texts = [_on_one_line(command[2] if shell else shlex.join(command)) for command in asked]
    seen: dict[str, int] = {}
    for text in texts:
        seen[text] = seen.get(text, 0) + 1
    numbers = dict.fromkeys(texts, 0)
    found = []
    for text in texts:
        numbers[text] += 1
        found.append(text if seen[text] == 1 else f"{text} ({numbers[text]})")
    return found


def _on_one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def experiments(arguments: argparse.Namespace, asked: Sequence[Sequence[str]]) -> list[Experiment]:
    """One experiment for each command."""
    from assay.cli.support.call_timing import experiment
    from assay.spec.flags.experiment import name_from

    timing = {
        "round_s": arguments.round,
        "warm_up": arguments.warm_up,
        "ignore_failure": arguments.ignore_failure,
        "keep_output": arguments.show_output,
    }
    if arguments.trials is not None:
        timing["trials"] = arguments.trials
    limits = {} if arguments.timeout is None else {"launch_timeout_s": arguments.timeout}
    return [
        experiment(
            command[0],
            command[1:],
            runner="command",
            launches=arguments.launches,
            precision=arguments.precision,
            name=arguments.name or name_from(command[2].split()[0] if arguments.shell else command[0]),
            confidence=arguments.confidence,
            timing=timing,
            limits=limits,
        )
        for command in asked
    ]


def _run(arguments: argparse.Namespace) -> int:
    from assay.cli.support import record_lookup
    from assay.cli.support.call_timing import measure
    from assay.cli.support.progress import display
    from assay.record.arrow_import import without_pandas
    from assay.reports.documents.timing import render
    from assay.reports.pages.timing import page
    from assay.reports.rows.timing import summary

    without_pandas()
    asked = commands(arguments.after_dashes, shell=arguments.shell)
    names = labels(asked, shell=arguments.shell)
    arms = list(zip(experiments(arguments, asked), names, strict=True))
    with display(sys.stderr, quiet=arguments.quiet) as show:
        paths = measure(arms, root=arguments.root, on_progress=show)
    sides = [record_lookup.side(path, label) for path, label in zip(paths, names, strict=True)]
    _refuse_failures(sides)
    comparison = compared(sides)
    summaries = [(summary(side.measured, side.judgement, side.label), str(path)) for side, path in zip(sides, paths, strict=True)]
    emit(Output(name="time", page=lambda: page(summaries, comparison), document=lambda: render(summaries, comparison)), arguments)
    if arguments.show_output and plain_stdout(arguments):
        say(_output(paths))
    return 0


def _refuse_failures(sides: Sequence[Side]) -> None:
    """In a session an arm that failed after good rounds ends as complete; a timing with a failure is none."""
    from assay.errors import WorkloadError

    for side in sides:
        bad = side.measured.table("launches").filter(side.measured.table("launches")["status"].is_in(["failed", "timeout"]))
        if bad.height:
            raise WorkloadError(f"{side.label}: round {bad['block'][0] + 1}: {bad['reason'][0]}")


def compared(sides: Sequence[Side]) -> Comparison | None:
    """Every command against the first; None where there is but one."""
    if len(sides) < 2:
        return None
    from assay.verdict.comparison.compare import compare

    return compare(sides, varying=("workload",), primary="trial_time")


def _output(paths: Sequence[Path]) -> str:
    """The end of what each command printed in its first round."""
    from assay.runners.launching.failure_reason import tail

    lines = []
    for path in paths:
        log = next(iter(sorted((path / "logs").glob("*.log"))), None)
        lines += ["", f"{log}:", *(tail(log).splitlines()[-OUTPUT_SHOWN:])] if log is not None else []
    return "\n".join(lines).lstrip("\n")


VERB = Verb(
    name="time",
    group="measure",
    summary="time a command, or several in turn: fresh starts in rounds, with an interval",
    description="""Time a command honestly: rounds of fresh starts, an interval over the rounds, and what the instrument itself takes.

    assay time -- ./my-command --fast             one command; everything after -- is its own
    assay time -- sort data.txt --- sort -n data.txt  two in turn, compared
    assay time --shell -- 'zcat log.gz | wc -l'   a line for the shell
    assay time --precision 0.02 -- ./my-command   as many rounds as it takes for 2 %

The commands read nothing and print nowhere; {launch} and {seed} in their words are replaced, as by assay run. The
first starts of every round are warm-up: kept, never counted. Nothing is subtracted and no outlier is dropped. A start
that fails ends it with exit code 5, unless --ignore-failure says otherwise. Every timing is a sealed record like any
other.""",
    add_arguments=add_arguments,
    run=_run,
)
