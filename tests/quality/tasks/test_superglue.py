"""Are SuperGLUE's files read as their authors wrote them, nested answers included?"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quality.tasks.made import lines, refused, tasks


@pytest.fixture
def data(tmp_path: Path) -> Path:
    six = range(6)
    lines(
        tmp_path / "BoolQ" / "val.jsonl", [{"question": f"is {n} odd", "passage": f"P{n // 2}", "idx": n, "label": n % 2 == 1} for n in six]
    )
    labels = ("entailment", "contradiction", "neutral")
    lines(tmp_path / "CB" / "val.jsonl", [{"premise": f"P{n}", "hypothesis": "H", "label": labels[n % 3], "idx": n} for n in six])
    copa = {"premise": "It rained.", "choice1": "The road got wet.", "choice2": "The sun shone."}
    lines(tmp_path / "COPA" / "val.jsonl", [{**copa, "question": ("effect", "cause")[n % 2], "label": n % 2, "idx": n} for n in six])
    questions = [{"question": f"Q{q}", "idx": q, "answers": [{"text": f"a{a}", "label": a, "idx": a} for a in (0, 1)]} for q in (0, 1)]
    lines(
        tmp_path / "MultiRC" / "val.jsonl", [{"idx": n, "version": 1.1, "passage": {"text": f"P{n}", "questions": questions}} for n in six]
    )
    passage = {"text": "Ann met Bob.\n@highlight\nThey talked", "entities": [{"start": 0, "end": 2}, {"start": 8, "end": 10}]}
    aliases = [{"start": 0, "end": 2, "text": text} for text in ("Ann", "Annie")]
    qas = [{"query": "@placeholder met Bob", "idx": n, "answers": aliases} for n in (0, 1)]
    lines(tmp_path / "ReCoRD" / "val.jsonl", [{"source": "x", "passage": passage, "qas": qas, "idx": n} for n in six])
    lines(
        tmp_path / "RTE" / "val.jsonl",
        [{"premise": "P", "hypothesis": "H", "label": ("entailment", "not_entailment")[n % 2], "idx": n} for n in six],
    )
    wic = {"word": "place", "sentence1": "a place", "sentence2": "to place", "start1": 2, "start2": 3, "end1": 7, "end2": 8}
    lines(tmp_path / "WiC" / "val.jsonl", [{**wic, "idx": n, "label": n % 2 == 0} for n in six])
    entails = ("entailment", "not_entailment")
    lines(tmp_path / "AX-b" / "AX-b.jsonl", [{"sentence1": "P", "sentence2": "H", "label": entails[n % 2], "idx": n} for n in six])
    lines(
        tmp_path / "AX-g" / "AX-g.jsonl",
        [{"premise": "He left.", "hypothesis": "H", "label": entails[0], "idx": n, "pair_id": 800 + n // 2} for n in six],
    )
    target = {"span1_text": "Mark", "span1_index": 0, "span2_text": "He", "span2_index": 4}
    lines(
        tmp_path / "WSC" / "val.jsonl",
        [{"text": "Mark told Pete lies. He laughed.", "target": target, "idx": n, "label": n % 2 == 0} for n in six],
    )
    return tmp_path


def test_every_task_has_its_items_and_official_metrics(data: Path) -> None:
    read = {task.name.removeprefix("superglue/"): task for task in tasks("superglue", data)}
    assert {name: task.metrics for name, task in read.items()} == {
        "boolq": ("accuracy",), "cb": ("accuracy", "f1_macro"), "copa": ("accuracy",), "multirc": ("f1_binary", "exact_questions"),
        "record": ("squad_exact_match", "f1"), "rte": ("accuracy",), "wic": ("accuracy",), "wsc": ("accuracy",),
        "axb": ("mcc",), "axg": ("accuracy", "gender_parity"),
    }  # fmt: skip
    counts = {name: len(task.items) for name, task in read.items()}
    assert counts == {"boolq": 6, "cb": 6, "copa": 6, "multirc": 24, "record": 12, "rte": 6, "wic": 6, "wsc": 6, "axb": 6, "axg": 6}


def test_every_task_can_be_put_as_choices(data: Path) -> None:
    read = {task.name.removeprefix("superglue/"): task for task in tasks("superglue", data, form="choices")}
    copa = read["copa"].items
    assert (copa[0].prompt, copa[0].choices, copa[0].references) == (
        "It rained therefore",
        (" the road got wet.", " the sun shone."),
        ("0",),
    )
    assert copa[1].prompt == "It rained because"
    assert read["record"].items[0].choices == ("  - Ann met Bob", "  - Bob met Bob")
    assert read["record"].items[0].references == ("0",)
    assert [item.references[0] for item in read["cb"].items] == list("012012")


def test_answers_of_multirc_are_keyed_by_paragraph_and_question(data: Path) -> None:
    (task,) = tasks("superglue", data, task="multirc")
    assert [item.id for item in task.items[:5]] == ["0/0/0", "0/0/1", "0/1/0", "0/1/1", "1/0/0"]
    assert task.cluster == "passage"
    assert task.items[3].cluster == "0"


def test_sides_of_a_pair_share_what_stands_before_the_slash(data: Path) -> None:
    (task,) = tasks("superglue", data, task="axg")
    assert [item.id for item in task.items[:3]] == ["800/0", "800/1", "801/2"]
    assert (task.cluster, task.items[1].cluster) == ("pair", "800")
    assert set(task.files) == {"AX-g/AX-g.jsonl"}


def test_aliases_of_record_are_all_references(data: Path) -> None:
    (task,) = tasks("superglue", data, task="record")
    assert task.items[0].references == ("Ann", "Annie")
    assert task.items[0].prompt.startswith("Ann met Bob.\n\n  - They talked.\n")


def test_the_pronoun_of_wsc_is_marked_at_its_word(data: Path) -> None:
    (task,) = tasks("superglue", data, task="wsc")
    assert task.items[0].prompt == (
        'Passage: Mark told Pete lies. *He* laughed.\nQuestion: In the passage above, does the pronoun "*He*" refer to "*Mark*"?\nAnswer:'
    )


def test_questions_about_one_passage_are_a_cluster(data: Path) -> None:
    (task,) = tasks("superglue", data, task="boolq")
    labels = [item.cluster for item in task.items]
    assert labels[0] == labels[1] != labels[2]
    assert len(set(labels)) == 3


def test_a_split_without_labels_is_refused(data: Path) -> None:
    lines(data / "RTE" / "test.jsonl", [{"premise": "P", "hypothesis": "H", "idx": 0}])
    assert "a split with labels" in refused("superglue", data, task="rte", split="test")
    lines(data / "ReCoRD" / "test.jsonl", [{"passage": {"text": "a", "entities": []}, "qas": [{"query": "q", "idx": 0}], "idx": 0}])
    assert "hidden" in refused("superglue", data, task="record", split="test")


def test_what_is_wrong_names_the_place_and_what_to_do(data: Path) -> None:
    lines(data / "CB" / "val.jsonl", [{"premise": "P", "hypothesis": "H", "label": "maybe", "idx": 0}])
    assert "CB/val.jsonl, line 1" in refused("superglue", data, task="cb")
    lines(data / "CB" / "val.jsonl", [{"premise": "P", "hypothesis": "H", "label": ["neutral"], "idx": 0}])
    assert "in 'label'" in refused("superglue", data, task="cb")
    lines(data / "WiC" / "val.jsonl", [{"word": "w", "sentence1": "a", "sentence2": "b", "label": True, "idx": 3}] * 2)
    assert "--task-option shots=0" in refused("superglue", data, task="wic", shots=2)
    assert "the id '3' twice" in refused("superglue", data, task="wic")
    lines(data / "MultiRC" / "val.jsonl", [{"idx": 0, "passage": {"text": "t", "questions": "none"}}])
    assert "MultiRC/val.jsonl, line 1, passage" in refused("superglue", data, task="multirc")
