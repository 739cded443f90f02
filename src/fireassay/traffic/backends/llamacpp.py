"""How are requests sent to llama.cpp's server?

In OpenAI's dialect, or with `native = true` to its own /completion, which takes raw text without a chat template and reports the server's
timings and counts in its last event; cached tokens are in `timings.cache_n` (`tokens_cached` there is the context length).
Both support `ignore_eos`.  If so configured (llama-cpp-python: by default), a new request silently cuts off the answers in progress,
which then count as truncated.

Options: `native`, `path`, `omit`, `max_tokens_key`, `echo_tokens`, `body.KEY`, `json.KEY`; "body.cache_prompt" = false disables its cache.
Source: https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support.bodies import Head, Tree, flat, member, numbers
from fireassay.traffic.backends.support.native_events import AnswerBuilder, has_member, read_events
from fireassay.traffic.backends.support.openai_dialect import Dialect, backend_of, read_reply
from fireassay.traffic.parts import Answer, Ask, Kind, Reply


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


def read_either(reply: Reply, ask: Ask) -> Answer:
    """Parse a reply in either dialect."""
    if has_member(reply, b"choices") or not has_member(reply, b"stop"):
        return read_reply(reply, ask)
    return read_events(reply, _take)


def _take(document: Mapping[str, Any], name: str, ns: int, into: AnswerBuilder) -> None:
    """Process one event of the stream, or a non-streamed answer."""
    last = bool(document.get("stop"))
    into.add_text(ns, document["content"], empty=Kind.FINISH if last else Kind.ROLE)
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


BACKEND = backend_of(
    "llamacpp",
    Dialect(ignore_eos=True),
    native=flat(lambda ask, target: "/completion", _fixed, _varied),
    read=read_either,
    tokenize="/tokenize",
    own_keys=("n_predict", "n_probs"),
)
