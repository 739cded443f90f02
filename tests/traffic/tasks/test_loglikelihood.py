"""Is a given text asked for as one prompt whose two parts stay known, and never streamed?"""

from __future__ import annotations

from fireassay.traffic.parts import Prompt
from fireassay.traffic.tasks.loglikelihood import TASK
from tests.traffic.tasks.asking import PLAIN


def test_context_and_continuation_are_one_prompt() -> None:
    ask = TASK.ask(Prompt(documents=("2+2=", " 4"), tokens_out=64), PLAIN)
    assert (ask.prompt, ask.documents, ask.messages) == ("2+2= 4", ("2+2=", " 4"), ())
    assert (ask.stream, ask.temperature, ask.seed, ask.max_tokens, ask.ignore_eos, ask.logprobs) == (False, 0.0, None, None, False, True)
    assert (ask.task, ask.model, TASK.streams) == (PLAIN.task, PLAIN.model, False)


def test_a_plain_text_has_no_context() -> None:
    assert TASK.ask(Prompt(text="abc"), PLAIN).documents == ("", "abc")
