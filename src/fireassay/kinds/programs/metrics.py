"""How much does a program do per second, and how much does it move?

Work per second is work / wall time of a whole run, start-up included: what the program reports about its inside is not used.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import polars as pl

from fireassay.estimates.estimate import Value
from fireassay.frames.per_launch import from_frame
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.work import wall_seconds, work_per_launch
from fireassay.metrics.metric import Metric, Results
from fireassay.units import BYTES, PER_SECOND

measure = partial(Metric, dimension="performance", about=("programs",))


def _work_rate(measured: RecordData, _: Results) -> Mapping[str, Value]:
    work = work_per_launch(measured).rename({"value": "work"}).filter(pl.col("work") > 0)
    rates = wall_seconds(measured).join(work, on="launch").select("launch", pl.col("work") / pl.col("value"))
    return from_frame(
        measured,
        rates.rename({"work": "value"}),
        unit=PER_SECOND,
        name="work_rate",
        missing="the program's work is not known; give it: --items N, or --numbers FILE",
        aggregate="work / wall time of the whole launch",
    )


def _moved(measured: RecordData, _: Results) -> Mapping[str, Value]:
    rows = measured.table("events").filter(pl.col("kind") == "moved_bytes").group_by("launch").agg(pl.col("value").max())
    return from_frame(
        measured,
        rows,
        unit=BYTES,
        name="moved_bytes",
        missing="the program does not say what it moved; it may, as bytes in --numbers FILE",
        aggregate="as the program counted them",
    )


METRICS = (
    measure(
        name="work_rate",
        title="Work per second",
        unit=PER_SECOND,
        kind="rate",
        better="higher",
        formula="work / wall_time",
        compute=_work_rate,
        primary=True,
        question="How much work does the program do per second, from its start to its end?",
        caveat="Start-up counts, so a longer job has a higher rate.",
        rank=1220,
        decides=1,
    ),
    measure(
        name="moved_bytes",
        title="Bytes moved between workers",
        unit=BYTES,
        kind="count",
        better="lower",
        formula="bytes, as the program wrote them into its numbers",
        compute=_moved,
        question="How much did the workers exchange?",
        caveat="The program's own count; nothing checks it.",
        rank=1221,
    ),
)
