"""Is TGI asked in both of its dialects, and does a special token bear no text?"""

from __future__ import annotations

import json

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.tgi import BACKEND
from fireassay.traffic.parts import Ask
from tests.traffic.fakes import asked_for_real, sse
from tests.traffic.transcripts import reply_of

NATIVE = Target(backend="tgi", options={"native": True, "body.parameters.top_k": 5})
ASK = Ask(task="completions", model="m", prompt="Once", max_tokens=2, seed=9)


def token(index: int, text: str, *, special: bool = False, details: object = None) -> dict[str, object]:
    told = {"id": index, "text": text, "logprob": -0.5, "special": special}
    return {"index": index, "token": told, "top_tokens": [], "generated_text": " a" if details else None, "details": details}


def test_its_own_stream() -> None:
    details = {"finish_reason": "eos_token", "generated_tokens": 2, "seed": 9, "input_length": 4}
    pieces = [sse(token(1, " a")), sse(token(2, "</s>", special=True, details=details))]
    asked, answer = asked_for_real(NATIVE, ASK, pieces)
    assert asked.path == "/generate_stream"
    assert asked.json == {"inputs": "Once", "parameters": {"do_sample": False, "details": True, "max_new_tokens": 2, "seed": 9, "top_k": 5}}
    assert (answer.status, answer.text, answer.chunk_kind, answer.chunk_chars) == ("ok", " a", [1, 4], [2, 0])
    assert (answer.tokens_in, answer.tokens_out, answer.finish_reason, answer.logprobs) == (4, 2, "stop", [])


def test_sampling_is_asked_for_only_above_a_temperature_of_0() -> None:
    warm = Ask(task="completions", model="m", prompt="p", temperature=0.7, stream=False)
    wire = BACKEND.wire(warm, NATIVE)
    assert wire.path == "/generate"
    assert json.loads(wire.body)["parameters"]["temperature"] == 0.7
    assert json.loads(wire.body)["parameters"]["do_sample"] is True


def test_its_own_answer_in_one_piece() -> None:
    details = {
        "finish_reason": "length",
        "generated_tokens": 2,
        "prefill": [{"id": 1}, {"id": 2}],
        "tokens": [{"id": 5, "text": "x", "logprob": -1.0, "special": False}],
    }
    reply = reply_of([(3, json.dumps({"generated_text": "xy", "details": details}).encode())], headers={"content-type": "application/json"})
    answer = BACKEND.read(reply, Ask(task="completions", model="m", prompt="p", stream=False, logprobs=True))
    assert (answer.status, answer.text, answer.tokens_in, answer.tokens_out, answer.logprobs) == ("ok", "xy", 2, 2, [-1.0])


def test_openai_s_dialect_does_not_force_a_length() -> None:
    chat = Ask(task="chat", model="tgi", messages=({"role": "user", "content": "?"},), max_tokens=2)
    end = {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": "b"}, "finish_reason": "eos_token"}],
    }
    asked, answer = asked_for_real(Target(backend="tgi"), chat, [sse(end), sse("[DONE]")])
    assert asked.path == "/v1/chat/completions"
    assert {"ignore_eos", "min_tokens"} & asked.json.keys() == set()
    assert (answer.text, answer.finish_reason) == ("b", "stop")


def test_an_overloaded_server() -> None:
    reply = reply_of(
        [(1, b'{"error":"Model is overloaded","error_type":"overloaded"}')], http_status=429, headers={"content-type": "application/json"}
    )
    answer = BACKEND.read(reply, ASK)
    assert (answer.status, answer.error) == ("4xx", "HTTP 429: Model is overloaded")
