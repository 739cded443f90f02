"""An engine on loopback that answers a chat completion with an image by a local model's log probabilities."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Reply = Callable[[dict[str, Any]], tuple[int, Any]]  # a request's body -> status and answer


@contextmanager
def engine(reply: Reply) -> Iterator[str]:
    """Its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, answer = reply({**body, "_path": self.path, "_key": self.headers.get("authorization")})
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def completion(tokens: dict[str, float]) -> dict[str, Any]:
    """A chat completion whose first token has these alternatives."""
    tops = [{"token": token, "logprob": logprob, "bytes": list(token.encode())} for token, logprob in tokens.items()]
    first = {**tops[0], "top_logprobs": tops} if tops else {"token": "", "logprob": 0.0, "top_logprobs": []}
    return {"choices": [{"message": {"role": "assistant", "content": first["token"]}, "logprobs": {"content": [first]}}]}


def asked(body: dict[str, Any]) -> tuple[bytes, str]:
    """The image's file and the question in a request."""
    image, text = body["messages"][0]["content"]
    return base64.b64decode(image["image_url"]["url"].removeprefix("data:image/png;base64,"), validate=True), text["text"]
