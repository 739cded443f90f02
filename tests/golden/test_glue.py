"""Has every task of GLUE and SuperGLUE the scores of its official scorer?  48 rows each, in the official layout, through prompt, extraction and score.

The official scorers are scikit-learn's and scipy's functions (GLUE: jiant; SuperGLUE: Wang et al., 2019), and SQuAD's for ReCoRD.  MultiRC by
questions and AX-g by pairs are in `tests/quality/scoring/metrics`.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from fireassay.quality.scoring.items import Task
from fireassay.quality.scoring.scoring import extractor
from tests.quality.scoring.scored import value
from tests.quality.tasks.made import lines, tasks, tsv

sklearn = pytest.importorskip("sklearn.metrics")
stats = pytest.importorskip("scipy.stats")
ROWS = range(48)
LABELS: Mapping[str, tuple[Any, ...]] = {  # in the order of the official classes
    "entailment": ("entailment", "not_entailment"),
    "nli": ("entailment", "neutral", "contradiction"),
    "cb": ("entailment", "contradiction", "neutral"),
    "01": ("0", "1"),
    "bool": (False, True),
}
Scorer = Callable[[Sequence[Any], Sequence[Any]], float]


def matthews(labels: Sequence[Any], answers: Sequence[Any]) -> float:
    return float(sklearn.matthews_corrcoef(labels, answers))


def right(labels: Sequence[Any], answers: Sequence[Any]) -> float:
    return float(sklearn.accuracy_score(labels, answers))


def f1(labels: Sequence[Any], answers: Sequence[Any]) -> float:
    return float(sklearn.f1_score(labels, answers, pos_label="1"))


def macro(labels: Sequence[Any], answers: Sequence[Any]) -> float:
    return float(sklearn.f1_score(labels, answers, average="macro"))


# name -> folder, columns of a row but for the label, column of the label, labels, official scorers by our names
GLUE: Mapping[str, tuple[str, tuple[str, ...], str, str, Mapping[str, Scorer]]] = {
    "sst2": ("SST-2", ("sentence",), "label", "01", {"accuracy": right}),
    "mrpc": ("MRPC", ("#1 String", "#2 String"), "Quality", "01", {"f1_binary": f1, "accuracy": right}),
    "qqp": ("QQP", ("question1", "question2"), "is_duplicate", "01", {"f1_binary": f1, "accuracy": right}),
    "qnli": ("QNLI", ("question", "sentence"), "label", "entailment", {"accuracy": right}),
    "rte": ("RTE", ("sentence1", "sentence2"), "label", "entailment", {"accuracy": right}),
    "wnli": ("WNLI", ("sentence1", "sentence2"), "label", "01", {"accuracy": right}),
}
SUPERGLUE: Mapping[str, tuple[str, str, Mapping[str, Any], str, Mapping[str, Scorer]]] = {
    "boolq": ("BoolQ", "val", {"passage": "P", "question": "is it"}, "bool", {"accuracy": right}),
    "cb": ("CB", "val", {"premise": "P", "hypothesis": "H"}, "cb", {"accuracy": right, "f1_macro": macro}),
    "rte": ("RTE", "val", {"premise": "P", "hypothesis": "H"}, "entailment", {"accuracy": right}),
    "wic": ("WiC", "val", {"word": "w", "sentence1": "a w", "sentence2": "the w"}, "bool", {"accuracy": right}),
    "axb": ("AX-b", "AX-b", {"sentence1": "P", "sentence2": "H"}, "entailment", {"mcc": matthews}),
    "axg": ("AX-g", "AX-g", {"premise": "P", "hypothesis": "H", "pair_id": 7}, "entailment", {"accuracy": right}),
}


def label_of(row: int, labels: Sequence[Any]) -> Any:
    return labels[row * 5 % 7 % len(labels)]


def answer_of(row: int, labels: Sequence[Any]) -> Any:
    return labels[(row * 5 % 7 + (row % 5 == 0) + (row % 11 == 0)) % len(labels)]


def scores(task: Task, answers: Sequence[str]) -> dict[str, float]:
    """What our extraction and scores make of texts, the options of the task included."""
    found = [extractor(task.extractor).extract(text, item.choices).answer or "" for text, item in zip(answers, task.items, strict=True)]
    named = [name for name in task.metrics if name not in ("exact_questions", "gender_parity")]
    options = {name: {key.partition(".")[2]: str(one) for key, one in task.options.items() if key.startswith(f"{name}.")} for name in named}
    return {name: value(name, found, [item.references for item in task.items], **options[name]) for name in named}


def holds(task: Task, labels: Sequence[Any], official: Mapping[str, Scorer]) -> None:
    """Every row is answered with the word of some label, as that task's choices write it."""
    wanted, given = ([of(row, labels) for row in ROWS] for of in (label_of, answer_of))
    words = [f"The answer is{task.items[row].choices[labels.index(one)]}." for row, one in zip(ROWS, given, strict=True)]
    expected = {name: scorer([*map(str, wanted)], [*map(str, given)]) for name, scorer in official.items()}
    assert scores(task, words) == pytest.approx(expected, abs=1e-12)
    assert all(0.0 < one < 1.0 for one in expected.values())


@pytest.mark.parametrize("name", GLUE)
def test_a_task_of_glue_has_its_official_scores(name: str, tmp_path: Path) -> None:
    folder, columns, column, kind, official = GLUE[name]
    labels = LABELS[kind]
    tsv(
        tmp_path / folder / "dev.tsv",
        [(*columns, column), *((*(f"{one} {row}" for one in columns), label_of(row, labels)) for row in ROWS)],
    )
    holds(tasks("glue", tmp_path, task=name)[0], labels, official)


def test_cola_and_mnli_have_their_official_scores(tmp_path: Path) -> None:
    tsv(tmp_path / "CoLA" / "dev.tsv", [("gj04", label_of(row, LABELS["01"]), "", f"Go {row}.") for row in ROWS])
    holds(tasks("glue", tmp_path, task="cola")[0], LABELS["01"], {"mcc": matthews})
    for end in ("matched", "mismatched"):
        rows = [(f"P {row}", f"H {row}", label_of(row, LABELS["nli"])) for row in ROWS]
        tsv(tmp_path / "MNLI" / f"dev_{end}.tsv", [("sentence1", "sentence2", "gold_label"), *rows])
    for task in tasks("glue", tmp_path, task="mnli"):
        holds(task, LABELS["nli"], {"accuracy": right})


def test_stsb_has_the_correlations_of_scipy(tmp_path: Path) -> None:
    wanted, given = [row * 5 % 7 * 0.8 for row in ROWS], [(row * 5 % 7 + row % 3) * 0.6 for row in ROWS]
    rows = [(f"A {row}", f"B {row}", f"{one:.3f}") for row, one in zip(ROWS, wanted, strict=True)]
    tsv(tmp_path / "STS-B" / "dev.tsv", [("sentence1", "sentence2", "score"), *rows])
    (task,) = tasks("glue", tmp_path, task="stsb")
    expected = {"pearson": stats.pearsonr(given, wanted).statistic, "spearman": stats.spearmanr(given, wanted).statistic}
    assert scores(task, [f" {one:.3f} of 5" for one in given]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", SUPERGLUE)
def test_a_task_of_superglue_has_its_official_scores(name: str, tmp_path: Path) -> None:
    folder, stem, fields, kind, official = SUPERGLUE[name]
    lines(tmp_path / folder / f"{stem}.jsonl", [{**fields, "idx": row, "label": label_of(row, LABELS[kind])} for row in ROWS])
    holds(tasks("superglue", tmp_path, task=name)[0], LABELS[kind], official)


def plain(text: str) -> str:
    """As ReCoRD's scorer normalises, which is that of SQuAD 1.1."""
    without = "".join(one for one in text.lower() if one not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", without).split())


def token_f1(answer: str, alias: str) -> float:
    ours, theirs = plain(answer).split(), plain(alias).split()
    same = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * same / (len(ours) + len(theirs)) if same else 0.0


def test_record_takes_the_best_of_all_aliases(tmp_path: Path) -> None:
    names = [["Ann Lee", "the Ann"], ["Bob"], ["U.S.", "US", "America"], ["An old man"]]
    said = ["Ann", "Bob.", "The US", "old man", "Lee, Ann", "America's", "nobody"]
    rows = [
        {
            "idx": row,
            "passage": {"text": "Ann met Bob.", "entities": [{"start": 0, "end": 2}]},
            "qas": [{"idx": row, "query": "@placeholder", "answers": [{"text": one} for one in names[row % 4]]}],
        }
        for row in ROWS
    ]
    lines(tmp_path / "ReCoRD" / "val.jsonl", rows)
    (task,) = tasks("superglue", tmp_path, task="record")
    answers = [said[row % 7] for row in ROWS]
    pairs = [(answers[row], names[row % 4]) for row in ROWS]
    exact = sum(max(plain(answer) == plain(one) for one in aliases) for answer, aliases in pairs) / 48
    overlap = sum(max(token_f1(answer, one) for one in aliases) for answer, aliases in pairs) / 48
    assert scores(task, answers) == pytest.approx({"squad_exact_match": exact, "f1": overlap}, abs=1e-12)
    assert 0.0 < exact < overlap < 1.0
