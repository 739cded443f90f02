"""How are requests sent to Text Generation Inference?

In OpenAI's dialect, or with `native = true` to its own /generate_stream, which takes raw text without a chat template.  TGI cannot
continue past the end of sequence: `serving.ignore_eos` has no effect, and answers may be shorter than requested.  The native stream has
one event per token; special tokens carry no text, and the last event holds the finish reason and the token count.

Options: `native`, `path`, `omit`, `max_tokens_key`, `body.KEY`, `json.KEY`; natively "body.parameters.top_k" = 40.
Source: https://huggingface.github.io/text-generation-inference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support.bodies import Head, Tree, deep, some
from fireassay.traffic.backends.support.native_events import AnswerBuilder, has_member, read_events
from fireassay.traffic.backends.support.openai_dialect import TEXT_TASKS, Dialect, backend_of, read_reply
from fireassay.traffic.parts import Answer, Ask, Kind, Reply

_COUNTS = {"tokens_in": "input_length", "tokens_out": "generated_tokens"}


def _fixed(ask: Ask, target: Target) -> Tree:
    # TGI rejects temperature 0: greedy decoding means no temperature and do_sample = false.
    sampling = {"do_sample": True, "temperature": ask.temperature} if ask.temperature > 0 else {"do_sample": False}
    return {"parameters": {**sampling, "details": True}}


def _varied(ask: Ask, head: Head) -> Tree:
    return {"inputs": ask.prompt, "parameters": some(max_new_tokens=ask.max_tokens, seed=ask.seed)}


def read_either(reply: Reply, ask: Ask) -> Answer:
    """Parse a reply in either dialect."""
    if not (has_member(reply, b"token") or has_member(reply, b"generated_text")):
        return read_reply(reply, ask)
    return read_events(reply, lambda document, name, ns, into: _take(document, ns, into, ask.logprobs))


def _take(document: Mapping[str, Any], ns: int, into: AnswerBuilder, logprobs: bool) -> None:
    """Process one event of the stream, or a non-streamed answer."""
    token, details = document.get("token"), document.get("details")
    if token is None:
        into.add_text(ns, document["generated_text"])
    else:
        into.add_text(ns, "" if token.get("special") else token["text"], empty=Kind.FINISH if details else Kind.ROLE)
    if isinstance(details, dict):
        into.tokens(details, _COUNTS)
        if token is None and details.get("prefill"):
            into.answer.tokens_in = len(details["prefill"])
        into.finish(details.get("finish_reason"))
    if logprobs:
        tokens = [token] if token is not None else (details or {}).get("tokens", [])
        into.answer.logprobs += [float(entry["logprob"]) for entry in tokens if entry.get("logprob") is not None]


BACKEND = backend_of(
    "tgi",
    Dialect(),
    tasks=TEXT_TASKS,
    native=deep(lambda ask, target: "/generate_stream" if ask.stream else "/generate", _fixed, _varied),
    read=read_either,
    tokenize="/tokenize",
    own_keys=("inputs", "parameters.max_new_tokens", "parameters.seed", "parameters.details"),
)
