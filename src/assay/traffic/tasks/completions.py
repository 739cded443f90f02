"""How is a completion asked for?  The prompt as one text; of a conversation, all that was said with blank lines between."""

from __future__ import annotations

from assay.traffic.base import Ask, Prompt, Task
from assay.traffic.conversation import flat
from assay.traffic.tasks.generating import generating


def ask(prompt: Prompt, asked: Ask) -> Ask:
    """The ask with the text and the length of the prompt."""
    return generating(prompt, asked, text=flat(prompt))


TASK = Task(name="completions", streams=True, ask=ask)
