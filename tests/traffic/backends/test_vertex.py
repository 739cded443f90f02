"""Is Gemini asked at both of Google's addresses with Google's own credentials, and are its thoughts told apart?"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from google.auth import exceptions
from google.auth.credentials import AnonymousCredentials, Credentials

from fireassay.errors import EnvironmentLacks
from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.vertex import BACKEND
from fireassay.traffic.parts import Ask
from tests.traffic.fakes import asked_for_real, sse
from tests.traffic.transcripts import reply_of

OPTIONS: dict[str, str | int | float | bool] = {"project": "my-project", "location": "europe-west4"}
TARGET = Target(backend="vertex", options=OPTIONS)
ASK = Ask(
    task="chat",
    model="gemini-2.5-flash",
    max_tokens=64,
    seed=5,
    messages=(
        {"role": "system", "content": "Short."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Yes?"},
        {"role": "user", "content": "Why?"},
    ),
)


class Fixed(Credentials):  # type: ignore[misc, no-untyped-call]
    """Credentials whose token is a number that grows with each refresh."""

    def __init__(self, lasts: timedelta = timedelta(hours=1), fails: bool = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.made, self._lasts, self._fails = 0, lasts, fails

    def refresh(self, request: Any) -> None:
        if self._fails:
            raise exceptions.RefreshError("the secret ya29.never-to-be-seen was refused")  # type: ignore[no-untyped-call]
        self.made += 1
        self.token = f"token-{self.made}"
        self.expiry = _utcnow() + self._lasts


def _utcnow() -> datetime:
    from google.auth import _helpers

    now: datetime = _helpers.utcnow()  # type: ignore[no-untyped-call]
    return now


def have(monkeypatch: pytest.MonkeyPatch, credentials: Credentials) -> None:
    monkeypatch.setattr("google.auth.default", lambda scopes: (credentials, "my-project"))


def part(*parts: dict[str, Any], finish: str | None = None, usage: dict[str, int] | None = None) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": list(parts)}, **({"finishReason": finish} if finish else {})}
    return {"candidates": [candidate], **({"usageMetadata": usage} if usage else {})}


@pytest.mark.slow
def test_a_stream_at_vertex(monkeypatch: pytest.MonkeyPatch) -> None:
    have(monkeypatch, Fixed())
    usage = {"promptTokenCount": 8, "candidatesTokenCount": 5, "thoughtsTokenCount": 12, "totalTokenCount": 25}
    pieces = [
        sse(part({"text": "Hm.", "thought": True}), end="\r\n"),
        sse(part({"text": "Because"}), end="\r\n"),
        sse(part({"text": " so."}, finish="MAX_TOKENS", usage=usage), end="\r\n"),
    ]
    asked, answer = asked_for_real(TARGET, ASK, pieces)
    assert asked.path == (
        "/v1/projects/my-project/locations/europe-west4/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
    )
    assert asked.headers["authorization"] == "Bearer token-1"
    assert asked.json == {
        "systemInstruction": {"parts": [{"text": "Short."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Hi"}]},
            {"role": "model", "parts": [{"text": "Yes?"}]},
            {"role": "user", "parts": [{"text": "Why?"}]},
        ],
        "generationConfig": {"temperature": 0.0, "maxOutputTokens": 64, "seed": 5},
    }
    assert (answer.status, answer.text, answer.reasoning, answer.finish_reason) == ("ok", "Because so.", "Hm.", "length")
    assert (answer.tokens_in, answer.tokens_out, answer.tokens_reasoning) == (8, 17, 12)


def test_the_gemini_api_takes_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIREASSAY_TEST_KEY", "AIza0123456789")
    target = Target(backend="vertex", options={"api": "gemini"}, api_key_env="FIREASSAY_TEST_KEY")
    asked, _ = asked_for_real(target, ASK, [sse(part({"text": "x"}, finish="STOP"))])
    assert asked.path == "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
    assert asked.headers["x-goog-api-key"] == "AIza0123456789"
    assert "authorization" not in asked.headers


def test_a_token_is_used_until_it_has_expired_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    credentials = Fixed()
    have(monkeypatch, credentials)
    assert BACKEND.prepare is not None
    sign, wire = BACKEND.prepare(TARGET), BACKEND.wire(ASK, TARGET)
    tokens = []
    for _ in range(3):
        made = sign(wire, "https://h")
        tokens.append(dict(made.headers)["authorization"])
        assert "token-" not in repr(made)
        if len(tokens) == 2:
            credentials.expiry = _utcnow() - timedelta(seconds=1)
    assert tokens == ["Bearer token-1", "Bearer token-1", "Bearer token-2"]


def test_who_has_no_credentials_is_told_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(scopes: list[str]) -> None:
        raise exceptions.DefaultCredentialsError("searched /home/somebody/.config")  # type: ignore[no-untyped-call]

    monkeypatch.setattr("google.auth.default", none)
    assert BACKEND.prepare is not None
    with pytest.raises(EnvironmentLacks, match="gcloud auth application-default login"):
        BACKEND.prepare(TARGET)
    have(monkeypatch, Fixed(fails=True))
    with pytest.raises(EnvironmentLacks) as caught:
        BACKEND.prepare(TARGET)(BACKEND.wire(ASK, TARGET), "https://h")
    assert "ya29" not in str(caught.value)
    with pytest.raises(EnvironmentLacks, match="project or location"):
        BACKEND.wire(ASK, Target(backend="vertex"))


def test_headers_of_one_s_own_are_sent_beside_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    have(monkeypatch, AnonymousCredentials())  # type: ignore[no-untyped-call]
    assert BACKEND.prepare is not None
    target = Target(backend="vertex", options=OPTIONS, headers={"X-Team": "search"})
    assert dict(BACKEND.prepare(target)(BACKEND.wire(ASK, target), "https://h").headers)["x-team"] == "search"


def test_an_image_is_inline_data() -> None:
    content = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}, {"type": "text", "text": "?"}]
    ask = Ask(task="image_chat", model="g", messages=({"role": "user", "content": content},), stream=False, logprobs=True)
    wire = BACKEND.wire(ask, Target(options={"api": "gemini"}))
    told = json.loads(wire.body)
    assert wire.path == "/v1beta/models/g:generateContent"
    assert told["contents"][0]["parts"] == [{"text": "?"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]
    assert told["generationConfig"]["responseLogprobs"] is True


def test_other_things_that_gemini_says() -> None:
    tool = part({"functionCall": {"name": "add", "args": {}}}, finish="STOP")
    tool["candidates"][0]["logprobsResult"] = {"chosenCandidates": [{"token": "x", "logProbability": -0.5}]}
    answer = BACKEND.read(reply_of([(1, sse({"usageMetadata": {"promptTokenCount": 3}})), (2, sse(tool))]), ASK)
    assert (answer.status, answer.chunk_kind, answer.chunk_chars, answer.logprobs) == ("ok", [5, 3], [0, 3], [-0.5])
    refused = {"error": {"code": 429, "message": "Resource exhausted.", "status": "RESOURCE_EXHAUSTED"}}
    assert BACKEND.read(reply_of([(1, sse(part({"text": "x"}))), (2, sse(refused))]), ASK).error == "Resource exhausted."


def test_an_answer_in_one_piece() -> None:
    reply = reply_of([(4, json.dumps(part({"text": "Yes"}, finish="STOP")).encode())], headers={"content-type": "application/json"})
    answer = BACKEND.read(reply, Ask(task="chat", model="g", stream=False))
    assert (answer.status, answer.text, answer.chunk_ns) == ("ok", "Yes", [4])
