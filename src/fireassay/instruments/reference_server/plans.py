"""What will the reference server send for a request, piece by piece, and when is each piece due?

    content            words, usage, finish reason            changed by the faults in SAID
    pieces             head and role, texts, tail             changed by the faults in PIECES
    times              of each piece, from the request on     changed by `slow`, `drip` and a hit of `cache`

A piece is the payload of one send(). Everything is known before the first piece is sent.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from fireassay.instruments.reference_server.answers import LAST_CHUNK, Chunks, Request, Texts, dumped, head, problem, reply, usage_of
from fireassay.instruments.reference_server.faults import Fault
from fireassay.instruments.reference_server.settings import Settings
from fireassay.instruments.reference_server.solving import shares_of

SECOND: Final = 1_000_000_000
HTML: Final = ("<b>bold</b>", "<script>alert(1)</script>", "<img", "src=x", "onerror=alert(2)>", "</td>&amp;")
FLOOD: Final = b"x" * 65536


@dataclass(slots=True, kw_only=True)
class Plan:
    """The pieces for a request. `offsets[i]` is when `pieces[i]` is due, in nanoseconds after the request's start."""

    pieces: list[bytes]
    offsets: Sequence[int]
    ending: str = "keep"  # keep, close, reset or hang
    first_text: int = 0  # index of the piece with the first text
    texts: int = 0  # number of pieces with text, from there on
    tokens_in: int = 0
    tokens_out: int = 0
    answer: Said | None = None


@dataclass(slots=True, kw_only=True)
class Said:
    """The content of an answer, before it is cut into pieces."""

    request: Request
    words: list[str]
    finish: str = "length"
    usage_out: int | str | None = None  # reported output tokens; None: the truth
    at_once: bool = False
    faults: Sequence[Fault] = ()
    number: int = 0
    reasoning: int = 0  # of the words, those that the usage calls reasoning


@dataclass
class Planner:
    """Makes plans; keeps the state of faults that need memory."""

    settings: Settings
    _texts: Texts = field(init=False)
    _chunks: Callable[[bool, str], Chunks] = field(init=False)
    _random: random.Random = field(init=False)
    _offsets: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _seen: dict[object, list[str]] = field(default_factory=dict)
    _before: list[str] = field(default_factory=list)
    _shares: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        self._texts = Texts(self.settings.salt)
        self._chunks = lru_cache(maxsize=16)(lambda chat, model: Chunks(self.settings, chat=chat, model=model))
        self._random = random.Random(self.settings.seed)
        self._shares = shares_of(self.settings.solves)

    def plan(self, request: Request, number: int, faults: Sequence[Fault] = ()) -> Plan:
        """The plan for the request with this number."""
        for fault in faults:
            if fault.name in INSTEAD:
                pieces = INSTEAD[fault.name](fault, request)
                return Plan(pieces=pieces, offsets=(self._first(),) * len(pieces), tokens_in=request.tokens_in)
        if request.pieces:
            return self._as_made(request)
        return self.pieces_of(self.say(request, number, faults))

    def _as_made(self, request: Request) -> Plan:
        """The plan for an answer that is no text: its first piece is due like a first token."""
        first, gap = self._first(), round(self.settings.next_s * SECOND)
        offsets = tuple(first + (request.waits + index) * gap for index in range(len(request.pieces)))
        plan = Plan(pieces=list(request.pieces), offsets=offsets, texts=len(offsets), tokens_in=request.tokens_in)
        return self._flushed(plan) if self.settings.flush_all else plan

    def say(self, request: Request, number: int, faults: Sequence[Fault]) -> Said:
        """The content of the answer, by the request and the faults in SAID."""
        count = request.tokens_out or self.settings.tokens
        words, reasoning = self._texts.words(request.tail, count), 0
        if self._shares and request.sum is not None:
            reasoning = request.sum.reasoning
            words = [*self._texts.words((), reasoning), *request.sum.answer(self._shares, self.settings.seed, number)]
        if self.settings.numbered:
            words = [f"r{number}", *words[: count - 1]]
        answer = Said(request=request, words=words, faults=faults, number=number, reasoning=reasoning)
        for fault in faults:
            if fault.name in SAID:
                SAID[fault.name](self, fault, answer)
        self._before = answer.words
        return answer

    def pieces_of(self, answer: Said) -> Plan:
        """The plan for an answer."""
        request, chunks = answer.request, self._chunks(answer.request.chat, answer.request.model)
        count = len(answer.words)
        usage = usage_of(request.tokens_in, count if answer.usage_out is None else answer.usage_out, answer.reasoning)
        if request.stream:
            tell = self.settings.usage == "always" or (self.settings.usage == "asked" and request.usage)
            plan = self._streamed(answer, chunks, usage if tell else "")
        else:
            offsets = self._times(count)
            plan = Plan(pieces=[chunks.whole(" ".join(answer.words), usage, answer.finish)], offsets=offsets[-1:], texts=1)
        plan.tokens_in, plan.tokens_out, plan.answer = request.tokens_in, count, answer
        for fault in answer.faults:
            if fault.name in PIECES:
                PIECES[fault.name](plan, fault, chunks)
        if answer.at_once:
            plan.offsets = (0,) * len(plan.pieces)
        return self._flushed(plan) if self.settings.flush_all else plan

    def _streamed(self, answer: Said, chunks: Chunks, usage: str) -> Plan:
        """Head, role, texts and tail by the settings."""
        texts = self._pieces_of_text(answer.words, chunks)
        offsets = self._times(len(answer.words))
        texts.append(chunks.tail(usage, answer.finish))
        role = self.settings.role if answer.request.chat else "none"
        if role == "at_once":
            return Plan(pieces=[chunks.head + chunks.role, *texts], offsets=(0, *offsets), first_text=1, texts=len(texts) - 1)
        texts[0] = chunks.head + (chunks.role if role == "with_first" else b"") + texts[0]
        return Plan(pieces=texts, offsets=offsets, texts=len(texts) - 1)

    def _pieces_of_text(self, words: list[str], chunks: Chunks) -> list[bytes]:
        size, text = self.settings.tokens_per_chunk, chunks.text
        if size == 1:
            return [text(words[0]), *[text(" " + word) for word in words[1:]]]
        groups = [" ".join(words[at : at + size]) for at in range(0, len(words), size)]
        return [text(groups[0]), *[text(" " + group) for group in groups[1:]]]

    def _times(self, count: int) -> Sequence[int]:
        """The due time of each piece of text; the tail comes with the last of them."""
        settings = self.settings
        size = settings.tokens_per_chunk
        if not (settings.spread_first_s or settings.spread_next_s or settings.exponential):
            if (known := self._offsets.get(count)) is None:
                last = [min(at + size, count) - 1 for at in range(0, count, size)]
                known = tuple(round((settings.first_s + token * settings.next_s) * SECOND) for token in [*last, last[-1]])
                self._offsets[count] = known
            return known
        at, tokens = self._first(), []
        for _ in range(count):
            tokens.append(at)
            at += round((settings.next_s + self._random.uniform(0.0, settings.spread_next_s)) * SECOND)
        ends = [tokens[min(begin + size, count) - 1] for begin in range(0, count, size)]
        return [*ends, ends[-1]]

    def _first(self) -> int:
        """When the first token is due."""
        settings = self.settings
        first = self._random.expovariate(1.0 / settings.first_s) if settings.exponential and settings.first_s else settings.first_s
        return round((first + (self._random.uniform(0.0, settings.spread_first_s) if settings.spread_first_s else 0.0)) * SECOND)

    def _flushed(self, plan: Plan) -> Plan:
        """Merge into one piece, due with the first text, except a role that is sent at once."""
        begin = plan.first_text
        rest = plan.pieces[begin:]
        if rest:
            plan.pieces = [*plan.pieces[:begin], b"".join(rest)]
            plan.offsets = [*plan.offsets[:begin], plan.offsets[begin]]
            plan.texts = min(1, plan.texts)
        return plan

    def seen(self, key: object, words: list[str]) -> list[str] | None:
        """The words given for this key before; if none, remember these."""
        known = self._seen.get(key)
        if known is None:
            self._seen[key] = words
        return known

    @property
    def before(self) -> list[str]:
        """The words of the last planned answer."""
        return self._before

    def otherwise(self, answer: Said) -> list[str]:
        """Another model's answer."""
        return self._texts.words(answer.request.tail, len(answer.words), salt="another model")


# ---- faults of the content


def _short(planner: Planner, fault: Fault, answer: Said) -> None:
    answer.words = answer.words[: max(1, int(len(answer.words) * fault.number("to")))]
    answer.finish = "stop"


def _usage(planner: Planner, fault: Fault, answer: Said) -> None:
    answer.usage_out = fault.parameters["value"] or round(len(answer.words) * fault.number("factor"))


def _differ(planner: Planner, fault: Fault, answer: Said) -> None:
    begin = int(fault.number("from"))
    # every answer echoes the prompt, so take the other model's words after the echo
    other = [word[::-1] for word in planner.otherwise(answer)]
    answer.words = [*answer.words[:begin], *other[begin:]]


def _duplicate(planner: Planner, fault: Fault, answer: Said) -> None:
    if planner.before:
        answer.words = list(planner.before)


def _html(planner: Planner, fault: Fault, answer: Said) -> None:
    answer.words = [HTML[at % len(HTML)] for at in range(len(answer.words))]


def _cache(planner: Planner, fault: Fault, answer: Said) -> None:
    words = int(fault.number("words"))
    key = (answer.request.chat, answer.request.begin[:words]) if words else (answer.request.chat, answer.request.whole)
    if (old := planner.seen(key, answer.words)) is not None:
        answer.words, answer.at_once = list(old), True


SAID: Final[Mapping[str, Callable[[Planner, Fault, Said], None]]] = {
    "short": _short,
    "usage": _usage,
    "differ": _differ,
    "duplicate": _duplicate,
    "html": _html,
    "cache": _cache,
}

# ---- faults of the pieces


def _cut(plan: Plan, fault: Fault) -> int:
    """Keep `after` pieces of text and nothing after them; returns their number."""
    kept = fault.after(plan.texts)
    if plan.answer is not None and not plan.answer.request.stream:
        # an answer in one piece is cut in the middle of its bytes
        plan.pieces = [plan.pieces[0][: len(plan.pieces[0]) // 2]] if fault.parameters["after"] != "0" else []
    else:
        plan.pieces = plan.pieces[: plan.first_text + kept]
    plan.texts = kept
    return kept


def _ended(ending: str) -> Callable[[Plan, Fault, Chunks], None]:
    def end(plan: Plan, fault: Fault, chunks: Chunks) -> None:
        _cut(plan, fault)
        plan.ending = ending

    return end


def _append(plan: Plan, chunks: Chunks, last: bytes) -> None:
    """Make this the last piece, after a head if nothing was kept."""
    if plan.answer is not None and not plan.answer.request.stream:
        return
    plan.pieces.append(last if plan.pieces else chunks.head + last)


def _truncate(plan: Plan, fault: Fault, chunks: Chunks) -> None:
    _cut(plan, fault)
    if plan.answer is not None and not plan.answer.request.stream:
        plan.ending = "close"  # an incomplete body has no proper end
    _append(plan, chunks, LAST_CHUNK)


def _error(plan: Plan, fault: Fault, chunks: Chunks) -> None:
    payload = dumped({"error": {"message": "the engine has died", "type": "server_error", "code": 500}})
    if plan.answer is not None and not plan.answer.request.stream:
        plan.pieces = [reply(200, payload.encode())]
    else:
        _cut(plan, fault)
        _append(plan, chunks, chunks.event(payload) + LAST_CHUNK)


def _replaced(payload: str) -> Callable[[Plan, Fault, Chunks], None]:
    """Replace pieces of text by this payload, from `after` on."""

    def replace(plan: Plan, fault: Fault, chunks: Chunks) -> None:
        if plan.answer is not None and not plan.answer.request.stream:
            plan.pieces = [reply(200, payload.encode("utf-8", "surrogateescape"))]
            return
        begin = plan.first_text + fault.after(plan.texts)
        for at in range(begin, plan.first_text + plan.texts):
            first = chunks.head if at == 0 else b""  # the first piece holds the head too
            plan.pieces[at] = first + chunks.event(payload)

    return replace


def _content_type(plan: Plan, fault: Fault, chunks: Chunks) -> None:
    mime = b"content-type: " + fault.parameters["type"].encode("latin-1", "replace") + b"\r\n"
    before, _, after = plan.pieces[0].partition(b"content-type: ")
    plan.pieces[0] = before + mime + after.partition(b"\r\n")[2]


def _drip(plan: Plan, fault: Fault, chunks: Chunks) -> None:
    size, gap = max(1, int(fault.number("bytes"))), round(fault.number("gap") * SECOND)
    whole, begin = b"".join(plan.pieces), plan.offsets[0]
    plan.pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    plan.offsets = [begin + at * gap for at in range(len(plan.pieces))]
    plan.first_text, plan.texts = 0, 0  # no piece holds a whole text


def _slow(plan: Plan, fault: Fault, chunks: Chunks) -> None:
    plan.offsets = [round(offset * fault.number("factor")) for offset in plan.offsets]


# a slow server may also break: times first, cuts after them
PIECES: Final[Mapping[str, Callable[[Plan, Fault, Chunks], None]]] = {
    "slow": _slow,
    "close": _ended("close"),
    "reset": _ended("reset"),
    "hang": _ended("hang"),
    "truncate": _truncate,
    "error": _error,
    "garbage": _replaced('{"choices": [{"delta": nonsense'),
    "utf8": _replaced('{"choices": [{"index": 0, "delta": {"content": "\udcff\udcfe"}, "text": "\udcc3("}]}'),
    "content_type": _content_type,
    "drip": _drip,
}

# ---- other answers ---------------------------------------------------------------------------------------------------


def _status(fault: Fault, request: Request) -> list[bytes]:
    code = int(fault.number("code"))
    return [problem(code, f"injected fault {code}", b"retry-after: 1\r\n" if code in (429, 503) else b"")]


def _redirect(fault: Fault, request: Request) -> list[bytes]:
    path = b"/v1/chat/completions" if request.chat else b"/v1/completions"
    return [head(307, "text/plain", b"location: %b\r\ncontent-length: 0\r\n" % path)]


def _flood(fault: Fault, request: Request) -> list[bytes]:
    first = head(200, "text/event-stream", b"transfer-encoding: chunked\r\n")
    block = b"%x\r\n%b\r\n" % (len(FLOOD), FLOOD)
    begin = b'data: {"choices": [{"index": 0, "delta": {"content": "'
    return [first + b"%x\r\n%b\r\n" % (len(begin), begin), *([block] * int(fault.number("mib") * 16)), LAST_CHUNK]


INSTEAD: Final[Mapping[str, Callable[[Fault, Request], list[bytes]]]] = {"status": _status, "redirect": _redirect, "flood": _flood}
