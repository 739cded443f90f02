"""Is Baseten asked with the key in its own form?  Wire format: docs.baseten.co/reference/inference-api/overview."""

from __future__ import annotations

import pytest

from fireassay.errors import EnvironmentLacks
from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.baseten import BACKEND
from fireassay.traffic.parts import Ask
from tests.traffic.fakes import asked_for_real, sse

ASK = Ask(task="chat", model="m", messages=({"role": "user", "content": "Hi"},), max_tokens=3)


def test_the_key_comes_from_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASETEN_API_KEY", "bt-0123456789abcdef")
    delta = {"choices": [{"index": 0, "delta": {"content": "Yes"}, "finish_reason": "stop"}]}
    asked, answer = asked_for_real(Target(backend="baseten"), ASK, [sse(delta), sse("[DONE]")])
    assert asked.headers["authorization"] == "Api-Key bt-0123456789abcdef"
    assert answer.text == "Yes"


def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BASETEN_API_KEY", raising=False)
    assert BACKEND.prepare is not None
    with pytest.raises(EnvironmentLacks, match="BASETEN_API_KEY is not set"):
        BACKEND.prepare(Target(backend="baseten"))
