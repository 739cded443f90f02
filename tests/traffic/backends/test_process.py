"""Is a model in this process an engine like any other: asked, answered, timed, and refused in the same words?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.errors import WorkloadError
from fireassay.instruments.calls.generation import quiet
from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.process import BACKEND
from fireassay.traffic.parts import Ask, Wire
from tests.instruments import models
from tests.traffic.transcripts import reply_of

pytestmark = pytest.mark.torch
CHAT = Ask(task="chat", model="", messages=({"role": "user", "content": "one two"},), max_tokens=6, logprobs=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's folder."""
    with quiet():
        return models.make(tmp_path_factory.mktemp("model"))


def test_an_answer_has_a_chunk_per_token_and_its_phases(folder: Path) -> None:
    from transformers import AutoTokenizer

    assert BACKEND.process is not None
    answer = BACKEND.process(Target(backend="process", model=str(folder), options={"threads": 1}))(CHAT)
    assert (answer.status, answer.tokens_out, answer.finish_reason) == ("ok", 6, "length")
    assert answer.chunk_kind == [1] * 6
    assert answer.chunk_ns == sorted(answer.chunk_ns)
    assert len(answer.logprobs) == len(answer.chunk_chars) == 6
    assert sum(answer.chunk_chars) == len(answer.text or "")
    assert (answer.tokenize_ns or 0) > 0
    assert (answer.prefill_ns or 0) > 0
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert answer.tokens_in == len(tokenizer("<|user|>one two</s><|assistant|>")["input_ids"])


def test_the_folder_may_be_an_option_or_come_with_the_ask(folder: Path) -> None:
    assert BACKEND.process is not None
    by_option = BACKEND.process(Target(backend="process", model="name", options={"folder": str(folder)}))
    by_ask = BACKEND.process(Target(backend="process"))
    ask = Ask(task="completions", model=str(folder), prompt="one", max_tokens=3)
    assert by_option(ask).text == by_ask(ask).text


def test_a_prompt_that_does_not_fit_is_an_error_and_no_exception(folder: Path) -> None:
    assert BACKEND.process is not None
    answer = BACKEND.process(Target(backend="process", model=str(folder)))(Ask(task="completions", model="", prompt="one", max_tokens=500))
    assert (answer.status, "exceed" in (answer.error or "")) == ("error", True)


def test_a_folder_without_a_model_is_refused_before_the_load(tmp_path: Path) -> None:
    assert BACKEND.process is not None
    with pytest.raises(WorkloadError, match="no folder"):
        BACKEND.process(Target(backend="process", model=str(tmp_path / "none")))


def test_there_is_no_server() -> None:
    with pytest.raises(WorkloadError, match="no server"):
        BACKEND.wire(CHAT, Target())
    late = BACKEND.read(reply_of([], ended="timeout", http_status=None, why="not finished in time"), CHAT)
    assert (late.status, late.error) == ("timeout", "not finished in time")
    assert BACKEND.prepare is None
    assert isinstance(Wire(path="/", body=b"").headers, tuple)
