"""How is a chat asked for?  The messages of the prompt; a prompt with images holds them in its last message.

Where no output length is asked for, the answer ends where the model ends it, whatever `ignore_eos` says.
"""

from __future__ import annotations

from assay.traffic.parts import Ask, Prompt, Task
from assay.traffic.prompts.conversation import messages_of
from assay.traffic.tasks.support.text_answers import generating


def ask(prompt: Prompt, asked: Ask) -> Ask:
    """The ask with the messages and the length of the prompt."""
    return generating(prompt, asked, messages=messages_of(prompt))


TASK = Task(name="chat", streams=True, ask=ask)
