"""Does the file of judgements hold what each judge said beside people's labels?"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from fireassay.errors import SpecError
from fireassay.reports.exports.assay_score import COLUMNS, EXPORT
from tests.answered import rows, scored
from tests.exporting import unjudged
from tests.kinds.evaluation.judged import by_worth, rating, record

pytestmark = pytest.mark.slow
SIDES = {"a": (3, 3, 3, 3), "b": (4, 2, 3, 3)}


def table(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode())))


def test_of_pairs_each_row_is_an_answer_against_the_first_side(tmp_path: Path) -> None:
    found = EXPORT.files(unjudged(record(tmp_path, SIDES, by_worth(), labels=(0, 1))))
    judged = table(found.files["judgements.csv"])
    assert tuple(judged[0]) == COLUMNS
    assert [(one["id"], one["against"], one["judge"], one["rating"], one["gold"], one["agrees"]) for one in judged] == [
        ("q0/b", "a", "judge-1", "1", "1", "1"),
        ("q1/b", "a", "judge-1", "0", "0", "1"),
        ("q2/b", "a", "judge-1", "0.5", "", ""),
        ("q3/b", "a", "judge-1", "0.5", "", ""),
    ]
    assert [one["id"] for one in table(found.files["labelled.csv"])] == ["q0/b", "q1/b"]
    assert found.notes == ("2 of 4 answers have no label of people",)


def test_of_a_scale_each_side_has_its_rows(tmp_path: Path) -> None:
    found = EXPORT.files(unjudged(record(tmp_path, SIDES, rating(), "scale")))
    judged = table(found.files["judgements.csv"])
    assert {one["side"] for one in judged} == {"a", "b"}
    assert [one["rating"] for one in judged if one["side"] == "b"] == ["4", "2", "3", "3"]
    assert list(found.files) == ["judgements.csv"]


def test_a_record_without_a_judge_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no judge"):
        EXPORT.files(unjudged(scored(tmp_path, {"a": rows(["x", "y"])})))
