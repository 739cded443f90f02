"""What does JSON in OpenAI's dialect say: a choice's text, usage, log probabilities, an error?

Nothing is trusted: whatever stands where a thing is expected, there is an answer or a ValueError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from assay.traffic.parts import Kind

MOST_ERROR: Final = 2000  # characters of a server's own words that are read; 500 are kept, once secrets are out of them
MOST_LIMITS: Final = 12
LONGEST_LIMIT: Final = 100  # characters
_LARGEST: Final = 1 << 53

# A pair of surrogates, a lone one, or any other escape, so that an escaped backslash is not taken for the begin of one.
_ESCAPES: Final = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)


# A key, not a part of a text: there, quotation marks are escaped.
_MODEL: Final = re.compile(rb'[{,]\s*"model"\s*:\s*("(?:[^"\\\x00-\x1f]|\\.){1,200}")')


def loads(data: bytes) -> Any:
    """JSON as orjson reads it, and what engines have been seen to write besides: NaN and Infinity, and half characters.

    A token may end inside of a character; engines then write a lone surrogate, which no text can hold: U+FFFD stands in its place.

    Raises:
        ValueError: it is not JSON, or not UTF-8.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        whole = _with_whole_characters(data)
        if b"NaN" in whole or b"Infinity" in whole:
            return _with_numbers_that_are_none(whole)
        if whole == data:
            raise
        return orjson.loads(whole)


def _with_whole_characters(data: bytes) -> bytes:
    return _ESCAPES.sub(lambda found: rb"\ufffd" if found[2] else found[0], data)


def _with_numbers_that_are_none(data: bytes) -> Any:
    try:
        found = json.loads(data)
        orjson.dumps(found)  # what it would refuse besides them: half characters, numbers beyond 64 bits, depth
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except TypeError as error:  # orjson's own error is one
        raise ValueError(str(error)) from None
    return found


def is_error(told: Mapping[str, Any]) -> bool:
    """Whether a JSON object inside of a 200 tells of an error."""
    return bool(told.get("error")) or told.get("object") == "error" or told.get("type") == "error"


def error_message(told: object) -> str | None:
    """The message of an error in JSON: {"error": {"message": ...}}, {"error": ...}, {"message": ...}, {"detail": ...}."""
    if not isinstance(told, dict):
        return None
    inner = told.get("error") or told
    if isinstance(inner, str):
        return inner
    if not isinstance(inner, dict):
        return None
    message = inner.get("message") or inner.get("detail") or inner.get("error") or inner.get("type")
    return message if isinstance(message, str) else _as_json(inner) if inner else None


def _as_json(told: dict[str, Any]) -> str:
    try:
        return orjson.dumps(told).decode()[:MOST_ERROR]
    except TypeError:  # it reads deeper than it writes
        return "an error that is nested too deeply to be shown"


def limits_told(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers in which a server tells its limits: x-ratelimit-..., ratelimit-..., retry-after.  Source: RFC 9110, 10.2.3."""
    told = sorted((name, text) for name, text in headers.items() if "ratelimit" in name or name == "retry-after")
    return {name[:LONGEST_LIMIT]: text[:LONGEST_LIMIT] for name, text in told[:MOST_LIMITS]}


def model_told(begin: bytes) -> str:
    """The model that the first bytes of an answer name, framing and all; "" where they name none, or in pieces."""
    found = _MODEL.search(begin)
    if found is None:
        return ""
    try:
        return str(loads(found[1]))
    except ValueError:
        return ""


class Said(NamedTuple):
    """One choice's text."""

    kind: Kind
    chars: int
    content: str
    reasoning: str


def first_choice(choices: object) -> Mapping[str, Any] | None:
    """The choice with index 0: of several answers to one prompt, the first is read."""
    if not isinstance(choices, list):
        return None
    for choice in choices:
        if isinstance(choice, dict) and not choice.get("index"):
            return choice
    return None


def said_by(choice: Mapping[str, Any]) -> Said:
    """What a choice says: of a chat's delta or message, or of a completion's text."""
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
    return Said(kind, chars, content, reasoning)


def _text(value: object) -> str:
    """A text, or a list of parts that hold some."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(part["text"] for part in value if isinstance(part, dict) and isinstance(part.get("text"), str))
    return ""


def _tool_chars(calls: object) -> int:
    """Characters of the names and arguments in some tool calls."""
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return sum(
        len(_text(function.get("name"))) + len(_text(function.get("arguments"))) for function in functions if isinstance(function, dict)
    )


def logprobs_of(told: object) -> list[float]:
    """Log probabilities of chat ({"content": [{"logprob": ...}]}) or of completions ({"token_logprobs": [...]})."""
    if not isinstance(told, dict):
        return []
    content = told.get("content")
    found: list[object]
    if isinstance(content, list):
        found = [token.get("logprob") for token in content if isinstance(token, dict)]
    else:
        values = told.get("token_logprobs")
        found = values if isinstance(values, list) else []
    return [float(value) for value in found if isinstance(value, (int, float)) and not isinstance(value, bool)]


def usage_of(usage: object) -> dict[str, int | None]:
    """Tokens by a server's own account: in, out, reasoning, cached; None where it tells nothing.

    Raises:
        ValueError: it tells what cannot be a count: negative, not whole, or no number.
    """
    if not isinstance(usage, dict):
        return {}
    before, after = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    cached = before.get("cached_tokens") if isinstance(before, dict) else None
    reasoning = after.get("reasoning_tokens") if isinstance(after, dict) else None
    return {
        "in": count(usage.get("prompt_tokens"), "prompt_tokens"),
        "out": count(usage.get("completion_tokens"), "completion_tokens"),
        "reasoning": count(usage.get("reasoning_tokens") if reasoning is None else reasoning, "reasoning_tokens"),
        "cached": count(cached, "cached_tokens"),
    }


def count(value: object, name: str) -> int | None:
    """A number of tokens as a server told it.

    Raises:
        ValueError: it cannot be a count.
    """
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST:
        return value
    if isinstance(value, float) and value.is_integer() and 0 <= value < _LARGEST:
        return int(value)
    raise ValueError(f"usage tells {name} = {str(value)[:40]}, which is no count")
