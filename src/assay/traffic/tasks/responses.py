"""How is a response (OpenAI's Responses API) asked for?  With the messages of a chat; the backend writes them as its input."""

from __future__ import annotations

from assay.traffic.parts import Ask, Prompt, Task
from assay.traffic.prompts.conversation import messages_of
from assay.traffic.tasks.support.text_answers import generating


def ask(prompt: Prompt, asked: Ask) -> Ask:
    """The ask with the messages and the length of the prompt."""
    return generating(prompt, asked, messages=messages_of(prompt))


TASK = Task(name="responses", streams=True, ask=ask)
