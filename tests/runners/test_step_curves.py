"""Are more samples, turns and reasoning tokens asked for as they should be, and does the curve know what is true of the server?"""

from __future__ import annotations

import json
from math import comb
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fireassay.frames.evaluation.steps import curves
from fireassay.frames.record_data import RecordData, from_record
from fireassay.instruments.reference_server.server import serving
from fireassay.instruments.reference_server.settings import Settings
from fireassay.kinds.evaluation.steps import knee_rows, step_rows
from fireassay.record.reader import open_record
from fireassay.runners.experiment.run import run
from fireassay.spec.load import from_mapping
from fireassay.spec.rules.evaluation import LOAD
from fireassay.verdict.judge import judge
from tests.oracle import oracle

TASK = """
name = "sums"
data = "sums.jsonl"
template = "{question}"
extractor = "last_number"
metrics = ["exact_match"]

[fields]
reference = "answer"
id = "id"
"""
ITEMS = 21  # no multiple of the requests in flight
pytestmark = pytest.mark.slow


def evaluated(
    folder: Path,
    url: str,
    steps: dict[str, Any],
    *,
    launches: int = 1,
    items: int = ITEMS,
    best_of: dict[str, Any] | None = None,
    **more: Any,
) -> RecordData:
    (folder / "sums.toml").write_text(TASK)
    rows = [{"id": str(at), "question": f"Item {at}: what is {at} + {at * 7 + 3}?", "answer": str(at * 8 + 3)} for at in range(items)]
    (folder / "sums.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    data: dict[str, Any] = {
        "name": "sums",
        "workload": {"runner": "evaluation", "work": "tokens"},
        "launches": {"per_configuration": launches},
        "noise": {"sentinel_s": 0.0},
        "evaluation": {"task": "sums.toml", "steps": steps, **({"best_of": best_of} if best_of else {})},
        "serving": {
            **LOAD,
            "model": "m",
            "concurrency": [4],
            "targets": [{"name": "a", "urls": [url]}],
            "prompts": {"source": "sums.toml", "cache": "as_is"},
            **more,
        },
    }
    return from_record(open_record(run(from_mapping(data), folder=folder, root=folder / "records")))


def test_samples_are_asked_once_and_vote_for_every_smaller_number(tmp_path: Path) -> None:
    with serving(Settings(first_s=0.0, next_s=0.0, solves="0.6")) as engine:
        measured = evaluated(tmp_path, engine.url, {"levels": [1, 3, 5]}, launches=5, temperature=0.8)
    answers, scores = measured.table("answers"), measured.table("scores")
    assert answers.height == 5 * ITEMS
    (curve,) = curves(measured)
    assert [level.steps for level in curve.levels] == [1, 3, 5]
    right = scores.group_by("item").agg(pl.col("score").sum()).sort("item")["score"].to_list()
    # every wrong answer is the same one: k = 1 is the share of right samples, 5 the majority of all, 3 the hypergeometric chance of two or more
    assert curve.levels[0].scores.rows[:, 0].tolist() == pytest.approx([c / 5 for c in right])
    assert curve.levels[2].scores.rows[:, 0].tolist() == [float(c > 2) for c in right]
    assert curve.levels[1].scores.rows[:, 0].tolist() == pytest.approx([(0, 0, 0.3, 0.7, 1, 1)[round(c)] for c in right])
    assert curve.levels[1].sums["tokens_out"].tolist() == [12.0] * ITEMS  # three answers of four words
    assert judge(measured).verdict.status in ("INCONCLUSIVE", "MEASURED")


def test_candidates_are_asked_and_the_best_of_k_is_pass_at_k(tmp_path: Path) -> None:
    """Of five answers of which c are right the best of k is 1 - C(5 - c, k) / C(5, k); time and dollars are those of the same requests."""
    with serving(Settings(first_s=0.0, next_s=0.0, solves="0.6")) as engine:
        measured = evaluated(tmp_path, engine.url, {}, launches=5, temperature=0.8, best_of={"candidates": 5})
    (curve,) = curves(measured)
    right = measured.table("scores").group_by("item").agg(pl.col("score").sum()).sort("item")["score"].to_list()
    assert [level.steps for level in curve.levels] == [1, 2, 3, 4, 5]
    for level in curve.levels:
        wanted = [1.0 - comb(5 - round(c), level.steps) / comb(5, level.steps) for c in right]
        assert level.scores.rows[:, 0].tolist() == pytest.approx(wanted)
        assert level.sums["tokens_out"].tolist() == pytest.approx([4.0 * level.steps] * ITEMS)
        assert (level.session_s > 0.0).all()
    (knee,) = knee_rows(measured)
    assert knee.sentence.startswith("best of 5: ")
    assert " for 5 x the time" in knee.sentence


def test_every_turn_sees_the_answers_before_it_and_is_a_step(tmp_path: Path) -> None:
    """The third answer is right at all items, the others are wrong: known before anything is measured."""
    with serving(Settings(first_s=0.0, next_s=0.0, solves="0,0,1")) as engine:
        measured = evaluated(tmp_path, engine.url, {"levels": [1, 3, 2], "what": "turns", "again": "Sure?"})
    answers = measured.table("answers")
    assert answers.height == 3 * ITEMS
    assert answers.group_by("item").agg(pl.col("repetition").sort())["repetition"].to_list() == [[0, 1, 2]] * ITEMS
    (curve,) = curves(measured)
    assert [level.scores.value for level in curve.levels] == [0.0, 0.0, 1.0]
    # "Item 4: what is 4 + 31?": seven words; each later turn adds four words of an answer and one question
    assert curve.levels[0].sums["tokens_in"].tolist() == [7.0] * ITEMS
    assert curve.levels[2].sums["tokens_in"].tolist() == [7.0 + 12.0 + 17.0] * ITEMS
    assert all((curve.levels[2].session_s > curve.levels[1].session_s).tolist())
    (knee,) = knee_rows(measured)
    assert (knee.at, knee.status) == (3, "MEASURED")
    assert "every smaller number is worse by more than 2 points" in knee.sentence
    verdict = judge(measured)
    assert verdict.verdict.status == "MEASURED"
    assert verdict.results["exact_match"]["engine=a"].value == 1.0  # type: ignore[union-attr]  # the last turn's


def test_each_budget_is_a_configuration_and_is_sent(tmp_path: Path) -> None:
    """64 tokens of reasoning are never right, 256 always; 8 words and 32 of reasoning, by the server's own rule."""
    with serving(Settings(first_s=0.0, next_s=0.0, solves="0,0,1")) as engine:
        steps = {"levels": [256, 64], "what": "reasoning_tokens", "field": "thinking.budget_tokens"}
        measured = evaluated(tmp_path, engine.url, steps)
    assert measured.configurations == ("engine=a reasoning_tokens=64", "engine=a reasoning_tokens=256")
    low, high = step_rows(measured)
    assert (low.score.value, high.score.value) == (0.0, 1.0)  # type: ignore[union-attr]
    assert (low.reasoning.value, high.reasoning.value) == (8.0, 32.0)  # type: ignore[union-attr]
    assert (low.enough, high.enough) == (False, True)
    assert judge(measured).verdict.status == "MEASURED"


def test_words_stand_for_budgets(tmp_path: Path) -> None:
    with oracle(lambda prompt: str(eval(prompt.partition("is ")[2].rstrip("?")))) as engine:
        steps = {"levels": [1, 2], "what": "reasoning_tokens", "field": "reasoning_effort=low,high"}
        evaluated(tmp_path, engine.url, steps)
    assert sorted(body["reasoning_effort"] for body in engine.bodies) == ["high"] * ITEMS + ["low"] * ITEMS
