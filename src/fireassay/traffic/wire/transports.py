"""Which transport carries requests to each replica: assay's own HTTP/1.1, httpx, or none?"""

from __future__ import annotations

import asyncio
import queue
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic_ns
from typing import Final, Protocol

from fireassay.errors import EnvironmentLacks, WorkloadError
from fireassay.spec.sections.serving import Client, Target
from fireassay.traffic.client.plan import Made, Transport
from fireassay.traffic.parts import Answer, Ask, Backend, Sign
from fireassay.traffic.wire.compiled import Core, CorePool, built
from fireassay.traffic.wire.connection import Pool
from fireassay.traffic.wire.response import Address, Exchange, Payloads, address_of

MODEL_THREAD: Final = "assay-model"  # runs the model of this process


class Way(Transport, Protocol):
    """The transport to one replica, and its connections."""

    def warm(self, connections: int) -> None:
        """Open this many connections in advance."""

    async def warmed(self) -> None:
        """Wait until they are open or have failed."""

    async def close(self) -> None:
        """Release all resources."""


class Lean:
    """The transport by assay's own protocol."""

    def __init__(self, pool: Pool, url: str, sign: Sign | None) -> None:
        self._url, self._sign, self._payloads = url.rstrip("/"), sign, Payloads(pool.address)
        self.pool = pool
        self.send, self.warm, self.warmed, self.close = pool.send, pool.warm, pool.warmed, pool.close

    def arm(self, before: Exchange, exchange: Exchange, pause_ns: int) -> None:
        """Let a request follow another in flight."""
        assert isinstance(self.pool, CorePool)
        self.pool.arm(before, exchange, pause_ns)

    def payload(self, made: Made) -> bytes:
        """The whole request, signed."""
        wire = made.wire
        assert wire is not None
        return self._payloads.payload(wire if self._sign is None else self._sign(wire, self._url))


class InProcess:
    """No transport: the model runs in this process, in one thread, one request at a time."""

    def __init__(self, answer: Callable[[Ask], Answer]) -> None:
        self._answer = answer
        self._loop = asyncio.get_running_loop()
        self._asked: queue.SimpleQueue[Exchange | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, name=MODEL_THREAD, daemon=True).start()

    def payload(self, made: Made) -> Ask:
        return made.ask

    def send(self, exchange: Exchange) -> None:
        """Run the model as soon as it is free."""
        exchange.transport = "process"
        self._asked.put(exchange)

    def arm(self, before: Exchange, exchange: Exchange, pause_ns: int) -> None:
        """Not supported: there is no core."""

    def warm(self, connections: int) -> None:
        """Nothing to do: there are no connections."""

    async def warmed(self) -> None:
        """Nothing to wait for."""

    async def close(self) -> None:
        """Accept no further asks."""
        self._asked.put(None)

    def _work(self) -> None:
        while (exchange := self._asked.get()) is not None:
            if not exchange.live:
                continue
            ask = exchange.payload
            exchange.sent_ns = monotonic_ns()
            try:
                answer = self._answer(ask)
            except Exception as error:  # a model may raise anything; only the request has failed, not the load
                answer = Answer(status="error", error=f"{type(error).__name__}: {error}")
            with suppress(RuntimeError):  # the loop is closed: the load has ended without this answer
                self._loop.call_soon_threadsafe(_finish, exchange, answer, monotonic_ns())


def _finish(exchange: Exchange, answer: Answer, at_ns: int) -> None:
    if exchange.live:
        exchange.answer = answer
        exchange.ns = answer.chunk_ns[:1]
        exchange.finish("complete", at_ns=at_ns)


def ways(target: Target, client: Client, backend: Backend, noted: memoryview | None = None) -> tuple[list[Way], Core | None]:
    """The transport to each replica, and the core they share, if any. Call in a running loop.

    Raises:
        WorkloadError: the target has no URL, or an invalid one.
        EnvironmentLacks: credentials or a package are missing.
    """
    if backend.process is not None:
        return [InProcess(backend.process(target))], None
    if not target.urls:
        raise WorkloadError(f"the engine {target.name} has no URL. Give it urls, or a command that starts it")
    sign = backend.prepare(target) if backend.prepare is not None else None
    if client.transport == "library" or client.proxy or client.http2:
        from fireassay.traffic.wire.httpx_transport import LibraryTransport, client_of

        shared = client_of(client)
        return [LibraryTransport(shared, url, sign) for url in target.urls], None
    addresses = [_address(url) for url in target.urls]
    core = _core(client, addresses, noted)
    pools = [_pool(address, client, core) for address in addresses]
    return [Lean(pool, url, sign) for pool, url in zip(pools, target.urls, strict=True)], core


def _address(url: str) -> Address:
    try:
        return address_of(url)
    except ValueError as error:
        raise WorkloadError(f"invalid URL of an engine: {error}") from None


def _core(client: Client, addresses: list[Address], noted: memoryview | None) -> Core | None:
    """The compiled core, if it is built and all addresses are plain HTTP."""
    if client.transport == "lean" or any(address.tls for address in addresses):
        return None
    if not built():
        if client.transport == "compiled":
            raise EnvironmentLacks(
                'serving.client.transport = "compiled", but the compiled core is not built here. Building it needs Linux and a C compiler '
                "during installation; leave transport out to use the Python client"
            )
        return None
    return Core(asyncio.get_running_loop(), noted)


def _pool(address: Address, client: Client, core: Core | None) -> Pool:
    timeout_s = min(client.timeout_s, client.first_byte_timeout_s or client.timeout_s)
    if core is not None:
        return CorePool(core, address, most=client.connections, connect_timeout_s=timeout_s)
    context = tls_context(verify=client.verify_tls) if address.tls else None
    return Pool(address, most=client.connections, connect_timeout_s=timeout_s, context=context)


def stamped(way: Way) -> bool:
    """True if the kernel timestamps incoming data, so that a packet read alone has the right time, however late the read."""
    return isinstance(way, Lean) and way.pool.stamping


def tls_context(*, verify: bool) -> ssl.SSLContext:
    """TLS context; without `verify`, any certificate is accepted."""
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
