"""How are judges compared with each other?  As sides and as raters of a file that `assay score` reads: what each judge said, and what people say.

judgements.csv has a row for each answer that was judged: `id` (item and side), `item`, `side`, `against` (the first side, of pairs), `judge`,
`rating` (of pairs 1 won, 0.5 tie, 0 lost), `gold` (people's mean), and `agrees`: 1 where judge and people say the same, of pairs the same of won, tie and
lost, of ratings the same whole number.  labelled.csv has those with a label alone.  The rows of several judges in one file are an experiment:

    assay score both.csv --ratings long --id item --rater judge --scale 0,1                     do the judges agree with each other?
    assay score labelled.csv --score-field agrees --id id --side judge --margin 0.05            is one as near to people as the other?
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import polars as pl

from fireassay.errors import refuse
from fireassay.frames.evaluation.item_scores import judge_of
from fireassay.frames.evaluation.rated import by_judge
from fireassay.frames.record_data import RecordData
from fireassay.reports.exports.export import Export, Exported, Subject

FILE: Final = "judgements.csv"
LABELLED: Final = "labelled.csv"
COLUMNS: Final = ("id", "item", "side", "against", "judge", "rating", "gold", "agrees")
KEYS: Final = ["launch", "task", "item"]


def files(subject: Subject) -> Exported:
    """The file. Raises SpecError: no model judged."""
    measured = subject.measured
    if not by_judge(measured):
        raise refuse(
            "the record",
            "no judge",
            "an evaluation with --judge",
            "Answers without a judge are scored again from their file.",
            source="the export",
        )
    rows = list(_rows(measured))
    labelled = [row for row in rows if row["gold"] != ""]
    notes = (f"{len(rows) - len(labelled):,} of {len(rows):,} answers have no label of people",) if len(labelled) < len(rows) else ()
    return Exported(files={FILE: _table(rows), **({LABELLED: _table(labelled)} if labelled else {})}, notes=notes)


def _table(rows: Sequence[Mapping[str, Any]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([row[name] for name in COLUMNS] for row in rows)
    return out.getvalue().encode()


def _rows(measured: RecordData) -> Iterator[Mapping[str, Any]]:
    names = {configuration.name: configuration.target for configuration in measured.varied}
    rated = measured.table("ratings").join(measured.timed.select("launch", "configuration"), on="launch")
    people = (
        rated.filter((pl.col("kind") == "person") & pl.col("rating").is_not_null())
        .group_by(KEYS)
        .agg(pl.col("rating").mean().alias("gold"))
    )
    judged = rated.filter((pl.col("kind") == "judge") & pl.col("rating").is_not_null())
    folded = (
        judged.group_by(KEYS, maintain_order=True)
        .agg(pl.col("rating").mean(), pl.col("rater").first(), pl.col("against").first(), pl.col("configuration").first())
        .join(people, on=KEYS, how="left")
        .sort(KEYS)
    )
    several = folded["task"].n_unique() > 1
    for row in folded.iter_rows(named=True):
        item = f"{row['task']}/{row['item']}" if several else row["item"]
        side, gold = names.get(row["configuration"], row["configuration"]), row["gold"]
        yield {
            "id": f"{item}/{side}",
            "item": item,
            "side": side,
            "against": row["against"] or "",
            "judge": row["rater"],
            "rating": f"{row['rating']:.12g}",
            "gold": "" if gold is None else f"{gold:.12g}",
            "agrees": "" if gold is None else int(_step(measured, row["rating"]) == _step(measured, gold)),
        }


def _step(measured: RecordData, value: float) -> int:
    """Won, tie or lost; of ratings the nearest whole number."""
    return (value > 0.5) - (value < 0.5) if judge_of(measured).pairs else math.floor(value + 0.5)


EXPORT = Export(
    name="assay_score",
    title="assay score",
    summary="judgements.csv and labelled.csv, in which judges are the sides",
    kinds=("evaluation",),
    marks=False,
    files=files,
)
