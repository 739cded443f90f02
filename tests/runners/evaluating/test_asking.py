"""Is a judge asked once for each thing, again where it could not answer, and never in vain?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import EnvironmentLacks, SpecError
from fireassay.quality.judging.cache import Cache, Reply
from fireassay.runners.evaluating.asking import MOST_IN_A_ROW, Asked, Failed, Messages, ask, check, check_key
from fireassay.spec.sections.judge import Judge
from tests.oracle import Server, oracle

FORM = {"type": "json_schema", "json_schema": {"name": "judgement", "strict": True, "schema": {}}}


def judge(server: Server, **more: Any) -> Judge:
    return Judge(url=server.url, model="m", rubric="r.toml", retries=0, **more)


def asked(texts: Sequence[str]) -> list[Messages]:
    return [({"role": "system", "content": "judge"}, {"role": "user", "content": text}) for text in texts]


def texts_of(found: Asked) -> list[str]:
    return [reply.text if isinstance(reply, Reply) else f"failed {reply.http_status}" for reply in found.replies]


def test_replies_are_in_the_order_of_the_requests_and_equal_ones_sent_once() -> None:
    with oracle(lambda text: f"about {text}") as server:
        found = ask(judge(server), asked(["a", "b", "a", "c"]), FORM, Cache(None))
    assert texts_of(found) == ["about a", "about b", "about a", "about c"]
    assert (found.sent, len(server.bodies), found.schema) == (3, 3, "sent")


def test_what_is_sent_is_what_the_section_says() -> None:
    with oracle(lambda _: "x") as server:
        ask(judge(server, seed=7, temperature=0.0, max_tokens=99), asked(["a"]), FORM, Cache(None))
    (body,) = server.bodies
    assert (body["model"], body["temperature"], body["seed"], body["max_tokens"], body["stream"]) == ("m", 0.0, 7, 99, False)
    assert body["response_format"] == FORM
    assert [one["role"] for one in body["messages"]] == ["system", "user"]


def test_a_repeated_run_asks_nothing_again(tmp_path: Path) -> None:
    with oracle(lambda text: text.upper()) as server:
        first = ask(judge(server), asked(["a", "b"]), FORM, Cache(tmp_path))
        again = ask(judge(server), asked(["b", "a"]), FORM, Cache(tmp_path))
        assert len(server.bodies) == 2
    assert (first.sent, again.sent) == (2, 0)
    assert texts_of(again) == ["B", "A"]
    assert texts_of(ask(judge(server), asked(["a"]), FORM, Cache(tmp_path))) == ["A"]  # though the judge is gone


def test_options_of_the_dialect_are_sent_and_unknown_ones_refused() -> None:
    with oracle(lambda _: "x") as server:
        ask(judge(server, options={"max_tokens_key": "max_completion_tokens", "omit": "temperature"}), asked(["a"]), FORM, Cache(None))
    assert server.bodies[0]["max_completion_tokens"] == 512
    assert "temperature" not in server.bodies[0]
    with pytest.raises(SpecError, match="max_tokens_ky"):
        check(judge(server, options={"max_tokens_ky": "x"}))
    with pytest.raises(EnvironmentLacks, match="klingon"):
        check(judge(server, backend="klingon"))


@pytest.mark.parametrize("change", [{"seed": 1}, {"max_tokens": 3}, {"temperature": 0.5}, {"options": {"body.top_p": 0.5}}])
def test_another_setting_is_asked_anew(change: dict[str, Any], tmp_path: Path) -> None:
    with oracle(lambda text: text) as server:
        ask(judge(server), asked(["a"]), FORM, Cache(tmp_path))
        assert ask(judge(server, **change), asked(["a"]), FORM, Cache(tmp_path)).sent == 1


def test_a_server_without_schemas_is_asked_in_words_alone(tmp_path: Path) -> None:
    def answer(server_bodies: list[dict[str, Any]]) -> int | str:
        return 400 if "response_format" in server_bodies[-1] else "plain"

    with oracle(lambda _: answer(server.bodies)) as server:
        found = ask(judge(server, concurrency=1), asked(["a", "b", "c"]), FORM, Cache(tmp_path))
        assert (texts_of(found), found.schema) == (["plain"] * 3, "refused")
        assert sum("response_format" in body for body in server.bodies) == 1
        assert ask(judge(server), asked(["a", "b", "c"]), FORM, Cache(tmp_path)).sent == 0


def test_without_a_wish_for_schemas_none_is_sent() -> None:
    with oracle(lambda _: "x") as server:
        assert ask(judge(server, json_schema=False), asked(["a"]), FORM, Cache(None)).schema == "not sent"
    assert "response_format" not in server.bodies[0]


def test_a_busy_server_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fireassay.runners.evaluating.asking.LONGEST_WAIT_S", 0.0)
    left = [429, 503]
    with oracle(lambda _: left.pop() if left else "at last") as server:
        found = ask(judge(server).model_copy(update={"retries": 2}), asked(["a"]), FORM, Cache(None))
    assert (texts_of(found), len(server.bodies)) == (["at last"], 3)


def test_a_request_that_fails_has_no_reply_and_is_not_kept(tmp_path: Path) -> None:
    with oracle(lambda text: 500 if text == "b" else "x") as server:
        found = ask(judge(server), asked(["a", "b", "c"]), FORM, Cache(tmp_path))
        assert texts_of(found) == ["x", "failed 500", "x"]
        failed = found.replies[1]
        assert isinstance(failed, Failed)
        assert failed.why
        assert ask(judge(server), asked(["a", "b", "c"]), FORM, Cache(tmp_path)).sent == 1


def test_a_judge_that_stops_replying_is_left_and_what_it_said_is_kept(tmp_path: Path) -> None:
    """Of 200 requests the server dies after 10: the rest is not tried to the end, each with its waits."""
    with oracle(lambda text: "x" if int(text) < 10 else 500) as server:
        with pytest.raises(EnvironmentLacks, match=r"in a row: HTTP 500.*\nReplies so far are kept"):
            ask(judge(server, cache=str(tmp_path), concurrency=4), asked([str(at) for at in range(200)]), FORM, Cache(tmp_path))
        assert len(server.bodies) <= 10 + MOST_IN_A_ROW + 4
        server.answer = lambda _: "x"
        sent = ask(judge(server), asked([str(at) for at in range(200)]), FORM, Cache(tmp_path)).sent
    assert 190 - 3 <= sent <= 190  # the other threads' last requests may be answered after the judge came back, and those replies are kept


def test_one_request_that_cannot_be_judged_does_not_end_it() -> None:
    with oracle(lambda text: 422 if text == "a" else "x") as server:
        assert texts_of(ask(judge(server, json_schema=False), asked(["a", "b"]), FORM, Cache(None))) == ["failed 422", "x"]


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_judge_that_refuses_everything_is_asked_once(status: int) -> None:
    with oracle(lambda _: status) as server, pytest.raises(EnvironmentLacks, match="cannot be asked") as raised:
        ask(judge(server, json_schema=False), asked(["a", "b", "c", "d"]), FORM, Cache(None))
    assert len(server.bodies) == 1
    assert "--judge-key-env" in str(raised.value)


def test_a_judge_that_is_not_there_is_named() -> None:
    with oracle(lambda _: "x") as server:
        pass
    with pytest.raises(EnvironmentLacks, match="cannot be asked"):
        ask(judge(server), asked(["a"]), FORM, Cache(None))


def test_the_key_comes_from_its_variable_and_is_in_no_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sk-secret-1234567890")
    with oracle(lambda _: 401) as server, pytest.raises(EnvironmentLacks) as raised:
        ask(judge(server, api_key_env="JUDGE_KEY"), asked(["a"]), FORM, Cache(tmp_path))
    assert "sk-secret" not in str(raised.value)
    monkeypatch.delenv("JUDGE_KEY")
    with pytest.raises(EnvironmentLacks, match="JUDGE_KEY"):
        check_key(judge(server, api_key_env="JUDGE_KEY"))
    with pytest.raises(EnvironmentLacks, match="JUDGE_KEY"):
        ask(judge(server, api_key_env="JUDGE_KEY"), asked(["a"]), FORM, Cache(tmp_path))


def test_the_kept_reply_says_what_it_took(tmp_path: Path) -> None:
    with oracle(lambda _: "x") as server:
        ask(judge(server), asked(["a"]), FORM, Cache(tmp_path))
    (file,) = tmp_path.rglob("*.json")
    kept = json.loads(file.read_text())
    assert (kept["tokens_in"], kept["tokens_out"], kept["finish_reason"]) == (5, 2, "stop")
    assert kept["seconds"] >= 0.0
