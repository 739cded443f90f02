"""Is trtllm-serve asked for exactly the length, with its own words for it?"""

from __future__ import annotations

from fireassay.spec.sections.serving import Target
from fireassay.traffic.parts import Ask
from tests.traffic.fakes import asked_for_real, sse

ASK = Ask(task="completions", model="m", prompt="Once", max_tokens=2)


def test_a_completion() -> None:
    def chunk(text: str, finish: str | None = None) -> dict[str, object]:
        choice = {"index": 0, "text": text, "token_ids": None, "logprobs": None, "finish_reason": finish, "stop_reason": None}
        return {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m", "choices": [choice]}

    tail = {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 1,
        "model": "m",
        "choices": [],
        "usage": {"prompt_tokens": 2, "total_tokens": 4, "completion_tokens": 2},
    }
    pieces = [sse(chunk(" a")), sse(chunk(" b", "length")), sse(tail), sse("[DONE]")]
    asked, answer = asked_for_real(Target(backend="trtllm"), ASK, pieces)
    assert asked.path == "/v1/completions"
    assert (asked.json["ignore_eos"], asked.json["min_tokens"], asked.json["max_tokens"]) == (True, 2, 2)
    assert (answer.status, answer.text, answer.tokens_out, answer.chunk_kind) == ("ok", " a b", 2, [1, 1, 5, 6])
