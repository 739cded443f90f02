"""How do a process's rows reach the disk without disturbing the training, and survive a `kill -9`?

`append` adds a tuple to a list; a daemon thread turns each table's rows into one message and passes it to the
kernel in one unbuffered write, every `flush_s`.  Data in the kernel survive the process, so a killed process loses at most
what it measured since its last flush, and leaves at most one truncated message at the end of a stream.
Every string is searched for secrets before it is written (`secrets.texts`).  Nothing here needs more than the standard library: it runs in
workers of trainings.
Cannot guarantee timely flushes on a machine that does not schedule the thread.
Source: https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from fireassay.clock import SystemClock
from fireassay.record import files
from fireassay.record.messages import END_MARK, Row, batch_message, schema_message
from fireassay.record.secrets.redact import secret_values
from fireassay.record.secrets.texts import cleaner
from fireassay.record.tables import TABLES

ROWS_PER_BATCH = 8192  # converting one batch holds the GIL well under 10 ms
ROWS_KEPT = 100_000  # per table; more pending rows mean that the disk does not keep up
PATIENCE_S = 1.0  # how long an append waits, once, for a stalled disk before rows are dropped


class Waiting(NamedTuple):
    """Rows that another layout than tuples holds."""

    table: str
    rows: int
    message: Callable[[], bytes]


class _Nowhere(list[Row]):
    """Discards rows after an error, after `close`, and in a forked child."""

    def append(self, row: Row) -> None:
        """Discard the row."""


class StreamWriter:
    """Appends rows to one stream file per table below `folder`. Thread-safe. Never raises into its caller.

    A forked child (a DataLoader worker) writes nothing.  After `close` or an error every call does nothing.
    """

    def __init__(self, folder: Path, writer: str, *, flush_s: float = 0.5, on_error: Callable[[int], None] | None = None) -> None:
        self.error: OSError | None = None  # why writing stopped
        self.dropped = 0  # rows lost: malformed, or the disk did not keep up
        self._folder, self._writer, self._on_error = folder, writer, on_error
        self._buffers: dict[str, list[Row]] = {name: [] for name in TABLES}
        self._waiting: deque[Waiting] = deque()
        self._streams: dict[str, _Stream] = {}
        self._before: list[Callable[[], None]] = []  # sources with rows not yet appended
        self._lock = threading.Lock()
        self._holder: int | None = None  # thread that holds the lock, so that a signal handler cannot deadlock
        self._stop = threading.Event()
        self._closed = False
        self._stalled = False
        self._told = 0  # dropped rows already noted in the record
        self._why_dropped = ""
        _WRITERS.add(self)
        atexit.register(self.close)
        self._secrets = tuple(secret_values(os.environ))
        self._clean = cleaner(self._secrets)
        self._thread = threading.Thread(target=self._flush_regularly, args=(flush_s,), name="assay-writer", daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        """True if writing has ended: after `close`, an error, or in a forked child."""
        return self._closed

    def append(self, table: str, row: Row) -> None:
        """Take a row in the table's column order. Another thread converts and writes it later."""
        try:
            rows = self._buffers[table]
        except KeyError:
            self._drop(1, f"there is no table {table!r}")
            return
        rows.append(row)
        if len(rows) > ROWS_KEPT:
            self._relieve(rows)

    def append_message(self, table: str, rows: int, message: Callable[[], bytes]) -> None:
        """Take rows from a caller with too many for tuples. Another thread asks for their message and writes it later."""
        if self._closed:
            return
        self._waiting.append(Waiting(table, rows, message))
        if sum(waiting.rows for waiting in tuple(self._waiting)) > ROWS_KEPT:
            self._relieve_waiting()

    def before_writing(self, tell: Callable[[], None]) -> None:
        """Call `tell` in the writing thread before each write; rows that it appends are included."""
        self._before.append(tell)

    def flush(self) -> None:
        """Pass every row taken so far to the kernel."""
        self._locked(self._write_rows, wait_s=-1)

    def close(self) -> None:
        """Write the remaining rows and the end marks. Later calls of any method do nothing."""
        if self._closed:
            return
        self._locked(self._finish, wait_s=-1)

    def _flush_regularly(self, flush_s: float) -> None:
        while not self._stop.wait(flush_s):
            self.flush()

    def _relieve(self, rows: list[Row]) -> None:
        """Write pending rows now; if the disk is stalled, wait for it once, then drop."""
        if not self._stalls():
            return
        with suppress(IndexError):  # another thread may have written them all by now
            rows.pop()
        self._drop(1, f"the disk does not keep up ({ROWS_KEPT} rows are waiting)")

    def _relieve_waiting(self) -> None:
        """The same for messages."""
        if self._stalls() and len(self._waiting) > 1:  # the first one may be in the process of being written
            self._drop(self._waiting.pop().rows, f"the disk does not keep up ({ROWS_KEPT} rows are waiting)")

    def _stalls(self) -> bool:
        """Write pending rows, waiting once for a stalled disk. True if they could not be written."""
        if self._locked(self._write_rows, wait_s=0 if self._stalled else PATIENCE_S):
            self._stalled = False
            return False
        if self._holder == threading.get_ident():
            return False
        self._stalled = True
        return True

    def _locked(self, action: Callable[[], None], *, wait_s: float) -> bool:
        """Run the action under the lock and keep its error. False if another thread holds the lock for longer than `wait_s`."""
        if self._holder == threading.get_ident() or not self._lock.acquire(timeout=wait_s):
            return False
        try:
            self._holder = threading.get_ident()
            if not self._closed and self.error is None:
                action()
        except OSError as error:
            self._fail(error)
        except Exception as error:  # no failure here may stop the training loop
            self._fail(OSError(0, f"{type(error).__name__}: {error}"))
        finally:
            self._holder = None
            self._lock.release()
        return True

    def _write_rows(self) -> None:
        for callback in self._before:
            callback()
        while self._waiting:
            self._put(self._waiting[0].table, self._waiting[0].message())
            self._waiting.popleft()  # only after the write, as below
        for table, rows in self._buffers.items():
            while waiting := min(len(rows), ROWS_PER_BATCH):
                self._write(table, rows[:waiting])
                del rows[:waiting]  # only after the write: an exception (Ctrl-C) loses none; concurrent appends go to the end
        if self.dropped > self._told:
            self._tell_of_dropped_rows()

    def _tell_of_dropped_rows(self) -> None:
        """Note in the record that rows are missing, so that an audit can detect it."""
        count, self._told = self.dropped - self._told, self.dropped
        if not self._folder.name.startswith("launch="):
            return
        launch = int(self._folder.name.removeprefix("launch="))
        detail = json.dumps({"writer": self._writer, "why": self._why_dropped})
        now, host = SystemClock().now_ns(), socket.gethostname()
        self._write("events", [(launch, now, None, host, None, None, "rows_dropped", None, float(count), detail)])

    def _write(self, table: str, rows: list[Row]) -> None:
        message = self._message(table, rows)
        if message is None and (rows := self._well_formed(table, rows)):
            message = self._message(table, rows)
        if message is not None:
            self._put(table, message)

    def _message(self, table: str, rows: list[Row]) -> bytes | None:
        return batch_message(table, rows, self._clean)

    def _put(self, table: str, message: bytes) -> None:
        stream = self._streams.get(table)
        if stream is None:
            stream = self._streams[table] = _Stream(self._folder, table, self._writer)
        stream.write(message)

    def _well_formed(self, table: str, rows: list[Row]) -> list[Row]:
        fits = [self._message(table, [row]) is not None for row in rows]
        malformed = next((row for row, well in zip(rows, fits, strict=True) if not well), None)
        self._drop(fits.count(False), f"not a row of the table {table}: {malformed!r:.200}")
        return [row for row, well in zip(rows, fits, strict=True) if well]

    def _finish(self) -> None:
        self._write_rows()
        for stream in self._streams.values():
            stream.end()
        self._stop.set()
        self._let_go()
        if self.dropped:
            _say(f"{self.dropped} rows of {self._writer} in total were not recorded")

    def _fail(self, error: OSError) -> None:
        self.error = error
        self._stop.set()
        self._let_go()
        _say(f"recording of {self._writer} below {self._folder} has stopped: {files.reason(error, self._folder)}")
        if self._on_error is not None:
            with suppress(Exception):
                self._on_error(error.errno or 0)

    def _let_go(self) -> None:
        self._closed = True
        atexit.unregister(self.close)
        self._buffers = dict.fromkeys(TABLES, _Nowhere())
        self._waiting = deque(maxlen=0)
        self._before = []
        for stream in self._streams.values():
            stream.close()
        self._streams = {}

    def _drop(self, count: int, why: str) -> None:
        if not count:
            return
        if not self.dropped:
            self._why_dropped = why
            _say(f"a row of {self._writer} cannot be recorded: {why}")
        self.dropped += count

    def _forget(self) -> None:
        """In a forked child: the rows and the files belong to the parent."""
        # Never use the parent's lock or event: another thread may have held it at the fork.
        self._lock, self._holder = threading.Lock(), None
        self._let_go()


class _Stream:
    """One table's file."""

    def __init__(self, folder: Path, table: str, writer: str) -> None:
        self._descriptor = _create(folder, f"{table}.{writer}")
        self._head = schema_message(table)  # written together with the first batch
        self._end = 0  # end of the last whole message

    def write(self, message: bytes) -> None:
        """Write one message, in one system call if the kernel accepts it whole."""
        self._put(self._head + message)
        self._head = b""

    def end(self) -> None:
        self._put(END_MARK)

    def close(self) -> None:
        with suppress(OSError):  # a network file system may report an earlier failure here; too late to act on
            os.close(self._descriptor)

    def _put(self, message: bytes) -> None:
        left = memoryview(message)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
        except BaseException:  # also Ctrl-C between two writes
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._end)  # leave no partial message
            raise
        self._end += len(message)


def _create(folder: Path, stem: str) -> int:
    """A new file in append mode, numbered if the name is taken (pids repeat across containers)."""
    for number in range(1, 10_000):
        name = f"{stem}.arrows" if number == 1 else f"{stem}.{number}.arrows"
        try:
            return os.open(folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            continue
    raise FileExistsError(f"no free name for {stem} in {folder}")


def _say(sentence: str) -> None:
    try:
        print(f"assay: {sentence}", file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):
        return  # standard error is closed


_WRITERS: weakref.WeakSet[StreamWriter] = weakref.WeakSet()


def _forget_all() -> None:
    for writer in tuple(_WRITERS):
        writer._forget()


os.register_at_fork(after_in_child=_forget_all)
