"""Which log probabilities did an engine give the tokens of a text that it was sent?

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fireassay.traffic.replies.openai_json import first_choice

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
