"""What would a perfect client have measured?

An OpenAI-style server with known times and faults, which logs the ground truth.

    python -m fireassay.instruments.reference_server --port 8000 --first-s 0.05 --next-s 0.01 --fault status:share=0.05

    with serving(Settings(first_s=0.05)) as server:
        ...                      # requests to server.url
        server.truth()           # one entry per request: when it came, when every piece was handed to the kernel

It answers /v1/chat/completions, /v1/completions, /v1/models, /health and /metrics, and /reference/truth, /reference/state and
/reference/faults (POST: faults from now on, one per line; empty: none). Standard library only, one thread (`loop`). Its accuracy
is in benchmarks/results/serving_error.md.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fireassay import isolated
from fireassay.instruments.reference_server.loop import Server
from fireassay.instruments.reference_server.settings import Settings, settings_of
from fireassay.instruments.reference_server.truth import Entry, entries

START_S: Final = 20.0  # limit for the server to report its port
STOP_S: Final = 10.0


@dataclass(frozen=True, kw_only=True)
class Served:
    """A server in its own process."""

    url: str
    pid: int

    def get(self, path: str, body: bytes | None = None) -> bytes:
        """The response to GET, or to POST if there is a body."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(urllib.request.Request(self.url + path, data=body), timeout=60) as answer:
            data: bytes = answer.read()
        return data

    def truth(self) -> list[Entry]:
        """Every request so far."""
        return entries(self.get("/reference/truth"))

    def state(self) -> dict[str, Any]:
        """Totals so far."""
        totals: dict[str, Any] = json.loads(self.get("/reference/state"))
        return totals

    def faults(self, *faults: str) -> None:
        """Replace the active faults."""
        self.get("/reference/faults", "\n".join(faults).encode())


@contextlib.contextmanager
def serving(settings: Settings | None = None) -> Iterator[Served]:
    """Run a server in its own process, which ends with the block, or if this process dies.

    Raises:
        OSError: it did not start; its messages are on standard error.
    """
    words = (settings or Settings()).arguments()
    command = isolated.python("-m", "fireassay.instruments.reference_server", "--until-eof", *words)
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=isolated.environment(os.environ))
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        ready, _, _ = select.select([process.stdout], [], [], START_S)
        address = process.stdout.readline() if ready else b""
        if not address:
            raise OSError("the reference server did not start")
        yield Served(**json.loads(address))
    finally:
        process.stdin.close()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def main(words: Sequence[str] | None = None) -> int:
    """Serve until a signal, or until standard input ends with --until-eof."""
    try:
        settings, until_eof = settings_of(words)
        server = Server(settings)
    except (ValueError, OSError) as error:
        print(f"reference server: {error}", file=sys.stderr)
        return 2
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop())
    print(json.dumps({"url": server.url, "pid": os.getpid()}), flush=True)
    if until_eof:
        server.stop_with(sys.stdin.fileno())
    # the log makes no cycles, and a collection would pause the server and distort the truth
    gc.collect()
    gc.freeze()
    gc.disable()
    server.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
