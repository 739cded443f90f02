"""How are requests sent to Cohere's own API, version 2, and how are its typed events read?

    chat, image_chat, completions     POST /v2/chat     content-delta (text or thinking), tool-plan-delta, tool-call-delta, message-end
    embeddings, image_to_embeddings   POST /v2/embed    embeddings.float, a vector per text or image
    rerank                            POST /v2/rerank   results with index and relevance_score

Tokens are those that the model saw and made (`usage.tokens`), else those that are paid for (`billed_units`), which leave out Cohere's own
prompt.  Embeddings have only the latter.  One image per request, as the API demands.  URL: https://api.cohere.com.  The key comes from
CO_API_KEY unless `api_key_env` names another variable.

Options: `path`, `omit`, `body.KEY`, `json.KEY`; for example "body.input_type" = "search_query", "body.truncate" = "END".
Source: https://docs.cohere.com/reference/chat-stream, /reference/embed, /reference/rerank (version 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support.bodies import OMIT, PATH, Head, Tree, flat, images_of, member, numbers, text_of, with_headers
from fireassay.traffic.backends.support.native_events import AnswerBuilder, read_events
from fireassay.traffic.backends.support.openai_dialect import read_document, read_rerank
from fireassay.traffic.parts import Answer, Ask, Backend, Kind, Reply
from fireassay.traffic.replies.openai_json import count

PATHS: Final = {"embeddings": "/v2/embed", "image_to_embeddings": "/v2/embed", "rerank": "/v2/rerank"}
EMBEDDINGS: Final = ("embeddings", "image_to_embeddings")
FAILED: Final = frozenset({"ERROR", "ERROR_LIMIT", "ERROR_TOXIC", "TIMEOUT"})  # finish reasons of answers that broke off
COUNTS: Final = {"tokens_in": "input_tokens", "tokens_out": "output_tokens"}


def _fixed(ask: Ask, target: Target) -> Tree:
    if ask.task in EMBEDDINGS:
        kind = "image" if ask.task == "image_to_embeddings" else "search_document"
        return {"model": ask.model, "input_type": kind, "embedding_types": ["float"]}
    if ask.task == "rerank":
        return {"model": ask.model}
    return {"model": ask.model, "stream": ask.stream, "temperature": ask.temperature, **({"logprobs": True} if ask.logprobs else {})}


def _varied(ask: Ask, head: Head) -> bytes:
    if ask.task == "image_to_embeddings":
        return member("images", [url for message in ask.messages for url in images_of(message.get("content"))])
    if ask.task == "embeddings":
        return member("texts", ask.documents)
    if ask.task == "rerank":
        return member("query", ask.query) + member("documents", ask.documents)
    messages = ask.messages or ({"role": "user", "content": ask.prompt},)
    kept = (("max_tokens", ask.max_tokens), ("seed", ask.seed))
    return member("messages", messages) + numbers(*((name, None if name in head.omit else value) for name, value in kept))


def read(reply: Reply, ask: Ask) -> Answer:
    """Parse a reply, streamed or not. Never raises, whatever the server sent."""
    if ask.task == "rerank":
        return read_rerank(reply, ask)
    if ask.task in EMBEDDINGS:
        return read_document(reply, lambda document, answer: _vectors(document, len(ask.documents) or 1, answer))
    return read_events(reply, _take)


def _vectors(document: Any, requested: int, answer: Answer) -> str:
    vectors = document["embeddings"]["float"]
    if len(vectors) != requested:
        return f"{len(vectors)} embeddings for {requested} inputs"
    lengths = {len(vector) for vector in vectors}
    if len(lengths) != 1 or 0 in lengths:
        return f"embeddings of lengths {sorted(lengths)[:5]}"
    billed = (document.get("meta") or {}).get("billed_units") or {}
    answer.tokens_in = count(billed.get("input_tokens"), "input_tokens")
    return ""


def _take(document: Mapping[str, Any], name: str, ns: int, into: AnswerBuilder) -> None:
    kind = document.get("type") or name
    if not kind or isinstance(document.get("message"), Mapping):  # a non-streamed answer
        _whole(document, ns, into)
        return
    message = (document.get("delta") or {}).get("message") or {}
    if kind == "content-delta":
        content = message["content"]
        into.add_mixed(ns, content.get("text") or "", content.get("thinking") or "", 0, Kind.ROLE)
    elif kind == "tool-plan-delta":
        into.add_text(ns, message["tool_plan"], reasoning=True)
    elif kind in ("tool-call-start", "tool-call-delta"):
        function = message["tool_calls"]["function"]
        into.add(ns, Kind.TOOL, len(function.get("name") or "") + len(function.get("arguments") or ""))
    elif kind == "message-end":
        into.add(ns, Kind.FINISH)
        _ending(document.get("delta") or {}, ns, into)
    else:
        into.add(ns, Kind.ROLE if kind in ("message-start", "content-start") else Kind.OTHER)


def _ending(end: Mapping[str, Any], ns: int, into: AnswerBuilder) -> None:
    reason = end.get("finish_reason")
    if reason in FAILED:
        into.fail(ns, str(end.get("error") or f"the answer broke off: {reason}"))
        return
    into.finish(reason)
    usage = end.get("usage") or {}
    into.tokens(usage.get("tokens") or usage.get("billed_units") or {}, COUNTS)
    into.tokens(usage, {"tokens_cached": "cached_tokens"})


def _whole(document: Mapping[str, Any], ns: int, into: AnswerBuilder) -> None:
    message = document["message"]
    parts = message.get("content") or ()
    thought = "".join(part.get("thinking") or "" for part in parts) + (message.get("tool_plan") or "")
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    tool = sum(len(call.get("name") or "") + len(call.get("arguments") or "") for call in calls)
    into.add_mixed(ns, text_of(list(parts)), thought, tool, Kind.FINISH)
    _ending(document, ns, into)


BACKEND = Backend(
    name="cohere",
    tasks=("chat", "completions", "image_chat", "embeddings", "image_to_embeddings", "rerank"),
    wire=flat(lambda ask, target: PATHS.get(ask.task, "/v2/chat"), _fixed, _varied),
    read=read,
    prepare=with_headers,
    options={"path": PATH, "omit": OMIT},
    own_keys=(
        *("model", "messages", "stream", "temperature", "max_tokens", "seed", "logprobs"),
        *("texts", "images", "embedding_types", "query", "documents"),
    ),
)
