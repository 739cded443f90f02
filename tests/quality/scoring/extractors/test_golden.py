"""Do the extractors find what a reader finds?"""

from __future__ import annotations

import pytest

from fireassay.quality.scoring.scoring import extractor
from tests.quality.scoring.extractors.golden import GOLDEN, Golden


def test_the_table_is_large_and_covers_every_rule_twice() -> None:
    assert len(GOLDEN) >= 60
    assert len({row.text for row in GOLDEN if "\nQ" in row.text}) >= 8  # run-ons


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: f"{row.extractor}: {row.text[:40]!r}")
def test_an_extractor_finds_what_a_reader_finds(row: Golden) -> None:
    found = extractor(row.extractor).extract(row.text, row.choices)
    assert found.answer == row.answer, found
    assert (found.rule == "none") == (row.answer is None)
    assert 0 <= found.begin <= found.end <= len(row.text)
    assert (found.begin < found.end) == (row.answer is not None)
