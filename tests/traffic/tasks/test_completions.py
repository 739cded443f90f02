"""Is a completion asked for with one text?"""

from __future__ import annotations

from fireassay.traffic.parts import Prompt
from fireassay.traffic.tasks.completions import TASK
from tests.traffic.tasks.asking import KEPT, PLAIN, kept


def test_the_text_is_sent_as_it_is() -> None:
    ask = TASK.ask(Prompt(text=" hello ", tokens_out=9), PLAIN)
    assert (ask.prompt, ask.messages, ask.max_tokens, TASK.streams) == (" hello ", (), 9, True)
    assert kept(ask) == KEPT


def test_a_conversation_is_one_text() -> None:
    messages = ({"role": "user", "content": "a"}, {"role": "assistant", "content": None}, {"role": "user", "content": "c"})
    assert TASK.ask(Prompt(text="c", messages=messages), PLAIN).prompt == "a\n\n\n\nc"
