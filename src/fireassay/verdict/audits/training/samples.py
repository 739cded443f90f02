"""Was every sample used once, with its weight, and was held-out data held out?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from fireassay.estimates.format import count, given
from fireassay.frames.record_data import RecordData, portions
from fireassay.frames.record_tables import ended
from fireassay.frames.training.correctness.sample_ledger import Epoch, epochs, known_samples, shares, shuffled_alike
from fireassay.frames.training.parallelism import why_not
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.audit import TRAINING, Audits
from fireassay.verdict.evidence.gradient_faults import diagnose
from fireassay.verdict.types import Finding, Severity

AUDITS = Audits()


# ---- samples ----


@AUDITS.add("samples", "Was every sample used exactly once per epoch?", title="samples lost or used twice")
def examine_samples(measured: RecordData, _: Results) -> Iterator[Finding]:
    """Findings on lost and duplicated samples, one per configuration and kind; fault launches included.

    Exact, from the sample ledger. Duplicates numbering (-N) mod workers, with nothing lost, are named as a sampler's padding to equal
    shards; two ranks reading one shard while another goes unread are named too. Samples dropped from an incomplete batch are a note if one
    worker drops as many. The same shuffled order in every epoch is a warning: every sample is used, but always in the same batch
    (DistributedSampler without set_epoch).
    """
    judged = (*epochs(measured), *epochs(measured, role="fault"))
    for name, named in diagnose(measured).items():
        if named is not None and named.fault in ("shard_read_twice", "contents_differ_by_rank", "contents_differ"):
            yield named.finding(name)
            if named.fault == "shard_read_twice":
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


# ---- sample weights ----

SAMPLE_WEIGHTS_RULE = "unequal_shards"


@AUDITS.add("sample_weights", "Did every sample have the same weight?", title="unequal sample weights", about=TRAINING)
def examine_sample_weights(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration.

    A mean of the ranks' means over unequal shards is not the mean over the samples: samples of a small shard weigh more. Reported
    denominators are checked exactly; unreported ones through one worker's gradient. Without either, unequal shards are a note: averaging of
    this kind is common, and the record does not show whether it happened.
    """
    findings = [item.finding(name) for name, item in diagnose(measured).items() if item is not None and item.fault == SAMPLE_WEIGHTS_RULE]
    named = {finding.configuration for finding in findings}
    return (*findings, *(item for item in _unreported(measured) if item.configuration not in named))


def _unreported(measured: RecordData) -> Iterator[Finding]:
    """Shards that are unequal in the first step, with neither a denominator nor a gradient as evidence."""
    reported = measured.table("fingerprints").filter(pl.col("what") == "denominator")["launch"].unique()
    kept = measured.table("gradients")["launch"].unique()
    known = pl.col("launch").is_in(reported.implode()) | pl.col("launch").is_in(kept.implode())
    launches = measured.timed.select("launch", "configuration", "workers").filter((pl.col("workers") > 1) & ~known)
    parts = [_spread(measured, some) for some in portions(measured, launches)]
    if not parts:
        return
    spread = pl.concat(parts).join(launches, on="launch").sort("launch", "step")
    for name in measured.configurations:
        rows = spread.filter(pl.col("configuration") == name)
        if rows.height and not why_not(measured, name, "gradients"):
            row = rows.row(0, named=True)
            evidence = (
                f"the ranks' shares are unequal in {rows.height} steps, first in step {row['step']} of launch {row['launch']} "
                f"({given(row['least'])} to {given(row['most'])} items); whether their samples have the same weight is unknown"
            )
            remedy = "report what the loss is divided by (probe.log(denominator=...)), or also measure one worker, whose gradient shows it"
            yield Finding("sample_weights_not_measured", "note", name, evidence, remedy)


def _spread(measured: RecordData, launches: pl.DataFrame) -> pl.DataFrame:
    """(launch, step, least, most): steps in which the ranks' item counts differ."""
    by_step = measured.folded_steps.join(launches.select("launch", "workers"), on="launch")
    equal = (pl.col("least") == pl.col("most")) & (pl.col("counted") == pl.col("ranks")) & (pl.col("ranks") == pl.col("workers"))
    apart = by_step.filter(~equal.fill_null(value=False)).select("launch", "step")  # the others need no samples
    steps = shares(measured, apart).group_by("launch", "step")
    both = steps.agg(pl.col("items").min().alias("least"), pl.col("items").max().alias("most"))
    return both.filter(pl.col("least") < pl.col("most"))


# ---- data loading ----

DATA_LOADING_MAX_SHARE = 0.20  # of the steady step time


@AUDITS.add("data_loading", "Does the timed region include data loading?", title="data loading in the timed region")
def examine_data_loading(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """A warning per configuration that waits long for its data.

    A step that waits for its batch also times the storage. Records: the share of steady step time that the slowest rank waits for data;
    above a fifth, speedups partly measure the loader. A prefetching loader hides its cost until it falls behind. Claims: whether the timed
    region included loading.
    """
    shares = _data_loading_shares(measured)
    return tuple(
        Finding(
            "data_in_step_time",
            "warning",
            name,
            f"{shares[name]:.0%} of the steady step time is waiting for data: the step time is partly the loader's",
            "prefetch with more loader processes, or compare the steps without data_time",
        )
        for name in measured.configurations
        if shares.get(name, 0.0) > DATA_LOADING_MAX_SHARE
    )


def _data_loading_shares(measured: RecordData) -> dict[str, float]:
    known = measured.steady_steps.filter(pl.col("data_s").is_not_null())
    sums = known.group_by("configuration").agg(pl.col("data_s").sum(), pl.col("step_s").sum())
    return {name: data / step for name, data, step in sums.iter_rows() if step > 0.0}


@AUDITS.blind("data_loading")
def blind_data_loading(measured: RecordData, _: Results) -> str | None:
    """Blind without a data-loading phase."""
    return None if _data_loading_shares(measured) else "no step records how long it waited for its data; iterate over probe.steps(loader)"


# ---- held out ----


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """The worst evaluation of one data set on one rank."""

    launch: int
    data: str
    samples: int
    trained_on: int
    training_data: bool


@AUDITS.add("held_out", "Was the model evaluated on samples it was trained on?", title="evaluated on training data")
def examine_held_out(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration and rule, for its worst evaluation.

    For unmodified scripts: an evaluation is a batch passed to a model in evaluation mode without gradients and not used for training then.
    Shared rows of one data set are a warning: the resulting quality says nothing about new data. Evaluating the training data itself is
    legitimate, for training accuracy: a note if other data are evaluated too, else a warning.

    Cannot tell: equal samples in data sets with separate storage; samples trained on other ranks; evaluations of a script that marks its
    own steps.
    """
    return tuple(finding for name in measured.configurations for finding in _held_out_of(name, _evaluations(measured, name)))


def _evaluations(measured: RecordData, configuration: str) -> list[Evaluated]:
    launches = measured.timed.filter(pl.col("configuration") == configuration).select("launch")
    events = measured.table("events").filter(pl.col("kind") == "evaluated_samples").join(launches, on="launch")
    rows = events.select("launch", "value", "detail").iter_rows()
    return [Evaluated(launch=int(launch), trained_on=int(value), **json.loads(detail)) for launch, value, detail in rows]


def _held_out_of(configuration: str, every: list[Evaluated]) -> Iterator[Finding]:
    worst = max((evaluated for evaluated in every if not evaluated.training_data), key=_trained_on, default=None)
    if worst is not None and worst.trained_on:
        evidence = _held_out_evidence(worst)
        remedy = "split the data once, by disjoint indices; the quality measured on these samples says nothing about new data"
        yield Finding("evaluation_overlaps_training", "warning", configuration, evidence, remedy)
        return
    training = max((evaluated for evaluated in every if evaluated.training_data), key=_trained_on, default=None)
    if training is None or not training.trained_on:
        return
    alone = not _others(every)
    severity: Severity = "warning" if alone else "note"
    evidence = f"{_held_out_evidence(training)}, the data set that it is trained on{'; nothing else was evaluated' if alone else ''}"
    remedy = (
        "evaluate held-out data if this accuracy should represent quality"
        if alone
        else "nothing is wrong, if this is the training's own accuracy; other data were evaluated too"
    )
    yield Finding("evaluated_on_training_data", severity, configuration, evidence, remedy)


def _others(every: list[Evaluated]) -> bool:
    """True if other data were evaluated; before the first step the training data count as new."""
    training = {evaluated.data for evaluated in every if evaluated.training_data}
    return any(evaluated.trained_on == 0 and (evaluated.training_data or evaluated.data not in training) for evaluated in every)


def _trained_on(evaluated: Evaluated) -> int:
    return evaluated.trained_on


def _held_out_evidence(worst: Evaluated) -> str:
    return (
        f"of {count(worst.samples, 'samples')} evaluated in launch {worst.launch} ({worst.data}), the model had been trained on "
        f"{worst.trained_on:,}"
    )
