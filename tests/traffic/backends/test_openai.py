"""Does the plain dialect take the path of its task, ask for what was asked, and read what comes in one piece?"""

from __future__ import annotations

import json
from typing import Any

import pytest

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.openai import BACKEND
from fireassay.traffic.parts import Answer, Ask
from tests.traffic.fakes import asked_for_real, sse
from tests.traffic.transcripts import reply_of

TARGET = Target(backend="openai", model="m")
CHAT = Ask(task="chat", model="m", messages=({"role": "user", "content": "Hi"},), max_tokens=8, seed=3)
DOCUMENTS = ("a", "b", "c")


def body(ask: Ask, **options: str | int | bool) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(BACKEND.wire(ask, Target(backend="openai", options=options)).body)
    return told


def test_a_chat_is_asked_for_with_usage_and_no_more_than_its_length() -> None:
    wire = BACKEND.wire(CHAT, TARGET)
    assert wire.path == "/v1/chat/completions"
    assert json.loads(wire.body) == {
        "model": "m",
        "stream": True,
        "temperature": 0.0,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 8,
        "seed": 3,
    }


def test_a_chat_with_an_image_is_a_chat() -> None:
    parts = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, {"type": "text", "text": "?"}]
    ask = Ask(task="image_chat", model="m", messages=({"role": "user", "content": parts},))
    assert BACKEND.wire(ask, TARGET).path == "/v1/chat/completions"
    assert body(ask)["messages"][0]["content"] == parts


def test_other_tasks_have_other_paths_and_keys() -> None:
    completion = BACKEND.wire(Ask(task="completions", model="m", prompt="Once", stream=False, logprobs=True), TARGET)
    assert completion.path == "/v1/completions"
    assert json.loads(completion.body) == {"model": "m", "stream": False, "temperature": 0.0, "logprobs": 1, "prompt": "Once"}
    embeddings = BACKEND.wire(Ask(task="embeddings", model="m", documents=DOCUMENTS, stream=False), TARGET)
    assert embeddings.path == "/v1/embeddings"
    assert json.loads(embeddings.body) == {"model": "m", "encoding_format": "float", "input": ["a", "b", "c"]}
    rerank = BACKEND.wire(Ask(task="rerank", model="m", query="q", documents=DOCUMENTS, stream=False), TARGET)
    assert rerank.path == "/v1/rerank"
    assert json.loads(rerank.body) == {"model": "m", "query": "q", "documents": ["a", "b", "c"]}


def test_a_task_of_another_name_is_known_by_what_it_asks_with() -> None:
    assert BACKEND.wire(CHAT._replace(task="own"), TARGET).path == "/v1/chat/completions"
    assert BACKEND.wire(Ask(task="own", model="m", query="q", documents=DOCUMENTS), TARGET).path == "/v1/rerank"
    assert BACKEND.wire(Ask(task="own", model="m", documents=DOCUMENTS), TARGET).path == "/v1/embeddings"
    assert BACKEND.wire(Ask(task="own", model="m", prompt="p"), TARGET).path == "/v1/completions"


def test_reasoning_models_are_asked_by_two_options() -> None:
    told = body(CHAT, max_tokens_key="max_completion_tokens", omit="temperature, seed")
    assert told["max_completion_tokens"] == 8
    assert {"max_tokens", "temperature", "seed"} & told.keys() == set()


def test_the_key_reaches_the_server_and_the_answer_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIREASSAY_TEST_KEY", "sk-0123456789abcdef")
    target = Target(backend="openai", api_key_env="FIREASSAY_TEST_KEY", headers={"X-Team": "search"})
    delta = {"choices": [{"index": 0, "delta": {"content": "Yes"}, "finish_reason": None}]}
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    asked, answer = asked_for_real(target, CHAT, [sse(delta), sse(end), sse("[DONE]")])
    assert (asked.method, asked.path) == ("POST", "/v1/chat/completions")
    assert asked.headers["authorization"] == "Bearer sk-0123456789abcdef"
    assert (asked.headers["x-team"], asked.headers["content-type"]) == ("search", "application/json")
    assert (answer.status, answer.text, answer.finish_reason) == ("ok", "Yes", "stop")


def whole(task: str, told: object) -> Answer:
    ask = Ask(task=task, model="m", query="q", documents=DOCUMENTS, stream=False)
    return BACKEND.read(reply_of([(5, json.dumps(told).encode())], headers={"content-type": "application/json"}), ask)


def vectors(*indices: int, length: int = 2) -> dict[str, Any]:
    data = [{"object": "embedding", "index": index, "embedding": [0.5] * length} for index in indices]
    return {"object": "list", "data": data, "usage": {"prompt_tokens": 6, "total_tokens": 6}}


def test_embeddings_are_counted() -> None:
    answer = whole("embeddings", vectors(0, 1, 2))
    assert (answer.status, answer.tokens_in, answer.chunk_ns, answer.chunk_kind) == ("ok", 6, [5], [8])


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (vectors(0, 1), "2 embeddings for 3 documents"),
        (vectors(0, 1, 1), "indices"),
        (vectors(0, 1, 2, length=0), "lengths"),
        ({"object": "list"}, "KeyError"),
        ([], "no list `data`"),
        ({**vectors(0, 1, 2), "usage": {"prompt_tokens": -4}}, "not a count"),
    ],
)
def test_embeddings_that_are_not_those_asked_for_are_malformed(told: object, why: str) -> None:
    answer = whole("embeddings", told)
    assert (answer.status, why in (answer.error or "")) == ("malformed", True)


@pytest.mark.parametrize(
    ("told", "order"),
    [
        (
            {"results": [{"index": 2, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}, {"index": 1, "relevance_score": 0.5}]},
            "2 1 0",
        ),
        ([{"index": 1, "score": 0.2}, {"index": 0, "score": 0.7}, {"index": 2, "score": 0.2}], "0 1 2"),
    ],
)
def test_a_ranking_is_the_order_of_the_documents(told: object, order: str) -> None:
    answer = whole("rerank", told)
    assert (answer.status, answer.text) == ("ok", order)


@pytest.mark.parametrize(
    "told", [{"results": []}, {"results": [{"index": 3, "relevance_score": 1}]}, {"x": 1}, {"results": [{"index": 0}]}]
)
def test_a_ranking_of_something_else_is_malformed(told: object) -> None:
    assert whole("rerank", told).status == "malformed"


def test_an_error_inside_of_a_200_is_one() -> None:
    answer = whole("rerank", {"error": {"message": "model is not a ranker"}})
    assert (answer.status, answer.error) == ("error", "model is not a ranker")
