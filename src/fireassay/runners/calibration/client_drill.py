"""How do a real client process's times compare with the reference server's record of the same requests?

One client process is driven as in a launch (`fireassay.traffic.client.process`, through its job and files) against a reference
server in a separate process.  Every response begins with the request's number in the server's truth, so that each request
and each chunk in the client's log has its counterpart on the same monotonic clock.

How is a client kept from reading its sockets, so that it must report the uncertainty of its times?

    stopped   the client is repeatedly stopped (SIGSTOP) for 100 ms at random intervals, so that it stamps most requests late
    busy      a busy loop on every processor: the client waits to be scheduled

Each is a context manager that takes the client's pid and undoes the disturbance at its end.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fireassay import isolated
from fireassay.errors import EnvironmentLacks, WorkloadError
from fireassay.instruments.reference_server.server import Served
from fireassay.instruments.reference_server.truth import Entry
from fireassay.record.machine import Machine, Unread, cpu_ticks
from fireassay.spec.plan import Configuration
from fireassay.spec.sections.serving import Serving, Target
from fireassay.traffic.parts import Kind

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow

    Ints = npt.NDArray[np.int64]

POLL_S: Final = 0.01
LEAD_NS: Final = 100_000_000  # from the start command to the start
PATIENCE_S: Final = 60.0  # beyond the duration of the load
NS: Final = 1_000_000_000
CLOCKS_NS: Final = 50_000  # the kernel's timestamps use another clock, aligned with the monotonic one to some microseconds
SEED: Final = 1


@dataclass(frozen=True, kw_only=True)
class DrillResult:
    """One load: the client's rows, the server's truth, and the processor time of both."""

    rows: pyarrow.Table  # of the table `requests`
    truth: Mapping[int, Entry]  # by the number that begins the response
    duration_s: float  # from the start until the client ended
    client_cpu_s: float  # in that time, including its log
    server_cpu_s: float
    foreign: float | None  # cores used by other programs in that time; None if unavailable

    @property
    def chunks(self) -> int:
        """Chunks that the client recorded, including warm-up."""
        import pyarrow.compute as pc

        return int(pc.sum(pc.list_value_length(self.rows["chunk_ns"])).as_py() or 0)

    @property
    def lag_ns(self) -> Ints:
        """Per request of the measured part: from due to the client's send timestamp, ns."""
        import numpy as np

        rows = self.main
        lag: Ints = np.asarray(rows["sent_ns"]) - np.asarray(rows["scheduled_ns"])
        return lag

    @property
    def main(self) -> pyarrow.Table:
        """The successful rows of the measured part."""
        import pyarrow.compute as pc

        rows = self.rows
        return rows.filter(pc.and_(pc.equal(rows["phase"], "main"), pc.equal(rows["status"], "ok")))


def drill(
    serving: Mapping[str, Any], server: Served, scratch: Path, *, load: float, scenario: str, disturb: Disturb | None = None
) -> DrillResult:
    """Put a load on the server and collect both records. `serving`: the keys of [serving] that differ from the defaults.

    disturb: a disturbance of the client process (`fireassay.runners.calibration.machine`).

    Raises:
        WorkloadError: the client failed or did not end; the message quotes it.
        EnvironmentLacks: the client cannot run here.
    """
    requested = Serving.model_validate(serving)
    configuration = Configuration(name="drill", workers=1, target="reference", scenario=scenario, load=load)
    folder = _prepared(requested, configuration, server.url, scratch)
    before = server.state()
    client = _Client(folder, _lasts(requested))
    try:
        client.begin()
        began, cpu_s, machine, own_cpu_s = server.state(), client.cpu_s(), _busy_s(), time.process_time()
        with nullcontext() if disturb is None else disturb(client.pid):
            end_cpu_s = client.ended()
    finally:
        client.close()
    after, machine_after = server.state(), _busy_s()
    duration_s = (after["ns"] - began["ns"]) / NS
    client_cpu_s, server_cpu_s = end_cpu_s - cpu_s, after["cpu_s"] - began["cpu_s"]
    ours_s = client_cpu_s + server_cpu_s + time.process_time() - own_cpu_s
    foreign = None if machine is None or machine_after is None else max(0.0, machine_after - machine - ours_s) / duration_s
    first = int(before["requests"])
    truth = {entry.request: entry for entry in server.truth() if entry.request >= first}
    return DrillResult(
        rows=_rows(folder), truth=truth, duration_s=duration_s, client_cpu_s=client_cpu_s, server_cpu_s=server_cpu_s, foreign=foreign
    )


def _busy_s() -> float | None:
    """Processor seconds used by all processes since boot."""
    try:
        ticks = cpu_ticks(Machine())
    except (Unread, OSError, ValueError):
        return None
    return (ticks["user"] + ticks["nice"] + ticks["system"] + ticks["irq"] + ticks["softirq"]) / os.sysconf("SC_CLK_TCK")


def _lasts(serving: Serving) -> float:
    return serving.arrivals.warm_up_s + serving.arrivals.duration_s + serving.arrivals.drain_s


def _prepared(requested: Serving, configuration: Configuration, url: str, scratch: Path) -> Path:
    """Prepare the launch's folder with its schedule and job."""
    from fireassay.traffic.arrivals import make

    load = scratch / "load"
    load.mkdir(parents=True)
    make.write(make.build(requested, configuration, SEED, 1, scratch), load / "schedule.arrow")
    target = Target(name="reference", urls=(url,))
    job = {
        "launch": 0,
        "clients": 1,
        "folder": str(scratch),
        "load": str(load),
        "serving": requested.model_dump(mode="json"),
        "configuration": asdict(configuration),
        "target": target.model_dump(mode="json"),
        "seed": SEED,
        "base": str(scratch),
        "flush_s": 0.5,
    }
    (load / "job.json").write_text(json.dumps(job), encoding="utf-8")
    return scratch


class _Client:
    """The client process."""

    def __init__(self, folder: Path, lasts_s: float) -> None:
        self._load, self._log = folder / "load", folder / "client.log"
        self._until = time.monotonic() + lasts_s + PATIENCE_S
        with self._log.open("wb") as log:
            command = isolated.python("-m", "fireassay.traffic.client.process", str(self._load / "job.json"), "0")
            environment = isolated.environment(os.environ)
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def begin(self) -> None:
        """Wait until the client is ready, then start the load."""
        self._wait_for("ready")
        self._say("go", "go")
        self._wait_for("cold_done")
        self._say("begin", str(time.monotonic_ns() + LEAD_NS))

    def cpu_s(self) -> float:
        """The process's processor time so far."""
        import psutil

        try:
            used = psutil.Process(self._process.pid).cpu_times()
        except psutil.Error as error:
            raise self._failed(f"it is gone: {error}") from None
        return float(used.user + used.system)

    def ended(self) -> float:
        """Wait for the process to end; returns its total processor time."""
        while True:
            pid, status, used = os.wait4(self._process.pid, os.WNOHANG)
            if pid:
                break
            self._patient("end")
            time.sleep(POLL_S)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        if self._process.returncode != 0:
            raise self._failed(f"it ended with {self._process.returncode}")
        return used.ru_utime + used.ru_stime

    def close(self) -> None:
        """Terminate the process if it still runs."""
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()

    def _say(self, name: str, text: str) -> None:
        hidden = self._load / f".{name}"
        hidden.write_text(text, encoding="utf-8")
        hidden.replace(self._load / name)

    def _wait_for(self, state: str) -> None:
        while self._state() != state:
            if self._process.poll() is not None:
                raise self._failed(f"it ended with {self._process.returncode} before it was {state}")
            self._patient(f"be {state}")
            time.sleep(POLL_S)

    def _state(self) -> str:
        try:
            return str(json.loads((self._load / "client-0.json").read_bytes())["state"])
        except (OSError, ValueError, KeyError):  # not written yet
            return ""

    def _patient(self, what: str) -> None:
        if time.monotonic() > self._until:
            raise self._failed(f"it did not {what} in time")

    def _failed(self, why: str) -> Exception:
        output = self._log.read_text(encoding="utf-8", errors="replace").strip()[-500:]
        kind = EnvironmentLacks if "ModuleNotFoundError" in output else WorkloadError
        return kind(f"the client process failed: {why}. {output}")


def _rows(folder: Path) -> pyarrow.Table:
    """Everything that the client recorded, in request order."""
    import pyarrow as pa

    from fireassay.record.streams import read_stream

    (path,) = folder.glob("requests.*")
    batches = list(read_stream(path).batches)
    if not batches:
        raise WorkloadError("the client process recorded no request. End other programs and examine again: assay doctor client")
    return pa.Table.from_batches(batches).sort_by("request")


# ---- pairing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Errors:
    """Errors of the client's times, nanoseconds: client minus truth, one entry per request or chunk."""

    ttft: Ints
    itl: Ints
    seen: Ints  # chunk: from the server's write to the client's timestamp
    sent: Ints  # request: from the client's send timestamp to arrival at the server's socket
    lag: Ints  # request: from due to the send timestamp
    told: Ints  # request: TTFT from sending, as the client reports it
    unsure: Ints  # request: the client's stated uncertainty of its first token; only where stated
    outside: Ints  # the same requests: distance of the true first token from the stated interval; 0: within
    unpaired: int  # requests without a counterpart, or with a different number of chunks


def compare_times(drilled: DrillResult) -> Errors:
    """Compare every request and chunk of the measured part with its counterpart."""
    import numpy as np

    columns: dict[str, list[Any]] = {field.name: [] for field in fields(Errors) if field.name != "unpaired"}
    unpaired = 0
    for row, entry in _pairs(drilled):
        client = _text_times(row)
        truth = np.asarray(entry.text_ns, dtype=np.int64) if entry is not None else client[:0]
        if entry is None or not len(client) or len(client) != len(truth):
            unpaired += 1
            continue
        ttft_ns = int(client[0] - row["sent_ns"])
        values = {
            "ttft": ttft_ns - int(truth[0] - entry.came_ns),
            "itl": np.diff(client) - np.diff(truth),
            "seen": client - truth,
            "sent": entry.came_ns - row["sent_ns"],
            "lag": row["sent_ns"] - row["scheduled_ns"],
            "told": ttft_ns,
        }
        if (unsure_ns := _first_unsure(row)) is not None:
            values |= {"unsure": unsure_ns, "outside": _outside(int(client[0]), unsure_ns, int(truth[0]), entry.first_left_ns)}
        for name, value in values.items():
            columns[name].append(value)
    return Errors(unpaired=unpaired, **{name: np.hstack([np.empty(0, dtype=np.int64), *parts]) for name, parts in columns.items()})


def _pairs(drilled: DrillResult) -> Iterator[tuple[Mapping[str, Any], Entry | None]]:
    names = ["request", "scheduled_ns", "sent_ns", "first_token_ns", "chunk_ns", "chunk_kind", "chunk_uncertainty_ns", "text"]
    for row in drilled.main.select(names).to_pylist():
        number = (row["text"] or "").split(" ", 1)[0].removeprefix("r")
        yield row, drilled.truth.get(int(number)) if number.isdigit() else None


def _text_times(row: Mapping[str, Any]) -> Ints:
    """The absolute timestamp of each text chunk."""
    import numpy as np

    stamps, kinds = np.array(row["chunk_ns"], dtype=np.int64), np.array(row["chunk_kind"])
    absolute: Ints = stamps[kinds == Kind.CONTENT] + int(row["sent_ns"])
    return absolute


def _first_unsure(row: Mapping[str, Any]) -> int | None:
    """The uncertainty of the first text chunk's time; None if unknown."""
    uncertainties = row["chunk_uncertainty_ns"]
    return int(uncertainties[list(row["chunk_kind"]).index(Kind.CONTENT)]) if uncertainties else None


def _outside(stamp_ns: int, unsure_ns: int, sent_ns: int, left_ns: int | None) -> int:
    """Distance between a token's true send interval and the client's interval [stamp - uncertainty, stamp].

    The server may itself be descheduled between reading the clock and sending, which is not the client's error.
    """
    left_ns = sent_ns if left_ns is None else left_ns
    return max(0, stamp_ns - unsure_ns - left_ns - CLOCKS_NS, sent_ns - stamp_ns - CLOCKS_NS)


STOPPED_S: Final = 0.1


BETWEEN_S: Final = (0.02, 0.1)  # between stops, uniform: they hit every part of a response


Disturb = Callable[[int], AbstractContextManager[None]]


@contextmanager
def stopped(pid: int, seed: int = 1) -> Iterator[None]:
    """Repeatedly stop a process for `STOPPED_S` until the block ends."""
    over, distances = threading.Event(), random.Random(seed)

    def act() -> None:
        while not over.wait(distances.uniform(*BETWEEN_S)):
            try:
                os.kill(pid, signal.SIGSTOP)
                over.wait(STOPPED_S)
            except ProcessLookupError:
                return
            finally:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=act, name="assay-stops")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def busy(_: int, loops: int | None = None) -> Iterator[None]:
    """Run a busy loop on every processor until the block ends."""
    command = isolated.python("-S", "-c", "while True: pass")
    environment = isolated.environment(os.environ)
    running: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(loops or os.cpu_count() or 1):
            running.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment))
        yield
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()


DISTURBANCES: Final[dict[str, Disturb]] = {"stopped": stopped, "busy": busy}
