"""Do the numbers come from the same runs, seeds and splits?

Numbers of different runs, seeds, splits or clusters may each be right, and their bundle still describes no system that ever existed.
Records: launches of one block must share their seed, and every configuration must be scored on the same held-out examples.  Claims:
runs and conditions of the single numbers.  Cannot tell: what a number by number check confirms; that check passes here.
"""

from __future__ import annotations

import polars as pl

from assay.metrics.base import WORKLOADS, Results
from assay.metrics.format import count
from assay.metrics.measured import Measured
from assay.spec.claim import Claim, Number
from assay.verdict.audits.base import Audit
from assay.verdict.audits.claimed import differing, found, is_quality, listed
from assay.verdict.types import Finding


def examine(measured: Measured, _: Results) -> tuple[Finding, ...]:
    """Blocks with several seeds; configurations that were scored on other examples than the base."""
    return (*_seeds(measured), *_splits(measured))


def _seeds(measured: Measured) -> list[Finding]:
    seeds = measured.timed.group_by("block").agg(pl.col("seed").n_unique())
    mixed = seeds.filter(pl.col("seed") > 1).sort("block")["block"].to_list()
    if not mixed:
        return []
    return [Finding(
        rule="seeds_differ", severity="warning", configuration=None,
        evidence=f"in {count(len(mixed), 'blocks')} the configurations were given different seeds (block {mixed[0]}): luck is part of the difference",
        remedy="let assay give the seeds ({seed} in workload.arguments), one for all launches of a block",
    )]  # fmt: skip


def _splits(measured: Measured) -> list[Finding]:
    if measured.subject == "serving":
        return []  # a higher load asks more prompts of a file; examples are compared by their ids
    examples = measured.scores.join(measured.timed.select("launch", "configuration"), on="launch")
    own = {
        name: frozenset(examples.filter(pl.col("configuration") == name)["example"].to_list())
        for name in measured.configurations
    }
    base = own[measured.base]
    return [
        Finding(
            rule="evaluation_sets_differ", severity="invalid", configuration=name,
            evidence=f"{count(len(ids ^ base), 'examples')} were scored at {name} or at {measured.base} but not at both",
            remedy="score the same held-out examples, under the same ids, in every configuration",
            needs=("quality",),
        )
        for name, ids in own.items()
        if ids and base and ids != base
    ]  # fmt: skip


def claim(said: Claim) -> tuple[Finding, ...]:
    """Numbers of different runs or conditions that are put side by side."""
    if len(said.number) < 2:
        return ()
    findings = []
    needs = ("one_configuration", *(("quality",) if any(map(is_quality, said.number)) else ()))
    mixed = {key: values for key, values in _conditions(said).items() if key not in said.claim.varying}
    if mixed:
        findings.append(found(
            "conditions_of_numbers_differ", "invalid", None, f"the numbers were measured under different conditions: {listed(mixed)}",
            "measure all of them under one set of conditions, in the same launches", *needs,
        ))  # fmt: skip
    for who, numbers in _by_system(said.number).items():
        runs = sorted({number.run for number in numbers if number.run is not None})
        if len(runs) > 1:
            findings.append(found(
                "numbers_of_different_runs", "invalid", None,
                f"the numbers{f' of {who}' if who else ''} were read from different runs ({'; '.join(runs)})",
                "read every number from the same launches", *needs,
            ))  # fmt: skip
    if not findings and all(number.run is None for number in said.number):
        findings.append(found(
            "runs_unsaid", "note", None, "the claim does not say whether its numbers come from the same runs",
            "say run of every number", "one_configuration",
        ))  # fmt: skip
    return tuple(findings)


def _conditions(said: Claim) -> dict[str, list[object]]:
    """The numbers' own conditions that differ; of numbers of several systems also the worker counts."""
    several = len(_by_system(said.number)) > 1
    facts: list[dict[str, object]] = [dict(number.conditions) for number in said.number]
    if several:
        for fact, number in zip(facts, said.number, strict=True):
            fact |= {"workers": number.workers} if number.workers is not None else {}
    return differing(facts)


def _by_system(numbers: tuple[Number, ...]) -> dict[str, list[Number]]:
    systems: dict[str, list[Number]] = {}
    for number in numbers:
        systems.setdefault(number.of or "", []).append(number)
    return systems


AUDIT = Audit(
    name="construct_mismatch", title="construct mismatch", question="Do the numbers come from the same runs, seeds and splits?",
    examine=examine, claim=claim, about=WORKLOADS,
)  # fmt: skip
