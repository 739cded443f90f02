"""Is Together asked in OpenAI's dialect, with its own key and images and speech?  Wire format: docs.together.ai."""

from __future__ import annotations

import pytest

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.together import BACKEND
from fireassay.traffic.parts import Ask
from tests.traffic.fakes import asked_for_real, sse

ASK = Ask(task="chat", model="m", messages=({"role": "user", "content": "Hi"},), max_tokens=3)


def test_the_key_comes_from_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOGETHER_API_KEY", "tg-0123456789abcdef")
    delta = {"choices": [{"index": 0, "delta": {"content": "Yes"}, "finish_reason": "stop"}]}
    asked, answer = asked_for_real(Target(backend="together"), ASK, [sse(delta), sse("[DONE]")])
    assert (asked.path, asked.headers["authorization"]) == ("/v1/chat/completions", "Bearer tg-0123456789abcdef")
    assert (answer.status, answer.text) == ("ok", "Yes")


def test_its_tasks_are_those_of_its_documentation() -> None:
    assert {"chat", "embeddings", "rerank", "text_to_image", "text_to_speech"} <= set(BACKEND.tasks)
    assert "loglikelihood" not in BACKEND.tasks
