"""Was more processor time used than the machine has?

    user + system  <=  wall time x logical processors

holds for a command's run (wait4(2) includes terminated children), for all calls of a function in a launch, and for a launch's processes
since its begin. Slack: 1 % for two clocks, and one tick (10 ms) per processor if the kernel counts in ticks; 50 us for a command whose
times are finer than a millisecond. A violation cannot have been measured: INVALID. Cannot tell: a forged time within the machine's
capacity.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import EVERYTHING, Results
from fireassay.units import NS_PER_S
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.impossible_rows import FOREIGN, impossible, processors
from fireassay.verdict.types import Finding

SHARE: Final = 0.01
TICK_NS: Final = 10_000_000
FINE_NS: Final = 50_000
COARSE_NS: Final = 1_000_000  # values that are all multiples of it come from a tick counter


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding for commands, one for functions, one for launches."""
    count = processors(measured)
    if count is None or measured.foreign is not None:
        return ()
    return (*_commands(measured, count), *_functions(measured, count), *_launches(measured, count))


def _trials(measured: RecordData) -> pl.DataFrame:
    used = pl.col("user_ns") + pl.col("system_ns")
    return measured.table("trials").with_columns(_used=used, _wall=pl.col("end_ns") - pl.col("begin_ns")).drop_nulls("_used")


def _commands(measured: RecordData, count: int) -> tuple[Finding, ...]:
    """A command's run contains all of its processes."""
    runs = _trials(measured).filter(pl.col("exit_code").is_not_null())
    slack = _slack(runs, count)
    bad = runs.filter(pl.col("_used") > count * pl.col("_wall") * (1 + SHARE) + slack)
    return impossible("processor_time", "trials", bad, f"{{_used}} ns of processor time in {{_wall}} ns on {count} processors")


def _slack(runs: pl.DataFrame, count: int) -> int:
    """One tick per processor if the kernel counts in ticks; else nearly zero."""
    fine = runs.filter((pl.col("user_ns") % COARSE_NS != 0) | (pl.col("system_ns") % COARSE_NS != 0))
    return FINE_NS if fine.height else count * TICK_NS


def _functions(measured: RecordData, count: int) -> tuple[Finding, ...]:
    """All calls of a launch together: other threads' time appears a tick late, in the next trial."""
    calls = (
        _trials(measured)
        .filter(pl.col("exit_code").is_null())
        .group_by("launch")
        .agg(pl.col("_used").sum(), (pl.col("end_ns").max() - pl.col("begin_ns").min()).alias("_wall"), pl.len().alias("_rows"))
    )
    bad = calls.filter(pl.col("_used") > count * pl.col("_wall") * (1 + SHARE) + count * TICK_NS)
    return impossible(
        "processor_time", "trials", bad, f"its {{_rows}} trials used {{_used}} ns of processor time in {{_wall}} ns on {count} processors"
    )


def _launches(measured: RecordData, count: int) -> tuple[Finding, ...]:
    """Processes of a launch at each counter reading."""
    if not measured.kind.own_processes:
        return ()
    begins = measured.table("launches").select("launch", "begin_ns")
    read = measured.table("telemetry").filter((pl.col("device") == "launch") & (pl.col("counter") == "cpu_time"))
    known = read.join(begins, on="launch").with_columns(_wall=(pl.col("ns") - pl.col("begin_ns")) / NS_PER_S)
    bad = known.filter(pl.col("value") > count * (pl.col("_wall") * (1 + SHARE) + 2 * TICK_NS / NS_PER_S))
    return impossible(
        "processor_time",
        "telemetry",
        bad,
        f"the launch had used {{value:.6g}} s of processor time {{_wall:.6g}} s after its begin on {count} processors",
    )


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind without the processor count or any processor times."""
    if measured.foreign is not None:
        return FOREIGN
    if processors(measured) is None:
        return "the record does not say how many processors the machine has"
    counted = measured.table("telemetry").filter(pl.col("counter") == "cpu_time").height + _trials(measured).height
    return None if counted else "no processor time was counted"


AUDIT = Audit(
    name="processor_time",
    title="impossible processor time",
    question="Was more processor time used than the machine has?",
    examine=examine,
    about=EVERYTHING,
    blind=blind,
)
