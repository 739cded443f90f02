"""How does a load use a proxy or HTTP/2?

By httpx, which supports both; the record says so (`transport`).  It is slower and later than assay's own protocol: times are taken when
httpx returns the bytes, after its own parsing.  How long the bytes had waited is unknown, so these times have no stated uncertainty.
"""

from __future__ import annotations

import asyncio
from itertools import accumulate
from time import monotonic_ns
from typing import Any

from fireassay.errors import EnvironmentLacks
from fireassay.spec.sections.serving import Client
from fireassay.traffic.client.plan import Made
from fireassay.traffic.parts import Ended, Sign, Wire
from fireassay.traffic.wire.connection import READ_COST
from fireassay.traffic.wire.response import Exchange, Head

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
            wire.method, self._url + wire.path, headers=list(wire.headers), content=wire.body, extensions={"trace": trace.note}
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
