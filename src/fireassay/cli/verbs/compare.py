"""`assay compare`: is one record faster, cheaper or better than another, and are they comparable?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fireassay.cli.support.output import Output, add_formats, emit
from fireassay.cli.support.record_lookup import add_days
from fireassay.cli.support.verb import A_RECORD, Verb, add_root
from fireassay.printable import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fireassay.frames.record_data import RecordData
    from fireassay.verdict.comparison.types import Comparison, Side

QUALITY = "quality"  # as --primary: quality alone decides


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("records", nargs="+", metavar="RECORD", help=f"{A_RECORD}; the first is the baseline")
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
        "--margin", type=float, metavar="M", help="largest loss of the first score that still counts as held (default: the records' own)"
    )
    add_days(parser)
    add_formats(parser)
    add_root(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.cli.support.lean.scipy_special import import_special
    from fireassay.cli.support.record_lookup import pasted
    from fireassay.record.arrow_import import without_pandas
    from fireassay.reports.documents.comparison import render
    from fireassay.reports.pages.comparison import page
    from fireassay.reports.pages.comparison_view import build

    without_pandas()
    import_special()
    sides = with_margin(load_sides(arguments.records, arguments.root), arguments.margin)
    by_quality = arguments.primary == QUALITY or (arguments.primary is None and _asks_for_quality(sides[0]))
    comparison = compared(
        sides,
        at=arguments.at,
        varying=arguments.varying,
        force=arguments.force,
        primary=None if arguments.primary == QUALITY else arguments.primary,
        history=arguments.history,
        day_to_day=arguments.day_to_day,
    )
    base = sides[0]
    view = build(comparison, base.judgement.metrics, base.measured.experiment.workload.work)
    named = [pasted(text, arguments.root) for text in arguments.records]
    emit(Output(name="comparison", page=lambda: page(view, named, by_quality=by_quality), document=lambda: render(comparison)), arguments)
    if by_quality and comparison.quality:
        states = ", ".join(f"{label} {state.lower().replace('_', ' ')}" for label, state in comparison.quality.items())
        say(f"quality decides, not the speed: {states}", file=sys.stderr)
    return exit_code(comparison, by_quality=by_quality)


def compared(
    sides: tuple[Side, ...],
    *,
    at: Sequence[str] = (),
    varying: Sequence[str] = (),
    force: bool = False,
    primary: str | None = None,
    history: str | None = None,
    day_to_day: float | None = None,
) -> Comparison:
    """Compare what the number of sides and configurations asks for: records, configurations of one, or its engines.

    Raises:
        SpecError: unknown configuration, metric or condition, or a side compared with itself.
    """
    from fireassay.cli.support import record_lookup
    from fireassay.verdict.comparison.compare import compare, compare_at, compare_configurations, compare_engines

    if len(sides) == 1 and len(at) < 2 and _engines(sides[0]) > 1:
        return compare_engines(sides[0], primary=primary, at=_load_of(sides[0], at[0]) if at else None)
    if len(sides) == 1:
        _refuse_one_alone(sides[0], at)
        return compare_configurations(sides[0], at, primary=primary)
    at = at or _only_answers(sides)
    # A history counts only under the baseline's conditions, else the effect under study would pass for variation between sessions.
    days = record_lookup.days(history, day_to_day, sides, ("code",))
    if len(at) == len(sides):
        return compare_at(_once_each(sides), at, varying=varying, force=force, primary=primary, days=days)
    record_lookup.refuse_itself(sides, "RECORD")
    if len(at) > 1:
        from fireassay.errors import refuse

        raise refuse(
            "--at",
            " ".join(at),
            "one configuration that decides, or one for each record in their order",
            "To compare configurations of one record, give one record.",
            source="the comparison",
        )
    return compare(sides, varying=varying, force=force, primary=primary, at=at[0] if at else None, days=days)


def _asks_for_quality(side: Side) -> bool:
    """Whether the record's result is its quality: an evaluation with a margin."""
    return side.measured.kind.judges_quality and side.measured.experiment.quality is not None


def _only_answers(sides: tuple[Side, ...]) -> Sequence[str]:
    """The configuration of each side, if all are evaluations of one: what it is called means nothing."""
    names = [side.measured.configurations for side in sides if side.measured.kind.judges_quality]
    alone = len(names) == len(sides) and all(len(name) == 1 for name in names)
    return [name for (name,) in names] if alone and len(set(names)) > 1 else ()


def with_margin(sides: tuple[Side, ...], margin: float | None) -> tuple[Side, ...]:
    """The sides with the margin of the flag instead of their own.

    Raises:
        SpecError: it is not above 0, or a record has no score that it could be about.
    """
    from dataclasses import replace

    return sides if margin is None else tuple(replace(side, measured=_with_margin(side, margin)) for side in sides)


def _with_margin(side: Side, margin: float) -> RecordData:
    from dataclasses import replace

    from fireassay.errors import refuse
    from fireassay.frames.evaluation.item_scores import requested
    from fireassay.spec.experiment import Quality

    measured = side.measured
    names = [measured.experiment.quality.metric] if measured.experiment.quality is not None else list(requested(measured))
    if not 0.0 < margin < float("inf") or not names:
        found = f"{margin:g}" if names else f"{side.label}, a record without scores"
        raise refuse("--margin", found, "a number above 0, for records with scores", source="the comparison")
    former = measured.experiment.quality or Quality(metric=names[0])
    return replace(measured, experiment=measured.experiment.model_copy(update={"quality": former.model_copy(update={"margin": margin})}))


def _once_each(sides: tuple[Side, ...]) -> tuple[Side, ...]:
    """A record given several times keeps one label: its configurations distinguish its sides."""
    from dataclasses import replace

    records = {side.measured.manifest.get("id"): side for side in reversed(sides)}
    folders = [side.label.rpartition(" (")[0] or side.label for side in records.values()]
    names = labels_of([(side.measured.experiment.name, folder) for side, folder in zip(records.values(), folders, strict=True)])
    label = dict(zip(records, names, strict=True))
    return tuple(replace(side, label=label[side.measured.manifest.get("id")]) for side in sides)


def _engines(side: Side) -> int:
    """How many engines a record holds."""
    return len({configuration.target for configuration in side.measured.varied if configuration.target})


def _load_of(side: Side, text: str) -> float:
    """The load from the flag: "8", "rate=8", or a configuration's name."""
    from fireassay.errors import refuse

    loads = {configuration.name: configuration.load for configuration in side.measured.varied}
    known = loads.get(text)
    try:
        return known if known is not None else float(text.rpartition("=")[2])
    except ValueError:
        raise refuse(
            "--at",
            repr(text),
            "a load, for example 8, or two or more configurations",
            f"This record holds {', '.join(loads)}.",
            source="the comparison",
        ) from None


def _refuse_one_alone(side: Side, configurations: Sequence[str]) -> None:
    from fireassay.errors import refuse

    if len(configurations) < 2:
        known = " ".join(f"--at {name}" for name in side.measured.configurations)
        raise refuse(
            "RECORD",
            f"one record, {side.label}",
            "two or more records, or one with two or more --at",
            f"Add a record to compare with, or give configurations of this one: {known}.",
            source="the comparison",
        )


def load_sides(records: list[str], root: Path) -> tuple[Side, ...]:
    """Open and judge the records, each once; their labels are the shortest names that distinguish them.

    Raises:
        RecordError: a record is missing, damaged, or not what was sealed.
    """
    from fireassay.cli.support.record_lookup import whole
    from fireassay.frames.record_data import from_record
    from fireassay.record.lookup import resolve
    from fireassay.verdict.comparison.types import Side
    from fireassay.verdict.judge import judge

    paths = [resolve(name, root) for name in records]
    measured = {path: from_record(whole(path)) for path in dict.fromkeys(paths)}
    judged = {path: judge(record) for path, record in measured.items()}
    labels = labels_of([(measured[path].experiment.name, path.name) for path in paths])
    return tuple(Side(label=label, measured=measured[path], judgement=judged[path]) for label, path in zip(labels, paths, strict=True))


def labels_of(names: list[tuple[str, str]]) -> list[str]:
    """The experiments' names where they differ, else the folders'; a record given twice is numbered."""
    short, long = [name for name, _ in names], [folder for _, folder in names]
    chosen = short if len(set(short)) == len(short) else long
    if len(set(chosen)) == len(chosen):
        return chosen
    return [f"{name} ({index + 1})" for index, name in enumerate(chosen)]


def exit_code(comparison: Comparison, *, by_quality: bool = False) -> int:
    """0 decided, 1 quality lost, 3 not comparable, 4 undecided, 5 nothing measured; see docs/reference/exit-codes.md."""
    if comparison.state == "incomparable":
        return 3
    if by_quality:
        states = set(comparison.quality.values())
        return 1 if "DEGRADED" in states else 0 if states == {"HELD"} else 4
    if comparison.state == "nothing_measured":
        return 5
    if "DEGRADED" in comparison.quality.values():
        return 1
    undecided = ("inconclusive", "not_measured", "struck_out")
    return 4 if any(change.outcome in undecided for change in comparison.decisive()) else 0


VERB = Verb(
    name="compare",
    group="judge",
    summary="compare records: faster, slower, equivalent, undecided or not comparable",
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
)
