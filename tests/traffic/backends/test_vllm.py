"""Is vLLM asked for exactly the length, and are its role chunk and its usage tail no tokens?"""

from __future__ import annotations

import json

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.vllm import BACKEND
from fireassay.traffic.parts import TEXT, Ask
from tests.traffic.fakes import asked_for_real, sse

CHAT = Ask(task="chat", model="m", messages=({"role": "user", "content": "Hi"},), max_tokens=2, logprobs=True)


def test_the_length_is_forced_only_if_asked_for() -> None:
    told = json.loads(BACKEND.wire(CHAT, Target()).body)
    assert (told["ignore_eos"], told["min_tokens"], told["max_tokens"], told["logprobs"]) == (True, 2, 2, True)
    free = json.loads(BACKEND.wire(Ask(task="chat", model="m", messages=CHAT.messages, ignore_eos=False), Target()).body)
    assert {"ignore_eos", "min_tokens", "max_tokens"} & free.keys() == set()


def test_extra_keys_go_into_the_body() -> None:
    target = Target(options={"body.chat_template_kwargs.enable_thinking": False, "body.top_k": 1})
    told = json.loads(BACKEND.wire(CHAT, target).body)
    assert (told["chat_template_kwargs"], told["top_k"]) == ({"enable_thinking": False}, 1)


def test_a_stream_as_vllm_writes_it() -> None:
    def chunk(delta: dict[str, str], **more: object) -> dict[str, object]:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None, "token_ids": None}],
            **more,
        }

    end = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": ""}, "logprobs": None, "finish_reason": "length", "stop_reason": None}],
    }
    usage = {"prompt_tokens": 12, "total_tokens": 14, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}}
    tail = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": usage}
    pieces = [
        sse(chunk({"role": "assistant", "content": ""}, prompt_token_ids=None)),
        sse(chunk({"content": "a"})),
        sse(chunk({"content": " b"})),
        sse(end),
        sse(tail),
        sse("[DONE]"),
    ]
    asked, answer = asked_for_real(Target(backend="vllm"), CHAT, pieces)
    assert asked.json["stream_options"] == {"include_usage": True}
    assert (answer.status, answer.tokens_in, answer.tokens_out, answer.tokens_cached) == ("ok", 12, 2, 8)
    assert answer.chunk_kind == [0, 1, 1, 4, 5, 6]
    assert sum(kind in TEXT for kind in answer.chunk_kind) == 2
    assert answer.chunk_ns == sorted(answer.chunk_ns)


def test_it_can_be_asked_for_tokens() -> None:
    assert BACKEND.tokenize == "/tokenize"
