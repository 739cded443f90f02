"""How is a site of records served to a browser on this machine?

Every answer is made from the records at that moment; pages of sealed records, which cannot change, are kept for a while.  A framework
(Starlette, on uvicorn) speaks HTTP; the standard library's http.server is not meant to be exposed, not even to one's own browser.

What is refused: any method but GET and HEAD; any path that is not one of the site's pages, which are looked up in a table and never on
disk; any Host header that does not name this server, so that a foreign name which resolves to 127.0.0.1 (DNS rebinding) reads nothing.
Pages allow no script but their own, no frame around them and no connection elsewhere (content security policy).

How far is a run that another process measures, as its record tells?

Ended launches come from the streams, the running launch's steps from the progress files of its ranks; nothing is asked of the run itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import html
import ipaddress
import re
import socket
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from fireassay.api.interim_analysis import Provisional, after_block, blocks_done
from fireassay.api.records.sides import Sides
from fireassay.api.records.site import INDEX, SitePage, overviews, record_pages, written
from fireassay.api.records.survey import Entry, survey
from fireassay.api.sides import Watch, unwatched
from fireassay.clock import Clock
from fireassay.errors import AssayError, EnvironmentLacks, RecordError
from fireassay.estimates.format import duration
from fireassay.printable import one_line
from fireassay.record.live.progress import read_progress
from fireassay.record.reader import Record, judged_from, open_record
from fireassay.record.unsealed import launch_name
from fireassay.record.untrusted import paths
from fireassay.reports.site import live
from fireassay.reports.site.live import Flight
from fireassay.runners.experiment.progress import FINAL, LaunchProgress, LaunchRow, RunProgress, planned_seconds, remaining, seconds_left
from fireassay.spec.plan import PlannedLaunch, plan

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

MAX_SHOWN: Final = 20  # runs shown
MAX_KNOWN: Final = 64  # tables of blocks
Known = dict[tuple[Path, int], Provisional | None]  # by record and number of finished blocks


def flights(entries: Sequence[Entry], clock: Clock, known: Known) -> list[Flight]:
    """The runs in flight; one that ends or is unreadable meanwhile is left out. `known`: tables made earlier, which it keeps up to date."""
    found = []
    for entry in [entry for entry in entries if entry.state == "running"][:MAX_SHOWN]:
        with suppress(RecordError):
            found.append(_flight(entry, clock, known))
    return found


def _flight(entry: Entry, clock: Clock, known: Known) -> Flight:
    with judged_from(entry.path):
        record = open_record(entry.path)
        progress = _progress(record, clock)
        ended = {row["slot"] for row in progress.rows if row["status"] in FINAL}
        running, table = progress.running, _provisional(progress, known)
        return Flight(
            record=entry.record,
            kind=entry.kind,
            ended=len(ended),
            planned=len(progress.plan),
            adaptive=progress.adaptive,
            now=_now(running.planned, running.steps) if running else "between launches",
            left="unknown" if progress.seconds_left is None else f"about {duration(progress.seconds_left)}",
            caption=table.caption if table else "",
            names=table.heads if table else (),
            rows=table.rows if table else (),
        )


def _now(planned: PlannedLaunch, steps: int) -> str:
    what = f"{planned.configuration}, round {planned.block}" if planned.role == "timed" else f"{planned.configuration}, {planned.role}"
    return f"{what}, step {steps}" if steps else what


def _progress(record: Record, clock: Clock) -> RunProgress:
    launches = plan(record.experiment)
    rows = sorted(record.arrow("launches").to_pylist(), key=lambda row: row["launch"])
    waiting = remaining(launches, rows)
    running = None
    if waiting:
        number = 1 + max((row["launch"] for row in rows), default=-1)
        steps, ranks = _steps(record, number, waiting[0].workers)
        elapsed_s = _elapsed_s(record, rows, clock)
        running = LaunchProgress(
            number=number, planned=waiting[0], elapsed_s=elapsed_s, steps=steps, steps_per_s=None, ranks=ranks, incarnation=0
        )
    return RunProgress(
        record=record.path,
        plan=launches,
        rows=tuple(rows),
        running=running,
        seconds_left=seconds_left(launches, rows, running, planned_seconds(record.experiment)),
        adaptive=record.experiment.launches.adaptive,
    )


def _elapsed_s(record: Record, rows: Sequence[LaunchRow], clock: Clock) -> float:
    """Seconds since the last launch ended, if this machine's clock can tell."""
    if not rows or record.manifest["coordinator"]["host"] != socket.gethostname():
        return 0.0
    ended_ns: int = max(row["end_ns"] for row in rows)
    return max(0.0, (clock.now_ns() - ended_ns) / 1e9)


def _steps(record: Record, launch: int, workers: int) -> tuple[int, int]:
    """Steps finished by every rank that has reported, and the number of those ranks."""
    steps = []
    for rank in range(workers):
        with suppress(OSError, RecordError):  # the launch has just ended
            file = paths.plain(record.path, f"streams/{launch_name(launch)}/progress/rank={rank}.bin")
            if (progress := read_progress(file)) is not None:
                steps.append(progress.steps)
    return min(steps, default=0), len(steps)


def _provisional(progress: RunProgress, known: Known) -> Provisional | None:
    """What the finished blocks say; worked out once per block, since that takes processors from the run."""
    done = blocks_done(progress)
    if len(known) > MAX_KNOWN:
        known.clear()
    if done and (progress.record, done) not in known:
        known[progress.record, done] = None
        with suppress(RecordError):  # the launch that runs may be writing
            known[progress.record, done] = after_block(progress)
    return known.get((progress.record, done))


KEPT: Final = 32  # pages of sealed records
LIVE: Final = "live.html"
LOCAL: Final = "localhost"
HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
POLICY: Final = "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
NOTHING: Final = f"default-src 'none'; {POLICY}"
_META: Final = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)"')


@dataclass(kw_only=True)
class Site:
    """The pages of a folder of records, made on request."""

    root: Path
    cache: Path
    title: str
    clock: Clock
    watch: Watch = unwatched
    _kept: OrderedDict[str, str] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self._sides = Sides(self.cache, self.watch)
        self._tables: Known = {}

    def page(self, path: str) -> tuple[str | None, str]:
        """A page, or None if there is no such page; and what changes when a record is new or ends. Raises AssayError: it cannot be made."""
        entries = survey(self.root, self.cache)
        if path == LIVE:
            return written(live.page(flights(entries, self.clock, self._tables))), _state(entries)
        found = self._table(entries).get(path)
        if found is None:
            return None, _state(entries)
        made = self._made(found)
        return (live.refreshing(made) if path == INDEX else made), _state(entries)

    def _table(self, entries: Sequence[Entry]) -> dict[str, SitePage]:
        running = live.section(flights(entries, self.clock, self._tables))
        pages = (*record_pages(entries, self._sides), *overviews(entries, self.title, self.clock.utc(), (running,)))
        return {page.path: page for page in pages}

    def _made(self, page: SitePage) -> str:
        """One page is made at a time: a run may be measuring on this machine."""
        with self._lock:
            if page.key not in self._kept:
                made = page.make()
                if not page.key:
                    return made
                self._kept[page.key] = made
            self._kept.move_to_end(page.key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return self._kept[page.key]


def _state(entries: Sequence[Entry]) -> str:
    states = "\n".join(f"{entry.path.name} {entry.state} {entry.verdict}" for entry in entries)
    return hashlib.sha256(states.encode(errors="surrogatepass")).hexdigest()[:16]


# ---- HTTP ------------------------------------------------------------------------------------------------------------


def application(site: Site, is_ours: Callable[[str], bool]) -> Starlette:
    """The server's application. `is_ours`: whether a Host header names this server."""
    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse, PlainTextResponse
    from starlette.routing import Route

    def refused(status: int, text: str) -> Response:
        return PlainTextResponse(f"{text}\n", status_code=status, headers=HEADERS | {"Content-Security-Policy": NOTHING})

    def answer(request: Request) -> Response:
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or not is_ours(hosts[0]):
            return refused(421, "This server answers to its own address only: the one that assay serve printed.")
        try:
            made, state = site.page(request.path_params["path"] or INDEX)
        except AssayError as error:
            why = one_line(str(error)).replace(f"{site.root}/", "")  # where the records lie is nobody's business
            return refused(500, f"This page cannot be made: {why}")
        if made is None:
            return refused(404, "There is no such page. The first page lists all records.")
        return HTMLResponse(made, headers=HEADERS | {"Content-Security-Policy": _policy(made), "X-Assay-Records": state})

    return Starlette(routes=[Route("/{path:path}", answer, methods=["GET"])])


def _policy(page: str) -> str:
    """The page's own policy, with what only a header can say."""
    match = _META.search(page)
    own = html.unescape(match[1]) if match else "default-src 'none'"
    named = {directive.split()[0] for directive in own.split(";") if directive.split()}
    return "; ".join([own.strip().rstrip(";"), *(more for more in POLICY.split("; ") if more.split()[0] not in named)])


def hosts_of(host: str, *, exposed: bool) -> Callable[[str], bool]:
    """True if a Host header names a server that listens on `host`.

    A rebinding attack needs a name: an address is accepted if it is a loopback one, or any if the server is exposed.
    """
    names = {LOCAL, host.lower(), *((socket.gethostname().lower(), socket.getfqdn().lower()) if exposed else ())}

    def is_ours(header: str) -> bool:
        match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?", header)
        if match is None:
            return False
        name = match[1].strip("[]").lower()
        return name in names or (is_address(name) and (exposed or is_loopback(name)))

    return is_ours


def is_address(host: str) -> bool:
    """True if it is an IP address rather than a name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """True if only this machine can reach it."""
    return host == LOCAL or (is_address(host) and ipaddress.ip_address(host).is_loopback)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one. Raises EnvironmentLacks: nothing can listen there."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise EnvironmentLacks(f"cannot listen on {host}, port {port}: {why}. Give another --port, or none for a free one.") from error


REQUEST_S: Final = 5.0  # from a connection, or the end of its last answer, to the head of its next request
ANSWER_S: Final = 60.0  # to read an answer, as long as some of it is taken every `REQUEST_S`
CONNECTIONS: Final = 64


def _patient() -> type[asyncio.Protocol]:
    """uvicorn's protocol, which waits no longer than `REQUEST_S` for a request or a reader: either would otherwise hold every place."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Patient(H11Protocol):
        since = 0.0  # when it began to wait
        held = 0  # bytes that the client had not taken when it was last looked at

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.wait()
            waiting = [one for one in self.connections if isinstance(one, Patient) and one.waits()]
            if len(waiting) > CONNECTIONS // 2:  # a browser opens six
                min(waiting, key=lambda one: one.since).transport.abort()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self.wait()

        def wait(self) -> None:
            self.since, self.held = self.loop.time(), self.transport.get_write_buffer_size()
            self.loop.call_later(REQUEST_S, self.give_up, self.since)

        def waits(self) -> bool:
            cycle: Any = self.cycle
            return cycle is None or bool(cycle.response_complete or self.flow.write_paused)

        def give_up(self, since: float) -> None:
            if self.since != since or self.transport.is_closing():
                return
            if not self.waits():  # it makes a page
                return self.wait()
            held = self.transport.get_write_buffer_size()
            if held >= self.held or self.loop.time() - since > ANSWER_S:
                self.transport.abort()
            else:
                self.held = held
                self.loop.call_later(REQUEST_S, self.give_up, since)

    return Patient


def server(app: Starlette) -> uvicorn.Server:
    """The server; `run(sockets=[...])` serves until Ctrl-C or a termination signal, which it raises again."""
    import uvicorn

    config = uvicorn.Config(
        app,
        http=_patient(),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config)
