"""How are secrets removed from thousands of short texts without a search of each?

The expressions of `redact` cost microseconds per text.  So all texts are first searched at once, as one, for the beginning of a key, a
word that precedes secrets, or a known value; only texts with what was found are searched one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Final

from fireassay.record.secrets.redact import declared_values, redact
from fireassay.record.secrets.shapes import PLACES, key_heads

ANSWERS: Final = frozenset({"text", "reasoning", "prediction", "target"})  # columns of what a model said, from which only keys are removed
MAX_ERROR_LENGTH: Final = 500  # characters; cut after redaction, because half a key is not recognisable
FEW: Final = 32  # different texts that are searched one by one
KEY: Final = "[a-z0-9_+/=.~-]{8}"  # a key is a long run of characters, which ordinary words are not


def cleaner(secrets: tuple[str, ...]) -> Callable[[str, Sequence[str | None]], Sequence[str | None]]:
    """What a record keeps of a column of this name and these texts."""

    def clean(name: str, texts: Sequence[str | None]) -> Sequence[str | None]:
        cleaned = cleaned_texts(texts, secrets, keys_only=name in ANSWERS)
        return [text and text[:MAX_ERROR_LENGTH] for text in cleaned] if name == "error" else cleaned

    return clean


def cleaned_texts(texts: Sequence[str | None], secrets: tuple[str, ...], *, keys_only: bool) -> Sequence[str | None]:
    """The texts with secrets redacted; the same object if there are none."""
    different = set(texts) - {None}
    suspects = different if len(different) <= FEW else set(_suspicious([text for text in different if text], secrets, keys_only=keys_only))
    changed = {text: after for text in suspects if (after := cleaned(text, secrets, keys_only)) != text}
    return [changed.get(text, text) for text in texts] if changed else texts


def _suspicious(texts: Sequence[str], secrets: tuple[str, ...], *, keys_only: bool) -> Iterator[str]:
    """A superset of the texts that hold a secret."""
    joined = "\n".join(texts)
    folded = joined.lower()
    heads = [re.escape(head) + KEY for head in key_heads() if head in folded]
    words = [] if keys_only else [re.escape(trigger) for trigger in triggers() if trigger in folded]
    values = [re.escape(half) for half in halves(secrets) if half in joined]
    if shapes := "|".join((*heads, *words)):
        looks_like = re.compile(shapes).search
        yield from (text for text in texts if looks_like(text.lower()))
    if values:
        known = re.compile("|".join(values)).search
        yield from (text for text in texts if known(text))


@cache
def triggers() -> tuple[str, ...]:
    """The words that precede secrets, in lower case."""
    return tuple(sorted({place.trigger.decode() for place in PLACES}))


def halves(secrets: tuple[str, ...]) -> list[str]:
    """The first and the last characters of each known value: a text may be cut, or a line broken, inside it."""
    return sorted({half for value in (*secrets, *declared_values()) for half in (value[:8], value[-8:])})


@lru_cache(maxsize=1024)
def _short(text: str, secrets: tuple[str, ...], keys_only: bool) -> str:
    return redact(text, secrets, keys_only=keys_only)


def cleaned(text: str | None, secrets: tuple[str, ...], keys_only: bool) -> str | None:
    """The text with secrets redacted."""
    if text is None:
        return None
    # host and counter names repeat many times
    return _short(text, secrets, keys_only) if len(text) < 80 else redact(text, secrets, keys_only=keys_only)
