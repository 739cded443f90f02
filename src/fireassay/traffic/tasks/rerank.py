"""How is a rerank request built?

From a query and the documents to rank; the answer is scores and not streamed.
"""

from __future__ import annotations

from fireassay.traffic.parts import Ask, Prompt, Task


def ask(prompt: Prompt, base: Ask) -> Ask:
    """Add the query and the documents to the ask."""
    return base._replace(query=prompt.query, documents=prompt.documents, stream=False, max_tokens=None)


TASK = Task(name="rerank", streams=False, ask=ask)
