"""Are own multiple-choice questions read as written?"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quality.tasks.made import lines, refused, tasks

ROW = {"question": "2+2?", "choices": ["3", "four", "5"]}


@pytest.mark.parametrize("answer", [1, "B", "four"])
def test_an_answer_is_an_index_a_letter_or_a_text(tmp_path: Path, answer: object) -> None:
    path = lines(tmp_path / "own.jsonl", [{**ROW, "answer": answer}])
    (task,) = tasks("choices", path)
    assert task.items[0].references == ("B",)
    assert task.items[0].prompt == "2+2?\nA. 3\nB. four\nC. 5\nAnswer:"
    assert tasks("choices", path, variant="text")[0].items[0].choices == (" 3", " four", " 5")
    assert tasks("choices", path, variant="letter")[0].items[0].references == ("1",)


def test_chance_is_the_mean_over_the_numbers_of_choices(tmp_path: Path) -> None:
    path = lines(tmp_path / "own.jsonl", [{**ROW, "answer": 0}, {"question": "?", "choices": ["a", "b"], "answer": "b"}])
    assert tasks("choices", path)[0].chance == pytest.approx((1 / 3 + 1 / 2) / 2)


def test_what_stands_beside_the_question_is_kept(tmp_path: Path) -> None:
    row = {**ROW, "answer": 0, "id": "q7", "cluster": "p1", "groups": {"level": "easy"}, "weight": 2.5}
    (task,) = tasks("choices", lines(tmp_path / "own.jsonl", [row]))
    item = task.items[0]
    assert (task.name, item.id, item.cluster, item.groups, item.weight) == ("own", "q7", "p1", {"level": "easy"}, 2.5)


def test_examples_come_from_the_named_file(tmp_path: Path) -> None:
    lines(tmp_path / "dev.jsonl", [{**ROW, "answer": 1}])
    path = lines(tmp_path / "own.jsonl", [{**ROW, "answer": 0}])
    (task,) = tasks("choices", path, shots=1, shots_from="dev.jsonl")
    assert task.items[0].prompt == "2+2?\nA. 3\nB. four\nC. 5\nAnswer: B\n\n2+2?\nA. 3\nB. four\nC. 5\nAnswer:"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"answer": 3}, "an index from 0 to 2, a letter from A to C, or the text of one choice"),
        ({"answer": True}, "found true in 'answer'"),
        ({"answer": 0, "choices": ["only"]}, "1 choices; allowed: from 2 to 26"),
        ({"answer": 0, "weight": -1}, "a number from 1e-09 to 1e+09"),
        ({"answer": 0, "weight": 1e308}, "a number from 1e-09 to 1e+09"),
        ({"answer": 0, "clusters": "x"}, "Did you mean cluster?"),
        ({"answer": 0, "groups": "x"}, "an object of labels"),
        ({"answer": 0, "id": "same"}, "the id 'same' twice"),
    ],
)
def test_what_is_wrong_names_the_line(tmp_path: Path, change: dict[str, object], said: str) -> None:
    message = refused("choices", lines(tmp_path / "own.jsonl", [{**ROW, "id": "same", "answer": 0}, {**ROW, **change}]))
    assert said in message
    assert "own.jsonl" in message
