"""`assay compare`: is one record faster, cheaper or better than another, and are they comparable?"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fireassay.cli.support.again import OF_COMPARE, flags
from fireassay.cli.support.bar import bar
from fireassay.cli.support.latest import announced
from fireassay.cli.support.output import Output, add_formats, emit
from fireassay.cli.support.verb import A_RECORD, Verb, add_days, add_root, loss
from fireassay.printable import say, shell_word
from fireassay.record.lookup import resolve

if TYPE_CHECKING:
    from fireassay.api.comparison import Compared
    from fireassay.reports.answering import Asked
    from fireassay.verdict.comparison.types import Comparison


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    help = f"{A_RECORD}; the first is the baseline (default: latest, which is also compared with one record given alone)"
    parser.add_argument("records", nargs="*", metavar="RECORD", help=help)
    parser.add_argument(
        "--varying",
        action="append",
        default=[],
        metavar="NAME",
        help="condition under study, which may differ: a field, a group of fields, or code, engine, machine ...; repeatable",
    )
    parser.add_argument("--force", action="store_true", help="compare even if other conditions differ; all verdicts are marked EXPLORATORY")
    parser.add_argument(
        "--primary",
        metavar="METRIC",
        help="the metric that decides (default: the baseline's); quality: the exit code only depends on whether quality is held",
    )
    parser.add_argument(
        "--at",
        action="append",
        default=[],
        metavar="CONFIGURATION",
        help="of one record: two or more to compare, for example workers=4, or the load at which to compare its engines. Of several records: "
        "the one that decides (default: the largest common one), or one for each, in their order",
    )
    parser.add_argument(
        "--margin", type=loss, metavar="M", help="largest loss of the first score that still counts as held (default: the records' own)"
    )
    add_days(parser)
    add_formats(parser)
    add_root(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.api import lookup
    from fireassay.api.comparison import Question, compared
    from fireassay.reports.documents.comparison import render
    from fireassay.reports.pages.comparison import page

    question = Question(
        at=arguments.at,
        varying=arguments.varying,
        force=arguments.force,
        primary=arguments.primary,
        margin=arguments.margin,
        history=arguments.history,
        day_to_day=arguments.day_to_day,
    )
    arguments.records = _names(arguments)
    found = compared([resolve(name, arguments.root) for name in arguments.records], question, bar)
    comparison, by_quality = found.comparison, found.by_quality
    named = [lookup.pasted(text, arguments.root) for text in arguments.records]
    emit(
        Output(
            name="comparison",
            page=lambda: page(found.view, named, by_quality=by_quality, asked=_asked(arguments, found)),
            document=lambda: render(comparison),
        ),
        arguments,
    )
    if by_quality and comparison.quality:
        states = ", ".join(f"{label} {state.lower().replace('_', ' ')}" for label, state in comparison.quality.items())
        say(f"quality decides, not the speed: {states}", file=sys.stderr)
    return exit_code(comparison, by_quality=by_quality)


def _asked(arguments: argparse.Namespace, found: Compared) -> Asked:
    """The flags as given, and whether what they ask for more of can be measured from here."""
    from fireassay.api.again import again, timed_again
    from fireassay.api.checking import Place, why_not
    from fireassay.reports.answering import Asked

    one_load = ("--at",) if len(arguments.at) > 1 else ()  # `check` takes one
    asked = Asked(flags=tuple(flags(VERB, arguments)), compare=tuple(flags(VERB, arguments, leave=one_load, only=OF_COMPARE)))
    first, *others = (side.measured for side in found.sides)
    if len(arguments.records) == 2:
        paths = [resolve(name, arguments.root) for name in arguments.records]
        cannot = why_not(first, others[0], Place(folder=None, baseline=None, here=Path.cwd()))
        return replace(asked, cannot=cannot, both=timed_again(paths, (first, others[0]), Path.cwd()))
    lacks = again(resolve(arguments.records[0], arguments.root), first)
    if len(arguments.records) > 2 or lacks.gone or lacks.silent or first.foreign is not None or first.kind.judges_quality:
        return asked
    return replace(asked, more=f"assay {'load' if first.kind.sends_requests else 'run'} {shell_word(lacks.record)}")


def _names(arguments: argparse.Namespace) -> list[str]:
    """The records to compare: `latest` if none is given, and beside one that gives nothing to compare within itself."""
    names: list[str] = arguments.records
    if not names:
        return [announced(arguments)]
    if len(names) > 1 or arguments.at:
        return names
    from fireassay.api.comparison import newest_like

    other = newest_like(resolve(names[0], arguments.root), arguments.root)
    return names if other is None else [names[0], announced(arguments, other)]


def exit_code(comparison: Comparison, *, by_quality: bool = False) -> int:
    """0 decided, 1 quality lost, 3 not comparable, 4 undecided, 5 nothing measured; see docs/reference/exit-codes.md."""
    if comparison.state == "incomparable":
        return 3
    if by_quality:
        states = set(comparison.quality.values())
        return 1 if "DEGRADED" in states else 0 if states <= {"HELD", "MEASURED"} else 4
    if comparison.state == "nothing_measured":
        return 5
    if "DEGRADED" in comparison.quality.values():
        return 1
    undecided = ("inconclusive", "not_measured", "struck_out")
    return 4 if any(change.outcome in undecided for change in comparison.decisive()) else 0


VERB = Verb(
    name="compare",
    group="judge",
    call="fireassay.compare",
    summary="two records, or two settings of one",
    front=5,
    description="""Compare records with the first one, metric by metric, at launch level. Refused unless all conditions agree except those under
study; the error gives the field, both values and the remedy.

    assay compare before after                     the same script another day
    assay compare before after --varying code      a changed script
    assay compare a --at workers=1 --at workers=4  two sides of one record
    assay compare a b --varying engine             another engine, and all it brings
    assay compare a a q --at workers=1 --at workers=4 --at workers=1
                                                   one worker, several, a quantised model;
                                                   with --primary quality the exit code
                                                   says whether all are as good as the first
    assay compare a --at 8                         the engines of one record, at the load 8

Unchanged code differs between sessions, on hosted machines by 15 % and more. The interval includes this variation, from the
records of --history or as assumed (--day-to-day). Interleaved launches do not need it: `assay check --confirm always`
measures both versions again, interleaved.

Exit codes: 0 decided, whatever the direction; 1 quality was lost; 3 not comparable or inadmissible; 4 undecided;
5 nothing measured on a side.""",
    add_arguments=_add_arguments,
    run=_run,
    usual={"vary": ("--at", "--varying", "--force"), "judge": ("--primary", "--margin")},
    exits={0: "decided", 1: "quality lost", 3: "NOT COMPARABLE", 4: "INCONCLUSIVE", 5: "nothing measured"},
    tables=True,
)
