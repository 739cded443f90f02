"""Do the compared numbers measure one thing under one set of conditions?"""

from __future__ import annotations

import json
from collections.abc import Iterator

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import WORKLOADS, Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

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
        fact: " and ".join(sorted({value for values in by.values() for value in values}))
        for fact, by in seen.items()
        if len({frozenset(values) for values in by.values()}) > 1
    }
    if not differing:
        return ()
    words = ", ".join(f"{fact} ({values})" for fact, values in differing.items())
    evidence = f"the configurations ran in different environments: {words}"
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


AUDITS = (
    Audit(
        "construct_mismatch",
        "Do the numbers come from the same runs, seeds and splits?",
        examine_construct_mismatch,
        title="construct mismatch",
        about=WORKLOADS,
    ),
    Audit(
        "apples_to_oranges",
        "Do the two sides differ in anything other than what is studied?",
        examine_apples_to_oranges,
        title="apples to oranges",
        about=WORKLOADS,
    ),
)
