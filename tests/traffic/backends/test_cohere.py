"""Is Cohere's API called in its own form, and are its typed events distinguished?  Wire format: docs.cohere.com/reference/chat-stream."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.cohere import BACKEND
from fireassay.traffic.parts import Answer, Ask, Kind
from tests.traffic.fakes import asked_for_real, sse
from tests.traffic.transcripts import reply_of

KEY = "co-0123456789abcdef"
ASK = Ask(task="chat", model="command-a", messages=({"role": "user", "content": "Hi"},), max_tokens=9, seed=3)
IMAGE = "data:image/png;base64,AAAA"
USAGE = {"billed_units": {"input_tokens": 2, "output_tokens": 3}, "tokens": {"input_tokens": 70, "output_tokens": 4}}


def event(kind: str, message: object = None, **more: object) -> dict[str, object]:
    return {"type": kind, **({} if message is None else {"index": 0, "delta": {"message": message}}), **more}


START = event("message-start", {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}, id="1")
CONTENT = event("content-start", {"content": {"type": "text", "text": ""}})


def text(words: str) -> dict[str, object]:
    return event("content-delta", {"content": {"text": words}})


def end(reason: str = "COMPLETE", **more: object) -> dict[str, object]:
    return {"type": "message-end", "delta": {"finish_reason": reason, "usage": USAGE, **more}}


def read(*events: object) -> Answer:
    return BACKEND.read(reply_of([(place, sse(one)) for place, one in enumerate(events)]), ASK)


def whole(task: str, document: object, **ask: Any) -> Answer:
    asked = Ask(task=task, model="m", stream=False, **ask)
    return BACKEND.read(reply_of([(5, json.dumps(document).encode())], headers={"content-type": "application/json"}), asked)


def test_a_chat_is_asked_with_the_services_own_key_and_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CO_API_KEY", KEY)
    target = Target(backend="cohere", options={"body.p": 0.9})
    asked, answer = asked_for_real(target, ASK, [sse(one) for one in (START, CONTENT, text("Hello"), text(" you"), end())])
    assert (asked.path, asked.headers["authorization"]) == ("/v2/chat", f"Bearer {KEY}")
    assert asked.json == {
        "model": "command-a",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "temperature": 0.0,
        "max_tokens": 9,
        "seed": 3,
        "p": 0.9,
    }
    assert (answer.status, answer.text, answer.finish_reason) == ("ok", "Hello you", "stop")
    assert (answer.tokens_in, answer.tokens_out) == (70, 4)
    assert target.secret_variables == ("CO_API_KEY",)
    assert Target(backend="cohere", api_key_env="MINE").secret_variables == ("MINE",)


def test_each_event_has_its_kind() -> None:
    answer = read(
        START,
        event("tool-plan-delta", {"tool_plan": "First"}),
        event("tool-call-start", {"tool_calls": {"id": "1", "type": "function", "function": {"name": "look", "arguments": ""}}}),
        event("tool-call-delta", {"tool_calls": {"function": {"arguments": "{}"}}}),
        event("tool-call-end"),
        event("content-delta", {"content": {"thinking": "hm"}}),
        text("Yes"),
        event("citation-start", {"citations": {}}),
        end("TOOL_CALL"),
    )
    kinds = [Kind.ROLE, Kind.REASONING, Kind.TOOL, Kind.TOOL, Kind.OTHER, Kind.REASONING, Kind.CONTENT, Kind.OTHER, Kind.FINISH]
    assert answer.chunk_kind == [int(kind) for kind in kinds]
    assert answer.chunk_chars == [0, 5, 4, 2, 0, 2, 3, 0, 0]
    assert (answer.text, answer.reasoning, answer.status) == ("Yes", "Firsthm", "ok")


@pytest.mark.parametrize(
    ("events", "status", "error"),
    [
        ((START, text("a"), end("ERROR", error="the model is overloaded")), "error", "overloaded"),
        ((START, text("a"), end("TIMEOUT")), "error", "TIMEOUT"),
        ((START, text("a")), "truncated", "finish reason"),
        ((START, event("content-delta", {"content": "no object"}), end()), "malformed", "dialect"),
        (
            (START, {"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": {"tokens": {"output_tokens": -1}}}}),
            "malformed",
            "count",
        ),
    ],
)
def test_an_answer_that_broke_off_is_no_answer(events: tuple[object, ...], status: str, error: str) -> None:
    answer = read(*events)
    assert (answer.status, error in (answer.error or "")) == (status, True)


def test_an_answer_in_one_piece() -> None:
    message = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hello"}]}
    answer = whole("chat", {"id": "1", "finish_reason": "MAX_TOKENS", "message": message, "usage": {"billed_units": {"output_tokens": 3}}})
    assert (answer.status, answer.text, answer.reasoning, answer.finish_reason, answer.tokens_out) == ("ok", "Hello", "hm", "length", 3)


def test_texts_and_images_are_embedded_in_their_own_form() -> None:
    texts = BACKEND.wire(Ask(task="embeddings", model="m", documents=("a", "b"), stream=False), Target(backend="cohere"))
    assert (texts.path, json.loads(texts.body)) == (
        "/v2/embed",
        {"model": "m", "input_type": "search_document", "embedding_types": ["float"], "texts": ["a", "b"]},
    )
    parts = [{"type": "image_url", "image_url": {"url": IMAGE}}]
    image = BACKEND.wire(
        Ask(task="image_to_embeddings", model="m", messages=({"role": "user", "content": parts},)), Target(backend="cohere")
    )
    assert json.loads(image.body) == {"model": "m", "input_type": "image", "embedding_types": ["float"], "images": [IMAGE]}
    document = {"id": "1", "embeddings": {"float": [[0.1, 0.2], [0.3, 0.4]]}, "meta": {"billed_units": {"input_tokens": 6}}}
    answer = whole("embeddings", document, documents=("a", "b"))
    assert (answer.status, answer.tokens_in, answer.text) == ("ok", 6, None)
    assert whole("image_to_embeddings", {"embeddings": {"float": [[0.1]]}, "meta": {"billed_units": {"images": 1}}}).tokens_in is None


@pytest.mark.parametrize("document", [{"embeddings": {"float": [[0.1]]}}, {"embeddings": {"float": [[0.1], []]}}, {"embeddings": {}}, []])
def test_embeddings_that_are_not_those_asked_for_are_malformed(document: object) -> None:
    assert whole("embeddings", document, documents=("a", "b")).status == "malformed"


def test_a_ranking_is_the_order_of_the_documents() -> None:
    wire = BACKEND.wire(Ask(task="rerank", model="m", query="q", documents=("a", "b"), stream=False), Target(backend="cohere"))
    assert (wire.path, json.loads(wire.body)) == ("/v2/rerank", {"model": "m", "query": "q", "documents": ["a", "b"]})
    document = {"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}], "meta": {}}
    assert whole("rerank", document, query="q", documents=("a", "b")).text == "1 0"
