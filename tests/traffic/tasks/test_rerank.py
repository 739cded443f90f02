"""Is a ranking asked for with a query and the documents, and never streamed?"""

from __future__ import annotations

from fireassay.traffic.parts import Prompt
from fireassay.traffic.tasks.rerank import TASK
from tests.traffic.tasks.asking import KEPT, PLAIN, kept


def test_the_query_and_the_documents_are_sent() -> None:
    ask = TASK.ask(Prompt(query="q", documents=("a", "b")), PLAIN)
    assert (ask.query, ask.documents, ask.stream, ask.max_tokens, TASK.streams) == ("q", ("a", "b"), False, None, False)
    assert kept(ask) == KEPT
