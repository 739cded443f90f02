"""How are requests sent to SGLang?

In OpenAI's dialect, or with `native = true` to its own /generate, which takes raw text without a chat template.  Depending on the
server's flags, each event holds the whole text so far or only the new part.  `output_ids` tell which: if everything is repeated, there
are as many as `completion_tokens`.  Without them, a text that begins with the previous one repeats it.

Options: `native`, `path`, `omit`, `max_tokens_key`, `echo_tokens`, `body.KEY`, `json.KEY`; natively "body.sampling_params.top_k" = 40.
Source: https://docs.sglang.io/basic_usage/native_api.html.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support.bodies import Head, Tree, deep, some
from fireassay.traffic.backends.support.native_events import AnswerBuilder, has_member, read_events
from fireassay.traffic.backends.support.openai_dialect import Dialect, backend_of, exactly, read_reply
from fireassay.traffic.parts import Answer, Ask, Kind, Reply

_SAMPLING = "sampling_params"


def _fixed(ask: Ask, target: Target) -> Tree:
    sampling = {"temperature": ask.temperature, **({"ignore_eos": True} if ask.ignore_eos else {})}
    logprobs = {"return_logprob": True} if ask.logprobs else {}
    return {"stream": ask.stream, **logprobs, _SAMPLING: sampling}


def _varied(ask: Ask, head: Head) -> Tree:
    length = some(max_new_tokens=ask.max_tokens, min_new_tokens=ask.max_tokens if ask.ignore_eos else None, sampling_seed=ask.seed)
    return {"text": ask.prompt, _SAMPLING: length}


def read_either(reply: Reply, ask: Ask) -> Answer:
    """Parse a reply in either dialect."""
    if not has_member(reply, b"meta_info"):
        return read_reply(reply, ask)
    return read_events(reply, _SoFar().take)


class _SoFar:
    """State of a /generate answer while its events are read."""

    def __init__(self) -> None:
        self._text = ""
        self._tokens = 0

    def take(self, document: Mapping[str, Any], name: str, ns: int, into: AnswerBuilder) -> None:
        """Process one event."""
        text, meta = document["text"], document["meta_info"]
        added = text[len(self._text) :] if self._repeats(text, document.get("output_ids"), meta) else text
        self._text += added
        into.add_text(ns, added, empty=Kind.FINISH if meta.get("finish_reason") else Kind.ROLE)
        into.tokens(meta, {"tokens_in": "prompt_tokens", "tokens_out": "completion_tokens", "tokens_cached": "cached_tokens"})
        self._tokens = meta.get("completion_tokens") or 0
        if logprobs := meta.get("output_token_logprobs"):
            values = [float(entry[0]) for entry in logprobs]
            into.answer.logprobs = values if len(values) >= self._tokens else into.answer.logprobs + values
        reason = meta.get("finish_reason")
        if reason:
            into.finish(reason.get("type") if isinstance(reason, dict) else reason)

    def _repeats(self, text: str, ids: object, meta: Mapping[str, Any]) -> bool:
        if not self._text:
            return True
        if isinstance(ids, list) and ids:
            return len(ids) >= (meta.get("completion_tokens") or 0)
        return text.startswith(self._text)


BACKEND = backend_of(
    "sglang",
    Dialect(ignore_eos=True, length=exactly),
    native=deep(lambda ask, target: "/generate", _fixed, _varied),
    read=read_either,
    tokenize="/tokenize",
    own_keys=("text", f"{_SAMPLING}.max_new_tokens", f"{_SAMPLING}.min_new_tokens", f"{_SAMPLING}.sampling_seed"),
)
