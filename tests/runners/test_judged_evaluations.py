"""Are the answers of engines judged after the last pass, and is a record that the judge failed finished by `assay resume`?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import Interrupted, SpecError
from fireassay.frames.evaluation.item_scores import item_scores
from fireassay.frames.record_data import RecordData, from_record
from fireassay.kinds.evaluation.held import held
from fireassay.record.reader import open_record
from fireassay.record.seal import verify
from fireassay.runners.experiment.run import resume, run
from fireassay.spec.load import from_mapping
from fireassay.spec.rules.evaluation import LOAD
from tests.kinds.evaluation.judged import SHOWN, by_worth, chance, gold, rating, worth
from tests.oracle import Server, oracle

pytestmark = pytest.mark.slow

ITEMS = 60
WORTHS = {
    "a": [2 + int(3 * chance(f"a{index}")) for index in range(ITEMS)],
    "b": [2 + int(3 * chance(f"b{index}")) for index in range(ITEMS)],
}


def engine(side: str) -> Any:
    """An engine whose answer to question n is worth what the table says."""
    return lambda prompt: f"{side} says it is worth {WORTHS[side][int(prompt.split()[1])]}"


def experiment(
    folder: Path, engines: dict[str, Server], judge: Server, form: str = "scale", *, labels: int = 0, **more: Any
) -> dict[str, Any]:
    (folder / "questions.jsonl").write_text(
        "".join(json.dumps({"id": f"q{at}", "q": f"Question {at} ?", "r": "x"}) + "\n" for at in range(ITEMS))
    )
    (folder / "questions.toml").write_text(
        'name = "questions"\ndata = "questions.jsonl"\ntemplate = "{q}"\nmetrics = ["contains"]\nmax_tokens = 20\n\n'
        '[fields]\nid = "id"\nreference = "r"\n'
    )
    (folder / "rubric.toml").write_text(f'form = "{form}"\ncriteria = "Which is worth more?"\n')
    if labels:
        gold(folder / "gold.csv", WORTHS, range(labels), form)
    return {
        "name": "judged",
        "workload": {"runner": "evaluation", "work": "tokens"},
        "launches": {"per_configuration": 1},
        "noise": {"sentinel_s": 0.0},
        "evaluation": {
            "task": "questions.toml",
            "judge": {
                "url": judge.url,
                "model": "judge-1",
                "rubric": "rubric.toml",
                "retries": 0,
                **({"gold": "gold.csv"} if labels else {}),
                **more,
            },
        },
        "serving": {
            **LOAD,
            "model": "oracle",
            "concurrency": [4],
            "targets": [{"name": name, "urls": [server.url]} for name, server in engines.items()],
            "prompts": {"source": "questions.jsonl", "cache": "as_is"},
        },
    }


def made(folder: Path, content: dict[str, Any]) -> tuple[RecordData, Path]:
    path = run(from_mapping(content), folder=folder, root=folder / "records")
    return from_record(open_record(path)), path


def says(request: str, judge: Any) -> Any:
    return judge(SHOWN.findall(request), request)


def test_each_answer_is_rated_and_the_task_s_own_score_stays(tmp_path: Path) -> None:
    with oracle(engine("a")) as a, oracle(lambda request: says(request, rating())) as judge:
        measured, path = made(tmp_path, experiment(tmp_path, {"a": a}, judge))
    scores = item_scores(measured, measured.base, "questions", "judged")
    assert dict(zip(scores.items, scores.rows[:, 0], strict=True)) == {f"q{at}": float(one) for at, one in enumerate(WORTHS["a"])}
    assert set(measured.table("scores")["metric"]) == {"contains", "judged"}
    assert verify(path) == ()


def test_pairs_of_two_engines_are_decided_with_labels(tmp_path: Path) -> None:
    with oracle(engine("a")) as a, oracle(engine("b")) as b, oracle(lambda request: says(request, by_worth(wrong=0.1))) as judge:
        content = experiment(tmp_path, {"a": a, "b": b}, judge, "pairs", labels=40)
        measured, _ = made(tmp_path, {**content, "quality": {"metric": "judged", "margin": 0.15}})
    (found,) = held(measured, "engine=b")
    assert found.items == ITEMS
    assert "beside 40 labels" in found.judge
    assert len(judge.bodies) == 2 * ITEMS
    assert all(worth(body["messages"][-1]["content"]) for body in judge.bodies)


def test_a_record_without_its_judge_is_finished_later(tmp_path: Path) -> None:
    """The engine is asked once; what the judge said before it failed is in the folder of replies."""
    with oracle(engine("a")) as a:
        with oracle(lambda request: says(request, rating())) as judge:
            content = experiment(tmp_path, {"a": a}, judge, cache="kept", json_schema=False)
            judge.answer = lambda _: 401
            with pytest.raises(Interrupted, match="cannot be asked"):
                run(from_mapping(content), folder=tmp_path, root=tmp_path / "records")
            judge.answer = lambda request: says(request, rating())
            (path,) = (tmp_path / "records").iterdir()
            resume(path, force=True)
        asked = len(a.bodies)
    measured = from_record(open_record(path))
    assert asked == ITEMS
    assert measured.table("scores").filter(measured.table("scores")["metric"] == "judged").height == ITEMS
    assert verify(path) == ()


def test_choices_by_log_likelihood_have_nothing_to_judge(tmp_path: Path) -> None:
    with oracle(engine("a")) as a, oracle(lambda request: says(request, rating())) as judge:
        content = experiment(tmp_path, {"a": a}, judge)
        (tmp_path / "questions.jsonl").write_text('{"id": "q0", "q": "Q?", "c": ["x", "y"], "r": 0}\n')
        (tmp_path / "questions.toml").write_text(
            'name = "questions"\nmethod = "loglikelihood"\ndata = "questions.jsonl"\ntemplate = "{q}"\nmetrics = ["accuracy"]\n\n'
            '[fields]\nid = "id"\nchoices = "c"\nreference = "r"\n'
        )
        with pytest.raises(SpecError):
            run(from_mapping(content), folder=tmp_path, root=tmp_path / "records")
