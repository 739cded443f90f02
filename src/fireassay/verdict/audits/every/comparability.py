"""Do the compared numbers measure one thing under one set of conditions?"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import WORKLOADS, Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.claimed_numbers import differences, folded, found, is_studied, listed, studied
from fireassay.verdict.stated.kinds import is_quality, is_relative
from fireassay.verdict.stated.names import metric_name, statistic
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim, Number


# ---- construct mismatch ----


def examine_construct_mismatch(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """Blocks with several seeds; configurations scored on other examples than the base.

    Numbers from different runs, seeds, splits or clusters may each be right, yet together describe no system that ever existed: checking
    them one by one finds nothing. Records: launches of one block must share their seed, and every configuration must be scored on the same
    held-out examples. Claims: runs and conditions of the individual numbers.
    """
    return (*_seeds(measured), *_splits(measured))


def _seeds(measured: RecordData) -> list[Finding]:
    seeds = measured.timed.group_by("block").agg(pl.col("seed").n_unique())
    mixed = seeds.filter(pl.col("seed") > 1).sort("block")["block"].to_list()
    if not mixed:
        return []
    evidence = (
        f"in {count(len(mixed), 'blocks')} the configurations had different seeds (block {mixed[0]}): chance is part of the difference"
    )
    remedy = "let assay set the seeds ({seed} in workload.arguments), one for all launches of a block"
    return [Finding("seeds_differ", "warning", None, evidence, remedy)]


def _splits(measured: RecordData) -> list[Finding]:
    if not measured.kind.same_examples:
        return []
    examples = measured.scores.join(measured.timed.select("launch", "configuration"), on="launch")
    splits = {name: frozenset(examples.filter(pl.col("configuration") == name)["example"].to_list()) for name in measured.configurations}
    base = splits[measured.base]
    return [
        Finding(
            "evaluation_sets_differ",
            "invalid",
            name,
            f"{count(len(ids ^ base), 'examples')} were scored at {name} or at {measured.base} but not at both",
            "score the same held-out examples, under the same ids, in every configuration",
            needs=("quality",),
        )
        for name, ids in splits.items()
        if ids and base and ids != base
    ]


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
    """Whether one of two sets contains the other: a number at one point of a sweep belongs to it."""
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
    """Whether the numbers of two related metrics come from different runs."""
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


# ---- apples to oranges ----

FACTS = ("launcher", "engine", "host")  # of a placement; processors and devices follow from the worker count


def examine_apples_to_oranges(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """A warning if configurations ran on other hosts, launchers or engines than their worker counts explain.

    Every condition other than the studied one must be equal, or the difference has no single cause. Configurations of a record share one
    experiment; this checks that the environment stayed the same between its launches. `assay compare` compares records. Source: Hoefler &
    Belli, SC'15, rule 9.
    """
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


def claim_apples_to_oranges(said: Claim) -> Iterator[Finding]:
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


AUDITS = (
    Audit(
        name="construct_mismatch",
        title="construct mismatch",
        question="Do the numbers come from the same runs, seeds and splits?",
        examine=examine_construct_mismatch,
        claim=claim_construct_mismatch,
        about=WORKLOADS,
    ),
    Audit(
        name="apples_to_oranges",
        title="apples to oranges",
        question="Do the two sides differ in anything other than what is studied?",
        examine=examine_apples_to_oranges,
        claim=claim_apples_to_oranges,
        about=WORKLOADS,
    ),
)
