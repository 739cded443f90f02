"""What does one client process do (`python -m fireassay.traffic.client.process JOB.json K`)?

It reads the job and its part of the schedule, builds the first bodies and writes "ready" to <load>/client-K.json; waits for <load>/go; as
client 0 sends the cold requests and writes "cold_done"; waits for <load>/begin, which holds the load's start in monotonic ns; and sends
until its part is over.  It reports progress every quarter of a second.  On SIGTERM it stops sending, cancels requests in flight, writes
everything out and exits with 0.

Exit codes: 0; 6 if its rows could not be written; else 1.  Errors: one sentence on standard error.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from fireassay import catalog
from fireassay.errors import AssayError, RecordError
from fireassay.record.arrow_import import without_pandas
from fireassay.record.batch_writer import BatchWriter
from fireassay.record.secrets.redact import declare, redact, secret_values
from fireassay.record.secrets.texts import MAX_ERROR_LENGTH
from fireassay.spec.plan import Configuration
from fireassay.spec.sections.serving import Serving, Target
from fireassay.traffic.arrivals.schedule import KINDS
from fireassay.traffic.client import due
from fireassay.traffic.client.due import Agenda
from fireassay.traffic.client.host_use import HostUse
from fireassay.traffic.client.kept_images import keeping
from fireassay.traffic.client.load import Load
from fireassay.traffic.client.log import MAX_SAID_LENGTH, RequestLog
from fireassay.traffic.client.plan import NS, Made, Plan
from fireassay.traffic.client.refusals import GIVE_UP_AFTER
from fireassay.traffic.client.timer import give_way, steady
from fireassay.traffic.parts import Ask, Backend, Json, Task
from fireassay.traffic.wire.transports import MODEL_THREAD, Way, stamped, ways

if TYPE_CHECKING:
    from fireassay.traffic.arrivals.schedule import Schedule
    from fireassay.traffic.prompts.make import Prompts

POLL_S: Final = 0.005
REPORT_S: Final = 0.25
LOG_S: Final = 0.5
FIRST_BODIES_S: Final = 0.05  # before it reports ready; more bodies are built while it waits
CONNECT_S: Final = 5.0  # time limit for opening connections in advance
COMPARED: Final = frozenset(KINDS.index(kind) for kind in ("identity", "rerun", "needle"))
SEEDS: Final = 1 << 31
GARBAGE: Final = 50_000  # objects allocated between garbage collections, which pause everything else


@dataclass(frozen=True)
class Job:
    """The runner's job."""

    record: str  # its ID
    launch: int
    clients: int
    folder: Path
    load: Path
    serving: Serving
    configuration: Configuration
    target: Target
    seed: int
    base: Path
    flush_s: float
    broken: bool  # a fault is injected, so an unreachable target may return
    keep_going: bool  # refusals never end the load
    own_orders: bool = False  # go and begin come in files of each client's own: its host has another clock

    @classmethod
    def read(cls, path: Path) -> Job:
        document = orjson.loads(path.read_bytes())
        return cls(
            record=document.get("record", ""),
            launch=document["launch"],
            clients=document["clients"],
            folder=Path(document["folder"]),
            load=Path(document["load"]),
            serving=Serving.model_validate(document["serving"]),
            configuration=Configuration(**document["configuration"]),
            target=Target.model_validate(document["target"]),
            seed=document["seed"],
            base=Path(document["base"]),
            flush_s=document.get("flush_s", 0.5),
            broken=document.get("broken", False),
            keep_going=document.get("keep_going", True),
            own_orders=document.get("own_orders", False),
        )


def maker(job: Job, prompts: Prompts, task: Task, backend: Backend, schedule: Schedule) -> Callable[[int, Sequence[Json]], Made]:
    """A function from a request's number and history to its content."""
    serving, target = job.serving, job.target
    model = target.model or serving.model
    streams = serving.stream and task.streams
    sampled = serving.temperature > 0
    plain = Ask(task=serving.task, model=model, stream=streams, temperature=serving.temperature, ignore_eos=serving.ignore_eos)

    def ask_for(number: int) -> Ask:
        compared = int(schedule.kind[number]) in COMPARED
        if not sampled and not compared:
            return plain
        return Ask(
            task=serving.task,
            model=model,
            stream=streams,
            temperature=serving.temperature,
            ignore_eos=serving.ignore_eos,
            seed=int(schedule.seed[number]) % SEEDS if sampled else None,
            logprobs=compared,
        )

    def make(number: int, history: Sequence[Json]) -> Made:
        prompt = prompts.prompt(schedule, number, history)
        ask = task.ask(prompt, ask_for(number))
        return Made(prompt, ask, None if backend.process is not None else backend.wire(ask, target))

    return make


class Client:
    """One client process."""

    def __init__(self, job: Job, number: int, give_way: Callable[[], None] = lambda: None) -> None:
        self.job, self.number = job, number
        self._give_way = give_way  # called where another thread sends and timestamps
        self.state = ""
        declare(job.target.secret_variables)
        self.secrets = secret_values(os.environ)
        self.writer = BatchWriter(job.folder, f"client-{number}", flush_s=job.flush_s)
        self._status_file = job.load / f"client-{number}.json"
        self._reporting = threading.Lock()
        self._reports = self._put_last = 0  # reports are numbered: an older one never replaces a newer one
        self._stop = asyncio.Event()
        self.load: Load | None = None
        self.noted: memoryview | None = None
        self.ways: list[Way] = []
        self.use: HostUse | None = None  # from the load's begin on

    # ---- life cycle

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGINT"):
            loop.add_signal_handler(getattr(signal, name), self._stopped)
        load = self.load = self._load(loop)
        reporter = loop.create_task(self._report_regularly(load))
        try:
            await self._phases(load)
        finally:
            load.finish()
            reporter.cancel()
            with suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    for transport in self.ways:
                        await transport.close()
            self._report(load)
        self.writer.close()
        if self.writer.error is not None:
            if self.noted is not None:
                self.noted[-1] = self.writer.error.errno or 0
            raise RecordError(f"requests could not be recorded: {self.writer.error.strerror}")

    async def _phases(self, load: Load) -> None:
        load.prepare(FIRST_BODIES_S)
        self._say("ready", load)
        gc.collect()
        gc.freeze()  # exempt loaded objects from garbage collection
        gc.disable()
        if not await self._file("go", load):
            return
        if self.number == 0:
            await load.cold()
        await self._connect(load)
        self._say("cold_done", load)
        begin = await self._file("begin", load)
        if begin:
            self.state, self.use = "load", HostUse()
            await load.run(int(begin))
            self.state = "ended"

    def _load(self, loop: asyncio.AbstractEventLoop) -> Load:
        job = self.job
        from fireassay.traffic.arrivals import make as arrivals
        from fireassay.traffic.prompts.make import prompts_of

        serving, client = job.serving, job.serving.client
        backend: Backend = catalog.load("traffic.backends", job.target.backend)
        task: Task = catalog.load("traffic.tasks", serving.task)
        schedule = arrivals.read(job.load / "schedule.arrow")
        assigned = arrivals.mine(schedule, self.number, job.clients)
        prompts = prompts_of(serving, job.configuration, job.base, job.seed, job.launch, record=job.record)
        first_byte_s = client.first_byte_timeout_s
        self.noted = due.opened(job.load / due.name(self.number), len(schedule))
        self.ways, core = ways(job.target, client, backend, self.noted)
        if core is not None:
            self._give_way()
        plan = Plan(
            schedule=schedule,
            agenda=Agenda(schedule, assigned, arrivals.predecessors(schedule)),
            make=maker(job, prompts, task, backend, schedule),
            after=prompts.after,
            read=keeping(backend.read, Path(client.keep_images)) if client.keep_images else backend.read,
            transports=self.ways,
            balance=job.target.balance,
            warm_up_ns=_ns(serving.arrivals.warm_up_s),
            lasts_ns=_ns(serving.arrivals.warm_up_s + serving.arrivals.duration_s),
            drain_ns=_ns(serving.arrivals.drain_s),
            timeout_ns=_ns(client.timeout_s),
            first_byte_ns=None if first_byte_s is None else _ns(first_byte_s),
            room=int(client.response_mib * (1 << 20)),
            client=self.number,
            noted=self.noted,
            first_pause_s=client.first_pause_s,
            most_pause_s=client.most_pause_s,
            give_up_after=None if job.broken or job.keep_going else GIVE_UP_AFTER,
            dead_after_s=None if job.broken else client.dead_after_s,
            stamped=all(stamped(transport) for transport in self.ways),
            core=core,
        )
        return Load(plan, self._log(), loop)

    def _log(self) -> RequestLog:
        return RequestLog(
            launch=self.job.launch,
            client=self.number,
            put=lambda batch: self.writer.append_batch("requests", batch),
            keep_text=self.job.serving.client.keep_text,
        )

    async def _connect(self, load: Load) -> None:
        """Open the connections for the start, so that its first wave does not wait for them."""
        connections = load.agenda.at_once()
        if not connections or self._stop.is_set():
            return
        limit = self.job.serving.client.connections
        each = min(-(-connections // len(self.ways)), limit or connections)
        for transport in self.ways:
            transport.warm(each)
        with suppress(TimeoutError):
            async with asyncio.timeout(CONNECT_S):
                for transport in self.ways:
                    await transport.warmed()

    # ---- talking to the runner

    async def _file(self, name: str, load: Load) -> str:
        """Wait for a file of the runner; "" if the load was stopped first."""
        path = self.job.load / (f"{name}-{self.number}" if self.job.own_orders else name)
        while not self._stop.is_set():
            try:
                return path.read_text(encoding="utf-8") or "\n"
            except OSError:
                load.prepare(POLL_S)
                await asyncio.sleep(POLL_S)
        return ""

    def _stopped(self) -> None:
        self._stop.set()
        if self.load is not None:
            self.load.stop()

    async def _report_regularly(self, load: Load) -> None:
        turns = 0
        while True:
            await asyncio.sleep(REPORT_S)
            turns += 1
            if self.writer.error is not None:  # do not send what cannot be recorded
                self._stopped()
            if turns * REPORT_S % LOG_S == 0:
                load.hand_over()
            if gc.get_count()[0] > GARBAGE:
                gc.collect(0)
            if self.state:
                # renaming may wait for the disk: keep it out of the timestamping loop
                self._reports += 1
                progress = self._progress(load)
                await asyncio.get_running_loop().run_in_executor(None, self._put, progress, self._reports)

    def _say(self, state: str, load: Load) -> None:
        self.state = state
        self._report(load)

    def _report(self, load: Load) -> None:
        self._reports += 1
        self._put(self._progress(load), self._reports)

    def _progress(self, load: Load) -> dict[str, Any]:
        progress = load.window.report(self.state or "ended", load.in_flight)
        error = progress["error"] and redact(progress["error"][:MAX_SAID_LENGTH], self.secrets)[:MAX_ERROR_LENGTH]
        models = {redact(name, self.secrets): answers for name, answers in load.window.models.items()}
        limits = {redact(name, self.secrets): redact(text, self.secrets) for name, text in load.window.limits.items()}
        gave_up = load.gave_up and {**load.gave_up.report(), "words": redact(load.gave_up.words, self.secrets)[:MAX_ERROR_LENGTH]}
        use = self.use and self.use.report()
        own = {"client": self.number, "sent_digest": load.sent_digest.report(), "use": use}
        return {**progress, **own, "error": error, "models": models, "limits": limits, "gave_up": gave_up}

    def _put(self, progress: dict[str, Any], number: int) -> None:
        hidden = self._status_file.with_name(f".{self._status_file.name}")
        with self._reporting, suppress(OSError):  # the writer reports a full disk; the live view may fail
            if number < self._put_last:
                return
            self._put_last = number
            hidden.write_bytes(orjson.dumps(progress))
            hidden.replace(self._status_file)


def _ns(seconds: float) -> int:
    return round(seconds * NS)


def main(arguments: list[str]) -> int:
    """Entry point."""
    without_pandas()
    steady()
    job = Job.read(Path(arguments[0]))
    try:
        _runner()(Client(job, int(arguments[1]), give_way).run())
    except AssayError as error:
        print(f"assay: {redact(str(error), secret_values(os.environ))}", file=sys.stderr)
        return error.exit_code if isinstance(error, RecordError) else 1
    return 0


def _runner() -> Callable[[Any], None]:
    """uvloop's runner if installed (not on Windows)."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run
    return uvloop.run


def _end(code: int) -> None:
    """End the process: at once if a model is in the midst of an answer, since threads inside torch do not survive the interpreter's end."""
    if any(thread.name == MODEL_THREAD for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    _end(main(sys.argv[1:]))
