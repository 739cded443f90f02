"""Do the compared numbers measure one thing under one set of conditions?"""

from __future__ import annotations

import json

import pytest

from fireassay.verdict.audits.every import record as audited
from tests.verdict.making import change, good, judged, rules_of

rules = rules_of(audited.AUDITS)

# ---- construct mismatch ----
# construct_mismatch: numbers of different runs, seeds and splits.

SEED, EXAMPLE = 8, 4  # columns of launches and of examples


@pytest.mark.slow
def test_blocks_that_share_their_seed_and_one_set_of_examples_are_clear() -> None:
    made = good()
    change(made, "launches", SEED, lambda row: 1000 + row[5])
    assert rules(judged(made)) == {}


@pytest.mark.slow
def test_seeds_that_differ_inside_a_block_are_named() -> None:
    made = good()
    change(made, "launches", SEED, 7, workers=2)
    judgement = judged(made)
    assert rules(judgement) == {"seeds_differ": [None]}
    assert judgement.verdict.findings[0].evidence.startswith("in 5 rounds")


@pytest.mark.slow
def test_a_configuration_that_was_scored_on_another_split_is_inadmissible() -> None:
    made = good()
    change(made, "examples", EXAMPLE, lambda row: f"other-{row[EXAMPLE]}", workers=2)
    judgement = judged(made)
    assert rules(judgement)["evaluation_sets_differ"] == ["workers=2"]
    finding = next(f for f in judgement.verdict.findings if f.rule == "evaluation_sets_differ")
    assert finding.evidence.startswith("80 examples")  # 40 of each side
    assert judgement.verdict.status == "INVALID"


# ---- apples to oranges ----
# apples_to_oranges: conditions that differ besides what is studied.

PLACEMENT = 16  # column of launches


@pytest.mark.slow
def test_a_record_whose_configurations_ran_in_one_place_is_clear() -> None:
    made = good()
    change(made, "launches", PLACEMENT, lambda row: json.dumps({"host": "a", "engine": "torchrun", "cpus": row[4]}))
    assert rules(judged(made)) == {}


@pytest.mark.slow
def test_a_record_whose_configurations_ran_on_different_hosts_is_named() -> None:
    made = good()
    change(made, "launches", PLACEMENT, lambda row: json.dumps({"host": f"host-{row[4]}"}))
    judgement = judged(made)
    assert rules(judgement) == {"placement_differs": [None]}
    assert "host (host-1 and host-2)" in judgement.verdict.findings[0].evidence


@pytest.mark.slow
def test_a_placement_that_is_no_table_says_nothing() -> None:
    made = good()
    change(made, "launches", PLACEMENT, lambda row: "[]" if row[4] == 1 else "no JSON")
    assert rules(judged(made)) == {}
