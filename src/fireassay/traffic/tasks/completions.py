"""How is a completion request built?

The prompt is one text; a conversation's messages are joined by blank lines.
"""

from __future__ import annotations

from fireassay.traffic.parts import Ask, Prompt, Task
from fireassay.traffic.prompts.conversation import flat
from fireassay.traffic.tasks.support.text_answers import text_ask


def ask(prompt: Prompt, base: Ask) -> Ask:
    """Add the prompt's text and output length to the ask."""
    return text_ask(prompt, base, text=flat(prompt))


TASK = Task(name="completions", streams=True, ask=ask)
