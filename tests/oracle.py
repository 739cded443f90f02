"""A server of chats and completions that answers by a function of the last message or the prompt.

The function gives a text, None for a reply without one, or a status such as 500.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fireassay.runners.evaluating.likelihood import GREETING

Answer = Callable[[str], str | int | None]


class Server(ThreadingHTTPServer):
    """Keeps every body that it was sent."""

    daemon_threads = True

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer, self.bodies = answer, list[dict[str, Any]]()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """Healthy."""
        self.reply(200, "application/json", b"{}")

    def do_POST(self) -> None:
        """One streamed answer."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        chat = "messages" in body
        asked = body["messages"][-1]["content"] if chat else body["prompt"]
        if asked == GREETING:  # whether it takes requests at all
            text: str | int | None = "yes"
        else:
            self.server.bodies.append(body)
            text = self.server.answer(asked)
        if isinstance(text, int):
            self.reply(text, "application/json", b'{"error": {"message": "broken"}}')
            return
        said: dict[str, Any] = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
        if not body["stream"]:
            usage = {"prompt_tokens": 5, "completion_tokens": 2}
            whole = {"id": "x", "choices": [{"index": 0, **said, "finish_reason": "stop"}], "usage": usage}
            self.reply(200, "application/json", json.dumps(whole).encode())
            return
        first = {"delta": said["message"]} if chat else said
        last: dict[str, Any] = {"delta": {}} if chat else {"text": ""}
        parts: list[dict[str, Any]] = [
            {"choices": [{"index": 0, **first, "finish_reason": None}]},
            {"choices": [{"index": 0, **last, "finish_reason": "stop"}]},
            {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}},
        ]
        common = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "oracle"}
        events = [f"data: {json.dumps({**common, **part})}\n\n" for part in parts]
        self.reply(200, "text/event-stream", "".join([*events, "data: [DONE]\n\n"]).encode())

    def reply(self, status: int, kind: str, content: bytes) -> None:
        """A whole reply."""
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def oracle(answer: Answer) -> Iterator[Server]:
    """A server on a free port of the loopback, gone afterwards."""
    server = Server(answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
