"""How does a record keep what its judge replied?  A row of the table `replies` for everything that was judged, written as each reply comes.

`assay resume` takes replies from there, then from the folder of `--judge-cache`, and asks for what is in neither.  SIGKILL loses what came since the
streams were last flushed, half a second.  An unfinished record may come from anybody: a row that is no reply is left out, and of several for one
request the same one is taken, whatever their order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from fireassay.quality.judging.cache import Cache, Reply, reply_of
from fireassay.quality.judging.reading import reading, reason_of
from fireassay.quality.judging.rubric import Rubric
from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.declared import REPLIES
from fireassay.record.folder import RecordFolder, table_row
from fireassay.record.streams import batches
from fireassay.record.unsealed import launch_folders, launch_name

MAX_REASON: Final = 300  # characters


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What one request is about."""

    launch: int = field(compare=False)  # whose rows it is among: a launch that is made again has it already
    task: str
    item: str
    repetition: int
    side: str  # of a pair the one shown first
    against: str | None  # the one shown second; None: judged alone


class Replies:
    """The replies of a record and of a cache; new ones go into both."""

    def __init__(self, record: RecordFolder, cache: Cache, rubric: Rubric, judged: Mapping[str, Sequence[Judged]]) -> None:
        """`judged`: digest of a request -> what it is about."""
        self._cache, self._rubric, self._judged = cache, rubric, judged
        # the open ones: a thread that outlives a stop must not begin another stream of a record that was left
        self._writers = {one.launch: record.writer(one.launch) for several in judged.values() for one in several}
        for writer in self._writers.values():
            writer.flush()
        rows = list(_rows(record.path, judged))
        self._known = folded((key, reply) for key, _, reply in rows)
        self._written = {(key, about) for key, about, _ in rows}

    def get(self, key: str) -> Reply | None:
        """The reply to a request; one of the cache becomes a part of the record."""
        reply = self._known.get(key) or self._cache.get(key)
        if reply is not None:
            self._record(key, reply)
        return reply

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply. Thread-safe."""
        self._record(key, reply)
        self._cache.put(key, reply)

    def _record(self, key: str, reply: Reply) -> None:
        said = {
            "value": reading(reply.text, reply.finish_reason, self._rubric).value,
            "reason": reason_of(reply.text, self._rubric)[:MAX_REASON],
        }
        for about in self._judged[key]:
            if (key, about) not in self._written:
                self._writers[about.launch].append(REPLIES.name, table_row(REPLIES, key=key, **asdict(about), **asdict(reply), **said))


def folded(replies: Iterable[tuple[str, Reply]]) -> dict[str, Reply]:
    """One reply for each request: of several the one with the smallest digest, which favours no judgement."""
    found: dict[str, Reply] = {}
    for key, reply in replies:
        found[key] = min(found.get(key, reply), reply, key=_digest)
    return found


def _digest(reply: Reply) -> str:
    return sha256(repr(reply).encode("utf-8", "replace")).hexdigest()


def _rows(path: Path, wanted: Collection[str]) -> Iterator[tuple[str, Judged, Reply]]:
    """The rows of these requests that are replies."""
    for launch in launch_folders(path):
        for batch in batches(path, launch_name(launch), REPLIES.name):
            for row in batch.to_pylist() if batch.schema.equals(arrow_schema(REPLIES.name)) else ():
                if row["key"] in wanted and (reply := reply_of(row)) is not None:
                    yield row["key"], _about(row), reply


def _about(row: Mapping[str, Any]) -> Judged:
    return Judged(**{name: row[name] for name in Judged.__dataclass_fields__})
