"""`assay check`: is this build no worse than its baseline?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from fireassay.catalog import load
from fireassay.cli.support.output import STDOUT, TERMINAL, WRITERS, Output, add_formats, emit, plain_stdout, shown, write
from fireassay.cli.support.record_lookup import share
from fireassay.cli.support.verb import A_RECORD, Verb, add_root
from fireassay.printable import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fireassay.verdict.checking.types import Check
    from fireassay.verdict.comparison.types import Comparison, Side


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
    add("--accept", action="append", default=[], metavar="STATES", help="states that give exit code 0, comma-separated")
    add(
        "--confirm",
        choices=("auto", "always", "never"),
        default="auto",
        metavar="WHEN",
        help="measure both again in turn: auto (on suspicion), always (also if undecided) or never",
    )
    add("--baseline-folder", type=Path, metavar="DIR", help="the baseline's code for measuring again (default: its commit)")
    add("--folder", type=Path, metavar="DIR", help="the record's code for measuring again (default: the working directory)")
    add("--blocks", type=int, default=5, metavar="N", help="blocks to measure again (5; at least 3)")
    add("--show", action="store_true", help="show the history as tables and write history.html")
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
    from fireassay.record.arrow_import import without_pandas
    from fireassay.verdict.checking.types import STATES

    without_pandas()
    accepted = _accepted(arguments.accept)
    _refuse_nonsense(arguments)
    result, record, fresh = _checked(arguments)
    code = 0 if result.state in accepted else STATES[result.state][0]
    _show_result(arguments, result, fresh, _named(arguments, record), accepted=result.state in accepted)
    if arguments.push and code == 0:
        from fireassay.record.store import Store

        say(f"kept: {Store(arguments.push).push(record)}", file=sys.stderr)
    return code


def _accepted(texts: Sequence[str]) -> set[str]:
    """The states that let the pipeline continue."""
    from fireassay.errors import refuse
    from fireassay.verdict.checking.types import STATES

    known = [state.replace("_", "-") for state in STATES]
    named = [word.strip() for text in texts for word in text.split(",") if word.strip()]
    wrong = [word for word in named if word.replace("_", "-") not in known]
    if wrong:
        raise refuse("--accept", ", ".join(wrong), f"states: {', '.join(known)}", source="the command line")
    return {word.replace("-", "_") for word in named}


def _refuse_nonsense(arguments: argparse.Namespace) -> None:
    from fireassay.errors import Problem, refuse_any

    problems = []
    if arguments.against is None and arguments.history is None:
        problems.append(
            Problem("--against", "neither a baseline nor a history", "at least one of them", "Add --against BASELINE or --history FOLDER.")
        )
    if arguments.blocks < 3:
        problems.append(Problem("--blocks", str(arguments.blocks), "3 or more: fewer launches cannot decide"))
    if arguments.show and arguments.history is None:
        problems.append(Problem("--show", "no history", "together with --history FOLDER"))
    refuse_any(problems, "the command line")


# ---- the comparison --------------------------------------------------------------------------------------------------


def _checked(arguments: argparse.Namespace) -> tuple[Check, Path, list[Path]]:
    """The check, confirmed if requested and possible; the record's path; the records made to confirm it."""
    from fireassay.cli.support import record_lookup

    folders = list(record_lookup.folders_of(arguments.history)) if arguments.history else []
    path = _record_path(arguments, folders)
    record = record_lookup.side(path)
    others = record_lookup.sides(folder for folder in folders if folder.resolve() != path.resolve())
    earlier = [other for other in others if _is_earlier(other, record)]
    past = record_lookup.comparable(record, earlier, _varying(arguments))
    baseline: Side | None
    if arguments.against is not None:
        baseline = record_lookup.side(baseline_path := record_lookup.find(arguments.against, arguments.root))
        record_lookup.refuse_itself((baseline, record), "--against")
        if baseline.label == record.label:
            baseline = record_lookup.side(baseline_path, f"{baseline.label} (baseline)")
        result = _against(arguments, baseline, record, past)
    else:
        result, baseline = _along(arguments, past, record, left_out=len(earlier) - len(past))
    result, fresh = _confirmed(arguments, result, baseline, record)
    return result, path, fresh


def _record_path(arguments: argparse.Namespace, folders: Sequence[Path]) -> Path:
    from fireassay.cli.support import record_lookup
    from fireassay.errors import RecordError

    if arguments.record is not None or arguments.against is not None:
        return record_lookup.find(arguments.record or "latest", arguments.root)
    if not folders:
        raise RecordError(f"{arguments.history} contains no complete record. `assay check --push` adds one.")
    return folders[-1]


def _varying(arguments: argparse.Namespace) -> tuple[str, ...]:
    return tuple(arguments.varying or ("code",))


def _is_earlier(other: Side, record: Side) -> bool:
    """Made before the record, and not a copy of it."""
    manifest, other_manifest = record.measured.manifest, other.measured.manifest
    return other_manifest.get("id") != manifest.get("id") and str(other_manifest.get("created_utc")) <= str(manifest.get("created_utc"))


def _comparison(arguments: argparse.Namespace, baseline: Side, record: Side) -> Comparison:
    from fireassay.verdict.comparison.compare import compare

    return compare((baseline, record), varying=_varying(arguments), force=arguments.force, primary=arguments.primary, at=arguments.at)


def _against(arguments: argparse.Namespace, baseline: Side, record: Side, past: Sequence[Side]) -> Check:
    from fireassay.verdict.checking.check import check
    from fireassay.verdict.comparison.sessions import DAYS

    return check(
        _comparison(arguments, baseline, record),
        baseline,
        record,
        past=past,
        margin=arguments.margin,
        days=DAYS if arguments.day_to_day is None else arguments.day_to_day,
        everything=arguments.all,
    )


def _along(arguments: argparse.Namespace, past: Sequence[Side], record: Side, *, left_out: int) -> tuple[Check, Side | None]:
    """The check against the history alone, and the side to measure again with the record."""
    from fireassay.record.store import shown_url
    from fireassay.verdict.checking.check import alone, check_history
    from fireassay.verdict.checking.history import in_order

    if not past:
        return alone(record, shown_url(arguments.history), left_out), None
    ordered = in_order(past)
    comparison = _comparison(arguments, ordered[-1], record)
    result = check_history(comparison, ordered, record, margin=arguments.margin, everything=arguments.all)
    before = next((other for other in ordered if other.label == result.suspects_from), ordered[-1])
    return result, before


# ---- measuring again -------------------------------------------------------------------------------------------------


def _confirmed(arguments: argparse.Namespace, result: Check, baseline: Side | None, record: Side) -> tuple[Check, list[Path]]:
    from fireassay.cli.support.remeasure import FAILURES, reason_of
    from fireassay.errors import Interrupted
    from fireassay.verdict.checking.confirmation import unconfirmed

    always = arguments.confirm == "always" and result.state == "inconclusive" and result.design != "in turn"
    if baseline is None or not (result.wants_confirmation or always):
        return result, []
    if arguments.confirm == "never":
        return unconfirmed(result, "--confirm never"), []
    try:
        return _measured_again(arguments, result, baseline, record)
    except Interrupted:
        raise
    except FAILURES as error:
        return unconfirmed(result, reason_of(error)), []


def _measured_again(arguments: argparse.Namespace, result: Check, baseline: Side, record: Side) -> tuple[Check, list[Path]]:
    """Fresh interleaved launches of both versions.

    Raises:
        CannotConfirm, AssayError: they cannot be measured here.
    """
    from fireassay.cli.support import record_lookup, remeasure
    from fireassay.cli.support.progress import display
    from fireassay.verdict.checking.confirmation import confirm

    folders = remeasure.Place(folder=arguments.folder, baseline=arguments.baseline_folder, here=Path.cwd())
    code = remeasure.code_of(record.measured, folders)
    say(f"{result.sentence}\nmeasuring both again, interleaved: {arguments.blocks} blocks", file=sys.stderr)
    with remeasure.baseline_code(baseline.measured, folders, code) as old, display(sys.stderr, quiet=arguments.quiet) as show:
        fresh = remeasure.fresh(
            record.measured.experiment, old, code, root=arguments.root / remeasure.FOLDER, blocks=arguments.blocks, on_progress=show
        )
    first, second = (record_lookup.side(path) for path in fresh)
    remeasured = _against(arguments, first, second, [])
    return confirm(result, remeasured, everything_in_doubt=arguments.confirm == "always"), fresh


# ---- output ----------------------------------------------------------------------------------------------------------


def _named(arguments: argparse.Namespace, record: Path) -> list[str]:
    """The words that name the baseline and the record in a command; none without a baseline of its own."""
    from fireassay.cli.support.record_lookup import pasted
    from fireassay.record.store import is_address

    if arguments.against is None or is_address(arguments.against):
        return []
    name = (
        arguments.record
        if arguments.record and is_address(arguments.record)
        else record.name
        if record.parent == Path("records")
        else str(record)
    )
    return [pasted(arguments.against, arguments.root), name]


def _show_result(arguments: argparse.Namespace, finding: Check, fresh: Sequence[Path], named: Sequence[str], *, accepted: bool) -> None:
    from fireassay.reports.documents.check import render
    from fireassay.reports.pages.check import page

    if arguments.markdown == STDOUT:
        arguments.form = "markdown"
    where = sys.stdout if plain_stdout(arguments) else sys.stderr
    if arguments.show:
        _show(arguments, finding, where)
    result = Output(
        name="check", page=lambda: page(finding, named), document=lambda: render(finding, accepted=accepted, fresh=map(str, fresh))
    )
    emit(result, arguments)
    for path in fresh:
        say(f"record: {path}", file=where)
    if accepted and finding.state != "pass":
        say(f"accepted: {finding.state.replace('_', ' ')}", file=where)
    if arguments.junit:
        write(arguments.junit, load(WRITERS, "junit").write(page(finding)))
    if arguments.markdown not in (None, STDOUT):
        write(arguments.markdown, load(WRITERS, "markdown").write(page(finding, named)), append=True)


def _show(arguments: argparse.Namespace, result: Check, where: TextIO) -> None:
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
        "again": ("--confirm", "--baseline-folder", "--blocks"),
    },
    exits={0: "PASS", 1: "REGRESSION", 3: "NOT COMPARABLE", 4: "INCONCLUSIVE", 5: "nothing measured", 8: "IMPROVEMENT"},
)
