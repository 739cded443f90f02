"""A replica that echoes with log probabilities, or a router before such replicas, as a program that assay starts.

python -m tests.runners.evaluating.echo_replica PORT likely
python -m tests.runners.evaluating.echo_replica PORT router 8001,8002        # every request to the next one
"""

from __future__ import annotations

import json
import sys
import threading
import urllib.request
from collections.abc import Callable, Mapping
from itertools import cycle
from pathlib import Path
from typing import Any, Final

from tests import echo_engine

COMMAND: Final = (sys.executable, "-m", "tests.runners.evaluating.echo_replica", "{port}")
ENVIRONMENT: Final = {"PYTHONPATH": str(Path(__file__).parents[3])}


def likely(text: str) -> list[float]:
    """What every right engine says."""
    return [-0.5 - 0.01 * (ord(character) % 7) for character in text]


def rounded(text: str) -> list[float]:
    """Every token a little off."""
    return [value + 1e-4 * (index % 3 - 1) for index, value in enumerate(likely(text))]


def wrong(text: str) -> list[float]:
    """One token in the whole set of texts is far off."""
    return [value - (3.0 if character == "9" else 0.0) for value, character in zip(rounded(text), text, strict=True)]


KINDS: Final[Mapping[str, Callable[[str], list[float]]]] = {"likely": likely, "rounded": rounded, "wrong": wrong}


class Router(echo_engine.Handler):
    """Passes every request on."""

    ports: Any = None
    lock = threading.Lock()

    def do_POST(self) -> None:
        """To the next replica."""
        body = self.rfile.read(int(self.headers["content-length"]))
        with self.lock:
            port = next(self.ports)
        request = urllib.request.Request(f"http://127.0.0.1:{port}{self.path}", body, {"content-type": "application/json"})
        with urllib.request.urlopen(request) as answered:
            self.reply(200, "application/json", answered.read())


def main() -> None:
    """Serve until the process is ended."""
    port, kind = int(sys.argv[1]), sys.argv[2]
    if kind == "router":
        Router.ports = cycle(sys.argv[3].split(","))
    with echo_engine.Server(KINDS.get(kind, likely), "echoes", port, Router if kind == "router" else echo_engine.Handler) as server:
        print(json.dumps({"port": port}), flush=True)
        server.serve_forever(poll_interval=0.05)


if __name__ == "__main__":
    main()
