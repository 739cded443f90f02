"""What do engines with OpenAI's dialect share, and where do they differ?

A `Dialect` lists the differences; this module has the common part: path and body of an ask, and how its answer is read.
`Ask.task` selects the path; for a task of another name, the ask's content does.

Common options: `path`, `omit`, `body.KEY`, `json.KEY` (see `options`), `max_tokens_key`, the key that limits the answer, for example
max_completion_tokens, and `echo_tokens`, how many tokens are generated after an echoed prompt.

How are non-streamed answers read: embeddings, rankings and probabilities of given texts?

* embeddings (OpenAI): {"data": [{"index": 0, "embedding": [...]}], "usage": {"prompt_tokens": 8}}; one vector per document,
  all of the same length.
* rerank (Cohere, Jina, vLLM, SGLang: {"results": [{"index": 2, "relevance_score": 0.9}]}; TEI: [{"index": 2, "score": 0.9}]):
  the text of the answer is the order of the documents, best first: "2 0 1".
* loglikelihood: a completion that echoes its prompt; the log probabilities are those of the continuation's tokens
  (`fireassay.traffic.backends.support.openai_dialect`).

Which log probabilities did an engine give the tokens of a text that it was sent?

From a completion with `echo` and `logprobs`: lists `tokens`, `token_logprobs` and `text_offset`, one entry per token of the prompt, then
those that were generated.

A token counts to the continuation if it ends beyond the border: one that straddles it counts.  White space at the end of the context
counts to the continuation, as in lm-evaluation-harness, because tokenizers join it to the next word.  (That harness divides by the number
of the context's tokens instead; the two agree unless the tokenizer joins characters across the border.)

Engines count offsets differently: some add the length of a mark at the beginning that the text does not contain.  So offsets are first
aligned at the prompt's end, and the counted tokens have to spell the continuation; else the answer is malformed, never wrong.

Source: https://platform.openai.com/docs/api-reference/completions (the legacy `logprobs` object).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support import media
from fireassay.traffic.backends.support.bodies import NATIVE, OMIT, PATH, Head, WireOf, flag, flat, member, numbers, option, with_headers
from fireassay.traffic.backends.support.native_events import UNFINISHED, finish_of
from fireassay.traffic.parts import Answer, Ask, Backend, Kind, Option, Reply
from fireassay.traffic.replies.openai_json import MAX_ERROR, count, error_message, failure, first_choice, is_error, loads
from fireassay.traffic.replies.openai_stream import read_openai

NOT_ECHOED: Final = "the engine did not echo the prompt with log probabilities (echo, logprobs)"
NO_CONTEXT: Final = "the first token has no log probability: nothing comes before it. Give the item a context"
ROUNDING: Final = 1e-3  # a certain token's log probability may be computed a little above 0
_HOLE: Final = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, kw_only=True)
class Echoed:
    """The tokens of a continuation, as the engine scored them."""

    tokens: tuple[str, ...]
    logprobs: tuple[float, ...]
    # the most probable tokens at each position, if the engine gave them
    top: tuple[Mapping[str, float], ...] = ()


def border_of(context: str) -> int:
    """Where the continuation begins, in characters of context + continuation."""
    return len(context.rstrip())


def echoed(document: Any, context: str, continuation: str) -> Echoed:
    """The continuation's tokens in a completion's document, which echoes the prompt and adds at most one token.

    Raises:
        ValueError: the prompt was not echoed, or its tokens do not spell the continuation.
    """
    choice = first_choice(document.get("choices")) if isinstance(document, dict) else None
    found = None if choice is None else choice.get("logprobs")
    if not isinstance(found, dict):
        raise ValueError(NOT_ECHOED)
    tokens, values, offsets = (_list(found, name) for name in ("tokens", "token_logprobs", "text_offset"))
    text = context + continuation
    said = str((choice or {}).get("text"))
    if not tokens or not len(tokens) == len(values) == len(offsets) or not said.startswith(text):
        raise ValueError(NOT_ECHOED)
    if not all(isinstance(token, str) for token in tokens) or not all(type(offset) is int for offset in offsets):
        raise ValueError("the echoed tokens are no texts with whole offsets")
    end = _prompt_tokens(document, tokens, said == text)
    first = first_counted(tokens[:end], offsets[:end], text, border_of(context))
    top = found.get("top_logprobs")
    return Echoed(
        tokens=tuple(tokens[first:end]),
        logprobs=tuple(_finite(values[first:end])),
        top=tuple(_numbers(entry) for entry in top[first:end]) if isinstance(top, list) and len(top) == len(tokens) else (),
    )


def _list(found: Mapping[str, Any], name: str) -> list[Any]:
    value = found.get(name)
    return value if isinstance(value, list) else []


def _prompt_tokens(document: Mapping[str, Any], tokens: Sequence[str], alone: bool) -> int:
    """How many of the tokens are the prompt's. `alone`: no text was added to it."""
    usage = document.get("usage")
    reported = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    if type(reported) is int and 0 < reported <= len(tokens):
        return reported
    if not alone:
        return max(1, len(tokens) - 1)
    end = len(tokens)
    while end > 1 and not tokens[end - 1]:  # the end of the sequence, generated after the prompt
        end -= 1
    return end


def first_counted(tokens: Sequence[str], offsets: Sequence[int], text: str, border: int) -> int:
    """The first token of a prompt that counts to what follows the border. Raises ValueError: the tokens from there on do not spell it."""
    end = offsets[-1] + len(tokens[-1])
    ends = (*offsets[1:], end)
    for shift in dict.fromkeys((end - len(text), 0)):
        first = next((index for index, after in enumerate(ends) if after - shift > border), len(tokens))
        if "".join(tokens[first:]).endswith(text[border:]):
            return first
    # A token that is part of a character spells nothing; the offsets of the text still hold, if they lie within it.
    ends = (*offsets[1:], len(text))
    if max(offsets) < len(text) and any(_HOLE in token or token.startswith("bytes:") for token in tokens):
        return next(index for index, after in enumerate(ends) if after > border or offsets[index] >= border)
    raise ValueError("the echoed tokens do not spell the continuation")


def _finite(values: Sequence[Any]) -> list[float]:
    if values and values[0] is None:
        raise ValueError(NO_CONTEXT)
    if not values or not all(map(_is_probable, values)):
        raise ValueError("a token of the continuation has no log probability: a finite number, not above 0")
    return [min(0.0, float(value)) for value in values]


def _is_probable(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value <= ROUNDING


def _numbers(entry: object) -> Mapping[str, float]:
    pairs = entry.items() if isinstance(entry, dict) else ()
    return {str(token): min(0.0, float(value)) for token, value in pairs if _is_probable(value)}


def read_embeddings(reply: Reply, ask: Ask) -> Answer:
    """Parse an answer of the embeddings API. Never raises, whatever the server sent."""
    return read_document(reply, lambda document, answer: _vectors(document, len(ask.documents)))


def read_rerank(reply: Reply, ask: Ask) -> Answer:
    """Parse an answer of a rerank API. Never raises, whatever the server sent."""
    return read_document(reply, lambda document, answer: _order(document, len(ask.documents), answer))


def read_loglikelihood(reply: Reply, ask: Ask) -> Answer:
    """Parse a completion that echoes its prompt. Never raises, whatever the server sent."""
    return read_document(reply, lambda document, answer: _continuation(document, ask.documents, answer))


def read_media(reply: Reply, ask: Ask) -> Answer:
    """Parse an answer of images, audio, or embeddings of images. Never raises, whatever the server sent."""
    if ask.task == "text_to_speech":
        return media.read_speech(reply)
    if ask.task == "image_to_embeddings":
        return read_document(reply, lambda document, answer: _vectors(document, 1))
    requested = ask.size[2] if ask.size else 1
    if media.STREAM in reply.headers.get("content-type", ""):
        return media.read_image_events(reply, requested)
    return read_document(reply, lambda document, answer: media.images(document, requested, answer))


def read_document(reply: Reply, check: Callable[[Any, Answer], str]) -> Answer:
    """Parse an answer that is one JSON document; `check` says what is wrong with it. Never raises, whatever the server sent."""
    failed = failure(reply)
    if failed is not None:
        return failed
    try:
        document = loads(reply.body)
    except ValueError as error:
        return Answer(status="malformed", error=f"the answer is not JSON: {error}"[:MAX_ERROR])
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
        return Answer(status="malformed", error=error_text[:MAX_ERROR])
    return answer


def _usage(document: Any, answer: Answer) -> str:
    if not isinstance(document, dict):
        return ""
    usage = document.get("usage")
    if isinstance(usage, dict):
        named = (usage.get(name) for name in ("prompt_tokens", "input_tokens", "total_tokens"))  # input_tokens: of image models
        answer.tokens_in = count(next((tokens for tokens in named if tokens is not None), None), "prompt_tokens")
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


PATHS: Final = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "embeddings": "/v1/embeddings",
    "rerank": "/v1/rerank",
    "loglikelihood": "/v1/completions",
    "image_to_embeddings": "/v1/embeddings",
    "text_to_image": "/v1/images/generations",
    "text_to_speech": "/v1/audio/speech",
}
OPTIONS: Final[Mapping[str, Option]] = {
    "path": PATH,
    "omit": OMIT,
    "max_tokens_key": Option(meaning="the key that limits an answer's length; default: max_tokens"),
}
ECHO: Final[Mapping[str, Option]] = {  # of engines that score given texts
    "echo_tokens": Option(meaning="tokens generated after an echoed prompt: 0, or 1 for engines that refuse 0", kind=int)
}
OWN_MEDIA: Final[Mapping[str, Option]] = {
    "voice": Option(meaning="text_to_speech: the voice; default: alloy"),
    "audio_bytes_per_s": media.BYTES_PER_S,
    **media.OWN_IMAGES,
}
OWN_KEYS: Final = (
    *("model", "messages", "prompt", "input", "documents", "query", "stream", "stream_options", "temperature", "seed", "max_tokens"),
    *("logprobs", "ignore_eos", "min_tokens", "echo", "n", "size", "voice", "partial_images"),
)
TEXT_TASKS: Final = ("chat", "completions", "image_chat")
MEDIA_TASKS: Final = ("image_to_embeddings", "text_to_image", "text_to_speech")
ALL_TASKS: Final = (*TEXT_TASKS, "embeddings", "rerank", "loglikelihood")

Length = Callable[[Ask, str], bytes]  # the ask and the key that limits the answer -> JSON members


def up_to(ask: Ask, key: str) -> bytes:
    """At most this many tokens."""
    return numbers((key, ask.max_tokens))


def exactly(ask: Ask, key: str) -> bytes:
    """Exactly this many tokens, if the engine supports `min_tokens`."""
    return numbers((key, ask.max_tokens), ("min_tokens", ask.max_tokens if ask.ignore_eos else None))


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How an engine differs from OpenAI."""

    paths: Mapping[str, str] = field(default_factory=lambda: PATHS)
    usage: bool = True  # supports stream_options.include_usage
    logprobs: bool = True
    ignore_eos: bool = False  # supports the key ignore_eos
    stops: bool = True  # supports the key stop
    length: Length = up_to


def backend_of(
    name: str,
    dialect: Dialect,
    *,
    tasks: tuple[str, ...] = ALL_TASKS,
    own_keys: tuple[str, ...] = (),
    native: WireOf | None = None,
    read: Callable[[Reply, Ask], Answer] | None = None,
    tokenize: str = "",
) -> Backend:
    """The backend of an engine with OpenAI's dialect, and a `native` one for completions if it has one, whose replies `read` parses too."""
    openai = wire_of(dialect)
    options = {**OPTIONS, **(ECHO if "loglikelihood" in tasks else {}), **(OWN_MEDIA if "text_to_speech" in tasks else {})}
    return Backend(
        name=name,
        tasks=tasks,
        native=("completions",) if native is not None else (),
        wire=openai if native is None else _either(native, openai),
        read=read or read_reply,
        prepare=with_headers,
        tokenize=tokenize,
        stops=dialect.stops,
        options=options if native is None else {**options, "native": NATIVE},
        own_keys=(*OWN_KEYS, *own_keys),
    )


def _either(native: WireOf, openai: WireOf) -> WireOf:
    return lambda ask, target: (native if flag(target, "native") else openai)(ask, target)


def kind_of(ask: Ask) -> str:
    if ask.task in PATHS:
        return ask.task
    if ask.messages:
        return "chat"
    if ask.query:
        return "rerank"
    return "embeddings" if ask.documents else "completions"


def wire_of(dialect: Dialect) -> WireOf:
    return flat(
        lambda ask, target: dialect.paths[kind_of(ask)],
        lambda ask, target: _fixed(ask, dialect) if ask.task not in MEDIA_TASKS else media.fixed(ask, target),
        lambda ask, head: _varied(ask, head, dialect),
    )


def _fixed(ask: Ask, dialect: Dialect) -> dict[str, Any]:
    kind = kind_of(ask)
    if kind == "embeddings":
        return {"model": ask.model, "encoding_format": "float"}
    if kind == "rerank":
        return {"model": ask.model}
    if kind == "loglikelihood":
        return {"model": ask.model, "stream": False, "temperature": 0.0, "echo": True, "logprobs": 1}
    keys: dict[str, Any] = {"model": ask.model, "stream": ask.stream, "temperature": ask.temperature}
    if ask.stream and dialect.usage:
        keys["stream_options"] = {"include_usage": True}
    if ask.logprobs and dialect.logprobs:
        keys["logprobs"] = True if kind == "chat" else 1
    if ask.ignore_eos and dialect.ignore_eos:
        keys["ignore_eos"] = True
    return keys


def _varied(ask: Ask, head: Head, dialect: Dialect) -> bytes:
    kind = kind_of(ask)
    if kind == "embeddings":
        return member("input", ask.documents or (ask.prompt,))
    if kind == "rerank":
        return member("query", ask.query) + member("documents", ask.documents)
    if kind in MEDIA_TASKS:
        return media.varied(ask, head.target)
    if kind == "loglikelihood":
        return member("prompt", ask.prompt) + numbers((option(head.target, "max_tokens_key", "max_tokens"), echo_tokens(head.target)))
    content = member("messages", ask.messages) if kind == "chat" else member("prompt", ask.prompt)
    key = option(head.target, "max_tokens_key", "max_tokens")
    length = b"" if key in head.omit else dialect.length(ask, key)
    return content + length + numbers(("seed", None if "seed" in head.omit else ask.seed))


def echo_tokens(target: Target) -> int:
    """How many tokens a target generates after a prompt that it only has to score."""
    return int(target.options.get("echo_tokens", 0))


def read_reply(reply: Reply, ask: Ask) -> Answer:
    """The `Backend.read` of all OpenAI dialects. Never raises, whatever the server sent."""
    kind = kind_of(ask)
    if kind == "embeddings":
        return read_embeddings(reply, ask)
    if kind == "rerank":
        return read_rerank(reply, ask)
    if kind == "loglikelihood":
        return read_loglikelihood(reply, ask)
    if kind in MEDIA_TASKS:
        return read_media(reply, ask)
    answer = read_openai(reply, ask, kind == "chat")
    if answer.finish_reason is not None:
        answer.finish_reason = finish_of(answer.finish_reason)
    elif answer.status == "ok" and len(answer.chunk_kind) > 1 and Kind.DONE not in answer.chunk_kind:
        # For example, a body that ends with its connection, or an engine that drops an answer for the next one.
        answer.status, answer.error = "truncated", UNFINISHED
    return answer
