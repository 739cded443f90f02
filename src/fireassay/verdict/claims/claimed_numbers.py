"""How do audits compare the two sides of a claim and word their findings?

`fireassay.verdict.claims.stated` reads the kind, unit and gain of each number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from fireassay.estimates.format import given
from fireassay.printable import some
from fireassay.spec.claim import Claim, Number
from fireassay.verdict.claims.stated.gains import COUNTS, workers_factor
from fireassay.verdict.claims.stated.kinds import is_collective, is_cost, is_energy, is_relative, is_speed, unit_of
from fireassay.verdict.types import Finding, Severity

SAME = {  # spellings of one value
    "float16": "fp16",
    "half": "fp16",
    "f16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "f32": "fp32",
    "single": "fp32",
    "float": "fp32",
    "float64": "fp64",
    "double": "fp64",
    "true": "yes",
    "on": "yes",
    "enabled": "yes",
    "false": "no",
    "off": "no",
    "disabled": "no",
    "none": "no",
}


def speeds(claim: Claim) -> tuple[Number, ...]:
    """The claim's speed numbers."""
    return tuple(number for number in claim.number if is_speed(number))


def improved(claim: Claim) -> tuple[Number, ...]:
    """Numbers that a worse result could buy: speeds, and costs or energies below another system's. Excludes collectives and achieved
    FLOP/s.
    """
    return tuple(
        number
        for number in claim.number
        if (is_speed(number) and not is_collective(number) and (is_relative(number) or unit_of(number).noun != "flop"))
        or ((is_cost(number) or is_energy(number)) and is_relative(number))
    )


def studied(claim: Claim) -> frozenset[str]:
    """Conditions meant to differ: those under study, and those that follow from them."""
    varying = {key.strip().casefold() for key in claim.claim.varying}
    follows = set(COUNTS) if varying & set(COUNTS) else set()
    modes = {number.scaling for number in claim.number}  # `scaling_mode` checks that the batches fit the mode
    follows |= {"global_batch"} if "weak" in modes else set()
    follows |= {"batch_per_worker"} if "strong" in modes else set()
    return frozenset({*claim.claim.varying, *varying, *follows})


def is_studied(key: str, meant: frozenset[str]) -> bool:
    """True if a condition is meant to differ; "Batch size" equals batch_size."""
    plain = re.sub(r"[\s-]+", "_", key.strip().casefold())
    return key in meant or plain in {re.sub(r"[\s-]+", "_", other.casefold()) for other in meant}


def differences(claim: Claim) -> dict[str, list[object]]:
    """Conditions in which the two sides differ, except those under study; a device count in a hardware name is a worker count."""
    meant = studied(claim)
    counted = bool(meant & set(COUNTS))
    sides = (claim.conditions.baseline, claim.conditions.candidate)
    odd = differing(tuple({key: uncounted(key, value) if counted else value for key, value in side.items()} for side in sides))
    return {
        key: [side[key] for side in sides if key in side]
        for key in odd
        if not is_studied(key, meant) and not _batch_follows(claim, key, sides)
    }


def _batch_follows(claim: Claim, key: str, sides: tuple[Mapping[str, object], ...]) -> bool:
    """True if the global batch grew with the workers (weak scaling), or the per-worker batch shrank with them (strong scaling)."""
    base, candidate = (side.get(key) for side in sides)
    if (
        "batch" not in key.casefold()
        or not isinstance(base, int | float)
        or not isinstance(candidate, int | float)
        or not base
        or not candidate
    ):
        return False
    factors = {number.scaling: workers_factor(claim, number) for number in claim.number}
    grown, shrunk = factors.get("weak"), factors.get("strong")
    return (grown is not None and candidate == base * grown) or (shrunk is not None and base == candidate * shrunk)


def uncounted(key: str, value: object) -> object:
    """Hardware without its device count: "8x A100" as "A100"."""
    if not re.search(r"hardware|device|gpu|accelerator|machine|instance|node", key.casefold()) or not isinstance(value, str):
        return value
    plain = re.sub(r"^\s*(\d+\s*[x×*]?|an?|one|single)\s+(?=\S)|^\s*\d+\s*[x×*]\s*", "", value, flags=re.IGNORECASE)
    return re.sub(r"(?<=[A-Za-z0-9])s$", "", re.sub(r"\s*[x×]\s*\d+\s*$", "", plain.strip()))


def differing(sides: Iterable[Mapping[str, object]]) -> dict[str, list[object]]:
    """key -> values, for keys given more than once with different values."""
    seen: dict[str, list[object]] = {}
    for side in sides:
        for key, value in side.items():
            seen.setdefault(key, []).append(value)
    return {key: values for key, values in seen.items() if len({folded(value) for value in values}) > 1}


def folded(value: object) -> str:
    """Normalised value of a condition: "FP16", "float16" and " fp-16" are equal; so are 1, 1.0 and "1", or true, "on" and "yes"."""
    text = word(value).strip().casefold()
    try:
        number = float(text)
    except ValueError:
        plain = re.sub(r"[\s_-]+", "", text)
        return SAME.get(plain, plain)
    return given(number) if math.isfinite(number) else text


def listed(values: Mapping[str, Iterable[object]]) -> str:
    """ "precision (float32, float16), batch (1, 256)"."""
    return ", ".join(f"{key} ({' and '.join(map(word, dict.fromkeys(map(word, sides))))})" for key, sides in values.items())


def word(value: object) -> str:
    """A condition's value as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and abs(value) > 10**15:
        return str(value)
    return given(float(value)) if isinstance(value, int | float) else str(value)


def found(rule: str, severity: Severity, where: Number | None, evidence: str, remedy: str, *needs: str) -> Finding:
    """A finding on a claim; `needs` are facts of `fireassay.verdict.claims.claim`."""
    return Finding(
        rule=rule, severity=severity, configuration=where.label if where else None, evidence=evidence, remedy=remedy, needs=needs
    )


def unsaid(rule: str, where: Iterable[Number], what: str, remedy: str, *needs: str) -> tuple[Finding, ...]:
    """One note for all numbers that leave something unstated; none if there is no such number."""
    labels = [number.label for number in where]
    if not labels:
        return ()
    named = some(labels, 3)
    return (found(rule, "note", None, f"the claim does not say {what} ({named})", remedy, *needs),)
