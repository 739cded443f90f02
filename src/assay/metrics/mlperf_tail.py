"""Which tail latency would MLPerf's LoadGen report of these scenarios?

mlperf_tail = early-stopping estimate (`assay.stats.models.early_stopping`, confidence 0.99) of the p90 of end-to-end latency in
single_stream, of the p99 in multi_stream (a query ends with its last sample) and in server, in each launch; then over
launches.  offline has no tail. For comparison with LoadGen only: it takes queries as independent, which served queries are
not, and says nothing of launches; e2e_p99 with its interval between launches is our own.  The method says whether LoadGen's
least duration of 600 s was kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from assay.estimates.estimate import Absent, Estimate, Value
from assay.frames.per_launch import from_frame
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.latencies import timed
from assay.metrics.rates import all_of
from assay.stats.models.early_stopping import early_stopping_estimate, floor
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One estimate per launch, then over launches."""
    serving = measured.experiment.serving
    process = serving.arrivals.process if serving is not None else ""
    if serving is None or process not in PERCENTILES:
        return all_of(measured, OTHER)
    p = PERCENTILES[process]
    queries = _queries(measured, serving.arrivals.samples_per_query if process == "multi_stream" else 1)
    found = [
        (launch, value, len(own))
        for (launch,), own in queries.group_by("launch", maintain_order=True)
        if (value := early_stopping_estimate(own["latency_s"].to_numpy(), p)) is not None
    ]
    values = pl.DataFrame(found, schema={"launch": pl.Int32, "value": pl.Float64, "queries": pl.Int64}, orient="row")
    made = from_frame(
        measured,
        values,
        unit=SECONDS,
        name=f"mlperf_tail|p:{p:g}",
        trials="queries",
        aggregate=f"LoadGen's early-stopping estimate of the p{100 * p:g} of {process}",
        missing=f"LoadGen reports no p{100 * p:g} of fewer than {floor(p)} queries; give the load more time",
    )
    kept = "kept" if serving.arrivals.duration_s >= LEAST_S else "not kept"
    said = f"LoadGen's least duration of {LEAST_S:g} s was {kept}"
    return {n: replace(v, method=f"{v.method}; {said}") if isinstance(v, Estimate) else v for n, v in made.items()}


def _queries(measured: Measured, together: int) -> pl.DataFrame:
    """(launch, latency_s) of every query of the measured window all of whose samples were answered."""
    load = timed(measured).filter(pl.col("phase") != "cold")
    first = pl.col("request").min().over("launch")
    query = ((pl.col("request") - first) // together).alias("query")
    whole = (
        load.with_columns(query)
        .group_by("launch", "query", maintain_order=True)
        .agg(pl.col("ok").all(), pl.col("counted").all(), pl.col("e2e_s").max().alias("latency_s"))
    )
    return whole.filter(pl.col("ok") & pl.col("counted"))


LEAST_S = 600.0
PERCENTILES = {"single_stream": 0.90, "multi_stream": 0.99, "server": 0.99}
OTHER = Absent(
    reason="not_applicable", detail='not a scenario of MLPerf with a tail; arrivals.process = "single_stream", "multi_stream" or "server"'
)


METRIC = Metric(
    name="mlperf_tail",
    title="Tail as MLPerf reports it",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="early-stopping estimate of the scenario's percentile, per launch",
    compute=compute,
    about=("serving",),
)
