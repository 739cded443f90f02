"""Which transport carries requests to each replica: assay's own HTTP/1.1, httpx, or none?

How does a load use a proxy or HTTP/2?

By httpx, which supports both; the record says so (`transport`).  It is slower and later than assay's own protocol: times are taken when
httpx returns the bytes, after its own parsing.  How long the bytes had waited is unknown, so these times have no stated uncertainty.
"""

from __future__ import annotations

import asyncio
import queue
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import accumulate
from time import monotonic_ns
from typing import Any, Final, Protocol

from fireassay.errors import EnvironmentLacks, WorkloadError
from fireassay.spec.sections.serving import Client, Target
from fireassay.traffic.client.plan import Made, Transport
from fireassay.traffic.parts import Answer, Ask, Backend, Ended, Sign, Wire
from fireassay.traffic.wire.compiled import Core, CorePool, built
from fireassay.traffic.wire.connection import READ_COST, Pool
from fireassay.traffic.wire.response import Address, Exchange, Head, Payloads, address_of, below

_SENDS = ("http11.send_request_headers.started", "http2.send_request_headers.started")
_CONNECTS = ("connection.connect_tcp.started", "connection.start_tls.complete", "connection.connect_tcp.complete")


def client_of(client: Client) -> Any:
    """One httpx client for all replicas. Raises EnvironmentLacks: httpx, or its HTTP/2 dependency, is not installed."""
    try:
        import httpx

        return httpx.AsyncClient(
            http2=client.http2,
            proxy=client.proxy or None,
            verify=client.verify_tls,
            trust_env=False,
            timeout=None,
            limits=httpx.Limits(max_connections=client.connections, max_keepalive_connections=client.connections),
        )
    except ImportError as error:
        raise EnvironmentLacks(f"the library transport needs httpx with HTTP/2: pip install 'fireassay[library]' ({error.name})") from None


class LibraryTransport:
    """The connection to one replica by httpx."""

    def __init__(self, client: Any, url: str, sign: Sign | None) -> None:
        self._client, self._url, self._sign = client, url.rstrip("/"), sign
        self._tasks: set[asyncio.Task[None]] = set()

    def payload(self, made: Made) -> Wire:
        """The request, signed."""
        assert made.wire is not None
        return made.wire if self._sign is None else self._sign(made.wire, self._url)

    def send(self, exchange: Exchange) -> None:
        exchange.transport = "library"
        task = asyncio.get_running_loop().create_task(self._exchange(exchange, exchange.payload))
        exchange.connection = _Waiting(task)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def arm(self, before: Exchange, exchange: Exchange, pause_ns: int) -> None:
        """Not supported: there is no core."""

    def warm(self, connections: int) -> None:
        """Nothing to do: httpx opens connections on demand."""

    async def warmed(self) -> None:
        """Nothing to wait for."""

    async def close(self) -> None:
        """Cancel requests in flight."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.aclose()

    async def _exchange(self, exchange: Exchange, wire: Wire) -> None:
        import httpx

        try:
            await self._stream(exchange, wire)
        except asyncio.CancelledError:
            exchange.finish("cancelled", "the load was stopped")
            raise
        except httpx.TimeoutException as error:
            exchange.finish("timeout", _plain(error))
        except (httpx.ConnectError, httpx.ProxyError) as error:
            exchange.sent_ns = None
            exchange.finish("refused", _plain(error))
        except httpx.RemoteProtocolError as error:
            disconnected = "disconnected" in str(error) or "peer closed" in str(error)
            exchange.finish("closed" if disconnected else "malformed", _plain(error))
        except (httpx.LocalProtocolError, httpx.DecodingError, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            exchange.finish("malformed", _plain(error))
        except (httpx.HTTPError, OSError) as error:
            exchange.finish("closed", _plain(error))

    async def _stream(self, exchange: Exchange, wire: Wire) -> None:
        parts: list[bytes] = []
        ended: Ended = "complete"
        reason = ""
        exchange.sent_ns = monotonic_ns()
        trace = _Trace(exchange)
        request = self._client.build_request(
            wire.method, below(self._url, wire.path), headers=list(wire.headers), content=wire.body, extensions={"trace": trace.note}
        )
        request.headers["accept-encoding"] = "identity"
        response = await self._client.send(request, stream=True)
        head = Head(response.status_code, {name.lower(): value for name, value in response.headers.items()}, 0, 0, True)
        try:
            async for data in response.aiter_raw():
                exchange.ns.append(monotonic_ns())
                parts.append(data)
                exchange.room -= len(data) + READ_COST
                if exchange.room < 0:
                    ended, reason = "too_large", "the answer is larger than client.response_mib"
                    break
        finally:
            exchange.take(b"".join(parts), list(accumulate(map(len, parts))), head)
            await response.aclose()
        exchange.finish(ended, reason, exchange.ns[-1] if exchange.ns else None)


class _Trace:
    """Connect and send times from httpx's trace."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange, self._began_ns = exchange, 0

    async def note(self, name: str, info: Any) -> None:
        now = monotonic_ns()
        if name == _CONNECTS[0]:
            self._began_ns = now
        elif name in _CONNECTS:
            self._exchange.connect_ns = now - self._began_ns
        elif name in _SENDS:
            self._exchange.sent_ns = now


class _Waiting:
    """A request in flight that can be aborted."""

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    def give_up(self, exchange: Exchange, ended: Ended, why: str) -> None:
        """Stop waiting. The caller has noted the reason."""
        self._task.cancel()

    def refresh(self, exchange: Exchange) -> None:
        """Nothing to do: exchanges are always up to date here."""


def _plain(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:200]


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
