"""How are non-streamed answers read: embeddings, rankings and probabilities of given texts?

* embeddings (OpenAI): {"data": [{"index": 0, "embedding": [...]}], "usage": {"prompt_tokens": 8}}; one vector per document,
  all of the same length.
* rerank (Cohere, Jina, vLLM, SGLang: {"results": [{"index": 2, "relevance_score": 0.9}]}; TEI: [{"index": 2, "score": 0.9}]):
  the text of the answer is the order of the documents, best first: "2 0 1".
* loglikelihood: a completion that echoes its prompt; the log probabilities are those of the continuation's tokens
  (`fireassay.traffic.replies.echoed`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fireassay.traffic.parts import Answer, Ask, Kind, Reply
from fireassay.traffic.replies.echoed import echoed
from fireassay.traffic.replies.events import failure
from fireassay.traffic.replies.openai_json import MOST_ERROR, count, error_message, is_error, loads


def read_embeddings(reply: Reply, ask: Ask) -> Answer:
    """Parse an answer of the embeddings API. Never raises, whatever the server sent."""
    return _read(reply, lambda document, answer: _vectors(document, len(ask.documents)))


def read_rerank(reply: Reply, ask: Ask) -> Answer:
    """Parse an answer of a rerank API. Never raises, whatever the server sent."""
    return _read(reply, lambda document, answer: _order(document, len(ask.documents), answer))


def read_loglikelihood(reply: Reply, ask: Ask) -> Answer:
    """Parse a completion that echoes its prompt. Never raises, whatever the server sent."""
    return _read(reply, lambda document, answer: _continuation(document, ask.documents, answer))


def _read(reply: Reply, check: Callable[[Any, Answer], str]) -> Answer:
    failed = failure(reply)
    if failed is not None:
        return failed
    try:
        document = loads(reply.body)
    except ValueError as error:
        return Answer(status="malformed", error=f"the answer is not JSON: {error}"[:MOST_ERROR])
    if isinstance(document, dict) and is_error(document):
        return Answer(status="error", error=error_message(document))
    answer = Answer(
        status="ok", chunk_ns=[reply.ns[-1]], chunk_kind=[int(Kind.OTHER)], chunk_chars=[0], chunk_uncertainty_ns=reply.unsure_whole()
    )
    try:
        error_text = check(document, answer) or _usage(document, answer)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        error_text = f"the answer does not fit its dialect: {type(error).__name__}: {error}"
    if error_text:
        return Answer(status="malformed", error=error_text[:MOST_ERROR])
    return answer


def _usage(document: Any, answer: Answer) -> str:
    if not isinstance(document, dict):
        return ""
    usage = document.get("usage")
    if isinstance(usage, dict):
        tokens = usage.get("prompt_tokens")
        answer.tokens_in = count(usage.get("total_tokens") if tokens is None else tokens, "prompt_tokens")
    return ""


def _continuation(document: Any, parts: Sequence[str], answer: Answer) -> str:
    context, continuation = parts
    answer.logprobs = list(echoed(document, context, continuation).logprobs)
    return ""


def _vectors(document: Any, requested: int) -> str:
    data = document["data"] if isinstance(document, dict) else None
    if not isinstance(data, list):
        return "the answer has no list `data`"
    if len(data) != requested:
        return f"{len(data)} embeddings for {requested} documents"
    if sorted(int(item["index"]) for item in data) != list(range(requested)):
        return "the embeddings' indices do not match the documents"
    lengths = {len(item["embedding"]) for item in data}
    return "" if len(lengths) <= 1 and 0 not in lengths else f"embeddings of lengths {sorted(lengths)[:5]}"


def _order(document: Any, requested: int, answer: Answer) -> str:
    results = document.get("results", document.get("data")) if isinstance(document, dict) else document
    if not isinstance(results, list):
        return "the answer has no list `results`"
    ranked = [(float(item.get("relevance_score", item.get("score"))), int(item["index"])) for item in results]
    if not {index for _, index in ranked} <= set(range(requested)) or len({index for _, index in ranked}) != len(ranked):
        return "the results' indices do not match the documents"
    if not ranked and requested:
        return f"no results for {requested} documents"
    ranked.sort(key=lambda item: (-item[0], item[1]))
    answer.text = " ".join(str(index) for _, index in ranked)
    return ""
