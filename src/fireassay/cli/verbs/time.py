"""`assay time`: how long does a command take, with which uncertainty, and which of several is faster?"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fireassay.cli.support.bar import bar
from fireassay.cli.support.detach import add_detach
from fireassay.cli.support.output import Output, add_formats, emit, plain_stdout
from fireassay.cli.support.verb import Verb, add_root
from fireassay.errors import SpecError, refuse, refuse_any
from fireassay.printable import say
from fireassay.spec.experiment import Experiment
from fireassay.spec.flags import of_verb
from fireassay.spec.flags.experiment import BETWEEN, keep_command, named

SHELL = "/bin/sh"
SHELL_PLACE = 80  # position of --shell among the flags of keys
OUTPUT_SHOWN = 20  # lines of a command's output, with --show-output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The flags before `--`; the words after it are the commands."""
    keep_command(parser)
    parser.usage = "%(prog)s [options] -- COMMAND ARGUMENT ... [--- COMMAND ARGUMENT ...]"
    of_verb.declare(parser, (item for item in of_verb.flags_of("time") if item.flag.places["time"] < SHELL_PLACE))
    parser.add_argument("--shell", action="store_true", help=f"run each command as a line of {SHELL}")
    of_verb.declare(parser, (item for item in of_verb.flags_of("time") if item.flag.places["time"] > SHELL_PLACE))
    add_root(parser, "where the record is made (default: records)")
    add_detach(parser, several=True)
    add_formats(parser)


def commands(words: Sequence[str], *, shell: bool) -> list[list[str]]:
    """The commands between `---`, each a list of words; with `shell`, each is one shell line.

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
        allowed = f"a command after --, several with {BETWEEN} between them"
        fix = f"For example: assay time -- sort data.txt {BETWEEN} sort -n data.txt"
        raise refuse("assay time", _what_is_missing(words), allowed, fix, source="the command line")
    return [[SHELL, "-c", " ".join(command)] for command in groups] if shell else groups


def _what_is_missing(words: Sequence[str]) -> str:
    if not words:
        return "no command"
    return f"nothing next to {BETWEEN}" if BETWEEN in words else "an empty command"


def labels(requested: Sequence[Sequence[str]], *, shell: bool) -> list[str]:
    """The label of each command: as written, on one line; duplicates are numbered.

    Control characters are escaped: a label is printed, and a file name may hold anything.
    """
    texts = [_on_one_line(command[2] if shell else shlex.join(command)) for command in requested]
    numbers = dict.fromkeys(texts, 0)
    result = []
    for text in texts:
        numbers[text] += 1
        result.append(text if texts.count(text) == 1 else f"{text} ({numbers[text]})")
    return result


def _on_one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def experiments(arguments: argparse.Namespace, requested: Sequence[Sequence[str]]) -> list[Experiment]:
    """One experiment per command. Raises SpecError: every problem of the flags at once."""
    from fireassay.api.timing import experiment

    flags = of_verb.flags_of("time")
    sections: dict[str, Any] = {}
    of_verb.put_defaults(sections, flags)
    problems = of_verb.put_all(sections, of_verb.given(arguments, flags))
    refuse_any(problems, "the flags")
    name = sections.pop("name", "")
    try:
        return [
            experiment(
                command[0],
                command[1:],
                runner="command",
                name=name or named(command[2].split() if arguments.shell else command),
                sections=sections,
            )
            for command in requested
        ]
    except SpecError as error:
        raise SpecError(tuple(of_verb.as_flag(problem, flags) for problem in error.problems), "the flags") from None


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api.timing import measure, timed
    from fireassay.cli.support.progress import display
    from fireassay.reports.documents.timing import render
    from fireassay.reports.pages.timing import page

    requested = commands(arguments.after_dashes, shell=arguments.shell)
    names = labels(requested, shell=arguments.shell)
    labelled = list(zip(experiments(arguments, requested), names, strict=True))
    with display(sys.stderr, quiet=arguments.quiet) as show:
        paths = measure(labelled, root=arguments.root, on_progress=show)
    summaries, comparison = timed(paths, names, bar)
    emit(Output(name="time", page=lambda: page(summaries, comparison), document=lambda: render(summaries, comparison)), arguments)
    if arguments.key_show_output and plain_stdout(arguments):
        say(_output(paths))
    return 0


def _output(paths: Sequence[Path]) -> str:
    """The end of what each command printed in its first round."""
    from fireassay.runners.launching.watch import tail

    lines = []
    for path in paths:
        log = next(iter(sorted((path / "logs").glob("*.log"))), None)
        lines += ["", f"{log}:", *(tail(log).splitlines()[-OUTPUT_SHOWN:])] if log is not None else []
    return "\n".join(lines).lstrip("\n")


VERB = Verb(
    name="time",
    group="measure",
    call="fireassay.time",
    summary="time a command, or several interleaved: fresh starts in rounds, with an interval",
    description="""Time a command: rounds of fresh starts, an interval over the rounds, and the instrument's own overhead.

    assay time -- ./my-command --fast             one command: everything after --
    assay time -- sort data.txt --- sort -n data.txt  two, interleaved and compared
    assay time --shell -- 'zcat log.gz | wc -l'   a shell line
    assay time --precision 0.02 -- ./my-command   as many rounds as 2 % requires

The commands' input is empty and their output is not shown; {launch} and {seed} in their words are replaced, as by assay run. The
first starts of every round are warm-up: kept, never counted. Nothing is subtracted and no outlier is dropped. A failed
start ends the timing with exit code 5, unless --ignore-failure is given. Every timing is an ordinary sealed record.""",
    add_arguments=add_arguments,
    run=_run,
    usual={"measure": ("--launches", "--round", "--precision", "--warm-up"), "commands": ("--shell", "--ignore-failure", "--show-output")},
    exits={0: "timed", 5: "a command failed"},
    tables=True,
)
