"""Is GSM8K read as its authors wrote it?"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.quality.tasks.made import digest, lines, refused, tasks, write

ROWS = [
    {"question": f"Tom has {n} bags of 12 pens. How many pens?", "answer": f"{n} * 12 = <<{n}*12={n * 12}>>{n * 12}\n#### {n * 12:,}"}
    for n in range(1, 101)
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines(tmp_path / "train.jsonl", ROWS[:8])
    lines(tmp_path / "test.jsonl", ROWS[80:])
    return tmp_path


def test_a_prompt_is_the_examples_and_the_question(folder: Path) -> None:
    (task,) = tasks("gsm8k", folder, shots=2)
    item = task.items[0]
    assert item.prompt == (
        "Question: Tom has 1 bags of 12 pens. How many pens?\nAnswer: 1 * 12 = <<1*12=12>>12\n#### 12\n\n"
        "Question: Tom has 2 bags of 12 pens. How many pens?\nAnswer: 2 * 12 = <<2*12=24>>24\n#### 24\n\n"
        "Question: Tom has 81 bags of 12 pens. How many pens?\nAnswer:"
    )
    assert (task.shots, task.metrics, task.method, len(task.items)) == (2, ("exact_match",), "generation", 20)


def test_a_reference_is_the_number_in_canonical_notation(folder: Path) -> None:
    (task,) = tasks("gsm8k", folder)
    assert task.items[3].references == ("1008",)  # written 1,008


def test_every_file_that_was_read_has_its_digest(folder: Path) -> None:
    (task,) = tasks("gsm8k", folder)
    assert task.files == {name: digest(folder / name) for name in ("test.jsonl", "train.jsonl")}
    (alone,) = tasks("gsm8k", folder / "test.jsonl", shots=0)
    assert set(alone.files) == {"test.jsonl"}
    assert alone.items[0].prompt.startswith("Question: Tom has 81")


def test_a_compressed_file_is_the_same_task_under_its_own_digest(folder: Path) -> None:
    packed = folder / "test.jsonl.gz"
    packed.write_bytes(gzip.compress((folder / "test.jsonl").read_bytes()))
    (plain,), (task,) = tasks("gsm8k", folder / "test.jsonl"), tasks("gsm8k", packed)
    assert task.items == plain.items
    assert task.files["test.jsonl.gz"] == digest(packed)


def test_annotations_of_the_calculator_can_be_left_out(folder: Path) -> None:
    (task,) = tasks("gsm8k", folder, calculator=False)
    assert "<<" not in task.items[0].prompt
    assert task.template != tasks("gsm8k", folder)[0].template


def test_what_is_wrong_names_file_line_and_remedy(folder: Path) -> None:
    write(folder / "test.jsonl", '{"question": "a", "answer": "#### 1"}\n{"question": "b", "answer": "none"}\n')
    assert "test.jsonl, line 2" in refused("gsm8k", folder, shots=0)
    write(folder / "test.jsonl", '{"question": "a", "answer": "#### 1"}\n{"question": "b" "answer": "x"}\n')
    assert "test.jsonl, line 2, column 18: found no JSON" in refused("gsm8k", folder, shots=0)
    write(folder / "test.jsonl", '{"question": "a", "anser": "#### 1"}\n')
    assert "Did you mean answer" not in refused("gsm8k", folder, shots=0)
    assert "Did you mean anser?" in refused("gsm8k", folder, shots=0)
    write(folder / "test.jsonl", "\n\n")
    assert "an empty file" in refused("gsm8k", folder, shots=0)
    assert "8 examples" in refused("gsm8k", lines(folder / "t.jsonl", ROWS), shots=9)


def test_a_missing_file_of_examples_says_how_to_ask_without(folder: Path) -> None:
    (folder / "train.jsonl").unlink()
    message = refused("gsm8k", folder)
    assert "shots = 5" in message
    assert "--task-option shots=0" in message


def test_options_are_checked_all_at_once(folder: Path) -> None:
    message = refused("gsm8k", folder, shot=3, shots="5", extractor="hash")
    assert "Did you mean shots?" in message
    assert "a whole number from 0" in message
    assert "Did you mean hashes?" in message
