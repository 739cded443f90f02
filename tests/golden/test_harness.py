"""Are GSM8K and MMLU put and scored as lm-evaluation-harness does, item by item?  Its scores are those of `harness/make.py`."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from fireassay.quality.scoring.items import Task
from fireassay.quality.scoring.likelihoods import of_choice, to_text
from fireassay.quality.scoring.scoring import extractor, found
from tests.golden.harness.make import LETTERS, SUBJECT, TRAIN, digest, likely, problems, questions
from tests.quality.scoring.scored import items
from tests.quality.tasks.made import lines, tasks

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "harness" / "lm_eval.json").read_text(encoding="utf-8"))


@pytest.fixture
def gsm8k(tmp_path: Path) -> Task:
    lines(tmp_path / "train.jsonl", [{"question": question, "answer": answer} for question, answer in TRAIN])
    return tasks("gsm8k", lines(tmp_path / "test.jsonl", problems()))[0]


@pytest.fixture
def mmlu(tmp_path: Path) -> Task:
    for split, rows in (("dev", questions(5, 100)), ("test", questions(60, 0))):
        (tmp_path / split).mkdir()
        with (tmp_path / split / f"{SUBJECT}_{split}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([row["question"], *row["choices"], LETTERS[row["answer"]]] for row in rows)
    return tasks("mmlu", tmp_path, variant="letter")[0]


def test_every_prompt_is_sent_in_the_same_bytes(gsm8k: Task, mmlu: Task) -> None:
    assert digest([item.prompt for item in gsm8k.items]) == GOLDEN["prompts"]["gsm8k"]
    assert digest([item.prompt for item in mmlu.items]) == GOLDEN["prompts"]["mmlu_anatomy"]


@pytest.mark.parametrize(("find", "peer"), [("hashes", "strict-match"), ("last_number", "flexible-extract")])
def test_every_word_problem_has_the_score_of_the_filter(gsm8k: Task, find: str, peer: str) -> None:
    answers = [row["said"] for row in problems()]
    texts = [one.answer or "" for one in found(extractor(find), answers, [()] * len(answers), gsm8k.stop) if one is not None]
    ours = items("exact_match", texts, [item.references for item in gsm8k.items])
    differing = {
        answers[index]: (mine, theirs)
        for index, (mine, theirs) in enumerate(zip(ours, GOLDEN["gsm8k"][peer], strict=True))
        if mine != theirs
    }
    assert differing == {}
    assert 0 < sum(ours) < len(ours) == 120


@pytest.mark.parametrize("score", ["acc", "acc_norm"])
def test_every_choice_has_the_score_of_the_harness(mmlu: Task, score: str) -> None:
    told = [
        to_text([of_choice(item.prompt, choice, [likely(item.prompt, choice)], None) for choice in item.choices]) for item in mmlu.items
    ]
    assert items(score, told, [item.references for item in mmlu.items]) == GOLDEN["mmlu"][score]
    assert 0 < sum(GOLDEN["mmlu"][score]) < len(mmlu.items) == 60
