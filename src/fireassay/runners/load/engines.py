"""Which engines are up, and since when?  Starts the experiment's own engines and keeps them as specified.

A target with URLs is external and only queried.  One with a command gets fresh replicas before every block, before every
launch, or once (`serving.targets[].restart`); a fault launch always gets its own replicas, since it breaks them, and they end
with it.

How is a fault injected into a load, when does it strike, and how is the outage observed?

Only fault launches have proxies and probes: in a timed launch assay adds nothing between client and server.

How long may a load take?  As long as limits.launch_timeout_s says; an evaluation may take that long for its next answer.

The number of its items decides how long a pass takes, and a slow engine answers all of them in the end.
"""

from __future__ import annotations

import http.client
import json
import shlex
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

from fireassay import catalog
from fireassay.errors import EnvironmentLacks, WorkloadError
from fireassay.faults.support.base import Fault, Front, Struck
from fireassay.faults.support.under_load import Strike, check
from fireassay.instruments.engines.prober import Prober
from fireassay.instruments.engines.prometheus import fetch
from fireassay.launchers.support.servers import Replicas, ServerSettings
from fireassay.record.secrets.redact import redact, secret_values
from fireassay.runners.experiment.context import Job, RunContext
from fireassay.runners.launching.node_meters import mark_of
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import PlannedLaunch, targets_of
from fireassay.spec.sections.serving import Serving, Target
from fireassay.traffic.wire.response import below, plain_reason
from fireassay.traffic.wire.transports import tls_context
from fireassay.units import MIB, NS_PER_S

Emit = Callable[[str, int, int | None, Mapping[str, Any]], None]  # kind, ns, replica, detail
CONNECT_S: Final = 3.0
FETCH_S: Final = 2.0
MAX_DESCRIPTION_LENGTH: Final = 4000  # characters kept of an engine's self-description
# Where engines describe themselves; the first path that returns JSON is used: vLLM, SGLang, TGI, llama.cpp, any OpenAI dialect.
DESCRIBED_AT: Final = ("/version", "/get_server_info", "/info", "/props", "/v1/models")


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A target whose replicas accept requests."""

    target: Target
    urls: tuple[str, ...]
    replicas: Replicas | None  # None: not started by assay


def urls_of(experiment: Experiment, target: Target) -> tuple[str, ...]:
    """The URLs of a target that assay does not start."""
    return target.urls or ((experiment.workload.script,) if not target.command and experiment.workload.script else ())


def check_reachable(experiment: Experiment) -> None:
    """Check that every target that assay does not start accepts connections.

    Raises:
        EnvironmentLacks: some do not; with the address and the reason of each.
    """
    assert experiment.serving is not None
    targets = targets_of(experiment.serving)
    several = sum(len(urls_of(experiment, target)) for target in targets) > 1
    lacking = [
        f"{f'{target.name}: ' if several else ''}{why}"
        for target in targets
        for url in urls_of(experiment, target)
        if (why := _unreachable(url, target.model or experiment.serving.model, verify=experiment.serving.client.verify_tls))
    ]
    if lacking:
        raise EnvironmentLacks("\n".join(lacking))


def _unreachable(url: str, model: str, *, verify: bool) -> str:
    """Why nothing accepts connections there, or no TLS behind https; empty if something does."""
    parts = urlsplit(url)
    shown, tls = redact(url), parts.scheme == "https"
    unsafe = " --no-verify-tls" if not verify else ""
    again = f"  assay load {shlex.quote(shown)}{f' --model {shlex.quote(model)}' if model else ''}{unsafe} --check"
    try:
        opened = socket.create_connection((parts.hostname or "", parts.port or (443 if tls else 80)), timeout=CONNECT_S)
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
        return f"no server at {shown}: {why}\nNothing was sent or recorded. Start the server, then see how it answers:\n{again}"
    try:
        with opened:
            if tls:
                tls_context(verify=verify).wrap_socket(opened, server_hostname=parts.hostname).close()
    except ssl.SSLCertVerificationError as error:
        cure = "Name its authority in SSL_CERT_FILE, or do not verify it"
        return (
            f"{shown}: {plain_reason(error)}\nNothing was sent or recorded. {cure}:\n{again.removesuffix('--check')}--no-verify-tls --check"
        )
    except OSError as error:
        cure = "If it speaks plain HTTP, see how it answers"
        return f"no TLS at {shown}: {plain_reason(error)}\nNothing was sent or recorded. {cure}:\n{again.replace('https', 'http', 1)}"
    return ""


class Engines:
    """The engines of one experiment; `close` stops those that assay started."""

    def __init__(self, context: RunContext) -> None:
        assert context.experiment.serving is not None
        self.context = context
        self.serving: Serving = context.experiment.serving
        self._up: dict[str, tuple[object, Replicas]] = {}  # target -> (purpose, replicas)

    def ready(self, name: str, job: Job, emit: Emit) -> Engine:
        """The engine of that name, started if necessary.

        Raises:
            WorkloadError: it did not become ready; the message holds its last output.
        """
        target = self._target(name)
        if not target.command:
            return Engine(target=target, urls=urls_of(self.context.experiment, target), replicas=None)
        purpose = _purpose(target, job.planned)
        if name in self._up and self._up[name][0] != purpose:
            self.end(name)
        replicas = self._replicas(target, purpose, job.number, emit)
        replicas.emit = emit
        return Engine(target=target, urls=tuple(replicas.urls), replicas=replicas)

    def addresses(self, name: str, launch: int) -> tuple[str, ...]:
        """Where each replica of an engine listens, past a router in front of them, for what follows its loads.

        If it is no longer up it is started once more, and its log joins those of that launch.

        Raises:
            WorkloadError: it did not become ready; the message holds its last output.
            Interrupted: the user wants to stop.
        """
        target = self._target(name)
        if not target.command:
            return urls_of(self.context.experiment, target)
        return self._replicas(target, "addresses", launch, lambda *_: None).replica_urls

    def _target(self, name: str) -> Target:
        return next(candidate for candidate in targets_of(self.serving) if candidate.name == name)

    def _replicas(self, target: Target, purpose: object, launch: int, emit: Emit) -> Replicas:
        """The replicas that are up, or new ones if there are none or one is broken."""
        if target.name in self._up and self._up[target.name][1].broken:
            self.end(target.name)
        if target.name not in self._up:
            self._make_room(target.name)
            self._up[target.name] = (purpose, self._started(target, launch, emit))
        return self._up[target.name][1]

    def _make_room(self, name: str) -> None:
        """Stop the other engines: two would share the machine's processors and devices."""
        for other in [other for other in self._up if other != name]:
            self.end(other)

    def _started(self, target: Target, launch: int, emit: Emit) -> Replicas:
        experiment, record = self.context.experiment, self.context.record
        settings = ServerSettings(
            folder=self.context.folder,
            log_folder=record.log_path(launch).parent,
            mark=f"{mark_of(record.path, launch)}engine.",
            secrets=secret_values(target.environment),
            grace_s=experiment.limits.grace_s,
            log_bytes=int(experiment.limits.log_mib * MIB),
        )
        stop = self.context.stop
        replicas = Replicas(target, settings, serving_model=self.serving.model, emit=emit, stopped=lambda: stop.count > 0)
        replicas.start()
        return replicas

    def end(self, name: str) -> None:
        """Stop a target's replicas, if assay started any."""
        entry = self._up.pop(name, None)
        if entry is not None:
            entry[1].stop()

    def close(self) -> None:
        """Stop everything that assay started."""
        for name in list(self._up):
            self.end(name)


def _purpose(target: Target, planned: PlannedLaunch) -> object:
    """The key for reusing replicas: they stay up while it is unchanged."""
    if planned.role == "fault" or target.restart == "launch":
        return ("slot", planned.slot)
    return ("block", planned.block) if target.restart == "block" else "experiment"


def self_description(urls: Sequence[str]) -> dict[str, Any]:
    """The first replica's self-description, by path; {} if there is none. Secrets are neither requested nor kept."""
    for path in DESCRIBED_AT if urls else ():
        try:
            answer = _fetch_json(below(urls[0].rstrip("/"), path))
        except TimeoutError:  # it would time out on the other paths too
            return {}
        if answer is not None:
            return {"path": path, "said": answer}
    return {}


def _fetch_json(url: str) -> str | None:
    try:
        content = json.loads(fetch(url, {"accept": "application/json"}, timeout_s=FETCH_S, most=MIB))
    except TimeoutError:
        raise
    # the address may be any server, even one for mail
    except (OSError, ValueError, RecursionError, http.client.HTTPException):
        return None
    return redact(json.dumps(content, sort_keys=True))[:MAX_DESCRIPTION_LENGTH]


# ---- faults ----------------------------------------------------------------------------------------------------------


EmitAt = Callable[[str, int, int | None, Mapping[str, Any]], None]  # kind, ns, replica, detail


def check_faults(experiment: Experiment) -> None:
    """Check that every requested fault can strike its engines. Raises SpecError, EnvironmentLacks: one cannot."""
    assert experiment.serving is not None
    for spec in experiment.faults:
        fault: Fault = catalog.load("faults", spec.kind)
        for target in targets_of(experiment.serving):
            if spec.target in ("", target.name):
                check(fault, spec, target)


class FaultInjection:
    """The fault of one launch, if any. A context manager that undoes a lasting fault at its end."""

    def __init__(self, planned: PlannedLaunch, engine: Engine, emit: EmitAt, log: Path, mark: str) -> None:
        """`log`: for commands' output; `mark`: FIREASSAY_MARK of started processes."""
        self._planned, self._engine, self._emit, self._log, self._mark = planned, engine, emit, log, mark
        self._stack = ExitStack()
        self._strike: Strike | None = None
        self.urls: dict[int, str] = {}  # replica -> URL of assay's proxy in front of it

    def __enter__(self) -> Self:
        try:
            self._set_up()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def _set_up(self) -> None:
        planned = self._planned.fault
        if planned is None or planned.serving is None:
            return
        fault: Fault = catalog.load("faults", planned.kind)
        spec, engine = planned.serving, self._engine
        front: Front | None = None
        if fault.front is not None:
            front = fault.front(spec, engine.target, self._mark, self._planned.seed)
            self._stack.callback(front.close)
            try:
                self.urls = {number: front.before(url) for number, url in enumerate(engine.urls)}
            except (ValueError, RuntimeError) as error:
                raise WorkloadError(f"no proxy could be put in front of {engine.target.name}: {error}") from None
        urls = engine.replicas.replica_urls if engine.replicas is not None else engine.urls
        struck = Struck(
            replica=planned.rank,
            url=urls[planned.rank],
            target=engine.target,
            replicas=engine.replicas,
            front=front,
            # In front of a router all replicas share one proxy.
            front_url=self.urls.get(planned.rank, self.urls.get(0, "")),
            log=self._log,
            mark=self._mark,
        )
        seen = {number: self.urls.get(number, url) if urls == engine.urls else url for number, url in enumerate(urls)}
        self._stack.enter_context(Prober(tuple(seen.values()), engine.target, self._emit))
        self._strike = self._stack.enter_context(Strike(fault, struck, spec, self._emit))

    def begin(self, measured_ns: int) -> None:
        """Schedule the fault; the load's measured part begins at this monotonic time."""
        planned = self._planned.fault
        if self._strike is not None and planned is not None and planned.serving is not None:
            self._strike.at(measured_ns + round(planned.serving.at_s * NS_PER_S))

    def end(self) -> None:
        """End of the load: no more strikes, and lasting faults are undone."""
        if self._strike is not None:
            self._strike.close()

    @property
    def missed(self) -> str:
        """Why the fault did not strike; "" if it did, or if there is none."""
        return self._strike.missed if self._strike is not None else ""


@dataclass(kw_only=True)
class Deadline:
    """The limit of one load. `begin` starts it."""

    limit_s: float
    per_answer: bool
    begin_ns: int = 0
    done: int = 0

    def begin(self, ns: int) -> None:
        self.begin_ns = ns

    def passed(self, ns: int, done: int) -> str:
        """Why the load is to be ended; "" if it is not. `done`: how many requests have ended, whatever their outcome."""
        if self.per_answer and done > self.done:
            self.done, self.begin_ns = done, ns
        if (ns - self.begin_ns) / NS_PER_S <= self.limit_s:
            return ""
        limit = f"limits.launch_timeout_s = {self.limit_s:g} s"
        if self.per_answer:
            return f"no answer for {limit} ({self.done:,} requests had ended), and was ended"
        return f"still running after {limit}, and was ended"
