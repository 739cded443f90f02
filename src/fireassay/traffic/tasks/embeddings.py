"""How is an embeddings request built?

All documents of the prompt are sent at once; the answer is numeric and not streamed.
"""

from __future__ import annotations

from fireassay.traffic.parts import Ask, Prompt, Task


def ask(prompt: Prompt, base: Ask) -> Ask:
    """Add the documents to the ask; without documents, the prompt's text is the only one."""
    return base._replace(documents=prompt.documents or (prompt.text,), stream=False, max_tokens=None)


TASK = Task(name="embeddings", streams=False, ask=ask)
