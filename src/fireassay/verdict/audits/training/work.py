"""Do the ranks work on samples of their own, so that their work adds up?"""

from __future__ import annotations

from collections.abc import Iterator

from fireassay.frames.record_data import RecordData
from fireassay.frames.training.parallelism import DATA, parallelism, why_not
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.types import Finding

AUDITS = Audits(about=("training",))
UNKNOWN = "distinct_samples_unknown"


@AUDITS.add("distinct_work", "Does every rank work on samples of its own?", title="the same samples on every rank")
def examine_work(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding per configuration of several workers under data parallelism whose samples have no ids (`samples` judges those).

    By digests of the batches (`fireassay.frames.training.correctness.contents`): the same samples on every rank in every recorded step are
    work done several times; it is counted once. One batch in all steps and on all ranks is a benchmark's: a warning, since its rate
    counts copies. If neither ids, contents nor a distributed sampler are known, a note, which the first screen repeats.
    """
    ids = set(measured.table("samples")["launch"].unique())
    for name, level in zip(measured.configurations, measured.levels, strict=True):
        layout = parallelism(measured, name)
        launches = measured.timed_by_block.get(name, ())
        if level == 1 or layout.kind not in DATA or why_not(measured, name, "samples") or any(launch in ids for launch, _ in launches):
            continue
        if launches:
            yield from _finding(name, layout.work)


def _finding(name: str, work: str) -> Iterator[Finding]:
    if work == "same":
        evidence = "every rank trains on the same samples in every step whose batches were compared: the workers repeat one worker's work"
        remedy = "give every rank its own share: DistributedSampler; in an IterableDataset, every world_size-th sample from the rank's on"
        yield Finding("same_samples_on_every_rank", "fail", name, evidence, remedy)
    elif work == "fixed":
        evidence = (
            "all ranks train on one and the same batch in every step whose batches were compared: a speedup per item counts copies as work"
        )
        remedy = "for a benchmark nothing; else seed the batches by rank and step"
        yield Finding("same_batch_on_every_rank", "warning", name, evidence, remedy)
    elif work == "unknown":
        evidence = "whether the ranks' samples differ is unknown; the speedup takes them as different"
        yield Finding(UNKNOWN, "note", name, evidence, "report them with probe.samples(ids), or read batches from a DataLoader")
