"""A record that was altered and sealed again is INVALID, and an honest one is found nothing wrong with. The forgeries:
`tests/verdict/audits`.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.verdict.forging import GOOD, forged, implausible, put, read, row, rules
from tests.verdict.judging import concluded

pytestmark = pytest.mark.slow


def test_the_honest_record_is_found_nothing_wrong_with(tmp_path: Path) -> None:
    assert implausible(read(GOOD)) == ()
    assert rules(read(forged(GOOD, tmp_path / "copy", steps=lambda rows: rows))) == set()


@pytest.mark.parametrize("name", ["seed_mismatch", "unsynced", "dropped_shard", "padding_duplicates", "worse_accuracy"])
def test_a_training_that_is_wrong_was_measured_all_the_same(name: str) -> None:
    assert implausible(read(GOOD.parent / name)) == ()


def test_a_forged_training_is_invalid_and_its_sentence_says_why(tmp_path: Path) -> None:
    path = forged(GOOD, tmp_path / "forged", steps=put("end_ns", pl.col("begin_ns") - 1, launch=0, rank=1, step=3))
    begin = read(GOOD).table("steps").filter(row(launch=0, rank=1, step=3))["begin_ns"][0]
    verdict = concluded(read(path)).verdict
    assert verdict.status == "INVALID"
    (finding,) = [one for one in verdict.findings if one.rule == "steps_run_backwards"]
    assert finding.evidence == (
        f"table steps, launch 0, rank 1, incarnation 0, step 3, begin_ns {begin}: end_ns {begin - 1} is before begin_ns {begin}"
    )
    assert finding.evidence in verdict.sentence


def test_a_record_without_rows_is_asked_nothing() -> None:
    measured = read(GOOD)
    measured.tables.update({name: rows.clear() for name, rows in measured.tables.items()})  # type: ignore[attr-defined]
    assert rules(measured) == set()
