"""What evidence does a record hold on distributed training, and what is a diagnosis?

Which faults show in hashes of parameters and random states, and in gradients that differ between ranks?

Which faults do the recorded samples and loss denominators show?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from fireassay.estimates.format import count, given
from fireassay.frames.record_data import RecordData, effective_steps
from fireassay.frames.record_tables import once_per_record
from fireassay.frames.training.correctness.contents import Other, between_ranks, drawn_alike, others, parts, repeats, same_noise, words_of
from fireassay.frames.training.correctness.first_gradients import Compared, First, compared, firsts, laters
from fireassay.frames.training.correctness.later_gradients import clipped_apart
from fireassay.frames.training.correctness.sample_ledger import Epoch, epochs, weights
from fireassay.frames.training.parallel_evidence import evenly, hashes
from fireassay.spec.plan import configuration_name
from fireassay.verdict.evidence.divergence import SYNCHRONISE, Diagnosis, cause, of_settings, settings_apart
from fireassay.verdict.types import Severity


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The evidence of every layer, read once per record."""

    measured: RecordData
    epochs: tuple[Epoch, ...]
    weighed: pl.DataFrame = field(repr=False)
    hashed: pl.DataFrame = field(repr=False)  # of the parameters
    random: pl.DataFrame = field(repr=False)  # of the random states
    host: pl.DataFrame = field(repr=False)  # of the host's random states, if the model is on a GPU
    first: tuple[First, ...]
    compared: tuple[Compared, ...]


def collect(measured: RecordData) -> Evidence:
    """Collect the evidence that the diagnoses need."""
    return Evidence(
        measured=measured,
        epochs=epochs(measured),
        weighed=weights(measured),
        hashed=hashes(measured),
        random=hashes(measured, what="random_hash"),
        host=hashes(measured, what="random_hash_host"),
        first=firsts(measured),
        compared=compared(measured),
    )


@once_per_record
def fingerprints_of(measured: RecordData, name: str, what: str) -> pl.DataFrame:
    launches = measured.timed.filter(pl.col("configuration") == name).select("launch")
    return measured.table("fingerprints").filter(pl.col("what") == what).join(launches, on="launch", how="semi")


MANY = 3  # parameters named in a finding
MIN_CHECKS: Final = 3  # of gradients before a step


def other_beginning(evidence: Evidence, name: str) -> Diagnosis | None:
    apart = _apart(evidence, name).filter(pl.col("step") == 0)
    if apart.height == 0:
        return None
    return Diagnosis(
        fault="replica_seed_mismatch",
        evidence=f"parameter hashes differ between ranks before the first step (launch {apart['launch'][0]})",
        remedy="give every rank the same initial parameters: the same seed, or let DDP broadcast them (init_sync=True)",
    )


def _apart(evidence: Evidence, name: str) -> pl.DataFrame:
    rows = evidence.hashed.filter((pl.col("configuration") == name) & ~pl.col("agree"))
    return rows.filter((pl.col("workers") > 1) & (pl.col("incarnation") == 0)).sort("step", "launch")


def unsynchronised(evidence: Evidence, name: str) -> Diagnosis | None:
    apart = _apart(evidence, name)
    for step in (*evidence.first, *laters(evidence.measured)):
        names = step.apart() if step.configuration == name else ()
        if names and not averaged_later(evidence.hashed, step):
            return _clipped_on_some(evidence, step) or _unreduced(step, names)
    # sharded parameters are not compared across ranks; their optimizer settings are
    first = (int(apart["launch"][0]), int(apart["step"][0])) if apart.height else None
    return _settings(evidence, name) if first is None else cause(evidence.measured, *first)


def _clipped_on_some(evidence: Evidence, step: First) -> Diagnosis | None:
    clips = fingerprints_of(evidence.measured, step.configuration, "clip_norm")
    ranks = clips.filter((pl.col("launch") == step.launch) & (pl.col("step") == step.step))["rank"].unique().sort().to_list()
    if not 0 < len(ranks) < step.workers:
        return None
    return Diagnosis(
        fault="clipped_on_some_ranks",
        layer="gradient",
        evidence=f"in step {step.step} of launch {step.launch} only rank{'s' if len(ranks) > 1 else ''} {_listed(ranks)} of {step.workers} clipped, and "
        "no gradient is the same on all ranks",
        remedy="clip on every rank, by the same limit, after the gradients are averaged",
    )


def uncleared(evidence: Evidence, name: str) -> Diagnosis | None:
    """Old gradients at the first backward pass of every checked step, on some ranks only; `fresh_gradients` tells of all."""
    rows = evenly(evidence.measured, fingerprints_of(evidence.measured, name, "old_gradients"))
    for launch in rows.sort("launch").partition_by("launch", maintain_order=True):
        kept = launch.group_by("rank").agg((pl.col("value") > 0.0).all().alias("old"), pl.len().alias("checks")).sort("rank")
        ranks = kept.filter("old")["rank"].to_list()
        if 0 < len(ranks) < kept.height and int(kept["checks"].min()) >= MIN_CHECKS:  # type: ignore[arg-type]
            return Diagnosis(
                fault="cleared_on_some_ranks",
                layer="gradient",
                evidence=f"rank{'s' if len(ranks) > 1 else ''} {_listed(ranks)} of {kept.height} never clear{'' if len(ranks) > 1 else 's'} the gradients "
                f"of earlier steps in launch {launch['launch'][0]}: the average holds them again",
                remedy="call optimizer.zero_grad() once per step on every rank",
            )
    return None


def _settings(evidence: Evidence, name: str) -> Diagnosis | None:
    launches = evidence.measured.timed.filter(pl.col("configuration") == name)["launch"].to_list()
    for launch, step, setting, values in settings_apart(evidence.measured):
        if launch in launches:
            return of_settings(launch, step, setting, values)
    return None


def clipped_before_reduction(evidence: Evidence, name: str) -> Diagnosis | None:
    for clip in clipped_apart(evidence.measured, evidence.hashed, name):
        return Diagnosis(
            fault="clipped_before_reduction",
            layer="gradient",
            severity="fail" if clip.active else "warning",
            evidence=f"in step {clip.step} of launch {clip.launch} clip_grad_norm_ found norms of {clip.norms} and was to clip to "
            f"{given(clip.limit, digits=4)}, and then all ranks stepped with the same gradient: each rank clipped its own before they were averaged"
            f"{'' if clip.active else ' (no norm was above the limit there)'}",
            remedy="clip after the gradients are averaged: outside of no_sync, after the last backward pass or after the all_reduce",
        )
    return None


def averaged_later(hashed: pl.DataFrame, first: First) -> bool:
    """True if parameters agree on all ranks after the step: then the optimizer averaged the gradients itself."""
    after = hashed.filter((pl.col("launch") == first.launch) & (pl.col("step") > first.step))
    return after.height > 0 and bool(after.sort("step")["agree"][0])


def _unreduced(first: First, names: tuple[str, ...]) -> Diagnosis:
    some = [name for name, gradient in first.own.items() if gradient.norm != 0.0]
    if len(names) >= len(some):
        return Diagnosis(
            fault="gradients_not_synchronised",
            layer="gradient",
            evidence=f"no gradient is the same on all ranks in step {first.step} of launch {first.launch}",
            remedy=SYNCHRONISE,
        )
    more = f" and {len(names) - MANY} more" if len(names) > MANY else ""
    return Diagnosis(
        fault="parameter_not_reduced",
        layer="gradient",
        evidence=f"the gradient of {', '.join(names[:MANY])}{more} is not the same on all ranks in step {first.step} of launch {first.launch}, "
        f"those of {count(len(first.own) - len(names), 'parameters')} are",
        remedy="use every parameter in the last pass before the optimizer steps, or wrap the model with find_unused_parameters=True",
    )


def altered(evidence: Evidence, name: str) -> Diagnosis | None:
    """Ranks whose samples have other contents than with one worker, where nothing random explains it.

    On some ranks only, the others' being one worker's in several steps: a fault of these ranks. On all ranks, though neither side changes
    a sample that it sees again: data made anew, or prepared otherwise.
    """
    measured = evidence.measured
    alone = {block: launch for launch, block in measured.timed_by_block.get(configuration_name(1), ())}
    for launch, block in measured.timed_by_block.get(name, ()):
        for other in others(measured, launch, alone[block]) if block in alone else ():
            if other.ranks and other.equal:
                return _altered(
                    other, launch, "contents_differ_by_rank", f"rank{'s' if len(other.ranks) > 1 else ''} {_listed(other.ranks)}"
                )
            if {repeats(measured, each, other.part) for each in (launch, alone[block])} == {"fixed"}:
                return _altered(other, launch, "contents_differ", "every rank")
        if (found := between_ranks(measured, launch)) is not None:
            part, apart, compared = found
            return Diagnosis(
                fault="contents_differ_by_rank",
                layer="ledger",
                evidence=f"{apart} of {compared} samples that several ranks of launch {launch} used have other contents on each ({words_of(part)}), "
                "though a rank's own do not change: one index is another sample on every rank, so some are used twice and some never",
                remedy="give every rank the data in the same order: sort files and keys, and shuffle with one seed for all ranks",
            )
    return None


def _altered(other: Other, launch: int, fault: str, ranks: str) -> Diagnosis:
    some = other.ranks if fault == "contents_differ_by_rank" else tuple(other.compared)
    changed, compared = (sum(numbers[rank] for rank in some) for numbers in (other.different, other.compared))
    equal = f", those of rank{'s' if len(other.equal) > 1 else ''} {_listed(other.equal)} are one worker's" if other.equal else ""
    return Diagnosis(
        fault=fault,
        layer="ledger",
        severity="fail" if fault == "contents_differ_by_rank" else "warning",
        evidence=f"on {ranks} {changed} of {compared} compared samples of launch {launch} have other contents than with one worker "
        f"({words_of(other.part)}){equal}",
        remedy="prepare a sample alike on every rank: look for code that depends on the rank, and for another copy of the data there"
        if other.equal
        else "read or generate the same data for every worker count: seed their generator, and prepare them without the worker count",
    )


def _listed(ranks: Sequence[int]) -> str:
    return ", ".join(map(str, ranks))


def random_states(evidence: Evidence, name: str) -> Diagnosis | None:
    """Random states against their declaration; without one, dropout with equal states is suspicious."""
    measured = evidence.measured
    states = evidence.random.filter((pl.col("configuration") == name) & (pl.col("workers") > 1))
    states = states.with_columns(pl.col("text").n_unique().over("launch").alias("states"))
    declared = fingerprints_of(measured, name, "random_state")["text"].unique().to_list()
    host = evidence.host.filter((pl.col("configuration") == name) & (pl.col("workers") > 1))
    equal, differ = states.filter(pl.col("different") < pl.col("ranks")), states.filter(~pl.col("agree"))
    equal = equal if equal.height else host.filter(pl.col("different") < pl.col("ranks"))
    if "different" in declared and equal.height:
        return _same_numbers(equal, "fail", "declared different")
    if "equal" in declared and differ.height:
        row = differ.row(0, named=True)
        return Diagnosis(
            fault="random_numbers_differ",
            evidence=f"random states are declared equal and differ between ranks at step {row['step']} of launch {row['launch']}",
            remedy="seed all ranks alike, and let them draw equally often",
        )
    layers = fingerprints_of(measured, name, "random_layers")["value"].max()
    begun = states.filter((pl.col("step") == 0) & pl.col("agree") & (pl.col("states") > 1))  # and numbers are drawn later
    if declared or not begun.height:
        return None
    if layers:
        return _same_numbers(begun, "warning", f"the model has {count(int(layers), 'layers')} that draw")  # type: ignore[arg-type]
    return _same_noise(evidence, name, states)


def added_noise(evidence: Evidence, name: str) -> Diagnosis | None:
    """The same noise on all ranks, whatever generator it came from."""
    measured = evidence.measured
    for launch, workers in measured.timed.filter(pl.col("configuration") == name).select("launch", "workers").iter_rows():
        if workers > 1 and (steps := same_noise(measured, launch, workers)):
            return Diagnosis(
                fault="same_random_numbers",
                severity="warning",
                evidence=f"the script adds numbers to its batches, other ones in each step but the same on all ranks, in all {steps} compared steps "
                f"of launch {launch}: every rank draws the same noise",
                remedy="add the rank to the seed of their generator, after the model is built",
            )
    return None


GENERATORS: Final = {  # where samples are drawn from: what is equal, and how to make it differ
    "helpers": (
        "the helper processes of their loaders have the same seed",
        "seed torch by the rank before the loader is read, or give it a generator",
    ),
    "own": ("the data set's own generators have the same state", "add the rank to the seed of the data set's generator, and its helper's"),
    "global": ("Python's and NumPy's generators have the same state", "add the rank to their seeds after the model is built"),
}


def same_draws(evidence: Evidence, name: str) -> Diagnosis | None:
    """Samples that change from epoch to epoch, or against one worker's, drawn by generators in the same state on all ranks."""
    measured = evidence.measured
    alone = {block: launch for launch, block in measured.timed_by_block.get(configuration_name(1), ())}
    workers = dict(measured.timed.select("launch", "workers").iter_rows())
    for launch, block in measured.timed_by_block.get(name, ()):
        kind = drawn_alike(measured, launch, workers[launch]) if workers[launch] > 1 else ""
        part = next((part for part in parts(measured, launch) if repeats(measured, launch, part) == "random"), None) if kind else None
        if kind and part is None and block in alone:
            part = next((other.part for other in others(measured, launch, alone[block])), None)
        if kind and part is not None:
            alike, remedy = GENERATORS[kind]
            return Diagnosis(
                fault="same_random_numbers",
                severity="warning",
                evidence=f"random numbers change the samples of launch {launch} ({words_of(part)}), and {alike} on all ranks: every rank draws the "
                "same noise",
                remedy=remedy,
            )
    return None


def _same_noise(evidence: Evidence, name: str, states: pl.DataFrame) -> Diagnosis | None:
    """Samples that random numbers change, drawn alike on all ranks: equal states that move within an epoch."""
    measured = evidence.measured
    alone = {block: launch for launch, block in measured.timed_by_block.get(configuration_name(1), ())}
    for launch, block in measured.timed_by_block.get(name, ()):
        early = states.filter((pl.col("launch") == launch) & pl.col("step").is_between(1, 2))
        epochs = measured.table("samples").filter((pl.col("launch") == launch) & (pl.col("step") <= 2))["epoch"]
        moved = early.height == 2 and bool(early["agree"].all()) and early["text"].n_unique() == 2 and epochs.n_unique() == 1
        if moved and block in alone and (part := next(iter(others(measured, launch, alone[block])), None)):
            return Diagnosis(
                fault="same_random_numbers",
                severity="warning",
                evidence=f"random numbers change the samples of launch {launch} ({words_of(part.part)}), and their state is equal on all ranks "
                "in every step: every rank draws the same noise",
                remedy="add the rank to the seed after the model is built",
            )
    return None


def _same_numbers(rows: pl.DataFrame, severity: Severity, why: str) -> Diagnosis:
    row = rows.row(0, named=True)
    return Diagnosis(
        fault="same_random_numbers",
        severity=severity,
        evidence=f"random states are equal on ranks at step {row['step']} of launch {row['launch']} ({row['different']} different ones on "
        f"{row['ranks']} ranks; {why}): every rank drops the same units",
        remedy="add the rank to the seed after the model is built, or declare probe.watch(model, random='equal') if it is intended",
    )


SAME_WEIGHT = 1e-12  # relative


def ledger(evidence: Evidence, name: str) -> Diagnosis | None:
    rows = [epoch for epoch in evidence.epochs if epoch.configuration == name]
    lost = max((epoch for epoch in rows if not epoch.cut_short), key=lambda epoch: epoch.lost, default=None)
    twice = max(rows, key=lambda epoch: epoch.duplicated, default=None)
    if lost is not None and lost.lost:
        return _lost(evidence, lost)
    if twice is None or not twice.duplicated:
        return None
    padding = twice.duplicated == -twice.expected % twice.workers
    return Diagnosis(
        fault="samples_duplicated_by_padding" if padding else "samples_duplicated",
        layer="ledger",
        evidence=f"{count(twice.duplicated, 'samples')} used more than once in epoch {twice.epoch} of launch {twice.launch}",
        remedy="give the padded samples weight 0, or make the data set a multiple of the global batch"
        if padding
        else "check the sharding of the sampler: every id must fall to exactly one rank",
    )


def _lost(evidence: Evidence, worst: Epoch) -> Diagnosis:
    same = _same_shard(evidence.measured, worst)
    if same is not None:
        return Diagnosis(
            fault="shard_read_twice",
            layer="ledger",
            evidence=f"ranks {same[0]} and {same[1]} used the same samples in every step of epoch {worst.epoch} of launch {worst.launch}, "
            f"and {count(worst.lost, 'samples')} were used by none",
            remedy="give the sampler this worker's own rank, and set its number of replicas to the worker count",
        )
    return Diagnosis(
        fault="samples_lost",
        layer="ledger",
        evidence=f"{worst.lost} of {count(worst.expected, 'samples')} used by no rank in epoch {worst.epoch} of launch {worst.launch}",
        remedy="check the sharding of the sampler: every id must fall to exactly one rank, and drop_last must drop nothing",
    )


def _same_shard(measured: RecordData, epoch: Epoch) -> tuple[int, int] | None:
    """Two ranks that used the same samples in every step of an epoch."""
    samples = measured.table("samples").filter((pl.col("launch") == epoch.launch) & (pl.col("epoch") == epoch.epoch))
    rows = effective_steps(samples).explode("ids").drop_nulls("ids").sort("step", "ids")
    of_rank = rows.group_by("rank").agg(pl.col("step"), pl.col("ids")).sort("rank")
    seen: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    for rank, steps, ids in of_rank.iter_rows():
        key = (tuple(steps), tuple(ids))
        if key in seen:
            return seen[key], int(rank)
        seen[key] = int(rank)
    return None


def denominators(evidence: Evidence, name: str) -> Diagnosis | None:
    weighed = evidence.weighed.with_columns(factor=pl.col("total") / (pl.col("workers") * pl.col("denominator")))
    rows = weighed.filter((pl.col("configuration") == name) & (pl.col("workers") > 1))
    off = _unlike_one(rows, weighed.filter(pl.col("workers") == 1)).sort("off", descending=True)
    if off.height == 0:
        return None
    row = off.row(0, named=True)
    same = off.filter((pl.col("launch") == row["launch"]) & (pl.col("step") == row["step"]))["alike"].all()
    numbers = (
        f"{given(row['denominator'])} in step {row['step']} of launch {row['launch']}, where {given(row['total'])} items on {row['workers']} workers "
        f"require {given(row['total'] / row['workers'])}; that is off by {given(row['off'], digits=3)}"
    )
    if same:
        return Diagnosis(
            fault="gradient_scaled",
            layer="ledger",
            evidence=f"every rank divides its losses by {numbers}",
            remedy="average over ranks and batches exactly once: divide the sum of the losses by all ranks' items / workers",
        )
    return Diagnosis(
        fault="unequal_shards",
        layer="ledger",
        evidence=f"rank {row['rank']} divides its losses by {numbers}",
        remedy="divide the sum of the losses by all ranks' items / workers, not by this rank's items",
    )


def _unlike_one(rows_of_ranks: pl.DataFrame, alone: pl.DataFrame) -> pl.DataFrame:
    """Rows with a wrong denominator; `alike`: all ranks reported the same one.

    A constant divisor applied to an incomplete batch is no fault. It is recognised if the ranks agree and one worker's samples of that step
    carry the same weight; without a one-worker run, if all ranks reported the same divisor and other steps are right. A report from a
    single rank says nothing about the others.
    """
    same = pl.col("denominator").n_unique().over("launch", "step") == 1
    alike = same & (pl.col("rank").n_unique().over("launch", "step") == pl.col("workers"))
    of_one = alone.group_by("step").agg(pl.col("factor").first().alias("of_one"))
    rows = rows_of_ranks.with_columns(same=same, alike=alike).join(of_one, on="step", how="left").filter(pl.col("off") > 0.0)
    if alone.height:
        usual = (pl.col("factor") - pl.col("of_one")).abs() <= SAME_WEIGHT * pl.col("of_one")
        return rows.filter(~(pl.col("same") & usual.fill_null(value=False)))
    some_right = bool((rows_of_ranks["off"] == 0.0).any())
    return rows.filter(~pl.col("alike")) if some_right else rows
