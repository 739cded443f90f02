"""Does a record keep each reply of its judge as it comes, so that a stop, a crash or a judge that leaves costs no request twice?"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from fireassay.errors import Interrupted
from fireassay.frames.record_data import from_record
from fireassay.quality.judging.cache import MAX_TEXT, Cache, Reply
from fireassay.quality.judging.reading import MAX_LENGTH, reading
from fireassay.quality.judging.rubric import Rubric
from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.folder import RecordFolder, create
from fireassay.record.reader import open_record
from fireassay.record.seal import verify
from fireassay.record.unsealed import launch_folders, read_launch
from fireassay.runners.evaluating.replies import Judged, Replies, folded
from fireassay.runners.experiment.run import resume, run
from fireassay.spec.load import from_mapping
from fireassay.spec.sections.judge import Judge
from tests.kinds.evaluation.judged import SHOWN, answers, by_worth, rating, record
from tests.limits import PROCESS_S
from tests.oracle import Server, oracle
from tests.runners.test_judged_evaluations import ITEMS, engine, experiment, says

KEY = "0" * 64
FLOWN: int = Judge.model_fields["concurrency"].default
WORTHS = {"a": [index % 5 + 1 for index in range(40)], "b": [(index + index % 3) % 5 + 1 for index in range(40)]}
PAIRS = 2 * 40  # requests


def reply(text: str = '{"reason": "r", "rating": 3}', **more: Any) -> Reply:
    return Reply(**{"text": text, "finish_reason": "stop", "tokens_in": 5, "tokens_out": 2, "seconds": 0.5, **more})


def about(side: str = "a", **more: Any) -> Judged:
    return Judged(**{"launch": 0, "task": "t", "item": "q0", "repetition": 0, "side": side, "against": None, **more})


def new(folder: Path) -> RecordFolder:
    from fireassay.clock import SystemClock

    data = {"name": "x", "workload": {"runner": "answers", "work": "items"}, "evaluation": {"answers": [{"name": "a", "path": "a.jsonl"}]}}
    return create(folder / "records", from_mapping(data), "0", clock=SystemClock())


def on_disk(path: Path) -> list[dict[str, Any]]:
    tables = (read_launch(path, launch, "replies")[0] for launch in launch_folders(path))
    return [row for table in tables if table is not None for row in table.to_pylist()]


# ---- one reply for each request


RUBRIC = Rubric(form="scale", criteria="c", scale=(1.0, 5.0), good=4.0, reference=False, sha256="")
SOME = st.builds(
    reply,
    st.sampled_from(['{"rating": 1}', '{"rating": 5}', "nothing", "", '{"rating": 2']),
    finish_reason=st.sampled_from(["stop", "length", None]),
    tokens_in=st.none() | st.integers(0, 9),
    seconds=st.floats(0, 9),
)


@given(st.lists(st.tuples(st.sampled_from("xyz"), SOME), max_size=8), st.randoms(use_true_random=False))
def test_replies_that_are_there_twice_give_the_same_judgements_in_any_order(rows: list[tuple[str, Reply]], random: Any) -> None:
    once, again = folded(rows), list(rows)
    random.shuffle(again)
    assert folded(again) == once
    assert folded([*again, *once.items()]) == once
    assert once.keys() == {key for key, _ in rows}
    judgements = {key: reading(one.text, one.finish_reason, RUBRIC) for key, one in once.items()}
    assert judgements == {key: reading(one.text, one.finish_reason, RUBRIC) for key, one in folded(reversed(rows)).items()}


# ---- what is kept


def test_a_reply_is_found_again_by_whoever_opens_the_record_next(tmp_path: Path) -> None:
    folder = new(tmp_path)
    Replies(folder, Cache(None), RUBRIC, {KEY: [about()]}).put(KEY, reply())
    assert Replies(folder, Cache(None), RUBRIC, {KEY: [about()]}).get(KEY) == reply()
    folder.writer(0).flush()
    (row,) = on_disk(folder.path)
    assert (row["value"], row["reason"]) == (3.0, "r")
    assert (row["key"], row["text"], row["side"], row["against"], row["seconds"]) == (KEY, reply().text, "a", None, 0.5)


def test_equal_requests_have_one_reply_and_a_row_each(tmp_path: Path) -> None:
    folder, both = new(tmp_path), [about("a"), about("b", launch=1)]
    Replies(folder, Cache(None), RUBRIC, {KEY: both}).put(KEY, reply())
    again = Replies(folder, Cache(None), RUBRIC, {KEY: [*both, about("c")]})
    assert again.get(KEY) == reply()
    for launch in (0, 1):
        folder.writer(launch).flush()
    assert sorted((row["launch"], row["side"]) for row in on_disk(folder.path)) == [(0, "a"), (0, "c"), (1, "b")]


def test_a_launch_that_is_made_again_does_not_repeat_the_rows_of_the_first(tmp_path: Path) -> None:
    folder = new(tmp_path)
    Replies(folder, Cache(None), RUBRIC, {KEY: [about()]}).put(KEY, reply())
    folder.writer(0).flush()
    assert Replies(folder, Cache(None), RUBRIC, {KEY: [about(launch=1)]}).get(KEY) == reply()
    folder.writer(1).flush()
    assert len(on_disk(folder.path)) == 1


def test_a_reply_of_the_cache_becomes_a_part_of_the_record_and_the_record_s_own_comes_first(tmp_path: Path) -> None:
    cache, folder = Cache(tmp_path / "kept"), new(tmp_path)
    cache.put(KEY, reply("of the cache"))
    Replies(folder, cache, RUBRIC, {KEY: [about()]}).get(KEY)
    cache.put(KEY, reply("another"))
    found = Replies(folder, cache, RUBRIC, {KEY: [about()]}).get(KEY)
    assert found is not None
    assert found.text == "of the cache"


def test_a_record_that_was_left_takes_nothing_more(tmp_path: Path) -> None:
    """A thread whose request was under way when the run was stopped replies later."""
    folder = new(tmp_path)
    late = Replies(folder, Cache(None), RUBRIC, {KEY: [about()]})
    folder.finish("interrupted")
    before = sorted(folder.path.rglob("*"))
    late.put(KEY, reply())
    assert sorted(folder.path.rglob("*")) == before


HOSTILE: list[dict[str, Any]] = [
    {"seconds": float("nan")},
    {"seconds": -1.0},
    {"seconds": float("inf")},
    {"tokens_in": -5},
    {"tokens_out": 2**60},
    {"key": "1" * 64},
    {"key": ""},
]


@pytest.mark.parametrize("change", HOSTILE)
def test_a_row_that_is_no_reply_is_left_out(change: dict[str, Any], tmp_path: Path) -> None:
    folder = new(tmp_path)
    stream(folder, [change])
    assert Replies(folder, Cache(None), RUBRIC, {KEY: [about()]}).get(KEY) is None


def test_a_stream_with_other_columns_is_left_out_and_the_next_is_read(tmp_path: Path) -> None:
    folder = new(tmp_path)
    stream(folder, [{}], arrow_schema("replies").remove(0), name="replies.a.arrows")
    stream(folder, [{"text": None}], arrow_schema("replies").set(7, pa.field("text", pa.string())), name="replies.b.arrows")
    stream(folder, [{}], name="replies.c.arrows")
    assert Replies(folder, Cache(None), RUBRIC, {KEY: [about()]}).get(KEY) == reply()


def stream(folder: RecordFolder, changes: list[dict[str, Any]], schema: pa.Schema | None = None, name: str = "replies.x.arrows") -> None:
    """Rows that another program wrote."""
    schema = schema or arrow_schema("replies")
    rows = [{**vars(about()), "key": KEY, **vars(reply()), "value": 3.0, "reason": "", **change} for change in changes]
    with pa.ipc.new_stream(folder.launch_folder(0) / name, schema) as file:
        file.write_batch(pa.RecordBatch.from_pylist(rows, schema=schema))


def test_a_reply_too_long_to_be_a_judgement_is_kept_as_far_as_it_shows_that(tmp_path: Path) -> None:
    long = '{"rating": 3}' + " " * MAX_LENGTH
    with oracle(lambda _: long + "x" * 10**6) as server:
        path = judged(tmp_path, server)
    texts = set(from_record(open_record(path)).table("replies")["text"])
    assert {len(text) for text in texts} == {MAX_TEXT}
    assert reading(texts.pop(), "stop", RUBRIC).why == reading(long + "x", "stop", RUBRIC).why == "too long to be a judgement"


def test_half_a_character_is_replaced_and_costs_no_row(tmp_path: Path) -> None:
    cache, folder = Cache(tmp_path / "kept"), new(tmp_path)
    cache.put(KEY, reply("a \ud800 half"))
    Replies(folder, cache, RUBRIC, {KEY: [about()]}).get(KEY)
    folder.writer(0).flush()
    assert [row["text"] for row in on_disk(folder.path)] == ["a \ufffd half"]


# ---- runs


def judged(folder: Path, server: Server, sides: dict[str, list[int]] | None = None, form: str = "scale") -> Path:
    """The record of answers that the server judges."""
    return run(from_mapping(scored(folder, server, sides, form)), folder=folder, root=folder / "records")


def scored(folder: Path, server: Server, sides: dict[str, list[int]] | None = None, form: str = "scale") -> dict[str, Any]:
    sides = sides or {"a": [1, 2, 3]}
    for name, worths in sides.items():
        answers(folder / f"{name}.jsonl", worths, name)
    (folder / "rubric.toml").write_text(f'form = "{form}"\ncriteria = "Which is worth more?"\n')
    return {
        "name": "judged",
        "workload": {"runner": "answers", "work": "items"},
        "launches": {"per_configuration": 1},
        "noise": {"sentinel_s": 0.0},
        "evaluation": {
            "answers": [{"name": name, "path": f"{name}.jsonl"} for name in sides],
            "fields": {"id": "id"},
            "judge": {"url": server.url, "model": "m", "rubric": "rubric.toml", "retries": 0},
        },
    }


def judge_of(reply_to: Callable[[list[str], str], Any]) -> Callable[[str], Any]:
    return lambda request: reply_to(SHOWN.findall(request), request)


@pytest.mark.slow
def test_the_record_has_every_reply_with_what_it_judged(tmp_path: Path) -> None:
    measured = record(tmp_path, WORTHS, by_worth())
    found = measured.table("replies")
    assert found.height == PAIRS
    assert found.group_by("side", "against").len().sort("side").rows() == [("a", "b", 40), ("b", "a", 40)]
    first = found.filter((pl.col("item") == "q1") & (pl.col("side") == "a"))
    assert json.loads(first["text"][0])["choice"] == ("first" if WORTHS["a"][1] > WORTHS["b"][1] else "second")
    preferences = measured.table("preferences").sort("item", "first")
    said = [json.loads(text)["choice"] for text in found.sort("item", "side")["text"]]
    assert preferences["choice"].to_list() == said


@pytest.mark.slow
def test_a_key_in_a_reply_is_redacted_and_its_judgement_is_kept(tmp_path: Path) -> None:
    key = f"sk-proj-{sha256(b'key').hexdigest()}"
    with oracle(lambda _: json.dumps({"reason": f"the key is {key}", "rating": 4})) as server:
        path = judged(tmp_path, server)
    measured = from_record(open_record(path))
    assert measured.table("scores")["score"].to_list() == [4.0] * 3
    assert [json.loads(text)["rating"] for text in measured.table("replies")["text"]] == [4] * 3
    assert not any(key.encode() in file.read_bytes() for file in path.rglob("*") if file.is_file())


class Blocks:
    """A judge that replies to the first requests, and to the others once it is released."""

    def __init__(self, judge: Callable[[str], Any], replies: int) -> None:
        self.judge, self.left, self.lock = judge, replies, threading.Lock()
        self.blocked, self.full, self.released = 0, threading.Event(), threading.Event()

    def __call__(self, request: str) -> Any:
        with self.lock:
            self.left -= 1
            waits = self.left < 0 and not self.released.is_set()
            self.blocked += waits
            if self.blocked == FLOWN:
                self.full.set()
        if waits:
            self.released.wait(PROCESS_S)
        return self.judge(request)


def kept(root: Path, rows: int) -> Path:
    """The one record, once so many replies are on the disk."""
    end = time.monotonic() + PROCESS_S
    while time.monotonic() < end:
        for path in root.glob("*/manifest.json"):
            if len(on_disk(path.parent)) >= rows:
                return path.parent
        time.sleep(0.05)
    raise AssertionError(f"no record with {rows} replies")


def stopped(folder: Path, content: dict[str, Any], judge: Blocks, number: signal.Signals, replies: int) -> Path:
    """The record of a run that got a signal while as many requests were under way as may be, and all other replies were kept."""
    (folder / "x.toml").write_text(tomli_w.dumps(content))
    command = [sys.executable, "-m", "fireassay", "run", "x.toml", "--quiet"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert judge.full.wait(PROCESS_S)
        path = kept(folder / "records", replies)
        process.send_signal(number)
        assert process.wait(PROCESS_S) == (130 if number == signal.SIGINT else -number)
    finally:
        process.kill()
        judge.released.set()
    return path


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_scoring_that_was_stopped_asks_only_what_was_under_way_again(number: signal.Signals, tmp_path: Path) -> None:
    judge = Blocks(judge_of(by_worth()), 30)
    with oracle(judge) as server:
        path = stopped(tmp_path, scored(tmp_path, server, WORTHS, "pairs"), judge, number, 30)
        assert len(server.bodies) == 30 + FLOWN
        resume(path)
        assert len(server.bodies) == PAIRS + FLOWN
        whole = judged(tmp_path, server, WORTHS, "pairs")
    asked = Counter(body["messages"][-1]["content"] for body in server.bodies[: PAIRS + FLOWN])
    assert len(asked) == PAIRS
    assert sorted(asked.values()) == [1] * (PAIRS - FLOWN) + [2] * FLOWN
    resumed, other = (from_record(open_record(one)) for one in (path, whole))
    keys = ["configuration", "task", "item", "metric"]
    scores = [
        one.table("scores").join(one.timed.select("launch", "configuration"), on="launch").select(*keys, "score").sort(keys)
        for one in (resumed, other)
    ]
    assert scores[0].equals(scores[1])
    assert verify(path) == ()


@pytest.mark.deep
@pytest.mark.slow
def test_an_evaluation_that_was_killed_asks_neither_engine_nor_judge_again(tmp_path: Path) -> None:
    judge = Blocks(lambda request: says(request, rating()), 20)
    with oracle(engine("a")) as a, oracle(judge) as server:
        content = experiment(tmp_path, {"a": a}, server, json_schema=False)
        path = stopped(tmp_path, content, judge, signal.SIGKILL, 20)
        resume(path)
        assert (len(a.bodies), len(server.bodies)) == (ITEMS, ITEMS + FLOWN)
    measured = from_record(open_record(path))
    assert measured.table("scores").filter(pl.col("metric") == "judged").height == ITEMS
    assert set(measured.table("replies")["item"]) == {f"q{index}" for index in range(ITEMS)}
    assert verify(path) == ()


@pytest.mark.slow
def test_a_judge_that_stops_replying_is_asked_the_rest_later(tmp_path: Path) -> None:
    answered: list[str] = []

    def reply_to(request: str) -> Any:
        if len(answered) >= 20 and not back:
            return 500
        answered.append(request)
        return says(request, rating())

    back: list[bool] = []
    with oracle(engine("a")) as a, oracle(reply_to) as server:
        content = experiment(tmp_path, {"a": a}, server, json_schema=False, concurrency=1)
        with pytest.raises(Interrupted, match="assay resume"):
            run(from_mapping(content), folder=tmp_path, root=tmp_path / "records")
        (path,) = (tmp_path / "records").iterdir()
        back.append(True)
        resume(path)
    assert len(answered) == len(set(answered)) == ITEMS
    assert from_record(open_record(path)).table("replies").height == ITEMS
