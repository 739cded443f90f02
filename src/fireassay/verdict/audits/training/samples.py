"""Was every sample used exactly once per epoch?

Exact, from the sample ledger. Duplicates numbering (-N) mod workers, with nothing lost, are named as a sampler's padding to equal shards;
two ranks reading one shard while another goes unread are named too. Samples dropped from an incomplete batch are a note if one worker drops
as many. The same shuffled order in every epoch is a warning: every sample is used, but always in the same batch (DistributedSampler without
set_epoch).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.ended_launches import ended
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.correctness.sample_ledger import Epoch, epochs, known_samples, shuffled_alike
from fireassay.frames.training.parallelism import why_not
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.training_faults import diagnose
from fireassay.verdict.types import Finding


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """Findings on lost and duplicated samples, one per configuration and kind; fault launches included."""
    judged = (*epochs(measured), *epochs(measured, role="fault"))
    for name, named in diagnose(measured).items():
        if named is not None and named.fault == "shard_read_twice":
            yield named.finding(name)
            continue
        if why_not(measured, name, "samples"):
            continue
        finished = [epoch for epoch in judged if epoch.configuration == name and not epoch.interrupted]
        whole = [epoch for epoch in finished if not epoch.cut_short]
        if (worst := max(whole, key=lambda epoch: epoch.lost, default=None)) is not None and worst.lost:
            yield _lost(name, worst, sum(1 for epoch in whole if epoch.lost), len(whole))
        if (worst := max(finished, key=lambda epoch: epoch.duplicated, default=None)) is not None and worst.duplicated:
            yield _duplicated(name, worst, sum(1 for epoch in finished if epoch.duplicated), len(finished))
    yield from _cut_short(measured, judged)
    yield from _interrupted(judged)
    yield from _dropped(judged)
    yield from _same_order(measured)


def _dropped(judged: Sequence[Epoch]) -> list[Finding]:
    """A note that every worker count drops the incomplete batch."""
    worst = max(judged, key=lambda epoch: epoch.dropped, default=None)
    if worst is None or not worst.dropped:
        return []
    several = any(epoch.dropped and epoch.workers > 1 for epoch in judged)
    evidence = (
        f"{worst.dropped} of {count(worst.expected, 'samples')} fill no batch and are left out of every epoch, with one worker"
        f"{' as with several' if several else ''}"
    )
    return [Finding("last_batch_dropped", "note", None, evidence, "nothing is wrong; switch drop_last off if every sample must be used")]


def _same_order(measured: RecordData) -> Iterator[Finding]:
    """Checked in the first timed launch of each configuration."""
    samples = known_samples(measured)
    for name in measured.configurations:
        launches = measured.timed.filter(pl.col("configuration") == name)["launch"].sort().to_list()
        launch = launches[0] if launches else -1
        if shuffled_alike(samples.filter(pl.col("launch") == launch)):
            evidence = f"the first two epochs of launch {launch} had their samples in the same shuffled order on every rank"
            remedy = "call sampler.set_epoch(epoch) before each epoch, or draw the order from a generator that is not reset"
            yield Finding("same_order_every_epoch", "warning", name, evidence, remedy)


def _cut_short(measured: RecordData, judged: Sequence[Epoch]) -> list[Finding]:
    """A note that the last epochs were not checked for losses; none for launches that were planned to end within one."""
    launches = {epoch.launch for epoch in judged if epoch.cut_short and not epoch.interrupted} - ended(measured)
    if not launches:
        return []
    evidence = f"{count(len(launches), 'launches')} ended within an epoch, as those of the base did; samples that it did not use are not counted as lost"
    return [Finding("epoch_cut_short", "note", None, evidence, "end the run at the end of an epoch if every sample must be accounted for")]


def _interrupted(judged: Sequence[Epoch]) -> list[Finding]:
    """A note on epochs interrupted by restarts, with their duplicated and unused samples."""
    broken = [epoch for epoch in judged if epoch.interrupted]
    if not broken:
        return []
    worst = max(broken, key=lambda epoch: epoch.lost + epoch.duplicated)
    evidence = (
        f"a restart interrupted epoch {worst.epoch} of launch {worst.launch}, in which {count(worst.duplicated, 'samples')} were used again and "
        f"{worst.lost} by no recorded rank; interrupted epochs are not judged ({count(len(broken), 'epochs')})"
    )
    remedy = "to resume exactly, save the loader's position with the checkpoint (StatefulDataLoader), or save at the end of an epoch"
    return [Finding("epoch_interrupted", "note", worst.configuration, evidence, remedy)]


def _lost(configuration: str, worst: Epoch, bad: int, total: int) -> Finding:
    evidence = (
        f"{worst.lost} of {count(worst.expected, 'samples')} used by no rank in epoch {worst.epoch} of launch {worst.launch} "
        f"({bad} of {count(total, 'epochs')})"
    )
    remedy = "check the sharding of the sampler: every id must fall to exactly one rank, and drop_last must drop nothing"
    return Finding("samples_lost", "fail", configuration, evidence, remedy)


def _duplicated(configuration: str, worst: Epoch, bad: int, total: int) -> Finding:
    padding = worst.lost == 0 and worst.duplicated == -worst.expected % worst.workers
    cause = f", as many as padding {worst.expected} samples to a multiple of {worst.workers} workers adds" if padding else ""
    evidence = (
        f"{count(worst.duplicated, 'samples')} used more than once in epoch {worst.epoch} of launch {worst.launch}{cause} "
        f"({bad} of {count(total, 'epochs')})"
    )
    remedy = "make the data set a multiple of the global batch, or give the padded samples weight 0" if padding else _why_twice(worst)
    return Finding("samples_duplicated_by_padding" if padding else "samples_duplicated", "fail", configuration, evidence, remedy)


def _why_twice(worst: Epoch) -> str:
    if worst.lost == 0 and worst.duplicated and worst.duplicated % worst.used == 0:
        return "check the sharding of the sampler: all ranks may read everything; or mark the epochs: probe.steps(loader, epoch=epoch)"
    return "check the sharding of the sampler: two ranks read the same samples"


AUDIT = Audit(name="samples", title="samples lost or used twice", question="Was every sample used exactly once per epoch?", examine=examine)
