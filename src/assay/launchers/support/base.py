"""What must a launcher do?  Turn one launch into processes, and give back a handle by which they can be ended.

A launcher is one file with one `LAUNCHER`; it says how the engine is started, `supervisor_client.py` does the rest:
supervision, output, and that no process is left behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from assay.spec.experiment import Experiment
from assay.spec.sections.launcher import Launcher as Settings

# What a launch must not inherit if assay itself was started by an engine.
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
INTERFACES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")  # where workers of these backends listen


@dataclass(frozen=True, kw_only=True)
class Request:
    """One launch to be started."""

    script: Path  # absolute
    arguments: tuple[str, ...]
    workers: int
    environment: Mapping[str, str]  # the whole environment of the engine
    cwd: Path
    log: Path
    log_bytes: int
    secrets: tuple[str, ...]  # never to reach the log
    mark: str  # value of ASSAY_MARK: by it every process of the launch is found
    max_restarts: int
    grace_s: float
    settings: Settings
    prefix: tuple[str, ...] = ()  # words before the engine's command: a profiler that starts it
    most_workers: int = 0  # of any launch of the experiment; processors are shared out for so many


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a launch ended."""

    exit_code: int | None  # of the engine; None if a signal ended it or it never started
    signal: int | None = None  # that ended the engine
    end_ns: int | None = None  # monotonic time when its last process was gone; None if nobody saw it
    trouble: str = ""  # what went wrong with the launching itself, one sentence
    left: tuple[int, ...] = ()  # processes that could not be killed


class Handle(Protocol):
    """A launch under way."""

    def poll(self) -> Ending | None:
        """How it ended; None while anything of it is alive. Never waits."""
        ...

    def stop(self) -> None:
        """Ask it to end; what is left after the request's grace is killed. Returns at once."""
        ...

    def kill(self) -> None:
        """Kill everything now. Returns at once."""
        ...

    def pids(self) -> tuple[int, ...]:
        """Every process of the launch that is alive."""
        ...

    def close(self) -> None:
        """Make sure that nothing of it is left, by force if need be. Call it always, last."""
        ...


@dataclass(frozen=True, kw_only=True)
class Launcher:
    """A way of starting workers."""

    name: str
    check: Callable[[Experiment], None]  # raises SpecError or EnvironmentLacks before anything is started
    start: Callable[[Request], Handle]
    describe: Callable[[Request], dict[str, object]]  # JSON-able: the launch's placement


def worker_environment(outer: Mapping[str, str], settings: Settings, extra: Mapping[str, str]) -> dict[str, str]:
    """The engine's environment: the user's, without what an outer engine left, plus what every launch gets."""
    inner = {name: value for name, value in outer.items() if name not in ENGINE_VARIABLES}
    inner["OMP_NUM_THREADS"] = str(settings.threads_per_worker)
    # Without it a restarted gloo group meets the dead workers' addresses and does not recover (pytorch 2.13, torchrun).
    inner["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    return {**inner, **_kept_here(inner, settings), **extra}


def _kept_here(outer: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """Where all workers are on this machine, what they listen on is not to be reached from others (`instruments/loopback.py`)."""
    interface = loopback()
    if settings.nodes > 1 or settings.hosts or not interface:
        return {}
    return {"ASSAY_LOOPBACK": "1", **{name: interface for name in INTERFACES if name not in outer}}


@cache
def loopback() -> str:
    """The name of this machine's loopback interface; "" if it has none."""
    import psutil

    addresses = psutil.net_if_addrs()
    return next((name for name, own in addresses.items() if any(one.address == "127.0.0.1" for one in own)), "")
