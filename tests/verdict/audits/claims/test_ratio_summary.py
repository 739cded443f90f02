"""ratio_summary: HPL at 10, 100 and 40 s for 100 Gflop each is 2 Gflop/s, not 4.5 (Hoefler & Belli, rule 3): a mean has its kind."""

from __future__ import annotations

import pytest

from tests.verdict.claiming import claim, found, the_finding


@pytest.mark.parametrize(
    ("of", "mean", "expected"),
    [
        ("times", "arithmetic", {}),
        ("rates", "harmonic", {}),
        ("rates", "total", {}),
        ("ratios", "total", {}),
        ("ratios", "arithmetic", {"mean_of_ratios": "invalid"}),
        ("ratios", "harmonic", {"mean_of_ratios": "invalid"}),
        ("percentages", "arithmetic", {"mean_of_ratios": "invalid"}),
        ("ratios", "geometric", {"geometric_mean_of_ratios": "warning"}),
        ("rates", "arithmetic", {"wrong_mean": "invalid"}),
        ("times", "geometric", {"wrong_mean": "invalid"}),
    ],
)
def test_each_kind_of_number_has_its_mean(of: str, mean: str, expected: dict[str, str]) -> None:
    assert found(claim({"summary": {"of": of, "mean": mean, "workloads": 3}})) == expected


def test_the_evidence_says_what_was_averaged() -> None:
    said = claim({"summary": {"of": "ratios", "mean": "arithmetic", "workloads": 3}})
    assert the_finding(said, "mean_of_ratios").evidence == "an arithmetic mean of ratios over 3 workloads"


def test_a_number_of_one_workload_is_no_summary() -> None:
    assert found(claim()) == {}
