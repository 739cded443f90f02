"""How are non-streamed answers read: embeddings and rankings?

* embeddings (OpenAI): {"data": [{"index": 0, "embedding": [...]}], "usage": {"prompt_tokens": 8}}; one vector per document,
  all of the same length.
* rerank (Cohere, Jina, vLLM, SGLang: {"results": [{"index": 2, "relevance_score": 0.9}]}; TEI: [{"index": 2, "score": 0.9}]):
  the text of the answer is the order of the documents, best first: "2 0 1".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay.traffic.parts import Answer, Ask, Kind, Reply
from assay.traffic.replies.events import failure
from assay.traffic.replies.openai_json import MOST_ERROR, count, error_message, is_error, loads


def read_embeddings(reply: Reply, ask: Ask) -> Answer:
    """Parse an answer of the embeddings API. Never raises, whatever the server sent."""
    return _read(reply, lambda told, answer: _vectors(told, len(ask.documents)))


def read_rerank(reply: Reply, ask: Ask) -> Answer:
    """Parse an answer of a rerank API. Never raises, whatever the server sent."""
    return _read(reply, lambda told, answer: _order(told, len(ask.documents), answer))


def _read(reply: Reply, check: Callable[[Any, Answer], str]) -> Answer:
    failed = failure(reply)
    if failed is not None:
        return failed
    try:
        told = loads(reply.body)
    except ValueError as error:
        return Answer(status="malformed", error=f"the answer is not JSON: {error}"[:MOST_ERROR])
    if isinstance(told, dict) and is_error(told):
        return Answer(status="error", error=error_message(told))
    answer = Answer(
        status="ok", chunk_ns=[reply.ns[-1]], chunk_kind=[int(Kind.OTHER)], chunk_chars=[0], chunk_uncertainty_ns=reply.unsure_whole()
    )
    try:
        wrong = check(told, answer) or _usage(told, answer)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        wrong = f"the answer does not fit its dialect: {type(error).__name__}: {error}"
    if wrong:
        return Answer(status="malformed", error=wrong[:MOST_ERROR])
    return answer


def _usage(told: Any, answer: Answer) -> str:
    if not isinstance(told, dict):
        return ""
    usage = told.get("usage")
    if isinstance(usage, dict):
        tokens = usage.get("prompt_tokens")
        answer.tokens_in = count(usage.get("total_tokens") if tokens is None else tokens, "prompt_tokens")
    return ""


def _vectors(told: Any, asked: int) -> str:
    data = told["data"] if isinstance(told, dict) else None
    if not isinstance(data, list):
        return "the answer holds no list `data`"
    if len(data) != asked:
        return f"{len(data)} embeddings came for {asked} documents"
    if sorted(int(one["index"]) for one in data) != list(range(asked)):
        return "the embeddings' indices are not those of the documents"
    lengths = {len(one["embedding"]) for one in data}
    return "" if len(lengths) <= 1 and 0 not in lengths else f"embeddings of lengths {sorted(lengths)[:5]}"


def _order(told: Any, asked: int, answer: Answer) -> str:
    results = told.get("results", told.get("data")) if isinstance(told, dict) else told
    if not isinstance(results, list):
        return "the answer holds no list `results`"
    ranked = [(float(one.get("relevance_score", one.get("score"))), int(one["index"])) for one in results]
    if not {index for _, index in ranked} <= set(range(asked)) or len({index for _, index in ranked}) != len(ranked):
        return "the results' indices are not those of the documents"
    if not ranked and asked:
        return f"no results came for {asked} documents"
    ranked.sort(key=lambda one: (-one[0], one[1]))
    answer.text = " ".join(str(index) for _, index in ranked)
    return ""
