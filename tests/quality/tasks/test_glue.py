"""Are GLUE's files read as their authors wrote them, lone quotes and hidden labels included?"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quality.tasks.made import refused, tasks, tsv, write

INFERENCE = [("index", "sentence1", "sentence2", "label")]


@pytest.fixture
def glue(tmp_path: Path) -> Path:
    six = range(6)
    tsv(tmp_path / "CoLA" / "dev.tsv", [("gj04", n % 2, "*" if n % 2 == 0 else "", f'He said "go {n}.') for n in six])
    tsv(tmp_path / "SST-2" / "dev.tsv", [("sentence", "label"), *((f'a "fine film {n}', n % 2) for n in six)])
    tsv(
        tmp_path / "MRPC" / "dev.tsv",
        [("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"), *((n % 2, n, n, f"One {n}.", f"Two {n}.") for n in six)],
    )
    tsv(
        tmp_path / "QQP" / "dev.tsv",
        [("id", "qid1", "qid2", "question1", "question2", "is_duplicate"), *((n, n, n, f"Q{n}?", f"R{n}?", n % 2) for n in six)],
    )
    header = ("index", "genre", "filename", "year", "old_index", "source1", "source2", "sentence1", "sentence2", "score")
    tsv(tmp_path / "STS-B" / "dev.tsv", [header, *((n, "g", "f", "y", n, "s", "s", f"A {n}.", f"B {n}.", f"{n * 0.8:.3f}") for n in six)])
    labels = ("entailment", "neutral", "contradiction")
    for end in ("matched", "mismatched"):
        rows = [(n, "fiction", f"P {n}.", f"H {n}", labels[n % 3]) for n in six]
        tsv(tmp_path / "MNLI" / f"dev_{end}.tsv", [("index", "genre", "sentence1", "sentence2", "gold_label"), *rows])
    pairs = [(n, f"Q {n}?", f"S {n}.", "entailment" if n % 2 else "not_entailment") for n in six]
    tsv(tmp_path / "QNLI" / "dev.tsv", [("index", "question", "sentence", "label"), *pairs])
    tsv(
        tmp_path / "RTE" / "dev.tsv", INFERENCE + [(str(n), f"P {n}.", f"H {n}.", "entailment" if n % 2 else "not_entailment") for n in six]
    )
    tsv(tmp_path / "WNLI" / "dev.tsv", INFERENCE + [(str(n), f"P {n}.", f"H {n}.", str(n % 2)) for n in six])
    return tmp_path


NINE = "cola,sst2,mrpc,qqp,mnli,qnli,rte,wnli"
OFFICIAL = {
    "glue/cola": ("mcc",), "glue/sst2": ("accuracy",), "glue/mrpc": ("f1_binary", "accuracy"), "glue/qqp": ("f1_binary", "accuracy"),
    "glue/stsb": ("pearson", "spearman"), "glue/mnli_matched": ("accuracy",), "glue/mnli_mismatched": ("accuracy",),
    "glue/qnli": ("accuracy",), "glue/rte": ("accuracy",), "glue/wnli": ("accuracy",),
}  # fmt: skip


def test_every_task_has_its_rows_and_official_metrics(glue: Path) -> None:
    read = tasks("glue", glue)
    assert {task.name: task.metrics for task in read} == OFFICIAL
    assert all(len(task.items) == 6 for task in read)  # a lone quote eats no row


def test_a_quote_is_an_ordinary_character(glue: Path) -> None:
    (task,) = tasks("glue", glue, task="cola")
    assert task.items[1].prompt == 'He said "go 1.\nQuestion: Does this sentence make sense?\nAnswer:'
    assert [item.references for item in task.items][:2] == [("no",), ("yes",)]


def test_a_choice_is_the_index_of_the_official_label(glue: Path) -> None:
    read = {task.name: task for task in tasks("glue", glue, task=NINE, form="choices")}
    assert read["glue/mnli_matched"].items[2].choices == (" True", " Neither", " False")
    assert [item.references[0] for item in read["glue/mnli_matched"].items] == list("012012")
    assert [item.references[0] for item in read["glue/mrpc"].items] == list("010101")
    assert read["glue/mrpc"].options["f1_binary.positive"] == "1"
    assert tasks("glue", glue, task="mrpc")[0].options["f1_binary.positive"] == "yes"
    assert "stsb" in refused("glue", glue, form="choices")


def test_a_hypothesis_ends_with_a_full_stop_as_in_the_public_prompt(glue: Path) -> None:
    (task, _) = tasks("glue", glue / "MNLI")
    assert task.items[0].prompt == "P 0.\nQuestion: H 0. True, False or Neither?\nAnswer:"


def test_examples_come_from_the_training_file(glue: Path) -> None:
    tsv(glue / "SST-2" / "train.tsv", [("sentence", "label"), ("dull", 0), ("great", 1)])
    (task,) = tasks("glue", glue, task="sst2", shots=2)
    question = "Question: Is this sentence positive or negative?\nAnswer:"
    assert task.items[0].prompt.startswith(f"dull\n{question} negative\n\ngreat\n{question} positive\n\n")


def test_a_split_without_labels_is_refused(glue: Path) -> None:
    tsv(glue / "RTE" / "test.tsv", [("index", "sentence1", "sentence2"), (0, "a", "b")])
    assert "a split with labels" in refused("glue", glue, task="rte", split="test")
    tsv(glue / "CoLA" / "test.tsv", [("index", "sentence"), (0, "a")])
    assert "CoLA/test.tsv, line 2" in refused("glue", glue, task="cola", split="test")
    tsv(glue / "SST-2" / "test.tsv", [("sentence", "label"), ("a", -1)])
    assert "hidden" in refused("glue", glue, task="sst2", split="test")


def test_a_row_of_another_width_is_refused_or_counted(glue: Path) -> None:
    path = glue / "QQP" / "dev.tsv"
    write(path, path.read_text() + "6\t6\tbroken\n")
    assert "QQP/dev.tsv, line 8: found 3 columns instead of 6" in refused("glue", glue, task="qqp")
    (task,) = tasks("glue", glue, task="qqp", broken_rows="skip")
    assert (len(task.items), task.options["skipped_rows"]) == (6, 1)


def test_what_is_wrong_names_the_place_and_what_to_do(glue: Path) -> None:
    assert "Did you mean mrpc?" in refused("glue", glue, task="mrcp")
    assert "no such file" in refused("glue", glue, task="rte", split="train")
    assert "--task-option shots=0" in refused("glue", glue, task="rte", shots=2)
    tsv(glue / "STS-B" / "dev.tsv", [("sentence1", "sentence2", "score"), ("a", "b", "high")])
    assert "a number from 0 to 5" in refused("glue", glue, task="stsb")
    assert "none of the tasks' folders" in refused("glue", glue / "nothing")
