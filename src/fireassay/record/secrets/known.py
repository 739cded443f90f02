"""In which encodings may a secret of known value appear?

Verbatim, percent-encoded, JSON-escaped, HTML-escaped, in base64 at any alignment, in hexadecimal, in UTF-16,
and broken over two lines of a log.  Only values of at least eight characters are searched for: a shorter one would redact
ordinary words; its own variable is redacted all the same.
Cannot recognise a value that was encrypted, hashed, reversed or split.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import quote, quote_plus, urlsplit

from fireassay.record.secrets.names import declared, is_secret_name, is_vague_name
from fireassay.record.secrets.shapes import spans

MIN_SECRET_LENGTH: Final = 8
# AUTH=disabled is a setting; searching for it would redact an ordinary word from every log.
HARMLESS_VALUES: Final = frozenset({"disabled", "required", "optional", "anonymous", "undefined", "localhost"})
_ORDINARY: Final = re.compile(r"[A-Za-z_-]*|/[^:@]*|[0-9.]+")  # a word, a path, a number


def secret_values(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The secret values of an environment, at least eight characters each, longest first, in every encoding.

    Values of variables with a secret or declared name, and the secret part of any value shaped like a secret.
    """
    values: set[str] = set()
    for name, value in environ.items():
        if is_secret_name(name) and not (is_vague_name(name) and _is_ordinary(value)):
            values.update(value for inner in _parts(value) for value in spellings(inner))
        for inner in _shaped(value):
            values.update(spellings(inner))
    return longest_first(values)


def declared_values() -> tuple[str, ...]:
    """The values of the declared variables in this process's environment, in every encoding."""
    return _values_of(tuple((name, os.environ[name]) for name in sorted(declared()) if name in os.environ))


@lru_cache(maxsize=8)
def _values_of(variables: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    return secret_values(dict(variables))


def longest_first(values: Iterable[str]) -> tuple[str, ...]:
    """The values worth searching for, longest first, so that one containing another is redacted whole."""
    return tuple(sorted(filter(worth_searching, values), key=lambda secret: (-len(secret), secret)))


def worth_searching(secret: str) -> bool:
    """True if the value is distinguishable from ordinary words."""
    return len(secret) >= MIN_SECRET_LENGTH and secret not in HARMLESS_VALUES and secret not in "[redacted]"


def _is_ordinary(value: str) -> bool:
    return _ORDINARY.fullmatch(value.strip()) is not None


def _parts(value: str) -> Iterator[str]:
    """The value, and the secret parts if it is a URL (a webhook, a DSN)."""
    yield value
    if "://" in value:
        try:
            parts = urlsplit(value.strip())
            yield from filter(None, (parts.username, parts.password))
        except ValueError:
            return
        if len(parts.path) > 2 * MIN_SECRET_LENGTH and "@" not in parts.netloc:
            yield parts.path


def _shaped(value: str) -> Iterator[str]:
    data, handler = encoded(value)
    for span in spans(data):
        yield data[span.begin : span.end].decode("utf-8", handler)


# ---- spellings ---------------------------------------------------------------------------------------------------


def spellings(value: str) -> Iterator[str]:
    """The value as programs encode it."""
    stripped = value.strip()
    if not worth_searching(stripped):
        return
    yield value
    yield stripped
    yield from (quote(stripped, safe=safe, errors="surrogateescape") for safe in ("", "/", "/:@"))
    yield quote_plus(stripped, errors="surrogateescape")
    yield quote(quote(stripped, safe="", errors="surrogateescape"), safe="")
    yield re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), quote(stripped, safe="", errors="surrogateescape"))
    yield json.dumps(stripped)[1:-1]
    yield json.dumps(stripped, ensure_ascii=False)[1:-1]
    yield stripped.replace("/", "\\/")
    yield html.escape(stripped)
    data = encoded(stripped)[0]
    yield data.hex()
    yield data.hex().upper()
    yield from _in_base64(data)
    if stripped.isascii():
        yield "\0".join(stripped)  # UTF-16, either byte order
    if "\n" in stripped:  # the lines of a key file; the first and last are not secret
        yield from (line for line in stripped.splitlines() if len(line) >= 16 and not line.startswith("-----"))


def _in_base64(data: bytes) -> Iterator[str]:
    """The part of its base64 that is independent of the surrounding bytes, for each of the three alignments."""
    yield base64.b64encode(data).decode()
    yield base64.urlsafe_b64encode(data).decode()
    for before in range(3):
        whole_bytes = (before + len(data)) // 3 * 3
        code = base64.b64encode((bytes(before) + data)[:whole_bytes])[-(-before * 8 // 6) :].decode()
        yield code
        yield code.replace("+", "-").replace("/", "_")


def encoded(text: str) -> tuple[bytes, str]:
    """The bytes, and the error handler that decodes them. Environments carry undecodable bytes as lone surrogates."""
    try:
        return text.encode("utf-8", "surrogateescape"), "surrogateescape"
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass"), "surrogatepass"
