"""`assay gate`: is the working tree slower than its base?"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fireassay.catalog import load
from fireassay.cli.support.again import flags
from fireassay.cli.support.bar import bar
from fireassay.cli.support.detach import add_detach, announcing
from fireassay.cli.support.output import STDOUT, WRITERS, Output, add_formats, emit, write
from fireassay.cli.support.states import accepted_states, add_accept
from fireassay.cli.support.verb import Verb, add_root, share
from fireassay.errors import AssayError, Problem, SpecError, WorkloadError, refuse, refuse_any
from fireassay.printable import one_line, say
from fireassay.spec.flags import of_verb
from fireassay.spec.flags.experiment import keep_command, named
from fireassay.spec.model import Unreadable, seconds

if TYPE_CHECKING:
    from fireassay.api.gating import Gated
    from fireassay.reports.page import Page
    from fireassay.reports.pages.gate import Measured
    from fireassay.runners.experiment.progress import RunProgress
    from fireassay.spec.experiment import Experiment

MARGIN = 0.05
BUDGET = "5m"
MIN_PAIRS = 3
SHELL = "/bin/sh"
SAME = "both hold the same files: a difference is the machine's"
MAX_NAMED = 3  # untracked files


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    keep_command(parser)
    parser.usage = "%(prog)s BASE [options] -- COMMAND ARGUMENT ..."
    add = parser.add_argument
    add("base", metavar="BASE", help="the commit to compare the working tree with: origin/main, a tag, a hash")
    add("experiment", nargs="?", metavar="FILE", help="an experiment file in place of a command")
    add("--margin", type=share, metavar="SHARE", help="largest tolerable slowdown: 5%% (default) or 0.05")
    add("--merge-base", action="store_true", help="with the commit where this branch left BASE")
    add("--setup", action="append", default=[], metavar="LINE", help="a shell line run in each tree beforehand; repeatable")
    add_accept(parser)
    add("--budget", default=BUDGET, metavar="TIME", help="for more than 6 pairs (5m); a suspicion takes as long again")
    add("--pairs", type=int, metavar="N", help="measure exactly so many pairs, whatever they show")
    add("--primary", metavar="METRIC", help="what decides: trial_time, or trial_cpu_time")
    add("--shell", action="store_true", help=f"the command is a line of {SHELL}")
    of_verb.declare(parser, of_verb.flags_of("gate"))
    add_root(parser, "where the records are made, in its folder gates (default: records)")
    add_detach(parser, several=True)
    add_formats(parser, besides=("junit", "markdown"))
    add("--badge", type=Path, metavar="FILE", help="also write a badge as SVG")
    help = "also keep the verdict in branch:NAME of origin (with the badge), mlflow:SERVER, a folder, or a store"
    add("--history", metavar="WHERE", help=help)
    add("--junit", type=Path, metavar="FILE", help="also write a JUnit file")
    help = "append at most 25 lines to FILE, for a pull request; without FILE, output as markdown"
    add("--markdown", type=Path, nargs="?", const=STDOUT, metavar="FILE", help=help)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api.base_tree import base_of, only_in_change, trees_of
    from fireassay.api.gating import Gate, prepared

    accepted = accepted_states(arguments.accept)
    _take_margin(arguments)
    experiment, folder = _asked(arguments)
    budget_s = _checked(arguments)
    experiment = prepared(experiment, arguments.margin, arguments.pairs)
    here = (Path.cwd() / folder).resolve()
    base = base_of(arguments.base, here, merge_base=arguments.merge_base)
    if arguments.history:
        from fireassay.api.ci.history import reachable

        reachable(arguments.history, here)

    def told(text: str) -> None:
        if not arguments.quiet:
            say(text, file=sys.stderr)

    told(_plan(arguments))
    with trees_of(base, arguments.setup, experiment.workload.script, told) as trees, _progress(quiet=arguments.quiet) as show:
        workload, outputs = (
            experiment.workload,
            (arguments.root, arguments.badge, arguments.junit, arguments.markdown, arguments.output, Path(f"{VERB.name}.html")),
        )
        untracked = only_in_change(base, trees, (workload.script, *workload.arguments), [path for path in outputs if path is not None])
        if line := _untracked(untracked) or (SAME if base.same else ""):
            told(line)
        gate = Gate(
            base=base,
            trees=trees,
            experiment=experiment,
            budget_s=budget_s,
            root=arguments.root,
            primary=arguments.primary,
            on_progress=show,
            told=told,
            watch=bar,
        )
        try:
            found = gate.run()
        except WorkloadError as error:
            _write_error(arguments, str(error))
            raise
    is_accepted = found.check.state in accepted
    code = 0 if is_accepted else found.exit_code
    shown = _show(arguments, found, untracked, accepted=is_accepted)
    try:
        _keep(arguments, found, shown, here)
    except AssayError as error:
        if code == 0:
            raise
        say(error, file=sys.stderr)  # the verdict stands
    return code


# ---- what is asked ---------------------------------------------------------------------------------------------------


def _take_margin(arguments: argparse.Namespace) -> None:
    """The margin; it may also end the command, unless it stands before --."""
    words = arguments.after_dashes
    if arguments.margin is None and len(words) > 2 and words[-2] == "--margin":
        try:
            arguments.margin = share(words[-1])
        except argparse.ArgumentTypeError:
            return _default_margin(arguments)
        arguments.after_dashes = words[:-2]
        say(f"--margin {words[-1]} is taken as the gate's, not as the command's", file=sys.stderr)
    return _default_margin(arguments)


def _default_margin(arguments: argparse.Namespace) -> None:
    arguments.margin = MARGIN if arguments.margin is None else arguments.margin


def _asked(arguments: argparse.Namespace) -> tuple[Experiment, Path]:
    """The experiment, and the folder in which it runs. Raises SpecError: every problem of the flags at once."""
    known = of_verb.flags_of("gate")
    given = of_verb.given(arguments, known)
    command = arguments.after_dashes
    workers = next(item for item in known if item.name == "--workers")
    if arguments.experiment is None and not arguments.shell and workers not in given and _is_training(command):
        setattr(arguments, workers.attribute, "1")
        given[workers] = "1"
        say(f"{command[0]} is taken as a training on 1 worker (--workers); as a command: python {command[0]}", file=sys.stderr)
    if arguments.experiment is not None or workers in given:
        from fireassay.spec.flags.experiment import experiment_from

        return experiment_from(arguments, known)
    if not command or not command[0].strip():
        fix = "\n  assay gate origin/main -- python work.py"
        raise refuse("assay gate", "no command", "a command after --, or an experiment file", fix, source="the command line")
    words = [SHELL, "-c", " ".join(command)] if arguments.shell else command
    return _timing(words, named(command[0].split() if arguments.shell else command), known, given), Path()


def _is_training(command: Sequence[str]) -> bool:
    """True for a Python script that no shell would run: without an interpreter before it, it is meant as `assay run` takes it."""
    return bool(command) and Path(command[0]).suffix == ".py" and not os.access(command[0], os.X_OK)


def _timing(words: Sequence[str], name: str, known: Sequence[Any], given: Any) -> Experiment:
    from fireassay.api.timing import experiment

    sections: dict[str, Any] = {}
    of_verb.put_defaults(sections, known)
    refuse_any(of_verb.put_all(sections, given), "the flags")
    sections.pop("factor", None)
    try:
        return experiment(words[0], words[1:], runner="command", name=name, sections=sections)
    except SpecError as error:
        raise SpecError(tuple(of_verb.as_flag(problem, known) for problem in error.problems), "the flags") from None


def _checked(arguments: argparse.Namespace) -> float:
    """The budget in seconds. Raises SpecError: it, the pairs or the metric is wrong."""
    problems = []
    if arguments.pairs is not None and not MIN_PAIRS <= arguments.pairs <= 1000:
        problems.append(Problem("--pairs", str(arguments.pairs), f"{MIN_PAIRS} to 1000: fewer cannot decide"))
    budget_s = 0.0
    try:
        budget_s = seconds(arguments.budget)
    except Unreadable as error:
        problems.append(Problem("--budget", arguments.budget, error.allowed))
    if arguments.primary is not None and arguments.experiment is None and not _is_metric(arguments.primary):
        problems.append(
            Problem("--primary", arguments.primary, "trial_time, trial_cpu_time or trial_memory; of a training a metric with a direction")
        )
    refuse_any(problems, "the command line")
    return budget_s


def _is_metric(name: str) -> bool:
    from fireassay import catalog

    metric = catalog.load_all("metrics").get(name)
    return metric is not None and metric.better != "neither"


def _plan(arguments: argparse.Namespace) -> str:
    if arguments.pairs is not None:
        return f"{arguments.base} against the working tree, in turn: {arguments.pairs} pairs; a slowdown is measured again"
    return f"{arguments.base} against the working tree, in turn: 6 pairs, then more until decided (--budget {arguments.budget}); a slowdown is measured again"


# ---- output ----------------------------------------------------------------------------------------------------------


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[RunProgress], None] | None]:
    """A display that is redrawn; in a log, a line for each look at the pairs."""
    if not quiet and sys.stderr.isatty():
        from fireassay.cli.support.progress import display

        with display(sys.stderr, quiet=False) as show:
            yield show
        return
    told: list[object] = [None]

    def line(progress: RunProgress) -> None:
        if progress.looks and progress.looks[-1] is not told[-1]:  # both sides show the same
            told.append(progress.looks[-1])
            say(one_line(progress.looks[-1].sentence), file=sys.stderr)

    yield announcing(None if quiet else line)


def _show(arguments: argparse.Namespace, found: Gated, untracked: Sequence[str], *, accepted: bool) -> Page:
    from fireassay.reports.documents.check import render
    from fireassay.reports.pages.gate import page

    if arguments.markdown == STDOUT:
        arguments.form = "markdown"
    shown = page(_measured(arguments, found, untracked, accepted=accepted))
    fresh = [str(path) for one in found.rounds[1:] for path in one.records]
    emit(Output(name="gate", page=lambda: shown, document=lambda: render(found.check, accepted=accepted, fresh=fresh)), arguments)
    _also(arguments, shown)
    return shown


def _also(arguments: argparse.Namespace, page: Page) -> None:
    for name in ("badge", "junit", "markdown"):
        if (target := getattr(arguments, name)) not in (None, STDOUT):
            write(target, load(WRITERS, name).write(page), append=name == "markdown")


def _keep(arguments: argparse.Namespace, found: Gated, shown: Page, here: Path) -> None:
    if not arguments.history:
        return
    from fireassay.api.ci.history import keep
    from fireassay.verdict.checking.kept import kept

    assert shown.answer is not None
    one = kept(found.check, shown.answer.mark.word, shown.answer.headline, *found.rounds[-1].sides)
    say(f"kept: {keep(arguments.history, one, here, load(WRITERS, 'badge').write(shown))}", file=sys.stderr)


def _write_error(arguments: argparse.Namespace, why: str) -> None:
    """The files of a gate whose command failed: a CI server shows nothing of a file that is not there, or the last one."""
    from fireassay.reports.page import Mark, Page

    _also(arguments, Page(title=arguments.base, sections=(), mark=Mark(word="error", tone="void"), lead=why, properties={"verb": "gate"}))


def _measured(arguments: argparse.Namespace, found: Gated, untracked: Sequence[str], *, accepted: bool) -> Measured:
    from fireassay.reports.pages.gate import Measured

    last = found.rounds[-1]
    return Measured(
        base=arguments.base,
        check=found.check,
        pairs=[one.pairs for one in found.rounds],
        seconds=sum(one.seconds for one in found.rounds),
        margin=found.margin,
        accepted=accepted,
        trees=_trees(found, untracked, merge_base=arguments.merge_base),
        warnings=[*last.disturbed],
        records=[str(path) for path in last.records],
        seals=[one.measured.seal for one in last.sides],
        more=shlex.join(["assay", "gate", arguments.base, *_repeated(arguments)]),
        compare=shlex.join(_compare(arguments, last.records)),
        command=f" -- {shlex.join(arguments.after_dashes)}" if arguments.after_dashes else "",
    )


def _compare(arguments: argparse.Namespace, records: Sequence[Path]) -> list[str]:
    """The words that show every number of the records, decided by the same metric."""
    from fireassay.api.gating import VARYING

    varying = (word for name in VARYING for word in ("--varying", name))
    return ["assay", "compare", *map(str, records), *varying, *flags(VERB, arguments, only=("--primary",)), "--full"]


def _trees(found: Gated, untracked: Sequence[str], *, merge_base: bool) -> str:
    base = found.base
    parts = [
        f"{'merge base ' if merge_base else ''}{base.commit[:10]} against the working tree"
        + (" with its uncommitted changes" if base.dirty else "")
    ]
    if line := _untracked(untracked):
        parts.append(line)
    elif base.same:
        parts.append(SAME)
    if found.copied:
        parts.append(f"{', '.join(found.copied)} is installed as a copy: both may run it (pip install -e)")
    return "; ".join(parts)


def _untracked(names: Sequence[str]) -> str:
    """Files that git does not know, which the base's tree lacks: the two sides may do different work."""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return f"untracked, only in the working tree: {', '.join(names[:MAX_NAMED])}{more} (for both: --setup)" if names else ""


def _repeated(arguments: argparse.Namespace) -> list[str]:
    """The words that ask the same, without the number of pairs and without a metric that decides anyway."""
    decided = ("--primary",) if arguments.primary == "trial_time" else ()
    return [*([arguments.experiment] if arguments.experiment else []), *flags(VERB, arguments, leave=("--pairs", *decided))]


VERB = Verb(
    name="gate",
    group="judge",
    call="fireassay.api.gating.Gate",
    summary="is this change slower than its base? for CI",
    front=4,
    description="""Is the working tree slower than its base? Both codes run in turn, in random order, until that is decided.

    assay gate origin/main -- python work.py
    assay gate origin/main --margin 3% --setup make -- ./work --fast
    assay gate origin/main --accept inconclusive --junit gate.xml -- ./work
    assay gate v1.2 gate.toml                           an experiment's file
    assay gate origin/main --workers 2 -- train.py      a training's script

The base is checked out beside the working tree and removed at the end; the working tree is measured as it is, uncommitted changes
included. The wall time of the command decides, or of a training its throughput or step time. A slowdown that is shown and whose estimate is
beyond the margin is measured again before it fails the build. A pass excludes a slowdown beyond the margin: with a true one, at most 5 % of the
gates pass. What is installed with pip install -e runs from each tree; what --setup builds, each tree has for itself.

Exit codes: 0 no slowdown beyond the margin, 1 slower, 2 bad input, 3 not comparable, 4 undecided, 5 the command failed, 8 faster.""",
    add_arguments=_add_arguments,
    run=_run,
    usual={"judge": ("--margin", "--accept", "--primary"), "trees": ("--merge-base", "--setup"), "measure": ("--budget", "--pairs")},
    exits={0: "no slowdown beyond the margin", 1: "slower", 3: "not comparable", 4: "undecided", 5: "the command failed", 8: "faster"},
    tables=True,
)
