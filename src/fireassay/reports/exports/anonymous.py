"""How is a record shown to reviewers who must not know whose it is?  Hosts, users, paths and addresses are replaced, the same by the same.

Found first, in a fixed order, then replaced everywhere: names of hosts in the environment's facts, in the columns of the tables and in the
addresses of engines; users and paths by their form (`/home/NAME`, `NAME@host`); addresses of the network (IPv4, IPv6, MAC), of mail and of
web pages by theirs.  `localhost` and the loopback addresses stay.  Digests stay: whoever has the record can check that it is this one.
Cannot know a name that stands only in prose, as in an answer of a model, or in the name of the experiment; look at what you publish.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Any, Final

import polars as pl

from fireassay.reports.documents.record import ReportDocument
from fireassay.reports.exports.export import Subject

HOST_COLUMNS: Final = ("host", "peer")
HOST_FACTS: Final = ("host.name",)
KEPT: Final = frozenset(("localhost", "localhost.localdomain", "127.0.0.1", "::1", "0.0.0.0"))
TOP: Final = (
    "com|org|net|edu|gov|mil|int|info|io|ai|dev|cloud|internal|intranet|local|lan|corp|cluster|svc|home|arpa|uk|de|fr|ch|jp|cn|eu|nl|kr|ca"
)
OCTET: Final = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
# What is replaced by its form, in this order; the group of a pattern, or all of it.
FORMS: Final = (
    ("address", r"\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b"),
    ("address", r"(?<![\w:])(?=[0-9a-fA-F:]*::)(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}(?![\w:])"),
    ("address", r"(?<![\w:])(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}(?![\w:])"),
    ("address", rf"(?<![\w.]){OCTET}(?:\.{OCTET}){{3}}(?![\w.]*\w)"),
    ("path", r"://[^/\s\"']+/([^\s\"'<>(),;]+)"),  # of a web page
    ("path", r"\w@[\w.-]+:([\w~][\w./~-]*/[\w./~-]+)"),  # of git and scp
    ("user", r"(?<![\w.+-])[\w.+-]+(?=@[\w-]+)|(?<=/home/)[^/\s\"':,;]+|(?<=/Users/)[^/\s\"':,;]+|(?<=~)[a-z_][\w-]*(?=/)"),
    ("host", rf"(?<=@)[A-Za-z0-9][\w.-]*\w|(?<=://)[A-Za-z0-9][\w.-]*|\b[A-Za-z0-9][\w-]*(?:\.[\w-]+)*\.(?:{TOP})\b"),
    ("path", r"(?<![\w.:/~-])~?/(?:[^/\s\"'<>|:;,()\[\]{}]+/)+[^/\s\"'<>|:;,()\[\]{}]*"),
)


class Names:
    """The identities of a record, each with the word that stands for it."""

    def __init__(self, subject: Subject) -> None:
        self._words: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        for host in _hosts(subject):
            self._named("host", host)
        self._forms = [(kind, re.compile(pattern)) for kind, pattern in FORMS]
        self.text = cache(self._text)

    def _named(self, kind: str, found: str) -> str:
        if found.lower() in KEPT:
            return found
        if found not in self._words:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._words[found] = f"{kind}-{self._counts[kind]}"
            short = found.partition(".")[0]
            if kind == "host" and short not in self._words and len(short) > 1 and not short.isdigit():
                self._words[short] = self._words[found]
        return self._words[found]

    def learn(self, texts: Iterable[str]) -> None:
        """Find what is replaced by its form, so that it is replaced by its name elsewhere too."""
        for text in texts:
            for kind, form in self._forms:
                for found in form.finditer(text):
                    self._named(kind, found[found.lastindex or 0])

    def _text(self, text: str) -> str:
        """A text without identities."""
        if text in self._words:
            return self._words[text]
        for kind, form in self._forms:
            text = form.sub(partial(self._replaced, kind), text)
        return self._known.sub(lambda found: self._words[found[0]], text) if self._words else text

    def _replaced(self, kind: str, found: re.Match[str]) -> str:
        group = found.lastindex or 0
        begin, end = found.start(group) - found.start(), found.end(group) - found.start()
        return found[0][:begin] + self._named(kind, found[group]) + found[0][end:]

    @property
    def _known(self) -> re.Pattern[str]:
        return _either(tuple(self._words))

    def value(self, value: Any) -> Any:
        """A document without identities, in its keys too, but for those that the published document declares."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key if key in declared() else self.text(key): self.value(item) for key, item in value.items()}
        return [self.value(item) for item in value] if isinstance(value, list | tuple) else value

    def frame(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A table without identities."""
        texts = [name for name, kind in frame.schema.items() if kind == pl.String]
        return frame.with_columns(
            frame[name].replace({text: self.text(text) for text in frame[name].drop_nulls().unique()}) for name in texts
        )


@cache
def declared() -> frozenset[str]:
    """The keys of the document, which a host may be called as."""
    return frozenset(row[0] for rows in ReportDocument.fields().values() for row in rows)


@cache
def _either(words: tuple[str, ...]) -> re.Pattern[str]:
    longest = sorted((word for word in words if len(word) > 1), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest)) or '(?!)'})(?![\w-])")


def _hosts(subject: Subject) -> Iterator[str]:
    """Names of hosts, where the record says that they are some."""
    for fact in subject.document["environment"]:
        if fact["fact"] in HOST_FACTS:
            yield from (text for key in ("before", "after") if (text := fact[key].strip("\"' ")) and "not " not in text)
    yield from (host["host"] for host in subject.document.get("hosts", ()))
    for frame in subject.measured.tables.values():
        for name in HOST_COLUMNS:
            if name in frame.columns:
                yield from frame[name].drop_nulls().unique().sort()
    for placement in subject.measured.tables["launches"]["placement"].drop_nulls().unique().sort():
        yield from _placed(placement)


def _placed(placement: str) -> Iterator[str]:
    try:
        hosts = json.loads(placement).get("hosts", ())
    except (ValueError, AttributeError):
        return
    yield from (host for host in hosts if isinstance(host, str) and host)


def texts_of(subject: Subject) -> Iterator[str]:
    """Every text that leaves, for `learn`: in a fixed order."""
    yield from _strings(subject.document)
    for frame in subject.measured.tables.values():
        for name in (name for name, kind in frame.schema.items() if kind == pl.String):
            yield from frame[name].drop_nulls().unique().sort()


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from (key, *_strings(item))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)
