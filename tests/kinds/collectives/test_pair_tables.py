"""Do the tables of pairs say who is near whom, the slowest pairs first, and does their JSON hold all of them?"""

from __future__ import annotations

import pytest

from fireassay.frames.links.pairs import of_record
from fireassay.kinds.collectives import tables
from fireassay.reports.documents.record import Pairs
from fireassay.reports.page import said
from tests.paired import kinds, record

pytestmark = pytest.mark.slow


HOSTS = ("a",) * 4 + ("b",) * 4


def test_each_class_has_its_row_and_its_range() -> None:
    classes, _ = tables.pair_tables(of_record(record(kinds(2, 2, 2), hosts=HOSTS)))
    assert [[said(cell).text for cell in row] for row in classes.rows] == [
        ["same island", "8", "5,000", "0.2"],
        ["same host", "16", "9,000", "0.025"],
        ["across hosts", "32", "25,000", "0.01"],
    ]
    assert any("islands within hosts" in note for note in classes.notes)


def test_the_slowest_pairs_come_first_and_the_rest_is_told() -> None:
    _, pairs = tables.pair_tables(of_record(record(kinds(2, 2, 2), hosts=HOSTS)))
    assert len(pairs.rows) == tables.MAX_ROWS
    assert {said(row[1]).text for row in pairs.rows} == {"across hosts"}
    assert "44 pairs more were faster" in pairs.notes[0]


def test_wrong_data_is_told_in_capitals() -> None:
    classes, _ = tables.pair_tables(of_record(record(kinds(1, 1, 2), wrong=1)))
    assert any(note.startswith("WRONG DATA arrived on 0 → 1 (45 bytes)") for note in classes.notes)


def test_the_json_holds_every_pair() -> None:
    (pairs,) = of_record(record(kinds(2, 1, 2), hosts=("a", "a", "b", "b")))
    found = Pairs.of(pairs)
    assert len(found["links"]) == 12
    assert found["links"][1]["class"] == "across hosts"
    assert found["links"][1]["latency"]["value"] == 0.025


def test_a_record_without_pairs_has_no_table() -> None:
    from tests.builders import measured

    assert tables.pair_tables(of_record(measured())) == ()
