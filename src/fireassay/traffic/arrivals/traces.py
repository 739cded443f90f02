"""When did recorded requests arrive, and how long were they?

Four trace formats, replayed exactly:

    mooncake  JSONL: timestamp (ms), input_length, output_length, hash_ids: the blocks of 512 tokens that form the prompt;
              equal IDs are equal text (Qin et al., Mooncake, FAST 2025; kvcache-ai/Mooncake, FAST25-release/traces)
    burstgpt  CSV: Timestamp (s), Request tokens, Response tokens (Wang et al., BurstGPT; HPMLL/BurstGPT); a response of 0
              tokens, a failure in the trace, is requested as one token, to keep the arrival; Session ID if present
    azure     CSV: TIMESTAMP (date and time), ContextTokens, GeneratedTokens (Azure/AzurePublicDataset, LLM 2023 and 2024)
    jsonl     our own: at_s, tokens_in, tokens_out, and optionally session, turn, pause_s and pause (think, tool, retrieval).
              Without at_s a request is due pause_s after its session's previous request has ended; without tokens_in or
              tokens_out these come from the scenario

The first request is due when the load begins, the others at their recorded offsets divided by the speed; requests within the warm-up
time are the warm-up.  Rows must be in time order: reading stops at the end of the load, however long the file is.  Times are parsed as
decimals, so no nanosecond is lost.
"""

from __future__ import annotations

import csv
import errno
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal, DecimalException
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from fireassay.errors import SpecError, refuse
from fireassay.traffic.arrivals.schedule import NONE, PAUSES, Ints, Schedule, rows

Format = Literal["auto", "mooncake", "burstgpt", "azure", "jsonl"]
WHERE: Final = "serving.arrivals.trace"
NS: Final = 10**9
MAX_VALUE: Final = 2**62  # larger ns or token values are certainly mistakes
LINE: Final = 16 * 2**20  # characters per line; a prompt of 10 million tokens has 20,000 blocks
MAX_DUE: Final = 1_000_000  # requests that are due, each with up to ten blocks: in memory they take half a gigabyte
BLOCKS: Final = 10
MOONCAKE: Final = ("timestamp", "input_length", "output_length")
OWN: Final = ("at_s", "tokens_in", "tokens_out", "session", "turn", "pause_s", "pause")
JSON_KEYS: Final = f"one request per line, of Mooncake with {', '.join(MOONCAKE)}, or our own of {', '.join(OWN)}"
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceRow:
    """A recorded request. `at_ns`: None if it follows the previous request of its session."""

    at_ns: int | None
    tokens_in: int = NONE
    tokens_out: int = NONE
    session: str | None = None
    turn: int | None = None
    pause_ns: int = 0
    pause: str = "none"
    blocks: tuple[int, ...] = ()


def replay(path: Path, form: Format, speed: float, end_ns: int) -> Schedule:
    """The requests of a trace that are due before `end_ns`, timed from the load's start.

    Raises:
        SpecError: the file does not exist, has another format, or contains an invalid row.
    """
    try:
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "a folder, a pipe, a socket or a device, and no file")
        with path.open(encoding="utf-8-sig", newline="") as file:
            entries = list(_few(_until(_rows(iter(lambda: file.readline(LINE + 1), ""), form), speed, end_ns)))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        raise _problem(f'"{path.name}": {reason}', "a readable file", "") from None
    if not entries:
        raise _problem(f'"{path.name}" without requests', "a trace with at least one", "")
    return _scheduled(entries, speed)


def _few(entries: Iterable[TraceRow]) -> Iterator[TraceRow]:
    """The rows, as long as memory holds them."""
    held = 0
    for row in entries:
        held += max(1, len(row.blocks) // BLOCKS)
        if held > MAX_DUE:
            found = f"more than {MAX_DUE:,} requests, or {MAX_DUE * BLOCKS:,} blocks, that are due"
            raise _problem(found, "fewer", "Replay a part of it: a shorter duration_s, or requests.")
        yield row


def _until(numbered: Iterable[tuple[int, TraceRow]], speed: float, end_ns: int) -> Iterator[TraceRow]:
    """Rows until the first one due at the end or later; checks their order."""
    first: int | None = None
    previous_ns = -MAX_VALUE
    for line, row in numbered:
        if row.at_ns is not None:
            if row.at_ns < previous_ns:
                raise _problem(f"line {line}: an earlier time than the previous row's", "rows in time order", "Sort the file.")
            previous_ns = row.at_ns
            first = row.at_ns if first is None else first
            if (row.at_ns - first) / speed >= end_ns:
                return
        elif first is None:
            raise _problem(f"line {line}: no at_s", "a time for the first request", 'Write "at_s": 0.')
        yield row


def _scheduled(entries: Sequence[TraceRow], speed: float) -> Schedule:
    first = entries[0].at_ns or 0
    offsets = np.array([NONE if row.at_ns is None else row.at_ns - first for row in entries], dtype=np.int64)
    due_ns = offsets if speed == 1.0 else np.where(offsets < 0, NONE, np.rint(offsets / speed)).astype(np.int64)
    session, turn = _sessions(entries)
    load = rows(
        len(entries),
        due_ns=due_ns,
        session=session,
        turn=turn,
        tokens_in=_column(row.tokens_in for row in entries),
        tokens_out=_column(row.tokens_out for row in entries),
        pause_ns=_column(row.pause_ns for row in entries),
        pause_kind=_column(PAUSES.index(row.pause) for row in entries),
        example=_examples(entries),
    )
    return replace(load, blocks={number: row.blocks for number, row in enumerate(entries) if row.blocks})


def _column(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64)


def _sessions(entries: Sequence[TraceRow]) -> tuple[Ints, Ints]:
    """Session numbers in order of first appearance, and turns where the file has none."""
    numbers: dict[str, int] = {}
    turns: dict[str, int] = {}
    session, turn = [], []
    for row in entries:
        if row.session is None:
            session.append(NONE)
            turn.append(NONE)
            continue
        session.append(numbers.setdefault(row.session, len(numbers)))
        turn.append(turns.get(row.session, 0) if row.turn is None else row.turn)
        turns[row.session] = turn[-1] + 1
    return _column(session), _column(turn)


def _examples(entries: Sequence[TraceRow]) -> Ints:
    """A number for each text that occurs more than once: the same blocks, truncated at the same length."""
    texts: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for number, row in enumerate(entries):
        if row.blocks:
            texts.setdefault((row.tokens_in, row.blocks), []).append(number)
    example = np.full(len(entries), NONE, dtype=np.int64)
    for name, same in enumerate(same for same in texts.values() if len(same) > 1):
        example[same] = name
    return example


# ---- the formats -------------------------------------------------------------------------------------------------


def _rows(file: Iterable[str], form: Format) -> Iterator[tuple[int, TraceRow]]:
    """Line numbers, from 1, and rows."""
    lines = enumerate(_bounded(file), start=1)
    head = next(((number, line) for number, line in lines if line.strip()), None)
    if head is None:
        return iter(())
    kind = _recognised(head[1]) if form == "auto" else form
    all_lines = itertools.chain([head], lines)
    if kind in ("mooncake", "jsonl"):
        return _json_rows(all_lines, _mooncake if kind == "mooncake" else _own)
    return _csv_rows(all_lines, *(_BURSTGPT if kind == "burstgpt" else _AZURE))


def _bounded(file: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(file, start=1):
        if len(line) > LINE:
            raise _problem(f"line {number} with {len(line)} characters", f"lines of at most {LINE}", "")
        yield line


def _recognised(head: str) -> Format:
    """Detect a file's format by its first line."""
    if head.lstrip().startswith("{"):
        return "mooncake" if '"timestamp"' in head else "jsonl"
    names = _names(head)
    for form, (required, _) in (("burstgpt", _BURSTGPT), ("azure", _AZURE)):
        if required <= set(names):
            return form  # type: ignore[return-value]
    raise _problem(
        f"a first line {_shown(head)}",
        "JSONL, or CSV with the columns of BurstGPT or Azure",
        "Write serving.arrivals.trace_format if it is one of these.",
    )


def _json_rows(lines: Iterable[tuple[int, str]], read: Callable[[Mapping[str, Any]], TraceRow]) -> Iterator[tuple[int, TraceRow]]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            data = json.loads(line, parse_float=Decimal)
            if not isinstance(data, dict):
                raise TypeError("not an object")
            yield number, read(data)
        except (ValueError, TypeError, KeyError, RecursionError, DecimalException) as error:
            raise _row_problem(number, error, JSON_KEYS) from None


def _mooncake(data: Mapping[str, Any]) -> TraceRow:
    blocks = data.get("hash_ids", ())
    if not isinstance(blocks, list | tuple) or not all(type(block) is int for block in blocks):
        raise TypeError("hash_ids is not a list of whole numbers")
    return TraceRow(
        at_ns=_ns(data["timestamp"], NS // 1000),
        tokens_in=_tokens(data["input_length"], 0),
        tokens_out=_tokens(data["output_length"], 1),
        blocks=tuple(blocks),
    )


def _own(data: Mapping[str, Any]) -> TraceRow:
    if other := sorted(set(data) - set(OWN)):  # ignored, a length would silently come from the scenario
        raise ValueError(f"the key {other[0]}")
    pause = data.get("pause", "think" if "pause_s" in data else "none")
    if pause not in PAUSES:
        raise ValueError(f"pause is not one of {', '.join(PAUSES)}")
    session, turn = data.get("session"), data.get("turn")
    if turn is not None and (type(turn) is not int or not 0 <= turn < 2**31):
        raise TypeError("turn is not a whole number")
    if "at_s" not in data and session is None:
        raise KeyError("at_s")
    return TraceRow(
        at_ns=_ns(data["at_s"], NS) if "at_s" in data else None,
        tokens_in=_tokens(data["tokens_in"], 0) if "tokens_in" in data else NONE,
        tokens_out=_tokens(data["tokens_out"], 1) if "tokens_out" in data else NONE,
        session=None if session is None else str(session),
        turn=turn,
        pause_ns=_ns(data.get("pause_s", 0), NS),
        pause=pause,
    )


def _csv_rows(
    lines: Iterable[tuple[int, str]], required: frozenset[str], read: Callable[[Mapping[str, str]], TraceRow]
) -> Iterator[tuple[int, TraceRow]]:
    numbered = iter(lines)
    first, head = next(numbered)
    names = _names(head)
    if missing := sorted(required - set(names)):
        raise _problem(f"line {first}: {_shown(head)}", f"the columns {', '.join(sorted(required))}", f"Missing: {missing[0]}.")
    for number, line in numbered:
        if not line.strip():
            continue
        try:
            yield number, read(dict(zip(names, next(csv.reader([line])), strict=False)))
        except (ValueError, KeyError, TypeError, csv.Error, DecimalException) as error:
            raise _row_problem(number, error) from None


def _names(head: str) -> list[str]:
    try:
        return [name.strip().lower() for name in next(csv.reader([head]))]
    except csv.Error:
        return []


def _burstgpt(data: Mapping[str, str]) -> TraceRow:
    return TraceRow(
        at_ns=_ns(data["timestamp"], NS),
        tokens_in=_tokens(data["request tokens"], 0),
        tokens_out=_tokens(data["response tokens"], 1),
        session=data.get("session id") or data.get("sessionid") or None,
    )


def _azure(data: Mapping[str, str]) -> TraceRow:
    return TraceRow(
        at_ns=_moment(data["timestamp"]), tokens_in=_tokens(data["contexttokens"], 0), tokens_out=_tokens(data["generatedtokens"], 1)
    )


_BURSTGPT: Final = (frozenset({"timestamp", "request tokens", "response tokens"}), _burstgpt)
_AZURE: Final = (frozenset({"timestamp", "contexttokens", "generatedtokens"}), _azure)


def _moment(text: str) -> int:
    """Nanoseconds since 1970 of "2023-11-16 18:15:46.6805900", with or without a time zone; default UTC."""
    text = text.strip()
    whole, _, rest = text.partition(".")
    digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
    moment = datetime.fromisoformat(whole + rest[len(digits) :])
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return int((moment - EPOCH).total_seconds()) * NS + int(digits[:9].ljust(9, "0"))


def _ns(value: object, unit: int) -> int:
    """A time in units of `unit` nanoseconds, as ns, rounded."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        raise TypeError("a time is not a number")
    number = Decimal(value) * unit
    if not number.is_finite() or not 0 <= number < MAX_VALUE:
        raise ValueError("a time is not a finite number of at least 0")
    return int(number.to_integral_value())


def _tokens(value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        raise TypeError("a number of tokens is not a number")
    number = Decimal(value)
    if not number.is_finite() or number != number.to_integral_value() or not 0 <= number < MAX_VALUE:
        raise ValueError("a number of tokens is not a whole number of at least 0")
    return max(int(number), least)


def _row_problem(line: int, error: Exception, allowed: str = "one request per line, in the file's format") -> SpecError:
    description = f"no {error.args[0]}" if isinstance(error, KeyError) else str(error) or "a number that cannot be read"
    if isinstance(error, json.JSONDecodeError):
        description = "it is not JSON"
    elif isinstance(error, DecimalException):
        description = "a number that cannot be read"
    return _problem(f"line {line}: {description}", allowed, "")


def _shown(text: str) -> str:
    text = text.strip()
    return f'"{text if len(text) <= 60 else text[:60] + " ..."}"'


def _problem(found: str, allowed: str, remedy: str) -> SpecError:
    return refuse(WHERE, found, allowed, remedy)
