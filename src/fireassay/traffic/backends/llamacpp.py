"""How are requests sent to llama.cpp's server?

In OpenAI's dialect, or with `native = true` to its own /completion, which takes raw text without a chat template and reports the server's
timings and counts in its last event; cached tokens are in `timings.cache_n` (`tokens_cached` there is the context length).
Both support `ignore_eos`.  If so configured (llama-cpp-python: by default), a new request silently cuts off the answers in progress:
such an answer is truncated.

Options: `native`, `path`, `omit`, `max_tokens_key`, `body.KEY`, `json.KEY`; "body.cache_prompt" = false disables its cache.
Source: https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support.bodies import Head, Tree, flat, member, numbers
from fireassay.traffic.backends.support.native_events import Gathered, read_events, tells
from fireassay.traffic.backends.support.openai_dialect import ALL_TASKS, OPTIONS, OWN_KEYS, Dialect, read, wire_of
from fireassay.traffic.backends.support.options import NATIVE, flag, with_headers
from fireassay.traffic.parts import Answer, Ask, Backend, Kind, Reply, Wire


def _fixed(ask: Ask, target: Target) -> Tree:
    return {
        "stream": ask.stream,
        "temperature": ask.temperature,
        **({"ignore_eos": True} if ask.ignore_eos else {}),
        **({"n_probs": 1} if ask.logprobs else {}),
    }


def _varied(ask: Ask, head: Head) -> bytes:
    length = None if "n_predict" in head.omit else ask.max_tokens
    return member("prompt", ask.prompt) + numbers(("n_predict", length), ("seed", None if "seed" in head.omit else ask.seed))


_OPENAI = wire_of(Dialect(ignore_eos=True))
_NATIVE = flat(lambda ask, target: "/completion", _fixed, _varied)


def wire(ask: Ask, target: Target) -> Wire:
    """The request in the selected dialect."""
    return (_NATIVE if flag(target, "native") else _OPENAI)(ask, target)


def read_reply(reply: Reply, ask: Ask) -> Answer:
    """Parse a reply in either dialect."""
    if tells(reply, b"choices") or not tells(reply, b"stop"):
        return read(reply, ask)
    return read_events(reply, _take)


def _take(document: Mapping[str, Any], name: str, ns: int, into: Gathered) -> None:
    """Process one event of the stream, or a non-streamed answer."""
    last = bool(document.get("stop"))
    into.say(ns, document["content"], empty=Kind.FINISH if last else Kind.ROLE)
    for token in document.get("completion_probabilities") or ():
        if token.get("logprob") is not None:
            into.answer.logprobs.append(float(token["logprob"]))
    if not last:
        return
    into.tokens(document, {"tokens_in": "tokens_evaluated", "tokens_out": "tokens_predicted"})
    into.tokens(document.get("timings") or {}, {"tokens_cached": "cache_n"})
    into.finish(document.get("stop_type") or _older(document))


def _older(document: Mapping[str, Any]) -> str:
    """Finish reason of servers that predate `stop_type`."""
    return "limit" if document.get("stopped_limit") else "word" if document.get("stopped_word") else "eos"


BACKEND = Backend(
    name="llamacpp",
    tasks=ALL_TASKS,
    native=("completions",),
    wire=wire,
    read=read_reply,
    prepare=with_headers,
    cached_tokens=True,
    tokenize="/tokenize",
    options={**OPTIONS, "native": NATIVE},
    own_keys=(*OWN_KEYS, "n_predict", "n_probs"),
)
