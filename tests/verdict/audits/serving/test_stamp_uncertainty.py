"""stamp_uncertainty: times that may be off by more than a fiftieth are no measurement, and what nobody knows is not called certain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from fireassay.spec.sections.serving import Objectives
from tests.serving_made import ServingMade
from tests.verdict.served import blind, clean, found, rules, steady

pytestmark = pytest.mark.slow


def made(**row: Any) -> ServingMade:
    """TTFT 0.1 s, nine gaps of 0.1 s: E2E 1 s."""
    asked = row.pop("asked", {})
    record = ServingMade(rate=(20.0,), blocks=3, seconds=5.0, **asked)
    steady(record, **{"ttft_s": 0.1, "gap_s": 0.1, "tokens_out": 10, **row})
    return record


@pytest.mark.parametrize("seed", range(5))
def test_a_record_whose_times_are_known_is_not_flagged(seed: int) -> None:
    assert found("stamp_uncertainty", clean(seed=seed)) == ()


def test_the_limit_is_a_share_of_the_median_of_each_latency() -> None:
    """A fiftieth of 0.1 s is 2 ms; of a time per token of 0.1 s likewise, of which 2 x 2.1 ms / 9 is far away."""
    assert found("stamp_uncertainty", made(unsure_s=0.002).measured()) == ()
    (finding,) = found("stamp_uncertainty", made(unsure_s=0.0021).measured())
    assert (finding.rule, finding.severity, finding.configuration) == ("times_uncertain", "invalid", "rate=20")
    assert finding.evidence == (
        "TTFT is too uncertain: p99 of its uncertainty 2.10 ms, at a median of 100 ms; at most 2 ms (2 %, or the fixed "
        "allowance) is admissible; in 3 of 3 launches (launches 0, 1, 2)"
    )


def test_a_millisecond_is_allowed_however_short_the_latency_is() -> None:
    """Of a TTFT of 10 ms a fiftieth is 0.2 ms."""
    assert found("stamp_uncertainty", made(ttft_s=0.01, unsure_s=0.001).measured()) == ()
    assert rules("stamp_uncertainty", made(ttft_s=0.01, unsure_s=0.0011).measured()) == [("times_uncertain", "invalid")]


def test_the_experiment_sets_both_limits() -> None:
    client = {"most_uncertainty": 0.03, "free_uncertainty_s": 0.0}
    assert found("stamp_uncertainty", made(unsure_s=0.003, asked={"client": client}).measured()) == ()
    assert rules("stamp_uncertainty", made(unsure_s=0.0031, asked={"client": client}).measured()) == [("times_uncertain", "invalid")]


def test_every_latency_is_judged_by_itself() -> None:
    """30 ms of a TTFT of 0.1 s, of an E2E of 1 s, and 2 x 30 / 9 = 6.7 ms of a TPOT of 0.1 s."""
    evidence = [one.evidence.split(" is ")[0] for one in found("stamp_uncertainty", made(unsure_s=0.03).measured())]
    assert evidence == ["TTFT", "TPOT", "E2E"]


def test_gaps_are_judged_where_an_objective_names_them() -> None:
    """1.5 ms of a TTFT of 0.1 s pass; of a gap of 0.1 s the two chunks' 3 ms do not."""
    assert found("stamp_uncertainty", made(unsure_s=0.0015).measured()) == ()
    record = made(unsure_s=0.0015, asked={"objectives": Objectives(itl_s=0.5)})
    (finding,) = found("stamp_uncertainty", record.measured())
    assert finding.evidence.startswith("ITL is too uncertain: p99 of its uncertainty 3 ms")


def test_the_first_visible_text_is_judged_where_an_objective_names_it() -> None:
    kinds = {"kinds": [2, *[1] * 9], "unsure_s": 0.0045}  # the visible text begins at 0.2 s
    names = [one.evidence.split(" is ")[0] for one in found("stamp_uncertainty", made(**kinds).measured())]
    assert names == ["TTFT"]
    record = made(**kinds, asked={"objectives": Objectives(ttft_visible_s=0.5)})
    assert [one.evidence.split(" is ")[0] for one in found("stamp_uncertainty", record.measured())] == ["TTFT", "visible TTFT"]


def stumbled(launches: int, share: int = 2) -> ServingMade:
    """So many of three launches in which one request in `share` is unsure."""
    record = ServingMade(rate=(20.0,), blocks=3, seconds=5.0)
    for block in range(3):
        launch = record.launch(block=block)
        for place in range(100):
            unsure = block < launches and place % share == 0
            record.request(launch, 0.05 * place, ttft_s=0.1, gap_s=0.1, tokens_out=10, unsure_s=0.005 if unsure else 0.0)
    return record


def test_one_launch_that_stumbled_is_a_warning_and_most_are_invalid() -> None:
    assert rules("stamp_uncertainty", stumbled(1).measured()) == [("times_uncertain", "warning")]
    assert rules("stamp_uncertainty", stumbled(2).measured()) == [("times_uncertain", "invalid")]


def test_one_request_in_a_hundred_may_be_unsure() -> None:
    assert found("stamp_uncertainty", stumbled(3, share=100).measured()) == ()


def test_what_nobody_knows_is_a_note_and_neither_certain_nor_invalid() -> None:
    record = made(unsure_s=None).measured()
    assert rules("stamp_uncertainty", record) == [("uncertainty_unknown", "note")]
    assert blind("stamp_uncertainty", record) == "the uncertainty of the answers' times is unknown"
    assert blind("stamp_uncertainty", clean()) is None


@pytest.mark.parametrize(
    ("transport", "remedy"), [("library", "transport"), ("process", "serve the model"), ("foreign", "serve the model")]
)
def test_the_remedy_depends_on_why_the_uncertainty_is_unknown(transport: str, remedy: str) -> None:
    record = made(unsure_s=None).measured()
    rows = record.tables["requests"].with_columns(transport=pl.lit(transport))
    (finding,) = found("stamp_uncertainty", replace(record, tables={**record.tables, "requests": rows}))
    assert remedy in finding.remedy
