"""Is MMLU read as its authors wrote it?"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.quality.tasks.made import digest, refused, tasks, write

DEV = 'What is 1+1?,1,2,3,4,B\n"In ""cold"" water, which?",ice,steam,gas,none,A\n'
TEST = "What is 2+2?,1,2,3,4,D\nWhat is 2+1?,1,2,3,4,C\n"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for subject in ("anatomy", "world_religions", "abstract_algebra"):
        write(tmp_path / "dev" / f"{subject}_dev.csv", DEV)
        write(tmp_path / "test" / f"{subject}_test.csv", TEST)
    return tmp_path


HEAD = (
    "The following are multiple choice questions (with answers) about world religions.\n\n"
    "What is 1+1?\nA. 1\nB. 2\nC. 3\nD. 4\nAnswer: B\n\n"
    'In "cold" water, which?\nA. ice\nB. steam\nC. gas\nD. none\nAnswer: A\n\n'
)


def test_a_prompt_is_that_of_the_authors(data: Path) -> None:
    (task,) = tasks("mmlu", data, shots=2, variant="letter")
    item = next(item for item in task.items if item.id == "world_religions/1")
    assert item.prompt == HEAD + "What is 2+2?\nA. 1\nB. 2\nC. 3\nD. 4\nAnswer:"
    assert item.choices == (" A", " B", " C", " D")
    assert item.references == ("3",)
    assert (task.method, task.chance, task.shots) == ("loglikelihood", 0.25, 2)


def test_three_variants_are_three_tasks(data: Path) -> None:
    text = tasks("mmlu", data, shots=1, variant="text")[0]
    assert text.items[0].choices == (" 1", " 2", " 3", " 4")
    assert "A. 1" not in text.items[0].prompt
    assert "Answer: 2\n\n" in text.items[0].prompt
    generation = tasks("mmlu", data, shots=1)[0]
    assert (generation.method, generation.extractor, generation.items[0].references) == ("generation", "choice_letter", ("D",))
    assert len({task.template for task in (text, generation)}) == 2


def test_subjects_are_clusters_and_groups(data: Path) -> None:
    (task,) = tasks("mmlu", data, shots=0)
    assert task.cluster == "subject"
    assert [item.cluster for item in task.items] == ["abstract_algebra"] * 2 + ["anatomy"] * 2 + ["world_religions"] * 2
    assert [item.groups["category"] for item in task.items][::2] == ["stem", "stem", "humanities"]
    (one,) = tasks("mmlu", data, shots=0, subjects="anatomy")
    assert set(one.files) == {"test/anatomy_test.csv"}
    assert one.files["test/anatomy_test.csv"] == digest(data / "test" / "anatomy_test.csv")


def test_what_is_wrong_names_file_line_column_and_remedy(data: Path) -> None:
    assert "Did you mean anatomy?" in refused("mmlu", data, shots=0, subjects="anatomi")
    assert "at least 5, for shots = 5" in refused("mmlu", data)
    file = data / "test" / "anatomy_test.csv"
    write(file, TEST + "What?,1,2,3,4,E\n")
    assert "test/anatomy_test.csv, line 3, column 6" in refused("mmlu", data, shots=0)
    write(file, TEST + "What?,1,2,3,4\n")
    assert "5 columns; allowed: 6: question, A, B, C, D, answer" in refused("mmlu", data, shots=0)
    write(file, 'What\n"is",1,2,3,4,"A\n')
    assert "anatomy_test.csv, line" in refused("mmlu", data, shots=0)
    assert "no folder 'test' in it" in refused("mmlu", data / "dev")


def test_a_missing_folder_of_examples_says_how_to_ask_without(data: Path) -> None:
    shutil.rmtree(data / "dev")
    message = refused("mmlu", data)
    assert "dev/abstract_algebra_dev.csv" in message
    assert "--task-option shots=0" in message


def test_another_systems_lines_and_a_mark_in_front_change_no_item(data: Path) -> None:
    before = tasks("mmlu", data, shots=0)[0].items
    write(data / "test" / "anatomy_test.csv", TEST.replace("\n", "\r\n"), "utf-8-sig")
    assert tasks("mmlu", data, shots=0)[0].items == before
