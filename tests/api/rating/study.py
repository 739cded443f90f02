"""A small study: its folder, a running server, and requests to it."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fireassay.api.rating import items, served
from fireassay.api.rating.sheet import Mode, Sheet
from fireassay.clock import SystemClock
from tests.limits import PROCESS_S

TOKEN = "token-of-a-test"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)


def folder(path: Path, count: int = 50, prompt: str = "a red cube") -> Path:
    """A folder of pairs of texts whose first words name the side, so that a reader of the page can choose."""
    rows = [{"item": f"i{n}", "prompt": f"{prompt} {n}", "sides": {"ann": f"ALPHA of {n}", "ben": f"BETA of {n}"}} for n in range(count)]
    path.mkdir(exist_ok=True)
    (path / "items.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)


@dataclass(frozen=True)
class Study:
    """A server with its port."""

    port: int
    sheet: Sheet

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/?key={TOKEN}"

    def ask(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PROCESS_S)
        connection.request(method, path, body, dict(headers or {}))
        reply = connection.getresponse()
        found = Reply(reply.status, dict(reply.getheaders()), reply.read())
        connection.close()
        return found

    def next(self, rater: str, key: str = TOKEN) -> Reply:
        return self.ask("GET", f"/next?key={key}&rater={rater}")

    def post(self, path: str, body: object, **headers: str) -> Reply:
        usual = {"Content-Type": "application/json", served.KEY: TOKEN}
        return self.ask(
            "POST", path, json.dumps(body).encode(), {**usual, **{name.replace("_", "-"): value for name, value in headers.items()}}
        )


@contextmanager
def running(path: Path, mode: Mode = "pairs") -> Iterator[Study]:
    """A server of a folder, until the block ends."""
    shown = items.read(path)
    with Sheet(path, shown, mode, 0, SystemClock()) as sheet:
        rating = served.Rating(items={item.id: item for item in shown}, sheet=sheet, token=TOKEN, kept=lambda: None)
        server = served.server(rating, 0)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield Study(server.server_address[1], sheet)
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
