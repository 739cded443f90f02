"""`assay run`: what does this experiment measure, and what is the verdict?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.base import Verb

if TYPE_CHECKING:
    from assay.spec.experiment import Experiment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own flags, and those of the verb."""
    from assay.spec.flags import add_flags

    add_flags(parser)
    parser.add_argument(
        "--root", type=Path, default=Path("records"), metavar="DIR", help="where the record is made (default: records)"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the plan and the expected time; run nothing")
    add_display_flags(parser)


def add_display_flags(parser: argparse.ArgumentParser) -> None:
    """What is shown while it runs, and after; the same for `run` and `resume`."""
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument(
        "--json", action="store_true", help="print the result as JSON on stdout; progress goes to stderr"
    )


def _run(arguments: argparse.Namespace) -> int:
    from assay.spec.flags import experiment_from

    experiment, folder = experiment_from(arguments, getattr(arguments, "after_dashes", ()))
    if arguments.dry_run:
        print(dry_run(experiment, arguments.root))
        return 0
    from assay.cli.live import display
    from assay.cli.report import judge_and_show
    from assay.runners.base import run

    with display(sys.stderr if arguments.json else sys.stdout, quiet=arguments.quiet) as show:
        path = run(experiment, folder=folder, root=arguments.root, on_progress=show)
    return judge_and_show(path, json=arguments.json, html=True)


def dry_run(experiment: Experiment, root: Path) -> str:
    """The plan in order, with seeds and the expected time, as plain text."""
    from assay.cli.live import duration
    from assay.spec.plan import plan

    launches = plan(experiment)
    lines = ["slot  block  configuration     role   seed", ""]
    for one in launches:
        extra = f"  {one.fault.kind} rank {one.fault.rank}" if one.fault is not None else ""
        lines.append(f"{one.slot:>4}  {one.block:>5}  {one.configuration:<16}  {one.role:<5}  {one.seed}{extra}")
    expected = expected_seconds(experiment, root)
    told = (
        f"about {duration(expected)}, as in an earlier record"
        if expected is not None
        else f"unknown: there is no complete record of this plan in {root}"
    )
    return "\n".join([*lines, "", f"{len(launches)} launches; expected time: {told}"])


def expected_seconds(experiment: Experiment, root: Path) -> float | None:
    """How long the newest complete record of the same plan took, launch by launch; None if there is none."""
    from assay.errors import RecordError
    from assay.record.reader import open_record, read_manifest, record_folders
    from assay.runners.base import plan_signature

    signature = plan_signature(experiment)
    found: list[tuple[str, Path]] = []
    for path in record_folders(root):
        try:
            manifest = read_manifest(path)
        except RecordError:
            continue
        if manifest.get("plan_signature") == signature and manifest.get("state") == "complete":
            found.append((str(manifest["created_utc"]), path))
    if not found:
        return None
    rows = open_record(max(found)[1]).table("launches")
    return float((rows["end_ns"] - rows["begin_ns"]).sum()) / 1e9


VERB = Verb(
    name="run",
    group="measure",
    summary="run an experiment: one sealed record, judged and reported",
    description="""Run an experiment, seal its record, judge it and show the verdict.

    assay run examples/digits.toml                                   an experiment from its file
    assay run --workers 1,2,4 --launches 5 -- train.py --epochs 3    my own script, no file needed
    assay run examples/digits.toml --dry-run                         the plan and the expected time

In the script's arguments {workers}, {seed} and {launch} are replaced for every launch.
Ctrl-C ends the running launch cleanly and keeps what was measured; `assay resume RECORD` goes on.""",
    add_arguments=add_arguments,
    run=_run,
)
