"""How are requests sent to the Responses API (/v1/responses), and how are its typed events read?

    response.output_text.delta, response.refusal.delta                              text
    response.reasoning_text.delta, response.reasoning_summary_text.delta            reasoning
    response.function_call_arguments.delta, response.custom_tool_call_input.delta   a tool call
    response.completed, response.incomplete                                         the end, with the usage
    response.failed, error                                                          an error

All other events are chunks without text.  The server stores nothing (`store` is false).

Options: `path`, `omit`, `body.KEY`, `json.KEY`; for example "body.reasoning.effort" = "low".
Source: https://platform.openai.com/docs/api-reference/responses-streaming.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support.bodies import OMIT, PATH, Head, Tree, flat, images_of, member, numbers, text_of, with_headers
from fireassay.traffic.backends.support.native_events import AnswerBuilder, read_events
from fireassay.traffic.parts import Answer, Ask, Backend, Json, Kind, Reply

_TEXT = frozenset({"response.output_text.delta", "response.refusal.delta"})
_REASONING = frozenset({"response.reasoning_text.delta", "response.reasoning_summary_text.delta"})
_TOOL = frozenset({"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"})
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})


def _fixed(ask: Ask, target: Target) -> Tree:
    logprobs = {"include": ["message.output_text.logprobs"]} if ask.logprobs else {}
    return {"model": ask.model, "stream": ask.stream, "temperature": ask.temperature, "store": False, **logprobs}


def _varied(ask: Ask, head: Head) -> bytes:
    content: object = [_message(message) for message in ask.messages] if ask.messages else ask.prompt
    return member("input", content) + numbers(("max_output_tokens", None if "max_output_tokens" in head.omit else ask.max_tokens))


def _message(message: Json) -> Json:
    """A message in this API's format, whose parts have other names than in chat."""
    content = message.get("content")
    if isinstance(content, str):
        return {"role": message["role"], "content": content}
    kind = "output_text" if message["role"] == "assistant" else "input_text"
    images = [{"type": "input_image", "image_url": url} for url in images_of(content)]
    return {"role": message["role"], "content": [{"type": kind, "text": text_of(content)}, *images]}


def read(reply: Reply, ask: Ask) -> Answer:
    """Parse a reply, streamed or not. Never raises, whatever the server sent."""
    return read_events(reply, _take, errors=False)


def _take(document: Mapping[str, Any], name: str, ns: int, into: AnswerBuilder) -> None:
    kind = document.get("type") or name
    if document.get("object") == "response":  # a non-streamed answer
        _whole(document, ns, into)
    elif kind in _TEXT:
        into.add_text(ns, document["delta"])
        into.answer.logprobs += [float(token["logprob"]) for token in document.get("logprobs") or ()]
    elif kind in _REASONING:
        into.add_text(ns, document["delta"], reasoning=True)
    elif kind in _TOOL:
        into.add(ns, Kind.TOOL, len(document["delta"]))
    elif kind in _ENDS:
        _end(document["response"], ns, into)
    elif kind == "error" or "error" in document:
        error = document.get("error")
        into.fail(ns, str(document.get("message") or (error or {}).get("message") or "an error without a message"))
    else:
        into.add(ns, Kind.OTHER)


def _end(response: Mapping[str, Any], ns: int, into: AnswerBuilder) -> None:
    """Process the last event: its usage, and whether the response succeeded."""
    if response.get("status") == "failed" or response.get("error"):
        into.fail(ns, (response.get("error") or {}).get("message") or "the response failed without a message")
        return
    into.add(ns, Kind.FINISH)
    _ending(response, into)


def _ending(response: Mapping[str, Any], into: AnswerBuilder) -> None:
    incomplete = response.get("incomplete_details") or {}
    into.finish(incomplete.get("reason") or response.get("status"))
    usage = response.get("usage") or {}
    into.tokens(usage, {"tokens_in": "input_tokens", "tokens_out": "output_tokens"})
    into.tokens(usage.get("input_tokens_details") or {}, {"tokens_cached": "cached_tokens"})
    into.tokens(usage.get("output_tokens_details") or {}, {"tokens_reasoning": "reasoning_tokens"})


def _whole(response: Mapping[str, Any], ns: int, into: AnswerBuilder) -> None:
    if response.get("error"):
        into.fail(ns, response["error"].get("message") or "an error without a message")
        return
    items = response.get("output") or ()
    content = "".join(text_of(item.get("content")) for item in items if item.get("type") == "message")
    thought = "".join(text_of(item.get("content")) or text_of(item.get("summary")) for item in items if item.get("type") == "reasoning")
    tool = sum(len(item.get("name") or "") + len(item.get("arguments") or "") for item in items if item.get("type") == "function_call")
    into.add_mixed(ns, content, thought, tool, Kind.FINISH)
    _ending(response, into)


BACKEND = Backend(
    name="openai_responses",
    tasks=("responses", "chat", "completions", "image_chat"),
    wire=flat(lambda ask, target: "/v1/responses", _fixed, _varied),
    read=read,
    prepare=with_headers,
    options={"path": PATH, "omit": OMIT},
    own_keys=("model", "input", "stream", "temperature", "store", "max_output_tokens", "include"),
)
