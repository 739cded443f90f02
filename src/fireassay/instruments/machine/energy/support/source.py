"""What is a source of energy readings?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from fireassay.instruments.machine.energy.support.accumulator import LATENCY_S, MAX_WATTS
from fireassay.record.machine import Machine, tool_output
from fireassay.spec.sections.energy import Energy

TOOL_S = 3.0  # for a command or a page


class Fetch(Protocol):
    """Gets a page over HTTP. Raises OSError or http.client.HTTPException."""

    def __call__(self, address: str, headers: Mapping[str, str]) -> bytes: ...


@dataclass(frozen=True, kw_only=True)
class JouleCounter:
    """A device's energy counter. `read` returns joules since the counter's origin, and raises Unread, ValueError or OSError."""

    device: str
    read: Callable[[], float]
    max_range: float | None  # joules at which it wraps to zero; None: never
    delay_s: float = LATENCY_S  # by how much its value can be old
    step: float = 0.0  # joules by which it rises at least
    max_watts: float = MAX_WATTS


@dataclass(frozen=True, kw_only=True)
class WattMeter:
    """A device's power. `read` returns watts, and raises Unread, ValueError or OSError."""

    device: str
    read: Callable[[], float]


@dataclass(frozen=True, kw_only=True)
class Found:
    """The meters of one source, and why some or all are missing."""

    counters: tuple[JouleCounter | WattMeter, ...] = ()
    absence: str | None = None


def fetched(address: str, headers: Mapping[str, str]) -> bytes:
    """The page at an address; no redirects, limits of time and size. Raises as `fetch`."""
    from fireassay.instruments.engines.prometheus import fetch  # deferred: most launches fetch nothing

    return fetch(address, headers, timeout_s=TOOL_S)


@dataclass(frozen=True, kw_only=True)
class Around:
    """What a source may use; tests replace its parts."""

    energy: Energy
    machine: Machine
    load_nvml: Callable[[], Any]
    load_amdsmi: Callable[[], Any] | None = None
    run: Callable[[list[str]], str] = lambda command: tool_output(command, TOOL_S)
    fetch: Fetch = fetched


@dataclass(frozen=True, kw_only=True)
class Source:
    """A source. `find` looks for its meters, and reads each once."""

    name: str
    covers: frozenset[str]  # cpu, nvidia, amd, host: sources that share one are never read together; host shares all
    automatic: bool  # needs no address, and is read by default
    find: Callable[[Around], Found]
