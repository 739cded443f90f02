"""What looks like a secret, whatever its value?  Keys by their prefix, and values in places where secrets occur.

* Keys: the gitleaks rules imported by `tools/secret_rules.py` (`rules.json`), and vendors' prefixes that gitleaks lacks or
knows only in one exact length (`PREFIXED`).
* Places: bearer and basic credentials, cookies, passwords and tokens in URLs, signed URLs, .netrc, private keys (`PLACES`).

Randomness alone does not make a secret: hashes, UUIDs and request ids stay.
Text is searched as bytes: keys only inside unbroken runs of at least 16 characters, places only at their triggers, so that a
long log costs a few fast scans.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Final, NamedTuple

SHORT: Final = 256  # bytes of a text whose secrets are remembered


class Span(NamedTuple):
    """The position of a secret, and the rule that found it."""

    begin: int
    end: int
    rule: str


def spans(data: bytes, *, keys_only: bool = False) -> list[Span]:
    """The secrets in `data`, in order, without overlaps.

    `keys_only`: for model outputs, which are measurement results; `password = word` in generated code is not a secret.
    """
    return list(_known_spans(data, keys_only) if len(data) <= SHORT else _spans(data, keys_only))


def _spans(data: bytes, keys_only: bool) -> list[Span]:
    merged: list[Span] = []
    places = () if keys_only or SEPARATOR.search(data) is None else _places(data, data.lower())
    for span in sorted((*_keys(data), *places)):
        if not merged or span.begin >= merged[-1].end:
            merged.append(span)
        elif span.end > merged[-1].end:
            merged[-1] = merged[-1]._replace(end=span.end)
    return merged


@lru_cache(maxsize=8192)
def _known_spans(data: bytes, keys_only: bool) -> tuple[Span, ...]:
    """A manifest is written again and again, with the same short texts."""
    return tuple(_spans(data, keys_only))


# ---- keys with a prefix ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Key:
    """A kind of key: every match of `regex` begins with one of `heads`, in any case."""

    rule: str
    heads: tuple[str, ...]
    regex: str
    entropy: float = 0.0  # minimum, bits per character

    @cached_property
    def compiled(self) -> re.Pattern[bytes]:
        """Compiled on first use: there are many, and most are never needed."""
        return re.compile(self.regex.encode())


def _prefixed(prefix: str, rest: str) -> Key:
    return Key(prefix, (prefix.lower(),), f"(?<![A-Za-z0-9])({re.escape(prefix)}{rest})")


# Hyphenated or underscored lower-case words are prose or package names; keys have a capital or a digit.
_NOT_PROSE: Final = "(?=[a-z_-]*[A-Z0-9])"

# As documented by their issuers; of open length where lengths have changed.
PREFIXED: Final = (
    _prefixed("sk-", _NOT_PROSE + "[A-Za-z0-9_-]{20,}"),  # OpenAI, Anthropic, OpenRouter, DeepSeek
    *(_prefixed(f"{kind}_{mode}_", "[A-Za-z0-9]{10,}") for kind in ("sk", "rk") for mode in ("live", "test")),  # Stripe
    _prefixed("hf_", _NOT_PROSE + "[A-Za-z0-9]{20,}"),  # Hugging Face
    *(_prefixed(f"gh{kind}_", "[A-Za-z0-9]{20,}") for kind in "pousr"),  # GitHub
    _prefixed("github_pat_", "[A-Za-z0-9_]{20,}"),
    _prefixed("glpat-", "[A-Za-z0-9_.-]{16,}"),  # GitLab
    _prefixed("AKIA", "[A-Z0-9]{16}(?![A-Za-z0-9])"),  # AWS
    _prefixed("ASIA", "(?=[A-Z]*[0-9])[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _prefixed("AIza", "[A-Za-z0-9_-]{30,}"),  # Google
    _prefixed("ya29.", "[A-Za-z0-9_-]{20,}"),
    _prefixed("GOCSPX-", "[A-Za-z0-9_-]{20,}"),
    _prefixed("xox", "[abeoprs]-[A-Za-z0-9-]{10,}"),  # Slack
    _prefixed("npm_", "[A-Za-z0-9]{30,}"),
    _prefixed("pypi-AgE", "[A-Za-z0-9_-]{20,}"),
    _prefixed("dckr_pat_", "[A-Za-z0-9_-]{20,}"),  # Docker
    _prefixed("nvapi-", "[A-Za-z0-9_-]{20,}"),  # NVIDIA
    _prefixed("gsk_", _NOT_PROSE + "[A-Za-z0-9]{30,}"),  # Groq
    _prefixed("r8_", _NOT_PROSE + "[A-Za-z0-9]{30,}"),  # Replicate
    _prefixed("xai-", _NOT_PROSE + "[A-Za-z0-9]{40,}"),  # xAI
    _prefixed("tgp_v1_", "[A-Za-z0-9_-]{30,}"),  # Together AI
    _prefixed("fw_", _NOT_PROSE + "(?=[A-Za-z]*[0-9])[A-Za-z0-9]{20,}"),  # Fireworks AI
    _prefixed("wandb_v1_", "[A-Za-z0-9_]{30,}"),  # Weights & Biases
    _prefixed("lsv2_", "(?:pt|sk)_[A-Za-z0-9_]{30,}"),  # LangSmith
    _prefixed("csk-", _NOT_PROSE + "[A-Za-z0-9]{30,}"),  # Cerebras
    _prefixed("eyJ", r"[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),  # JSON web token, RFC 7519
)
_RUN: Final = re.compile(rb"[A-Za-z0-9_+/=.~-]{16,}")
_REST_OF_KEY: Final = re.compile(rb"[A-Za-z0-9_+-]*")
RULES_FILE: Final = Path(__file__).with_name("rules.json")


@cache
def keys() -> tuple[Key, ...]:
    """Every kind of key with a known prefix."""
    rules = json.loads(RULES_FILE.read_text(encoding="utf-8"))["rules"]
    return (*PREFIXED, *(Key(rule["id"], tuple(rule["heads"]), rule["regex"], rule.get("entropy", 0.0)) for rule in rules))


class _Heads(NamedTuple):
    """The possible prefixes: the expression that finds one in lower case, and the keys for each."""

    found_by: re.Pattern[bytes]
    keys: dict[bytes, tuple[Key, ...]]


@cache
def _heads() -> _Heads:
    heads = sorted({head for key in keys() for head in key.heads}, key=lambda head: (-len(head), head))
    by_head = {head.encode(): tuple(key for key in keys() if any(head.startswith(start) for start in key.heads)) for head in heads}
    # Grouped by first letter, and without re.IGNORECASE: at most places one comparison for each letter, and not one for each head.
    first = {head[:1]: [rest[1:] for rest in by_head if rest[:1] == head[:1]] for head in by_head}
    groups = (re.escape(letter) + b"(?:" + b"|".join(map(re.escape, rests)) + b")" for letter, rests in first.items())
    return _Heads(re.compile(b"|".join(groups)), by_head)


def key_heads() -> tuple[str, ...]:
    """The possible prefixes of keys in lower case; none is a prefix of another."""
    heads = sorted(head.decode() for head in _heads().keys)
    return tuple(head for head in heads if not any(head != other and head.startswith(other) for other in heads))


def _keys(data: bytes) -> Iterator[Span]:
    heads = _heads()
    for run in _RUN.finditer(data):
        begin, at, folded = run.start(), 0, run[0].lower()
        while (head := heads.found_by.search(folded, at)) is not None:
            span = next(filter(None, (_key(key, data, begin + head.start()) for key in heads.keys[head[0]])), None)
            at = head.start() + 1
            if span is not None:
                yield span
                at = max(at, span.end - begin)


def _key(key: Key, data: bytes, at: int) -> Span | None:
    match = key.compiled.match(data, at)
    if match is None:
        return None
    begin, end = match.span(1 if key.compiled.groups else 0)
    if key.entropy and _entropy(data[begin:end]) < key.entropy:
        return None  # xxxx-xxxx, an example
    rest = _REST_OF_KEY.match(data, end)
    return Span(begin, rest.end() if rest is not None else end, key.rule)


def _entropy(secret: bytes) -> float:
    """Shannon entropy, bits per character, as gitleaks computes it."""
    return -sum(count / len(secret) * math.log2(count / len(secret)) for count in Counter(secret).values())


# ---- places where secrets occur ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """A context in which a secret occurs: the group `secret` of `regex`, which is tried at each trigger."""

    rule: str
    trigger: bytes  # lower case; every match begins with it, in any case
    regex: str
    accepts: Callable[[bytes], bool] = lambda secret: True

    @cached_property
    def compiled(self) -> re.Pattern[bytes]:
        """Compiled on first use."""
        return re.compile(self.regex.encode())


def _place(trigger: str, regex: str, accepts: Callable[[bytes], bool] = lambda secret: True, rule: str = "") -> Place:
    return Place(rule or trigger.strip("-:/ "), trigger.lower().encode(), regex, accepts)


def _is_basic(secret: bytes) -> bool:
    """`Basic` must be followed by base64 of user:password, else "Basic training" would match."""
    try:
        return b":" in base64.b64decode(secret + b"=" * (-len(secret) % 4), validate=True)
    except binascii.Error:
        return False


_CREDENTIALS: Final = (
    _place(
        "authorization",
        r"""(?i:authorization)\\?['"]?\s*[:=]\s*\\?['"]?(?i:bearer|basic|token|digest|apikey)\s+(?P<secret>[^\s'",;\\]{4,})""",
    ),
    _place("authorization", r"""(?i:authorization)\\?['"]?\s*[:=]\s*\\?['"]?(?P<secret>(?=[^\s'",;]*[0-9])[^\s'",;\\]{16,})"""),
    # RFC 6750. Eight characters with a digit, or 24 of any kind: "bearer certificates" is prose.
    _place("bearer", r"(?i:bearer)[\s:]+(?P<secret>(?=[A-Za-z._~+/=-]*[0-9])[A-Za-z0-9._~+/=-]{8,}|[A-Za-z0-9._~+/=-]{24,})"),
    _place("basic", r"(?i:basic)\s+(?P<secret>[A-Za-z0-9+/]{6,}={0,2})", _is_basic),  # RFC 7617
    # RFC 6265: names and values of cookies, up to the end of the header.
    _place("cookie", r"""(?i:cookie)\\?['"]?\s*[:=]\s*\\?['"]?(?P<secret>[^\s=;,'"\\]+=[^\r\n'"\\]{4,4000})"""),
    # RFC 3986 section 3.2.1: the password is between the first colon and the last at sign of the authority.
    _place("://", r"""://[^\s/?#:@'"<>]{0,256}:(?P<secret>[^\s/?#'"<>]{1,1024})@""", rule="password in a URL"),
    # A token instead of a user name: https://TOKEN@host, and the key of a DSN.
    _place("://", r"""://(?P<secret>(?=[^\s/?#:@'"<>]*[0-9])[^\s/?#:@'"<>]{16,1024})@""", rule="token in a URL"),
    # The path of a webhook is the secret.
    _place("hooks.slack.com/", r"(?i:hooks\.slack\.com)/(?P<secret>[A-Za-z0-9_/+-]{16,200})", rule="webhook"),
    _place("/api/webhooks/", r"(?i:/api/webhooks/)(?P<secret>[0-9]{5,30}/[A-Za-z0-9_-]{16,200})", rule="webhook"),
    _place(".webhook.office.com/", r"(?i:\.webhook\.office\.com/webhookb2)/(?P<secret>[A-Za-z0-9_/@-]{16,400})", rule="webhook"),
    # .netrc: machine HOST login NAME password SECRET
    _place(
        "machine",
        r"(?i:machine)\s+\S{1,200}\s+(?i:login)\s+\S{1,200}\s+(?:(?i:account)\s+\S{1,200}\s+)?(?i:password)\s+(?P<secret>\S{1,1000})",
        rule="netrc",
    ),
    _place(
        "curl ",
        r"""(?i:curl)\s[^\r\n]{0,400}?\s(?:-u|--user)[\s=]\s{0,5}['"]?[^\s:'"]{0,200}:(?P<secret>[^\s'"]{3,200})""",
        rule="curl --user",
    ),
    # RFC 7468. If the end mark is missing (a cut log), the lines that look like a key still match.
    _place(
        "-----begin ",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?P<secret>(?:[A-Za-z0-9+/=:,.\\\s]|-(?!----)){0,20000}(?=-----END )|(?:(?:\s|\\n|\\r)*[A-Za-z0-9+/=]{16,})*)",
        rule="private key",
    ),
)


def _assigned(trigger: str, name: str) -> Place:
    """`name=value`, or `name: value` where the value is quoted or has a digit: "password: required" is prose.

    Source code in a traceback (`password=self.password`) stays.
    """
    value = r"(?!(?:self|args|cfg|config|os|kwargs|settings|opt|options)\.|(?i:password|passwd|secret|api_?key|token)\b)[^\s'\",;&\[\]{}()<>]{6,}"
    quoted = rf"""\s{{0,3}}:\s{{0,3}}(?:['"](?={value}['"])|(?=[^\s0-9]{{0,200}}[0-9]))"""
    return _place(trigger, rf"""(?i:{name})['"]?(?:\s{{0,3}}=\s{{0,3}}['"]?|{quoted})(?P<secret>{value})""")


def _query(sign: str) -> Place:
    """A secret URL parameter: ?sig=... of Azure, &key=... of Google, X-Amz-Signature=... of AWS."""
    names = "token|key|sig|signature|code|auth|access_token|api[_-]?key|password|pwd|secret|x-(?:amz|goog)-(?:signature|credential|security-token)"
    return _place(sign, rf"""[{sign}](?i:{names})=(?P<secret>[^\s&#'"<>,;\[\](){{}}]{{6,4000}})""", rule="secret in a URL's query")


_KINDS_OF_TOKEN: Final = ("access", "auth", "api", "refresh", "session", "hf", "github", "gitlab")
_ASSIGNED: Final = (  # without a bare `token=`, which is language-model vocabulary
    _assigned("password", "password"),
    _assigned("passwd", "passwd"),
    _assigned("secret", "secret(?:[_-]?(?:access[_-]?)?key)?"),
    _assigned("access", "access[_-]?key"),
    *(_assigned(f"api{gap}key", f"api{gap}key") for gap in ("_", "-", "")),
    _assigned("_token", f"_token(?:{'|'.join(f'(?<={kind}_token)' for kind in _KINDS_OF_TOKEN)})"),
    _assigned("x-amz-", "x-amz-(?:signature|credential|security-token)"),
    _assigned("sshpass", "sshpass"),
    _query("?"),
    _query("&"),
)

PLACES: Final = (*_CREDENTIALS, *_ASSIGNED)
# Every place needs one of these; the names and versions of packages, most of what a record redacts, have none.
SEPARATOR: Final = re.compile(rb"[\s:=/]")


def _places(data: bytes, folded: bytes) -> Iterator[Span]:
    """`folded` is `data` in lower case."""
    for place in PLACES:
        at = folded.find(place.trigger)
        while at >= 0:
            match = place.compiled.match(data, at)
            end = at + len(place.trigger)
            if match is not None and match["secret"] and place.accepts(match["secret"]):
                yield Span(*match.span("secret"), place.rule)
                end = match.end("secret")
            at = folded.find(place.trigger, end)
