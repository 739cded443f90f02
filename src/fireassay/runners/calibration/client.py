"""How accurately does this client measure on this machine, and how much load can it generate?

Loads with known ground truth (`fireassay.runners.calibration.client_drill`), one client process each:

    errors      closed loops of 1, 32, 128 and 512 streams on a paced server (first token after 50 ms, then one every 10 ms): errors
    of the client's TTFT and ITL.  All streams are in phase, the hardest case for one process
    ceiling     64 streams on a server that responds immediately: unstreamed (requests per second), streamed (chunks per second)
    provoked    closed loops of 32 streams whose client is repeatedly stopped for 100 ms, or competes with a busy loop on every
    processor: data that arrive meanwhile are read in one go, and the client must report its uncertainty
    timer       an open loop of 200 requests per second: how late due requests are sent

The reference server is also Python and shares the machine.  If it, not the client, is the bottleneck, the ceiling is extrapolated
from the client's processor time per request, and marked.  Nothing is judged here.
"""

from __future__ import annotations

import platform
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fireassay.errors import Interrupted
from fireassay.instruments.reference_server.server import serving
from fireassay.instruments.reference_server.settings import Settings
from fireassay.runners.calibration.client_drill import DISTURBANCES, Disturb, DrillResult, Errors, compare_times, drill

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


STREAMS: Final = (1, 32, 128, 512)
FIRST_S: Final = 0.05
NEXT_S: Final = 0.01
TOKENS: Final = 64
TOKENS_ALONE: Final = 16  # at one stream, to fit enough requests
CEILING_STREAMS: Final = 64
CEILING_TOKENS: Final = 32
TIMER_RATE: Final = 200.0
TOKENS_IN: Final = 20
PROVOKED_STREAMS: Final = 32
DRILLS: Final = len(STREAMS) + len(DISTURBANCES) + 3
APART_S: Final = 2.5  # of a drill, besides its measured part and warm-up: starting both processes, reading the truth
WARM_UP_S: Final = 1.5  # two responses long: excludes the initial burst
MIN_S: Final = 1.0
LIMITED: Final = 0.9  # of a core: above it, the process was the bottleneck
MS: Final = 1e6

Show = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class ClientCalibration:
    """The results; None for what was not reached."""

    errors: list[dict[str, Any]]
    provoked: list[dict[str, Any]]
    ceiling: dict[str, Any] | None
    timer_lag_ms: dict[str, float] | None
    seconds: float
    stopped: str  # why it ended early; empty if it did not


def calibrate(scratch: Path, seconds: float, show: Show = lambda _: None, streams: tuple[int, ...] = STREAMS) -> ClientCalibration:
    """Measure for about `seconds` in folders below `scratch`. Ctrl-C ends it early with partial results."""
    began = time.monotonic()
    each_s = max(MIN_S, seconds / DRILLS - APART_S - WARM_UP_S)
    errors: list[dict[str, Any]] = []
    provoked: list[dict[str, Any]] = []
    results: dict[str, Any] = {}
    stopped = ""
    try:
        for count in streams:
            show(f"{count} streams")
            errors.append(error_at(count, each_s, scratch))
        for how in DISTURBANCES:
            show(f"{PROVOKED_STREAMS} streams, {how}")
            provoked.append(error_at(PROVOKED_STREAMS, each_s, scratch, disturbed=how))
        show(f"ceiling at {CEILING_STREAMS} streams")
        results["ceiling"] = ceiling(each_s, scratch)
        show(f"timer at {TIMER_RATE:g} requests per second")
        results["timer"] = timer(each_s, scratch)
    except (KeyboardInterrupt, Interrupted):
        stopped = "stopped by Ctrl-C"
    return ClientCalibration(
        errors=errors,
        provoked=provoked,
        ceiling=results.get("ceiling"),
        timer_lag_ms=results.get("timer"),
        seconds=time.monotonic() - began,
        stopped=stopped,
    )


def about() -> dict[str, str]:
    """The software that the client ran on."""
    loop = "asyncio"
    with suppress(PackageNotFoundError):
        loop = f"uvloop {version('uvloop')}"
    return {"python": platform.python_version(), "loop": loop}


# ---- drills ----------------------------------------------------------------------------------------------------------


def error_at(
    streams: int, seconds: float, scratch: Path, tokens: int | None = None, disturbed: str = "", transport: str = "auto"
) -> dict[str, Any]:
    """Errors of the client's times with `streams` streams, milliseconds: p50 and p99 of their absolute values.

    disturbed: a disturbance of the client (`fireassay.runners.calibration.client`).  `within`: share of responses whose first
    token arrived within the client's stated uncertainty; null if it states none.
    """
    tokens = tokens or (TOKENS_ALONE if streams == 1 else TOKENS)
    drilled = _drilled(
        Settings(first_s=FIRST_S, next_s=NEXT_S, numbered=True),
        scratch,
        seconds,
        load=streams,
        tokens=tokens,
        disturb=DISTURBANCES[disturbed] if disturbed else None,
        transport=transport,
    )
    errors = compare_times(drilled)
    answer_s = FIRST_S + (tokens - 1) * NEXT_S
    return {
        "streams": streams,
        "disturbed": disturbed,
        "requests": len(errors.ttft),
        "chunks": len(errors.seen),
        "unpaired": errors.unpaired,
        "ttft_ms": spread(abs(errors.ttft)),
        "itl_ms": spread(abs(errors.itl)),
        "seen_ms": spread(errors.seen),
        "told_ms": spread(errors.told),
        "unsure_ms": spread(errors.unsure),
        "within": _within(errors),
        "send_ms": spread(errors.sent),
        "lag_ms": spread(errors.lag),
        "ttft_bias_ms": spread(errors.ttft).get("p50"),
        "itl_bias_ms": spread(errors.itl).get("p50"),
        "achieved": _rate(drilled, seconds) / (streams / answer_s),
        **_cost(drilled),
    }


def ceiling(seconds: float, scratch: Path) -> dict[str, Any]:
    """Requests and chunks per second that one client process sustains, and the bottleneck."""
    whole = _drilled(_immediate(flush_all=True), scratch, seconds, load=CEILING_STREAMS, tokens=CEILING_TOKENS)
    pieces = _drilled(_immediate(), scratch, seconds, load=CEILING_STREAMS, tokens=CEILING_TOKENS)
    requests, chunks = _limit(whole, _rate(whole, seconds)), _limit(pieces, _rate(pieces, seconds) * CEILING_TOKENS)
    return {
        "streams": CEILING_STREAMS,
        "tokens": CEILING_TOKENS,
        "requests_per_s": requests["reachable"],
        "chunks_per_s": chunks["reachable"],
        "requests": requests,
        "chunks": chunks,
    }


def timer(seconds: float, scratch: Path) -> dict[str, float]:
    """How late requests with a due time are sent, milliseconds."""
    arrivals = {"process": "constant", "duration_s": seconds, "warm_up_s": 0.5, "cold": 0, "drain_s": 10.0}
    settings = _immediate(flush_all=True)
    return spread(_run(settings, scratch, {"rate": [TIMER_RATE], "arrivals": arrivals}, load=TIMER_RATE, tokens=8).lag_ns)


def _immediate(*, flush_all: bool = False) -> Settings:
    return Settings(first_s=0.0, next_s=0.0, numbered=True, flush_all=flush_all, truth="none", spin_s=0.0)


def _drilled(
    settings: Settings, scratch: Path, seconds: float, *, load: int, tokens: int, disturb: Disturb | None = None, transport: str = "auto"
) -> DrillResult:
    arrivals = {"duration_s": seconds, "warm_up_s": WARM_UP_S, "cold": 0, "drain_s": 10.0}
    loads = {"concurrency": [load], "arrivals": arrivals, "client": {"transport": transport}}
    return _run(settings, scratch, loads, load=load, tokens=tokens, disturb=disturb)


def _run(
    settings: Settings, scratch: Path, loads: Mapping[str, Any], *, load: float, tokens: int, disturb: Disturb | None = None
) -> DrillResult:
    """Run a drill in a temporary folder."""
    folder = scratch / "drill"
    try:
        with serving(settings) as server:
            return drill(loads, server, folder, load=load, scenario=f"D({TOKENS_IN},{tokens})", disturb=disturb)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# ---- figures ---------------------------------------------------------------------------------------------------------


def spread(ns: npt.NDArray[np.int64]) -> dict[str, float]:
    """Median, p99 and maximum, milliseconds; empty without data, never NaN."""
    import numpy as np

    if not len(ns):
        return {}
    return {"p50": float(np.percentile(ns, 50)) / MS, "p99": float(np.percentile(ns, 99)) / MS, "max": float(ns.max()) / MS}


def _within(errors: Errors) -> float | None:
    """Share of responses whose first token arrived within its uncertainty, of those that state one."""
    return float((errors.outside == 0).mean()) if len(errors.outside) else None


def _rate(drilled: DrillResult, seconds: float) -> float:
    """Successful requests per second of the measured part."""
    return float(drilled.main.num_rows / seconds)


def _cost(drilled: DrillResult) -> dict[str, float | None]:
    """Cores used by the client, the server and other programs; the client's processor time per chunk."""
    return {
        "client_cores": drilled.client_cpu_s / drilled.duration_s,
        "server_cores": drilled.server_cpu_s / drilled.duration_s,
        "foreign_cores": drilled.foreign,
        "client_us_per_chunk": 1e6 * drilled.client_cpu_s / max(1, drilled.chunks),
    }


def _limit(drilled: DrillResult, measured: float) -> dict[str, Any]:
    """The bottleneck of a rate, and the rate that the client alone would reach."""
    cost = _cost(drilled)
    client, server = float(cost["client_cores"] or 0.0), float(cost["server_cores"] or 0.0)
    client_limited = client >= LIMITED
    return {
        "measured": measured,
        "limited_by": "client" if client_limited else "server" if server >= LIMITED else "other programs",
        "reachable": measured if client_limited or not client else measured / client,
        **cost,
    }
