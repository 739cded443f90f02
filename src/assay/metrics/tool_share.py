"""Which share of a session's time is spent inside tools and retrieval, and not in generation?

tool_share = time inside of tools and retrievals / (that + time from due to the last token), summed over the answered
requests of the measured window that are part of a session with tools.  The tools' times are the ones that were asked for
(serving.prompts.tool_s), not those of real tools. A user's thinking is in neither.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.latencies import counted
from assay.metrics.rates import quotients, tally
from assay.units import FRACTION, NS_PER_S


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The share per configuration."""
    planned = measured.table("arrivals").select("launch", "request", "pause_ns", "pause_kind")
    inside = pl.when(pl.col("pause_kind").is_in(["tool", "retrieval"])).then(pl.col("pause_ns") / NS_PER_S).otherwise(0.0)
    rows = counted(measured).filter(pl.col("ok") & pl.col("session").is_not_null()).join(planned, on=["launch", "request"])
    timed = rows.with_columns(inside.alias("tool_s"))
    using = timed.filter(pl.col("tool_s") > 0).select("launch", "session").unique()
    own = timed.join(using, on=["launch", "session"], how="semi")
    return quotients(
        measured,
        tally(own, pl.col("tool_s"), pl.col("tool_s") + pl.col("e2e_s")),
        unit=FRACTION,
        name="tool_share",
        aggregate="time inside of tools / (that + time of generation)",
        missing="no session uses tools; give serving.prompts.tool_steps",
    )


METRIC = Metric(
    name="tool_share",
    title="Time inside tools",
    unit=FRACTION,
    kind="ratio",
    better="neither",
    dimension="performance",
    formula="time inside tools / (that + generation)",
    compute=compute,
    about=("serving",),
)
