"""A table's own costs against its prices, times and work; by hand."""

from __future__ import annotations

import pytest

from fireassay.spec.timings import parse_timings
from fireassay.verdict.claims.rubric import rubric
from fireassay.verdict.claims.rubric_types import Limits, Rubric


def judged(text: str) -> Rubric:
    return rubric(parse_timings(text, "t"), Limits())


def test_a_cost_that_price_and_time_contradict_is_said_and_not_used() -> None:
    """$8/h for 560 s are $1.244."""
    result = judged("p,Tp,rate,$/run\n1,3600,1,1.00\n8,560,8,9.00\n")
    assert result.doubts[0] == "The table's own cost contradicts its other columns: 9 at 8, computed 1.244. The computed one is used."
    assert result.rows[1].usd == pytest.approx(1.2444, abs=1e-4)


def test_a_rounded_cost_is_no_contradiction() -> None:
    assert judged("p,Tp,rate,$/run\n1,3600,1,1.00\n8,560,8,1.24\n").doubts == ()


def test_one_factor_in_every_row_is_another_price() -> None:
    """Storage and egress, say: 1.5 times the workers."""
    assert "1.5 times the computed one in every row" in judged("p,Tp,rate,$/run\n1,3600,1,1.50\n8,560,8,1.867\n").doubts[0]


def test_costs_of_an_item_are_its_own_where_the_work_is_unknown() -> None:
    result = judged("p Tp(s) $/run $/work\n1 3600 1.00 8.333e-07\n8 560 1.24 1.037e-06\n")
    assert [row.usd_per_item for row in result.rows] == [8.333e-07, 1.037e-06]
    assert result.rows[1].items_per_usd == pytest.approx(964320, rel=1e-4)
    assert result.doubts == ()


def test_costs_that_imply_other_work_in_each_row_doubt_the_speedups() -> None:
    """$1.00 at 1e-6 an item are a million items, $8.00 are eight."""
    result = judged("p Tp(s) $/run $/work\n1 3600 1.00 1e-6\n8 3600 8.00 1e-6\n")
    assert result.doubts[0].startswith("By its own costs the table did other work in each row: 1e+06 at 1, 8e+06 at 8.")


def test_costs_contradict_a_column_of_work() -> None:
    """$1.00 for 1,200,000 items are 8.3e-7 each."""
    result = judged("p,Tp,$/run,work,$/work\n1,3600,1.00,1200000,8.333e-07\n8,560,1.24,1200000,2e-06\n")
    assert "own cost of an item contradicts its other columns: 2e-06 at 8, computed 1.033e-06" in result.doubts[0]


def test_items_per_dollar_are_the_reciprocal() -> None:
    result = judged("p Tp(s) $/work work/$\n1 3600 1e-06 1000000\n8 560 2e-06 900000\n")
    assert "is not the reciprocal of its items per dollar: 2e-06 at 8 times 9e+05, not 1." in result.doubts[0]


def test_of_a_step_beside_a_price() -> None:
    """2 nodes at $0.02 a node-second for 7.69 s: $0.3076."""
    table = "nodes,step_s,usd_per_node_second,cost/step($)\n1,10,0.02,0.2\n2,7.69,0.02,{}\n"
    assert judged(table.format("0.3076")).doubts == ()
    assert "own cost of a step contradicts" in judged(table.format("0.1538")).doubts[0]
