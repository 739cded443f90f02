"""What must never reach a record?  Secrets, recognised by name, by shape, or because their value is known.

* By name: `HF_TOKEN`, `DB_PASSWORD`, `--api-key` (`is_secret_name`); the whole value goes.
* By shape: keys with a known prefix, bearer and basic credentials, JSON web tokens, passwords in URLs, private keys
  (`PATTERNS`; prefixes as their issuers document them).
* By value: what a secret variable holds is removed wherever it turns up, as it is, percent-encoded or JSON-escaped.

Text is searched as bytes: each pattern has a literal trigger, and its regular expression is tried only where that stands,
so that a long log costs some fast substring scans.  Everything removed reads `[redacted]`.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

REDACTED: Final = "[redacted]"
_REDACTED_BYTES: Final = REDACTED.encode()
SHORTEST_SECRET: Final = 8  # a shorter known value would blot out ordinary words; its own variable is still redacted

# ---- names -------------------------------------------------------------------------------------------------------

# A name is secret if one of these stands anywhere in it, with or without separators: PGPASSWORD, MySecretKey ...
_STRONG: Final = (
    "PASSWORD", "PASSWD", "PASSPHRASE", "PASSCODE", "SECRET", "CREDENTIAL", "APIKEY", "ACCESSKEY", "PRIVATEKEY",
    "AUTHKEY", "SIGNINGKEY", "ENCRYPTIONKEY", "DEPLOYKEY", "SSHKEY", "LICENSEKEY", "ACCOUNTKEY", "STORAGEKEY",
    "SESSIONKEY", "AUTHTOKEN", "CONNECTIONSTRING", "COOKIE",
)  # fmt: skip
# ... or if one of its words is one of these (or ends in TOKEN, as in GITHUBTOKEN).
_WORDS: Final = frozenset(
    {"TOKEN", "AUTH", "AUTHORIZATION", "SESSION", "PASS", "PAT", "JWT", "BEARER", "CREDS", "APITOKEN"}
)
# A last word that says that the value only points to a secret, or is a number about it.
_HARMLESS_ENDINGS: Final = frozenset({
    "PATH", "FILE", "DIR", "FOLDER", "SOCK", "COUNT", "LENGTH", "SIZE", "TYPE", "TIMEOUT", "TTL", "EXPIRY", "LIMIT",
    "ENABLED", "MODE", "MANAGER", "ADDRESS", "LEADER", "PID",
})  # fmt: skip
# Language-model vocabulary: --pad-token, EOS_TOKEN, price_per_token are settings, not secrets.
_VOCABULARY: Final = frozenset({
    "EOS", "BOS", "PAD", "UNK", "SEP", "CLS", "MASK", "STOP", "START", "END", "SPECIAL", "IMAGE", "PER", "MAX", "MIN", "NUM",
    "FIRST", "LAST", "NEXT", "NEW", "PROMPT", "OUTPUT", "INPUT", "BY", "TIME",
})  # fmt: skip
_HARMLESS_NAMES: Final = frozenset(
    {"DESKTOP_SESSION", "XDG_SESSION_ID", "XDG_SESSION_CLASS", "XDG_SESSION_DESKTOP", "XAUTHORITY"}
)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[^A-Z0-9]+", _CAMEL.sub("_", name).upper()) if word]


def is_secret_name(name: str) -> bool:
    """Whether a variable, key or flag of this name holds a secret: HF_TOKEN yes, TOKENIZERS_PARALLELISM no."""
    words = _words(name)
    if not words or "_".join(words) in _HARMLESS_NAMES or words[-1] in _HARMLESS_ENDINGS:
        return False
    if any(strong in "".join(words) for strong in _STRONG):
        return True
    return any(_secret_word(word, words[:at]) for at, word in enumerate(words))


def _secret_word(word: str, before: Sequence[str]) -> bool:
    if word.endswith("TOKEN"):
        return not (before and before[-1] in _VOCABULARY)
    return word in _WORDS


# ---- shapes ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pattern:
    """A shape of secret: the group `secret` of `regex`, which is tried wherever the trigger stands."""

    trigger: bytes  # lower case; every match begins with it, in whatever case
    regex: re.Pattern[bytes]
    accepts: Callable[[bytes], bool] = lambda secret: True


def _pattern(trigger: str, regex: str, accepts: Callable[[bytes], bool] = lambda secret: True) -> Pattern:
    return Pattern(trigger.lower().encode(), re.compile(regex.encode()), accepts)


def _prefixed(prefix: str, rest: str) -> Pattern:
    """A key with a fixed prefix, at the beginning of a word."""
    return _pattern(prefix, f"(?<![A-Za-z0-9])(?P<secret>{re.escape(prefix)}{rest})")


# Hyphenated or underscored lower-case words are prose and package names; keys have a capital or a digit.
_NOT_PROSE: Final = "(?=[a-z_-]*[A-Z0-9])"

_PREFIXED: Final = (
    _prefixed("sk-", _NOT_PROSE + "[A-Za-z0-9_-]{20,}"),  # OpenAI, Anthropic, OpenRouter
    *(_prefixed(f"{kind}_{mode}_", "[A-Za-z0-9]{10,}") for kind in ("sk", "rk") for mode in ("live", "test")),  # Stripe
    _prefixed("hf_", _NOT_PROSE + "[A-Za-z0-9]{20,}"),  # Hugging Face
    *(_prefixed(f"gh{kind}_", "[A-Za-z0-9]{20,}") for kind in "pousr"),  # GitHub
    _prefixed("github_pat_", "[A-Za-z0-9_]{20,}"),
    _prefixed("glpat-", "[A-Za-z0-9_.-]{16,}"),  # GitLab
    _prefixed("AKIA", "[A-Z0-9]{16}(?![A-Za-z0-9])"),  # AWS
    _prefixed("ASIA", "(?=[A-Z]*[0-9])[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _prefixed("AIza", "[A-Za-z0-9_-]{30,}"),  # Google
    _prefixed("ya29.", "[A-Za-z0-9_-]{20,}"),
    _prefixed("xox", "[abeoprs]-[A-Za-z0-9-]{10,}"),  # Slack
    _prefixed("npm_", "[A-Za-z0-9]{30,}"),
    _prefixed("pypi-AgE", "[A-Za-z0-9_-]{20,}"),
    _prefixed("dckr_pat_", "[A-Za-z0-9_-]{20,}"),
    _prefixed("nvapi-", "[A-Za-z0-9_-]{20,}"),
    _prefixed("eyJ", r"[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),  # JSON web token, RFC 7519
)


def _is_basic(secret: bytes) -> bool:
    """`Basic` needs more than a shape: what follows must decode to user:password, else "Basic training" would go."""
    try:
        return b":" in base64.b64decode(secret + b"=" * (-len(secret) % 4), validate=True)
    except binascii.Error:
        return False


_CREDENTIALS: Final = (
    _pattern("authorization", r"""(?i:authorization)['"]?\s*[:=]\s*['"]?(?i:bearer|basic|token|digest|apikey)\s+(?P<secret>[^\s'",;]{4,})"""),
    _pattern("authorization", r"""(?i:authorization)['"]?\s*[:=]\s*['"]?(?P<secret>(?=[^\s'",;]*[0-9])[^\s'",;]{16,})"""),
    # RFC 6750. Eight characters with a digit, or 24 of any kind: "bearer certificates" is prose.
    _pattern("bearer", r"(?i:bearer)[\s:]+(?P<secret>(?=[A-Za-z._~+/=-]*[0-9])[A-Za-z0-9._~+/=-]{8,}|[A-Za-z0-9._~+/=-]{24,})"),
    _pattern("basic", r"(?i:basic)\s+(?P<secret>[A-Za-z0-9+/]{6,}={0,2})", _is_basic),  # RFC 7617
    # RFC 3986 section 3.2.1: the password stands between the first colon and the last at sign of the authority.
    _pattern("://", r"""://[^\s/?#:@'"<>]{0,256}:(?P<secret>[^\s/?#'"<>]{1,1024})@"""),
    # RFC 7468. Without its end (a cut log) the lines that look like a key still go.
    _pattern(
        "-----begin ",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?P<secret>(?:[A-Za-z0-9+/=:,.\\\s]|-(?!----)){0,20000}(?=-----END )|(?:(?:\s|\\n|\\r)*[A-Za-z0-9+/=]{16,})*)",
    ),
)  # fmt: skip


def _assigned(trigger: str, name: str) -> Pattern:
    """`name=value`, or `name: value` where the value is quoted or has a digit: "password: required" is prose.

    What looks like source code in a traceback (`password=self.password`) stays.
    """
    value = r"(?!(?:self|args|cfg|config|os|kwargs|settings|opt|options)\.|(?i:password|passwd|secret|api_?key|token)\b)[^\s'\",;&\[\]{}()<>]{6,}"
    quoted = rf"""\s{{0,3}}:\s{{0,3}}(?:['"](?={value}['"])|(?=[^\s0-9]{{0,200}}[0-9]))"""
    return _pattern(trigger, rf"""(?i:{name})['"]?(?:\s{{0,3}}=\s{{0,3}}['"]?|{quoted})(?P<secret>{value})""")


_KINDS_OF_TOKEN: Final = ("access", "auth", "api", "refresh", "session", "hf", "github", "gitlab")
_ASSIGNED: Final = (  # a bare `token=` is a model's vocabulary
    _assigned("password", "password"),
    _assigned("passwd", "passwd"),
    _assigned("secret", "secret(?:[_-]?(?:access[_-]?)?key)?"),
    _assigned("access", "access[_-]?key"),
    *(_assigned(f"api{gap}key", f"api{gap}key") for gap in ("_", "-", "")),
    _assigned("_token", f"_token(?:{'|'.join(f'(?<={kind}_token)' for kind in _KINDS_OF_TOKEN)})"),
)

PATTERNS: Final = (*_PREFIXED, *_CREDENTIALS, *_ASSIGNED)


def _secret_spans(pattern: Pattern, data: bytes, folded: bytes) -> Iterator[tuple[int, int]]:
    """Where in `data` the secrets of this shape stand. `folded` is `data` in lower case."""
    at = folded.find(pattern.trigger)
    while at >= 0:
        match = pattern.regex.match(data, at)
        end = at + len(pattern.trigger)
        if match is not None and match["secret"] and pattern.accepts(match["secret"]):
            yield match.span("secret")
            end = match.end("secret")
        at = folded.find(pattern.trigger, end)


def _without(data: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
    pieces: list[bytes] = []
    kept = 0
    for begin, end in spans:
        pieces += (data[kept:begin], _REDACTED_BYTES)
        kept = end
    return b"".join((*pieces, data[kept:])) if kept else data


# ---- known values ------------------------------------------------------------------------------------------------

# AUTH=disabled is a setting; searching for it would blot out a word of every log.
HARMLESS_VALUES: Final = frozenset({"disabled", "required", "optional", "anonymous", "undefined", "localhost"})


def secret_values(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The secret values of an environment, at least eight characters each, longest first, in every spelling searched for.

    Values of variables with a secret name, and the secret part of any value with a secret's shape (a URL's password).
    """
    found: set[str] = set()
    for name, value in environ.items():
        if is_secret_name(name):
            found.update(_spellings(value))
        for inner in _shaped(value):
            found.update(_spellings(inner))
    return tuple(sorted(filter(_worth_searching, found), key=lambda secret: (-len(secret), secret)))


def _spellings(value: str) -> Iterable[str]:
    stripped = value.strip()
    yield value
    yield stripped
    yield quote(stripped, safe="", errors="surrogateescape")
    yield json.dumps(stripped)[1:-1]
    if "\n" in stripped:  # a key file's lines; its first and last line are no secret
        yield from (line for line in stripped.splitlines() if len(line) >= 16 and not line.startswith("-----"))


def _worth_searching(secret: str) -> bool:
    return len(secret) >= SHORTEST_SECRET and secret not in HARMLESS_VALUES and secret not in REDACTED


def _shaped(value: str) -> Iterator[str]:
    data, handler = _encode(value)
    for pattern in PATTERNS:
        for begin, end in _secret_spans(pattern, data, data.lower()):
            yield data[begin:end].decode("utf-8", handler)


# ---- what others call --------------------------------------------------------------------------------------------


def redact_bytes(data: bytes, secrets: Iterable[str] = ()) -> bytes:
    """`data` without the known `secrets` and without anything that has a secret's shape.

    Give whole lines: a secret that is cut in two by the caller cannot be seen.
    """
    for secret in sorted(filter(_worth_searching, secrets), key=len, reverse=True):
        data = data.replace(_encode(secret)[0], _REDACTED_BYTES)
    folded = data.lower()
    for pattern in PATTERNS:
        cleaned = _without(data, _secret_spans(pattern, data, folded))
        if cleaned is not data:
            data, folded = cleaned, cleaned.lower()
    return data


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` without the known `secrets` and without anything that has a secret's shape."""
    data, handler = _encode(text)
    cleaned = redact_bytes(data, secrets)
    return text if cleaned == data else cleaned.decode("utf-8", handler)


def redact_environment(environ: Mapping[str, str], secrets: Iterable[str] = ()) -> dict[str, str]:
    """The variables, with the values of secret names removed and every other value cleaned."""
    known = (*secret_values(environ), *secrets)
    return {
        name: REDACTED if is_secret_name(name) and value else redact(value, known) for name, value in environ.items()
    }


def redact_arguments(argv: Sequence[str], secrets: Iterable[str] = ()) -> list[str]:
    """A command line with `--api-key X`, `--token=X` and `API_KEY=X` cleaned; same length and order."""
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


def _encode(text: str) -> tuple[bytes, str]:
    """Bytes, and the error handler that turns them back. Environments carry undecodable bytes as lone surrogates."""
    try:
        return text.encode("utf-8", "surrogateescape"), "surrogateescape"
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass"), "surrogatepass"
