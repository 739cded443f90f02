"""How are secrets recognised by name, shape or known value, and redacted before they reach a record?

* By name: `HF_TOKEN`, `DB_PASSWORD`, `--api-key` (`names`); the whole value is removed.
* By shape: keys with a known prefix, credentials, passwords in URLs, private keys (`shapes`).
* By value: the value of a secret or declared variable is removed wherever it occurs, in any encoding (`known`).

Every removed part reads `[redacted]`.  All functions here know the values of declared variables.

In which encodings may a secret of known value appear?

Verbatim, percent-encoded, JSON-escaped, HTML-escaped, in base64 at any alignment, in hexadecimal, in UTF-16,
and broken over two lines of a log.  Only values of at least eight characters are searched for: a shorter one would redact
ordinary words; its own variable is redacted all the same.
Cannot recognise a value that was encrypted, hashed, reversed or split.

Does a variable, key, header or flag of this name hold a secret?  HF_TOKEN yes, TOKENIZERS_PARALLELISM no.

Decided by the words of the name, or by declaration: `declare` takes the names that an experiment gives as
`api_key_env` or as {env:NAME}.
Cannot recognise an undeclared secret under an ordinary name.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote, quote_plus, urlsplit

from fireassay.record.secrets.shapes import spans

# fmt: off
# A name is secret if it contains one of these, with or without separators: PGPASSWORD, MySecretKey ...
_STRONG: Final = (
    "PASSWORD", "PASSWD", "PASSPHRASE", "PASSCODE", "SSHPASS", "SECRET", "CREDENTIAL", "APIKEY", "ACCESSKEY", "PRIVATEKEY", "AUTHKEY",
    "SIGNINGKEY", "ENCRYPTIONKEY", "DEPLOYKEY", "SSHKEY", "LICENSEKEY", "ACCOUNTKEY", "STORAGEKEY", "SESSIONKEY", "SUBSCRIPTIONKEY",
    "AUTHTOKEN", "CONNECTIONSTRING", "COOKIE", "WEBHOOK",
)
# ... or if one of its words is one of these (or ends in TOKEN, as in GITHUBTOKEN).
_WORDS: Final = frozenset({"TOKEN", "AUTH", "AUTHORIZATION", "SESSION", "PASS", "PAT", "JWT", "BEARER", "CREDS", "APITOKEN", "DSN"})
# ... or, for a variable, if its last word has one of these endings: GATEWAY_KEY, DB_PWD.  `--text-key` names a data set's column.
_VARIABLE_ENDINGS: Final = frozenset({"KEY", "KEYS", "PWD"})
_ORDINARY_KEYS: Final = frozenset({
    "PUBLIC", "PRIMARY", "FOREIGN", "SORT", "PARTITION", "GROUP", "CACHE", "INDEX", "UNIQUE", "HOST", "OLD", "INIT", "ROW", "MAP",
    "TEXT", "LABEL", "IMAGE", "PROMPT", "INPUT", "OUTPUT", "TARGET", "DATA", "QUERY", "COLUMN", "FIELD", "METRIC", "HOT", "MON",
})
# Last words that mark the value as a reference to a secret, or a number about it.
_HARMLESS_ENDINGS: Final = frozenset({
    "PATH", "FILE", "DIR", "FOLDER", "SOCK", "COUNT", "LENGTH", "SIZE", "TYPE", "TIMEOUT", "TTL", "EXPIRY", "LIMIT", "ENABLED", "MODE",
    "MANAGER", "ADDRESS", "LEADER", "PID",
})
# Language-model vocabulary: --pad-token, EOS_TOKEN, price_per_token are settings, not secrets.
_VOCABULARY: Final = frozenset({
    "EOS", "BOS", "PAD", "UNK", "SEP", "CLS", "MASK", "STOP", "START", "END", "SPECIAL", "IMAGE", "PER", "MAX", "MIN", "NUM", "FIRST",
    "LAST", "NEXT", "NEW", "PROMPT", "OUTPUT", "INPUT", "BY", "TIME",
})
# fmt: on
_HARMLESS_NAMES: Final = frozenset({"DESKTOP_SESSION", "XDG_SESSION_ID", "XDG_SESSION_CLASS", "XDG_SESSION_DESKTOP", "XAUTHORITY"})
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DECLARED: set[str] = set()


def declare(names: Iterable[str]) -> None:
    """Treat the values of these variables as secrets from now on in this process."""
    _DECLARED.update(filter(None, names))


def declared() -> frozenset[str]:
    return frozenset(_DECLARED)


def is_secret_name(name: str) -> bool:
    """True if a variable, key or flag of this name holds a secret."""
    return name in _DECLARED or _is_plain(_words(name)) or is_vague_name(name)


def is_vague_name(name: str) -> bool:
    """True if only the ending of a variable's name suggests a secret: its value may be an ordinary word."""
    words = _words(name)
    if name in _DECLARED or _is_plain(words) or name != name.upper() or len(words) < 2:
        return False
    return words[-1] in _VARIABLE_ENDINGS and words[-2] not in _ORDINARY_KEYS


@lru_cache(maxsize=4096)
def _is_plain(words: tuple[str, ...]) -> bool:
    """True if the name contains an unambiguous word for a secret."""
    if not words or "_".join(words) in _HARMLESS_NAMES or words[-1] in _HARMLESS_ENDINGS:
        return False
    if any(strong in "".join(words) for strong in _STRONG):
        return True
    return any(_secret_word(word, words[:at]) for at, word in enumerate(words))


@lru_cache(maxsize=4096)
def _words(name: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[^A-Z0-9]+", _CAMEL.sub("_", name).upper()) if word)


def _secret_word(word: str, before: Sequence[str]) -> bool:
    if word.endswith("TOKEN"):
        return not (before and before[-1] in _VOCABULARY)
    return word in _WORDS


MIN_SECRET_LENGTH: Final = 8
# AUTH=disabled is a setting; searching for it would redact an ordinary word from every log.
HARMLESS_VALUES: Final = frozenset({"disabled", "required", "optional", "anonymous", "undefined", "localhost"})
_ORDINARY: Final = re.compile(r"[A-Za-z_-]*|/[^:@]*|[0-9.]+")  # a word, a path, a number


def secret_values(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The secret values of an environment, at least eight characters each, longest first, in every encoding.

    Values of variables with a secret or declared name, and the secret part of any value shaped like a secret.
    """
    return _values_of(tuple(environ.items()), declared())


@lru_cache(maxsize=8)
def _values_of(variables: tuple[tuple[str, str], ...], _declared: frozenset[str]) -> tuple[str, ...]:
    """An environment is asked for whenever a manifest is written; the names that are declared decide too."""
    values: set[str] = set()
    for name, value in variables:
        if is_secret_name(name) and not (is_vague_name(name) and _is_ordinary(value)):
            values.update(value for inner in _parts(value) for value in spellings(inner))
        for inner in _shaped(value):
            values.update(spellings(inner))
    return longest_first(values)


def declared_values() -> tuple[str, ...]:
    """The values of the declared variables in this process's environment, in every encoding."""
    return secret_values({name: os.environ[name] for name in sorted(_DECLARED) if name in os.environ})


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


# ---- spellings of a known secret -------------------------------------------------------------------------------------


REDACTED: Final = "[redacted]"
_REDACTED_BYTES: Final = REDACTED.encode()


def redact_bytes(data: bytes, secrets: Iterable[str] = (), *, keys_only: bool = False) -> bytes:
    """`data` without the known `secrets` and anything shaped like a secret (`keys_only`: like a key).

    Pass whole lines if possible; parts of a known secret cut off at either end are found too.
    """
    return _redacted(data, known_spellings(secrets), keys_only=keys_only)


def _redacted(data: bytes, known: Sequence[bytes], *, keys_only: bool = False) -> bytes:
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
    return _redacted_text(text, known_spellings(secrets), keys_only=keys_only)


def _redacted_text(text: str, known: Sequence[bytes], *, keys_only: bool = False) -> str:
    data, handler = encoded(text)
    cleaned = _redacted(data, known, keys_only=keys_only)
    return text if cleaned == data else cleaned.decode("utf-8", handler)


def redact_all(value: Any, secrets: Iterable[str] = ()) -> Any:
    """A JSON or TOML value with every string redacted, keys included, at any depth."""
    return _all_redacted(value, known_spellings(secrets))


def _all_redacted(value: Any, known: Sequence[bytes]) -> Any:
    """The encodings are looked up once for the whole value: it may hold thousands of strings."""
    if isinstance(value, str):
        return _redacted_text(value, known)
    if isinstance(value, Mapping):
        return {_all_redacted(key, known): _all_redacted(inner, known) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_all_redacted(inner, known) for inner in value]
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
