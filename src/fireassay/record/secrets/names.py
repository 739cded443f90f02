"""Does a variable, key, header or flag of this name hold a secret?  HF_TOKEN yes, TOKENIZERS_PARALLELISM no.

Decided by the words of the name, or by declaration: `declare` takes the names that an experiment gives as
`api_key_env` or as {env:NAME}.
Cannot recognise an undeclared secret under an ordinary name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

# A name is secret if it contains one of these, with or without separators: PGPASSWORD, MySecretKey ...
_STRONG: Final = (
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASSCODE",
    "SSHPASS",
    "SECRET",
    "CREDENTIAL",
    "APIKEY",
    "ACCESSKEY",
    "PRIVATEKEY",
    "AUTHKEY",
    "SIGNINGKEY",
    "ENCRYPTIONKEY",
    "DEPLOYKEY",
    "SSHKEY",
    "LICENSEKEY",
    "ACCOUNTKEY",
    "STORAGEKEY",
    "SESSIONKEY",
    "SUBSCRIPTIONKEY",
    "AUTHTOKEN",
    "CONNECTIONSTRING",
    "COOKIE",
    "WEBHOOK",
)
# ... or if one of its words is one of these (or ends in TOKEN, as in GITHUBTOKEN).
_WORDS: Final = frozenset({"TOKEN", "AUTH", "AUTHORIZATION", "SESSION", "PASS", "PAT", "JWT", "BEARER", "CREDS", "APITOKEN", "DSN"})
# ... or, for a variable, if its last word has one of these endings: GATEWAY_KEY, DB_PWD.  `--text-key` names a data set's column.
_VARIABLE_ENDINGS: Final = frozenset({"KEY", "KEYS", "PWD"})
_ORDINARY_KEYS: Final = frozenset(
    {
        "PUBLIC",
        "PRIMARY",
        "FOREIGN",
        "SORT",
        "PARTITION",
        "GROUP",
        "CACHE",
        "INDEX",
        "UNIQUE",
        "HOST",
        "OLD",
        "INIT",
        "ROW",
        "MAP",
        "TEXT",
        "LABEL",
        "IMAGE",
        "PROMPT",
        "INPUT",
        "OUTPUT",
        "TARGET",
        "DATA",
        "QUERY",
        "COLUMN",
        "FIELD",
        "METRIC",
        "HOT",
        "MON",
    }
)
# Last words that mark the value as a reference to a secret, or a number about it.
_HARMLESS_ENDINGS: Final = frozenset(
    {
        "PATH",
        "FILE",
        "DIR",
        "FOLDER",
        "SOCK",
        "COUNT",
        "LENGTH",
        "SIZE",
        "TYPE",
        "TIMEOUT",
        "TTL",
        "EXPIRY",
        "LIMIT",
        "ENABLED",
        "MODE",
        "MANAGER",
        "ADDRESS",
        "LEADER",
        "PID",
    }
)
# Language-model vocabulary: --pad-token, EOS_TOKEN, price_per_token are settings, not secrets.
_VOCABULARY: Final = frozenset(
    {
        "EOS",
        "BOS",
        "PAD",
        "UNK",
        "SEP",
        "CLS",
        "MASK",
        "STOP",
        "START",
        "END",
        "SPECIAL",
        "IMAGE",
        "PER",
        "MAX",
        "MIN",
        "NUM",
        "FIRST",
        "LAST",
        "NEXT",
        "NEW",
        "PROMPT",
        "OUTPUT",
        "INPUT",
        "BY",
        "TIME",
    }
)
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


def _is_plain(words: Sequence[str]) -> bool:
    """True if the name contains an unambiguous word for a secret."""
    if not words or "_".join(words) in _HARMLESS_NAMES or words[-1] in _HARMLESS_ENDINGS:
        return False
    if any(strong in "".join(words) for strong in _STRONG):
        return True
    return any(_secret_word(word, words[:at]) for at, word in enumerate(words))


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[^A-Z0-9]+", _CAMEL.sub("_", name).upper()) if word]


def _secret_word(word: str, before: Sequence[str]) -> bool:
    if word.endswith("TOKEN"):
        return not (before and before[-1] in _VOCABULARY)
    return word in _WORDS
