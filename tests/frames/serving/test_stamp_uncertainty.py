"""How uncertain TTFT, TPOT and E2E are: by the first and the last chunk with text, and null if unknown."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from fireassay import catalog
from fireassay.frames.record_data import RecordData
from tests.metrics.narrow import absence, estimated
from tests.serving_made import ServingMade
from tests.verdict.served import changed

NAMES = ("ttft", "ttft_visible", "tpot", "e2e")
MS = 1_000_000


def unsure(unsure_ns: list[int], **row: Any) -> RecordData:
    """One answer whose chunks are so unsure."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second in range(3):
        made.request(number, float(second), **row)
    lists = pl.Series([unsure_ns] * 3, dtype=pl.List(pl.Int64))
    return changed(made.measured(), "requests", lambda rows: rows.with_columns(chunk_uncertainty_ns=lists))


def dealt_out(name: str, **row: Any) -> float:
    """The metric's value where each answer's chunks are 1 ... 3000 us unsure, dealt out at random; failed ones do not count."""
    made, values = ServingMade(rate=(100.0,), blocks=5), np.random.default_rng(2).permutation(3000) + 1
    for block, own in enumerate(np.split(values, 5)):
        number = made.launch(block=block)
        for place, microseconds in enumerate(own.tolist()):
            made.request(number, place * 0.01, unsure_s=microseconds / 1e6, **row)
            made.request(number, place * 0.01, status="5xx", unsure_s=1.0)
    return estimated(catalog.load("metrics", name).compute(made.measured(), {})["rate=100"]).value


def told(measured: RecordData) -> list[float | None]:
    return [measured.served.requests[f"{name}_uncertainty_s"][0] for name in NAMES]


def test_the_first_and_the_last_text_count_and_nothing_else() -> None:
    """A role, three thoughts, two words and a finish reason: 5 tokens, of which 4 follow the first."""
    row = {"kinds": [0, 2, 2, 2, 1, 1, 4], "at_s": [0.1 * n for n in range(1, 8)], "tokens_out": 5}
    found = told(unsure([9 * MS, 1 * MS, 8 * MS, 8 * MS, 2 * MS, 3 * MS, 9 * MS], **row))
    assert found == pytest.approx([0.001, 0.002, (0.001 + 0.003) / 4, 0.003])


def test_an_answer_of_one_token_has_no_time_per_token_to_be_unsure_of() -> None:
    assert told(unsure([4 * MS], tokens_out=1)) == [0.004, 0.004, None, 0.004]


def test_an_answer_without_text_is_as_unsure_as_its_end() -> None:
    assert told(unsure([7 * MS], kinds=[8], at_s=[0.5], tokens_out=None)) == [None, None, None, 0.007]


def test_unknown_values_are_null_not_zero() -> None:
    measured = unsure([])
    assert told(measured) == [None] * 4
    assert np.isnan(measured.served.gap_uncertainty[0]).all()
    assert absence(catalog.load("metrics", "ttft_uncertainty_p99").compute(measured, {})["rate=1"]).reason == "not_measured"


def test_a_gap_is_as_unsure_as_both_its_ends_for_each_of_its_tokens() -> None:
    measured = unsure([MS, 2 * MS, 4 * MS], tokens_out=6, chunks=3)  # two tokens a chunk
    assert measured.served.gap_uncertainty[0][:2] == pytest.approx([0.0015, 0.003])
    assert len(measured.served.gap_uncertainty[0]) == len(measured.served.gaps[0])
