"""How far is the run that writes a record, and is it alive, as seen from any host that shares the folder?

While a record is written, its process rewrites `streams/heartbeat.json` every two seconds: a count, and how far the run is.  A reader on the
same host asks the kernel for the process instead (`record/manifest.py`).  On another host clocks may differ; whether the count moves while
the reader looks decides without one (`moves`).  An age by both wall clocks (`age_s`) serves lists, which cannot wait.
`streams/stop` is a request to stop, written by anybody who may write into the record.
Cannot tell a process that is stopped (SIGSTOP) or whose file system hangs from one that has ended.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from fireassay.clock import Clock, SystemClock
from fireassay.errors import RecordError
from fireassay.record.secrets.redact import redact_all, secret_values
from fireassay.record.untrusted import paths

BEAT_S: Final = 2.0
LOOK_S: Final = 4 * BEAT_S  # a network file system may show a change 3 s late
SILENT_S: Final = 60.0  # by two wall clocks: beyond what hosts of one cluster differ by
NAME: Final = "streams/heartbeat.json"
STOP: Final = "streams/stop"
MOST: Final = 1 << 20


class Heartbeat:
    """The writer's side. Written in place through one descriptor, so that a record that is being sealed is not disturbed."""

    def __init__(self, record: Path, clock: Clock | None = None) -> None:
        """Raises OSError: the file cannot be written."""
        self._clock, self._stop_file = clock or SystemClock(), record / STOP
        self._stop_file.unlink(missing_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        self._descriptor = os.open(record / NAME, flags, 0o666)
        self._secrets = secret_values(os.environ)
        self._progress: Mapping[str, Any] = {}
        self._beats = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self.stop_requested = False
        self._thread.start()

    def note(self, progress: Mapping[str, Any]) -> None:
        """How far the run is; on disk within BEAT_S."""
        self._progress = progress

    def close(self) -> None:
        """The last beat."""
        self._ended.set()
        self._thread.join()
        os.close(self._descriptor)

    def _beat(self) -> None:
        last = False
        while not last:
            last = self._ended.wait(BEAT_S if self._beats > 1 else BEAT_S / 4)
            with suppress(OSError):  # a full disk must not end the run
                if not os.fstat(self._descriptor).st_nlink:
                    return  # the record is sealed, or removed
                self.stop_requested = self.stop_requested or self._stop_file.exists()
                self._write()

    def _write(self) -> None:
        self._beats += 1
        sign = {"beat": self._beats, "utc": self._clock.utc().isoformat(), "pid": os.getpid()}
        try:
            text = json.dumps(redact_all({**self._progress, **sign}, self._secrets), allow_nan=False)
        except (TypeError, ValueError):  # a number that JSON lacks: alive nevertheless
            text = json.dumps(sign)
        data = (text + "\n").encode()
        os.pwrite(self._descriptor, data, 0)
        os.ftruncate(self._descriptor, len(data))


def read(record: Path) -> dict[str, Any] | None:
    """The last beat; None: there is none, or it was cut by a crash."""
    for _ in range(3):  # it may be read while it is written
        with suppress(OSError, ValueError, RecordError):
            found = paths.json_of(paths.read(record, NAME, MOST))
            return found if isinstance(found, dict) and type(found.get("beat")) is int else None
    return None


def age_s(record: Path, clock: Clock | None = None) -> float | None:
    """Seconds since the last beat by both hosts' wall clocks; None: there is no beat."""
    from datetime import datetime

    beat = read(record)
    with suppress(TypeError, ValueError):
        if beat is not None:
            ago = (clock or SystemClock()).utc() - datetime.fromisoformat(str(beat.get("utc")))
            return max(0.0, ago.total_seconds())
    return None


def moves(record: Path, look_s: float = LOOK_S, clock: Clock | None = None) -> bool:
    """True if the run beats while this looks: it is alive, whatever the clocks say."""
    clock = clock or SystemClock()
    first = read(record)
    for _ in range(round(look_s / 0.25)):
        clock.sleep(0.25)
        now = read(record)
        if now is not None and (first is None or now["beat"] != first["beat"] or now.get("pid") != first.get("pid")):
            return True
    return False


def request_stop(record: Path) -> None:
    """Ask the run to end as Ctrl-C would. Raises OSError: the record cannot be written."""
    paths.write(record, STOP, b"")
