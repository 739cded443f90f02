"""What kind of number did somebody claim, and how does an audit say what it found in it?  Shared by the audits of claims.

Kinds are told from words in the metric's name; a name without any of these words is of no kind, and audits that ask for one pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from assay.metrics.format import given
from assay.spec.claim import Claim, Number
from assay.verdict.types import Finding, Severity

RELATIVE = ("speedup", "speed_up", "efficiency", "faster", "improvement", "gain", "ratio", "reduction", "saving")
RATES = ("throughput", "goodput", "per_second", "per_s", "rate", "flops", "bandwidth")
TIMES = ("time", "latency", "ttft", "tpot", "duration", "seconds", "hours", "delay")
QUALITIES = (
    "accuracy",
    "quality",
    "auc",
    "f1",
    "bleu",
    "rouge",
    "perplexity",
    "loss",
    "score",
    "recall",
    "precision_at",
)
WAITS = ("latency", "ttft", "tpot", "delay", "response", "tail")  # what users wait for: the tail is what they feel


def is_relative(number: Number) -> bool:
    """A speedup or another number that divides by a baseline."""
    return number.baseline is not None or _has(number, RELATIVE)


def is_speed(number: Number) -> bool:
    """A number on how fast something is."""
    return not is_quality(number) and (is_relative(number) or _has(number, RATES + TIMES))


def is_rate(number: Number) -> bool:
    """Work per time."""
    return _has(number, RATES) or bool(number.unit and re.search(r"/\s*s(ec)?\b|per second", number.unit))


def is_quality(number: Number) -> bool:
    """How good the result is."""
    return _has(number, QUALITIES)


def is_wait(number: Number) -> bool:
    """A time that somebody waits for."""
    return _has(number, WAITS)


def speeds(claim: Claim) -> tuple[Number, ...]:
    """The claim's numbers on how fast something is."""
    return tuple(number for number in claim.number if is_speed(number))


def studied(claim: Claim) -> frozenset[str]:
    """Conditions that are meant to differ: what is studied, and what follows from it."""
    follows = {"workers", "nodes", "world_size"} if "workers" in claim.claim.varying else set()
    modes = {number.scaling for number in claim.number}  # `scaling_mode` looks whether the batches fit the mode
    follows |= {"global_batch"} if "weak" in modes else set()
    follows |= {"batch_per_worker"} if "strong" in modes else set()
    return frozenset({*claim.claim.varying, *follows})


def differing(sides: Iterable[Mapping[str, object]]) -> dict[str, list[object]]:
    """key -> the values given, of the keys that were given more than once with different values."""
    seen: dict[str, list[object]] = {}
    for side in sides:
        for key, value in side.items():
            seen.setdefault(key, []).append(value)
    return {key: values for key, values in seen.items() if len({folded(value) for value in values}) > 1}


def folded(value: object) -> str:
    """A condition's value so that "FP16", "fp16" and " fp16" are one, and 1 and 1.0."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip().casefold()


def listed(values: Mapping[str, Iterable[object]]) -> str:
    """ "precision (float32, float16), batch (1, 256)"."""
    return ", ".join(f"{key} ({' and '.join(map(word, dict.fromkeys(map(word, own))))})" for key, own in values.items())


def word(value: object) -> str:
    """A condition's value as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return given(float(value)) if isinstance(value, int | float) else str(value)


def found(rule: str, severity: Severity, where: Number | None, evidence: str, remedy: str, *needs: str) -> Finding:
    """A finding on a claim; `needs` are facts of `assay.verdict.claims`."""
    return Finding(
        rule=rule,
        severity=severity,
        configuration=where.label if where else None,
        evidence=evidence,
        remedy=remedy,
        needs=needs,
    )


def unsaid(rule: str, where: Iterable[Number], what: str, remedy: str, *needs: str) -> tuple[Finding, ...]:
    """One note for all the numbers that do not say something; none if there is no such number."""
    labels = [number.label for number in where]
    if not labels:
        return ()
    named = ", ".join(labels[:3]) + (" ..." if len(labels) > 3 else "")
    return (found(rule, "note", None, f"the claim does not say {what} ({named})", remedy, *needs),)


def _has(number: Number, words: tuple[str, ...]) -> bool:
    name = re.sub(r"[\s-]+", "_", number.metric.casefold())
    return any(re.search(rf"(^|_){re.escape(part)}", name) for part in words)
