"""How are secrets recognised by name, shape or known value, and redacted before they reach a record?

* By name: `HF_TOKEN`, `DB_PASSWORD`, `--api-key` (`names`); the whole value is removed.
* By shape: keys with a known prefix, credentials, passwords in URLs, private keys (`shapes`).
* By value: the value of a secret or declared variable is removed wherever it occurs, in any encoding (`known`).

Every removed part reads `[redacted]`.  All functions here know the values of declared variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from fireassay.record.secrets.known import HARMLESS_VALUES, MIN_SECRET_LENGTH, declared_values, encoded, longest_first, secret_values
from fireassay.record.secrets.names import is_secret_name
from fireassay.record.secrets.shapes import spans

__all__ = (
    "HARMLESS_VALUES",
    "MIN_SECRET_LENGTH",
    "REDACTED",
    "is_secret_name",
    "known_spellings",
    "redact",
    "redact_all",
    "redact_arguments",
    "redact_bytes",
    "redact_environment",
    "secret_values",
)

REDACTED: Final = "[redacted]"
_REDACTED_BYTES: Final = REDACTED.encode()


def redact_bytes(data: bytes, secrets: Iterable[str] = (), *, keys_only: bool = False) -> bytes:
    """`data` without the known `secrets` and anything shaped like a secret (`keys_only`: like a key).

    Pass whole lines if possible; parts of a known secret cut off at either end are found too.
    """
    known = known_spellings(secrets)
    for secret in known:
        data = data.replace(secret, _REDACTED_BYTES)
    if known:
        data = _without_broken(_without_halves(data, known), known)
    return _without(data, ((begin, end) for begin, end, _ in spans(data, keys_only=keys_only)))


def known_spellings(secrets: Iterable[str] = ()) -> tuple[bytes, ...]:
    """The secrets and the declared variables' values in every encoding, as bytes, longest first."""
    return _known((*secrets, *declared_values()))


@lru_cache(maxsize=32)
def _known(secrets: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(encoded(secret)[0] for secret in longest_first(set(secrets)))


def _without(data: bytes, secret_spans: Iterable[tuple[int, int]]) -> bytes:
    pieces: list[bytes] = []
    position = 0
    for begin, end in secret_spans:
        pieces += (data[position:begin], _REDACTED_BYTES)
        position = end
    return b"".join((*pieces, data[position:])) if position else data


def _without_halves(data: bytes, known: Sequence[bytes]) -> bytes:
    """Without parts, of at least eight characters, of a known secret that the beginning or end of the text cuts off."""
    for secret in known:
        if size := _cut_off(data[-len(secret) :], secret):
            data = data[:-size] + _REDACTED_BYTES
        if size := _cut_off(data[: len(secret)][::-1], secret[::-1]):
            data = _REDACTED_BYTES + data[size:]
    return data


def _cut_off(end: bytes, secret: bytes) -> int:
    """The length of the secret's longest prefix that ends the text."""
    at = end.find(secret[:MIN_SECRET_LENGTH])
    while at >= 0:
        if secret.startswith(end[at:]):
            return len(end) - at
        at = end.find(secret[:MIN_SECRET_LENGTH], at + 1)
    return 0


def _without_broken(data: bytes, known: Sequence[bytes]) -> bytes:
    """Without known secrets split by line breaks."""
    if b"\n" not in data and b"\r" not in data:
        return data
    joined = data.translate(None, b"\r\n")
    for secret in known:
        if secret in joined:
            data = re.sub(rb"[\r\n]*".join(re.escape(bytes([byte])) for byte in secret), _REDACTED_BYTES, data)
    return data


def redact(text: str, secrets: Iterable[str] = (), *, keys_only: bool = False) -> str:
    data, handler = encoded(text)
    cleaned = redact_bytes(data, secrets, keys_only=keys_only)
    return text if cleaned == data else cleaned.decode("utf-8", handler)


def redact_all(value: Any, secrets: Iterable[str] = ()) -> Any:
    """A JSON or TOML value with every string redacted, keys included, at any depth."""
    known = tuple(secrets)
    if isinstance(value, str):
        return redact(value, known)
    if isinstance(value, Mapping):
        return {redact_all(key, known): redact_all(inner, known) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redact_all(inner, known) for inner in value]
    return value


def redact_environment(environ: Mapping[str, str], secrets: Iterable[str] = ()) -> dict[str, str]:
    """The variables, with the values of secret names removed and every other value redacted."""
    known = (*secret_values(environ), *secrets)
    return {name: REDACTED if is_secret_name(name) and value else redact(value, known) for name, value in environ.items()}


def redact_arguments(argv: Sequence[str], secrets: Iterable[str] = ()) -> list[str]:
    """A command line with `--api-key X`, `--token=X` and `API_KEY=X` redacted; same length and order."""
    known = tuple(secrets)
    cleaned: list[str] = []
    value_follows = False
    for argument in argv:
        name, equals, value = argument.partition("=")
        secret = is_secret_name(name)
        if value_follows and not argument.startswith("--"):
            cleaned.append(REDACTED)
        elif equals and secret and value:
            cleaned.append(f"{name}={REDACTED}")
        else:
            cleaned.append(redact(argument, known))
        value_follows = secret and not equals and argument.startswith("-")
    return cleaned
