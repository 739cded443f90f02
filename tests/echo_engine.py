"""A completions server that echoes its prompt with log probabilities, as vLLM does, or that cannot: its probabilities are a function."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate
from typing import Any, Literal

from tests import oracle

Ability = Literal["echoes", "needs a token", "does not echo", "refuses echo"]
# The log probabilities of a text's characters, each a token; None for the first.  A status instead: the request fails.
Scored = Callable[[str], list[float] | int]


class Server(ThreadingHTTPServer):
    """Keeps every body that it was sent."""

    daemon_threads = True

    def __init__(self, scored: Scored, ability: Ability, port: int = 0, handler: type[BaseHTTPRequestHandler] | None = None) -> None:
        super().__init__(("127.0.0.1", port), handler or Handler)
        self.scored, self.ability, self.bodies = scored, ability, list[dict[str, Any]]()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(oracle.Handler):
    """One connection."""

    server: Server  # type: ignore[assignment]

    def do_POST(self) -> None:
        """One whole answer."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.bodies.append({**body, "path": self.path})
        ability, prompt = self.server.ability, body.get("prompt", "")
        if ability == "refuses echo" or (ability == "needs a token" and body["max_tokens"] < 1) or self.path != "/v1/completions":
            self.reply(400, "application/json", b'{"error": {"message": "not supported"}}')
            return
        scored = self.server.scored(prompt)
        if isinstance(scored, int):
            self.reply(scored, "application/json", b'{"error": {"message": "broken"}}')
            return
        tokens, values = list(prompt), [None, *scored[1:]]
        if ability == "does not echo":
            choice: dict[str, Any] = {"index": 0, "text": "!", "finish_reason": "length", "logprobs": None}
        else:
            generated = ["!"] * body["max_tokens"]
            every = [*tokens, *generated]
            logprobs = {
                "tokens": every,
                "token_logprobs": [*values, *(-0.1 for _ in generated)],
                "text_offset": [0, *accumulate(map(len, every))][: len(every)],
                "top_logprobs": [None if value is None else {token: value} for token, value in zip(tokens, values, strict=True)]
                + [{token: -0.1} for token in generated],
            }
            choice = {"index": 0, "text": "".join(every), "finish_reason": "length", "logprobs": logprobs}
        usage = {"prompt_tokens": len(tokens), "completion_tokens": 1, "total_tokens": len(tokens) + 1}
        answer = {"id": "x", "object": "text_completion", "created": 1, "model": "echo", "choices": [choice], "usage": usage}
        self.reply(200, "application/json", json.dumps(answer).encode())


@contextmanager
def echo_engine(scored: Scored, ability: Ability = "echoes") -> Iterator[Server]:
    """A server on a free port of the loopback, gone afterwards."""
    server = Server(scored, ability)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
