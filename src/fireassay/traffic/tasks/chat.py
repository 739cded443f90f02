"""How is a chat request built?

From the prompt's messages; images go into the last message.  If no output length is set, the answer ends where the model ends it,
whatever `ignore_eos` says.
"""

from __future__ import annotations

from fireassay.traffic.parts import Ask, Prompt, Task
from fireassay.traffic.prompts.conversation import messages_of
from fireassay.traffic.tasks.support.text_answers import generating


def ask(prompt: Prompt, asked: Ask) -> Ask:
    """Add the prompt's messages and output length to the ask."""
    return generating(prompt, asked, messages=messages_of(prompt))


TASK = Task(name="chat", streams=True, ask=ask)
