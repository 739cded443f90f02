"""How much of the step is exposed communication, and how much of that is waiting?

comm_exposed against the step, by whatever method measured it (stated with the number), divided into waiting for later ranks, which no
faster network shortens, and the rest. Waiting is the larger of straggler_wait and the part of comm_wait that cannot have been
hidden, comm_wait - (comm_total - comm_exposed). The rest is a note on communication from a tenth of the step on. Waiting of a tenth or more
belongs to `stragglers` if one rank is consistently slow; otherwise it is named here. Cannot tell: the additional cost of contention for
processors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import bracketed, percent, reading
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.parallelism import DDP, Kind, Parallelism, parallelism
from fireassay.frames.training.saving_waits import saving_waits
from fireassay.metrics.metric import Results
from fireassay.metrics.training.communication import COMM_EXPOSED, OVERLAP
from fireassay.metrics.training.communication_steps import COMM_TOTAL, COMM_WAIT
from fireassay.metrics.training.ranks import STRAGGLER_WAIT
from fireassay.units import FRACTION, SECONDS
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.audits.training.stragglers import slow_ranks
from fireassay.verdict.evidence.possible_gain import LEAST_SHARE, gain_words, share
from fireassay.verdict.types import Finding

WORTH_SAYING: Final = 0.01  # of the exposed communication
FURTHER: Final = "more work per worker, or a faster network; `assay tune` tries them, `assay comm` measures the network"
KNOBS: Final[Mapping[Kind | None, str]] = {
    "data": "DDP's bucket size (bucket_cap_mb), gradient accumulation with no_sync, gradient compression",
    "sharded": "larger FSDP units, prefetching the next unit, keeping parameters after the forward pass (reshard_after_forward=False, SHARD_GRAD_OP), "
    "sharding within a host and replication across hosts (hybrid)",
    "tensor": "tensor-parallel ranks on one host, sequence parallelism, a smaller tensor-parallel group",
    "pipeline": "more micro-batches, another schedule (1F1B, interleaved), balanced stages",
    "local_sgd": "a longer averaging interval",
}
BY_HAND: Final = "fewer and larger calls, issued during the backward pass (DistributedDataParallel does both), gradient accumulation"
ANY: Final = "fewer and larger calls, overlapped with computation"
WAITING_KNOB: Final = (
    "batches of equal cost on all ranks (sort or pack by length), dedicated processors, garbage collection, saving and "
    "logging at the same step on every rank; a faster network does not help"
)


def examine(measured: RecordData, results: Results) -> tuple[Finding, ...]:
    """At most one note per worker count and kind."""
    return tuple(finding for name in measured.configurations for finding in _findings(measured, results, name))


def _findings(measured: RecordData, results: Results, name: str) -> Iterator[Finding]:
    exposed = results.get(COMM_EXPOSED.name, {}).get(name)
    whole = share(results, COMM_EXPOSED.name, name)
    if not isinstance(exposed, Estimate) or whole is None or whole[0] < LEAST_SHARE:
        return
    waiting, least, most = (min(bound, exposed.value) for bound in _waiting_s(measured, results, name))
    rest = share(results, COMM_EXPOSED.name, name, less=waiting) or whole
    each, low, high = whole
    text, ends = bracketed(each, low, high, FRACTION) if low < high else (percent(each), "")
    sentence = (
        f"exposed communication{_hidden(results, name)} takes {reading(exposed.value, SECONDS)} of every step, {text} of it {ends}".rstrip()
    )
    if rest[0] >= LEAST_SHARE:
        some = waiting >= WORTH_SAYING * exposed.value
        parted = f", of which {reading(waiting, SECONDS)} is waiting for slower ranks" if some else ""
        it = "the rest" if some else "it"
        yield _note(name, AUDIT.name, f"{sentence}{parted}; {gain_words(rest, it)}", knob(parallelism(measured, name)))
    late = waiting / exposed.value * whole[0]
    saving = saving_waits(measured).get(name)
    if saving is not None and saving.share >= late / 2:  # `saving_alone` names it
        return
    if late >= LEAST_SHARE and not slow_ranks(measured, name):
        evidence = (
            f"ranks wait {reading(waiting, SECONDS)} of every step for the latest of them, {percent(late)} of it, and no rank is consistently slow; "
            f"{gain_words((late, least / exposed.value * whole[0], most / exposed.value * whole[0]))}"
        )
        yield _note(name, "bottleneck_waiting", evidence, WAITING_KNOB)


def knob(found: Parallelism) -> str:
    """What to tune for that parallelism; buckets are DistributedDataParallel's."""
    by_hand = found.kind == "data" and found.by == "recognised" and not found.evidence.startswith(DDP)
    return f"{BY_HAND if by_hand else KNOBS.get(found.kind, ANY)}, {FURTHER}"


def _note(name: str, rule: str, evidence: str, remedy: str) -> Finding:
    return Finding(rule, "note", name, evidence, remedy)


def _waiting_s(measured: RecordData, results: Results, name: str) -> tuple[float, float, float]:
    """Lower bound on the seconds per step that a rank waits for later ones, with its interval; 0 if unknown."""
    waits, total, exposed, lost = (
        results.get(metric, {}).get(name) for metric in (COMM_WAIT.name, COMM_TOTAL.name, COMM_EXPOSED.name, STRAGGLER_WAIT.name)
    )
    candidates = [(0.0, 0.0, 0.0)]
    if isinstance(waits, Estimate) and isinstance(total, Estimate) and isinstance(exposed, Estimate):
        hidden = max(0.0, total.value - exposed.value)  # all of it may have been waiting
        candidates.append((waits.value - hidden, waits.low - hidden, waits.high - hidden))
    if isinstance(lost, Estimate):
        candidates.append((lost.value, lost.low, lost.high))
    value, low, high = max(candidates)
    return value, max(0.0, low), high


def _hidden(results: Results, name: str) -> str:
    overlap = results.get(OVERLAP.name, {}).get(name)
    return f" ({overlap.value:.0%} of all communication is hidden)" if isinstance(overlap, Estimate) else ""


AUDIT = Audit(
    name="bottleneck_communication",
    title="exposed communication",
    question="Would better overlap or a faster network shorten the steps?",
    examine=examine,
    about=("training",),
)
