"""How many tokens did each request have, by the model's own tokenizer?

Counted after the load, when nothing is timed any more.

* Prompt: the text sent is rebuilt and counted as the engine tokenises it, chat template included.
* Answer: its text and its reasoning are encoded once each; a token belongs to the chunk that completes it, so the chunks' tokens add up
  to the whole.  Encoding every chunk separately would overcount: a word split in two is two tokens.

Every answer without server-reported usage is counted.  Of the others, a sample of about `MAX_COUNTED` requests in whole conversations, selected by
number and never by a measurement, checks the server's counts.
Without a tokenizer nothing is counted: words are not tokens.  Memory holds the sample's conversations and one group of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fireassay.traffic.arrivals.schedule import Schedule
from fireassay.traffic.parts import TEXT, Json, Kind, Prompt
from fireassay.traffic.prompts.make import Prompts
from fireassay.traffic.prompts.texts import mixed
from fireassay.traffic.prompts.tokens import Words

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow

    Ints = npt.NDArray[np.int64]
    Flags = npt.NDArray[np.bool_]

MAX_COUNTED: Final = 2_000  # requests per launch whose usage is checked; takes about half a second
GROUP: Final = 256  # requests encoded together, on all processors
COLUMNS: Final = ("request", "session", "turn", "status", "tokens_out", "chunk_kind", "chunk_chars", "text", "reasoning")
ALONE: Final = 1 << 62  # offset that separates single requests from conversations

Answered = Mapping[str, Any]  # a row of the table requests, with the required columns
Row = tuple[int, int, int | None, int | None, list[int]]  # a row of the table token_counts
Read = Callable[[], Iterable["pyarrow.RecordBatch"]]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request to count; without a prompt, only its answer is counted."""

    row: Answered
    prompt: Prompt | None


def count(read: Read, launch: int, schedule: Schedule, prompts: Prompts, most: int = MAX_COUNTED) -> Iterator[Row]:
    """Rows of table `token_counts` for one launch, in its column order; row order is unspecified.

    `read` returns the launch's batches of table `requests`; it is called twice, and no batch is kept.
    """
    if isinstance(prompts.tokenizer, Words):
        return
    sampled, uncounted = _chosen(read(), most)
    conversations: dict[int, list[Answered]] = {}
    single = (_Asked(row, _prompt(row, sampled, prompts, schedule)) for row in _rows(read(), sampled, uncounted, conversations))
    yield from _counted(single, launch, prompts)
    turns = (turn for rows in conversations.values() for turn in _conversation(rows, prompts, schedule))
    yield from _counted(turns, launch, prompts)


def chunk_tokens(text: str | None, ends: Sequence[int], chars: Sequence[int]) -> list[int] | None:
    """Tokens per chunk of a text, from each token's end and each chunk's characters.

    None if the chunks do not add up to the text.
    """
    if not chars:
        return None if text else []
    char_ends = np.cumsum(np.asarray(chars, dtype=np.int64))
    if int(char_ends[-1]) != len(text or ""):
        return None
    done = np.searchsorted(np.asarray(ends, dtype=np.int64), char_ends, side="right")
    return [int(n) for n in np.diff(done, prepend=0)]


# ---- selection --------------------------------------------------------------------------------------------------


def _chosen(batches: Iterable[pyarrow.RecordBatch], most: int) -> tuple[frozenset[int], frozenset[int]]:
    """Numbers of the sampled requests, and of all answers without a server-reported length."""
    numbers, units, uncounted = [], [], [np.empty(0, np.int64)]
    for batch in batches:
        request, session = np.asarray(batch["request"]), np.asarray(batch["session"].fill_null(-1))
        answered = ~(np.asarray(batch["text"].is_null()) & np.asarray(batch["reasoning"].is_null()))
        numbers.append(request)
        units.append(np.where(session >= 0, session, request + ALONE))
        uncounted.append(request[answered & np.asarray(batch["tokens_out"].is_null())])
    if not numbers:
        return frozenset(), frozenset()
    sampled = np.concatenate(numbers)[_sample(np.concatenate(units), most)]
    return frozenset(sampled.tolist()), frozenset(np.concatenate(uncounted).tolist())


def _sample(unit: Ints, most: int) -> Flags:
    """Whole units (conversations, or single requests) by hashed number, at most `most` requests in total."""
    if len(unit) <= most:
        return np.ones(len(unit), dtype=np.bool_)
    units, inverse, size = np.unique(unit, return_inverse=True, return_counts=True)
    order = np.argsort(mixed(units.astype(np.uint64)), kind="stable")
    selected = np.zeros(len(units), dtype=np.bool_)
    selected[order[np.cumsum(size[order]) <= most]] = True
    return np.asarray(selected[inverse])


def _rows(
    batches: Iterable[pyarrow.RecordBatch], sampled: frozenset[int], uncounted: frozenset[int], conversations: dict[int, list[Answered]]
) -> Iterator[Answered]:
    """The rows to count one by one; the sample's conversations go into `conversations` instead."""
    for batch in batches:
        for at, number in enumerate(batch["request"].to_pylist()):
            if number not in sampled and number not in uncounted:
                continue
            row = {name: batch[name][at].as_py() for name in COLUMNS}
            if number in sampled and row["session"] is not None:
                conversations.setdefault(row["session"], []).append(row)
            else:
                yield row


# ---- prompts ----------------------------------------------------------------------------------------------------


def _prompt(row: Answered, sampled: frozenset[int], prompts: Prompts, schedule: Schedule) -> Prompt | None:
    return prompts.prompt(schedule, row["request"]) if row["request"] in sampled else None


def _conversation(rows: Sequence[Answered], prompts: Prompts, schedule: Schedule) -> Iterator[_Asked]:
    """A conversation's turns, each with its history, as far as it was kept."""
    history: Sequence[Json] | None = ()
    for index, row in enumerate(sorted(rows, key=lambda row: row["turn"] or 0)):
        if history is None or (row["turn"] or 0) != index:
            history = None  # a turn is missing, so this turn's history is unknown
            yield _Asked(row, None)
            continue
        prompt = prompts.prompt(schedule, row["request"], history)
        yield _Asked(row, prompt)
        history = None if row["status"] == "ok" and row["text"] is None else _after(prompts, prompt, row)


def _after(prompts: Prompts, prompt: Prompt, row: Answered) -> Sequence[Json]:
    return prompts.after(prompt, row["text"] if row["status"] == "ok" else None)


# ---- counting ----------------------------------------------------------------------------------------------------


def _counted(turns: Iterable[_Asked], launch: int, prompts: Prompts) -> Iterator[Row]:
    """Encode a group, which releases the GIL, while the next one is read and the previous one written."""
    groups = iter(turns)
    with ThreadPoolExecutor(1) as pool:
        under_way: Future[Iterator[Row]] | None = None
        while True:
            group = list(islice(groups, GROUP))
            seen = [_seen(turn.prompt, prompts) for turn in group]
            previous, under_way = under_way, pool.submit(_encoded, group, seen, launch, prompts) if group else None
            if previous is not None:
                yield from previous.result()
            if under_way is None:
                return


def _encoded(group: Sequence[_Asked], seen: Sequence[tuple[str, ...] | None], launch: int, prompts: Prompts) -> Iterator[Row]:
    sent = _sent(seen, prompts)
    texts = prompts.tokenizer.ends([turn.row["text"] or "" for turn in group])
    thoughts = prompts.tokenizer.ends([turn.row["reasoning"] or "" for turn in group])
    rows = zip(group, sent, texts, thoughts, strict=True)
    return ((launch, turn.row["request"], sent_in, *_answer(turn.row, text, thought)) for turn, sent_in, text, thought in rows)


def _sent(seen: Sequence[tuple[str, ...] | None], prompts: Prompts) -> list[int | None]:
    """Prompt tokens of many prompts, encoded together."""
    counted = iter(prompts.tokenizer.counts([text for texts in seen for text in texts or ()], special=prompts.adds_marks))
    return [None if texts is None else sum(islice(counted, len(texts))) for texts in seen]


def _seen(prompt: Prompt | None, prompts: Prompts) -> tuple[str, ...] | None:
    try:
        return None if prompt is None else prompts.seen(prompt)
    except ValueError:  # the local template may be stricter than the engine's
        return None


def _answer(row: Answered, text: Sequence[int], thought: Sequence[int]) -> tuple[int | None, list[int]]:
    """Tokens of an answer and of each chunk with text; None and empty if it has tool calls, whose text is not recorded."""
    kinds, chars = row["chunk_kind"], row["chunk_chars"]
    if Kind.TOOL in kinds or (row["text"] is None and row["reasoning"] is None):
        return None, []
    total = len(text) + len(thought)
    parts = {
        kind: chunk_tokens(content, ends, [n for k, n in zip(kinds, chars, strict=True) if k == kind])
        for kind, content, ends in ((Kind.CONTENT, row["text"], text), (Kind.REASONING, row["reasoning"], thought))
    }
    if any(part is None for part in parts.values()):
        return total, []
    remaining: dict[int, Iterator[int]] = {kind: iter(part or ()) for kind, part in parts.items()}
    return total, [next(remaining[k]) for k in kinds if k in TEXT]
