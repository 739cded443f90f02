"""How are embeddings asked for?  All documents of the prompt at once; the answer is numbers and comes whole."""

from __future__ import annotations

from assay.traffic.parts import Ask, Prompt, Task


def ask(prompt: Prompt, asked: Ask) -> Ask:
    """The ask with the documents; a prompt without any is one document itself."""
    return asked._replace(documents=prompt.documents or (prompt.text,), stream=False, max_tokens=None)


TASK = Task(name="embeddings", streams=False, ask=ask)
