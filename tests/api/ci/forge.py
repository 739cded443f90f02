"""A forge with pull requests and comments on a free port, which answers as GitHub's and GitLab's documentation says."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

TOKEN: Final = "ghs_planted0123456789abcdefghijklmnopqrst"
BOT: Final = {"id": 41898282, "login": "github-actions[bot]", "type": "Bot"}
STRANGER: Final = {"id": 7, "login": "stranger", "type": "User"}


@dataclass
class Fake:
    """What it holds, and how it is to answer."""

    address: str = ""
    gitlab: bool = False
    comments: list[dict[str, Any]] = field(default_factory=list)
    pulls: list[dict[str, Any]] = field(default_factory=list)
    answers: list[tuple[int, dict[str, str], str]] = field(default_factory=list)  # status, headers, content: given first, in order
    lost: int = 0  # writes that are done, and whose reply is a 502
    asked: list[tuple[str, str]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)

    def answer(self, method: str, path: str, content: dict[str, str]) -> tuple[int, Any]:
        route, _, query = path.partition("?")
        if route == "/user":
            return (200, {"id": BOT["id"]}) if self.gitlab else (403, {"message": "Resource not accessible by integration"})
        if method == "GET":
            page = int((re.search(r"(?<!per_)page=(\d+)", query) or [0, "1"])[1])
            items = self.pulls if route.endswith("/pulls") else self.comments
            return 200, items[100 * (page - 1) : 100 * page]
        if method == "POST":
            author = {"author": {"id": BOT["id"]}} if self.gitlab else {"user": BOT}
            made = {"id": 1000 + len(self.comments), **author, **content, "html_url": f"{self.address}/c/{len(self.comments)}"}
            self.comments.append(made)
            return 201, made
        made = next(one for one in self.comments if one["id"] == int(route.rpartition("/")[2]))
        made.update(content)
        return 200, made


@contextmanager
def serving(fake: Fake) -> Iterator[Fake]:
    """The forge while the body runs."""

    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            fake.asked.append((self.command, self.path))
            fake.tokens.add(self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN") or "")
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if fake.answers:
                status, headers, text = fake.answers.pop(0)
            else:
                status, found = fake.answer(self.command, self.path, json.loads(content or b"{}"))
                headers, text = {}, json.dumps(found)
                if fake.lost and self.command != "GET":
                    fake.lost, status, text = fake.lost - 1, 502, "bad gateway"
            self.send_response(status)
            for name, value in {"Content-Length": str(len(text.encode())), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST = do_PATCH = do_PUT = handle_one

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
