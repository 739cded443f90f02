"""Are exactly the continuation's tokens counted, however an engine counts offsets, and is everything else malformed?"""

from __future__ import annotations

import json
import math
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.openai import BACKEND
from fireassay.traffic.backends.support.openai_dialect import echoed
from fireassay.traffic.backends.vllm import BACKEND as VLLM
from fireassay.traffic.parts import Ask
from tests.traffic.transcripts import reply_of

ASK = Ask(task="loglikelihood", model="m", prompt="2+2= 4", documents=("2+2=", " 4"), stream=False, logprobs=True)


def document(tokens: list[str], *, text: str | None = None, prompt_tokens: int | None = None, shift: int = 0) -> dict[str, Any]:
    """A completion: token i has the log probability -i; the first has none. `shift`: the length of a mark that the text lacks."""
    offsets = [0, *accumulate(len(token) for token in tokens)][: len(tokens)]
    values = [None, *(-float(index) for index in range(1, len(tokens)))]
    choice = {
        "index": 0,
        "text": "".join(tokens)[shift:] if text is None else text,
        "finish_reason": "length",
        "logprobs": {
            "tokens": tokens,
            "token_logprobs": values,
            "text_offset": offsets,
            "top_logprobs": [None, *({"a": -0.5} for _ in tokens[1:])],
        },
    }
    usage = {} if prompt_tokens is None else {"usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 1, "total_tokens": 9}}
    return {"id": "x", "object": "text_completion", "choices": [choice], **usage}


def counted(document: dict[str, Any], context: str = "2+2=", continuation: str = " 4") -> list[float]:
    return list(echoed(document, context, continuation).logprobs)


def test_the_tokens_beyond_the_context_count() -> None:
    assert counted(document(["2", "+", "2", "=", " ", "4"])) == [-4.0, -5.0]
    assert echoed(document(["2", "+2=", " 4"]), "2+2=", " 4").top == ({"a": -0.5},)


def test_a_token_that_straddles_the_border_counts() -> None:
    assert counted(document(["2", "+2", "= 4"])) == [-2.0]


def test_blanks_at_the_end_of_the_context_count() -> None:
    assert counted(document(["2+2=", " ", "4"]), "2+2= ", "4") == [-1.0, -2.0]


def test_a_generated_token_does_not_count() -> None:
    tokens = ["2+2=", " 4", "4"]
    assert counted(document(tokens, prompt_tokens=2)) == [-1.0]
    assert counted(document(tokens)) == [-1.0]
    assert counted(document(["2+2=", " 4", ""])) == [-1.0]  # the end of the sequence
    assert counted(document(["2+2=", " 4"], prompt_tokens=2)) == [-1.0]  # vLLM: one generated, and not echoed


def test_a_mark_that_the_text_lacks_shifts_nothing() -> None:
    assert counted(document(["<s>", "2", "+2=", " 4"], shift=3, prompt_tokens=4)) == [-3.0]


def test_parts_of_a_character_are_placed_by_the_offsets() -> None:
    told = document(["a", "\N{REPLACEMENT CHARACTER}", "\N{REPLACEMENT CHARACTER}", "b"], text="aéb")
    told["choices"][0]["logprobs"]["text_offset"] = [0, 1, 1, 2]
    assert counted(told, "a", "éb") == [-1.0, -2.0, -3.0]


@given(st.lists(st.text("ab =", min_size=1, max_size=3), min_size=2, max_size=9), st.data(), st.booleans(), st.booleans())
def test_whatever_the_tokens_those_that_end_beyond_the_border_count(tokens: list[str], data: Any, mark: bool, generated: bool) -> None:
    text = "".join(tokens)
    split = data.draw(st.integers(1, len(text) - 1))
    context, continuation = text[:split], text[split:]
    ends = list(accumulate(len(token) for token in tokens))
    first = next(index for index, end in enumerate(ends) if end > len(context.rstrip()))
    before = ["<|begin|>"] if mark else []
    every = [*before, *tokens, *(["z"] if generated else [])]
    told = document(every, text=text + ("z" if generated else ""), prompt_tokens=len(before) + len(tokens))
    wanted = [-float(index + len(before)) for index in range(first, len(tokens))]
    if first + len(before) == 0:
        with pytest.raises(ValueError, match="nothing comes before it"):
            counted(told, context, continuation)
    else:
        assert counted(told, context, continuation) == wanted


BROKEN: dict[str, Any] = {
    "no log probabilities": {"choices": [{"index": 0, "text": "2+2= 4", "logprobs": None}]},
    "a chat's log probabilities": {
        "choices": [{"index": 0, "message": {"content": "4"}, "logprobs": {"content": [{"token": "4", "logprob": 0}]}}]
    },
    "only what was generated": document(["5"]),
    "another text": document(["3+3=", " 4"]),
    "tokens that spell something else": document(["2+", "2", " 5"], text="2+2= 4"),
    "no choices": {"choices": []},
    "a list": [],
}


@pytest.mark.parametrize("told", BROKEN.values(), ids=BROKEN)
def test_everything_else_is_malformed_and_never_a_probability(told: Any) -> None:
    answer = BACKEND.read(reply_of([(5, json.dumps(told).encode())]), ASK)
    assert answer.status == "malformed"
    assert answer.logprobs == []
    assert answer.error


@pytest.mark.parametrize("value", [None, "-1.0", True, math.nan, -math.inf, 0.5])
def test_what_is_no_log_probability_is_malformed(value: object) -> None:
    told = document(["2+2=", " 4"])
    told["choices"][0]["logprobs"]["token_logprobs"][1] = value
    assert BACKEND.read(reply_of([(5, json.dumps(told).encode())]), ASK).status == "malformed"


def test_log_probabilities_that_are_fewer_than_the_tokens_are_malformed() -> None:
    told = document(["2+", "2=", " 4"])
    del told["choices"][0]["logprobs"]["token_logprobs"][1:]
    assert BACKEND.read(reply_of([(5, json.dumps(told).encode())]), ASK).status == "malformed"


def test_a_certain_token_may_be_rounded_above_0_and_counts_as_0() -> None:
    told = document(["2+2=", " 4"])
    told["choices"][0]["logprobs"] |= {"token_logprobs": [None, 1e-6], "top_logprobs": [None, {"a": math.nan, "b": 2.0, "c": -1.0}]}
    read = echoed(told, "2+2=", " 4")
    assert (read.logprobs, read.top) == ((0.0,), ({"c": -1.0},))


def test_a_text_without_a_context_is_told_so() -> None:
    assert "Give the item a context" in str(
        BACKEND.read(reply_of([(5, json.dumps(document(["2+2= 4"])).encode())]), ASK._replace(documents=("", "2+2= 4"))).error
    )


def test_an_answer_has_the_continuation_s_probabilities_and_no_text() -> None:
    answer = BACKEND.read(reply_of([(5, json.dumps(document(["2+", "2=", " 4"], prompt_tokens=3)).encode())]), ASK)
    assert (answer.status, answer.logprobs, answer.tokens_in, answer.tokens_out, answer.text) == ("ok", [-2.0], 3, None, None)


@pytest.mark.parametrize("backend", [BACKEND, VLLM])
def test_it_is_asked_for_with_echo_and_nothing_generated(backend: Any) -> None:
    wire = backend.wire(ASK, Target(backend=backend.name))
    assert wire.path == "/v1/completions"
    assert json.loads(wire.body) == {
        "model": "m",
        "stream": False,
        "temperature": 0.0,
        "echo": True,
        "logprobs": 1,
        "prompt": "2+2= 4",
        "max_tokens": 0,
    }
    one = backend.wire(ASK, Target(backend=backend.name, options={"echo_tokens": 1}))
    assert json.loads(one.body)["max_tokens"] == 1
