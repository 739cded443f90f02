"""Do the two sides of a claim differ only in what is studied, from a baseline that was not weak?"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

from fireassay.estimates.format import count, given
from fireassay.frames.record_data import TOLERANCE
from fireassay.spec.claim import Claim, Number
from fireassay.spec.scores import has_word
from fireassay.verdict.claims.claim import ClaimAudits
from fireassay.verdict.claims.claimed_numbers import differences, folded, found, is_studied, listed, studied, unsaid
from fireassay.verdict.claims.claimed_numbers import found as said_wrong
from fireassay.verdict.claims.stated.gains import OF_A_STEP, base_workers, efficiency, gain, pairs, workers_factor
from fireassay.verdict.claims.stated.kinds import is_cost, is_energy, is_quality, is_relative, is_speed, metric_name, statistic, unit_of
from fireassay.verdict.types import Finding

AUDITS = ClaimAudits()


@AUDITS.add("construct_mismatch")
def claim_construct_mismatch(said: Claim) -> tuple[Finding, ...]:
    """Numbers of different runs, conditions or statistics presented together."""
    if len(said.number) < 2:
        return ()
    findings = []
    needs = ("one_configuration", *(("quality",) if any(map(is_quality, said.number)) else ()))
    meant = studied(said)
    mixed = {key: values for key, values in _conditions(said).items() if not is_studied(key, meant)}
    if mixed:
        findings.append(
            found(
                "conditions_of_numbers_differ",
                "invalid",
                None,
                f"the numbers were measured under different conditions: {listed(mixed)}",
                "measure all of them under one set of conditions, in the same launches",
                *needs,
            )
        )
    for who, runs in _runs(said.number).items():
        findings.append(
            found(
                "numbers_of_different_runs",
                "invalid",
                None,
                f"the numbers{f' of {who}' if who else ''} come from different runs ({'; '.join(runs)})",
                "take every number from the same launches",
                *needs,
            )
        )
    findings += _statistics(said)
    if not findings and all(number.run is None for number in said.number):
        findings.append(
            found(
                "runs_unsaid",
                "note",
                None,
                "the claim does not say whether its numbers come from the same runs",
                "state run for every number",
                "one_configuration",
            )
        )
    return tuple(findings)


ConstructMismatchGroup = tuple[str, str]  # system, metric


def _groups(numbers: tuple[Number, ...]) -> dict[ConstructMismatchGroup, list[Number]]:
    groups: dict[ConstructMismatchGroup, list[Number]] = {}
    for number in numbers:
        groups.setdefault((number.of or "", metric_name(number.metric)), []).append(number)
    return groups


def _conditions(said: Claim) -> dict[str, list[object]]:
    """Conditions, and between systems worker counts, that differ between metrics; one metric over several values of a condition is a sweep."""
    groups = _groups(said.number)
    several = len({system for system, _ in groups}) > 1
    seen: dict[str, dict[ConstructMismatchGroup, dict[str, object]]] = {}
    for group, numbers in groups.items():
        for number in numbers:
            facts: dict[str, object] = dict(number.conditions.items())
            if several and number.workers is not None:
                facts["workers"] = number.workers
            for key, value in facts.items():
                seen.setdefault(key, {}).setdefault(group, {})[folded(value)] = value
    return {
        key: [value for values in by.values() for value in values.values()]
        for key, by in seen.items()
        if not _nested([set(values) for values in by.values()])
    }


def _nested(sets: list[set[str]]) -> bool:
    """True if one of two sets contains the other: a number at one point of a sweep belongs to it."""
    return all(first <= other or other <= first for first, other in itertools.combinations(sets, 2))


def _runs(numbers: tuple[Number, ...]) -> dict[str, list[str]]:
    """system -> its runs, if two metrics on the same workers share none."""
    mixed: dict[str, list[str]] = {}
    for (system, metric), group in _groups(numbers).items():
        for (other_system, other_metric), others in _groups(numbers).items():
            if system == other_system and metric < other_metric and _apart(group, others):
                mixed[system] = sorted({number.run for number in (*group, *others) if number.run is not None})
    return mixed


def _apart(ours: list[Number], others: list[Number]) -> bool:
    """True if the numbers of two related metrics come from different runs."""
    run_pairs = [
        (number.run, other.run)
        for number in ours
        for other in others
        if number.run and other.run and (number.workers == other.workers or None in (number.workers, other.workers))
    ]
    return bool(run_pairs) and all(run != other for run, other in run_pairs)


def _statistics(said: Claim) -> Iterator[Finding]:
    """Systems that report a metric only by different statistics."""
    by_metric: dict[str, dict[str, list[Number]]] = {}
    for (system, metric), numbers in _groups(said.number).items():
        if system:
            by_metric.setdefault(metric, {})[system] = numbers
    for systems in by_metric.values():
        for (name, first), (other, second) in itertools.combinations(systems.items(), 2):
            given = [{CENTRE.get(kind, kind) for number in side if (kind := statistic(number)) is not None} for side in (first, second)]
            if all(given) and not given[0] & given[1]:
                words = f"{first[0].metric} of {name} is a {', '.join(sorted(given[0]))}, of {other} a {', '.join(sorted(given[1]))} (number.statistic)"
                remedy = "give the same statistic for both"
                yield found("statistics_differ", "invalid", second[0], words, remedy, "one_configuration", "tail")


CENTRE = {"p50": "median"}


@AUDITS.add("apples_to_oranges")
def claim_apples_to_oranges(said: Claim) -> Iterator[Finding]:
    """Differing conditions of the two sides, and bare numbers, which nothing can be compared with."""
    base, other = said.conditions.baseline, said.conditions.candidate
    if not any(is_relative(number) for number in said.number) and not (base or other):
        bare = [n for n in said.number if is_speed(n) and not n.conditions and n.launches is None and n.trials is None]
        yield from unsaid(
            "conditions_unsaid", bare, "under which conditions it holds", "state batch, precision, hardware, data set and software"
        )
        return
    meant = studied(said)
    differing = differences(said)
    if differing:
        evidence = f"the two sides differ in {listed(differing)}; under study: {', '.join(said.claim.varying) or 'not stated'}"
        remedy = "keep every condition equal except the one under study, and measure both sides again"
        yield found("conditions_differ", "invalid", None, evidence, remedy, "same_conditions")
    one_sided = sorted(key for key in base.keys() ^ other.keys() if not is_studied(key, meant))
    if one_sided:
        evidence = f"stated for one side only: {', '.join(one_sided)}"
        remedy = "state it for both sides, in [conditions.baseline] and [conditions.candidate]"
        yield found("condition_of_one_side", "note", None, evidence, remedy)
    if not base and not other:
        evidence = "the claim does not say under which conditions the two sides were measured"
        remedy = "state precision, batch, hardware, data set and software of both sides"
        yield found("conditions_unsaid", "note", None, evidence, remedy, "same_conditions")


@AUDITS.add("scaling_mode")
def claim_mode(said: Claim) -> tuple[Finding, ...]:
    """Modes that contradict the batches, and unstated modes."""
    scaled = [n for n in said.number if _is_scaled(said, n)]
    wrong = [finding for number in scaled for finding in _contradicted(said, number)]
    unequal = [finding for number in said.number for finding in _unequal_work(said, number)]
    told = {finding.configuration for finding in unequal}
    open_ = [n for n in scaled if n.scaling is None and n.label not in told and len(_known(said, n)) < len(SIDES)]
    which = [n for n in scaled if n.scaling is None and n.label not in told and len(_known(said, n)) == len(SIDES)]
    what = "whether the total work or the work per worker was fixed"
    return (
        *wrong,
        *unequal,
        *unsaid("scaling_mode_unsaid", open_, what, 'state scaling = "strong" or "weak", and global_batch of both sides', "work"),
        *unsaid("scaling_mode_unsaid", which, f"{what}, though it gives both global batches", 'state scaling = "strong" or "weak"', "work"),
    )


def _is_scaled(said: Claim, number: Number) -> bool:
    """True if the number compares worker counts: not scores, costs, or another system on equally many workers."""
    if not is_relative(number) or number.workers is None or is_quality(number) or is_cost(number) or is_energy(number):
        return False
    other = number.baseline is not None and number.baseline.kind == "other_system" and number.baseline.workers is None
    return not other and number.workers != base_workers(said, number)


def _batches(said: Claim, number: Number) -> tuple[float | None, float | None]:
    """The global batches of the baseline and of the number, wherever they were stated."""
    base = number.baseline.global_batch if number.baseline is not None else None
    sides = (said.conditions.baseline.get("global_batch"), said.conditions.candidate.get("global_batch"))
    written = [float(side) if isinstance(side, int | float) else None for side in sides]
    return base if base is not None else written[0], number.global_batch if number.global_batch is not None else written[1]


SIDES: Final = ("baseline", "candidate")


def _known(said: Claim, number: Number) -> list[float]:
    return [batch for batch in _batches(said, number) if batch is not None]


def _unequal_work(said: Claim, number: Number) -> list[Finding]:
    """Times or rates of steps that do different amounts of work, unless the work is said to grow with the workers."""
    base, unit = number.baseline, unit_of(number)
    of_steps = unit.noun == "step" or (unit.kind == "time" and has_word(number.metric, OF_A_STEP))
    if not of_steps or number.scaling == "weak" or base is None or base.value is None or len(batches := _known(said, number)) < len(SIDES):
        return []
    before, after = batches
    if abs(after - before) <= TOLERANCE * before:
        return []
    speedup = gain(number)
    per_item = f"; per item it is {given(speedup * after / before, 3)} times as fast" if speedup is not None else ""
    evidence = f"a step of {given(after)} items is compared with one of {given(before)} (global_batch): unequal work{per_item}"
    remedy = 'compare items per second, or steps of one global batch; if the work is meant to grow with the workers, state scaling = "weak"'
    return [said_wrong("unequal_work", "invalid", number, evidence, remedy, "work")]


def _contradicted(said: Claim, number: Number) -> list[Finding]:
    base, batch = _batches(said, number)
    if base is None or batch is None or number.scaling is None or number.workers is None:
        return []
    expected = base if number.scaling == "strong" else base * number.workers / (base_workers(said, number) or 1)
    if abs(batch - expected) <= TOLERANCE * expected:
        return []
    evidence = (
        f"{number.scaling} scaling needs a global batch of {given(expected)} at {count(number.workers, 'workers')}; stated: {given(batch)}"
    )
    remedy = "keep the global batch fixed for strong scaling, the batch per worker for weak scaling, or claim the other mode"
    return [said_wrong("scaling_mode_contradicted", "invalid", number, evidence, remedy, "work")]


STRENGTH = ("threads", "precision", "dtype", "batch", "compil", "optimi", "fused", "cuda_graph", "tuned", "attention", "quantis", "quantiz")
BASELINE_BITS = {
    "fp64": 64,
    "fp32": 32,
    "tf32": 19,
    "bf16": 16,
    "fp16": 16,
    "fp8": 8,
    "int8": 8,
    "fp4": 4,
    "int4": 4,
    "nvfp4": 4,
    "mxfp4": 4,
}


@AUDITS.add("weak_baseline")
def claim_baseline(said: Claim) -> Iterator[Finding]:
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
    """True if the baseline, not the candidate, has the advantage: compilation, more threads, fewer bits."""
    base, candidate = values[0], values[-1]
    if isinstance(base, bool) and isinstance(candidate, bool):
        return base and not candidate
    bits = [BASELINE_BITS.get(folded(value)) for value in (base, candidate)]
    return bits[0] is not None and bits[1] is not None and bits[0] < bits[1]


def is_strength(key: str) -> bool:
    """True if a condition makes one machine faster."""
    return any(part in key.casefold() for part in STRENGTH)


def _too_good(said: Claim) -> list[Finding]:
    """Gains at or above the number of workers, in any form."""
    efficiencies = [(number, efficiency(said, number), workers_factor(said, number)) for number in said.number]
    findings = [
        _at_workers(number, value, factor, _baseline_low(said, number))
        for number, value, factor in efficiencies
        if value is not None and _at_least_one(value)
    ]
    for base, number, value in pairs(said):
        if _at_least_one(value):
            findings.append(_at_workers(number, value, (number.workers or 1) / (base.workers or 1), None))
    return findings


def _at_least_one(value: float) -> bool:
    """True if a published efficiency is at least 1, to three digits."""
    return float(f"{value:.3g}") >= 1.0


def _baseline_low(said: Claim, number: Number) -> float | None:
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
