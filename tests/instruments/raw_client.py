"""A client of a few lines that sees every byte: what came, how the connection ended, and no more."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fireassay.instruments.reference_server.loop import Server
from fireassay.instruments.reference_server.settings import Settings
from tests.limits import PROCESS_S

PATIENCE_S = PROCESS_S  # for a test that goes wrong; nothing waits for so long otherwise


@contextlib.contextmanager
def served(**asked: Any) -> Iterator[Server]:
    """A server in a thread of this process; a test may look into it."""
    server = Server(Settings(**{"first_s": 0.0, "next_s": 0.0, "spin_s": 0.0} | asked))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


@dataclass
class Got:
    """An answer as it came over the connection."""

    status: int
    headers: dict[str, str]
    body: bytes  # without chunked framing
    ended: str  # whole, closed (too early) or reset
    chunks: list[bytes]  # HTTP chunks
    began_ns: int
    done_ns: int

    @property
    def events(self) -> list[Any]:
        """The payloads of the events: JSON where it is some, else text."""
        found: list[Any] = []
        for line in self.body.decode("utf-8", "replace").splitlines():
            if line.startswith("data: "):
                payload = line.removeprefix("data: ")
                try:
                    found.append(json.loads(payload))
                except ValueError:
                    found.append(payload)
        return found

    @property
    def text(self) -> str:
        """The text of the answer."""
        events = self.events or [json.loads(self.body)]
        choices = [choice for event in events if isinstance(event, dict) for choice in event.get("choices", ())]
        return "".join(part.get("delta", part.get("message", {})).get("content") or part.get("text") or "" for part in choices)

    @property
    def usage(self) -> dict[str, Any] | None:
        """Usage, where it was told."""
        told = [event["usage"] for event in self.events or [json.loads(self.body)] if "usage" in event]
        return told[-1] if told else None

    @property
    def finish(self) -> list[str]:
        """The finish reasons."""
        choices = [choice for event in self.events if isinstance(event, dict) for choice in event.get("choices", ())]
        return [choice["finish_reason"] for choice in choices if choice.get("finish_reason")]


class Raw:
    """One connection."""

    def __init__(self, url: str) -> None:
        host, port = url.removeprefix("http://").split(":")
        self.link = socket.create_connection((host, int(port)), PATIENCE_S)
        self._left = b""

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.link.close()

    def send(
        self, prompt: str = "one two three", *, path: str = "/v1/chat/completions", fault: str = "", id: str = "", **more: Any
    ) -> None:
        """Ask for an answer of four tokens, streamed, unless told otherwise."""
        content = {"messages": [{"role": "user", "content": prompt}]} if "chat" in path else {"prompt": prompt}
        body = json.dumps({"model": "m", "stream": True, "max_tokens": 4, **content, **more}).encode()
        self.bytes(body, path=path, fault=fault, id=id)

    def bytes(self, body: bytes, *, path: str = "/v1/chat/completions", method: str = "POST", **headers: str) -> None:
        """Send a request with this body."""
        names = {"fault": "x-reference-fault", "id": "x-request-id"}
        lines = [f"{method} {path} HTTP/1.1", "host: test", f"content-length: {len(body)}"]
        lines += [f"{names.get(name, name)}: {value}" for name, value in headers.items() if value]
        self.link.sendall("\r\n".join([*lines, "", ""]).encode() + body)

    def ask(self, prompt: str = "one two three", **more: Any) -> Got:
        """Send and receive."""
        self.send(prompt, **more)
        return self.receive()

    def until_silent(self, patience_s: float = 0.1) -> bytes:
        """Whatever comes until nothing comes for so long."""
        self.link.settimeout(patience_s)
        data = b""
        with contextlib.suppress(TimeoutError):
            while more := self.link.recv(1 << 16):
                data += more
        return data

    def receive(self) -> Got:
        """Read one answer, to its end or the connection's."""
        began, ended = 0, "whole"
        data, self._left = self._left, b""
        while not (read := _answer(data)):
            try:
                more = self.link.recv(1 << 16)
            except ConnectionResetError:
                more, ended = b"", "reset"
            began = began or time.monotonic_ns()
            if not more:
                ended = ended if ended == "reset" else "closed"
                break
            data += more
        status, headers, chunks, self._left = read or _torn(data)
        return Got(status, headers, b"".join(chunks), ended, chunks, began, time.monotonic_ns())


def _answer(data: bytes) -> tuple[int, dict[str, str], list[bytes], bytes] | None:
    """Status, headers, chunks and what follows, of a whole answer; None if it is not whole."""
    head, found, rest = data.partition(b"\r\n\r\n")
    if not found:
        return None
    status, headers = _head(head)
    if "content-length" in headers:
        length = int(headers["content-length"])
        return (status, headers, [rest[:length]], rest[length:]) if len(rest) >= length else None
    chunks, rest, whole = _chunks(rest)
    return (status, headers, chunks, rest) if whole else None


def _torn(data: bytes) -> tuple[int, dict[str, str], list[bytes], bytes]:
    head, found, rest = data.partition(b"\r\n\r\n")
    if not found:
        return 0, {}, [], b""
    status, headers = _head(head)
    return status, headers, [rest] if "content-length" in headers else _chunks(rest)[0], b""


def _head(head: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = head.decode().split("\r\n")
    return int(first.split()[1]), {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in lines}


def _chunks(rest: bytes) -> tuple[list[bytes], bytes, bool]:
    """The whole chunks, what follows, and whether the last one was there."""
    chunks = []
    while b"\r\n" in rest:
        size, _, after = rest.partition(b"\r\n")
        length = int(size, 16)
        if len(after) < length + 2:
            break
        rest = after[length + 2 :]
        if not length:
            return chunks, rest, True
        chunks.append(after[:length])
    return chunks, rest, False
