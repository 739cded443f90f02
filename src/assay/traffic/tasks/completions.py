"""How is a completion asked for?  The prompt as one text; of a conversation, all that was said with blank lines between."""

from __future__ import annotations

from assay.traffic.parts import Ask, Prompt, Task
from assay.traffic.prompts.conversation import flat
from assay.traffic.tasks.support.text_answers import generating


def ask(prompt: Prompt, asked: Ask) -> Ask:
    """The ask with the text and the length of the prompt."""
    return generating(prompt, asked, text=flat(prompt))


TASK = Task(name="completions", streams=True, ask=ask)
