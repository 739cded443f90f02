"""How is a request for text about images built?

As a chat whose last message holds the images as data URLs, before the text.
"""

from __future__ import annotations

from fireassay.traffic.parts import Ask, Prompt, Task
from fireassay.traffic.prompts.conversation import messages_of
from fireassay.traffic.tasks.support.text_answers import generating


def ask(prompt: Prompt, asked: Ask) -> Ask:
    """Add the prompt's images, text and output length to the ask."""
    return generating(prompt, asked, messages=messages_of(prompt))


TASK = Task(name="image_chat", streams=True, ask=ask)
