"""Is an evaluation that was stopped or killed continued to the result of one that was not, on the same data only?

A pass that was cut stays in the record as aborted, like any launch, and is made again: every item once.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import Interrupted, SpecError
from fireassay.frames.record_data import from_record
from fireassay.kinds.evaluation.evaluation_rows import rows
from fireassay.launchers.support import supervisor
from fireassay.quality.scoring import scoring
from fireassay.record.reader import open_record
from fireassay.record.seal import verify
from fireassay.runners.experiment.run import resume, run
from fireassay.spec.load import from_mapping
from fireassay.spec.rules.evaluation import LOAD
from tests.answered import rows as answered
from tests.answered import scored
from tests.limits import PROCESS_S
from tests.oracle import oracle
from tests.quality.sandbox.available import tier
from tests.quality.sandbox.test_decoding import ATTACKS, CATCHES, SENDS
from tests.quality.sandbox.test_hostile import left_over
from tests.quality.sandbox.test_process import wait_for

SUMS = {f"{a}+{a % 7}=": str(a + a % 7) for a in range(24)}
PROGRAM = {
    "task_id": "T/0",
    "prompt": "def one():\n",
    "canonical_solution": "    return 1\n",
    "test": "def check(candidate):\n    assert candidate() == 1\n",
    "entry_point": "one",
}
ADDS = "def add(a, b):\n"
UNDECODED = ("a nonce that is a lone surrogate", "forged bytes of a date")
ENDLESS = "    import time\n    time.sleep(3000)\n"


def experiment(engines: Mapping[str, str], task: str = "jsonl", **evaluation: Any) -> dict[str, Any]:
    return {
        "name": "sums",
        "workload": {"runner": "evaluation", "work": "tokens"},
        "launches": {"per_configuration": 1},
        "noise": {"sentinel_s": 0.0},
        "limits": {"grace_s": 2.0},
        "evaluation": {"task": task, "data": "items.jsonl", **evaluation},
        "serving": {
            **LOAD,
            "model": "oracle",
            "concurrency": [4],
            "targets": [{"name": name, "urls": [url]} for name, url in engines.items()],
            "prompts": {"source": "items.jsonl", "cache": "as_is"},
        },
    }


def write_sums(folder: Path, change: Callable[[str], str] = str) -> None:
    lines = [json.dumps({"prompt": prompt, "reference": change(right)}) for prompt, right in SUMS.items()]
    (folder / "items.jsonl").write_text("\n".join(lines))


def right(prompt: str) -> str:
    return SUMS[prompt]


class Stops:
    """An engine during whose answer number `at` the signal comes."""

    def __init__(
        self, at: int, stop: Callable[[], None] = lambda: os.kill(os.getpid(), signal.SIGINT), answers: Mapping[str, str] = SUMS
    ) -> None:
        self.at, self.stop, self.answers, self.lock = at, stop, answers, threading.Lock()

    def __call__(self, prompt: str) -> str:
        with self.lock:
            self.at -= 1
            if self.at == 0:
                self.stop()
                time.sleep(1)  # nobody gets an answer before the signal has been taken, on a busy machine too
        return self.answers[prompt]


def interrupted(folder: Path, content: dict[str, Any]) -> Path:
    with pytest.raises(Interrupted, match="assay resume"):
        run(from_mapping(content), folder=folder, root=folder / "records")
    (path,) = (folder / "records").iterdir()
    assert open_record(path).state == "interrupted"
    return path


def prompts(engine: Any) -> list[str]:
    return [body["messages"][-1]["content"] for body in engine.bodies]


@pytest.mark.deep
@pytest.mark.slow
def test_a_pass_that_was_cut_is_made_again_and_a_finished_one_is_not(tmp_path: Path) -> None:
    write_sums(tmp_path)
    with oracle(right) as a, oracle(Stops(9)) as b:
        engines = {"a": a.url, "b": b.url}
        path = interrupted(tmp_path, experiment(engines))
        before = len(b.bodies)
        first = open_record(path).table("launches")["configuration"][0]
        assert first in ("engine=a", "engine=b")  # in a random order
        resume(path)
        whole = run(from_mapping(experiment(engines)), folder=tmp_path, root=tmp_path / "whole")
    assert 9 <= before < len(SUMS)
    again = prompts(b)[before : before + len(SUMS)]
    assert Counter(again) == Counter(list(SUMS))
    assert len(a.bodies) == 2 * len(SUMS)  # one pass of each record
    resumed = from_record(open_record(path))
    launches = open_record(path).table("launches").sort("launch")
    assert sorted(launches["status"]) == ["aborted", "ok", "ok"]
    assert set(launches.filter(status="aborted")["reason"]) == {"stopped by Ctrl-C"}
    names = {f"engine={name}": name for name in engines}
    assert rows(resumed, names).scores == rows(from_record(open_record(whole)), names).scores
    assert resumed.table("answers").height == 2 * len(SUMS)
    assert verify(path) == ()


@pytest.mark.deep
@pytest.mark.slow
def test_other_data_or_another_experiment_is_refused_by_name_and_nothing_is_sent(tmp_path: Path) -> None:
    write_sums(tmp_path)
    with oracle(Stops(3)) as engine:
        path = interrupted(tmp_path, experiment({"a": engine.url}))
        before = len(engine.bodies)
        write_sums(tmp_path, lambda answer: f"{answer}0")
        for force in (False, True):
            with pytest.raises(SpecError) as refused:
                resume(path, force=force)
            said = str(refused.value)
            assert "evaluation.tasks.items.files.items.jsonl" in said
            assert "evaluation.tasks.items.references" in said
            assert "evaluation.tasks.items.prompts" not in said
        write_sums(tmp_path)
        asked = path / "experiment.toml"
        text = asked.read_text()
        asked.write_text(text.replace("[evaluation]", "[evaluation]\nlimit = 7"))
        with pytest.raises(SpecError, match=r"experiment\.toml"):
            resume(path)
        asked.write_text(text)
        assert len(engine.bodies) == before
        resume(path)
    assert open_record(path).state == "complete"


def command(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "fireassay", "evaluate", *words, "--data", "items.jsonl", "--model", "m", "--quiet"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.deep
@pytest.mark.slow
def test_a_killed_pass_is_made_again(tmp_path: Path) -> None:
    write_sums(tmp_path)
    process: list[subprocess.Popen[bytes]] = []
    with oracle(Stops(9, lambda: process[0].kill())) as engine:
        process.append(command(tmp_path, "--task", "jsonl", "--target", engine.url))
        assert process[0].wait(PROCESS_S) == -signal.SIGKILL
        (path,) = (tmp_path / "records").iterdir()
        supervisor.end_marked(f"{path.name}.")  # as resume does; the clients end by themselves, a moment later
        before = len(engine.bodies)
        resume(path)
    assert Counter(prompts(engine)[before:]) == Counter(list(SUMS))
    launches = open_record(path).table("launches").sort("launch")
    assert launches["status"].to_list() == ["aborted", "ok"]
    assert launches["reason"][0] == "the coordinator ended during this launch"
    assert from_record(open_record(path)).table("scores")["score"].to_list() == [1.0] * len(SUMS)


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_an_evaluation_that_is_stopped_while_programs_are_judged_leaves_no_sandbox_and_is_continued(
    number: signal.Signals, tmp_path: Path
) -> None:
    tier("unshare")
    (tmp_path / "items.jsonl").write_text(json.dumps(PROGRAM))
    answers, asked = [ENDLESS], threading.Event()

    def answer(_: str) -> str:
        asked.set()
        return answers[-1]

    with oracle(answer) as engine:
        process = command(tmp_path, "--task", "humaneval", "--target", engine.url)
        assert asked.wait(PROCESS_S)  # the sandboxes before it try whether there can be any
        wait_for(process.pid, some=True)
        process.send_signal(number)
        assert process.wait(PROCESS_S) == (130 if number == signal.SIGINT else -number)
        wait_for(process.pid, some=False)
        (path,) = (tmp_path / "records").iterdir()
        assert open_record(path).state == "interrupted"
        answers.append(PROGRAM["canonical_solution"])
        resume(path)
    assert open_record(path).table("launches").sort("launch")["status"].to_list() == ["aborted", "ok"]
    assert from_record(open_record(path)).table("scores")["score"].to_list() == [1.0]
    assert left_over() == []


@pytest.mark.deep
def test_an_answer_that_cannot_be_decoded_is_one_items_outcome_and_the_evaluation_is_continued(tmp_path: Path) -> None:
    """In the pass that was made before the stop, and in the one that `resume` makes with the same answers."""
    tier("unshare")
    hostile = {f"def add(a, b):  # {name}\n": f"```python{SENDS.format(ATTACKS[name])}```" for name in UNDECODED}
    answers = {**hostile, ADDS: "    return a + b\n"}
    items = [{**PROGRAM, "task_id": f"T/{n}", "prompt": prompt, "test": CATCHES, "entry_point": "add"} for n, prompt in enumerate(answers)]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, items)))
    asked = {**experiment({}, "humaneval"), "launches": {"per_configuration": 2}}
    with oracle(Stops(len(items) + 1, answers=answers)) as engine:
        asked["serving"]["targets"] = [{"name": "a", "urls": [engine.url]}]
        path = interrupted(tmp_path, asked)
        assert open_record(path).table("launches").sort("launch")["status"].to_list() == ["ok", "aborted"]
        resume(path)
    record = open_record(path)
    assert (record.state, verify(path)) == ("complete", ())
    assert record.table("launches").sort("launch")["status"].to_list() == ["ok", "aborted", "ok"]
    data = from_record(record)
    assert data.table("scores").sort("launch", "item")["score"].to_list() == [*[0.0] * len(hostile), 1.0] * 2
    judged = data.table("answers").sort("launch", "item")["judged"].to_list()
    assert [words.partition(":")[0] for words in judged] == [*["crash"] * len(hostile), "passed"] * 2


def test_scoring_of_files_is_left_at_the_first_signal_and_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    score_all = scoring.score_all

    def stopped(*_: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        pytest.fail("it went on")

    monkeypatch.setattr(scoring, "score_all", stopped)
    with pytest.raises(Interrupted, match="assay resume"):
        scored(tmp_path, {"a": answered(["yes", "no"])})
    (path,) = (tmp_path / "records").iterdir()
    assert open_record(path).state == "interrupted"
    assert open_record(path).table("launches")["status"].to_list() == ["aborted"]
    monkeypatch.setattr(scoring, "score_all", score_all)
    resume(path)
    assert from_record(open_record(path)).table("scores")["score"].to_list() == [1.0, 0.0]


def test_another_file_of_answers_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(scoring, "found", lambda *_: signal.raise_signal(signal.SIGINT))
        with pytest.raises(Interrupted):
            scored(tmp_path, {"a": answered(["yes", "no"])})
    (path,) = (tmp_path / "records").iterdir()
    with (tmp_path / "a.jsonl").open("a") as file:
        file.write("\n")
    with pytest.raises(SpecError, match=r"evaluation\.tasks\.answers\.files\.a"):
        resume(path)
