"""An engine that does what a test says, byte by byte; and one client process's load on it, run to its end.

`engine(behave)` serves HTTP/1.1 in a thread: `behave` is told of each request and writes whatever it likes.  `load_on` writes a
job as the runner does, runs the client in this process, and gives the rows that it recorded.
"""

from __future__ import annotations

import asyncio
import gc
import json
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import uvloop

from fireassay.record.streams import read_stream
from fireassay.spec.plan import Configuration
from fireassay.spec.sections.serving import Serving, Target
from fireassay.traffic.arrivals import make
from fireassay.traffic.arrivals.schedule import Schedule
from fireassay.traffic.client.process import Client, Job

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


@dataclass
class Heard:
    """A request as the engine got it."""

    number: int  # from 0, in the order of coming
    head: str
    body: bytes
    connection: int
    ns: int

    @property
    def json(self) -> Any:
        """Its body."""
        return json.loads(self.body)


Behave = Callable[[Heard, asyncio.StreamWriter], Awaitable[bool | None]]  # True: the connection is kept


@dataclass
class Engine:
    """An engine that runs."""

    url: str = ""
    heard: list[Heard] = field(default_factory=list)
    connections: int = 0
    open: int = 0
    most_open: int = 0


def chunked(data: bytes) -> bytes:
    """One HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(told: Any) -> bytes:
    """One event."""
    return b"data: " + (told if isinstance(told, bytes) else json.dumps(told).encode()) + b"\n\n"


def delta(text: str, finish: str | None = None) -> bytes:
    """A chat's chunk."""
    said = {"content": text} if text else {}
    return event({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": said, "finish_reason": finish}]})


def usage(tokens: int, asked: int = 5) -> bytes:
    """The chunk with the counts."""
    return event({"id": "c", "choices": [], "usage": {"prompt_tokens": asked, "completion_tokens": tokens}})


def answer(*texts: str, finish: str = "stop") -> bytes:
    """A whole good answer, head and framing included."""
    events = [delta(text) for text in texts] + [delta("", finish), usage(len(texts)), event(b"[DONE]")]
    return HEAD + b"".join(map(chunked, events)) + b"0\r\n\r\n"


async def well(heard: Heard, writer: asyncio.StreamWriter) -> bool:
    """Answer as one should."""
    writer.write(answer("Hello", " world"))
    await writer.drain()
    return True


@contextmanager
def engine(behave: Behave = well, *, context: ssl.SSLContext | None = None) -> Iterator[Engine]:
    """An engine on a free port, until the block ends."""
    made, started = Engine(), threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        tasks: set[asyncio.Task[None]] = set()
        writers: list[asyncio.StreamWriter] = []

        def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writers.append(writer)
            task = loop.create_task(_connection(made, behave, reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(take, "127.0.0.1", 0, ssl=context)
        made.url = f"http{'s' if context else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        started.set()
        await stop.wait()
        server.close()
        while left := asyncio.all_tasks() - {asyncio.current_task()}:  # a connection may be in the middle of being accepted
            for task in list(tasks):
                task.cancel()
            await asyncio.wait(left)
            await asyncio.sleep(0)
        for writer in writers:  # closed ones too, which may still wait for their client to read
            writer.transport.abort()
        await asyncio.sleep(0)

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert started.wait(30)
    try:
        yield made
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
        loop.close()


async def _connection(made: Engine, behave: Behave, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    number = made.connections
    made.connections += 1
    made.open += 1
    made.most_open = max(made.most_open, made.open)
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = next((int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length:")), 0)
            body = await reader.readexactly(length)
            heard = Heard(len(made.heard), head, body, number, time.monotonic_ns())
            made.heard.append(heard)
            if not await behave(heard, writer):
                return
    except (asyncio.IncompleteReadError, ConnectionError):
        return
    finally:
        made.open -= 1
        writer.transport.abort() if writer.transport.is_closing() else writer.close()
        with suppress(ConnectionError, asyncio.CancelledError):
            await writer.wait_closed()


# ---- a client's load ---------------------------------------------------------------------------------------------


def write_job(
    folder: Path,
    urls: Sequence[str],
    *,
    load: float = 1,
    schedule: Schedule | None = None,
    clients: int = 1,
    backend: str = "openai",
    target: dict[str, Any] | None = None,
    seed: int = 1,
    **serving: Any,
) -> Path:
    """A job as the runner writes it."""
    launch = folder / "launch=0000"
    (launch / "load").mkdir(parents=True, exist_ok=True)
    asked = Serving.model_validate({"model": "m", "scenarios": ["D(8,2)"], **serving})
    configuration = Configuration(name="it", workers=len(urls), target="server", scenario=asked.scenarios[0], load=load)
    made = schedule or make.build(asked, configuration, seed, len(urls) or 1, folder)
    make.write(made, launch / "load" / "schedule.arrow")
    job = {
        "launch": 0,
        "clients": clients,
        "folder": str(launch),
        "load": str(launch / "load"),
        "serving": asked.model_dump(mode="json"),
        "configuration": asdict(configuration),
        "seed": seed,
        "base": str(folder),
        "target": Target.model_validate({"backend": backend, "urls": urls, **(target or {})}).model_dump(mode="json"),
        "flush_s": 0.1,
    }
    path = launch / "load" / "job.json"
    path.write_text(json.dumps(job))
    return path


def begin(job: Path, in_s: float = 0.05) -> int:
    """Say go, and when to begin."""
    t0 = time.monotonic_ns() + int(in_s * 1e9)
    (job.parent / "go").write_text("")
    (job.parent / "begin").write_text(str(t0))
    return t0


def rows_of(job: Path, client: int = 0) -> list[dict[str, Any]]:
    """What a client recorded."""
    stream = job.parent.parent / f"requests.client-{client}.arrows"
    if not stream.exists():
        return []
    return [row for batch in read_stream(stream).batches for row in batch.to_pylist()]


def load_on(folder: Path, urls: Sequence[str], **asked: Any) -> list[dict[str, Any]]:
    """Run one client's load in this process; its rows in the schedule's order.

    As for the runner, it begins once the client is loaded: what a busy machine takes to load it would be taken off its time.
    """
    job = write_job(folder, urls, **asked)
    (job.parent / "go").write_text("")

    async def whole() -> None:
        client = Client(Job.read(job), 0)

        async def begun() -> None:
            while client.state != "cold_done":
                await asyncio.sleep(0.001)
            begin(job)

        beginning = asyncio.create_task(begun())
        await client.run()
        beginning.cancel()

    try:
        uvloop.run(whole())
    finally:
        gc.enable()  # what is frozen stays so: with it all that pytest has collected, which takes 0.6 s to look through
    return sorted(rows_of(job), key=lambda row: row["request"])


def closed(requests: int, *, warm_up_s: float = 0.0, duration_s: float = 60.0, cold: int = 0, **more: Any) -> dict[str, Any]:
    """[serving.arrivals] of a closed loop of so many requests."""
    return {"requests": requests, "warm_up_s": warm_up_s, "duration_s": duration_s, "cold": cold, **more}
