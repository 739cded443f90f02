"""Which engines are up, and since when?  Starts those that the experiment starts itself, and keeps them as long as asked.

A target with URLs is somebody else's and is only looked at.  One with a command gets fresh replicas before every block, every
launch or once (`serving.targets[].restart`); a fault launch always has replicas of its own, since it breaks them, and
they are gone after it.
"""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from assay.errors import EnvironmentLacks
from assay.instruments.engines.prometheus import fetch
from assay.launchers.support.servers import Replicas, ServerSettings
from assay.record.secrets.redact import redact, secret_values
from assay.runners.experiment.context import Job, RunContext
from assay.runners.launching.launch import mark_of
from assay.spec.experiment import Experiment
from assay.spec.plan import PlannedLaunch, targets_of
from assay.spec.sections.serving import Serving, Target
from assay.units import MIB

Emit = Callable[[str, int, int | None, Mapping[str, Any]], None]  # kind, ns, replica, detail
CONNECT_S: Final = 3.0
ASK_S: Final = 2.0
MOST_SAID: Final = 4000  # characters of an engine's own description that are kept
# Where engines say what they are; the first that answers with JSON is kept: vLLM, SGLang, TGI, llama.cpp, any OpenAI dialect.
DESCRIBED_AT: Final = ("/version", "/get_server_info", "/info", "/props", "/v1/models")


@dataclass(frozen=True, kw_only=True)
class Engine:
    """A target whose replicas can be asked."""

    target: Target
    urls: tuple[str, ...]
    replicas: Replicas | None  # None: not assay's own


def urls_of(experiment: Experiment, target: Target) -> tuple[str, ...]:
    """Where a target that is not started by assay listens."""
    return target.urls or ((experiment.workload.script,) if not target.command and experiment.workload.script else ())


def reachable(experiment: Experiment) -> None:
    """Whether something listens wherever assay starts nothing itself.

    Raises:
        EnvironmentLacks: nothing does; says where and why.
    """
    assert experiment.serving is not None
    for target in targets_of(experiment.serving):
        for url in urls_of(experiment, target):
            _connect(url)


def _connect(url: str) -> None:
    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname or "", port), timeout=CONNECT_S).close()
    except (OSError, ValueError) as error:
        why = str(error) or type(error).__name__
        raise EnvironmentLacks(
            f"nothing answers at {redact(url)}: {why}. Start the server, or give the address on which it listens; "
            "a target with `command` is started by assay."
        ) from None


class Engines:
    """The engines of one experiment; `close` ends those that assay started."""

    def __init__(self, context: RunContext) -> None:
        assert context.experiment.serving is not None
        self.context = context
        self.serving: Serving = context.experiment.serving
        self._up: dict[str, tuple[object, Replicas]] = {}  # target -> for what it was started, its replicas

    def ready(self, name: str, job: Job, emit: Emit) -> Engine:
        """The engine of that name, started if need be.

        Raises:
            WorkloadError: it did not become ready; its last words are in the message.
        """
        target = next(one for one in targets_of(self.serving) if one.name == name)
        if not target.command:
            return Engine(target=target, urls=urls_of(self.context.experiment, target), replicas=None)
        purpose = _purpose(target, job.planned)
        found = self._up.get(name)
        if found is not None and (found[0] != purpose or found[1].broken):
            self.end(name)
            found = None
        if found is None:
            self._make_room(name)
            found = self._up[name] = (purpose, self._started(target, job, emit))
        replicas = found[1]
        replicas.emit = emit
        return Engine(target=target, urls=tuple(replicas.urls), replicas=replicas)

    def _make_room(self, name: str) -> None:
        """One engine at a time: two would share the machine's processors and devices."""
        for other in [other for other in self._up if other != name]:
            self.end(other)

    def _started(self, target: Target, job: Job, emit: Emit) -> Replicas:
        experiment, record = self.context.experiment, self.context.record
        settings = ServerSettings(
            folder=self.context.folder,
            log_folder=record.log_path(job.number).parent,
            mark=f"{mark_of(record.path, job.number)}engine.",
            secrets=secret_values(target.environment),
            grace_s=experiment.limits.grace_s,
            log_bytes=int(experiment.limits.log_mib * MIB),
        )
        stop = self.context.stop
        replicas = Replicas(target, settings, serving_model=self.serving.model, emit=emit, stopped=lambda: stop.count > 0)
        replicas.start()
        return replicas

    def end(self, name: str) -> None:
        """End a target's replicas, if assay started any."""
        found = self._up.pop(name, None)
        if found is not None:
            found[1].stop()

    def close(self) -> None:
        """End everything that assay started."""
        for name in list(self._up):
            self.end(name)


def _purpose(target: Target, planned: PlannedLaunch) -> object:
    """What replicas are kept for: while it is the same they stay up."""
    if planned.role == "fault" or target.restart == "launch":
        return ("slot", planned.slot)
    return ("block", planned.block) if target.restart == "block" else "experiment"


def described(urls: Sequence[str]) -> dict[str, Any]:
    """What the first replica says of itself, by path; {} if it says nothing. Nothing secret is asked for or kept."""
    for path in DESCRIBED_AT if urls else ():
        try:
            said = _asked(urls[0].rstrip("/") + path)
        except TimeoutError:  # who is silent here will be silent at the other paths, too
            return {}
        if said is not None:
            return {"path": path, "said": said}
    return {}


def _asked(url: str) -> str | None:
    try:
        content = json.loads(fetch(url, {"accept": "application/json"}, timeout_s=ASK_S, most=MIB))
    except TimeoutError:
        raise
    # an address may lead to anything, a mail server too
    except (OSError, ValueError, RecursionError, http.client.HTTPException):
        return None
    return redact(json.dumps(content, sort_keys=True))[:MOST_SAID]
