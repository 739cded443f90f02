"""Does the device idle because kernels are launched too slowly?

From traces of profiled launches, if any: the share of the profiled steps in which the device neither computes, communicates nor copies,
minus waiting for data, if the kernels that dominate computing are short. A launch costs 5 to 10 us of processor time, so kernels below 20
us on average cannot keep a device busy. gain as in `fireassay.verdict.evidence.possible_gain`, with the range over the profiled steps. The
profiler slows launching, so the share is an upper bound too.

Silent without a profiled launch on a device. Cannot tell: other Python work that delays launches (reading a loss, printing).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any, Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import reading
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.units import SECONDS
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.possible_gain import LEAST_SHARE, gain_words
from fireassay.verdict.types import Finding

SHORT_S: Final = 20e-6  # mean kernel; a few times the cost of a launch
NOT_COMPUTING: Final = ("communication", "copy")  # they wait for other ranks or memory: their duration is unrelated to launching
KNOB: Final = (
    "fewer and larger kernels: torch.compile (mode reduce-overhead uses CUDA graphs), fused optimizers (fused=True), a larger batch per "
    "worker; no .item() or printing of tensors within steps"
)


def examine(measured: RecordData, results: Results) -> tuple[Finding, ...]:
    """A note per configuration with idle time between short kernels."""
    names = dict(measured.table("launches").select("launch", "configuration").iter_rows())
    profiled: dict[str, list[Mapping[str, Any]]] = {}
    for profile in measured.profiles:
        profiled.setdefault(str(names.get(profile["launch"])), []).extend(_on_device(profile))
    return tuple(finding for name in measured.configurations for finding in _of(name, profiled.get(name, []), results))


def _on_device(profile: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for rank in profile.get("ranks") or ():
        if rank.get("on_device") and rank.get("steps") and any(kernel["calls"] for kernel in rank.get("kernels") or ()):
            yield rank


def _of(name: str, ranks: list[Mapping[str, Any]], results: Results) -> Iterator[Finding]:
    data = results.get("data_time", {}).get(name)
    waited = data.value * 1e9 if isinstance(data, Estimate) else 0.0
    idle = [max(0.0, step["idle_ns"] - waited) / step["window_ns"] for rank in ranks for step in rank["steps"] if step["window_ns"] > 0]
    kernels = [kernel for rank in ranks for kernel in rank["kernels"] if kernel["class"] not in NOT_COMPUTING]
    if not kernels or not idle or fmean(idle) < LEAST_SHARE:
        return
    mean_s = sum(kernel["ns"] for kernel in kernels) / sum(kernel["calls"] for kernel in kernels) / 1e9
    if mean_s < SHORT_S:
        evidence = (
            f"the device idles {fmean(idle):.0%} of the profiled steps ({min(idle):.0%} to {max(idle):.0%} of each) when not waiting for "
            f"data, and the dominant compute kernels take {reading(mean_s, SECONDS)} on average, about what launching them costs; "
            f"{gain_words((fmean(idle), min(idle), max(idle)))}"
        )
        yield Finding("bottleneck_launches", "note", name, evidence, KNOB)


AUDIT = Audit(
    name="bottleneck_launches",
    title="slow kernel launches",
    question="Does the device idle because the processor cannot launch its kernels fast enough?",
    examine=examine,
    about=("training",),
)
