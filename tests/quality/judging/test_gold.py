"""Are labels of people read as `assay rate` keeps them, for the items and sides that were judged?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fireassay.errors import SpecError
from fireassay.quality.judging.gold import Label, read
from tests.quality.judging.test_reading import PAIRS, SCALE

ITEMS = frozenset({"1", "2", "3"})


def labels(folder: Path, text: str, *, pairs: bool = False, sides: tuple[str, ...] = ("a", "b")) -> tuple[Label, ...]:
    (folder / "gold.csv").write_text(text)
    return read(folder / "gold.csv", PAIRS if pairs else SCALE, sides, ITEMS)[0]


def said(found: tuple[Label, ...]) -> list[tuple[str, str, str, float]]:
    return sorted((one.item, one.side, one.rater, one.value) for one in found)


def test_ratings_of_judged_items_and_sides_are_kept(tmp_path: Path) -> None:
    text = "item,side,rating,rater\n1,a,4,r1\n1,b,2,r1\n1,b,3,r2\n9,a,1,r1\n2,c,1,r1\n2,a,,r1\n"
    assert said(labels(tmp_path, text)) == [("1", "a", "r1", 4.0), ("1", "b", "r1", 2.0), ("1", "b", "r2", 3.0)]


def test_no_rater_is_needed(tmp_path: Path) -> None:
    assert said(labels(tmp_path, "item,side,rating\n1,a,4\n2,a,5\n")) == [("1", "a", "person", 4.0), ("2", "a", "person", 5.0)]


def test_of_pairs_the_label_is_that_of_the_other_side(tmp_path: Path) -> None:
    text = "item,first,second,choice,rater,seconds,utc\n1,a,b,first,r1,2.5,x\n1,b,a,first,r2,,\n2,b,a,tie,r1,,\n3,b,c,first,r1,,\n"
    found = labels(tmp_path, text, pairs=True, sides=("a", "b", "c"))
    assert said(found) == [("1", "b", "r1", 0.0), ("1", "b", "r2", 1.0), ("2", "b", "r1", 0.5)]
    assert {one.against for one in found} == {"a"}


def test_json_lines_are_read_too(tmp_path: Path) -> None:
    (tmp_path / "g.jsonl").write_text('{"item": 1, "side": "a", "rating": 4}\n')
    assert said(read(tmp_path / "g.jsonl", SCALE, ("a",), ITEMS)[0]) == [("1", "a", "person", 4.0)]


@pytest.mark.parametrize(
    ("text", "pairs", "message"),
    [
        ("item,side,rating\n1,a,9\n", False, "from 1 to 5"),
        ("item,side,rating\n1,a,4\n1,a,5\n", False, "a second row"),
        ("item,side,rating\n7,a,4\n", False, "Is --id the field"),
        ("item,side,rating\n1,x,4\n", False, "and of the sides a, b"),
        ("item,first,second,choice\n1,a,b,best\n", True, "first, second, tie"),
        ("item,side,rating\n1,a,4\n", True, "no field 'first'"),
        ("item,side\n1,a\n", False, "'rating'"),
    ],
)
def test_what_is_wrong_is_named(text: str, pairs: bool, message: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=message):
        labels(tmp_path, text, pairs=pairs)


def test_an_error_begins_with_the_file_s_role(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"^the labels of people: gold\.csv, line 2: found the rating") as refused:
        labels(tmp_path, "item,side,rating\n1,a,9\n")
    assert "--scale" not in str(refused.value)


def test_two_labels_without_raters_ask_for_codes_and_not_for_flags_that_gold_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as refused:
        labels(tmp_path, "item,side,rating\n1,a,4\n1,a,5\n")
    said = str(refused.value)
    assert 'a second row without a rater on item "1", after gold.csv, line 2' in said
    assert "column rater" in said
    assert "--rater" not in said
    assert 'rater "1"' not in said
    with pytest.raises(SpecError, match=r'of rater "r1" on item "1".*Keep the row that counts'):
        labels(tmp_path, "item,side,rating,rater\n1,a,4,r1\n1,a,5,r1\n")


def test_more_items_than_there_may_be_raters_are_labelled_by_one_person(tmp_path: Path) -> None:
    items = [str(index) for index in range(10_001)]
    (tmp_path / "g.csv").write_text("item,side,rating\n" + "".join(f"{item},a,4\n" for item in items))
    found, _ = read(tmp_path / "g.csv", SCALE, ("a",), frozenset(items))
    assert (len(found), {one.rater for one in found}) == (10_001, {"person"})


def test_the_scale_is_that_of_the_rubric(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("item,side,rating\n1,a,9\n")
    assert read(tmp_path / "g.csv", replace(SCALE, scale=(1.0, 10.0)), ("a",), ITEMS)[0][0].value == 9.0


def test_labels_of_other_items_are_counted_each_pair_once(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("item,first,second,choice\n1,a,b,a\nother,a,b,tie\n1,a,c,a\n")
    kept, unknown = read(tmp_path / "g.csv", PAIRS, ("a", "b"), ITEMS)
    assert (len(kept), unknown) == (1, 2)
