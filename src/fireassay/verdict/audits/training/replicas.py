"""Are the replicas of a training equal, in parameters, state and mode, and how was the model divided?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import polars as pl

from fireassay.estimates.format import count, given
from fireassay.frames.record_data import TOLERANCE, RecordData, effective_steps, items_per_step
from fireassay.frames.training.parallel_evidence import evenly, hashes, uneven
from fireassay.frames.training.parallelism import DECLARE, WORDS, Parallelism, parallelism, why_not
from fireassay.metrics.metric import LAUNCHED, Results
from fireassay.spec.plan import configuration_name
from fireassay.stats.groups.gradient_difference import ratio_name
from fireassay.verdict.audits.audit import TRAINING, Audits
from fireassay.verdict.evidence.affected import by_configuration
from fireassay.verdict.evidence.divergence import cause
from fireassay.verdict.evidence.gradient_faults import diagnose, legitimate
from fireassay.verdict.types import Finding

AUDITS = Audits(about=TRAINING)


# ---- replicas ----

REPLICAS_RULES = (
    "replica_seed_mismatch",
    "parameter_not_reduced",
    "clipped_on_some_ranks",
    "gradients_not_synchronised",
    "updated_less_on_some_ranks",
    "learning_rate_differs_by_rank",
    "optimizer_settings_differ_by_rank",
    "optimizer_states_differ",
    "parameters_changed_on_one_rank",
)


@AUDITS.add("replicas", "Did all replicas hold the same parameters?", title="diverged replicas", about=LAUNCHED)
def examine_replicas(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding per configuration with differing replicas.

    Different at step 0: a replica started from other parameters (another seed, no broadcast). Equal at first and different later:
    `fireassay.verdict.evidence.divergence` finds the cause. Equal until a fault and different after the restart (fault launches only): not
    every rank resumed from the same checkpoint. The first match names the fault. Gradients that differ between ranks in the first step are
    more specific (`fireassay.verdict.evidence.gradient_faults`).

    Checked after 0, 1, 2, 4, 8, ... steps and at the end. Cannot tell: the exact step of a later divergence, only the check that found it;
    nor replicas that diverge and are made equal again between checks (periodic averaging).
    """
    compared = pl.concat(hashes(measured, role=role) for role in ("timed", "fault")).filter(pl.col("workers") > 1)
    for name, named in diagnose(measured).items():
        apart = compared.filter((pl.col("configuration") == name) & ~pl.col("agree")).sort("incarnation", "launch", "step")
        if named is not None and named.fault in REPLICAS_RULES:
            yield replace(named, evidence=f"{named.evidence}{_replicas_launches(apart)}").finding(name)
        elif apart.height and not why_not(measured, name, "replicas"):
            yield _replicas_finding(measured, name, apart)


@AUDITS.add("uneven_steps", "Did all ranks make equally many steps?", title="uneven steps")
def examine_uneven(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A note per configuration: what is compared by the number of a step is not run for such launches."""
    configurations = dict(measured.timed.select("launch", "configuration").iter_rows())
    told = {configurations[launch]: launch for launch in sorted(uneven(measured), reverse=True) if launch in configurations}
    for name, launch in sorted(told.items()):
        least, most = uneven(measured)[launch]
        evidence = (
            f"the ranks of launch {launch} made {least} to {most} steps, so steps of one number are not one step: replicas are compared at the "
            "start and at the end, gradients in the first step, and nothing else is compared by number"
        )
        yield Finding(
            "uneven_steps", "note", name, evidence, "nothing is wrong under torch's Join; else give every rank equally many batches"
        )


@AUDITS.add("unwrapped_parameters", "Are parameters beside the model equal on all ranks?", title="parameters trained beside the model")
def examine_unwrapped(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A fault per configuration under data parallelism whose optimizers also train parameters outside the watched model (a second model, a
    loss's own), if these differ between ranks while the model's agree.
    """
    equal = hashes(measured).filter("agree").select("launch", "step")
    apart = hashes(measured, what="outside_hash").filter(~pl.col("agree")).join(equal, on=["launch", "step"])
    for name, row in _training_state_first(measured, apart):
        if parallelism(measured, name).kind != "data" or why_not(measured, name, "replicas"):
            continue
        prints = measured.table("fingerprints").filter((pl.col("launch") == row["launch"]) & (pl.col("what") == "outside_hash"))
        of = count(int(prints["value"].max()), "parameters")  # type: ignore[arg-type]
        evidence = (
            f"the optimizers also train {of} outside of the model that is compared, which differ between ranks after {count(int(row['step']), 'steps')} of "  # type: ignore[call-overload]
            f"launch {row['launch']}, while the model's are equal: their gradients are not averaged"
        )
        remedy = "put them into the module that DistributedDataParallel wraps, wrap them too, or average their gradients"
        yield Finding("unwrapped_parameters_differ", "fail", name, evidence, remedy)


# What wrappers add to the names of the parameters inside: data parallelism, torch.compile, Fabric, FSDP1, activation checkpointing.
WRAPPED: Final = frozenset({"module", "_orig_mod", "_forward_module", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})


@AUDITS.add("same_model", "Do all worker counts train the same model?", title="another model with several workers")
def examine_model(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A fault per configuration under data parallelism whose model has other trained parameters than one worker's: then no gradient is
    compared either (tied weights that were copied, a part that is built or frozen by the worker count). Names that wrappers add do not count,
    nor does anything where optimizers are known to hold the same: without data parallelism a copy that is not frozen counts as trained.
    """
    models, held = (_names(measured, what) for what in ("parameter_names", "optimizer_names"))
    base = configuration_name(1)
    right = models.get(base, set())
    for name, here in models.items():
        same = here == right or (held.get(name) is not None and held.get(name) == held.get(base))
        if right and not same and parallelism(measured, name).kind == "data" and not why_not(measured, name, "gradients"):
            parts = [
                f"{word} {', '.join(some[:3])}" for word, some in (("also", sorted(here - right)), ("not", sorted(right - here))) if some
            ]
            evidence = f"the model trains {' and '.join(parts)}, unlike one worker's: {len(here)} parameters, one worker's {len(right)}"
            yield Finding("another_model", "fail", name, evidence, "build, tie and freeze the same parameters for every worker count")


def _names(measured: RecordData, what: str) -> dict[str, set[str]]:
    """configuration -> the names that rank 0 of its first launch told."""
    rows = measured.table("fingerprints").filter((pl.col("what") == what) & (pl.col("rank") == 0))
    named = rows.join(measured.timed.select("launch", "configuration"), on="launch").sort("launch")
    first = named.unique("configuration", keep="first", maintain_order=True).select("configuration", "text")
    return {name: _own_names(text) for name, text in first.iter_rows()}


def _own_names(text: str) -> set[str]:
    """Of the parameters, one per line, without what wrappers add."""
    return {".".join(part for part in line.split(".") if part not in WRAPPED) for line in text.splitlines()}


def _replicas_launches(apart: pl.DataFrame) -> str:
    """Number of affected launches, if several."""
    launches = apart["launch"].n_unique()
    return f"; replicas differ in {count(launches, 'launches')}" if launches > 1 else ""


def _replicas_finding(measured: RecordData, configuration: str, apart: pl.DataFrame) -> Finding:
    """For replicas that differ in a fault launch, or although an earlier fault was named."""
    launch, step = int(apart["launch"][0]), int(apart["step"][0])
    where = f"launch {launch}, {count(apart['launch'].n_unique(), 'launches')} in all"
    if step == 0:
        evidence = f"parameter hashes differ between ranks before the first step ({where})"
        remedy = "give every rank the same initial parameters: the same seed, or let DDP broadcast them (init_sync=True)"
        return Finding("replica_seed_mismatch", "fail", configuration, evidence, remedy)
    if int(apart["incarnation"][0]) > 0:
        evidence = f"parameter hashes are equal until the fault and differ after the restart, at step {step} ({where})"
        remedy = "load the same checkpoint on every rank before the model is wrapped, or broadcast it after loading"
        return Finding("replicas_differ_after_restart", "fail", configuration, evidence, remedy)
    reason = cause(measured, launch, step)
    return replace(reason, evidence=f"{reason.evidence}{_replicas_launches(apart)}").finding(configuration)


# ---- training state ----

SAME_RATE: Final = 1e-6  # relative
OF_REPLICAS: Final = (
    "optimizer_states_differ",
    "learning_rate_differs_by_rank",
    "optimizer_settings_differ_by_rank",
    "gradients_not_synchronised",
    "parameters_changed_on_one_rank",
)
TRAINING_STATE_RULES = ("same_random_numbers", "random_numbers_differ")


@AUDITS.add("training_state", "Do RNG and optimizer states match where they must?", title="random numbers and optimizer states")
def examine_training_state(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """Findings per configuration.

    Random states are compared with probe.watch(model, random=...); undeclared, equal states of a model with dropout are a warning: under
    data parallelism every rank drops the same units. Optimizer states that differ while parameters agree will make the parameters diverge.
    Buffers may differ after a step (BatchNorm on each rank's own batch), but not before the first. If the global batch is one worker's
    (strong scaling, confirmed by the recorded items), so must be the learning rate: one scaled by the workers a second time shows in no
    gradient and no hash.

    Checked after 0, 1, 2, 4, 8, ... steps and at the end. Cannot tell: changes between checks. Diverged parameters are found at the next
    check, but RNGs that are equal in step 9 and differ in step 10 are missed. Nor the learning rates of parameter groups other than the
    first.
    """
    random = tuple(
        diagnosis.finding(name)
        for name, diagnosis in diagnose(measured).items()
        if diagnosis is not None and diagnosis.fault in TRAINING_STATE_RULES
    )
    return (*random, *_optimizers(measured), *_buffers(measured), *_learning_rates(measured))


def _optimizers(measured: RecordData) -> Iterator[Finding]:
    equal = hashes(measured).filter("agree").select("launch", "step")
    apart = hashes(measured, what="optimizer_hash").filter(~pl.col("agree")).join(equal, on=["launch", "step"])
    named = diagnose(measured)
    for name, row in _training_state_first(measured, apart):
        if why_not(measured, name, "replicas"):
            continue
        if (diagnosis := named[name]) is not None and diagnosis.fault in OF_REPLICAS:
            continue  # `replicas` names the cause
        evidence = f"the optimizer's state differs between ranks after {row['step']} steps of launch {row['launch']}, while the parameters are equal"
        remedy = "load the optimizer's state on every rank, and give every rank the same gradients"
        yield Finding("optimizer_states_differ", "warning", name, evidence, remedy)


def _buffers(measured: RecordData) -> Iterator[Finding]:
    apart = hashes(measured, what="buffer_hash").filter(~pl.col("agree") & (pl.col("step") == 0))
    for name, row in _training_state_first(measured, apart):
        if why_not(measured, name, "replicas"):
            continue
        evidence = f"the model's buffers differ between ranks before the first step of launch {row['launch']}"
        remedy = "give every rank the same initial buffers; DDP broadcasts them unless broadcast_buffers is off"
        yield Finding("buffers_differ_at_start", "warning", name, evidence, remedy)


def _learning_rates(measured: RecordData) -> Iterator[Finding]:
    """Compare with one worker's rate of the same block and step, if both have the same global batch."""
    if measured.mode != "strong" or measured.base != configuration_name(1):
        return
    reported = measured.table("fingerprints").filter((pl.col("what") == "learning_rate") & (pl.col("incarnation") == 0))
    rates = reported.group_by("launch", "step").agg(pl.col("value").sort_by("rank").first().alias("rate"))
    rates = rates.join(measured.timed.select("launch", "configuration", "workers", "block"), on="launch")
    rates = rates.with_columns(last=pl.col("step").max().over("launch"))  # schedules of different lengths are not comparable
    alone = rates.filter(pl.col("configuration") == measured.base).drop("launch", "configuration", "workers")
    alone = alone.rename({"rate": "right"})
    items = items_per_step(measured.steady_steps, measured.timed)
    off = (pl.col("rate") - pl.col("right")).abs() > SAME_RATE * pl.col("right").abs()
    for name, row in _training_state_first(measured, rates.join(alone, on=["block", "step", "last"]).filter(off)):
        workers = int(row["workers"])  # type: ignore[call-overload]
        if why_not(measured, name, "gradients") or name != configuration_name(workers) or _other_batch(items, workers):
            continue
        rate, right = float(row["rate"]), float(row["right"])  # type: ignore[arg-type]
        evidence = (
            f"the learning rate after {count(int(row['step']), 'steps')} of launch {row['launch']} is {given(rate, digits=4)}, "  # type: ignore[call-overload]
            f"where one worker's is {given(right, digits=4)}"
            f"{_ratio(rate, right, workers)}, with the same global batch"
        )
        remedy = "scale the learning rate with the global batch, not with the workers: here the batch is that of one worker"
        yield Finding("learning_rate_differs", "warning", name, evidence, remedy)


def _other_batch(items: Mapping[int, float], workers: int) -> bool:
    """True if the global batch differs from one worker's: by recorded items, else as declared."""
    items_here, alone = items.get(workers), items.get(1)
    return items_here is not None and alone is not None and abs(items_here - alone) > TOLERANCE * alone


def _ratio(rate: float, right: float, workers: int) -> str:
    if not right:
        return ""
    factors = {"workers": float(workers), "1 / workers": 1.0 / workers, "the root of workers": workers**0.5}
    called = ratio_name(rate / right, factors, SAME_RATE)
    return f": {given(rate / right, digits=4)} times, which is {called}" if called else f": {given(rate / right, digits=4)} times"


def _training_state_first(measured: RecordData, apart: pl.DataFrame) -> Iterator[tuple[str, dict[str, object]]]:
    for name, rows in by_configuration(measured, apart.filter(pl.col("workers") > 1).sort("step", "launch")):
        yield name, rows.row(0, named=True)


# ---- modes ----

MODES_RULE = "mode_differs_by_rank"


@AUDITS.add("modes", "Did all ranks train in the same mode?", title="a rank in another mode")
def examine_modes(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding per configuration with a rank in another mode.

    A rank left in evaluation mode (`model.eval()` without a later `model.train()`) applies no dropout and normalises by running statistics:
    its gradients belong to another model. If no layer depends on the mode, it is a note. The mode is read just before an optimizer step, in
    sampled steps (`instruments/fingerprints/later_gradients.py`). Cannot tell: modes in between.
    """
    rows = effective_steps(evenly(measured, measured.table("fingerprints")).filter(pl.col("what") == "mode"))
    joined = rows.join(measured.timed.filter(pl.col("workers") > 1).select("launch", "configuration", "workers"), on="launch")
    key = ("launch", "step")
    several = (pl.col("text").n_unique().over(key) > 1) | (pl.col("value").n_unique().over(key) > 1)
    apart = joined.filter(several & (pl.col("rank").n_unique().over(key) == pl.col("workers"))).sort("launch", "step", "rank")
    return tuple(
        _modes_finding(measured, name, group)
        for name, group in by_configuration(measured, apart)
        if not why_not(measured, name, "replicas")
    )


def _modes_finding(measured: RecordData, name: str, rows: pl.DataFrame) -> Finding:
    launch, step = int(rows["launch"][0]), int(rows["step"][0])
    here = rows.filter((pl.col("launch") == launch) & (pl.col("step") == step))
    ranks = here.group_by("text", maintain_order=True).agg("rank")
    modes = "; ".join(f"rank{'s' if len(of) > 1 else ''} {', '.join(map(str, of))}: {text}" for text, of in ranks.iter_rows())
    layers = legitimate(measured, name)
    evidence = f"ranks train in different modes in step {step} of launch {launch} ({modes}); {layers or 'no layer of the model depends on the mode'}"
    remedy = "call model.train() on every rank after an evaluation, before the next training step"
    return Finding(MODES_RULE, "fail" if layers else "note", name, evidence, remedy)


# ---- parallelism ----

JUDGED_ALL = ("data", "sharded")


@AUDITS.add("parallelism", "Is the training distributed, and as declared?", title="nothing distributed")
def examine_parallelism(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration, and a note for each parallelism not shared by all.

    Workers that each train alone look well: seeded alike they are equal replicas, and no communication slows them down. That is a fault of
    its own unless declared (`parallelism = "none"`). Any recognised parallelism other than data parallelism is a note; so is an
    unrecognised one, with the checks that it disables. Rules: `fireassay.frames.training.parallelism`. Cannot tell: an undeclared
    intention.
    """
    several = [
        (name, parallelism(measured, name)) for name, level in zip(measured.configurations, measured.levels, strict=True) if level > 1
    ]
    faults = [finding for name, layout in several for finding in _faults(measured, name, layout)]
    return (*faults, *_notes([layout for _, layout in several]))


def _faults(measured: RecordData, name: str, layout: Parallelism) -> Iterator[Finding]:
    if layout.alone and not (layout.by == "declared" and layout.kind == "none"):
        prefix = f"{WORDS[layout.kind]} is declared, but " if layout.by == "declared" else ""
        evidence = f"{prefix}{layout.evidence}"
        remedy = (
            "call torch.distributed.init_process_group and wrap the model (DistributedDataParallel, fully_shard); if every worker should train "
            "its own model: --parallelism none (workload.parallelism)"
        )
        yield Finding("nothing_is_distributed", "fail", name, evidence, _as_command(measured) or f"{remedy}{_timed(measured)}")
    elif layout.contradicted:
        evidence = f"{WORDS[layout.kind]} is declared, but {WORDS[layout.seen]} was recognised: {layout.evidence}"
        remedy = "declare what the script does, or leave workload.parallelism at auto; the declaration is what is judged here"
        yield Finding("parallelism_contradicted", "warning", name, evidence, remedy)


def _as_command(measured: RecordData) -> str:
    """The remedy for a script that was told its number of workers as an argument and made no step: it starts its own processes."""
    workload = measured.experiment.workload
    if not any("{workers}" in word for word in workload.arguments) or measured.stepped.height or not workload.script:
        return ""
    words = ("python", workload.script, *workload.arguments)
    commands = [shlex.join(word.replace("{workers}", str(level)) for word in words) for level in measured.levels]
    return f"the script is told its workers and starts them itself, so measure it as a command: assay time -- {' --- '.join(commands)}"


def _timed(measured: RecordData) -> str:
    """What measures a script that made no step, so that it may be no training."""
    workload = measured.experiment.workload
    if measured.stepped.height or not workload.script:
        return ""
    return f"; if it trains nothing, time it: assay time -- {shlex.join(('python', *shlex.split(workload.script), *workload.arguments))}"


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


@AUDITS.blind("parallelism")
def blind_parallelism(measured: RecordData, _: Results) -> str | None:
    """A record without evidence is taken to be data-parallel."""
    several = [name for name, level in zip(measured.configurations, measured.levels, strict=True) if level > 1]
    if several and all(parallelism(measured, name).by == "assumed" for name in several):
        return "the record does not say how the training is distributed over its ranks"
    return None
