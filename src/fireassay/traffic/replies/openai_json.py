"""What does JSON in OpenAI's dialect contain: a choice's text, usage, log probabilities, an error?

Input is untrusted: any value in any position yields a result or a ValueError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from fireassay.traffic.parts import Kind

MOST_ERROR: Final = 2000  # characters read of a server's message; 500 are kept after secrets are removed
MOST_LIMITS: Final = 12
LONGEST_LIMIT: Final = 100  # characters
_LARGEST: Final = 1 << 53

# A surrogate pair, a lone surrogate, or any other escape, so that an escaped backslash does not start one.
_ESCAPES: Final = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)


# A key, not text: quotation marks within text are escaped.
_MODEL: Final = re.compile(rb'[{,]\s*"model"\s*:\s*("(?:[^"\\\x00-\x1f]|\\.){1,200}")')


def loads(data: bytes) -> Any:
    """Parse JSON as orjson does, plus two extensions that engines emit: NaN and Infinity, and lone surrogates.

    A token may end within a character; engines then write a lone surrogate, which becomes U+FFFD.

    Raises:
        ValueError: it is not JSON, or not UTF-8.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        repaired = _with_whole_characters(data)
        if b"NaN" in repaired or b"Infinity" in repaired:
            return _with_numbers_that_are_none(repaired)
        if repaired == data:
            raise
        return orjson.loads(repaired)


def _with_whole_characters(data: bytes) -> bytes:
    return _ESCAPES.sub(lambda match: rb"\ufffd" if match[2] else match[0], data)


def _with_numbers_that_are_none(data: bytes) -> Any:
    try:
        document = json.loads(data)
        orjson.dumps(document)  # also rejects what orjson would: lone surrogates, numbers beyond 64 bits, depth
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except TypeError as error:  # includes orjson's own error
        raise ValueError(str(error)) from None
    return document


def is_error(document: Mapping[str, Any]) -> bool:
    """Whether a JSON object within a 200 reports an error."""
    return bool(document.get("error")) or document.get("object") == "error" or document.get("type") == "error"


def error_message(document: object) -> str | None:
    """The message of an error in JSON: {"error": {"message": ...}}, {"error": ...}, {"message": ...}, {"detail": ...}."""
    if not isinstance(document, dict):
        return None
    inner = document.get("error") or document
    if isinstance(inner, str):
        return inner
    if not isinstance(inner, dict):
        return None
    message = inner.get("message") or inner.get("detail") or inner.get("error") or inner.get("type")
    return message if isinstance(message, str) else _as_json(inner) if inner else None


def _as_json(document: dict[str, Any]) -> str:
    try:
        return orjson.dumps(document).decode()[:MOST_ERROR]
    except TypeError:  # orjson parses deeper nesting than it serialises
        return "an error nested too deeply to be shown"


def rate_limits(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers that report a server's limits: x-ratelimit-..., ratelimit-..., retry-after.  Source: RFC 9110, 10.2.3."""
    limits = sorted((name, text) for name, text in headers.items() if "ratelimit" in name or name == "retry-after")
    return {name[:LONGEST_LIMIT]: text[:LONGEST_LIMIT] for name, text in limits[:MOST_LIMITS]}


def model_named(begin: bytes) -> str:
    """The model named in an answer's first bytes, framing included; "" if none, or split across chunks."""
    match = _MODEL.search(begin)
    if match is None:
        return ""
    try:
        return str(loads(match[1]))
    except ValueError:
        return ""


class ChoiceText(NamedTuple):
    """One choice's text."""

    kind: Kind
    chars: int
    content: str
    reasoning: str


def first_choice(choices: object) -> Mapping[str, Any] | None:
    """The choice with index 0: of several answers to one prompt, only the first is read."""
    if not isinstance(choices, list):
        return None
    for choice in choices:
        if isinstance(choice, dict) and not choice.get("index"):
            return choice
    return None


def text_of_choice(choice: Mapping[str, Any]) -> ChoiceText:
    """The text of a choice: a chat's delta or message, or a completion's text."""
    delta = choice.get("delta")
    if not isinstance(delta, dict):
        delta = choice.get("message")
    if not isinstance(delta, dict):
        content, reasoning, tool = _text(choice.get("text")), "", 0
    else:
        content = _text(delta.get("content")) or _text(delta.get("refusal"))
        reasoning = _text(delta.get("reasoning_content") or delta.get("reasoning"))
        tool = _tool_chars(delta.get("tool_calls")) if delta.get("tool_calls") else 0
        if not tool and delta.get("function_call"):
            tool = _tool_chars([{"function": delta["function_call"]}])
    chars = len(content) + len(reasoning) + tool
    kind = Kind.CONTENT if content else Kind.REASONING if reasoning else Kind.TOOL if tool else Kind.ROLE
    return ChoiceText(kind, chars, content, reasoning)


def _text(value: object) -> str:
    """A string, or a list of parts of which some are text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(part["text"] for part in value if isinstance(part, dict) and isinstance(part.get("text"), str))
    return ""


def _tool_chars(calls: object) -> int:
    """Characters of the names and arguments in tool calls."""
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return sum(
        len(_text(function.get("name"))) + len(_text(function.get("arguments"))) for function in functions if isinstance(function, dict)
    )


def logprobs_of(logprobs: object) -> list[float]:
    """Log probabilities of chat ({"content": [{"logprob": ...}]}) or of completions ({"token_logprobs": [...]})."""
    if not isinstance(logprobs, dict):
        return []
    content = logprobs.get("content")
    candidates: list[object]
    if isinstance(content, list):
        candidates = [token.get("logprob") for token in content if isinstance(token, dict)]
    else:
        values = logprobs.get("token_logprobs")
        candidates = values if isinstance(values, list) else []
    return [float(value) for value in candidates if isinstance(value, (int, float)) and not isinstance(value, bool)]


def usage_of(usage: object) -> dict[str, int | None]:
    """A server's token counts: in, out, reasoning, cached; None if not reported.

    Raises:
        ValueError: a value is not a count: negative, fractional, or not a number.
    """
    if not isinstance(usage, dict):
        return {}
    prompt_details, completion_details = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    cached = prompt_details.get("cached_tokens") if isinstance(prompt_details, dict) else None
    reasoning = completion_details.get("reasoning_tokens") if isinstance(completion_details, dict) else None
    return {
        "in": count(usage.get("prompt_tokens"), "prompt_tokens"),
        "out": count(usage.get("completion_tokens"), "completion_tokens"),
        "reasoning": count(usage.get("reasoning_tokens") if reasoning is None else reasoning, "reasoning_tokens"),
        "cached": count(cached, "cached_tokens"),
    }


def count(value: object, name: str) -> int | None:
    """A token count reported by a server.

    Raises:
        ValueError: it is not a count.
    """
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST:
        return value
    if isinstance(value, float) and value.is_integer() and 0 <= value < _LARGEST:
        return int(value)
    raise ValueError(f"usage reports {name} = {str(value)[:40]}, which is not a count")
