"""Is a SQuAD file read as its authors wrote it?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fireassay.quality.scoring.text_metric import squad as normalised
from tests.quality.scoring.metrics.squad import ITEMS
from tests.quality.scoring.scored import items
from tests.quality.tasks.made import refused, tasks, write


def qa(key: str, answers: list[str], impossible: bool | None = None) -> dict[str, Any]:
    made: dict[str, Any] = {"id": key, "question": f"Which {key}?", "answers": [{"text": text, "answer_start": 0} for text in answers]}
    return made if impossible is None else {**made, "is_impossible": impossible}


def squad(path: Path, *paragraphs: list[dict[str, Any]], **rest: Any) -> Path:
    articles = [{"title": f"Some_{n}", "paragraphs": [{"context": f"Text {n}.", "qas": qas}]} for n, qas in enumerate(paragraphs)]
    return write(path, json.dumps({"version": "1.1", "data": articles, **rest}))


def test_a_question_has_all_of_its_answers_once(tmp_path: Path) -> None:
    path = squad(
        tmp_path / "dev.json",
        [qa("a", ["x", "the x", "x"]), qa("b", ["y"]), qa("c", ["z"])],
        [qa("d", ["v"]), qa("e", ["w"]), qa("f", ["u"])],
    )
    (task,) = tasks("squad", path)
    assert task.items[0].references == ("x", "the x")
    assert task.items[3].prompt == "Title: Some 1\n\nBackground: Text 1.\n\nQuestion: Which d?\n\nAnswer:"
    assert [item.id for item in task.items] == list("abcdef")
    assert (task.metrics, task.extractor, task.items[0].groups) == (("squad_exact_match", "f1"), "first_line", {})


def test_questions_about_one_paragraph_or_article_are_a_cluster(tmp_path: Path) -> None:
    path = squad(tmp_path / "dev.json", [qa("a", ["x"]), qa("b", ["y"])], [qa("c", ["z"])])
    whole = json.loads(path.read_text())
    whole["data"][0]["paragraphs"].append({"context": "More.", "qas": [qa("d", ["v"])]})
    write(path, json.dumps(whole))
    labels = [item.cluster for item in tasks("squad", path)[0].items]
    assert labels[0] == labels[1]
    assert len(set(labels)) == 3
    assert len({item.cluster for item in tasks("squad", path, cluster="article")[0].items}) == 2


def test_a_question_without_an_answer_is_answered_by_saying_so(tmp_path: Path) -> None:
    path = squad(tmp_path / "dev-v2.json", [qa("a", ["x"], False), qa("b", [], True)])
    (task,) = tasks("squad", path)
    assert task.items[1].references == ("unanswerable",)
    assert [item.groups["answerable"] for item in task.items] == ["yes", "no"]
    assert task.items[0].prompt.startswith("If the background does not answer the question, the answer is: unanswerable\n\n")


def test_a_word_for_no_answer_has_the_official_scores_of_an_empty_text(tmp_path: Path) -> None:
    path = squad(tmp_path / "dev-v2.json", [qa("a", ["x"], False), qa("b", [], True)])
    (task,) = tasks("squad", path)
    none = str(task.options["f1.none"])
    answers = [answer or none for answer, *_ in ITEMS]
    references = [wanted if any(map(normalised, wanted)) else (none,) for _, wanted, *_ in ITEMS]
    assert items("squad_exact_match", answers, references, none=none) == [exact for _, _, exact, _, _ in ITEMS]
    assert items("f1", answers, references, none=none) == pytest.approx([f1 for _, _, _, f1, _ in ITEMS], abs=1e-12)
    # The word in a sentence is an answer, and wrong: the official scorer sees a text where there should be none.
    assert items("f1", [f"It is {none}.", f"{none.title()}."], [[none], [none]], none=none) == [0.0, 1.0]
    # A text in which nothing was found, as of reasoning without an end, does not say that there is no answer.
    assert items("f1", [""], [[none]], none=none) == items("squad_exact_match", [""], [[none]], none=none) == [0.0]
    assert "f1.none" not in tasks("squad", squad(tmp_path / "dev.json", [qa("a", ["x"])]))[0].options


def test_examples_come_from_another_file(tmp_path: Path) -> None:
    squad(tmp_path / "train.json", [qa("t", ["gold"])])
    path = squad(tmp_path / "dev.json", [qa("a", ["x"])])
    (task,) = tasks("squad", path, shots=1, shots_from="train.json")
    assert "Question: Which t?\n\nAnswer: gold\n\nTitle: Some 0" in task.items[0].prompt
    assert set(task.files) == {"dev.json", "train.json"}
    assert "shots_from" in refused("squad", path, shots=1)


def test_what_is_wrong_names_the_place_and_what_to_do(tmp_path: Path) -> None:
    path = squad(tmp_path / "dev.json", [qa("a", ["x"])], [qa("a", ["y"])])
    assert "the id 'a' twice" in refused("squad", path)
    squad(path, [qa("a", ["x"]), qa("b", [])])
    assert "dev.json, data[0].paragraphs[0].qas[1]" in refused("squad", path)
    write(path, '{"data": [\n{"paragraphs": 5}]}')
    assert "dev.json, data[0]: found 5 for 'paragraphs'" in refused("squad", path)
    write(path, '{"data": [\n{"paragraphs" 5}]}')
    assert "line 2, column" in refused("squad", path)
    write(path, "[]")
    assert "official SQuAD layout" in refused("squad", path)
