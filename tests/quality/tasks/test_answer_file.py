"""Is a file of answers read as it is, and an invalid line named?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fireassay.errors import SpecError
from fireassay.quality.tasks.answer_file import Answers, read
from fireassay.spec.sections.evaluation import Fields


def of(text: str, tmp_path: Path, name: str = "answers.jsonl", **fields: object) -> Answers:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return read(path, Fields(**fields))  # type: ignore[arg-type]


def test_lines_become_items_with_their_answers(tmp_path: Path) -> None:
    text = '\ufeff{"answer": "a", "reference": ["x", "y"], "prompt": "q"}\r\n\n{"answer": null, "reference": 7}\n{"reference": true}'
    with pytest.raises(SpecError, match=r"line 4: found true in 'reference'; allowed: a text or a number"):
        of(text, tmp_path)
    answers = of(text.replace("true", '"z"'), tmp_path)
    assert [item.id for item in answers.items] == ["1", "2", "3"]
    assert [item.references for item in answers.items] == [("x", "y"), ("7",), ("z",)]
    assert answers.texts == ("a", None, None)
    assert answers.items[0].prompt == "q"


def test_a_table_is_read_by_its_head(tmp_path: Path) -> None:
    answers = of('id,answer,reference\n1,"a, b",c\n2,,d\n', tmp_path, "answers.csv", id="id")
    assert answers.texts == ("a, b", "")
    assert [item.id for item in answers.items] == ["1", "2"]


@pytest.mark.parametrize(
    ("answer", "cell", "references"),
    [("5", '["5", "five"]', ("5", "five")), ("5", "[5, 6]", ("[5, 6]",)), ("5", "[x", ("[x",)), ('["a"]', '["a", "b"]', ('["a", "b"]',))],
)
def test_a_list_of_texts_in_a_cell_is_several_references(answer: str, cell: str, references: tuple[str, ...], tmp_path: Path) -> None:
    quoted = [text.replace('"', '""') for text in (answer, cell)]
    (item,) = of('answer,reference\n"{}","{}"\n'.format(*quoted), tmp_path, "answers.csv").items
    assert item.references == references


@pytest.mark.parametrize("text", ['{"answer": "a", "reference": NaN}', '{"answer": Infinity, "reference": "b"}'])
def test_what_is_no_number_is_no_text(text: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="line 1: found"):
        of(text, tmp_path)


def test_labels_clusters_groups_and_weights_are_read(tmp_path: Path) -> None:
    row = '{"key": 7, "answer": "a", "reference": "b", "passage": 3, "language": "de", "w": "2.5"}'
    (item,) = of(row, tmp_path, id="key", cluster="passage", groups=("language",), weight="w").items
    assert (item.id, item.cluster, dict(item.groups), item.weight) == ("7", "3", {"language": "de"}, 2.5)


def test_lines_with_one_id_are_repetitions(tmp_path: Path) -> None:
    line = '{"id": 1, "answer": "%s", "reference": "b"}\n'
    answers = of(line % "x" + line % "y", tmp_path, id="id")
    assert answers.repetitions == (0, 1)
    with pytest.raises(SpecError, match="differ in more than the answer"):
        of(line % "x" + '{"id": 1, "answer": "x", "reference": "c"}', tmp_path, id="id")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "an empty file"),
        ("{", "line 1, column 2: found no JSON"),
        ("[1]", "line 1: found [1]; allowed: one JSON object per line"),
        ('{"answer": "a"}', "line 1: found no field 'reference'"),
        ('{"answer": "a", "reference": []}', "an empty list in 'reference'"),
        ('{"answer": {}, "reference": "b"}', "'answer'; allowed: a text or a number"),
        ("[" * 100_000, "line 1: found JSON that is nested too deep"),
    ],
)
def test_an_invalid_line_is_named(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError) as wrong:
        of(text, tmp_path)
    assert words in str(wrong.value)


@pytest.mark.parametrize("weight", ["0", "-1", '"x"', "true", "1e999", "null"])
def test_a_weight_is_a_number_above_0(weight: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError):
        of(f'{{"answer": "a", "reference": "b", "w": {weight}}}', tmp_path, weight="w")


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"answer": "a", "reference": "b"}\n\xff')
    with pytest.raises(SpecError, match="line 2: found the byte 0xff, which is not UTF-8"):
        read(tmp_path / "a.jsonl", Fields())
    with pytest.raises(SpecError, match="no such file"):
        read(tmp_path / "b.jsonl", Fields())


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "a.jsonl",
            '{"answer": "a", "reference": "b"}\n{"answer": "aaaaaaaaaaaaaaaaaaaa", "reference": "b"}',
            "line 2: found 52 characters",
        ),
        ("a.csv", f"answer,reference\n{'a' * 60},b\n", "line 2: found no CSV (field larger than field limit"),
    ],
)
def test_a_line_longer_than_any_answer_is_refused(name: str, text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of a gigabyte in one line was scored for ten minutes without an end in sight."""
    monkeypatch.setattr("fireassay.quality.tasks.support.files.MAX_LINE_LENGTH", 40)
    with pytest.raises(SpecError) as refused:
        of(text, tmp_path, name)
    assert said in str(refused.value)


def test_half_a_surrogate_pair_is_the_replacement_character(tmp_path: Path) -> None:
    """As where an engine sends one; no record could hold it. A whole pair and an escaped backslash stay."""
    text = '{"k": "1\\uDC00", "answer": "y\\ud800", "reference": ["\\ud83d\\ude00", "\\\\ud800"]}'
    answers = of(text, tmp_path, id="k")
    assert answers.texts == ("y\N{REPLACEMENT CHARACTER}",)
    assert answers.items[0].id == "1\N{REPLACEMENT CHARACTER}"
    assert answers.items[0].references == ("\N{GRINNING FACE}", "\\ud800")


@pytest.mark.parametrize("weight", [1e-320, 1e308, "NaN", 0, -1])
def test_a_weight_whose_square_is_no_number_is_refused(weight: object, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="a number from 1e-09 to 1e\\+09"):
        of(f'{{"answer": "a", "reference": "a", "w": {weight}}}', tmp_path, weight="w")


def test_null_is_no_misspelt_name(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="found null in 'w'; allowed: a value\\.?$"):
        of('{"answer": "a", "reference": "a", "w": null}', tmp_path, weight="w")


def test_a_key_that_stands_twice_in_a_line_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match='line 1: found the key "answer" twice in one object'):
        of('{"answer": "a", "answer": "b", "reference": "b"}', tmp_path)


def test_an_id_as_a_number_and_as_a_text_is_named(tmp_path: Path) -> None:
    """They would be two answers to one item."""
    text = '{"k": 1, "answer": "a", "reference": "b"}\n{"k": "1", "answer": "a", "reference": "b"}'
    with pytest.raises(SpecError, match='line 2: found the k "1", as a text and as a number'):
        of(text, tmp_path, id="k")


def test_a_list_of_one_answer_is_that_answer(tmp_path: Path) -> None:
    """As lm-evaluation-harness writes `resps` and `filtered_resps`."""
    lines = '{"answer": [["a"]], "reference": "x"}\n{"answer": [7], "reference": "x"}\n'
    assert of(lines, tmp_path).texts == ("a", "7")
    with pytest.raises(SpecError, match="line 1: found"):
        of('{"answer": ["a", "b"], "reference": "x"}\n', tmp_path)


def test_of_references_that_are_solutions_the_final_answer_counts(tmp_path: Path) -> None:
    def line(reference: str) -> str:
        return json.dumps({"answer": "So 42", "reference": reference}) + "\n"

    solution = "6 * 7 = <<6*7=42>>42\n#### "
    both = line(solution + "1,042") + line(solution + "x = 3")
    assert [item.references for item in of(both, tmp_path).items] == [("1042",), ("x = 3",)]
    for other in ("no solution", "#### 42\nand more", "##### 42"):
        mixed = of(line(solution + "42") + line(other), tmp_path)
        assert mixed.items[0].references == (solution + "42",), other
    assert of(line("#### Results"), tmp_path).items[0].references == ("#### Results",)  # a heading


@pytest.mark.parametrize(
    ("line", "fields", "flags"),
    [
        ('{"qid": 1, "pred": "a", "label": "b"}', {}, "--answer pred --reference label"),
        ('{"qid": 1, "pred": "a", "label": "b"}', {"id": "id"}, "--answer pred --reference label --id qid"),
        ('{"doc_id": 1, "resps": [["a"]], "target": "b"}', {"reference": "target"}, "--answer resps"),
    ],
)
def test_a_missing_field_names_the_flags_that_are_likely_meant(line: str, fields: dict[str, str], flags: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=f"Likely: {flags}\\."):
        of(line, tmp_path, **fields)
