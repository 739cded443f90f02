"""Do the two sides differ only in what is studied?

Every condition other than the studied one must be equal, or the difference has no single cause. Configurations of a record share one
experiment; this checks that the environment stayed the same between its launches. `assay compare` compares records. Source: Hoefler &
Belli, SC'15, rule 9.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import WORKLOADS, Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.claimed_numbers import differences, found, is_studied, listed, studied
from fireassay.verdict.stated.kinds import is_relative
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim

FACTS = ("launcher", "engine", "host")  # of a placement; processors and devices follow from the worker count


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """A warning if configurations ran on other hosts, launchers or engines than their worker counts explain."""
    seen: dict[str, dict[str, set[str]]] = {}
    for configuration, fact, value in _placements(measured):
        seen.setdefault(fact, {}).setdefault(configuration, set()).add(value)
    differing = {
        fact: sorted({value for values in by.values() for value in values})
        for fact, by in seen.items()
        if len({frozenset(values) for values in by.values()}) > 1
    }
    if not differing:
        return ()
    evidence = f"the configurations ran in different environments: {listed(differing)}"
    remedy = "run every configuration on the same hosts with the same launcher; otherwise a difference may be the machine's"
    return (Finding("placement_differs", "warning", None, evidence, remedy),)


def _placements(measured: RecordData) -> Iterator[tuple[str, str, str]]:
    """(configuration, fact, value) of placement facts independent of the worker count."""
    for configuration, text in measured.timed.select("configuration", "placement").iter_rows():
        try:
            facts = json.loads(text or "{}")
        except ValueError:
            continue
        for fact, value in facts.items() if isinstance(facts, dict) else ():
            if fact in FACTS:
                yield configuration, fact, str(value)


def claim(said: Claim) -> Iterator[Finding]:
    """Differing conditions of the two sides."""
    base, other = said.conditions.baseline, said.conditions.candidate
    if not any(is_relative(number) for number in said.number) and not (base or other):
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


AUDIT = Audit(
    name="apples_to_oranges",
    title="apples to oranges",
    question="Do the two sides differ in anything other than what is studied?",
    examine=examine,
    claim=claim,
    about=WORKLOADS,
)
