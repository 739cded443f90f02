"""A metric is computed when it is read, and once per record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from fireassay import catalog
from fireassay.estimates.estimate import Absent, Value
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import ALL, Metric, Results
from fireassay.metrics.results import LazyResults, about
from tests.handmade import Handmade

NOTHING = Absent(reason="not_measured", detail="made up")


class Family:
    """Metrics that read each other, and what was computed, in order."""

    def __init__(self, **reads: str) -> None:
        self.computed: list[str] = []
        self.metrics = {name: self._metric(name, other) for name, other in reads.items()}

    def _metric(self, name: str, other: str) -> Metric:
        def compute(_: RecordData, results: Results) -> Mapping[str, Value]:
            self.computed.append(name)
            return results[other] if other else {ALL: NOTHING}

        some: Metric = catalog.load("metrics", "speedup")
        return replace(some, name=name, compute=compute, needs=frozenset())

    @property
    def results(self) -> LazyResults:
        return LazyResults(Handmade().measured(), self.metrics)


def test_nothing_is_computed_before_it_is_read() -> None:
    family = Family(a="", b="a", c="")
    results = family.results
    assert ("b" in results, "d" in results, len(results)) == (True, False, 3)
    assert family.computed == []
    assert results["b"] == {ALL: NOTHING}
    assert family.computed == ["b", "a"]


def test_nothing_is_computed_twice() -> None:
    family = Family(a="", b="a", c="a")
    results = family.results
    assert [dict(results), dict(results), results["a"]] == [{name: {ALL: NOTHING} for name in "abc"}] * 2 + [{ALL: NOTHING}]
    assert sorted(family.computed) == ["a", "b", "c"]


def test_names_are_listed_in_one_order_whatever_was_read_first() -> None:
    results = Family(c="", b="c", a="b").results
    assert results["c"]
    assert list(results) == ["a", "b", "c"]


def test_metrics_that_read_each_other_are_named() -> None:
    results = Family(a="b", b="c", c="b").results
    with pytest.raises(ValueError, match="^metric cycle: b -> c -> b$"):
        results["a"]
    with pytest.raises(ValueError, match="^metric cycle: c -> b -> c$"):
        results["c"]


def test_a_metric_that_is_not_about_the_record_has_no_values() -> None:
    results = LazyResults(Handmade().measured())
    assert results.get("ttft_p50", {}) == {}
    with pytest.raises(KeyError, match="ttft_p50"):
        results["ttft_p50"]


def test_what_a_metric_raises_is_not_taken_for_a_missing_metric() -> None:
    results = Family(a="missing").results
    with pytest.raises(KeyError, match="missing"):
        results.get("a", {})


def test_all_who_judge_a_record_share_its_values() -> None:
    measured = Handmade().measured()
    assert LazyResults(measured)["speedup"] is LazyResults(measured)["speedup"]
    assert about(measured) is about(measured)
    assert LazyResults(replace(measured))["speedup"] is not LazyResults(measured)["speedup"]
