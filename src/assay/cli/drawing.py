"""How are pictures drawn without waiting for the engine that draws them?  By a second process, started before the judging.

The engine takes a third of a second to start, and holds everything else of its process up meanwhile; judging a record takes
as long.  The second process reads specifications from a pipe, one JSON object per line, and answers with SVG.  If it cannot be
had, or dies, the pictures are drawn in this process: they are the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

ENOUGH_PROCESSORS: Final = 2
_SERVE: Final = "from assay.cli.drawing import serve; serve()"
_FIRST: Final = {
    "data": {"values": [{"a": 1}]},
    "mark": "point",
    "encoding": {"x": {"field": "a", "type": "quantitative"}},
}


class Drawer:
    """The second process."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def convert(self, specification: Mapping[str, Any]) -> str:
        """The SVG of a specification."""
        from assay.reports import drawing

        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError, ValueError):
            process.stdin.write(json.dumps(specification).encode() + b"\n")
            process.stdin.flush()
            if answer := process.stdout.readline():
                return str(json.loads(answer))
        return drawing.here(specification)

    def close(self) -> None:
        """End it."""
        self._process.kill()
        with suppress(OSError):  # what was written to it and not read
            self._process.communicate()


def serve() -> None:
    """The second process: answer until there is nothing more to read."""
    with suppress(KeyboardInterrupt, BrokenPipeError):
        import vl_convert

        vl_convert.vegalite_to_svg(_FIRST)
        for line in sys.stdin.buffer:
            svg = vl_convert.vegalite_to_svg(json.loads(line))
            sys.stdout.write(json.dumps(svg) + "\n")
            sys.stdout.flush()


@contextmanager
def ahead(wanted: bool) -> Iterator[None]:
    """Let pictures that are made inside be drawn by a second process, where any will be wanted and a processor is free for it."""
    if not wanted or (os.cpu_count() or 1) < ENOUGH_PROCESSORS:
        yield
        return
    from assay.reports import drawing

    drawer = Drawer()
    before = drawing.CONVERT.set(drawer.convert)
    try:
        yield
    finally:
        drawing.CONVERT.reset(before)
        drawer.close()
