"""How much of the communication lengthens a step, and how much does computing hide?

By the best of several methods, named with every value (`fireassay.frames.training.communication.step_communication`).
Overlap is HTA's |M and C| / |M|.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.over_launches import averaged, no_launch
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.communication.listed_collectives import inventory
from fireassay.frames.training.communication.step_communication import IN_TRAINING, METHODS
from fireassay.frames.training.communication.watched_steps import named
from fireassay.metrics.metric import Metric, Results
from fireassay.metrics.training.communication_steps import NO_END, NOT_SEEN, of_several
from fireassay.units import FRACTION, RATIO, SECONDS


def exposed(measured: RecordData) -> Mapping[str, Value]:
    """Exposed communication per configuration, by the best available method; its method text gives the others. Memoised."""
    return measured.once("exposed communication", lambda data: of_several(data, partial(_exposed, data)))


def _exposed(measured: RecordData, configuration: str) -> Value:
    method = measured.communicated.best(configuration)
    if method is None:
        ran = configuration in measured.timed["configuration"]
        reason = "; ".join((_why_none(measured, configuration), *undecided(measured, configuration)))
        return Absent(reason="not_measured", detail=reason) if ran else no_launch(configuration)
    others = {name: value for name, value in by_method(measured, configuration).items() if isinstance(value, Estimate)}
    chosen = others.pop(method)
    rest = ", ".join(f"{name} {value.value * 1e3:.4g} ms" for name, value in others.items())
    notes = [f"other methods: {rest}"] if rest else []
    return replace(chosen, method="; ".join((chosen.method, *undecided(measured, configuration), *notes)))


def undecided(measured: RecordData, configuration: str) -> Iterator[str]:
    """What steps with and without synchronisation could not determine."""
    ways = measured.communicated.ways
    undetermined = ways.filter((pl.col("configuration") == configuration) & pl.col("unsure_s").is_not_null())
    for value, half, steps in undetermined.select("unsure_s", "half_s", "steps").iter_rows():
        within = f" -+ {half * 1e3:.3g}" if half is not None else ""
        seen = f"{value * 1e3:.3g}{within} ms from {steps} steps"
        yield f"alternating steps with and without synchronising are inconclusive: {seen}; use more steps or a quieter machine"


def _why_none(measured: RecordData, configuration: str) -> str:
    launches = measured.timed.filter(pl.col("configuration") == configuration).select("launch")
    recorded = measured.table("collectives").join(launches, on="launch", how="semi").height > 0
    listed = inventory(measured, configuration)
    known = f" (torch's flight recorder lists {listed.words}, but not what of them computing hides)" if listed is not None else ""
    return f"{NO_END if recorded else NOT_SEEN}{known}"


def by_method(measured: RecordData, configuration: str) -> Mapping[str, Value]:
    """Exposed communication of a configuration by every method with data."""
    ways = measured.communicated.ways.filter((pl.col("configuration") == configuration) & pl.col("exposed_s").is_not_null())
    estimates: dict[str, Value] = {}
    for method, words in METHODS.items():
        rows = ways.filter(pl.col("method") == method).sort("block", "launch")
        if rows.height:
            cut = rows["cut"].mean()
            note = "" if not isinstance(cut, float) or cut == 0.0 else f"; {CLAMPED[method == 'unsynchronised']} in {cut:.1%} of them"
            steps = named(measured, rows) if method in IN_TRAINING else "steps"
            estimates[method] = averaged(
                rows["exposed_s"].to_list(),
                measured.confidence,
                name=f"comm_exposed|by:{method}",
                n_trials=int(rows["steps"].sum()),
                aggregate=f"median over {steps} of the mean over ranks, by {words}{note}",
            )
    return estimates


CLAMPED: Final = {False: "capped at the time in which collectives were in progress", True: "raised to 0 from below"}


def ratios(measured: RecordData, ratio: pl.Expr, name: str, words: str, undefined: str, unit: str = FRACTION) -> Mapping[str, Value]:
    """A ratio of `exposed_s`, `total_s` and `compute_s` of each launch, by the method used for exposed communication."""
    values: dict[str, Value] = {}
    exposing = exposed(measured)
    for configuration in measured.varied:
        value = exposing[configuration.name]
        method = measured.communicated.best(configuration.name)
        if isinstance(value, Absent) or method is None:
            values[configuration.name] = value
            continue
        ways = measured.communicated.ways.filter((pl.col("configuration") == configuration.name) & (pl.col("method") == method))
        present = ways.sort("block", "launch").with_columns(ratio.alias("value")).filter(pl.col("value").is_finite())
        if present.height == 0:
            values[configuration.name] = Absent(
                reason="undefined" if ways["total_s"].count() else "not_measured", detail=undefined if ways["total_s"].count() else NO_END
            )
            continue
        values[configuration.name] = averaged(
            present["value"].to_list(),
            measured.confidence,
            unit=unit,
            name=f"{name}|by:{method}",
            n_trials=int(present["steps"].sum()),
            aggregate=f"{words}, exposed communication by {METHODS[method]}",
        )
    return values


measure = partial(Metric, unit=SECONDS, kind="cost", better="lower", dimension="performance", about=("training",))

COMM_EXPOSED = measure(
    name="comm_exposed",
    title="Exposed communication",
    formula="step time that communication adds: with - without synchronising, else |communication without computing|",
    compute=lambda measured, _: exposed(measured),
    question="By how much does communication lengthen a step?",
    caveat="Part of the phases in which it occurs; includes waiting for slower ranks and collectives of a script's own evaluation.",
    rank=1453,
)


def _overlap(measured: RecordData, _: Results) -> Mapping[str, Value]:
    return ratios(
        measured,
        (1.0 - pl.col("exposed_s") / pl.col("total_s")).clip(0.0, 1.0),
        "overlap",
        "1 - exposed / total communication of its median steps, not below 0",
        "its steps communicate nothing that could be hidden",
    )


OVERLAP = measure(
    name="overlap",
    title="Hidden communication",
    unit=FRACTION,
    kind="ratio",
    better="higher",
    formula="1 - comm_exposed / comm_total",
    compute=_overlap,
    question="What share of the communication does computing hide?",
    caveat="Much communication fully hidden costs a step no more than little communication: see comm_exposed.",
    rank=1454,
)


def _to_compute(measured: RecordData, _: Results) -> Mapping[str, Value]:
    total = "total communication / computing of its median steps"
    return ratios(measured, pl.col("total_s") / pl.col("compute_s"), "comm_to_compute", total, "its steps compute nothing", RATIO)


COMM_TO_COMPUTE = measure(
    name="comm_to_compute",
    title="Communication to computing",
    unit=RATIO,
    kind="ratio",
    formula="comm_total / (step - data wait - comm_exposed)",
    compute=_to_compute,
    question="How does communication compare with computing?",
    caveat="Above 1 not all of it can be hidden; overlap says how much was.",
    rank=1455,
)

METRICS = (COMM_EXPOSED, OVERLAP, COMM_TO_COMPUTE)
