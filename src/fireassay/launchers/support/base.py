"""What must a launcher do?

Turn one launch into processes and return a handle that can end them.  A launcher is one file with one `LAUNCHER`; it builds the
engine's command line.  `supervisor_client.py` does the rest: supervision, output, and cleanup of every process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.launcher import Launcher as Settings

# Variables that a launch must not inherit if an engine started assay itself.
ENGINE_VARIABLES = frozenset(
    {
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "LOCAL_WORLD_SIZE",
        "GROUP_RANK",
        "GROUP_WORLD_SIZE",
        "ROLE_RANK",
        "ROLE_NAME",
        "ROLE_WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
        "TORCHELASTIC_RESTART_COUNT",
        "TORCHELASTIC_MAX_RESTARTS",
        "TORCHELASTIC_RUN_ID",
        "TORCHELASTIC_USE_AGENT_STORE",
        "TORCHELASTIC_ERROR_FILE",
        "TORCHELASTIC_LOG_DIR",
    }
)
INTERFACES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")  # interfaces on which these backends listen


@dataclass(frozen=True, kw_only=True)
class Request:
    """One launch to start."""

    script: Path  # absolute
    arguments: tuple[str, ...]
    workers: int
    environment: Mapping[str, str]  # the engine's complete environment
    cwd: Path
    log: Path
    log_bytes: int
    secrets: tuple[str, ...]  # values that must never reach the log
    mark: str  # value of FIREASSAY_MARK, which identifies every process of the launch
    max_restarts: int
    grace_s: float
    settings: Settings
    prefix: tuple[str, ...] = ()  # arguments before the engine's command: a profiler that starts it
    session: str = ""  # launches that may share what they are started from: a record's block
    most_workers: int = 0  # largest worker count of the experiment; processors are divided for that many


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a launch ended."""

    exit_code: int | None  # of the engine; None if it was killed by a signal or never started
    signal: int | None = None  # that killed the engine
    end_ns: int | None = None  # monotonic time at which its last process exited; None if unobserved
    trouble: str = ""  # a failure of the launch itself, one sentence
    left: tuple[int, ...] = ()  # processes that could not be killed


class Handle(Protocol):
    """A running launch."""

    def poll(self) -> Ending | None:
        """How it ended; None while any process is alive. Never waits."""
        ...

    def stop(self) -> None:
        """Terminate gracefully; kill what is left after the request's grace period. Returns immediately."""
        ...

    def kill(self) -> None:
        """Kill everything now. Returns immediately."""
        ...

    def pids(self) -> tuple[int, ...]:
        """Every live process of the launch."""
        ...

    def close(self) -> None:
        """Ensure that nothing is left, by force if needed. Always the last call."""
        ...


@dataclass(frozen=True, kw_only=True)
class Launcher:
    """A way to start workers."""

    name: str
    check: Callable[[Experiment], None]  # raises SpecError or EnvironmentLacks before launch
    start: Callable[[Request], Handle]
    describe: Callable[[Request], dict[str, object]]  # JSON-serialisable: the launch's placement
    prepare: Callable[[Request], None] = lambda _: None  # before the launch begins: what is part of no launch; raises EnvironmentLacks


def worker_environment(outer: Mapping[str, str], settings: Settings, extra: Mapping[str, str]) -> dict[str, str]:
    """The engine's environment: the user's, minus an outer engine's variables, plus the variables of every launch."""
    inner = {name: value for name, value in outer.items() if name not in ENGINE_VARIABLES}
    inner["OMP_NUM_THREADS"] = str(settings.threads_per_worker)
    # Without it a restarted gloo group dials the dead workers' addresses and does not recover (PyTorch 2.13, torchrun).
    inner["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    return {**inner, **_kept_here(inner, settings), **extra}


def _kept_here(outer: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """Restrict listeners to loopback where all workers run on this machine (`instruments/loopback.py`)."""
    interface = loopback()
    if settings.nodes > 1 or settings.hosts or not interface:
        return {}
    return {"FIREASSAY_LOOPBACK": "1", **{name: interface for name in INTERFACES if name not in outer}}


@cache
def loopback() -> str:
    """Name of this machine's loopback interface; "" if it has none."""
    import psutil

    addresses = psutil.net_if_addrs()
    return next((name for name, assigned in addresses.items() if any(address.address == "127.0.0.1" for address in assigned)), "")
