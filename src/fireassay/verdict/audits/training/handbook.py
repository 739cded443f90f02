"""Which rule of thumb of the handbook does a training break?  Notes; they change no verdict.

The rules and their limits are those of "Distributed Benchmarking and Performance Optimization" (handbook of genai-bench, chapter 10,
"Identifying Scaling Bottlenecks"), applied to what was measured here: loading per step above 1.5 times that of the base, communication above
30 % of a step, devices busy for less than 80 % of the time.  The limits have no derivation; the other bottleneck audits estimate what would
be gained.  A value on the wrong side counts, as in the handbook; where its interval holds the limit, the note says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import bracketed, given, percent, reading, show
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.parallelism import parallelism
from fireassay.metrics.metric import Results
from fireassay.metrics.training.communication import COMM_EXPOSED
from fireassay.metrics.training.machine_use import DEVICE_BUSY, DEVICE_BUSY_PROFILED
from fireassay.metrics.training.ranks import DATA_TIME
from fireassay.units import FRACTION, SECONDS
from fireassay.verdict.audits.audit import TRAINING, Audits
from fireassay.verdict.audits.bottlenecks import DATA_KNOB, UTILISATION_KNOB, knob, waiting_s
from fireassay.verdict.evidence.affected import share
from fireassay.verdict.types import Finding

AUDITS: Final = Audits(about=TRAINING)
SOURCE: Final = "rule of the handbook of genai-bench, chapter 10"
DATA_GROWTH, COMMUNICATION_SHARE, BUSY = 1.5, 0.30, 0.80
DATA_LEAST: Final = 0.01  # of a step; the handbook has no such floor, but twice nothing is nothing
OPEN: Final = "; the interval includes the limit"


@AUDITS.add("bottleneck_handbook_data", "Does loading take longer per step than at the base?", title="data loading that does not scale")
def examine_data_growth(measured: RecordData, results: Results) -> Iterator[Finding]:
    """data_time above 1.5 times that of the base, if that is at least 1 % of a step. Absent times are no finding."""
    times, steps = results.get(DATA_TIME.name, {}), results.get("step_time", {})
    base = times.get(measured.base)
    for name in measured.configurations:
        value, step = times.get(name), steps.get(name)
        if name == measured.base or not (isinstance(base, Estimate) and isinstance(value, Estimate) and isinstance(step, Estimate)):
            continue
        if base.value <= 0.0 or value.value < DATA_LEAST * step.value or value.value <= DATA_GROWTH * base.value:
            continue
        open_ = OPEN if base.low <= 0.0 or value.low <= DATA_GROWTH * base.high else ""
        evidence = (
            f"a step waits {reading(value.value, SECONDS)} for data, {given(value.value / base.value, 2)} times as long as at the base "
            f"({reading(base.value, SECONDS)}); limit 1.5 times, {SOURCE}{open_}"
        )
        yield Finding("bottleneck_handbook_data", "note", name, evidence, DATA_KNOB)


@AUDITS.add("bottleneck_handbook_communication", "Does communication take more than 30 % of a step?", title="communication above 30 %")
def examine_communication_share(measured: RecordData, results: Results) -> Iterator[Finding]:
    """comm_exposed without waiting for later ranks above 30 % of step_time: the time that communication adds to a step, as in the handbook's loop.

    Waiting has notes of its own (`straggler`, `bottleneck_waiting`), as other remedies help.
    """
    for name in measured.configurations:
        waiting = waiting_s(measured, results, name)[0]
        whole = share(results, COMM_EXPOSED.name, name, less=waiting)
        if whole is None or whole[0] <= COMMUNICATION_SHARE:
            continue
        value, low, high = whole
        text, ends = bracketed(value, low, high, FRACTION) if low < high else (percent(value), "")
        open_ = OPEN if low <= COMMUNICATION_SHARE else ""
        of_step = f"{text} {ends}".rstrip()
        evidence = f"exposed communication, without waiting for slower ranks, takes {of_step} of a step; limit 30 %, {SOURCE}{open_}"
        yield Finding("bottleneck_handbook_communication", "note", name, evidence, knob(parallelism(measured, name)))


@AUDITS.add("bottleneck_handbook_busy", "Are the devices busy for 80 % of the time?", title="devices busy for less than 80 %")
def examine_busy(measured: RecordData, results: Results) -> Iterator[Finding]:
    """device_busy below 80 %; where NVML gave no sample, device_busy_profiled, which the profiler lowers. The two are never merged."""
    for name in measured.configurations:
        known = ((metric, results.get(metric.name, {}).get(name)) for metric in (DEVICE_BUSY, DEVICE_BUSY_PROFILED))
        metric, value = next(((metric, value) for metric, value in known if isinstance(value, Estimate)), (DEVICE_BUSY, None))
        if value is None or value.value >= BUSY:
            continue
        by = "NVML samples" if metric is DEVICE_BUSY else "a profile"
        shown = show(value, beside=(BUSY,)).full
        evidence = f"some kernel runs for {shown} of the time, by {by}; limit 80 %, {SOURCE}{OPEN if value.high >= BUSY else ''}"
        yield Finding("bottleneck_handbook_busy", "note", name, evidence, UTILISATION_KNOB)
