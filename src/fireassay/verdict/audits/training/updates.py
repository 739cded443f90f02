"""Does the training train: in training mode, every layer, from fresh gradients and changing batches, to its end?

A GradScaler's factor is removed before gradients are clipped.

These faults leave one worker's training and that of several alike, so no comparison shows them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final, NamedTuple

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData, effective_steps
from fireassay.frames.record_tables import once_per_record
from fireassay.frames.training.correctness.contents import told
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.audit import TRAINING, Audits
from fireassay.verdict.evidence.gradient_faults import legitimate
from fireassay.verdict.types import Finding

AUDITS = Audits(about=TRAINING)
MIN_CHECKS: Final = 3
MIN_STEPS: Final = 4
EARLY: Final = 4  # the last of the steps whose batches are held against each other
DIGITS: Final = 8  # of a parameter's hash
MANY: Final = 3  # parameters named
SCALED_LIMIT: Final = 100.0  # a limit of more than this part of a scaler's factor was multiplied by it


@once_per_record
def _of(measured: RecordData, name: str, what: str) -> list[pl.DataFrame]:
    """The first rank's fingerprints of a configuration, by launch, in the order of the steps."""
    launches = measured.timed.filter(pl.col("configuration") == name).select("launch")
    rows = effective_steps(measured.table("fingerprints").filter((pl.col("what") == what) & (pl.col("rank") == 0)))
    return rows.join(launches, on="launch", how="semi").sort("launch", "step").partition_by("launch", maintain_order=True)


@AUDITS.add("evaluation_mode", "Does training go on in training mode after an evaluation?", title="evaluation mode left on")
def examine_mode(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning per configuration that begins in training mode and later trains in evaluation mode, if layers depend on the mode.

    `model.eval()` for a validation, without `model.train()` after it. Parts that are frozen from the start are no fault; nor is a model
    without dropout or batch normalisation. Cannot tell: modes between the sampled steps; one rank alone is found by `modes`.
    """
    for name in measured.configurations:
        for rows in _of(measured, name, "mode"):
            last = rows.row(-1, named=True)
            left = rows.filter(pl.col("text").str.starts_with("eval"))
            if rows["text"][0].startswith("train") and last["text"].startswith("eval") and (layers := legitimate(measured, name)):
                evidence = (
                    f"the model trains in evaluation mode since step {left['step'][0]} of launch {last['launch']} at the latest, after training "
                    f"mode at first; {layers}"
                )
                yield Finding("evaluation_mode_left_on", "warning", name, evidence, "call model.train() after every evaluation")
                break


@AUDITS.add("parameters_change", "Does every trained parameter change?", title="parameters that are not trained")
def examine_change(measured: RecordData, _: Results) -> Iterator[Finding]:
    """At most one finding per configuration, by the hashes of the trained model's parameters on the first rank.

    All equal at every check: nothing is learned; a fault if no optimizer holds any of them (the model was replaced after the optimizer was
    made), else a warning. Equal at the last three checks: training stopped before its end. Some equal, though they get gradients and no
    optimizer holds them: a layer was left out.
    """
    for name in measured.configurations:
        for rows in _of(measured, name, "parameter_hash"):
            found = _unchanged(measured, name, rows) or _left_out(measured, name, int(rows["launch"][0]))
            if found is not None:
                yield found
                break


def _unchanged(measured: RecordData, name: str, rows: pl.DataFrame) -> Finding | None:
    launch, steps, texts = int(rows["launch"][0]), rows["step"].to_list(), rows["text"].to_list()
    equal = next((index for index in range(len(texts)) if len(set(texts[index:])) == 1), len(texts))
    if len(texts) - equal < MIN_CHECKS or steps[-1] - steps[equal] < max(MIN_STEPS, steps[-1] / 3):
        return None
    held = f"; no optimizer holds any of its {count(len(_names(measured, launch)), 'parameters')}" if _all_outside(measured, launch) else ""
    if not held and not _stepped(measured, launch, steps[equal]):
        return None
    if equal == 0:
        evidence = f"the parameters of the model that is trained did not change in {count(steps[-1], 'steps')} of launch {launch}{held}"
        remedy = "make the optimizer from the parameters of the model that is called, after the model is replaced, moved or wrapped"
        return Finding("parameters_never_change", "fail" if held else "warning", name, evidence, remedy)
    evidence = (
        f"no parameter changed from step {steps[equal]} to step {steps[-1]} of launch {launch}, the last: training had stopped by then"
    )
    remedy = "check the learning rate (a schedule that ended), steps that a gradient scaler skips, and the gradients"
    return Finding("parameters_stop_changing", "warning", name, evidence, remedy)


def _outside(measured: RecordData, launch: int) -> list[str]:
    """The parameters with a gradient that no optimizer held at any check."""
    rows = measured.table("fingerprints").filter(
        (pl.col("launch") == launch) & (pl.col("rank") == 0) & (pl.col("what") == "without_optimizer")
    )
    every = [set(json.loads(text)) for text in rows["text"]]
    return sorted(set.intersection(*every)) if every else []


def _all_outside(measured: RecordData, launch: int) -> bool:
    return bool(names := _names(measured, launch)) and set(names) <= set(_outside(measured, launch))


def _stepped(measured: RecordData, launch: int, since: int) -> bool:
    """True if an optimizer that holds the model stepped since then: it is not another model's turn."""
    modes = measured.table("fingerprints").filter((pl.col("launch") == launch) & (pl.col("what") == "mode"))
    return modes.filter(pl.col("step") >= since).height > 0


def _names(measured: RecordData, launch: int) -> list[str]:
    rows = measured.table("fingerprints").filter(
        (pl.col("launch") == launch) & (pl.col("rank") == 0) & (pl.col("what") == "parameter_names")
    )
    return rows["text"][0].splitlines() if rows.height else []


def _left_out(measured: RecordData, name: str, launch: int) -> Finding | None:
    outside = set(_outside(measured, launch))
    if not outside:
        return None
    names = _names(measured, launch)
    rows = measured.table("fingerprints").filter(
        (pl.col("launch") == launch) & (pl.col("rank") == 0) & (pl.col("what") == "parameter_hashes")
    )
    texts = rows.sort("step")["text"].to_list()
    if len(texts) < MIN_CHECKS or any(len(text) != DIGITS * len(names) for text in texts):
        return None
    gradients = measured.table("gradients").filter((pl.col("launch") == launch) & (pl.col("rank") == 0) & (pl.col("norm") > 0.0))
    at = {parameter: index * DIGITS for index, parameter in enumerate(names)}
    still = [
        parameter
        for parameter in names
        if parameter in outside & set(gradients["parameter"]) and len({text[at[parameter] : at[parameter] + DIGITS] for text in texts}) == 1
    ]
    if not still:
        return None
    more = f" and {len(still) - MANY} more" if len(still) > MANY else ""
    evidence = (
        f"no optimizer holds {', '.join(still[:MANY])}{more} of {count(len(names), 'parameters')} in launch {launch}: they get gradients and "
        "never change"
    )
    return Finding(
        "parameters_left_out",
        "warning",
        name,
        evidence,
        "give them to the optimizer; if they should stay, freeze them (requires_grad_(False))",
    )


@AUDITS.add("fresh_gradients", "Are gradients cleared before each step?", title="gradients that are never cleared")
def examine_fresh(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning per configuration whose only optimizer finds old gradients at the first backward pass of every checked step."""
    for name in measured.configurations:
        for rows in _of(measured, name, "old_gradients"):
            if rows.height >= MIN_CHECKS and bool((rows["value"] > 0.0).all()):
                evidence = (
                    f"the gradients of earlier steps were still there in all {rows.height} checked steps of launch {rows['launch'][0]}: each "
                    "update adds up all gradients so far"
                )
                yield Finding("gradients_never_cleared", "warning", name, evidence, "call optimizer.zero_grad() once per step")
                break


@AUDITS.add(
    "clipped_scaled", "Are gradients clipped after a GradScaler has divided them by its factor?", title="clipping of scaled gradients"
)
def examine_clipped_scaled(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning per configuration that clips gradients by torch's functions before `scaler.unscale_`, in the checked steps.

    The scaler divides them later, so that an update is smaller by its factor than the limit says. A limit of at least a hundredth of the
    factor was multiplied by it, and is no fault. Cannot tell: steps in which the norm, or every element, stayed below the limit; clipping by hand.
    """
    for name in measured.configurations:
        for scales in _of(measured, name, "clip_scale"):
            launch = scales["launch"][0]
            for how, step, size, limit, scale in _clipped(measured, launch, scales):
                if size > limit and limit * SCALED_LIMIT < scale:
                    evidence = (
                        f"in step {step} of launch {launch} {how.function} clipped gradients to {limit:.4g} that a GradScaler had multiplied by "
                        f"{scale:,.0f} and divides only afterwards: their {how.size} was {size / scale:.3g}, and {limit / scale:.1e} is left of it"
                    )
                    yield Finding(
                        "clipped_while_scaled", "warning", name, evidence, f"call scaler.unscale_(optimizer) before {how.function}"
                    )
                    break
            else:
                continue
            break


class _Clipping(NamedTuple):
    function: str
    size: str  # what of the gradients it limits, in words
    recorded: tuple[str, str]  # as what its size and its limit are


CLIPPINGS: Final = (
    _Clipping("clip_grad_norm_", "norm", ("clip_norm", "clip_limit")),
    _Clipping("clip_grad_value_", "largest element", ("clip_largest", "clip_value")),
)


def _clipped(measured: RecordData, launch: int, scales: pl.DataFrame) -> Iterator[tuple[_Clipping, int, float, float, float]]:
    """(how, step, size, limit, scale) of the first clipping of each kind and checked step."""
    rows = measured.table("fingerprints").filter((pl.col("launch") == launch) & (pl.col("rank") == 0))
    for how in CLIPPINGS:
        sizes, limits = (
            dict(rows.filter(pl.col("what") == what).unique("step", keep="first", maintain_order=True).select("step", "value").iter_rows())
            for what in how.recorded
        )
        for step, scale in scales.select("step", "value").iter_rows():
            if step in sizes and step in limits:
                yield how, step, sizes[step], limits[step], scale


@AUDITS.add("changing_batches", "Does every step train on another batch?", title="one batch again and again")
def examine_batches(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding per configuration that trains on one batch in every recorded step: a note for a benchmark, a warning if it evaluates."""
    evaluates = (
        measured.table("events").filter(pl.col("kind").is_in(["evaluated_samples", "evaluation"])).height
        + measured.table("examples").height
    )
    for name in measured.configurations:
        for launch, workers in measured.timed.filter(pl.col("configuration") == name).select("launch", "workers").iter_rows():
            steps = {step: parts for (step, rank), parts in told(measured).get(launch, {}).items() if rank == 0 and step <= EARLY}
            batches = [part for parts in steps.values() for part in parts if part.get("of", 0) > workers * part["rows"]]
            if len(batches) == len(steps) > MIN_CHECKS and len({json.dumps(part["tensors"]) for part in batches}) == 1:
                evidence = f"steps {', '.join(map(str, sorted(steps)))} of launch {launch} trained on one and the same batch, though there are more"
                remedy = "iterate over the loader: next(iter(loader)) begins it anew each time; for a benchmark nothing is wrong"
                yield Finding("one_batch_again_and_again", "warning" if evaluates else "note", name, evidence, remedy)
                break
