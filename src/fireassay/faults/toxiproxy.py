"""How does the system behave under any of Toxiproxy's network faults?

A Toxiproxy server (github.com/Shopify/toxiproxy) injects them.  Through its HTTP API, assay creates a proxy in front of the replica,
sends the load through it, adds a toxic when the fault strikes, removes it after `for_s`, and removes the proxy at the end.
Target options: `toxiproxy.api`, the server (default http://127.0.0.1:8474), and `toxiproxy.listen`, the address it listens on
(default 127.0.0.1:0 if the server is on this host, else 0.0.0.0:0).

The default toxic is `latency` of `delay_s` on a `share` of the connections, downstream.  `command` selects another: its type and, in
JSON, its attributes, for example `reset_peer {"timeout": 0}` or `bandwidth {"rate": 100}`.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, urlsplit

from pydantic import Field

from fireassay.errors import EnvironmentLacks, refuse
from fireassay.faults.delay import Delayed
from fireassay.faults.support.base import Fault, Struck, Undo
from fireassay.spec.sections.serving import Target

DEFAULT_API = "http://127.0.0.1:8474"
TIMEOUT_S = 5.0
TOXIC = "assay"
_LOCAL = ("127.0.0.1", "localhost", "::1")


class Toxiproxy:
    """Proxies that assay created on a server."""

    def __init__(self, api: str, listen: str = "") -> None:
        parts = urlsplit(api)
        self._host, self._port = parts.hostname or "", parts.port or 8474
        self._listen = listen or ("127.0.0.1:0" if self._host in _LOCAL else "0.0.0.0:0")
        self._names: dict[str, str] = {}  # proxy address -> proxy name

    def version(self) -> str:
        """The server's version. Raises RuntimeError: nothing answers, or it is not Toxiproxy."""
        return str(self.ask("GET", "/version"))

    def before(self, url: str) -> str:
        """Create a proxy and return the URL that leads through it.

        Raises:
            ValueError: `url` is not http.
            RuntimeError: the server refuses.
        """
        parts = urlsplit(url)
        if parts.scheme != "http":
            raise ValueError(f"Toxiproxy stands before http:// alone, not {parts.scheme}://")
        upstream = f"{parts.hostname}:{parts.port or 80}"
        name = f"assay-{upstream.replace(':', '-')}"
        if name in self.ask("GET", "/proxies"):  # left by a run that was killed
            self.ask("DELETE", f"/proxies/{quote(name)}")
        proxy = self.ask("POST", "/proxies", {"name": name, "listen": self._listen, "upstream": upstream, "enabled": True})
        address = f"http://{self._host}:{str(proxy['listen']).rpartition(':')[2]}{parts.path.rstrip('/')}"
        self._names[address] = name
        return address

    def add(self, url: str, kind: str, attributes: dict[str, Any], share: float) -> None:
        """Add the toxic to the proxy at this address. Raises RuntimeError: the server refuses."""
        self.ask(
            "POST",
            f"/proxies/{quote(self._names[url])}/toxics",
            {"name": TOXIC, "type": kind, "stream": "downstream", "toxicity": share, "attributes": attributes},
        )

    def remove(self, url: str) -> None:
        """Remove the toxic. Raises RuntimeError: the server refuses."""
        self.ask("DELETE", f"/proxies/{quote(self._names[url])}/toxics/{TOXIC}")

    def close(self) -> None:
        """Remove the proxies."""
        for url, name in list(self._names.items()):
            del self._names[url]
            try:
                self.ask("DELETE", f"/proxies/{quote(name)}")
            except RuntimeError:  # the server is gone, and with it the proxy
                continue

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Send one request to the server. Raises RuntimeError: no answer, an error status, or neither JSON nor text."""
        # with TLS and e-mail headers: not for every report, which loads the faults
        import http.client

        from fireassay.instruments.engines.deadline import within

        connection = http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)
        try:
            text = None if body is None else json.dumps(body)
            connection.connect()
            with within(connection.sock, TIMEOUT_S, "no whole answer"):
                connection.request(method, path, text, {"content-type": "application/json", "user-agent": "assay"})
                answer = connection.getresponse()
                content = answer.read(1 << 20).decode("utf-8", "replace").strip()
        except (OSError, http.client.HTTPException) as error:
            raise RuntimeError(f"Toxiproxy at {self._host}:{self._port}: {error or type(error).__name__}") from None
        finally:
            connection.close()
        if not 200 <= answer.status < 300:
            raise RuntimeError(f"Toxiproxy at {self._host}:{self._port}: {method} {path} answered {answer.status}: {content[:200]}")
        try:
            return json.loads(content) if content else None
        except ValueError:
            return content


class Keys(Delayed):
    """Keys of this fault."""

    command: str = Field("", description="a toxic other than latency and, in JSON, its attributes.")


def toxic(asked: Keys) -> tuple[str, dict[str, Any]]:
    """Type and attributes of the toxic. Raises SpecError: `command` is not a type followed by JSON."""
    if not asked.command.strip():
        return "latency", {"latency": round(1000 * asked.delay_s), "jitter": 0}
    kind, _, text = asked.command.strip().partition(" ")
    try:
        attributes = json.loads(text or "{}")
        if isinstance(attributes, dict) and kind.replace("_", "").isalpha():
            return kind, attributes
    except ValueError:
        pass
    raise refuse(
        "faults[].command",
        repr(asked.command),
        "for kind toxiproxy a toxic and its attributes in JSON",
        "For example: command = 'reset_peer {\"timeout\": 0}'",
    )


def _server(target: Target) -> Toxiproxy:
    return Toxiproxy(str(target.options.get("toxiproxy.api", DEFAULT_API)), str(target.options.get("toxiproxy.listen", "")))


def check(asked: Keys, target: Target) -> None:
    """Check that the server answers and can proxy the engine.

    Raises:
        SpecError: the toxic is invalid, or an address is not http://.
        EnvironmentLacks: nothing answers.
    """
    toxic(asked)
    if unsupported := [url for url in target.urls if not url.startswith("http://")]:
        raise refuse("faults[].kind", f"'toxiproxy' for {unsupported[0]}", "such a fault where the address is http://")
    front(asked, target, "", 0)


def front(asked: Keys, target: Target, mark: str, seed: int) -> Toxiproxy:
    """The server's proxies. Raises EnvironmentLacks: nothing answers."""
    server = _server(target)
    try:
        server.version()
    except RuntimeError as error:
        raise EnvironmentLacks(
            f'{error}. Start toxiproxy-server, or name its address in the target\'s options ("toxiproxy.api"); '
            'kind = "delay" and kind = "reset" need none.'
        ) from None
    return server


def on_load(struck: Struck, asked: Keys) -> Undo:
    """Add the toxic; undone by removing it. Raises RuntimeError: the server refuses."""
    kind, attributes = toxic(asked)
    struck.front.add(struck.front_url, kind, attributes, asked.share)
    return lambda: struck.front.remove(struck.front_url)


FAULT = Fault(name="toxiproxy", on_load=on_load, needs="proxy", keys=Keys, check=check, front=front)
