"""`assay tune`: which setting of these knobs is better than today's, with quality held?"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fireassay.catalog import load
from fireassay.cli.support.bar import bar
from fireassay.cli.support.detach import add_detach
from fireassay.cli.support.output import WRITERS, Output, add_formats, emit, write
from fireassay.cli.support.verb import Verb, add_root
from fireassay.cli.verbs.compare import exit_code as exit_code_of_comparison
from fireassay.errors import RecordError
from fireassay.printable import say

if TYPE_CHECKING:
    from fireassay.reports.page import Page
    from fireassay.verdict.tuning import Tuned


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="an experiment with a table [tune]")
    add_root(parser, "where the records are made (default: records)")
    parser.add_argument("--resume", action="store_true", help="continue an interrupted tuning: rounds with complete records are reused")
    parser.add_argument("--dry-run", action="store_true", help="show the settings and rounds; run nothing")
    add_detach(parser, several=True)
    add_formats(parser, besides=("html",))
    parser.add_argument(
        "--html", type=Path, nargs="?", const=Path("tuning.html"), metavar="PATH", help="also write a page (default: tuning.html)"
    )


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api.tuning_rounds import planned, tuned
    from fireassay.cli.support.progress import display
    from fireassay.reports.documents.tuning import render
    from fireassay.reports.pages.tuning import page
    from fireassay.spec.load import load as load_experiment
    from fireassay.spec.sections.tune import check

    experiment = load_experiment(arguments.file)
    tune = check(experiment)
    if arguments.dry_run:
        say(planned(tune, len(experiment.factor.levels)))
        return 0
    folder = arguments.file.resolve().parent
    announce = None if arguments.quiet else partial(say, file=sys.stderr, flush=True)
    with display(sys.stderr, quiet=arguments.quiet) as show:
        result = tuned(experiment, folder, arguments.root, resume=arguments.resume, show=show, announce=announce, watch=bar)
    if arguments.html is not None:
        _write(arguments.html, page(result, experiment.name))
    emit(Output(name="tuning", page=lambda: page(result, experiment.name), document=lambda: render(result)), arguments)
    return exit_code(result)


def _write(path: Path, page: Page) -> None:
    try:
        write(path, load(WRITERS, "html").write(page))
    except RecordError as error:  # the measurements are done: print the result anyway
        say(f"assay: {error} The result follows.", file=sys.stderr)


UNDECIDED: Final = {"": 0, "quality lost": 1, "not comparable": 3, "failed": 5}  # no arm reached the last round
DECIDED_BY_QUALITY: Final = ("HELD", "DEGRADED")


def exit_code(result: Tuned) -> int:
    """0 something better, or shown that nothing is; 1 and 3 to 5 as `assay compare` if the last round does not decide."""
    if result.adopted is not None:
        return 0
    if result.final is None:
        return UNDECIDED[result.undecided]
    better = [difference.side for difference in result.final.decisive() if difference.outcome == "improved"]
    unknown = any(result.final.quality.get(side, "NOT_MEASURED") not in DECIDED_BY_QUALITY for side in better)
    return exit_code_of_comparison(result.final) or (4 if unknown else 0)


VERB = Verb(
    name="tune",
    group="measure",
    call="fireassay.api.tuning_rounds.tuned",
    summary="try settings of a workload's knobs against today's, and find which is better",
    description="""Try settings of a training's knobs (bucket size, loader workers, accumulation, batch ...) against today's.

    assay tune examples/tune.toml              successive halving, then a deciding round
    assay tune examples/tune.toml --dry-run    the settings and rounds
    assay tune examples/tune.toml --resume     continue after Ctrl-C: complete rounds are kept

    [workload]
    arguments = ["--batch", "{batch}", "--loaders", "{loaders}"]
    [tune.knobs]
    batch = [64, 128]        # the first value is today's
    loaders = [0, 2]

An arm is dropped if it does other work, loses quality, fails or gives a wrong result, however fast it is. Every arm of every round is
a separate sealed record. Knobs without effect are never adopted: the last round bounds their effect.
Exit codes: 0 decided, else as `assay compare`; Ctrl-C keeps all measurements.""",
    add_arguments=_add_arguments,
    run=_run,
    exits={0: "decided", 1: "quality lost", 4: "INCONCLUSIVE", 5: "nothing measured"},
    tables=True,
)
