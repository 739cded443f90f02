"""Is a response asked for with the messages of a chat?"""

from __future__ import annotations

from fireassay.traffic.parts import Prompt
from fireassay.traffic.tasks.responses import TASK
from tests.traffic.tasks.asking import KEPT, PLAIN, kept


def test_the_messages_are_those_of_a_chat() -> None:
    ask = TASK.ask(Prompt(text="hello", tokens_out=9), PLAIN)
    assert ask.messages == ({"role": "user", "content": "hello"},)
    assert (ask.max_tokens, TASK.streams, kept(ask)) == (9, True, KEPT)
