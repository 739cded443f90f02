"""Is the baseline slower than it could be?

A speedup measures the baseline's slack if the baseline has fewer threads, another precision, a smaller batch or no compilation. A speedup
at or above the number of workers is a red flag: communication should cost something. Records: an efficiency with its whole interval above
1. Cannot tell: whether a serial program would be faster still; none was timed. Sources: Hoefler & Belli, SC'15, rule 1; Bailey, "Twelve
ways to fool the masses", 1991, nos. 2 and 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, given, show
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.scaling import scaling_mode
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.claimed_numbers import differences, folded, found, listed, unsaid
from fireassay.verdict.stated.gains import efficiency, pairs, workers_factor
from fireassay.verdict.stated.kinds import is_cost, is_energy, is_quality, is_relative
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim, Number

STRENGTH = ("threads", "precision", "dtype", "batch", "compil", "optimi", "fused", "cuda_graph", "tuned", "attention", "quantis", "quantiz")
BITS = {"fp64": 64, "fp32": 32, "tf32": 19, "bf16": 16, "fp16": 16, "fp8": 8, "int8": 8, "fp4": 4, "int4": 4, "nvfp4": 4, "mxfp4": 4}
BASE = "base_kind"  # condition of the experiment; best_serial: the base is the best program for one worker


def examine(measured: RecordData, results: Results) -> Iterator[Finding]:
    """A warning per configuration with superlinear speedup; one if the base had other threads."""
    for name in measured.configurations:
        value = results["efficiency"][name]
        if (
            name != measured.base
            and isinstance(value, Estimate)
            and value.n_launches > 1
            and value.low > 1.0
            and not _other_work(measured, results, name)
        ):
            evidence = f"the efficiency {show(value, beside=(1.0,)).full} is above 1: {measured.base} is slower than one worker's share of the work"
            remedy = "find what the base lacks: memory that fits in the caches only when divided, threads, batch; then time a stronger base"
            yield Finding("speedup_above_workers", "warning", name, evidence, remedy, needs=("strong_base",))


def _other_work(measured: RecordData, results: Results, name: str) -> bool:
    """Whether lost or repeated samples, or other batches, explain the speed: `samples` and `scaling_mode` report them."""
    wrong = (results[metric][name] for metric in ("samples_lost", "samples_duplicated"))
    if any(isinstance(value, Estimate) and value.value > 0.0 for value in wrong):
        return True
    return any(finding.configuration == name for finding in scaling_mode.examine(measured, results))


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind: a record times the same script on fewer workers, not another program; a single configuration has no baseline."""
    if len(measured.levels) == 1 or str(measured.experiment.conditions.get(BASE, "")) == "best_serial":
        return None
    return (
        f"the base is this script on {count(measured.experiment.base_level, 'workers')}; whether another program is faster on one worker "
        f'was not measured (if it is the best one known, declare it: conditions.{BASE} = "best_serial")'
    )


def claim(said: Claim) -> Iterator[Finding]:
    """The two sides' strength, the kind of baseline, and speedups that are too good."""
    relative = [n for n in said.number if is_relative(n) and not (is_quality(n) or is_cost(n) or is_energy(n))]
    weak = {key: values for key, values in differences(said).items() if is_strength(key) and not _base_is_stronger(values)}
    if weak and relative:
        evidence = f"baseline and candidate differ in {listed(weak)}: part of the ratio is what the baseline lacks"
        remedy = "give the baseline the candidate's settings, or the best it can have, and measure both again"
        yield found("baseline_not_equally_optimised", "invalid", relative[0], evidence, remedy, "strong_base")
    yield from _too_good(said)
    vague = [number for number in relative if number.baseline is None or number.baseline.kind in (None, "unknown")]
    yield from unsaid(
        "baseline_kind_unsaid",
        vague,
        "what kind of baseline it was",
        "state baseline.kind: best_serial, one_worker, one_node or other_system",
        "strong_base",
    )
    one_worker = [number for number in relative if number.baseline is not None and number.baseline.kind == "one_worker"]
    yield from unsaid(
        "best_serial_unsaid",
        one_worker,
        "whether the distributed program on one worker is as fast as the best serial one",
        'time the best serial program as well, or state baseline.kind = "best_serial"',
        "strong_base",
    )


def _base_is_stronger(values: list[object]) -> bool:
    """Whether the baseline, not the candidate, has the advantage: compilation, more threads, fewer bits."""
    base, candidate = values[0], values[-1]
    if isinstance(base, bool) and isinstance(candidate, bool):
        return base and not candidate
    bits = [BITS.get(folded(value)) for value in (base, candidate)]
    return bits[0] is not None and bits[1] is not None and bits[0] < bits[1]


def is_strength(key: str) -> bool:
    """Whether a condition makes one machine faster."""
    return any(part in key.casefold() for part in STRENGTH)


def _too_good(said: Claim) -> list[Finding]:
    """Gains at or above the number of workers, in any form."""
    efficiencies = [(number, efficiency(said, number), workers_factor(said, number)) for number in said.number]
    findings = [
        _at_workers(number, value, factor, _low(said, number))
        for number, value, factor in efficiencies
        if value is not None and _at_least_one(value)
    ]
    for base, number, value in pairs(said):
        if _at_least_one(value):
            findings.append(_at_workers(number, value, (number.workers or 1) / (base.workers or 1), None))
    return findings


def _at_least_one(value: float) -> bool:
    """Whether a published efficiency is at least 1, to three digits."""
    return float(f"{value:.3g}") >= 1.0


def _low(said: Claim, number: Number) -> float | None:
    """The efficiency at the worse end of the number's interval."""
    interval = number.interval
    if interval is None or interval.kind != "confidence" or interval.low is None or interval.high is None:
        return None
    ends = [efficiency(said, number, end) for end in (interval.low, interval.high)]
    known = [end for end in ends if end is not None]
    return min(known) if len(known) == len(ends) else None


def _at_workers(number: Number, value: float, factor: float | None, low: float | None) -> Finding:
    certain = f", and so is its whole interval from {given(low, 3)}" if low is not None and low >= 1.0 else ""
    times = f"{given(value * factor, 3)} times as fast with {given(factor, 3)} times the workers: " if factor else ""
    evidence = f"{times}an efficiency of {given(value, 3)}, at or above what is possible if one worker is used well{certain}"
    remedy = "find what the baseline lacks (precision, batch, threads, compilation) before believing that communication costs nothing"
    return found("speedup_at_workers", "warning", number, evidence, remedy, "strong_base")


AUDIT = Audit(
    name="weak_baseline",
    title="weak baseline",
    question="Is the baseline slower than it could be?",
    examine=examine,
    claim=claim,
    blind=blind,
)
