"""How much of a fault launch did the fault cost?  Shared by the metrics of what is lost.

Lost rank-seconds = detect + restart + reload + recompute of all ranks (`assay.frames.training.rank_time`), what a fault that lasted added
to their steps, and what the first steps of restarted workers took beyond a usual one.  The time in which they were lost lies between the
fault and the step that was lost being reached again, or the fault's end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import average, exact, positive
from assay.frames.clock_offsets import on_one_clock
from assay.frames.record_data import Measured
from assay.frames.training.rank_time import HELD_UP, partition
from assay.frames.training.recovery import NO_FAULT, NOT_RECOVERED, recoveries, strikes, struck_launches
from assay.frames.training.steady_series import MARK_STEPS
from assay.frames.training.unknown_progress import unknown_progress
from assay.units import NS_PER_S

NO_STEPS = Absent(reason="not_measured", detail=MARK_STEPS)
LOST = ("detect", "restart", "reload", "recompute", HELD_UP)


def lost_seconds(measured: Measured) -> pl.DataFrame:
    """(launch, configuration, workers, value): rank-seconds that the fault of each struck launch cost, where that is known."""
    ended = struck_launches(measured).filter(pl.col("status") == "ok")
    launches = ended.filter(~pl.col("launch").is_in(list(_untold(measured))))
    lost = pl.sum_horizontal(*(pl.col(name) for name in LOST)).sum() / NS_PER_S
    own = partition(measured, launches).group_by("launch").agg(lost.alias("value"))
    return launches.select("launch", "configuration", "workers").join(own, on="launch").sort("launch")


def _untold(measured: Measured) -> Mapping[int, Absent]:
    """launch -> why nobody knows where its rank-seconds went, of those of which all is unknown."""
    stepped = set(measured.table("steps")["launch"].unique().to_list())
    unmarked = {launch: NO_STEPS for launch in struck_launches(measured)["launch"].to_list() if launch not in stepped}
    troubles = on_one_clock(measured).troubles
    refused = {launch: Absent(reason="refused", detail=why) for launch, why in troubles.items()}
    return {**unmarked, **unknown_progress(measured), **refused}


def _unknown(measured: Measured, configuration: str) -> Absent:
    """Why no struck launch of the configuration says what the fault cost."""
    own = struck_launches(measured).filter((pl.col("configuration") == configuration) & (pl.col("status") == "ok"))
    untold = _untold(measured)
    return next((untold[launch] for launch in own["launch"].to_list() if launch in untold), NOT_RECOVERED)


def windows(measured: Measured) -> Mapping[int, tuple[tuple[int, int], ...]]:
    """launch -> from when until when it was broken, monotonic ns, once or more often; without launches that did not recover."""
    found: dict[int, list[tuple[int, int]]] = {}
    recovered = {(one.launch, one.fault_ns): one.regained_ns for one in recoveries(measured)}
    measured = on_one_clock(measured).measured  # as the times of recoveries are; never hand it to `recoveries`, which moves them itself
    ends = measured.table("events").filter(pl.col("kind") == "fault_end").select("launch", until="ns").sort("until")
    struck = strikes(measured).select("launch", "ns").sort("ns")
    timed = struck.join_asof(ends, left_on="ns", right_on="until", by="launch", strategy="forward", coalesce=False, check_sortedness=False)
    for launch, begin, undone in timed.sort("launch", "ns").iter_rows():
        end = recovered.get((launch, begin)) or undone
        if end is not None and end > begin:
            own = found.setdefault(launch, [])
            if own and own[-1][1] >= begin:  # struck again before it had recovered
                own[-1] = (own[-1][0], max(end, own[-1][1]))
            else:
                own.append((begin, end))
    return {launch: tuple(own) for launch, own in found.items()}


def per_configuration(
    measured: Measured, values: pl.DataFrame, of: Callable[[Mapping[str, float]], float], *, unit: str, name: str, how: str
) -> Mapping[str, Value]:
    """One estimate per configuration of `of(row)` over the struck launches of a frame such as `lost_seconds` gives."""
    struck = set(struck_launches(measured)["configuration"].to_list())
    found: dict[str, Value] = {}
    for configuration in measured.configurations:
        rows = values.filter(pl.col("configuration") == configuration).to_dicts()
        numbers = [of(row) for row in rows]
        if configuration not in struck:
            found[configuration] = NO_FAULT
        elif not numbers:
            found[configuration] = _unknown(measured, configuration)
        elif max(numbers) == 0.0:
            found[configuration] = exact(0.0, unit=unit, name=name, n_launches=len(numbers), n_trials=len(numbers), how=how)
        else:
            dress = positive if min(numbers) > 0.0 else average
            found[configuration] = dress(numbers, measured.confidence, unit=unit, aggregate=how, name=name, n_trials=len(numbers))
    return found
