"""Is `transformers serve` spared what it refuses, and is its stream without an end mark a whole answer?"""

from __future__ import annotations

import json

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.transformers import BACKEND
from fireassay.traffic.parts import Ask
from tests.traffic.fakes import asked_for_real, sse

CHAT = Ask(task="chat", model="/models/tiny", messages=({"role": "user", "content": "Hi"},), max_tokens=3, logprobs=True)


def test_nothing_that_it_refuses_is_asked_for() -> None:
    # UNUSED_CHAT_COMPLETION_FIELDS in transformers 5.23.0: these are answered with an error.
    told = json.loads(BACKEND.wire(CHAT, Target()).body)
    assert {"stream_options", "logprobs", "top_logprobs", "n", "ignore_eos", "min_tokens"} & told.keys() == set()


def test_the_length_is_forced_by_a_generation_config_in_json() -> None:
    told = json.loads(BACKEND.wire(CHAT, Target()).body)
    assert told["max_tokens"] == 3
    assert json.loads(told["generation_config"]) == {"max_new_tokens": 3, "min_new_tokens": 3}
    free = Ask(task="completions", model="m", prompt="p", max_tokens=3, ignore_eos=False)
    assert "generation_config" not in json.loads(BACKEND.wire(free, Target()).body)
    endless = Ask(task="completions", model="m", prompt="p")
    assert "generation_config" not in json.loads(BACKEND.wire(endless, Target()).body)


def test_a_stream_as_it_writes_it() -> None:
    def chunk(**choice: object) -> dict[str, object]:
        return {
            "id": "r",
            "choices": [{"delta": {}, "index": 0, **choice}],
            "created": 1,
            "model": "/models/tiny@main",
            "object": "chat.completion.chunk",
        }

    usage = {"completion_tokens": 3, "prompt_tokens": 6, "total_tokens": 9}
    pieces = [
        sse(chunk(delta={"role": "assistant"})),
        sse(chunk(delta={"content": "a b"})),
        sse(chunk(delta={"content": " c"})),
        sse({**chunk(finish_reason="length"), "usage": usage}),
    ]
    _, answer = asked_for_real(Target(backend="transformers"), CHAT, pieces)
    assert (answer.status, answer.text, answer.finish_reason) == ("ok", "a b c", "length")
    assert (answer.tokens_out, answer.chunk_kind) == (3, [0, 1, 1, 4])
