"""Is llama.cpp asked in both of its dialects, and are its timings, its counts and its silent cuts understood?"""

from __future__ import annotations

import json

import pytest

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.llamacpp import BACKEND
from fireassay.traffic.parts import Ask
from tests.traffic.fakes import asked_for_real, sse
from tests.traffic.transcripts import reply_of

NATIVE = Target(backend="llamacpp", options={"native": True, "body.cache_prompt": False})
ASK = Ask(task="completions", model="m", prompt="Once", max_tokens=2, seed=9)
END = {
    "index": 0,
    "content": "",
    "stop": True,
    "tokens_predicted": 2,
    "tokens_evaluated": 9,
    "tokens_cached": 10,
    "stop_type": "limit",
    "timings": {"cache_n": 6, "prompt_n": 3, "prompt_ms": 4.5, "predicted_n": 2, "predicted_ms": 9.0},
}


def test_its_own_stream() -> None:
    pieces = [sse({"content": " a", "stop": False}), sse({"content": " b", "stop": False}), sse(END)]
    asked, answer = asked_for_real(NATIVE, ASK, pieces)
    assert asked.path == "/completion"
    assert asked.json == {
        "stream": True,
        "temperature": 0.0,
        "ignore_eos": True,
        "cache_prompt": False,
        "prompt": "Once",
        "n_predict": 2,
        "seed": 9,
    }
    assert (answer.status, answer.text, answer.chunk_kind, answer.finish_reason) == ("ok", " a b", [1, 1, 4], "length")
    assert (answer.tokens_in, answer.tokens_out, answer.tokens_cached) == (9, 2, 6)  # cache_n, not the context's length


@pytest.mark.parametrize(
    ("told", "finish"),
    [({"stop_type": "eos"}, "stop"), ({"stop_type": "word"}, "stop"), ({"stopped_limit": True}, "length"), ({"stopped_eos": True}, "stop")],
)
def test_why_it_ended_by_old_and_new_servers(told: dict[str, object], finish: str) -> None:
    last = {"content": "x", "stop": True, **told}
    answer = BACKEND.read(reply_of([(1, sse(last))]), ASK)
    assert (answer.finish_reason, answer.status) == (finish, "ok")


def test_log_probabilities() -> None:
    ask = Ask(task="completions", model="m", prompt="p", logprobs=True)
    assert json.loads(BACKEND.wire(ask, NATIVE).body)["n_probs"] == 1
    event = {"content": "x", "stop": False, "completion_probabilities": [{"id": 1, "token": "x", "logprob": -0.25, "top_logprobs": []}]}
    assert BACKEND.read(reply_of([(1, sse(event) + sse(END))]), ask).logprobs == [-0.25]


def test_an_answer_cut_off_for_the_next_request_is_truncated() -> None:
    delta = {"choices": [{"index": 0, "delta": {"content": "Half"}, "finish_reason": None}]}
    chat = Ask(task="chat", model="m", messages=({"role": "user", "content": "?"},), max_tokens=9)
    asked, answer = asked_for_real(Target(backend="llamacpp"), chat, [sse(delta), sse(delta)])
    assert asked.json["ignore_eos"] is True
    assert (answer.status, answer.text) == ("truncated", "HalfHalf")
    assert BACKEND.read(reply_of([(1, sse({"content": "Half", "stop": False}))]), ASK).status == "truncated"


def test_an_answer_in_one_piece() -> None:
    reply = reply_of([(4, json.dumps({**END, "content": " a b"}).encode())], headers={"content-type": "application/json"})
    answer = BACKEND.read(reply, Ask(task="completions", model="m", prompt="p", stream=False))
    assert (answer.status, answer.text, answer.tokens_out) == ("ok", " a b", 2)
