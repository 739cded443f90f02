"""What an engine lists is a probability, or a bound that says how much is not known; what it answers otherwise is an error."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.errors import SpecError, WorkloadError
from fireassay.instruments.images.decoding import decode
from fireassay.instruments.images.engine import EngineAnswerer, listed, probability
from tests.instruments.images.tiny_models import picture
from tests.instruments.images.vqa_server import asked, completion, engine


def test_a_listed_answer_is_its_probability() -> None:
    assert probability({"No": math.log(0.75), "Yes": math.log(0.25)}, "Yes") == pytest.approx((0.25, 0.0))
    assert probability({" Yes": math.log(0.9), "yes": math.log(0.1)}, "Yes") == pytest.approx((0.0, 0.0), abs=1e-12)


def test_an_answer_that_is_not_listed_is_bounded_by_the_least_listed_and_by_what_is_left() -> None:
    assert probability({"No": math.log(0.5), "no": math.log(0.25)}, "Yes") == pytest.approx((0.125, 0.125))  # the least: 0.25
    assert probability({"No": math.log(0.9), "no": math.log(0.08)}, "Yes") == pytest.approx((0.01, 0.01))  # left: 0.02
    assert probability({"No": 0.0}, "Yes") == pytest.approx((0.0, 0.0))


@given(st.lists(st.floats(0.001, 1.0), min_size=2, max_size=30), st.integers(1, 29), st.integers(0, 29))
def test_the_bound_holds_whatever_the_engine_lists(weights: list[float], top: int, answer: int) -> None:
    total = sum(weights)
    tokens = {str(number): weight / total for number, weight in enumerate(weights)}
    wanted = str(answer % len(weights))
    best = sorted(tokens, key=lambda token: -tokens[token])[:top]
    share, error = probability({token: math.log(tokens[token]) for token in best}, wanted)
    assert abs(share - tokens[wanted]) <= error + 1e-9
    assert 0.0 <= share - error <= share + error <= 1.0 + 1e-9


def test_of_two_tokens_with_one_text_the_more_probable_counts() -> None:
    tops = [{"token": "Yes", "logprob": -2.0}, {"token": "Yes", "logprob": -1.0}]
    reply = b'{"choices":[{"logprobs":{"content":[{"top_logprobs":%s}]}}]}' % str(tops).replace("'", '"').encode()
    assert listed(reply) == {"Yes": -1.0}


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"[]",
        b"[" * 100_000,
        b'{"choices":[]}',
        b'{"choices":[{"message":{"content":"Yes"}}]}',
        b'{"choices":[{"logprobs":null}]}',
        b'{"choices":[{"logprobs":{"content":[{"top_logprobs":[]}]}}]}',
        b'{"choices":[{"logprobs":{"content":[{"top_logprobs":[{"token":"Yes","logprob":NaN}]}]}}]}',
        b'{"choices":[{"logprobs":{"content":[{"top_logprobs":[{"token":"Yes","logprob":3}]}]}}]}',
        b'{"choices":[{"logprobs":{"content":[{"top_logprobs":[{"token":"Yes"}]}]}}]}',
    ],
)
def test_an_answer_without_log_probabilities_is_an_error(reply: bytes) -> None:
    with pytest.raises(WorkloadError, match="no top_logprobs"):
        listed(reply)


def test_a_request_has_the_pixels_the_question_and_one_token() -> None:
    seen: list[dict[str, Any]] = []

    def reply(body: dict[str, Any]) -> tuple[int, Any]:
        seen.append(body)
        return 200, completion({"Yes": math.log(0.5)})

    one = picture("red")
    with engine(reply) as address:
        found = EngineAnswerer(f"{address}/", "tiny").answered([one] * 3, ["a", "b", "c"], "Yes")
    assert found[:, 0] == pytest.approx([0.5] * 3)
    assert not found[:, 1].any()
    assert sorted(asked(body)[1] for body in seen) == ["a", "b", "c"]
    assert all(decode(asked(body)[0]).pixels.tobytes() == one.pixels.tobytes() for body in seen)
    body = seen[0]
    assert (body["_path"], body["_key"], body["model"]) == ("/v1/chat/completions", None, "tiny")
    assert (body["max_tokens"], body["temperature"], body["logprobs"], body["top_logprobs"]) == (1, 1.0, True, 20)


def test_a_key_comes_from_the_environment_and_is_in_no_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VQA_KEY", "sk-hidden")
    keys = []

    def reply(body: dict[str, Any]) -> tuple[int, Any]:
        keys.append(body["_key"])
        return 200, completion({"Yes": -1.0})

    with engine(reply) as address:
        made = EngineAnswerer(f"{address}/v1", "tiny", "VQA_KEY")
        made.answered([picture("red")], ["a"], "Yes")
    assert keys == ["Bearer sk-hidden"]
    assert "hidden" not in made.signature
    assert made.signature == "in:engine|served:tiny|top:20|temperature:1|image:png|weights:unknown"


def test_a_passing_failure_is_tried_again_and_a_lasting_one_said() -> None:
    statuses = iter([503, 429, 200, 503, 503, 503])
    waits: list[float] = []

    def reply(_: dict[str, Any]) -> tuple[int, Any]:
        status = next(statuses)
        return status, completion({"Yes": -1.0}) if status == 200 else {"error": "busy"}

    with engine(reply) as address:
        made = EngineAnswerer(address, "tiny", wait=waits.append)
        assert made.answered([picture("red")], ["a"], "Yes")[0, 0] == pytest.approx(math.exp(-1.0))
        assert waits == [1.0, 2.0]
        with pytest.raises(WorkloadError, match="did not answer 3 times: status 503"):
            made.answered([picture("red")], ["a"], "Yes")
    with pytest.raises(WorkloadError, match="did not answer 3 times"):
        made.answered([picture("red")], ["a"], "Yes")


@pytest.mark.parametrize(("status", "said"), [(400, "status 400: .*no images here"), (404, "status 404"), (302, "status 302")])
def test_a_refusal_is_said_at_once(status: int, said: str) -> None:
    with engine(lambda _: (status, {"error": "no images here"})) as address, pytest.raises(WorkloadError, match=said):
        EngineAnswerer(address, "tiny").answered([picture("red")], ["a"], "Yes")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ftp://x", "m"), "vqascore.model"),
        (("http://user:pass@host", "m"), "without a password"),
        (("http://", "m"), "vqascore.model"),
        (("http://host", ""), "vqascore.served"),
        (("http://host", "m", "NO_SUCH_VARIABLE"), "vqascore.api_key_env"),
    ],
)
def test_an_address_that_cannot_be_asked_is_refused(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(SpecError, match=said) as caught:
        EngineAnswerer(*words)
    assert "pass@" not in str(caught.value)
    assert "user" not in str(caught.value)
