"""Contradictions are reported next to wrong values, but never on the strength of one."""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.errors import SpecError
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import from_mapping
from fireassay.spec.rules.partial import WRONG, Unknown, as_far_as_known, right

GOOD: dict[str, Any] = {"name": "a", "workload": {"script": "a.py"}, "factor": {"levels": [1, 2]}}


def places(**changes: Any) -> list[str]:
    with pytest.raises(SpecError) as caught:
        from_mapping({**GOOD, **changes})
    return [problem.where for problem in caught.value.problems]


def test_a_contradiction_is_reported_next_to_a_wrong_value() -> None:
    assert places(name=3, gates={"budget_usd": 5.0}) == ["name", "gates.budget_usd"]
    assert places(factor={"levels": [1, "x", 1]}) == ["factor.levels[1]", "factor.levels"]


def test_a_rule_says_nothing_without_a_value_that_it_needs() -> None:
    assert places(launches={"precision": 0.02, "per_configuration": "x", "at_most": 2}) == ["launches.per_configuration"]
    assert places(factor={"levels": [1, "x"]}, gates={"required_workers": 8}) == ["factor.levels[1]"]


def test_a_value_out_of_bounds_still_counts() -> None:
    assert places(launches={"precision": 0.02, "per_configuration": 500_000, "at_most": 2}) == [
        "launches.per_configuration",
        "launches.at_most",
    ]


def test_a_found_value_is_shown_as_it_was_written() -> None:
    with pytest.raises(SpecError, match=r"gates\.budget_usd: found 5; allowed"):
        from_mapping({**GOOD, "gates": {"budget_usd": 5}})


@pytest.mark.parametrize("use", [bool, len, list, str, hash, lambda value: value == 3, lambda value: value + 1, lambda value: value.name])
def test_no_use_of_a_wrong_value_goes_unnoticed(use: Any) -> None:
    with pytest.raises(Unknown):
        use(WRONG)


def test_the_right_items_of_a_list_keep_their_indices() -> None:
    assert right((1, WRONG, 3)) == [(0, 1), (2, 3)]
    assert right(WRONG) == []


def test_what_is_missing_has_its_default() -> None:
    known = as_far_as_known(Experiment, {"workload": "none"})
    assert known.name is WRONG
    assert (known.workload.runner, known.launches.per_configuration) == ("training", 5)
