"""Are embeddings asked for with all documents at once, and never streamed?"""

from __future__ import annotations

from fireassay.traffic.parts import Prompt
from fireassay.traffic.tasks.embeddings import TASK
from tests.traffic.tasks.asking import KEPT, PLAIN, kept


def test_all_documents_are_sent_at_once() -> None:
    ask = TASK.ask(Prompt(documents=("a", "b"), tokens_out=9), PLAIN)
    assert (ask.documents, ask.stream, ask.max_tokens, TASK.streams) == (("a", "b"), False, None, False)
    assert kept(ask) == KEPT


def test_a_text_alone_is_a_document() -> None:
    assert TASK.ask(Prompt(text="a"), PLAIN).documents == ("a",)
