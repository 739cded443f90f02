"""How is a request to OpenAI's Responses API built?

From a chat's messages; the backend converts them to its input.
"""

from __future__ import annotations

from fireassay.traffic.parts import Ask, Prompt, Task
from fireassay.traffic.prompts.conversation import messages_of
from fireassay.traffic.tasks.support.text_answers import generating


def ask(prompt: Prompt, asked: Ask) -> Ask:
    """Add the prompt's messages and output length to the ask."""
    return generating(prompt, asked, messages=messages_of(prompt))


TASK = Task(name="responses", streams=True, ask=ask)
