"""Which parallelism does a configuration use, on what evidence, and what can be judged of it?

Declared (`workload.parallelism`), otherwise recognised by the first rule with evidence:

| evidence | conclusion |
|---|---|
| torch's pipeline; FSDP; DTensor or layers of tensor parallelism; DistributedDataParallel | as named; several or partial: mixed |
| no process group of several ranks | nothing is distributed |
| all-to-all in most steps (embeddings or experts on different ranks) | mixed |
| parameters equal at every check, though every rank used different samples | data |
| point-to-point calls in most steps, and parameters that differ from the start | pipeline |
| collectives in most forward passes, parameters that differ from the start, the same samples | tensor |
| collectives as large as the parameters in single, non-adjacent steps, after which the replicas are equal | local SGD |
| collectives as large as the gradients in most steps | data |
| equal parameters at the start, different samples on every rank, and no gradients moved | data: intended, but not done |
| no communication | nothing is distributed |
| no step and no process group, and every worker printed the same | nothing is distributed |

Otherwise it is unknown, and only what holds for every parallelism is judged. A record without evidence (an older one, or a
script without hooks) counts as data-parallel, as documented for the calls of the probe.
Cannot tell: ranks that exchange parameters by random pairs, parameter servers, actors and learners (unknown); tensor parallelism
whose parts began equal and whose ranks draw different samples from data parallelism without gradient averaging.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal

import polars as pl

from fireassay.estimates.estimate import Absent
from fireassay.estimates.format import count
from fireassay.frames.record_tables import RecordTables
from fireassay.frames.training.parallel_evidence import Facts, Likeness, Work, facts, same_output, work_of

Kind = Literal["data", "sharded", "tensor", "pipeline", "local_sgd", "mixed", "none"]
Claim = Literal["replicas", "gradients", "samples", "random numbers", "loss", "speedup"]
By = Literal["declared", "recognised", "assumed", "one worker"]
Counted = Literal["sum", "one", "unknown"]

JUDGED: Final[Mapping[Kind | None, tuple[Claim, ...]]] = {
    "data": ("replicas", "gradients", "samples", "random numbers", "loss", "speedup"),
    "sharded": ("replicas", "gradients", "samples", "random numbers", "loss", "speedup"),  # replicas: of the unsharded state
    "local_sgd": ("samples", "random numbers", "loss", "speedup"),
    "tensor": ("loss", "speedup"),
    "pipeline": ("loss", "speedup"),
    "mixed": ("loss", "speedup"),
    "none": (),
    None: ("speedup",),
}
WORDS: Final[Mapping[Kind | None, str]] = {
    "data": "data parallelism",
    "sharded": "sharded data parallelism",
    "tensor": "tensor parallelism",
    "pipeline": "pipeline parallelism",
    "local_sgd": "local SGD",
    "mixed": "a mixture of parallelisms",
    "none": "no parallelism",
    None: "an unknown parallelism",
}
UNFIT: Final[Mapping[Claim, Mapping[Kind | None, str]]] = {
    "replicas": {
        "local_sgd": "replicas diverge between two averages",
        "tensor": "every rank holds its own part of the model",
        "pipeline": "every rank holds its own stage of the model",
        "mixed": "not every rank is a replica of every other",
    },
    "gradients": {
        "local_sgd": "gradients stay with their rank",
        "tensor": "a rank's gradient is that of its part of the model",
        "pipeline": "a rank's gradient is that of its stage",
        "mixed": "the groups that average gradients are unknown",
    },
    "samples": {
        "tensor": "ranks share their samples, whole or a part of each sequence",
        "pipeline": "all stages work on the same samples",
        "mixed": "some ranks share their samples, whole or a part of each sequence",
    },
    "random numbers": {"tensor": "parts of one layer may need the same random numbers"},
    "loss": {},
    "speedup": {},
}
DATA: Final[tuple[Kind | None, ...]] = ("data", "sharded", "local_sgd")
DDP: Final = "DistributedDataParallel"
DECLARE: Final = "declare workload.parallelism"


@dataclass(frozen=True, kw_only=True)
class Parallelism:
    """The parallelism of a configuration."""

    kind: Kind | None  # None: unknown
    by: By
    evidence: str  # of the recognised kind, or why none was recognised
    seen: Kind | None = None  # the recognised kind, whatever was declared
    alone: bool = False  # the record shows that nothing is distributed
    counted: Counted = "sum"  # how the items of the ranks combine into those of a step
    sharing: int = 1  # ranks that use the same samples
    samples: Likeness = "unknown"  # of the ranks
    work: Work = "unknown"
    meant: bool = False  # data-parallel by its samples and its start, but nothing is averaged

    @property
    def contradicted(self) -> bool:
        """True if the declared kind contradicts the recognised one."""
        if self.by != "declared" or self.seen is None or self.seen == self.kind:
            return False
        alike: tuple[set[Kind | None], ...] = (
            {"data", "sharded"},
            {"mixed", "sharded"},
            {"mixed", "tensor"},
            {"mixed", "pipeline"},
            {"mixed", "data"},
            {"local_sgd", "none"},  # its averages may be farther apart than the run is long
        )
        return {self.kind, self.seen} not in alike


ONE: Final = Parallelism(kind="data", by="one worker", evidence="one worker")
ASSUMED: Final = Parallelism(kind="data", by="assumed", evidence="the record does not say")


def parallelism(measured: RecordTables, name: str) -> Parallelism:
    """The parallelism of a configuration."""
    return measured.once("parallelism", _all)[name]


def _all(measured: RecordTables) -> Mapping[str, Parallelism]:
    levels = _levels(measured)
    return {name: ONE if level == 1 or not measured.kind.trains else _one(measured, name) for name, level in levels.items()}


def _levels(measured: RecordTables) -> Mapping[str, int]:
    return dict(zip(measured.configurations, measured.levels, strict=True))


def _one(measured: RecordTables, name: str) -> Parallelism:
    declared, known = measured.experiment.workload.parallelism, facts(measured, name)
    if declared == "auto" and (known is None or not (known.group or known.training)) and (lines := same_output(measured, name)):
        alike = f"printed the same {count(lines, 'lines')}" if lines > 1 else "printed the same line"
        return _is(
            "none", f"each of {_levels(measured)[name]} copies {alike}, without a process group: each did the whole work", alone=True
        )
    if known is None:
        result = ASSUMED if declared == "auto" else Parallelism(kind=declared, by="declared", evidence="declared")
        return _counted(result, None, work_of(measured, name))
    recognised = recognise(known)
    if declared == "auto":
        return _counted(recognised, known)
    # without a group nothing can be distributed; anything else not recorded may be rarer than the run is long
    alone, seen = recognised.alone and known.group <= 1, None if recognised.meant else recognised.kind
    return _counted(Parallelism(kind=declared, by="declared", evidence=recognised.evidence, seen=seen, alone=alone), known)


def _counted(result: Parallelism, known: Facts | None, work: Work = "unknown") -> Parallelism:
    """Set how the items of a step follow from those of its ranks; `work`: without facts."""
    counted: Counted = "sum"
    sharing = 1
    work = work if known is None else known.work
    if result.kind in ("tensor", "pipeline") or (result.kind in DATA and work == "same"):
        counted = "one"
    elif result.kind in ("mixed", None):
        likeness = "unknown" if known is None else known.samples
        sharing = (known.sharing if known is not None else None) or 1
        counted = "sum" if likeness == "different" or sharing > 1 else "one" if likeness == "same" else "unknown"
    return replace(result, counted=counted, sharing=sharing, samples="unknown" if known is None else known.samples, work=work)


# ---- what follows -----------------------------------------------------------------------------------------------------


def why_not(measured: RecordTables, name: str, claim: Claim) -> str:
    """Why this cannot be judged for a configuration; empty if it can."""
    result = parallelism(measured, name)
    if result.alone or result.kind == "none":
        return f"nothing is distributed: {result.evidence}" if result.alone else "every worker trains alone, as declared"
    if claim == "speedup" and result.counted == "unknown":
        return f"whether ranks share their samples is unknown ({result.evidence}), so their work cannot be added up; {DECLARE}"
    if claim in JUDGED[result.kind]:
        return ""
    if result.kind is None:
        if claim == "samples" and result.samples == "different":  # they share the data out, whatever they communicate
            return ""
        return f"the parallelism is unknown: {result.evidence}; {DECLARE}"
    why = UNFIT[claim].get(result.kind, "it does not apply")
    return f"{why}: {WORDS[result.kind]}{'' if result.by == 'recognised' else ', as declared'}"


def absent(measured: RecordTables, name: str, claim: Claim) -> Absent | None:
    """The same as an absent value."""
    why = why_not(measured, name, claim)
    if not why:
        return None
    return Absent(reason="not_measured" if parallelism(measured, name).kind is None else "not_applicable", detail=why)


def recount(measured: RecordTables, folded: pl.DataFrame) -> pl.DataFrame:
    """`RecordData.global_steps`, with items of ranks that work on the same samples counted once."""
    others = {name: result for name, result in measured.once("parallelism", _all).items() if result.counted != "sum" or result.sharing > 1}
    if not others:
        return folded
    launches = measured.table("launches").filter(pl.col("configuration").is_in(list(others))).select("launch", "configuration")
    counting = pl.DataFrame(
        {
            "configuration": list(others),
            "_counted": [counts.counted for counts in others.values()],
            "_sharing": [counts.sharing for counts in others.values()],
        }
    )
    joined = folded.join(launches.join(counting, on="configuration").drop("configuration"), on="launch", how="left", maintain_order="left")
    items = (
        pl.when(pl.col("_counted").is_null())
        .then(pl.col("items"))
        .when(pl.col("_counted") == "one")
        .then(pl.col("most"))
        .when(pl.col("_counted") == "sum")
        .then(pl.col("items") / pl.col("_sharing"))
    )
    return joined.with_columns(items.alias("items")).drop("_counted", "_sharing")


# ---- recognition ------------------------------------------------------------------------------------------------------

Rule = Callable[[Facts], Parallelism | None]


def recognise(known: Facts) -> Parallelism:
    """The first rule that fits; unknown if none does."""
    rules: tuple[Rule, ...] = (
        _staged,
        _fully_sharded,
        _split,
        _exchanging,
        _wrapped,
        _strangers,
        _agreeing,
        _piped,
        _cut,
        _averaged,
        _reduced,
        _blind,
        _forgotten,
        _apart,
    )
    for rule in rules:
        result = rule(known)
        if result is not None:
            return result
    nothing = not known.group and not known.training
    unseen = "neither a process group nor a training was recorded in the workers"
    return _unknown(unseen if nothing else "the ranks' communication fits no known parallelism")


def _is(kind: Kind, evidence: str, *, alone: bool = False) -> Parallelism:
    return Parallelism(kind=kind, by="recognised", evidence=evidence, seen=kind, alone=alone)


def _unknown(reason: str) -> Parallelism:
    return Parallelism(kind=None, by="recognised", evidence=reason)


def _ranks(known: Facts, number: int) -> str:
    return f"{number} of {known.workers} ranks" if number < known.workers else f"{number} ranks"


def _staged(known: Facts) -> Parallelism | None:
    if not known.reported["stage"]:
        return None
    beside = [word for key, word in (("ddp", "DistributedDataParallel"), ("fsdp", "FSDP"), ("dtensor", "DTensor")) if known.reported[key]]
    if beside:
        return _is("mixed", f"stages of torch's pipeline, with {' and '.join(beside)}")
    return _is("pipeline", "stages of torch's pipeline")


def _fully_sharded(known: Facts) -> Parallelism | None:
    ranks, mesh = known.reported["fsdp"], known.reported["dtensor"]
    if not ranks:
        return None
    if ranks < known.workers or mesh > ranks or known.reported["layers"]:
        return _is("mixed", f"FSDP over {_ranks(known, ranks)}, and another parallelism over the others")
    return _is("sharded", f"FSDP over {_ranks(known, ranks)}")


def _split(known: Facts) -> Parallelism | None:
    mesh, wrapped = known.reported["dtensor"], max(known.reported["ddp"], default=0)
    layers = known.reported["layers"] if known.start == "different" and wrapped < known.workers else []
    if not mesh and not layers:
        return None
    description = f"parameters that are DTensors, sharded over {_ranks(known, mesh)}" if mesh else f"layers called {', '.join(layers)}"
    if wrapped > 1 or 0 < mesh < known.workers:
        return _is("mixed", description + (f", with DistributedDataParallel over {_ranks(known, wrapped)}" if wrapped > 1 else ""))
    return _is("tensor", description)


def _exchanging(known: Facts) -> Parallelism | None:
    """All-to-all rules out data parallelism: the exchanged values come from parts of the model that other ranks lack."""
    if not known.often(known.exchanges):
        return None
    wrapped = max(known.reported["ddp"], default=0)
    beside = f", with {DDP} over {_ranks(known, wrapped)}" if wrapped > 1 else ""
    return _is("mixed", f"all-to-all in {known.exchanges} of {known.of_steps}{beside}")


def _wrapped(known: Facts) -> Parallelism | None:
    ranks = max(known.reported["ddp"], default=0)
    if ranks < 2:
        return None
    evidence = f"{DDP} over {_ranks(known, ranks)}"
    if any("localsgd" in hook.casefold() for hook in known.reported["ddp_hooks"]):
        return _is("local_sgd", f"{evidence} with {', '.join(known.reported['ddp_hooks'])}")
    if known.reported["ddp_ignored"]:
        return _is("mixed", f"{evidence}, which leaves {known.reported['ddp_ignored']} trained parameters to each rank")
    if ranks < known.workers:
        return _is("mixed", evidence)
    # averaged at intervals, with `no_sync` in between: a step that only reduces gradients again does not make replicas equal
    rare = _averaged(known) if known.met_again else None
    return rare or _is("data", evidence)


def _strangers(known: Facts) -> Parallelism | None:
    models = max(known.reported["models"], 0 if known.group else known.training)
    if known.group > 1 or known.reported["libraries"] or models < known.workers:
        return None
    evidence = "no process group was created" if known.group == 0 else "every worker's process group is its own"
    return _is("none", f"{evidence}, so that each of {known.workers} workers trains by itself", alone=True)


def _agreeing(known: Facts) -> Parallelism | None:
    if known.stayed and known.start == "same" and known.samples in ("different", "partly"):
        return _is("data", "the parameters of all ranks stay equal while they use different samples")
    return None


def _piped(known: Facts) -> Parallelism | None:
    if not known.often(known.peers) or known.start != "different" or known.reported["models"] < known.workers:
        return None
    if known.carrying:
        return _is("mixed", "point-to-point calls, and collectives as large as the gradients")
    return _is("pipeline", f"point-to-point calls in {known.peers} of {known.of_steps}, and other parameters on every rank")


def _cut(known: Facts) -> Parallelism | None:
    if not known.often(known.in_forward) or known.start != "different" or known.samples == "different":
        return None
    evidence = f"collectives in the forward pass of {known.in_forward} of {known.of_steps}, and other parameters on every rank"
    return _is("mixed" if known.samples == "partly" else "tensor", evidence)


def _averaged(known: Facts) -> Parallelism | None:
    steps = known.carrying
    gaps = [later - earlier for earlier, later in pairwise(steps)]
    if (
        not steps
        or not known.averaging
        or min(gaps, default=2) < 2
        or known.reported["shapes"] > 1
        or known.stayed  # between two averages replicas diverge
        or known.met_again is False
    ):
        return None
    if known.met_again is None and len(steps) < 2:
        return None
    return _is("local_sgd", f"collectives as large as the parameters in {len(steps)} of {known.of_steps}, and none as large in the others")


def _reduced(known: Facts) -> Parallelism | None:
    if not known.often(len(known.carrying)) or known.reported["shapes"] > 1:
        return None
    return _is("data", f"collectives as large as the gradients in {len(known.carrying)} of {known.of_steps}")


def _blind(known: Facts) -> Parallelism | None:
    """The rules after this one rest on nothing being moved, which needs recorded communication."""
    if known.reported["libraries"]:
        return _unknown(f"{' and '.join(known.reported['libraries'])} may communicate, which is not recorded")
    if known.unseen:
        return _unknown("the ranks communicate by unrecorded calls (isend, irecv, functional collectives)")
    if known.carrying or known.outside >= 1.0:
        return _unknown("collectives as large as the gradients are made in some steps or between them")
    return None


def _forgotten(known: Facts) -> Parallelism | None:
    if known.start != "same" or known.samples != "different" or known.peers or known.rejoined:
        return None
    evidence = "the ranks began with the same parameters and use different samples, and no collective is as large as the gradients"
    return replace(_is("data", evidence), meant=True)


def _apart(known: Facts) -> Parallelism | None:
    equalised = known.rejoined and known.samples != "same"  # by unrecorded means
    if equalised or known.moved >= CARRIES_SOME or known.in_forward or known.peers or known.reported["models"] < known.workers:
        return None
    return _is(
        "none",
        f"no collective of the steps is as large as the gradients, so that each of {known.workers} workers trains by itself",
        alone=True,
    )


CARRIES_SOME: Final = 0.1  # of the gradients: losses and counts for a log are smaller, except in tiny models
