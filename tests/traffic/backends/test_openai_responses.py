"""Is the responses API asked in its own form, and are its typed events told apart?"""

from __future__ import annotations

import json
from typing import Any

import pytest

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.openai_responses import BACKEND
from fireassay.traffic.parts import Answer, Ask
from tests.traffic.fakes import asked_for_real, sse
from tests.traffic.transcripts import reply_of

PARTS = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, {"type": "text", "text": "What?"}]
MESSAGES = (
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]},
    {"role": "user", "content": PARTS},
)
ASK = Ask(task="responses", model="m", messages=MESSAGES, max_tokens=9, logprobs=True)
USAGE = {
    "input_tokens": 7,
    "output_tokens": 4,
    "input_tokens_details": {"cached_tokens": 2},
    "output_tokens_details": {"reasoning_tokens": 1},
}


def event(kind: str, **more: object) -> dict[str, object]:
    return {"type": kind, "sequence_number": 1, **more}


def end(kind: str = "completed", **more: object) -> dict[str, object]:
    return event(f"response.{kind}", response={"object": "response", "status": kind, "error": None, "usage": USAGE, **more})


def read(*events: object) -> Answer:
    return BACKEND.read(reply_of([(place, sse(one)) for place, one in enumerate(events)]), ASK)


def test_a_conversation_with_an_image() -> None:
    asked, answer = asked_for_real(
        Target(backend="openai_responses", options={"body.reasoning.effort": "low"}),
        ASK,
        [sse(event("response.output_text.delta", delta="A ")), sse(event("response.output_text.delta", delta="cat")), sse(end())],
    )
    assert asked.path == "/v1/responses"
    assert asked.json == {
        "model": "m",
        "stream": True,
        "temperature": 0.0,
        "store": False,
        "include": ["message.output_text.logprobs"],
        "reasoning": {"effort": "low"},
        "max_output_tokens": 9,
        "input": [
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]},
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "What?"}, {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}],
            },
        ],
    }
    assert (answer.status, answer.text, answer.finish_reason) == ("ok", "A cat", "stop")
    assert (answer.tokens_in, answer.tokens_out, answer.tokens_reasoning, answer.tokens_cached) == (7, 4, 1, 2)


def test_a_text_without_a_conversation_is_the_input() -> None:
    assert json.loads(BACKEND.wire(Ask(task="completions", model="m", prompt="Once"), Target()).body)["input"] == "Once"


def test_a_tool_call_and_log_probabilities() -> None:
    logprobs = [{"token": "x", "logprob": -0.5, "top_logprobs": []}]
    answer = read(
        event("response.function_call_arguments.delta", delta='{"a":'),
        event("response.output_text.delta", delta="x", logprobs=logprobs),
        end(),
    )
    assert (answer.chunk_kind, answer.chunk_chars, answer.logprobs) == ([3, 1, 4], [5, 1, 0], [-0.5])


def test_an_answer_that_was_too_long() -> None:
    answer = read(event("response.output_text.delta", delta="x"), end("incomplete", incomplete_details={"reason": "max_output_tokens"}))
    assert (answer.status, answer.finish_reason) == ("ok", "length")


@pytest.mark.parametrize(
    ("last", "why"),
    [
        (event("error", code="server_error", message="Try again", param=None), "Try again"),
        (end("failed", error={"code": "x", "message": "Broken"}), "Broken"),
        ({"error": {"message": "Rate limit", "type": "tokens"}}, "Rate limit"),
    ],
)
def test_the_three_ways_to_fail(last: dict[str, Any], why: str) -> None:
    answer = read(event("response.created", response={"object": "response", "status": "in_progress", "error": None}), last)
    assert (answer.status, answer.error, answer.chunk_kind[-1]) == ("error", why, 7)


def test_an_answer_in_one_piece() -> None:
    told = {
        "object": "response",
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "usage": USAGE,
        "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]},
            {"type": "function_call", "name": "f", "arguments": "{}"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes"}]},
        ],
    }
    reply = reply_of([(5, json.dumps(told).encode())], headers={"content-type": "application/json"})
    answer = BACKEND.read(reply, Ask(task="responses", model="m", stream=False))
    assert (answer.status, answer.text, answer.reasoning, answer.chunk_chars, answer.tokens_out) == ("ok", "Yes", "Hm", [8], 4)
