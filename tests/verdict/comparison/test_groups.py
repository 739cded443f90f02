"""Are launches paired where they were made in turn, and examples by their id everywhere?"""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.verdict.comparison.groups import Group, definition, difference, in_turn, launch_values, quality
from fireassay.verdict.comparison.types import Side
from tests.verdict.comparing import complete, side, with_manifest, with_tables


@pytest.fixture(scope="module")
def plain() -> Side:
    return side("A", complete())


def group(one: Side, configuration: str = "workers=2") -> Group:
    return Group(label=one.label, side=one, configuration=configuration)


def of_session(one: Side, label: str, name: str | None) -> Side:
    return with_manifest(one, label, "session", {"id": name})


def estimate(**more: object) -> Estimate:
    known = {"value": 2.0, "low": 1.0, "high": 3.0, "unit": "s", "confidence": 0.95, "n_launches": 3, "n_trials": 3}
    return Estimate(**{**known, "method": "", "signature": "m|base:x|k:3|conf:0.95|agg:median|v:1", **more})  # type: ignore[arg-type]


def test_two_configurations_of_a_record_and_two_records_of_a_session_were_made_in_turn(plain: Side) -> None:
    assert in_turn(group(plain, "workers=1"), group(plain))
    assert in_turn(group(of_session(plain, "A", "s")), group(of_session(plain, "B", "s")))


def test_a_record_and_itself_other_sessions_and_no_session_were_not(plain: Side) -> None:
    assert not in_turn(group(plain), group(plain))
    assert not in_turn(group(of_session(plain, "A", "s")), group(of_session(plain, "B", "t")))
    assert not in_turn(group(of_session(plain, "A", None)), group(of_session(plain, "B", None)))


@pytest.mark.slow
def test_a_block_that_one_side_lacks_is_left_out_of_the_pairs(plain: Side) -> None:
    """Block 2 of B failed: 4 pairs of equal numbers are left, where pairing by number would have shifted two of them."""
    from tests.verdict.judging import concluded

    other = complete()
    other.rows["launches"] = [(*row[:12], "failed", *row[13:]) if row[5] == 2 and row[4] == 2 else row for row in other.rows["launches"]]
    measured = other.measured()
    b = of_session(Side(label="B", measured=measured, judgement=concluded(measured)), "B", "s")
    found = difference(group(of_session(plain, "A", "s")), group(b), "step_time", 0.95, 0.01)
    assert found is not None
    assert (found.k_a, found.value, found.high - found.low < 1e-9) == (4, pytest.approx(1.0), True)


def test_a_block_that_was_made_alone_after_an_interruption_is_left_out_of_the_pairs(plain: Side) -> None:
    later = with_manifest(plain, "B", "session", {"id": "s", "alone": [3, 4]})
    found = difference(group(of_session(plain, "A", "s")), group(later), "step_time", 0.95, 0.01)
    assert found is not None
    assert (found.design, found.k_a) == ("paired", 3)


def test_records_of_a_session_of_which_all_but_one_block_was_made_alone_are_records_of_two_moments(plain: Side) -> None:
    """One block in common carries no comparison: all launches would be taken as made in turn, without the days in between."""
    a, later = of_session(plain, "A", "s"), with_manifest(plain, "B", "session", {"id": "s", "alone": [1, 2, 3, 4]})
    assert not in_turn(group(a), group(later))
    assert in_turn(group(a), group(with_manifest(plain, "B", "session", {"id": "s", "alone": [2, 3, 4]})))


def test_a_value_whose_block_is_not_certain_is_not_paired(plain: Side) -> None:
    known = plain.judgement.results["throughput"]["workers=2"]
    assert isinstance(known, Estimate)
    short = {**plain.judgement.results["throughput"], "workers=2": replace(known, launch_values=known.launch_values[:4])}
    results = {**plain.judgement.results, "throughput": short}
    b = of_session(replace(plain, judgement=replace(plain.judgement, results=results)), "B", "s")
    found = difference(group(of_session(plain, "A", "s")), group(b), "throughput", 0.95, 0.01)
    assert found is not None
    assert (found.design, found.k_a, found.k_b) == ("welch", 5, 4)


def test_launch_values_of_a_count_are_the_count_and_of_a_mere_interval_none() -> None:
    assert launch_values(estimate(launch_values=(1.0, 2.0))) == (1.0, 2.0)
    assert launch_values(estimate(low=2.0, high=2.0, confidence=1.0)) == (2.0, 2.0, 2.0)
    assert launch_values(estimate()) == ()
    assert launch_values(Absent(reason="not_measured", detail="x")) == ()


def test_the_definition_of_a_number_is_without_its_sample_size_and_kind_of_interval() -> None:
    assert definition(estimate()) == {"metric": "m", "base": "x", "v": "1"}


def test_examples_are_paired_by_id_whatever_their_order(plain: Side) -> None:
    shuffled = with_tables(plain, "B", examples=plain.measured.tables["examples"].reverse())
    assert quality(group(plain), group(shuffled)).held == "HELD"


def test_other_examples_decide_nothing(plain: Side) -> None:
    renamed = plain.measured.tables["examples"].with_columns(
        example=pl.when(pl.col("example") == "0").then(pl.lit("zero")).otherwise(pl.col("example"))
    )
    found = quality(group(plain), group(with_tables(plain, "B", examples=renamed)))
    assert (found.held, "one side only" in found.sentence) == ("INCONCLUSIVE", True)


def test_a_score_that_is_no_number_or_missing_decides_nothing(plain: Side) -> None:
    table = plain.measured.tables["examples"]
    for broken in (table.with_columns(score=pl.lit(float("nan"))), table.filter(pl.int_range(pl.len()) != 5)):
        found = quality(group(plain, "workers=1"), group(with_tables(plain, "B", examples=broken), "workers=1"))
        both = quality(group(plain), group(with_tables(plain, "B", examples=broken)))
        assert "INCONCLUSIVE" in (found.held, both.held)


def with_clusters(of: Side, size: int) -> Side:
    table = of.measured.tables["examples"]
    number = pl.col("example").cast(pl.Int64)
    return with_tables(of, "B", examples=table.with_columns(cluster=(number // size).cast(pl.String)))


def test_clusters_of_one_side_hold_for_both_and_decide_what_is_shown(plain: Side) -> None:
    """40 examples that are all the same show 7.2 points, the margin is 10; ten passages of four show 26."""
    found = quality(group(plain), group(with_clusters(plain, 4)))
    assert (found.held, "40 examples in 10 clusters" in found.sentence) == ("INCONCLUSIVE", True)
    assert "taken as independent, because no clusters are given" in quality(group(plain), group(plain, "workers=1")).sentence


def test_an_example_in_another_cluster_on_the_other_side_decides_nothing(plain: Side) -> None:
    found = quality(group(with_clusters(plain, 4)), group(with_clusters(plain, 5)))
    assert (found.held, "was scored in the clusters" in found.sentence) == ("INCONCLUSIVE", True)


@pytest.mark.slow
def test_beside_a_baseline_at_its_floor_nothing_is_held() -> None:
    nothing = side("A", complete(right={1: 0, 2: 0}))
    found = quality(group(nothing), group(side("B", complete(right={1: 0, 2: 0}))))
    assert (found.held, "A cannot show a loss: nothing is right" in found.sentence) == ("INCONCLUSIVE", True)
    assert quality(group(nothing), group(side("B", complete()))).held == "HELD"  # better than the baseline


@pytest.mark.slow
def test_a_loss_that_fell_is_not_a_loss_of_quality() -> None:
    """direction = lower: 0.5 of 1 against 0.9 of 1 is better."""
    from fireassay.spec.experiment import Quality

    asked = Quality(metric="accuracy", direction="lower", margin=0.1)
    a, b = (side(label, complete(quality=asked, right={1: n, 2: n})) for label, n in (("A", 36), ("B", 20)))
    assert (quality(group(a), group(b)).held, quality(group(b), group(a)).held) == ("HELD", "DEGRADED")
