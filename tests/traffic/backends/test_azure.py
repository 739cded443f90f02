"""Is Azure asked at its deployment's path with the key where it wants it?"""

from __future__ import annotations

import json

import pytest

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.azure import BACKEND
from fireassay.traffic.parts import Ask
from tests.traffic.fakes import asked_for_real, sse

CHAT = Ask(task="chat", model="gpt-4o", messages=({"role": "user", "content": "Hi"},), max_tokens=2)


def wire(**options: str) -> tuple[str, str]:
    made = BACKEND.wire(CHAT, Target(backend="azure", options=options))
    return made.path, json.loads(made.body)["model"]


def test_the_path_names_deployment_and_version() -> None:
    assert wire() == ("/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21", "gpt-4o")
    assert wire(deployment="my dep", api_version="2025-01-01-preview") == (
        "/openai/deployments/my%20dep/chat/completions?api-version=2025-01-01-preview",
        "my dep",
    )
    assert wire(api_version="v1", deployment="mine") == ("/openai/v1/chat/completions", "mine")
    assert wire(path="/gateway/chat") == ("/gateway/chat", "gpt-4o")
    embeddings = BACKEND.wire(Ask(task="embeddings", model="e", documents=("a",)), Target(backend="azure"))
    assert embeddings.path == "/openai/deployments/e/embeddings?api-version=2024-10-21"


@pytest.mark.parametrize(
    ("auth", "header", "value"), [("key", "api-key", "0123456789abcdef"), ("bearer", "authorization", "Bearer 0123456789abcdef")]
)
def test_the_key_goes_where_azure_wants_it(monkeypatch: pytest.MonkeyPatch, auth: str, header: str, value: str) -> None:
    monkeypatch.setenv("FIREASSAY_TEST_KEY", "0123456789abcdef")
    target = Target(backend="azure", api_key_env="FIREASSAY_TEST_KEY", options={"auth": auth})
    filters = {
        "choices": [],
        "created": 0,
        "id": "",
        "model": "",
        "object": "",
        "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": False, "severity": "safe"}}}],
    }
    text = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop", "content_filter_results": {}}]}
    asked, answer = asked_for_real(target, CHAT, [sse(filters), sse(text), sse("[DONE]")])
    assert asked.headers[header] == value
    assert ("api-key" in asked.headers) != ("authorization" in asked.headers)
    assert (answer.status, answer.text, answer.chunk_kind) == ("ok", "Hi", [8, 1, 6])


def test_a_prompt_that_the_filter_refuses() -> None:
    told = {
        "error": {
            "message": "The response was filtered due to the prompt triggering Azure's content management policy.",
            "type": None,
            "param": "prompt",
            "code": "content_filter",
            "status": 400,
        }
    }
    _, answer = asked_for_real(
        Target(backend="azure"), CHAT, [json.dumps(told).encode()], status=400, headers={"Content-Type": "application/json"}
    )
    assert (answer.status, "content management policy" in (answer.error or "")) == ("4xx", True)
