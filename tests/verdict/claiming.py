"""A claim that says everything and is sound, to be broken in one place by each test.

8 workers, 6 times as fast as the best serial program [5.8, 6.2], which does 100 items/s; 5 launches, 500 trials, accuracy held.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from fireassay.spec.claim import Claim
from fireassay.verdict.claims.claim import Audited, audit_claim
from fireassay.verdict.types import Finding

BASELINE = {"workers": 1, "kind": "best_serial", "value": 100.0, "unit": "items/s", "global_batch": 256}
NUMBER: dict[str, Any] = {
    "metric": "speedup",
    "value": 6.0,
    "unit": "ratio",
    "statistic": "ratio",
    "run": "r1",
    "workers": 8,
    "baseline": BASELINE,
    "launches": 5,
    "planned_launches": 5,
    "trials": 500,
    "interval": {"low": 5.8, "high": 6.2, "kind": "confidence", "confidence": 0.95},
    "warm_up_excluded": True,
    "data_loading_timed": False,
    "synchronised": True,
    "scaling": "strong",
    "global_batch": 256,
}
LATENCY: dict[str, Any] = {
    "metric": "latency",
    "value": 0.2,
    "unit": "s",
    "statistic": "p99",
    "run": "r1",
    "launches": 5,
    "trials": 5000,
    "interval": {"low": 0.19, "high": 0.22, "kind": "confidence"},
    "warm_up_excluded": True,
    "synchronised": True,
    "data_loading_timed": False,
}
THROUGHPUT: dict[str, Any] = LATENCY | {
    "metric": "throughput",
    "value": 500.0,
    "unit": "tokens/s",
    "statistic": "median",
    "interval": {"low": 490, "high": 510, "kind": "confidence"},
}
SIDE = {"precision": "bf16", "compile": True, "threads": 8, "hardware": "8 GPUs", "dataset": "d", "split": "test", "seed": 1}
QUALITY = {"metric": "accuracy", "margin": 0.01, "baseline": 0.9, "candidate": 0.9, "items": 10_000, "same_launches": True}
NOTHING = object()  # the value of a key that is left out


def claim(
    number: Mapping[str, Any] | None = None,
    *,
    numbers: list[dict[str, Any]] | None = None,
    baseline: Mapping[str, Any] | None = None,
    candidate: Mapping[str, Any] | None = None,
    **sections: Any,
) -> Claim:
    """The sound claim; `number`, `baseline` and `candidate` change keys, `numbers` replaces the numbers, sections are added."""
    data: dict[str, Any] = {
        "claim": {"text": "6 times as fast", "source": "test", "exclusive": True},
        "number": numbers if numbers is not None else [_changed(NUMBER, number)],
        "conditions": {"baseline": _changed(SIDE, baseline), "candidate": _changed(SIDE, candidate)},
        "quality": QUALITY,
    }
    for name, section in sections.items():
        data[name] = _changed(data.get(name) or {}, section) if section is not None else NOTHING
    return Claim.model_validate({name: section for name, section in data.items() if section is not NOTHING})


def _changed(data: Mapping[str, Any], changes: Mapping[str, Any] | None) -> dict[str, Any]:
    made = copy.deepcopy(dict(data)) | dict(changes or {})
    return {key: value for key, value in made.items() if value is not NOTHING}


def found(said: Claim) -> dict[str, str]:
    """rule -> severity of everything that the audits found."""
    return {finding.rule: finding.severity for finding in findings(said)}


def findings(said: Claim) -> list[Finding]:
    """Every finding."""
    return [finding for pitfall in audit_claim(said).pitfalls for finding in pitfall.findings]


def the_finding(said: Claim, rule: str) -> Finding:
    """The only finding of a rule."""
    (only,) = [finding for finding in findings(said) if finding.rule == rule]
    return only


def measure(audited: Audited) -> list[str]:
    """The names of the quantities to measure."""
    return [quantity.name for quantity in audited.quantities]
