"""Do the numbers come from the same runs, seeds and splits?

Numbers from different runs, seeds, splits or clusters may each be right, yet together describe no system that ever existed: checking them
one by one finds nothing. Records: launches of one block must share their seed, and every configuration must be scored on the same held-out
examples. Claims: runs and conditions of the individual numbers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import WORKLOADS, Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.claimed_numbers import folded, found, is_studied, listed, studied
from fireassay.verdict.stated.kinds import is_quality
from fireassay.verdict.stated.names import metric_name, statistic
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim, Number


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """Blocks with several seeds; configurations scored on other examples than the base."""
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


def claim(said: Claim) -> tuple[Finding, ...]:
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


Group = tuple[str, str]  # system, metric


def _groups(numbers: tuple[Number, ...]) -> dict[Group, list[Number]]:
    groups: dict[Group, list[Number]] = {}
    for number in numbers:
        groups.setdefault((number.of or "", metric_name(number.metric)), []).append(number)
    return groups


def _conditions(said: Claim) -> dict[str, list[object]]:
    """Conditions, and between systems worker counts, that differ between metrics; one metric over several values of a condition is a sweep."""
    groups = _groups(said.number)
    several = len({system for system, _ in groups}) > 1
    seen: dict[str, dict[Group, dict[str, object]]] = {}
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


AUDIT = Audit(
    name="construct_mismatch",
    title="construct mismatch",
    question="Do the numbers come from the same runs, seeds and splits?",
    examine=examine,
    claim=claim,
    about=WORKLOADS,
)
