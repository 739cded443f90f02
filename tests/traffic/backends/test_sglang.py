"""Is SGLang asked in both of its dialects, and is its repeated text counted once?"""

from __future__ import annotations

import json
from typing import Any

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.sglang import BACKEND
from fireassay.traffic.parts import Answer, Ask
from tests.traffic.fakes import asked_for_real, sse
from tests.traffic.transcripts import reply_of

NATIVE = Target(backend="sglang", options={"native": True, "body.sampling_params.top_k": 5})
ASK = Ask(task="completions", model="m", prompt="Once", max_tokens=3, seed=9, logprobs=True)


def event(text: str, tokens: int, finish: object = None, **more: object) -> dict[str, Any]:
    meta = {"id": "x", "finish_reason": finish, "prompt_tokens": 6, "completion_tokens": tokens, "cached_tokens": 4, **more}
    return {"text": text, "meta_info": meta}


def test_openai_s_dialect_forces_the_length() -> None:
    wire = BACKEND.wire(Ask(task="chat", model="m", messages=({"role": "user", "content": "?"},), max_tokens=3), Target())
    assert wire.path == "/v1/chat/completions"
    assert (json.loads(wire.body)["ignore_eos"], json.loads(wire.body)["min_tokens"]) == (True, 3)


def test_its_own_dialect_has_its_own_keys() -> None:
    events = [event(" a", 1), event(" a b", 2), event(" a b c", 3, {"type": "length", "length": 3})]
    asked, answer = asked_for_real(NATIVE, ASK, [sse(one) for one in events] + [sse("[DONE]")])
    assert asked.path == "/generate"
    assert asked.json == {
        "text": "Once",
        "stream": True,
        "return_logprob": True,
        "sampling_params": {
            "temperature": 0.0,
            "ignore_eos": True,
            "max_new_tokens": 3,
            "min_new_tokens": 3,
            "sampling_seed": 9,
            "top_k": 5,
        },
    }
    assert (answer.text, answer.chunk_chars, answer.finish_reason) == (" a b c", [2, 2, 2, 0], "length")
    assert (answer.tokens_in, answer.tokens_out, answer.tokens_cached) == (6, 3, 4)


def native(*events: object) -> Answer:
    return BACKEND.read(reply_of([(place, sse(one)) for place, one in enumerate(events)]), ASK)


def test_logprobs_come_all_again_or_only_the_new_ones() -> None:
    again = native(
        event("a", 1, output_token_logprobs=[[-0.5, 1, None]]),
        event("ab", 2, {"type": "stop"}, output_token_logprobs=[[-0.5, 1, None], [-1.0, 2, None]]),
    )
    new = native(
        event("a", 1, output_token_logprobs=[[-0.5, 1, None]]), event("ab", 2, {"type": "stop"}, output_token_logprobs=[[-1.0, 2, None]])
    )
    assert again.logprobs == new.logprobs == [-0.5, -1.0]


def test_several_tokens_in_an_event_are_one_chunk() -> None:
    answer = native(event("a b c", 3), event("a b c d e", 5, {"type": "stop", "matched": 2}))
    assert (answer.chunk_chars, answer.tokens_out, answer.finish_reason) == ([5, 4], 5, "stop")


def test_an_abort_is_told() -> None:
    answer = native(event("a", 1), {"error": {"message": "Input is longer than the context"}})
    assert (answer.status, answer.error) == ("error", "Input is longer than the context")


def test_an_answer_in_one_piece() -> None:
    reply = reply_of([(7, json.dumps(event("all", 2, {"type": "stop"})).encode())], headers={"content-type": "application/json"})
    answer = BACKEND.read(reply, Ask(task="completions", model="m", prompt="p", stream=False))
    assert (answer.status, answer.text, answer.chunk_ns) == ("ok", "all", [7])
