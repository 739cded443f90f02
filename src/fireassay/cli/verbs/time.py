"""`assay time`: how long does a command take, how sure is that, and which of several is faster?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fireassay.cli.support.output import Output, add_formats, emit, plain_stdout
from fireassay.cli.support.verb import Verb, add_root
from fireassay.errors import Problem, SpecError
from fireassay.printable import say

if TYPE_CHECKING:
    from fireassay.spec.experiment import Experiment
    from fireassay.verdict.comparison.types import Comparison, Side

BETWEEN = "---"  # between two commands; a single word that no program takes for an option of its own
SHELL = "/bin/sh"
SHELL_PLACE = 80  # of --shell among the flags that stand for keys
OUTPUT_SHOWN = 20  # lines of a command's output, with --show-output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags before `--`; the words after it are the commands."""
    from fireassay.spec.flags.experiment import keep_command
    from fireassay.spec.flags.of_verb import declare, flags_of

    keep_command(parser)
    parser.usage = "%(prog)s [options] -- COMMAND ARGUMENT ... [--- COMMAND ARGUMENT ...]"
    declare(parser, (item for item in flags_of("time") if item.flag.places["time"] < SHELL_PLACE))
    parser.add_argument("--shell", action="store_true", help=f"each command is a line for {SHELL}")
    declare(parser, (item for item in flags_of("time") if item.flag.places["time"] > SHELL_PLACE))
    add_root(parser, "where the record is made (default: records)")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    add_formats(parser)


def commands(words: Sequence[str], *, shell: bool) -> list[list[str]]:
    """The commands between `---`, each a list of words; with `shell` each is one line for it.

    Raises:
        SpecError: there is none, or one is empty.
    """
    groups: list[list[str]] = [[]]
    for word in words:
        if word == BETWEEN:
            groups.append([])
        else:
            groups[-1].append(word)
    if not all(groups) or any(not command[0].strip() for command in groups):
        raise SpecError(
            (
                Problem(
                    where="assay time",
                    found=_what_is_missing(words),
                    allowed=f"a command after --, several with {BETWEEN} between them",
                    fix=f"For example: assay time -- sort data.txt {BETWEEN} sort -n data.txt",
                ),
            ),
            "the command line",
        )
    return [[SHELL, "-c", " ".join(command)] for command in groups] if shell else groups


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
    result = []
    for text in texts:
        numbers[text] += 1
        result.append(text if seen[text] == 1 else f"{text} ({numbers[text]})")
    return result


def _on_one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def experiments(arguments: argparse.Namespace, asked: Sequence[Sequence[str]]) -> list[Experiment]:
    """One experiment for each command.

    Raises:
        SpecError: every problem of the flags at once.
    """
    from fireassay.cli.support.call_timing import experiment
    from fireassay.spec.flags import of_verb
    from fireassay.spec.flags.experiment import name_from

    flags = of_verb.flags_of("time")
    sections: dict[str, Any] = {}
    of_verb.put_defaults(sections, flags)
    problems = of_verb.put_all(sections, of_verb.given(arguments, flags))
    if problems:
        raise SpecError(tuple(problems), "the flags")
    name = sections.pop("name", "")
    try:
        return [
            experiment(
                command[0],
                command[1:],
                runner="command",
                name=name or name_from(command[2].split()[0] if arguments.shell else command[0]),
                sections=sections,
            )
            for command in asked
        ]
    except SpecError as error:
        raise SpecError(tuple(of_verb.as_flag(problem, flags) for problem in error.problems), "the flags") from None


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.cli.support import record_lookup
    from fireassay.cli.support.call_timing import measure
    from fireassay.cli.support.progress import display
    from fireassay.record.arrow_import import without_pandas
    from fireassay.reports.documents.timing import render
    from fireassay.reports.pages.timing import page
    from fireassay.reports.rows.timing import summary

    without_pandas()
    requested = commands(arguments.after_dashes, shell=arguments.shell)
    names = labels(requested, shell=arguments.shell)
    labelled = list(zip(experiments(arguments, requested), names, strict=True))
    with display(sys.stderr, quiet=arguments.quiet) as show:
        paths = measure(labelled, root=arguments.root, on_progress=show)
    sides = [record_lookup.side(path, label) for path, label in zip(paths, names, strict=True)]
    _refuse_failures(sides)
    comparison = compared(sides)
    summaries = [(summary(side.measured, side.judgement, side.label), str(path)) for side, path in zip(sides, paths, strict=True)]
    emit(Output(name="time", page=lambda: page(summaries, comparison), document=lambda: render(summaries, comparison)), arguments)
    if arguments.key_show_output and plain_stdout(arguments):
        say(_output(paths))
    return 0


def _refuse_failures(sides: Sequence[Side]) -> None:
    """In a session an arm that failed after good rounds ends as complete; a timing with a failure is none."""
    from fireassay.errors import WorkloadError

    for side in sides:
        failures = side.measured.table("launches").filter(side.measured.table("launches")["status"].is_in(["failed", "timeout"]))
        if failures.height:
            raise WorkloadError(f"{side.label}: round {failures['block'][0] + 1}: {failures['reason'][0]}")


def compared(sides: Sequence[Side]) -> Comparison | None:
    """Every command against the first; None where there is but one."""
    if len(sides) < 2:
        return None
    from fireassay.verdict.comparison.compare import compare

    return compare(sides, varying=("workload",), primary="trial_time")


def _output(paths: Sequence[Path]) -> str:
    """The end of what each command printed in its first round."""
    from fireassay.runners.launching.failure_reason import tail

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
