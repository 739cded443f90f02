"""How much work is a step, and what is the peak of a launch's devices?

Derived from the event `flops`. Operations of a launch's step: the sum over its ranks of the operations counted in the first step,
times the mean items of its steady steps over the items of that step (the same batch: times 1); or a formula's operations per
token times the tokens of a step.
Peak of a launch: the sum over its devices. The peak of a device that multiplies in several precisions takes each at its own
peak: F / sum(F_p / P_p). Two ranks on one GPU share one peak.

How many floating-point operations does a model need per training token?

Four published conventions.  A multiply-add is 2 operations; the backward pass is twice the forward pass.  Per token, with N
parameters, L layers, H heads of size Q, hidden size h, sequence length T and vocabulary V:

    palm           6 N + 12 L H Q T                                 all parameters, full attention
    torchtitan     6 (N - N_embedding) + 6 L H (d_qk + d_v) T       without the embedding table, full attention
    megatron       12 L h^2 ((1 + G/H + T/(2h)) r + g F/h + V/(2Lh))   half of the attention (causal); r = H Q/h
    megatron_2021  72 L h^2 (1 + T/(6h) + V/(12 L h)); with full activation recomputation 96 and V/(16 L h)

F is the width of the feed-forward layer, g is 3/2 if gated (SwiGLU), else 1, and G the number of key/value groups.
The same model and speed give different numbers under each; never compare across conventions.
Sources: Chowdhery et al., PaLM, arXiv 2204.02311, appendix B; torchtitan `models/utils.py`; Megatron-LM `training/training.py`;
Narayanan et al., arXiv 2104.04473, equation 3 and its appendix.
Cannot tell: inactive experts (mixture of experts), padding, or what a script really computes; count operations for that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from fireassay.estimates.estimate import Absent, Reason
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.spec.sections.costs import QUANTISED, TERA, Flops, knows, peak_of


def palm(*, parameters: float, layers: int, heads: int, head_dim: int, sequence: int) -> float:
    """Operations per token by PaLM, appendix B."""
    return 6.0 * parameters + 12.0 * layers * heads * head_dim * sequence


def torchtitan(*, parameters: float, embedding_parameters: float, layers: int, heads: int, sequence: int, qk_dim: int, v_dim: int) -> float:
    """Operations per token by torchtitan; equals PaLM if `qk_dim` = `v_dim` and the embedding has no parameters."""
    return 6.0 * (parameters - embedding_parameters) + 6.0 * layers * heads * (qk_dim + v_dim) * sequence


@dataclass(frozen=True, kw_only=True)
class Attention:
    """The shape of one layer's attention."""

    heads: int
    head_dim: int
    groups: int  # of keys and values


@dataclass(frozen=True, kw_only=True)
class FeedForward:
    """The shape of one layer's feed-forward part."""

    width: int
    gated: bool  # as in SwiGLU


def megatron(*, layers: int, hidden: int, attention: Attention, feed_forward: FeedForward, vocabulary: int, sequence: int) -> float:
    """Operations per token by Megatron-LM: half of the attention products, as the mask is causal."""
    ratio = attention.heads * attention.head_dim / hidden
    attending = (1.0 + attention.groups / attention.heads + sequence / (2.0 * hidden)) * ratio
    feeding = feed_forward.width / hidden * (1.5 if feed_forward.gated else 1.0)
    return 12.0 * layers * hidden**2 * (attending + feeding + vocabulary / (2.0 * layers * hidden))


def megatron_2021(*, layers: int, hidden: int, vocabulary: int, sequence: int, recomputed: bool = False) -> float:
    """Operations per token by the Megatron paper of 2021; `recomputed`: with full activation recomputation, as in the paper."""
    passes = 96.0 if recomputed else 72.0
    logits = 16.0 if recomputed else 12.0
    return passes * layers * hidden**2 * (1.0 + sequence / (6.0 * hidden) + vocabulary / (logits * layers * hidden))


NOTHING_SAID: Final = (
    "nothing was counted: torch ran no recorded step of the script, or flops.convention is none. Declare a formula instead: "
    'flops.convention = "palm" with its numbers'
)
MIN_SHARE: Final = 1e-3  # of the products; below it a precision without a peak does not matter


Best = Mapping[tuple[str, str, int | None], float]  # device, precision, threads -> operations per second


@dataclass(frozen=True, kw_only=True)
class Report:
    """A rank's report on its first step."""

    launch: int
    rank: int
    host: str
    flops: float | None
    detail: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Amount:
    """A quantity of one launch, or why it is unknown."""

    value: float | None
    why: str = ""
    reason: Reason = "not_measured"


@once_per_record
def reports(measured: RecordData) -> Mapping[int, tuple[Report, ...]]:
    """launch -> the report of each of its ranks, from the last start; timed launches only."""
    events = measured.table("events").filter(pl.col("kind") == "flops")
    events = events.join(measured.timed.select("launch"), on="launch", how="semi").sort("launch", "rank", "incarnation")
    last: dict[int, dict[int, Report]] = {}
    for row in events.select("launch", "rank", "host", "value", "detail").iter_rows():
        report = Report(launch=row[0], rank=row[1], host=row[2], flops=row[3], detail=json.loads(row[4]))
        last.setdefault(report.launch, {})[report.rank] = report
    return {launch: tuple(ranks.values()) for launch, ranks in last.items()}


# ---- operations --------------------------------------------------------------------------------------------------------


def per_token(flops: Flops) -> float:
    """Operations per token by the declared convention; `fireassay.spec.sections.costs` checks that its numbers are given."""
    layers, heads, sequence = flops.layers or 0, flops.heads or 0, flops.sequence or 0
    size, hidden, vocabulary = flops.head_dim or 0, flops.hidden or 0, flops.vocabulary or 0
    if flops.convention == "palm":
        return palm(parameters=flops.parameters or 0.0, layers=layers, heads=heads, head_dim=size, sequence=sequence)
    if flops.convention == "torchtitan":
        return torchtitan(
            parameters=flops.parameters or 0.0,
            embedding_parameters=flops.embedding_parameters or 0.0,
            layers=layers,
            heads=heads,
            sequence=sequence,
            qk_dim=size,
            v_dim=size,
        )
    if flops.convention == "megatron":
        return megatron(
            layers=layers,
            hidden=hidden,
            attention=Attention(heads=heads, head_dim=size, groups=flops.groups or heads),
            feed_forward=FeedForward(width=flops.feed_forward or 0, gated=flops.gated),
            vocabulary=vocabulary,
            sequence=sequence,
        )
    return megatron_2021(layers=layers, hidden=hidden, vocabulary=vocabulary, sequence=sequence)


def of_steps(measured: RecordData, *, with_recomputed: bool = False) -> dict[int, Amount]:
    """launch -> the operations of one step of all its ranks; counted ones optionally with recomputed operations."""
    if measured.experiment.flops.convention == "none":
        return {}
    if measured.experiment.flops.convention != "counter":
        return _by_formula(measured)
    counted = reports(measured)
    workers = dict(measured.timed.select("launch", "workers").iter_rows())
    items = measured.once("items of steady steps", _items) if counted else {}
    return {launch: _sum(ranks, workers[launch], items, again=with_recomputed) for launch, ranks in counted.items()}


def _sum(ranks: tuple[Report, ...], workers: int, items: Mapping[tuple[int, int], float], *, again: bool) -> Amount:
    if len(ranks) < workers:
        return Amount(value=None, why=f"only {len(ranks)} of {workers} ranks counted their first step")
    total = 0.0
    for report in ranks:
        if report.flops is None:
            return Amount(value=None, why=f"rank {report.rank}: {report.detail.get('absent') or 'not counted'}")
        counted, mean_items = report.detail.get("items"), items.get((report.launch, report.rank))
        operations = report.flops + (report.detail.get("recomputed") or 0 if again else 0)
        total += operations * (mean_items / counted if counted and mean_items else 1.0)
    return Amount(value=total)


def _items(measured: RecordData) -> dict[tuple[int, int], float]:
    """(launch, rank) -> mean items of its steady steps, whose time these operations are divided by; repeated steps count in
    their last version.
    """
    mean = pl.col("items").drop_nulls().sort().mean()
    parts = measured.steady_slices("items")
    means = pl.concat(some.group_by("launch", "rank").agg(mean) for some in parts).drop_nulls()
    return {(launch, rank): items for launch, rank, items in means.iter_rows()}


def _by_formula(measured: RecordData) -> dict[int, Amount]:
    flops = measured.experiment.flops
    flops_per_token = per_token(flops)
    if flops.tokens_per_step is not None:
        return dict.fromkeys(measured.timed["launch"].to_list(), Amount(value=flops_per_token * flops.tokens_per_step))
    tokens = 1 if measured.experiment.workload.work == "tokens" else flops.sequence or 1
    steps = measured.steady_steps.group_by("launch").agg(pl.col("items").mean())
    why = "the script counts no items, so its tokens are unknown: set flops.tokens_per_step"
    return {
        launch: Amount(value=None, why=why) if items is None else Amount(value=flops_per_token * tokens * items)
        for launch, items in steps.iter_rows()
    }


# ---- peaks -------------------------------------------------------------------------------------------------------------


def peaks(measured: RecordData) -> dict[int, Amount]:
    """launch -> peak operations per second of all its devices together."""
    workers = dict(measured.timed.select("launch", "workers").iter_rows())
    every = reports(measured)
    best = _best(report for ranks in every.values() for report in ranks)
    return {launch: _peak(measured, ranks, workers[launch], best) for launch, ranks in every.items()}


def source(measured: RecordData) -> str:
    """The source of the peak: given, measured or datasheet."""
    return "given" if measured.experiment.flops.peak_tflops is not None else measured.experiment.flops.peak


def precisions(measured: RecordData) -> tuple[str, ...]:
    """The precisions of the products, of all launches."""
    declared = measured.experiment.flops.precision
    if declared is not None:
        return (declared,)
    parts = (part for ranks in reports(measured).values() for report in ranks for part in report.detail.get("by", ()))
    return tuple(sorted({str(part["precision"]) for part in parts}))


def _peak(measured: RecordData, ranks: tuple[Report, ...], workers: int, best: Best) -> Amount:
    if len(ranks) < workers:
        return Amount(value=None, why=f"only {len(ranks)} of {workers} ranks reported their device")
    devices: dict[tuple[str, str], float] = {}
    for report in ranks:
        for device, parts in _by_device(report, measured.experiment.flops.precision).items():
            amount = _of_device(measured, best, parts)
            if amount.value is None:
                return amount
            key = parts[0].get("uuid") or f"rank {report.rank} {device}"
            devices[(report.host, key)] = amount.value
    return Amount(value=sum(devices.values())) if devices else Amount(value=None, why="no rank reported its device")


def _by_device(report: Report, declared: str | None) -> dict[str, list[dict[str, Any]]]:
    """device -> its parts {name, precision, flops}; without counts, the device with the declared precision."""
    parts = report.detail.get("by") or [{**device, "precision": declared, "flops": 1} for device in report.detail.get("devices", ())]
    threads = {measured_peak["device"]: measured_peak.get("threads") for measured_peak in report.detail.get("peaks") or ()}
    devices: dict[str, list[dict[str, Any]]] = {}
    for part in parts:
        device_part = {**part, "precision": declared or part["precision"], "threads": threads.get(part["device"])}
        devices.setdefault(str(part["device"]), []).append(device_part)
    return devices


def _of_device(measured: RecordData, best: Best, parts: list[dict[str, Any]]) -> Amount:
    total = sum(part["flops"] for part in parts)
    time = 0.0
    for part in parts:
        if part["precision"] in QUANTISED:
            why = f"products in {part['precision']} are quantised: no peak applies to the whole step"
            return Amount(value=None, why=why, reason="not_applicable")
        speed = _speed(measured, best, part)
        if speed is None and part["flops"] > MIN_SHARE * total:
            return Amount(value=None, why=_unknown(measured, str(part["name"]), part["precision"]))
        time += part["flops"] / speed if speed else 0.0
    return Amount(value=total / time) if time else Amount(value=None, why="no product was counted")


def _speed(measured: RecordData, best: Best, part: Mapping[str, Any]) -> float | None:
    flops = measured.experiment.flops
    if flops.peak_tflops is not None:
        return flops.peak_tflops * TERA
    if flops.peak == "measured":
        return best.get((str(part["name"]), str(part["precision"]), part["threads"])) or None
    peak = None if part["precision"] is None else peak_of(str(part["name"]), str(part["precision"]))
    return None if peak is None else peak.flops_per_s


def _best(ranks: Iterable[Report]) -> dict[tuple[str, str, int | None], float]:
    """(name of a device, precision, threads of a processor) -> the fastest product of any rank in any launch.

    A peak belongs to the device, not to a launch; but a rank's processor counts as many cores as it has threads.
    """
    fastest: dict[tuple[str, str, int | None], float] = {}
    for report in ranks:
        names = {part["device"]: part["name"] for part in (*report.detail.get("by", ()), *report.detail.get("devices", ()))}
        for measured_peak in report.detail.get("peaks") or ():
            key = (str(names.get(measured_peak["device"])), str(measured_peak["precision"]), measured_peak.get("threads"))
            fastest[key] = max(fastest.get(key, 0.0), float(measured_peak.get("flops_per_s") or 0.0))
    return fastest


def _unknown(measured: RecordData, device: str, precision: str | None) -> str:
    remedy = 'Set flops.peak_tflops with its source, or flops.peak = "measured"; achieved_flops is the speed reached'
    if measured.experiment.flops.peak == "measured":
        return f"no product in {precision} was run on {device} to measure its peak"
    if precision is None:
        return f"the precision of {device} was not recorded: set flops.precision"
    if knows(device):
        return f"the peak of {device} in {precision} is not in the table. {remedy}"
    return f"the peak of {device!r} is unknown. {remedy}"


def absent(amounts: Iterable[Amount], otherwise: str = NOTHING_SAID) -> Absent:
    """Why there is no number, from the first launch that gives a reason."""
    first = next((amount for amount in amounts if amount.why), None)
    return Absent("not_measured", otherwise) if first is None else Absent(reason=first.reason, detail=first.why)
