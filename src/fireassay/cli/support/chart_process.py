"""How are charts drawn without waiting for the rendering engine to start?

The engine needs a third of a second to start and blocks its process meanwhile; judging a record takes as long.  So a second
process is started before judging: it reads specifications from a pipe, one JSON object per line, and answers with SVG.  If it
cannot start, or dies, this process draws the same charts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import Any, Final

from fireassay import isolated

ENOUGH_PROCESSORS: Final = 2
_SERVE: Final = "from fireassay.cli.support.chart_process import serve; serve()"
_FIRST: Final = {"data": {"values": [{"a": 1}]}, "mark": "point", "encoding": {"x": {"field": "a", "type": "quantitative"}}}


class Drawer:
    """The second process; a thread reads its answers in request order."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            isolated.python("-c", _SERVE),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=isolated.environment(os.environ),
        )
        self._lock = threading.Lock()
        self._open: deque[SimpleQueue[bytes]] = deque()  # one per pending request
        self._ended = False
        self._thread = threading.Thread(target=self._listen, name="assay-drawer", daemon=True)
        self._thread.start()

    def convert(self, specification: Mapping[str, Any]) -> Callable[[], str]:
        """Request a chart; call the result for its SVG."""
        from fireassay.reports.charts import converter

        box: SimpleQueue[bytes] = SimpleQueue()
        if not self._request(specification, box):
            return converter.here(specification)

        def drawn() -> str:
            with suppress(ValueError):
                if answer := box.get():
                    return str(json.loads(answer))
            return converter.here(specification)()

        return drawn

    def _request(self, specification: Mapping[str, Any], box: SimpleQueue[bytes]) -> bool:
        assert self._process.stdin is not None
        with self._lock:
            if self._ended:
                return False
            self._open.append(box)
        with suppress(OSError):  # it died; `_listen` then ends every request
            self._process.stdin.write(json.dumps(specification).encode() + b"\n")
            self._process.stdin.flush()
        return True

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._open.popleft().put(line)
        with self._lock:
            self._ended = True
            for box in self._open:
                box.put(b"")

    def close(self) -> None:
        """Stop the process."""
        self._process.kill()
        self._thread.join()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # unread input
                if pipe is not None:
                    pipe.close()


def serve() -> None:
    """Main loop of the second process: answer until end of input."""
    with suppress(KeyboardInterrupt, BrokenPipeError):
        import vl_convert

        vl_convert.vegalite_to_svg(_FIRST)
        for line in sys.stdin.buffer:
            svg = vl_convert.vegalite_to_svg(json.loads(line))
            sys.stdout.write(json.dumps(svg) + "\n")
            sys.stdout.flush()


@contextmanager
def ahead(wanted: bool) -> Iterator[None]:
    """Draw charts of the body in a second process, if any are wanted and a processor is free."""
    if not wanted or (os.cpu_count() or 1) < ENOUGH_PROCESSORS:
        yield
        return
    from fireassay.reports.charts import converter

    drawer = Drawer()
    before = converter.CONVERT.set(drawer.convert)
    try:
        yield
    finally:
        converter.CONVERT.reset(before)
        drawer.close()
