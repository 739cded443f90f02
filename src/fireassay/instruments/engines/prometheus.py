"""What did the servers report about themselves during the load?

Their Prometheus endpoints, scraped once a second.

    with Scraper(target.metrics, launch, emit, options=target.options, urls=replica_urls) as scraper: ...

Each endpoint has its own thread, which reads at the start of the load, every second, and at its end, and emits rows of the table
`telemetry` on the load's own clock: device `replica-N` (the N-th endpoint), method `scraped`, for `exposition.KNOWN` and for every name
in an option `metrics.NAME = "unit"`. `{url}` in an endpoint is replaced by the address of each replica, for servers that assay starts
on free ports.

A DCGM exporter's GPUs are separate devices, by UUID: `energy` is joules since the launch's first reading, method `counter`, so that
they are treated like NVML's and a GPU in both is counted once (host and device are equal). The option `metrics.gpus` ("0,1" or UUID
prefixes) leaves out other GPUs on the same host.

An endpoint cannot harm the load: time and size of a response are bounded, and failures are counted in `scrape_failures`. A bearer token
comes from the variable in `api_key_env`.
"""

from __future__ import annotations

import http.client
import os
import socket
import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Self
from urllib.parse import urlsplit

from fireassay.instruments.engines import exposition
from fireassay.instruments.engines.deadline import within
from fireassay.instruments.engines.exposition import Series, Wanted
from fireassay.instruments.machine.energy.support.accumulator import Accumulated, Limits, Raw, step
from fireassay.units import NS_PER_S

Row = tuple[int, int, str, str, str, float, str, str]  # launch, ns, host, device, counter, value, unit, method
EVERY_S: Final = 1.0
TIMEOUT_S: Final = 3.0  # for a whole response
MAX_BYTES: Final = 16 << 20
JOIN_S: Final = 2 * TIMEOUT_S + 1.0
STALE_S: Final = 60.0  # delay of an exporter's energy values: DCGM's collects every 30 s by default
LIMITS: Final = Limits()
_LOCAL: Final = ("127.0.0.1", "localhost", "::1")


class Scraper:
    """Scrapes endpoints between `start` and `stop`."""

    def __init__(
        self,
        endpoints: Sequence[str],
        launch: int,
        emit: Callable[[Row], None],
        *,
        options: Mapping[str, str | int | float | bool] | None = None,
        urls: Sequence[str] = (),
        api_key_env: str = "",
        every_s: float = EVERY_S,
    ) -> None:
        """`emit` is called from the scraper's threads with one row of `telemetry` at a time."""
        key = os.environ.get(api_key_env, "") if api_key_env else ""
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self._stopped = threading.Event()
        self._endpoints = [
            _Endpoint(number, address, launch, emit, options or {}, headers, round(every_s * NS_PER_S), self._stopped)
            for number, address in enumerate(addresses(endpoints, urls))
        ]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def troubles(self) -> dict[str, str]:
        """Endpoint -> the reason of its last failure."""
        return {endpoint.address: endpoint.trouble for endpoint in self._endpoints if endpoint.trouble}

    def start(self) -> None:
        """Start; returns at once."""
        for endpoint in self._endpoints:
            endpoint.thread.start()

    def stop(self) -> None:
        """Stop, with a last reading of each endpoint. A hanging one is abandoned at its time limit."""
        self._stopped.set()
        for endpoint in self._endpoints:
            if endpoint.thread.ident is not None:
                endpoint.thread.join(JOIN_S)


def addresses(endpoints: Sequence[str], urls: Sequence[str]) -> list[str]:
    """The endpoints; those with {url} once per replica."""
    expanded: list[str] = []
    for endpoint in endpoints:
        expanded += [endpoint.replace("{url}", url.rstrip("/")) for url in urls] if "{url}" in endpoint else [endpoint]
    return expanded


class _Endpoint:
    """One endpoint and its thread."""

    def __init__(
        self,
        number: int,
        address: str,
        launch: int,
        emit: Callable[[Row], None],
        options: Mapping[str, str | int | float | bool],
        headers: Mapping[str, str],
        every_ns: int,
        stopped: threading.Event,
    ) -> None:
        self.address, self.trouble = address, ""
        self._launch, self._emit, self._headers = launch, emit, headers
        self._every_ns, self._stopped = every_ns, stopped
        self._device, self._failures = f"replica-{number}", 0
        self._own = {**exposition.KNOWN, **requested(options)}
        self._names = exposition.spellings({**self._own, **exposition.GPUS})
        self._chosen = tuple(str(options.get("metrics.gpus", "")).replace(" ", "").split(",")) if options.get("metrics.gpus") else ()
        self._energies: dict[tuple[str, str], Accumulated] = {}
        host = urlsplit(address).hostname or ""
        self._name = socket.gethostname()
        self._host = self._name if host in _LOCAL else host
        self.thread = threading.Thread(target=self._run, name=f"assay-scraper-{number}", daemon=True)

    def _run(self) -> None:
        due = time.monotonic_ns()
        while True:
            self._scrape()
            if self._stopped.is_set():
                return
            due = max(due + self._every_ns, time.monotonic_ns())
            self._stopped.wait((due - time.monotonic_ns()) / NS_PER_S)

    def _scrape(self) -> None:
        try:
            page = fetch(self.address, self._headers)
            ns = time.monotonic_ns()
            for row in self._rows(ns, exposition.parse(page, self._names)):
                self._emit(row)
        except Exception as error:  # never disturb the load
            self._failures += 1
            self.trouble = f"{type(error).__name__}: {error}"[:200]
            ns = time.monotonic_ns()
            self._emit((self._launch, ns, self._name, self._device, "scrape_failures", float(self._failures), "count", "self"))

    def _rows(self, ns: int, page: Sequence[Series]) -> list[Row]:
        engine: dict[str, list[float]] = defaultdict(list)
        gpus: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        for series in page:
            name = self._names[series.name]
            if name in self._own:
                engine[name].append(series.value)
            elif self._is_chosen(series.labels):
                device = series.labels.get("UUID") or f"gpu-{series.labels.get('gpu', '?')}"
                # On this host the label holds the container's name, the meter's rows the host's.
                host = self._name if self._host == self._name else series.labels.get("Hostname") or self._host
                gpus[host, device, name].append(series.value)
        # A page may also hold a counter under its old name.
        name_of_counter = {self._own[name].counter: name for name in reversed(self._own) if name in engine}
        rows = [self._row(ns, self._host, self._device, self._own[name], engine[name]) for name in name_of_counter.values()]
        for (host, device, name), values in gpus.items():
            if name != exposition.ENERGY:
                rows.append(self._row(ns, host, device, exposition.GPUS[name], values))
            else:
                rows += self._energy(ns, host, device, max(values) * exposition.GPUS[name].scale)
        return rows

    def _row(self, ns: int, host: str, device: str, spec: Wanted, values: Sequence[float]) -> Row:
        value = spec.scale * exposition.combine(values, spec.together)
        return self._launch, ns, host, device, spec.counter, value, spec.unit, "scraped"

    def _energy(self, ns: int, host: str, device: str, joules: float) -> list[Row]:
        """Joules since the first reading, accumulated as in `machine.energy`."""
        state = self._energies.get((host, device), Accumulated())
        if state.last is None:
            state = step(state, Raw(ns - round(STALE_S * NS_PER_S), joules), LIMITS)
        elif joules != state.last.joules:  # skip repeats between two updates of the exporter
            state = step(state, Raw(ns, joules), LIMITS)
        self._energies[host, device] = state
        rows: list[Row] = [(self._launch, ns, host, device, "energy", state.joules, "J", "counter")]
        if state.lower_bound:
            rows.append((self._launch, ns, host, device, "energy_doubts", float(state.doubts), "count", "counter"))
        return rows

    def _is_chosen(self, labels: Mapping[str, str]) -> bool:
        names = (labels.get("gpu", ""), labels.get("UUID", ""))
        return not self._chosen or any(chosen in names or (len(chosen) > 4 and names[1].startswith(chosen)) for chosen in self._chosen)


def requested(options: Mapping[str, str | int | float | bool]) -> dict[str, Wanted]:
    """The names requested by options `metrics.NAME = "unit"`."""
    names = {key.removeprefix("metrics."): unit for key, unit in options.items() if key.startswith("metrics.")}
    return {name: Wanted(name, unit if isinstance(unit, str) and unit else "count") for name, unit in names.items() if name != "gpus"}


def fetch(address: str, headers: Mapping[str, str], *, timeout_s: float = TIMEOUT_S, most: int = MAX_BYTES) -> bytes:
    """The page at an address.

    Raises:
        OSError, http.client.HTTPException: no response in time, too large, or a status other than 200.
    """
    parts = urlsplit(address)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    connection: http.client.HTTPConnection = (
        http.client.HTTPSConnection(parts.hostname or "", port, timeout=timeout_s, context=ssl.create_default_context())
        if parts.scheme == "https"
        else http.client.HTTPConnection(parts.hostname or "", port, timeout=timeout_s)
    )
    connection.connect()
    page = bytearray()
    try:
        with within(connection.sock, timeout_s, "no complete page"):
            query = f"?{parts.query}" if parts.query else ""
            connection.request("GET", (parts.path or "/") + query, headers={"accept": "text/plain", "connection": "close", **headers})
            answer = connection.getresponse()
            if answer.status != 200:
                raise OSError(f"status {answer.status}")
            while data := answer.read1(1 << 16):
                page += data
                if len(page) > most:
                    raise OSError(f"the page has more than {most >> 20} MiB")
    finally:
        connection.close()
    return bytes(page)


def reference() -> str:
    """The list of kept names, in Markdown."""
    rows = [f"| `{name}` | `{spec.counter}` | {spec.unit} |" for name, spec in (exposition.KNOWN | exposition.GPUS).items()]
    return "\n".join(["| name on the page | counter | unit |", "|---|---|---|", *rows, ""])
