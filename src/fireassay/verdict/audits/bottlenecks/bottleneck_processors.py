"""Do the workers share processors, so that computing cannot shrink any further?

Workers x threads against the processors that this process may use. With fewer, the computing of a step takes at least
computing(base) base / processors, however good the program: that floor beyond a perfect split is compared with `lost_computing`.
Nothing is said of launches that compute on a device, or that ran on several hosts.
"""

from __future__ import annotations

from collections.abc import Iterator

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, reading, show
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.lost_time import step_parts
from fireassay.metrics.metric import Results
from fireassay.metrics.training.device import MEMORY_PEAK
from fireassay.metrics.training.lost_time import LOST_COMPUTING, LOST_TRANSFER
from fireassay.units import SECONDS
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.conditions.sources.environment import usable
from fireassay.verdict.types import Finding

WORTH_SAYING = 0.1  # of the lost computing


def examine(measured: RecordData, results: Results) -> Iterator[Finding]:
    """A note per worker count with fewer processors than threads."""
    processors, computing = usable(measured, results), _computing(measured)
    if not isinstance(processors, int) or computing is None or measured.experiment.launcher.nodes > 1:
        return
    threads = measured.experiment.launcher.threads_per_worker
    for level, name in zip(measured.levels, measured.configurations, strict=True):
        lost = results.get(LOST_COMPUTING.name, {}).get(name)
        if level * threads <= processors or not isinstance(lost, Estimate) or _on_device(results, name):
            continue
        floor = computing * measured.experiment.base_level * max(0.0, threads / processors - 1.0 / level)
        if measured.mode == "strong" and floor >= WORTH_SAYING * lost.value:
            yield Finding(
                AUDIT.name, "note", name, _evidence(level, threads, processors, floor, lost, _what(results, name)), _remedy(level * threads)
            )


def _computing(measured: RecordData) -> float | None:
    """Seconds of computing in a step of the base: the mean over its launches."""
    parts = step_parts(measured)
    launches = measured.timed_by_block.get(measured.base, ())
    known = [value for launch, _ in launches if launch in parts and (value := parts[launch].parts["computing"]) is not None]
    return sum(known) / len(known) if known else None


def _on_device(results: Results, name: str) -> bool:
    return isinstance(results.get(MEMORY_PEAK.name, {}).get(name), Estimate)


def _what(results: Results, name: str) -> str:
    """What `lost_computing` holds: communication too where that was not measured."""
    return "computing" if isinstance(results.get(LOST_TRANSFER.name, {}).get(name), Estimate) else "computing and communication"


def _evidence(level: int, threads: int, processors: int, floor: float, lost: Estimate, what: str) -> str:
    each = f" with {count(threads, 'threads')} each" if threads > 1 else ""
    covered = "all" if floor >= lost.value else reading(floor, SECONDS)
    return (
        f"{count(level, 'workers')}{each} share {count(processors, 'usable processors')}, which explains {covered} of the {show(lost).full} of "
        f"{what} that did not shrink"
    )


def _remedy(needed: int) -> str:
    return f"no more workers than processors, or a machine with {count(needed, 'processors')}; a faster network does not help"


AUDIT = Audit(
    name="bottleneck_processors",
    title="fewer processors than workers",
    question="Do the workers share processors, so that computing cannot shrink any further?",
    examine=examine,
    about=("training",),
)
