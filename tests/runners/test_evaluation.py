"""Is every item of a task sent once, and its answer scored in the record of the same requests?"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fireassay import catalog
from fireassay.estimates.estimate import Estimate
from fireassay.frames.record_data import RecordData, from_record
from fireassay.kinds.evaluation.evaluation_rows import rows
from fireassay.quality.scoring.items import Format, Item, Task
from fireassay.record.reader import open_record
from fireassay.record.seal import verify
from fireassay.runners.experiment.run import run
from fireassay.spec.load import from_mapping
from fireassay.spec.rules.evaluation import LOAD
from fireassay.verdict.judge import judge
from tests.oracle import Answer, oracle
from tests.tiers import some

STOP = ("\n", " and ")
SUMS = {f"{a}+{a % 7}=": str(a + a % 7) for a in range(40)}


def read(path: Path, _: object) -> tuple[Task, ...]:
    """Forty sums."""
    items = tuple(Item(id=str(index), prompt=prompt, references=(right,)) for index, (prompt, right) in enumerate(SUMS.items()))
    return (
        Task(name="sums", items=items, metrics=("exact_match",), method="generation", max_tokens=8, stop=STOP, files={path.name: "0" * 64}),
    )


@pytest.fixture(autouse=True)
def _sums(monkeypatch: pytest.MonkeyPatch) -> None:
    load = catalog.load

    def with_sums(package: str, name: str) -> Any:
        return (
            Format(name="sums", title="sums", layout="none", read=read)
            if (package, name) == ("quality.tasks", "sums")
            else load(package, name)
        )

    monkeypatch.setattr(catalog, "load", with_sums)


def evaluated(
    folder: Path, *engines: str, margin: float | None = None, launches: int = 1, serving: dict[str, Any] | None = None, **evaluation: Any
) -> tuple[RecordData, Path]:
    data: dict[str, Any] = {
        "name": "sums",
        "workload": {"runner": "evaluation", "work": "tokens"},
        "launches": {"per_configuration": launches},
        "noise": {"sentinel_s": 0.0},
        "evaluation": {"task": "sums", "data": "sums.jsonl", **evaluation},
        "serving": {
            **LOAD,
            "model": "oracle",
            "concurrency": [4],
            "targets": [{"name": name, "urls": [url]} for name, url in zip("ab", engines, strict=False)],
            "prompts": {"source": "sums.jsonl", "cache": "as_is"},
            **(serving or {}),
        },
    }
    if margin is not None:
        data["quality"] = {"metric": "exact_match", "margin": margin}
    (folder / "sums.jsonl").write_text("")
    path = run(from_mapping(data), folder=folder, root=folder / "records")
    return from_record(open_record(path)), path


def right(prompt: str) -> str:
    return SUMS[prompt]


@pytest.mark.slow
def test_every_item_is_sent_once_and_scored(tmp_path: Path) -> None:
    with oracle(right) as engine:
        measured, path = evaluated(tmp_path, engine.url)
    assert sorted(body["messages"][-1]["content"] for body in engine.bodies) == sorted(SUMS)
    assert {(body["max_tokens"], body["temperature"], body["model"]) for body in engine.bodies} == {(8, 0.0, "oracle")}
    answers = measured.table("answers")
    assert answers.height == 40
    assert set(answers["outcome"]) == {"ok"}
    requests = measured.table("requests").select("request", "text")
    assert answers.select("request", "text").sort("request").equals(requests.sort("request"))
    assert measured.table("scores")["score"].to_list() == [1.0] * 40
    assert verify(path) == ()
    judgement = judge(measured)
    assert judgement.verdict.status == "MEASURED"
    assert "request_throughput" in judgement.results


@pytest.mark.slow
@pytest.mark.parametrize("send", some([True, False]))
def test_an_engine_gets_the_stops_and_the_answer_is_cut_there_in_any_case(send: bool, tmp_path: Path) -> None:
    with oracle(lambda prompt: f"{SUMS[prompt]} and 7") as engine:
        measured, _ = evaluated(tmp_path, engine.url, send_stop=send)
    assert {tuple(body.get("stop", ())) for body in engine.bodies} == {(" and ",) if send else ()}
    assert measured.before["evaluation"]["stop_sent"] == ({"a": [" and "]} if send else {})
    assert measured.table("scores")["score"].to_list() == [1.0] * 40


@pytest.mark.deep
@pytest.mark.slow
def test_the_last_items_have_as_long_as_every_other(tmp_path: Path) -> None:
    """A load gives up requests that are in flight a while after the last was due; an evaluation needs every answer."""

    def slow(prompt: str) -> str:
        time.sleep(3.0)
        return SUMS[prompt]

    all_at_once = {"concurrency": [40], "arrivals": {**LOAD["arrivals"], "drain_s": 0.1}, "client": {"transport": "lean"}}
    with oracle(slow) as engine:
        measured, _ = evaluated(tmp_path, engine.url, serving=all_at_once)
    assert set(measured.table("answers")["outcome"]) == {"ok"}


def broken(outcome: str | int | None) -> Answer:
    return lambda prompt: outcome if int(prompt.partition("+")[0]) < 23 else SUMS[prompt]


@pytest.mark.slow
@pytest.mark.parametrize(("outcome", "word"), some([(None, "empty"), ("", "empty"), (500, "5xx"), (400, "4xx")], rows=True))
def test_failures_of_the_engine_are_no_wrong_answers(outcome: str | int | None, word: str, tmp_path: Path) -> None:
    with oracle(broken(outcome)) as engine:
        measured, _ = evaluated(tmp_path, engine.url)
    judgement = judge(measured)
    assert judgement.verdict.status == "INVALID"
    (finding,) = [found for found in judgement.verdict.findings if found.rule == "unanswered_items"]
    assert f"23 of 40 items were not answered (23 {word})" in finding.evidence
    assert measured.table("scores")["score"].to_list() == [1.0] * 17


@pytest.mark.slow
def test_two_engines_are_paired_item_by_item(tmp_path: Path) -> None:
    def worse(prompt: str) -> str:
        return "0" if int(prompt.partition("+")[0]) % 2 else SUMS[prompt]

    with oracle(right) as a, oracle(worse) as b:
        measured, _ = evaluated(tmp_path, a.url, b.url, margin=0.05)
    judgement = judge(measured)
    assert judgement.verdict.status == "FAIL"
    (gate,) = judgement.verdict.gates
    assert gate.configuration == "engine=b"
    assert "quality degraded: Exact match" in gate.sentence
    assert "20 items worse and 0 better of 40" in gate.sentence


@pytest.mark.deep
@pytest.mark.slow
def test_changed_questions_are_subgroups_of_one_cluster_each(tmp_path: Path) -> None:
    def loud(prompt: str) -> str:
        return SUMS.get(prompt.replace("  ", " ").strip(), "0")

    with oracle(loud) as engine:
        measured, _ = evaluated(tmp_path, engine.url, perturb=["lower_case", "spaces"])
    answers = measured.table("answers")
    assert answers.height == 120
    assert answers["cluster"].n_unique() == 40
    groups = {row.label: row.items for row in rows(measured, {"engine=a": "a"}).groups}
    assert groups == {"none": 40, "lower_case": 40, "spaces": 40}
    scores = measured.table("scores").with_columns(pl.col("item").str.split("~").list.first().alias("original"))
    expected = scores.group_by("original").agg(pl.col("score").min())["score"].mean()
    robustness = judge(measured).results["robustness"]["engine=a"]
    assert isinstance(robustness, Estimate)
    assert robustness.value == pytest.approx(expected)
    assert robustness.n_trials == 40


PROGRAMS = tuple(
    Item(
        id=f"add{number}",
        prompt=f"def add{number}(a):\n",
        references=(f"    return a + {number}\n",),
        entry_point=f"add{number}",
        test=f"def check(candidate):\n    assert candidate(1) == {number + 1}\n",
    )
    for number in range(6)
)


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    load = catalog.load
    task = Task(name="programs", items=PROGRAMS, metrics=("pass_at_1",), method="code", extractor="code", max_tokens=64)
    layout = Format(name="sums", title="programs", layout="none", read=lambda *_: (task,))
    monkeypatch.setattr(
        catalog, "load", lambda package, name: layout if (package, name) == ("quality.tasks", "sums") else load(package, name)
    )


def solved(prompt: str) -> str:
    """Right for the even ones; the others never end."""
    item = next(item for item in PROGRAMS if item.prompt == prompt)
    return item.references[0] if int(item.id[3:]) % 2 == 0 else "    while True:\n        pass\n"


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.usefixtures("programs")
def test_programs_are_judged_by_their_tests_and_not_by_their_words(tmp_path: Path) -> None:
    with oracle(solved) as engine:
        measured, _ = evaluated(tmp_path, engine.url)
    scores = measured.table("scores").sort("item")
    assert scores["metric"].unique().to_list() == ["pass_at_1"]
    assert scores["score"].to_list() == [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]
    judged = measured.table("answers").sort("item")["judged"].to_list()
    assert judged[::2] == ["passed"] * 3
    assert [one.partition(":")[0] for one in judged[1::2]] == ["cpu_limit"] * 3
    signature = measured.before["evaluation"]["tasks"]["programs"]["metrics"]["pass_at_1"]
    assert "tier:" in signature or "bubblewrap" in signature or "unshare" in signature
    assert judge(measured).verdict.status == "MEASURED"
