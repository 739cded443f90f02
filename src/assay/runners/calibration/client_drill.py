"""What did a real client process report of a load, and what did the reference server see of the same requests?

One client process of assay is driven as a launch drives it (`assay.traffic.client.process`, by its job and its files) against a reference
server in a process of its own.  Every answer begins with the request's number in the server's truth, so that each request
and each chunk of the client's log has its counterpart, on the one monotonic clock of the host.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from assay import isolated
from assay.errors import EnvironmentLacks, WorkloadError
from assay.instruments.reference_server.server import Served
from assay.instruments.reference_server.truth import Entry
from assay.record.hardware import cpu_ticks
from assay.record.machine import Machine, Unread
from assay.runners.calibration.client_disturbance import Disturb
from assay.spec.plan import Configuration
from assay.spec.sections.serving import Serving, Target
from assay.traffic.parts import Kind

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow

    Ints = npt.NDArray[np.int64]

POLL_S: Final = 0.01
LEAD_NS: Final = 100_000_000  # between the word to begin and the begin
PATIENCE_S: Final = 60.0  # beyond what the load itself takes
NS: Final = 1_000_000_000
CLOCKS_NS: Final = 50_000  # the kernel's stamps are of another clock, held against the monotonic one to some microseconds


@dataclass(frozen=True, kw_only=True)
class Drilled:
    """One load: the client's rows, the server's truth of it, and what it cost both."""

    rows: pyarrow.Table  # of the table requests
    truth: Mapping[int, Entry]  # by the number that begins the answer
    duration_s: float  # from the begin until the client had ended
    client_cpu_s: float  # in that time, the log included
    server_cpu_s: float
    sends: int  # of the server, in that time
    foreign: float | None  # cores that other programs used in that time; None where the machine does not say

    @property
    def chunks(self) -> int:
        """Chunks that the client wrote down, warm-up included."""
        import pyarrow.compute as pc

        return int(pc.sum(pc.list_value_length(self.rows["chunk_ns"])).as_py() or 0)

    @property
    def lag_ns(self) -> Ints:
        """Per request of the measured part: due until stamped as sent."""
        import numpy as np

        rows = self.main
        lag: Ints = np.asarray(rows["sent_ns"]) - np.asarray(rows["scheduled_ns"])
        return lag

    @property
    def main(self) -> pyarrow.Table:
        """The rows of the measured part that ended well."""
        import pyarrow.compute as pc

        rows = self.rows
        return rows.filter(pc.and_(pc.equal(rows["phase"], "main"), pc.equal(rows["status"], "ok")))


def drill(
    serving: Mapping[str, Any], server: Served, scratch: Path, *, load: float, scenario: str, seed: int = 1, disturb: Disturb | None = None
) -> Drilled:
    """Put a load on the server and pair what both saw. `serving`: the keys of [serving] that are not its defaults.

    disturb: what is done to the client's process meanwhile (`assay.runners.calibration.client_disturbance`).

    Raises:
        WorkloadError: the client failed or did not end; its own words are in the message.
        EnvironmentLacks: the client cannot run here.
    """
    asked = Serving.model_validate(serving)
    configuration = Configuration(name="drill", workers=1, target="reference", scenario=scenario, load=load)
    folder = _prepared(asked, configuration, server.url, scratch, seed)
    before = server.state()
    client = _Client(folder, _lasts(asked))
    try:
        client.begin()
        began, cpu_s, machine, own = server.state(), client.cpu_s(), _busy_s(), time.process_time()
        with nullcontext() if disturb is None else disturb(client.pid):
            end_cpu_s = client.ended()
    finally:
        client.close()
    after, machine_after = server.state(), _busy_s()
    duration_s = (after["ns"] - began["ns"]) / NS
    client_cpu_s, server_cpu_s = end_cpu_s - cpu_s, after["cpu_s"] - began["cpu_s"]
    ours_s = client_cpu_s + server_cpu_s + time.process_time() - own
    foreign = None if machine is None or machine_after is None else max(0.0, machine_after - machine - ours_s) / duration_s
    first = int(before["requests"])
    truth = {entry.request: entry for entry in server.truth() if entry.request >= first}
    return Drilled(
        rows=_rows(folder),
        truth=truth,
        duration_s=duration_s,
        client_cpu_s=client_cpu_s,
        server_cpu_s=server_cpu_s,
        sends=after["sends"] - began["sends"],
        foreign=foreign,
    )


def _busy_s() -> float | None:
    """Processor seconds that anybody has used since boot."""
    try:
        ticks = cpu_ticks(Machine())
    except (Unread, OSError, ValueError):
        return None
    return (ticks["user"] + ticks["nice"] + ticks["system"] + ticks["irq"] + ticks["softirq"]) / os.sysconf("SC_CLK_TCK")


def _lasts(asked: Serving) -> float:
    return asked.arrivals.warm_up_s + asked.arrivals.duration_s + asked.arrivals.drain_s


def _prepared(asked: Serving, configuration: Configuration, url: str, scratch: Path, seed: int) -> Path:
    """The launch's folder with its schedule and job."""
    from assay.traffic.arrivals import make

    load = scratch / "load"
    load.mkdir(parents=True)
    make.write(make.build(asked, configuration, seed, 1, scratch), load / "schedule.arrow")
    target = Target(name="reference", urls=(url,))
    job = {
        "launch": 0,
        "clients": 1,
        "folder": str(scratch),
        "load": str(load),
        "serving": asked.model_dump(mode="json"),
        "configuration": asdict(configuration),
        "target": target.model_dump(mode="json"),
        "seed": seed,
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
            command = isolated.python("-m", "assay.traffic.client.process", str(self._load / "job.json"), "0")
            own = isolated.environment(os.environ)
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=own)

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    def begin(self) -> None:
        """Wait until it is ready, and let the load begin."""
        self._wait_for("ready")
        self._say("go", "go")
        self._wait_for("cold_done")
        self._say("begin", str(time.monotonic_ns() + LEAD_NS))

    def cpu_s(self) -> float:
        """Processor time of the process so far."""
        import psutil

        try:
            used = psutil.Process(self._process.pid).cpu_times()
        except psutil.Error as error:
            raise self._failed(f"it has gone: {error}") from None
        return float(used.user + used.system)

    def ended(self) -> float:
        """Wait for its end; its processor time as a whole."""
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
        """End it, if it is still there."""
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
        told = self._log.read_text(encoding="utf-8", errors="replace").strip()[-500:]
        kind = EnvironmentLacks if "ModuleNotFoundError" in told else WorkloadError
        return kind(f"the client process failed: {why}. {told}")


def _rows(folder: Path) -> pyarrow.Table:
    """Everything that the client wrote down, in the order of its requests."""
    import pyarrow as pa

    from assay.record.salvage import read_stream

    (path,) = folder.glob("requests.*")
    batches = list(read_stream(path).batches)
    table = pa.Table.from_batches(batches) if batches else None
    if table is None:
        raise WorkloadError("the client process wrote no request down")
    return table.sort_by("request")


# ---- pairing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Errors:
    """What the client's times are off by, nanoseconds; client minus truth, one entry per request or chunk."""

    ttft: Ints
    itl: Ints
    seen: Ints  # chunk: handed to the kernel by the server until stamped by the client
    sent: Ints  # request: stamped by the client until it was at the server's socket
    lag: Ints  # request: due until stamped as sent
    told: Ints  # request: its TTFT as the client tells it, from sending
    unsure: Ints  # request: how much earlier its first token may have come, as the client says; only where it does
    outside: Ints  # the same requests: by how much the first token truly came before or after what the client says; 0: within
    unpaired: int  # requests without a counterpart, or with another number of chunks


def paired(drilled: Drilled) -> Errors:
    """Hold every request and chunk of the measured part against its counterpart."""
    import numpy as np

    ttft, sent, lag, told = [], [], [], []
    unsure, outside = [], []
    seen: list[Ints] = []
    itl: list[Ints] = []
    unpaired = 0
    for row, entry in _pairs(drilled):
        client = _text_times(row)
        truth = np.asarray(entry.text_ns, dtype=np.int64) if entry is not None else client[:0]
        if entry is None or not len(client) or len(client) != len(truth):
            unpaired += 1
            continue
        ttft.append(int(client[0] - row["sent_ns"]) - int(truth[0] - entry.came_ns))
        sent.append(entry.came_ns - row["sent_ns"])
        lag.append(row["sent_ns"] - row["scheduled_ns"])
        told.append(int(client[0] - row["sent_ns"]))
        if (own := _first_unsure(row)) is not None:
            unsure.append(own)
            outside.append(_outside(int(client[0]), own, int(truth[0]), entry.first_left_ns))
        seen.append(client - truth)
        itl.append(np.diff(client) - np.diff(truth))
    return Errors(
        ttft=np.array(ttft, dtype=np.int64),
        itl=_joined(itl),
        seen=_joined(seen),
        sent=np.array(sent, dtype=np.int64),
        lag=np.array(lag, dtype=np.int64),
        told=np.array(told, dtype=np.int64),
        unsure=np.array(unsure, dtype=np.int64),
        outside=np.array(outside, dtype=np.int64),
        unpaired=unpaired,
    )


def _pairs(drilled: Drilled) -> Iterator[tuple[Mapping[str, Any], Entry | None]]:
    names = ["request", "scheduled_ns", "sent_ns", "first_token_ns", "chunk_ns", "chunk_kind", "chunk_uncertainty_ns", "text"]
    for row in drilled.main.select(names).to_pylist():
        number = (row["text"] or "").split(" ", 1)[0].removeprefix("r")
        yield row, drilled.truth.get(int(number)) if number.isdigit() else None


def _text_times(row: Mapping[str, Any]) -> Ints:
    """When each chunk of text was stamped, absolute."""
    import numpy as np

    stamps, kinds = np.array(row["chunk_ns"], dtype=np.int64), np.array(row["chunk_kind"])
    absolute: Ints = stamps[kinds == Kind.CONTENT] + int(row["sent_ns"])
    return absolute


def _first_unsure(row: Mapping[str, Any]) -> int | None:
    """How unsure the time of the first chunk of text is; None: not known."""
    told = row["chunk_uncertainty_ns"]
    return int(told[list(row["chunk_kind"]).index(Kind.CONTENT)]) if told else None


def _outside(stamp_ns: int, unsure_ns: int, sent_ns: int, left_ns: int | None) -> int:
    """By how much a token, which left between two times, did not come between stamp - uncertainty and stamp.

    The server may itself lose its processor between reading the clock and sending: that is no error of the client.
    """
    left_ns = sent_ns if left_ns is None else left_ns
    return max(0, stamp_ns - unsure_ns - left_ns - CLOCKS_NS, sent_ns - stamp_ns - CLOCKS_NS)


def _joined(parts: list[Ints]) -> Ints:
    import numpy as np

    whole: Ints = np.concatenate([np.array([], dtype=np.int64), *parts])
    return whole
