"""Which faults can the reference server inject, and when?

A fault is written as `name:key=value,...`. When it strikes:

    share=0.05        this share of the requests, drawn from the server's seed
    every=20          every 20th request: numbers 19, 39 ...
    requests=3+7      these requests, by their number in the order of reading
    at=5,for=2        requests read from 5 s to 7 s after the first one (or after the faults were set, if that was later)
    above=50          requests read while more than 50 others are in flight

All given conditions must hold; without any, every request is struck. A request may also carry a fault in the header
`x-reference-fault`. The effects (`after`: pieces of text sent before; default: half of them):

    status:code=500               an HTTP status and an error object; 429 and 503 with Retry-After
    close, reset  :after=         the connection is closed, or reset, in the middle
    hang:after=0                  nothing further is ever sent
    stall:at=5,for=2              the whole server pauses; the schedule of answers in flight moves by that time
    truncate:after=               the HTTP message ends properly, but without finish reason, usage and end mark
    error:after=                  an error object inside the stream
    garbage:after=                text that is not JSON instead of chunks;  utf8:after=  bytes that are not UTF-8
    html                          text with HTML and a script in it
    content_type:type=text/html   the answer under another type
    redirect                      a redirect to the same address
    flood:mib=64                  so much data without a single line end
    drip:bytes=1,gap=0.01         the answer in small pieces
    slow:factor=3                 all times of the answer longer
    usage:factor=1.05  usage:value=NaN   a wrong number of output tokens
    short:to=0.5                  this share of the requested tokens, finish reason stop
    differ:from=4                 different words from that word on
    duplicate                     the answer of the previous request
    swap                          two struck requests get each other's answer, if the second comes before the first one's text
    cache:words=0                 a repeated prompt is answered at once, with the old answer; words > 0: repeated means that
                                  so many first words are equal (at most 8)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

Number = TypeVar("Number", int, float)

# name -> parameters with their defaults; "" means half of the pieces
NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "status": {"code": "500"},
    "close": {"after": ""},
    "reset": {"after": ""},
    "hang": {"after": "0"},
    "stall": {},
    "truncate": {"after": ""},
    "error": {"after": ""},
    "garbage": {"after": ""},
    "utf8": {"after": ""},
    "html": {},
    "content_type": {"type": "text/html"},
    "redirect": {},
    "flood": {"mib": "64"},
    "drip": {"bytes": "1", "gap": "0.01"},
    "slow": {"factor": "3"},
    "usage": {"factor": "1.05", "value": ""},
    "short": {"to": "0.5"},
    "differ": {"from": "4"},
    "duplicate": {},
    "swap": {},
    "cache": {"words": "0"},
}
TEXTS: Final = frozenset({"type", "value"})  # parameters that are not numbers


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault, when it strikes and how."""

    name: str
    share: float | None = None
    every: int | None = None
    requests: frozenset[int] = frozenset()
    at_s: float | None = None
    for_s: float | None = None
    above: int | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)

    def strikes(self, number: int, seconds: float, in_flight: int, draw: float) -> bool:
        """True if this request is struck. `seconds`: since the faults began; `draw`: uniform in [0, 1)."""
        begin = self.at_s or 0.0
        return (
            (self.share is None or draw < self.share)
            and (self.every is None or (number + 1) % self.every == 0)
            and (not self.requests or number in self.requests)
            and seconds >= begin
            and (self.for_s is None or seconds < begin + self.for_s)
            and (self.above is None or in_flight > self.above)
        )

    def number(self, key: str) -> float:
        """A numeric parameter."""
        return float(self.parameters[key])

    def after(self, pieces: int) -> int:
        """How many pieces of text come before it."""
        count = self.parameters["after"]
        return min(pieces, int(count)) if count else pieces // 2


def parse(text: str) -> Fault:
    """Parse a fault.

    Raises:
        ValueError: unknown fault or key; the message is for people.
    """
    name, _, rest = text.strip().partition(":")
    if name not in NAMES:
        raise ValueError(f"unknown fault {name!r}; choose from {', '.join(NAMES)}")
    pairs = dict(_pair(word, text) for word in rest.split(",") if word)
    parameters = {key: pairs.pop(key, default) for key, default in NAMES[name].items()}
    try:
        fault = Fault(
            name=name,
            parameters=parameters,
            share=_maybe(float, pairs, "share"),
            every=_maybe(int, pairs, "every"),
            requests=frozenset(int(word) for word in pairs.pop("requests", "").split("+") if word),
            at_s=_maybe(float, pairs, "at"),
            for_s=_maybe(float, pairs, "for"),
            above=_maybe(int, pairs, "above"),
        )
        for key in parameters.keys() - TEXTS:
            float(parameters[key] or 0)
    except ValueError as error:
        raise ValueError(f"fault {text!r}: {error}") from None
    if pairs:
        raise ValueError(f"fault {text!r}: {name} has no parameter {', '.join(pairs)}")
    if name == "stall" and (fault.at_s is None or fault.for_s is None):
        raise ValueError(f"fault {text!r}: a stall needs at= and for=")
    if fault.every is not None and fault.every < 1:
        raise ValueError(f"fault {text!r}: every must be at least 1")
    return fault


def _pair(word: str, text: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals:
        raise ValueError(f"fault {text!r}: {word!r} is not key=value")
    return key, value


def _maybe(kind: Callable[[str], Number], pairs: dict[str, str], key: str) -> Number | None:
    return kind(pairs.pop(key)) if key in pairs else None
