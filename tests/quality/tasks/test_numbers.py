"""Are numbers of another program read as they are, missing ones never a loss, and impossible ones refused by their line?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.errors import SpecError
from fireassay.quality.tasks.answer_file import Answers, read, sides
from fireassay.quality.tasks.support.numbers import Numbers
from fireassay.spec.sections.evaluation import Fields
from fireassay.spec.sections.given_scores import BestOf, GivenScores, bounds_of, scale_of


def of(text: str, folder: Path, *names: str, name: str = "a.jsonl", scale: str = "", **fields: object) -> Answers:
    path = folder / name
    path.write_text(text)
    given = GivenScores(fields=names or ("v",), scales={"*": scale} if scale else {})
    return read(path, Fields(**fields), Numbers(given=given, alone=True))  # type: ignore[arg-type]


def lines(*rows: object) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


@pytest.mark.parametrize("nothing", ["null", '"n/a"', '""', '" NaN "', "NaN", '"null"', '"-"'])
def test_what_is_no_number_is_missing(nothing: str, tmp_path: Path) -> None:
    assert of(f'{{"v": {nothing}}}\n{{"v": 0}}\n{{"w": 1}}', tmp_path).numbers["v"] == (None, (0.0,), None)


def test_neither_an_answer_nor_a_reference_is_needed_and_texts_are_kept(tmp_path: Path) -> None:
    found = of(lines({"v": 1, "prompt": "a cube", "answer": "a.png", "reference": "b"}, {"v": 2, "answer": {}}), tmp_path)
    assert found.texts == ("a.png", None)
    assert [item.references for item in found.items] == [("b",), ()]
    assert found.items[0].prompt == "a cube"
    with pytest.raises(SpecError, match="no field 'gold'"):
        of(lines({"v": 1}), tmp_path, reference="gold")


def test_a_line_with_an_error_has_no_score(tmp_path: Path) -> None:
    assert of(lines({"v": 1, "error": "timeout"}, {"v": 1, "error": ""}), tmp_path).numbers["v"] == (None, (1.0,))


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("Infinity", "line 1: found inf in 'v'; allowed: a number up to 1e"),
        ('"-inf"', "line 1: found -inf in 'v'"),
        ("1e101", "line 1: found 1e"),
        ("9" * 400, "line 1: found"),
        ('"0,71"', "line 1: found \"0,71\" in 'v'; allowed: a number"),
        ("[1]", r"line 1: found \[1\] in 'v'; allowed: a number"),
        ("1.01", "line 1: found 1.01 in 'v'; allowed: a score from 0 to 1"),
        ("-0.5", "a score from 0 to 1"),
    ],
)
def test_a_number_that_cannot_be_is_refused_with_its_line(cell: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=words):
        of(f'{{"v": {cell}}}', tmp_path, scale="0,1")


@pytest.mark.parametrize("text", ["id,v\n1,0.5\n2,\n", "id\tv\n1\t0.5\n2\tn/a\n"])
def test_a_table_is_read_by_its_head(text: str, tmp_path: Path) -> None:
    name = "a.tsv" if "\t" in text else "a.csv"
    assert of(text, tmp_path, name=name, id="id").numbers["v"] == ((0.5,), None)


def test_a_list_in_json_is_read_and_parquet_is_told_how(tmp_path: Path) -> None:
    assert of('[{"v": 1}, {"v": 2}]', tmp_path).numbers["v"] == ((1.0,), (2.0,))
    with pytest.raises(SpecError, match=r"a Parquet file.*to_json"):
        of("PAR1 and more", tmp_path)


def test_a_field_within_a_field_has_its_path_as_name(tmp_path: Path) -> None:
    text = lines({"m": {"clip": 0.3, "d": {"x": 1}}, "g.h": "a"}, {"m": {"clip": None}, "g.h": "a"})
    found = of(text, tmp_path, "m.clip", "m.d.x", groups=("g.h",))
    assert found.numbers == {"m.clip": ((0.3,), None), "m.d.x": ((1.0,), None)}
    assert found.items[0].groups == {"g.h": "a"}


def test_a_misspelt_field_is_answered_with_the_fields_that_have_numbers(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r'no field \'vqascor\' \(--score-field\).*"vqascore", "m.clip"\. Did you mean vqascore\?'):
        of(lines({"vqascore": 1, "m": {"clip": 2}}), tmp_path, "vqascor")


@pytest.mark.parametrize(
    ("label", "groups"), [('["b", "a", "a"]', ("a", "b")), ('"b"', "b"), ("[]", ()), ("7", "7"), ('["a", 1]', ("1", "a"))]
)
def test_a_list_of_labels_puts_an_item_into_several_subgroups(label: str, groups: object, tmp_path: Path) -> None:
    assert of(f'{{"v": 1, "skill": {label}}}', tmp_path, groups=("skill",)).items[0].groups["skill"] == groups


def test_a_label_in_a_list_has_to_be_a_text(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="line 1: found null in 'skill'"):
        of('{"v": 1, "skill": [null]}', tmp_path, groups=("skill",))


# ---- sides and clusters ----


def test_the_lines_with_one_value_of_a_field_are_a_side(tmp_path: Path) -> None:
    text = lines(*({"p": p, "model": model, "v": v} for p, model, v in (("x", "B", 1), ("x", "A", 2), ("y", "B", 3), ("y", "A", 4))))
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    assert sides(path, "model") == ("B", "A")
    numbers = Numbers(given=GivenScores(fields=("v",)), alone=True)
    found = read(path, Fields(id="p", side="model"), numbers, "A")
    assert (found.numbers["v"], found.repetitions) == (((2.0,), (4.0,)), (0, 0))


@pytest.mark.parametrize(("count", "words"), [(1, "1 values of 'model'"), (101, "101 values of 'model'; allowed: 2 to 100 sides")])
def test_a_field_that_tells_no_sides_apart_is_refused(count: int, words: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(lines(*({"model": f"m{index}"} for index in range(count))))
    with pytest.raises(SpecError, match=words):
        sides(tmp_path / "a.jsonl", "model")


# ---- what a candidate took ----


def test_the_first_field_is_a_candidates_and_the_others_are_its_scorers(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(lines({"v": 1, "s": 2, "t": 0.5, "u": 1}, {"v": 1, "s": 2, "t": None, "u": 1}))
    numbers = Numbers(given=GivenScores(fields=("v",)), best_of=BestOf(candidates=2, seconds=("s", "t", "u")), alone=True)
    assert read(tmp_path / "a.jsonl", Fields(), numbers).numbers["amount:seconds"] == ((2.0, 1.5), None)
    (tmp_path / "a.jsonl").write_text(lines({"v": 1, "s": -2, "t": 0, "u": 0}))
    with pytest.raises(SpecError, match="line 1: found -2 in 's'; allowed: a number of at least 0"):
        read(tmp_path / "a.jsonl", Fields(), numbers)


# ---- declared scales ----


@pytest.mark.parametrize(
    ("text", "bounds"), [("0,1", (0.0, 1.0)), ("-1, 1", (-1.0, 1.0)), ("0,inf", (0.0, float("inf"))), ("-inf,0", (float("-inf"), 0.0))]
)
def test_a_scale_is_two_ends(text: str, bounds: tuple[float, float]) -> None:
    assert bounds_of(text) == bounds
    assert scale_of(f"clip={text}") == ("clip", text)


@pytest.mark.parametrize("text", ["", "1", "1,0", "0,0", "nan,1", "-inf,inf", "0,1,2", "a,b", "0,1e", "=0,1"])
def test_what_is_no_scale_is_refused(text: str) -> None:
    assert bounds_of(text) is None
    with pytest.raises(ValueError, match="LOW,HIGH"):
        scale_of(text)


@given(st.floats(allow_nan=False, allow_infinity=False, width=32), st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_every_pair_of_numbers_in_order_is_a_scale(low: float, high: float) -> None:
    assert bounds_of(f"{low!r},{high!r}") == ((low, high) if low < high else None)


@pytest.mark.parametrize("candidates", [2, 9, 16, 17, 100, 1000])
def test_the_numbers_of_candidates_begin_with_one_and_end_with_all(candidates: int) -> None:
    levels = BestOf(candidates=candidates).steps.levels
    assert (levels[0], levels[-1]) == (1, candidates)
    assert list(levels) == sorted(set(levels))
    assert len(levels) <= 20
    assert candidates > 16 or levels == tuple(range(1, candidates + 1))
