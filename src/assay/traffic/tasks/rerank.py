"""How is a ranking asked for?  A query and the documents to be put in order; the answer is scores and comes whole."""

from __future__ import annotations

from assay.traffic.parts import Ask, Prompt, Task


def ask(prompt: Prompt, asked: Ask) -> Ask:
    """The ask with the query and the documents."""
    return asked._replace(query=prompt.query, documents=prompt.documents, stream=False, max_tokens=None)


TASK = Task(name="rerank", streams=False, ask=ask)
