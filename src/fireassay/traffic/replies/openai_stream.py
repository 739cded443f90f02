"""How is a finished chat or completions reply in OpenAI's dialect parsed, streamed or not?

The chunks of an answer usually differ only in the text, and answers only in ID, text and counts.  So a chunk's meaning is parsed as JSON
once and cached by its bytes after the ID; and where two consecutive chunks have the same bytes around the text, all following ones of
that form are split by one `bytes.split`.  Nothing is guessed: unknown bytes are parsed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

from fireassay.traffic.chunks import SIZES
from fireassay.traffic.parts import Answer, Ask, Kind, Reply, Status
from fireassay.traffic.replies.openai_json import (
    ID,
    MAX_CHUNK_BYTES,
    MAX_ERROR,
    NO_MESSAGE,
    STARTS,
    TEMPLATES,
    WINDOW,
    ChoiceText,
    Heads,
    Template,
    began_well,
    error_message,
    events,
    first_choice,
    first_other,
    is_error,
    is_failure,
    is_plain,
    learn_template,
    loads,
    logprobs_of,
    no_end,
    parse_event,
    split,
    status_of,
    text_of_choice,
    texts_of,
    usage_of,
    why_failed,
)


def read_openai(reply: Reply, ask: Ask, chat: bool) -> Answer:
    """Parse a reply of the chat or the completions API, streamed or not. Never raises, whatever the server sent.

    `chat`: which of the two was requested; both formats are accepted, as some engines answer one with the other.
    """
    framed = reply.framed
    if framed is not None and began_well(reply) and "event-stream" in reply.headers.get("content-type", "").lower():
        reader = Reader(reply.ns, framed.ends, reply.unsure, whole=True, framing=2)
        size = reader.read_framed(framed.raw)
        if size:
            reply.size = size
            return reader.answer(None, None)
    status = status_of(reply)
    if status is not None and not began_well(reply):
        return Answer(status=status, error=why_failed(reply, status))
    if _is_stream(reply, ask):
        body, ends = reply.body, reply.ends  # without framing from here on
        reader = Reader(reply.ns, ends, reply.unsure, whole=reply.ended == "complete")
        reader.read(body)
        return reader.answer(status, None if status is None else why_failed(reply, status))
    if status is not None:
        return Answer(status=status, error=why_failed(reply, status))
    return _read_whole(reply)


def _is_stream(reply: Reply, ask: Ask) -> bool:
    kind = reply.headers.get("content-type", "").lower()
    if "event-stream" in kind:
        return True
    head = reply.body[:64].lstrip()
    return ask.stream and "html" not in kind and head.startswith((b"data:", b"event:", b":", b"id:", b"retry:"))


def _read_whole(reply: Reply) -> Answer:
    """Parse a non-streamed JSON answer."""
    try:
        document = loads(reply.body)
    except ValueError as error:
        kind = reply.headers.get("content-type", "no content type")
        return Answer(status="malformed", error=f"the answer ({kind}) is not JSON: {error}"[:MAX_ERROR])
    if isinstance(document, dict) and is_error(document):
        return Answer(status="error", error=error_message(document) or NO_MESSAGE)
    if not isinstance(document, dict) or "choices" not in document:
        return Answer(status="malformed", error="the answer has no choices")
    reader = Reader(reply.ns, reply.ends, (), whole=True)
    reader.chunk(document, reply.ns[-1] if reply.ns else 0)
    reader.end_whole(reply.unsure_whole())
    return reader.answer(None, None)


class _Meaning(NamedTuple):
    """The meaning of a chunk without text."""

    kind: Kind
    finish: str | None
    usage: dict[str, int | None] | None


_MEANINGS: Final[dict[bytes, _Meaning]] = {}  # bytes after the ID -> meaning, for chunks without text
_MAX_MEANINGS = 512
_DONE: Final = b"[DONE]"
_LAST: Final = b"data: [DONE]\n\n"


class Reader:
    """Parses a stream, chunk by chunk.

    framing: bytes allowed between an event's end and its read's end for the event to count as the read's last byte.
    """

    def __init__(self, read_ns: Sequence[int], ends: Sequence[int], unsure: Sequence[int], *, whole: bool, framing: int = 0) -> None:
        self._read_ns, self._ends = read_ns, ends
        self._read_unsure, self._framing = unsure, framing
        self._unsure: list[int] = []
        self._last_read = len(read_ns) - 1
        self._whole = whole
        self._ns: list[int] = []
        self._kind: list[int] = []
        self._chars: list[int] = []
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._logprobs: list[float] = []
        self._usage: dict[str, int | None] = {}
        self._finish: str | None = None
        self._error: str | None = None  # reported by the server
        self._malformed: str | None = None
        self._done = False
        self._id = b""  # the last event's start, up to the end of its ID

    # -- result

    def answer(self, status: Status | None, why: str | None) -> Answer:
        """The result; the transport's verdict, if any, takes precedence."""
        if status is None or (status == "truncated" and self._error):
            status, why = self._verdict()
        usage = self._usage
        return Answer(
            status=status,
            error=why and why[:MAX_ERROR],
            finish_reason=self._finish,
            tokens_in=usage.get("in"),
            tokens_out=usage.get("out"),
            tokens_reasoning=usage.get("reasoning"),
            tokens_cached=usage.get("cached"),
            chunk_ns=self._ns,
            chunk_kind=self._kind,
            chunk_chars=self._chars,
            chunk_uncertainty_ns=self._unsure,
            text="".join(self._content) or None,
            reasoning="".join(self._reasoning) or None,
            logprobs=self._logprobs,
        )

    def end_whole(self, unsure: list[int]) -> None:
        """Mark the end of a non-streamed JSON answer, which was complete."""
        self._unsure = unsure
        self._done = True
        if self._kind[-1] in (Kind.OTHER, Kind.USAGE):
            self._malformed = self._malformed or "the answer has no choice"

    def _verdict(self) -> tuple[Status, str | None]:
        if self._error:
            return "error", self._error
        if self._malformed:
            return "malformed", self._malformed
        if (why := no_end(self._finish)) is not None:
            return "error", why
        if self._done or self._finish is not None:
            return "ok", None
        if not self._kind:
            return "malformed", "the answer has no chunk"
        return "truncated", "the answer ended without a finish reason"

    # -- events

    def _at(self, end: int) -> int:
        """When the first `end` bytes had all arrived. Call once per chunk: it records the chunk's uncertainty."""
        last = self._last_read
        read = min(bisect_left(self._ends, end), last) if last else 0
        if self._read_unsure:
            self._unsure.append(self._unsure_of(read, end))
        return self._read_ns[read]

    def _unsure_of(self, read: int, end: int) -> int:
        """How much before a read's time the first `end` bytes may have arrived: 0 if they end with its last byte."""
        unsure = self._read_unsure[read]
        bytes_after = self._ends[read] - end
        return 0 if unsure >= 0 and (not bytes_after or bytes_after == self._framing) else abs(unsure)

    def read(self, body: bytes) -> None:
        """Parse all events of the body."""
        if b"\r" in body or body.startswith(b"\xef"):
            for end, name, data in events(body, whole=self._whole):
                self._event(name, data, self._at(end))
            return
        begin, size = 0, len(body)
        while begin < size:
            begin = self._known(body, begin) or self._next(body, begin)

    def _known(self, body: bytes, begin: int) -> int:
        """Parse the event at `begin`, and those of its form that follow, from the caches; 0 if it is unknown."""
        after = self._meant(body, begin)
        if after > 0:
            return after
        id_end = begin + len(self._id)
        if after < 0:
            for template in TEMPLATES:
                if body.startswith(template.before, id_end):
                    return self._run(body, begin, self._id + template.before, template)
        return 0

    def _meant(self, body: bytes, begin: int) -> int:
        """Parse the event at `begin` if its bytes are cached.

        Returns:
            Where the next event starts; 0: unknown; -1: it has an ID, and may have text.
        """
        if not body.startswith(ID, begin):
            if not body.startswith(_LAST, begin):
                return 0
            self._done = True
            self._put(self._at(begin + len(_LAST)), Kind.DONE)
            return begin + len(_LAST)
        id_end = begin + len(self._id)
        if not (self._id and body.startswith(self._id, begin)):
            id_end = body.find(b'"', begin + len(ID)) + 1
            name = body[begin:id_end]
            if not id_end or not is_plain(name[len(ID) : -1]):
                return 0
            self._id = name
        stop = body.find(b"\n\n", id_end)
        if stop < 0:
            return 0
        meaning = _MEANINGS.get(body[id_end:stop])
        if meaning is None:
            return -1
        self._put(self._at(stop + 2), meaning.kind)
        if meaning.finish is not None:
            self._finish = meaning.finish
        if meaning.usage is not None:
            self._usage = meaning.usage
        return stop + 2

    def _next(self, body: bytes, begin: int) -> int:
        """Parse the event at `begin`; returns where the next one starts."""
        position = body.find(b"\n\n", begin)
        if position < 0 and not self._whole:
            return len(body)
        end = position + 2 if position >= 0 else len(body)
        event = parse_event(body[begin : position if position >= 0 else end])
        if event is None:
            return end
        delta = self._event(*event, self._at(end))
        if delta is not None:
            learn_template(body, begin, end, delta)
        return end

    def _run(self, body: bytes, begin: int, before: bytes, template: Template) -> int:
        """Parse the chunks from `begin` that differ only in the text; returns where the first other one starts, 0 if at `begin`."""
        pieces = split(body[begin + len(before) : begin + WINDOW], template.after, before)
        count = self._take(pieces, template.kind)
        if not count:
            return 0
        overhead = len(before) + len(template.after)
        stops = list(accumulate([overhead + len(piece) for piece in pieces[:count]], initial=begin))
        self._stamp(stops[1:])
        return stops[-1]

    def _take(self, pieces: list[bytes], kind: Kind) -> int:
        """Add chunk texts, given as raw JSON strings; returns how many, since an invalid one ends them."""
        joined = b"".join(pieces)
        plain = joined.isascii() and b'"' not in joined and b"\\" not in joined
        text = joined.decode() if plain else ""
        if plain and text.isprintable():
            chars = list(map(len, pieces))
        else:
            texts = texts_of(pieces)
            text, chars = "".join(texts), list(map(len, texts))
        (self._content if kind == Kind.CONTENT else self._reasoning).append(text)
        self._chars += chars
        self._kind += [kind if n else Kind.ROLE for n in chars] if 0 in chars else [kind] * len(chars)
        return len(chars)

    def _stamp(self, stops: list[int]) -> None:
        """Record arrival times of consecutive chunks that end at these positions, framing included."""
        ns, ends, last = self._read_ns, self._ends, self._last_read
        count = len(stops)
        read = bisect_left(ends, stops[0] - self._framing) if last else 0
        if ends[read : read + count] == stops:  # each ends its own read: the common case
            self._ns += ns[read : read + count]
            if self._read_unsure:
                group = self._read_unsure[read : read + count]
                self._unsure += [0] * count if min(group) >= 0 else [max(0, -unsure) for unsure in group]
            return
        if read >= last or ends[read] >= stops[-1]:  # all in one read
            read = min(read, last)
            self._ns += [ns[read]] * count
            if self._read_unsure:
                self._unsure += [abs(self._read_unsure[read])] * count
                self._unsure[-1] = self._unsure_of(read, stops[-1] - self._framing)
            return
        stops = [stop - self._framing for stop in stops] if self._framing else stops
        reads = [min(bisect_left(ends, stop, read), last) for stop in stops]
        self._ns += [ns[index] for index in reads]
        if self._read_unsure:
            self._unsure += map(self._unsure_of, reads, stops)

    # -- with transfer framing

    def read_framed(self, raw: bytes) -> int:
        """Parse all events of a chunked body whose chunks hold whole events: the common case.

        Returns:
            Bytes of the body without framing; 0: it has another form, so discard what was parsed.
        """
        position = body = 0
        try:
            while True:
                stop = raw.find(b"\r\n", position)
                length = SIZES[raw[position:stop]]
                begin, end = stop + 2, stop + 2 + length
                if not length:
                    return body if raw[begin:] == b"\r\n" else 0
                if raw[end - 2 : end + 2] != b"\n\n\r\n":
                    return 0
                template = self._chunk_events(raw, begin, end)
                if template is None:
                    position, body = end + 2, body + length
                    continue
                position, more = self._framed_run(raw, position, template)
                if not more:
                    return 0
                body += more
        except ValueError:  # not a chunk size
            return 0

    def _chunk_events(self, raw: bytes, begin: int, end: int) -> Template | None:
        """Parse the events of one chunk; returns a template if its only event starts a run.

        Raises:
            ValueError: they need the general parser.
        """
        at = begin
        while at < end:
            after = self._meant(raw, at)
            if after < 0 and at == begin:
                id_end = at + len(self._id)
                for template in TEMPLATES:
                    if raw.startswith(template.before, id_end):
                        return template
            if after <= 0:
                after = raw.find(b"\n\n", at) + 2
                event = raw[at:after]
                if b"\r" in event or event.startswith(b"\xef"):
                    raise ValueError("line ends other than LF")
                event_parts = parse_event(event[:-2])
                if event_parts is not None and self._event(*event_parts, self._at(after)) is not None:
                    raise ValueError("the template is not learned yet")
            at = after
        return None

    def _framed_run(self, raw: bytes, position: int, template: Template) -> tuple[int, int]:
        """Parse the chunks from `position` on that differ only in the text and hence the size.

        Returns:
            Where the first other one starts, and how many body bytes they hold; 0: none.
        """
        heads = Heads(self._id + template.before, template.after)
        pieces = raw[position : position + WINDOW].split(heads.needle)
        pieces[0] = heads.tail + pieces[0]
        rest = pieces.pop()
        lengths = list(map(len, pieces))
        if not (rest.startswith(heads.tail) and all(map(STARTS, pieces, map(heads.__getitem__, lengths)))):
            first = first_other(pieces, rest, heads)
            if not first:
                return position, 0
            del pieces[first:], lengths[first:]
        least, most = min(heads.values(), key=len), max(heads.values(), key=len)
        width = len(least)
        if width == len(most):
            texts = [piece[width:] for piece in pieces]
            framing = len(pieces) * (width - heads.bare)
        else:
            texts = [piece[len(heads[n]) :] for piece, n in zip(pieces, lengths, strict=True)]
            framing = sum(len(heads[n]) - heads.bare for n in lengths)
        if not texts or self._take(texts, template.kind) != len(texts):
            return position, 0
        step = len(heads.needle)
        end = position + sum(lengths) + step * len(lengths)
        self._stamp(list(accumulate([n + step for n in lengths], initial=position))[1:])
        return end, end - position - framing

    def _event(self, name: str, data: bytes, ns: int) -> ChoiceText | None:
        """Parse one event; returns the text of a chunk that contains only text."""
        if data == _DONE or data.strip() == _DONE:
            self._done = True
            self._put(ns, Kind.DONE)
            return None
        try:
            document = loads(data)
        except ValueError as error:
            if is_failure(name):
                self._fail(ns, data.decode("utf-8", "replace"))
            else:
                self._malformed = self._malformed or f"a chunk is not JSON: {error}"
                self._put(ns, Kind.OTHER)
            return None
        if not isinstance(document, dict):
            self._malformed = self._malformed or "a chunk is not a JSON object"
            self._put(ns, Kind.OTHER)
            return None
        if is_failure(name) or is_error(document):
            self._fail(ns, error_message(document))
            return None
        delta = self.chunk(document, ns)
        if delta is None:
            self._remember(data, document)
        return delta

    def _remember(self, data: bytes, document: Mapping[str, Any]) -> None:
        """Cache the meaning of a chunk without text, for the same bytes with another ID."""
        id_end = data.find(b'"', 7) + 1
        if (
            not (data.startswith(ID[6:]) and id_end > 7 and len(data) <= MAX_CHUNK_BYTES)
            or b"\n" in data
            or not is_plain(data[7 : id_end - 1])
        ):
            return
        if self._error or self._malformed or self._chars[-1] or b'"logprobs":{' in data or self._kind[-1] == Kind.OTHER:
            return
        if len(_MEANINGS) >= _MAX_MEANINGS:
            _MEANINGS.clear()
        choice, usage = first_choice(document.get("choices")), document.get("usage")
        finish = choice.get("finish_reason") if choice is not None else None
        _MEANINGS[data[id_end:]] = _Meaning(
            Kind(self._kind[-1]), finish if isinstance(finish, str) and finish else None, usage_of(usage) if usage is not None else None
        )

    def _fail(self, ns: int, message: str | None) -> None:
        self._error = self._error or message or NO_MESSAGE
        self._put(ns, Kind.ERROR)

    def _put(self, ns: int, kind: Kind, chars: int = 0) -> None:
        self._ns.append(ns)
        self._kind.append(kind)
        self._chars.append(chars)

    def chunk(self, document: Mapping[str, Any], ns: int) -> ChoiceText | None:
        """Parse one chunk's JSON; returns its text if it contains nothing else."""
        usage = document.get("usage")
        if usage is not None:
            self._take_usage(usage)
        choice = first_choice(document.get("choices"))
        if choice is None:
            self._put(ns, Kind.USAGE if isinstance(usage, dict) and not document.get("choices") else Kind.OTHER)
            return None
        if choice.get("error"):
            self._fail(ns, error_message(choice))
            return None
        delta = text_of_choice(choice)
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            self._finish = finish
        logprobs = choice.get("logprobs")
        if logprobs:
            self._logprobs += logprobs_of(logprobs)
        kind = Kind.FINISH if delta.kind == Kind.ROLE and finish else delta.kind
        self._put(ns, kind, delta.chars)
        if delta.content:
            self._content.append(delta.content)
        if delta.reasoning:
            self._reasoning.append(delta.reasoning)
        return None if usage or finish or logprobs or kind not in (Kind.CONTENT, Kind.REASONING) else delta

    def _take_usage(self, usage: object) -> None:
        try:
            self._usage = usage_of(usage)
        except ValueError as error:
            self._malformed = self._malformed or str(error)
