"""`assay run`: what does this experiment measure, and what is the verdict?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fireassay.cli.support.output import JSON, add_formats
from fireassay.cli.support.record_lookup import share
from fireassay.cli.support.settings import USED
from fireassay.cli.support.verb import Verb, add_root
from fireassay.cli.verbs.report import VERDICTS
from fireassay.printable import say
from fireassay.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fireassay.frames.record_data import RecordData
    from fireassay.spec.experiment import Experiment
    from fireassay.spec.flags.experiment import Stored
    from fireassay.verdict.power import Expectation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The experiment's own flags, and those of the verb."""
    from fireassay.spec.flags.experiment import add_flags
    from fireassay.spec.flags.of_verb import flags_of

    add_flags(parser, flags_of("run"))
    add_root(parser, "where the record is made (default: records)")
    parser.add_argument("--dry-run", action="store_true", help="show the plan, its time and the detectable differences; run nothing")
    add_detect(parser)
    add_display_flags(parser)


def add_detect(parser: argparse.ArgumentParser) -> None:
    """Add the flag that asks a dry run for the number of launches."""
    help = "with --dry-run: how many launches show a change of this size (0.02)?"
    parser.add_argument("--detect", type=share, metavar="SHARE", help=help)


def add_display_flags(parser: argparse.ArgumentParser) -> None:
    """Output during and after a run; the same for `run` and `resume`."""
    add_formats(parser)


def _run(arguments: argparse.Namespace) -> int:
    from fireassay.record.arrow_import import without_pandas
    from fireassay.runners.experiment.script import refuse_secrets
    from fireassay.spec.flags.experiment import experiment_from
    from fireassay.spec.flags.of_verb import flags_of

    without_pandas()
    experiment, folder = experiment_from(arguments, flags_of("run"), stored=stored(arguments.experiment, arguments.root))
    show_notes(experiment)
    refuse_secrets(experiment)  # before any of it is printed
    if arguments.dry_run:
        return show_dry_run(experiment, arguments)
    refuse_detect(arguments)
    return run_and_judge(experiment, folder, arguments.root, arguments)


def run_and_judge(experiment: Experiment, folder: Path, root: Path, arguments: argparse.Namespace) -> int:
    """Run an experiment with its progress shown, judge its record and show the verdict; returns the exit code."""
    from fireassay.cli.support.experiment_run import run
    from fireassay.cli.support.progress import display
    from fireassay.cli.support.rate_search import ranged
    from fireassay.cli.verbs.report import judge_and_show

    with display(sys.stderr, quiet=arguments.quiet, tables=True) as show:
        experiment = ranged(experiment, folder, root, show)
        path = run(experiment, folder=folder, root=root, on_progress=show)
    return judge_and_show(path, arguments)


def stored(text: str | None, root: Path) -> Stored | None:
    """The experiment of the record that the text names; None if it names a file, or no record."""
    if text is None or Path(text).is_file() or text.endswith((".toml", ".py")):
        return None
    import tomllib

    from fireassay.cli.support.experiment_of_record import folder_of
    from fireassay.errors import RecordError
    from fireassay.record.lookup import resolve
    from fireassay.record.reader import open_record
    from fireassay.runners.experiment.script import with_secrets
    from fireassay.spec.flags.experiment import Stored
    from fireassay.spec.load import to_toml

    try:
        path = resolve(text, root)
    except RecordError:
        return None  # reported as a missing file, which it is too
    record = open_record(path)
    return Stored(data=tomllib.loads(to_toml(with_secrets(record.experiment))), folder=folder_of(record.manifest))


def show_dry_run(experiment: Experiment, arguments: argparse.Namespace) -> int:
    """Print the plan in the requested form; returns the exit code."""
    if arguments.form == JSON:
        say(dry_run_json(experiment, arguments.root, detect=arguments.detect))
    else:
        say(dry_run(experiment, arguments.root, full=arguments.full, detect=arguments.detect))
    return 0


def refuse_detect(arguments: argparse.Namespace) -> None:
    """Refuse `--detect` of a run: it answers before one."""
    from fireassay.errors import refuse

    if arguments.detect is not None:
        fix = "Add --dry-run; then run with the --launches that it prints."
        raise refuse("--detect", f"{arguments.detect:g}", "with --dry-run", fix, source="the command line")


def dry_run(experiment: Experiment, root: Path, *, full: bool = False, detect: float | None = None) -> str:
    """The plan with its time and limits, the detectable differences, and the order of the launches, as plain text."""
    from fireassay.cli.support.dry_run import text

    earlier = earlier_record(experiment, root)
    return text(experiment, _foreseen(experiment, earlier, detect), _expected_seconds(experiment, earlier), root, full=full)


def dry_run_json(experiment: Experiment, root: Path, *, detect: float | None = None) -> str:
    """The plan in order, the expected seconds (null where unknown) and the detectable differences, for other programs."""
    import json
    from dataclasses import asdict

    from fireassay.spec.plan import plan

    launches = [asdict(launch) for launch in plan(experiment)]
    earlier = earlier_record(experiment, root)
    shows = [asdict(expectation) for expectation in _foreseen(experiment, earlier, detect)]
    return json.dumps(
        {"launches": launches, "expected_s": _expected_seconds(experiment, earlier), "able_to_show": shows},
        indent=2,
        default=lambda value: value.model_dump(mode="json"),  # a fault as requested
    )


def earlier_record(experiment: Experiment, root: Path) -> RecordData | None:
    """The newest complete record that ran the same workload."""
    from fireassay.errors import RecordError
    from fireassay.frames.record_data import from_record
    from fireassay.record.lookup import record_folders
    from fireassay.record.reader import open_record
    from fireassay.record.unjudged import judged_from

    for path in sorted(record_folders(root), key=lambda path: path.stat().st_mtime, reverse=True):
        try:
            record = open_record(path)
            if record.state == "complete" and _same_work(record.experiment, experiment):
                with judged_from(path):
                    return from_record(record)
        except RecordError:
            continue
    return None


def _same_work(earlier: Experiment, experiment: Experiment) -> bool:
    """The same program; for serving, the same traffic on the same engines, whatever the loads and objectives."""
    free = {"concurrency", "rate", "search", "objectives", "client"}
    serving, earlier_serving = (
        None if candidate.serving is None else candidate.serving.model_dump(exclude=free) for candidate in (experiment, earlier)
    )
    return earlier.workload == experiment.workload and serving == earlier_serving


def _expected_seconds(experiment: Experiment, earlier: RecordData | None) -> float | None:
    """From the median seconds of a launch by configuration."""
    import polars as pl

    from fireassay.spec.plan import expected_seconds

    if earlier is None:
        return None
    seconds = (pl.col("end_ns") - pl.col("begin_ns")) / NS_PER_S
    ended = earlier.table("launches").filter(pl.col("status") == "ok")
    return expected_seconds(experiment, dict(ended.group_by("configuration").agg(seconds.median()).iter_rows()))


def _foreseen(experiment: Experiment, earlier: RecordData | None, detect: float | None) -> Sequence[Expectation]:
    from fireassay.metrics.results import LazyResults
    from fireassay.verdict.power import foresee

    results = None if earlier is None else LazyResults(earlier)
    return foresee(experiment, earlier, results, _noise_floor(), detect)


def _noise_floor() -> float | None:
    """This machine's noise floor between interleaved launches, by its last `assay doctor`."""
    from datetime import UTC, datetime

    from fireassay.record.machine_fitness import carried

    fitness = carried(datetime.now(UTC))
    floor = fitness.get("noise_floor")
    return float(floor) if isinstance(floor, int | float) else None


def show_notes(experiment: Experiment) -> None:
    """Print notes on valid but possibly unintended settings to stderr, unless all should be quiet."""
    if USED.get().quiet:
        return
    from datetime import UTC, datetime

    from fireassay.spec.rules.notes import notes

    messages = list(notes(experiment, datetime.now(UTC).date()))
    if (serving := experiment.serving) is not None:
        from fireassay.traffic.arrivals.scenarios import expected_shortfall

        messages += dict.fromkeys(expected_shortfall(serving.arrivals, load) for load in serving.rate or (None,))
    for note in filter(None, messages):
        say(f"note: {note}", file=sys.stderr)


VERB = Verb(
    name="run",
    group="measure",
    summary="run an experiment: one sealed record, judged and reported",
    description="""Run an experiment, seal its record, judge it and show the verdict.

    assay run digits.toml                    an experiment file
    assay run --workers 1,2,4 -- train.py    a script, unchanged
    assay run digits.toml --dry-run          the plan, its time, what it can show
    assay run digits.toml --dry-run --detect 0.02    how many launches show a change of 2 %
    assay run --workers 1,2,4 --launches 5 -- train.py --epochs 3    with arguments of the script
    assay run --workers 1,2 --steps 200 --only performance -- train.py   200 steps of a long job
    assay run RECORD --threads 1             the experiment of a record again, one condition changed

{workers}, {seed} and {launch} in the script's arguments and in the values of --env are replaced for every launch.
Ctrl-C ends the running launch cleanly and keeps all measurements; `assay resume RECORD` continues.""",
    add_arguments=add_arguments,
    run=_run,
    usual={
        "measure": ("--workers", "--launches", "--precision"),
        "judge": ("--quality-metric", "--margin", "--efficiency", "--required-workers", "--price"),
        "plan": ("--dry-run", "--detect"),
    },
    exits=VERDICTS,
)
