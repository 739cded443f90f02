"""How are sealing, judging and reporting tested without measuring?  By writing a stored record again as a new one.

`workload.script` is the path of a record.  Every row of every table is re-emitted through the same streams as in a real
run, launch by launch, with the stored times, in milliseconds and without torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fireassay.errors import refuse
from fireassay.record.declared import LAUNCHES
from fireassay.record.folder import check_written, write_launch
from fireassay.record.reader import open_record
from fireassay.record.tables import TABLES
from fireassay.runners.experiment.context import Outcome, RunContext, Runner
from fireassay.runners.experiment.progress import LaunchRow
from fireassay.runners.experiment.script import script_path
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import plan

if TYPE_CHECKING:
    import polars as pl

    from fireassay.record.reader import Record


LAUNCH_ENTRIES = ("looks", "looks_ended", "sentinel")  # manifest entries that belong to the rows


def check(experiment: Experiment, folder: Path) -> None:
    """Check that the source is a record of the same plan.

    Raises:
        RecordError: not a record.
        SpecError: it holds the launches of a different plan.
    """
    source = open_record(script_path(experiment, folder))
    if plan(source.experiment) != plan(experiment):
        levels, launches = source.experiment.factor.levels, source.experiment.launches
        raise refuse(
            "factor.levels, launches, faults",
            f"levels {list(experiment.factor.levels)} and others",
            f"the plan of the replayed record: levels {list(levels)}, launches.per_configuration = "
            f"{launches.per_configuration}, launches.seed = {launches.seed}, {len(source.experiment.faults)} faults",
            "Copy them from its experiment.toml.",
        )


def run(context: RunContext) -> Outcome:
    """Write the remaining launches of the source."""
    source = open_record(script_path(context.experiment, context.folder))
    context.record.note(**{key: source.manifest[key] for key in LAUNCH_ENTRIES if key in source.manifest})
    tables = {name: source.table(name) for name in TABLES}
    done = {(row["slot"], row["attempt"]) for row in context.rows if row["status"] != "aborted"}
    waiting = [row for row in tables["launches"].to_dicts() if (row["slot"], row["attempt"]) not in done]
    for number, row in enumerate(waiting, start=context.next_number):
        if context.stop.count:
            return Outcome(state="interrupted", reason=context.stop.reason)
        context.show()
        context.rows.append(_write_again(context, row, number, tables))
    context.show()
    return _outcome_of(source)


def _write_again(context: RunContext, row: LaunchRow, number: int, tables: dict[str, pl.DataFrame]) -> LaunchRow:
    """Write one launch under its new number."""
    import polars as pl

    writer = context.record.writer(number)
    for name, table in tables.items():
        if name == LAUNCHES.name:
            continue
        rows = table.filter(pl.col("launch") == row["launch"]).with_columns(pl.lit(number, pl.Int32).alias("launch"))
        for values in rows.iter_rows():
            writer.append(name, values)
        check_written(writer, context.record.path)
    again = {**row, "launch": number}
    write_launch(writer, again, context.record.path)
    return again


def _outcome_of(source: Record) -> Outcome:
    """A failed record replays as a failed one."""
    if source.state == "failed":
        return Outcome(state="failed", reason=str(source.manifest.get("reason", "")))
    return Outcome(state="complete")


RUNNER = Runner(name="replay", check=check, run=run)
