"""Is the training distributed, and as declared?

Workers that each train alone look well: seeded alike they are equal replicas, and no communication slows them down. That is a fault of its
own unless declared (`parallelism = "none"`). Any recognised parallelism other than data parallelism is a note; so is an unrecognised one,
with the checks that it disables. Rules: `fireassay.frames.training.parallelism`. Cannot tell: an undeclared intention.
"""

from __future__ import annotations

from collections.abc import Iterator

from fireassay.frames.record_data import RecordData
from fireassay.frames.training.parallelism import DECLARE, WORDS, Parallelism, parallelism
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

JUDGED_ALL = ("data", "sharded")


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration, and a note for each parallelism not shared by all."""
    several = [
        (name, parallelism(measured, name)) for name, level in zip(measured.configurations, measured.levels, strict=True) if level > 1
    ]
    faults = [finding for name, layout in several for finding in _faults(name, layout)]
    return (*faults, *_notes([layout for _, layout in several]))


def _faults(name: str, layout: Parallelism) -> Iterator[Finding]:
    if layout.alone and not (layout.by == "declared" and layout.kind == "none"):
        prefix = f"{WORDS[layout.kind]} is declared, but " if layout.by == "declared" else ""
        evidence = f"{prefix}{layout.evidence}"
        remedy = (
            "call torch.distributed.init_process_group and wrap the model (DistributedDataParallel, fully_shard); if every worker should train "
            'its own model, declare workload.parallelism = "none"'
        )
        yield Finding("nothing_is_distributed", "fail", name, evidence, remedy)
    elif layout.contradicted:
        evidence = f"{WORDS[layout.kind]} is declared, but {WORDS[layout.seen]} was recognised: {layout.evidence}"
        remedy = "declare what the script does, or leave workload.parallelism at auto; the declaration is what is judged here"
        yield Finding("parallelism_contradicted", "warning", name, evidence, remedy)


def _notes(every: list[Parallelism]) -> Iterator[Finding]:
    """Each sentence once: it seldom differs between worker counts."""
    reported = set()
    for layout in every:
        usual = layout.kind in JUDGED_ALL and not layout.meant
        if layout.by not in ("recognised", "declared") or layout.alone or layout.contradicted or usual:
            continue
        key = (layout.kind, layout.by)
        if key not in reported:
            reported.add(key)
            yield _note(layout)


def _note(layout: Parallelism) -> Finding:
    if layout.kind is None:
        evidence = f"the parallelism is unknown ({layout.evidence}), so replicas, gradients and samples are not judged"
        return Finding("parallelism_not_known", "note", None, evidence, DECLARE)
    if layout.meant:
        evidence = f"this is taken for data parallelism that has no effect: {layout.evidence}"
        remedy = f"if ranks should train apart (local SGD with longer intervals, separate models), {DECLARE}"
        return Finding("data_parallelism_meant", "note", None, evidence, remedy)
    how = f": {layout.evidence}" if layout.by == "recognised" else ", as declared"
    evidence = f"this is {WORDS[layout.kind]}{how}; checks of data parallelism are skipped"
    return Finding("parallelism_recognised", "note", None, evidence, f"nothing is wrong; if this is not the case, {DECLARE}")


def blind(measured: RecordData, _: Results) -> str | None:
    """A record without evidence is taken to be data-parallel."""
    several = [name for name, level in zip(measured.configurations, measured.levels, strict=True) if level > 1]
    if several and all(parallelism(measured, name).by == "assumed" for name in several):
        return "the record does not say how the training is distributed over its ranks"
    return None


AUDIT = Audit(
    name="parallelism",
    title="nothing distributed",
    question="Is the training distributed, and as declared?",
    examine=examine,
    about=("training",),
    blind=blind,
)
