"""Are files of ratings read in every form, and is what is wrong with them named?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.errors import SpecError
from fireassay.quality.tasks.ratings_file import RatingsFile, read, side_name
from fireassay.spec.sections.evaluation import Evaluation
from fireassay.spec.sections.ratings import Ratings

LONG = "item,side,rater,rating\n1,a,r1,4\n1,b,r1,2\n1,a,r2,5\n1,b,r2,\n"
PAIRS = "item,first,second,rater,choice\n1,a,b,r1,first\n2,b,a,r1,first\n1,b,a,r2,tie\n2,a,b,r2,\n"


def load(path: Path, text: str, form: str = "long", **keys: Any) -> RatingsFile:
    path.write_text(text)
    return read(path, Evaluation(ratings=Ratings(form=form, **keys)))  # type: ignore[arg-type]


def said(file: RatingsFile, side: str) -> list[tuple[str, str, str | None]]:
    one = file.sides[side]
    return [(item.id, rater, text) for item, rater, text in zip(one.answers.items, one.raters, one.answers.texts, strict=True)]


def test_a_row_is_a_rating_and_an_empty_cell_is_none(tmp_path: Path) -> None:
    file = load(tmp_path / "r.csv", LONG)
    assert said(file, "a") == [("1", "r1", "4"), ("1", "r2", "5")]
    assert said(file, "b") == [("1", "r1", "2"), ("1", "r2", None)]
    assert file.sides["a"].answers.repetitions == (0, 1)
    assert file.choices == ()


def test_the_first_named_side_is_the_reference(tmp_path: Path) -> None:
    assert list(load(tmp_path / "r.csv", LONG, sides=("b", "a")).sides) == ["b", "a"]
    assert list(load(tmp_path / "r.csv", LONG, sides=("b",)).sides) == ["b"]


def test_a_choice_gives_both_sides_an_answer(tmp_path: Path) -> None:
    file = load(tmp_path / "p.csv", PAIRS, "pairs")
    assert said(file, "a") == [("1", "r1", "1"), ("2", "r1", "0"), ("1", "r2", "0.5"), ("2", "r2", None)]
    assert said(file, "b") == [("1", "r1", "0"), ("2", "r1", "1"), ("1", "r2", "0.5"), ("2", "r2", None)]
    assert [(one.first, one.second, one.outcome) for one in file.choices] == [
        ("a", "b", "first"),
        ("b", "a", "first"),
        ("b", "a", "tie"),
        ("a", "b", None),
    ]
    assert file.sides["a"].against == ("b",) * 4


def test_a_winner_may_be_named(tmp_path: Path) -> None:
    file = load(tmp_path / "p.csv", "item,first,second,rater,winner\n1,a,b,r,b\n2,a,b,r,a\n", "pairs", choice="winner")
    assert [one.outcome for one in file.choices] == ["second", "first"]


@pytest.mark.parametrize(
    ("row", "fields"),
    [
        ({"item": 7, "prompt": "p", "DALLE_3_HumanRating": [4, 5, 3], "SDXL_HumanRating": [1, 2, 3]}, {}),
        ({"item": 7, "HumanRatings": {"DALLE_3": [4, 5, 3], "SDXL": [1, 2, 3]}}, {}),
        ({"item": 7, "DALLE_3": "[4, 5, 3]", "SDXL": "[1, 2, 3]"}, {"sides": ("DALLE_3", "SDXL")}),
    ],
)
def test_columns_of_lists_have_a_rater_for_each_place(row: dict[str, Any], fields: dict[str, Any], tmp_path: Path) -> None:
    file = load(tmp_path / "w.jsonl", json.dumps(row) + "\n", "wide", **fields)
    assert said(file, "DALLE_3") == [("7", "1", "4"), ("7", "2", "5"), ("7", "3", "3")]
    assert [text for *_, text in said(file, "SDXL")] == ["1", "2", "3"]


def test_columns_may_be_raters(tmp_path: Path) -> None:
    file = load(tmp_path / "w.csv", "item,side,ann,bob\n1,a,4,5\n1,b,3,\n", "wide", raters=("ann", "bob"))
    assert said(file, "a") == [("1", "ann", "4"), ("1", "bob", "5")]
    assert said(file, "b") == [("1", "ann", "3"), ("1", "bob", None)]


def test_names_of_people_become_digests(tmp_path: Path) -> None:
    file = load(tmp_path / "r.csv", "item,side,rater,rating\n1,a,ann@example.org,4\n2,a,ann@example.org,4\n1,a,Bob Smith,3\n")
    assert file.digests == 2
    assert all(rater.startswith("rater-") and "ann" not in rater for rater in file.sides["a"].raters)
    assert len(set(file.sides["a"].raters)) == 2


def test_what_was_taken_back_does_not_count_and_a_second_opinion_is_refused(tmp_path: Path) -> None:
    text = PAIRS + "1,b,a,r1,undo\n1,a,b,r1,second\n"
    file = load(tmp_path / "p.csv", text, "pairs")
    assert [one.outcome for one in file.choices if one.rater == "r1"] == ["first", "second"]
    with pytest.raises(SpecError, match="a second row of rater"):
        load(tmp_path / "p.csv", PAIRS + "1,b,a,r1,second\n", "pairs")


@pytest.mark.parametrize(
    ("text", "form", "words"),
    [
        ("item,side,rater,rating\n1,a,r,6\n", "long", "a number from 1 to 5"),
        ("item,side,rater,rating\n1,a,r,NaN\n", "long", "a number from 1 to 5"),
        ("item,side,rater,rating\n1,a,r,good\n", "long", "a number from 1 to 5"),
        ("item,side,rater,score\n1,a,r,4\n", "long", "no field 'rating'"),
        ("item,side,rater,rating\n", "long", "no rating"),
        ("item,side,rater,rating\n1,a,,4\n", "long", "in 'rater'"),
        ("item,first,second,rater,choice\n1,a,a,r,tie\n", "pairs", "beside itself"),
        ("item,first,second,rater,choice\n1,a,b,r,c\n", "pairs", "first, second, tie"),
        ("item,prompt\n1,p\n", "wide", "no column of ratings"),
        ("item,side,rater,rating\n1,a b,r,4\n1,a-b,r,4\n", "long", "special characters"),
        ("item,side,rater,rating,prompt\n1,a,r,4,x\n1,a,s,4,y\n", "long", "another prompt"),
        ("", "long", "empty"),
        ("item,side,rater,rating\n" + "".join(f"1,s{n},r,4\n" for n in range(101)), "long", "101 sides"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, form: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=words):
        load(tmp_path / "r.csv", text, form)


def test_a_side_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no rating of"):
        load(tmp_path / "r.csv", LONG, sides=("a", "c"))


def test_automatic_scores_stand_beside_the_ratings(tmp_path: Path) -> None:
    file = load(tmp_path / "r.csv", "item,side,rater,rating,clip\n1,a,r,4,0.5\n2,a,r,3,\n", automatic=("clip",))
    assert file.sides["a"].automatic == {"clip": (0.5, None)}
    with pytest.raises(SpecError, match="a number, or nothing"):
        load(tmp_path / "r.csv", "item,side,rater,rating,clip\n1,a,r,4,high\n", automatic=("clip",))


def test_a_sides_name_is_made_plain() -> None:
    assert side_name("DALL·E 3 (new)") == "DALL-E-3-new"
    assert side_name("§§") == "side"


@given(
    st.lists(
        st.tuples(st.sampled_from("123"), st.sampled_from(["r", "s"]), st.sampled_from(["first", "tie", "undo"])), min_size=1, max_size=30
    )
)
def test_the_rows_that_count_are_those_since_the_last_undo(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]]
) -> None:
    """Whatever was answered and taken back; a second answer without an undo is left out here, since it is refused."""
    counted: dict[tuple[str, str], str] = {}
    lines = []
    for item, rater, choice in rows:
        if choice != "undo" and (item, rater) in counted:
            continue
        lines.append(f"{item},a,b,{rater},{choice}\n")
        counted.pop((item, rater), None)
        if choice != "undo":
            counted[item, rater] = choice
    if counted:
        path = tmp_path_factory.mktemp("pairs") / "p.csv"
        file = load(path, "item,first,second,rater,choice\n" + "".join(lines), "pairs")
        assert {(one.item, one.rater): one.outcome for one in file.choices} == counted
