"""How is one load made, monitored and recorded, from its schedule to its row?

The clients send requests and write their own rows; the coordinator starts them, gives the start signal, injects faults,
reads counters, and accounts for the open requests of a dead client.  Otherwise it only polls every few milliseconds.
"""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import Any, Final

from fireassay import catalog
from fireassay.errors import Interrupted, RecordError, WorkloadError, refuse_any
from fireassay.instruments.engines.prometheus import Scraper
from fireassay.instruments.machine.meter import Meter
from fireassay.record import files
from fireassay.record.folder import check_written, write_event
from fireassay.record.secrets.redact import redact
from fireassay.runners.experiment.abandoned_launches import last_request, lost_rows, request_batches
from fireassay.runners.experiment.context import Job, Made, RunContext
from fireassay.runners.experiment.progress import LaunchProgress, LoadProgress
from fireassay.runners.launching import watch
from fireassay.runners.launching.node_meters import NodeMeters, mark_of
from fireassay.runners.load import resent
from fireassay.runners.load.clients import Clients
from fireassay.runners.load.engines import Deadline, Engine, Engines, FaultInjection
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import Configuration, configuration_of, measured_seconds
from fireassay.spec.sections.serving import Serving, Target
from fireassay.traffic.arrivals import make
from fireassay.traffic.arrivals.schedule import Schedule
from fireassay.traffic.client import due, refusals
from fireassay.traffic.client.sent_digest import added
from fireassay.traffic.prompts.make import Prompts, prompts_of
from fireassay.units import NS_PER_S

POLL_S: Final = 0.02
SHOW_NS: Final = NS_PER_S // 4
LEAD_NS: Final = 100_000_000  # from the start command to the start


class LoadRun:
    """One running load."""

    def __init__(self, context: RunContext, job: Job, engines: Engines, hosts: NodeMeters | None = None) -> None:
        """`hosts`: the meters of the clients' hosts."""
        assert context.experiment.serving is not None
        self.context, self.job, self.engines, self.hosts = context, job, engines, hosts
        seconds = measured_seconds(context.experiment, job.planned)
        arrivals_of = context.experiment.serving.arrivals.model_copy(update={"duration_s": seconds})
        self.serving = context.experiment.serving.model_copy(update={"arrivals": arrivals_of})
        self.planned = job.planned
        self.configuration = configuration_of(context.experiment, job.planned)
        self.writer = context.record.writer(job.number)
        self.folder = context.record.launch_folder(job.number).resolve()
        self.load = self.folder / "load"
        self.clients = Clients(context, job.number, self.load, self.serving.client.processes)
        self.cut_off: set[int] = set()  # clients that were lost with their host
        self.state = "loading"  # loading, cold, load, ended
        self.begin_ns = self.t0_ns = self.shown_ns = 0
        self.status = self.reason = self.model = ""
        self.broken: RecordError | None = None
        self.engine: Engine | None = None
        self.schedule: Schedule | None = None
        self.prompts: Prompts | None = None
        self.deadline = Deadline(limit_s=context.experiment.limits.launch_timeout_s, per_answer=context.experiment.evaluation is not None)
        self.missed = ""  # why the fault did not strike
        self.cure = ""  # why every request was refused, and what helps

    # ---- life cycle

    def run(self, meter: Meter) -> Made:
        """Start the load and monitor it to its end. Leaves no client running, even on errors."""
        begin_utc = self.context.begin_utc()
        self._event("launch_begin", {"slot": self.planned.slot, "begin_utc": begin_utc, "placement": "{}"})
        self.writer.flush()
        check_written(self.writer, self.context.record.path)
        self.begin_ns = self.context.clock.now_ns()
        placement: dict[str, Any] = {"launcher": "client", "host": platform.node(), "clients": self.clients.number}
        placement |= self.clients.placed()
        try:
            self.engine = self.engines.ready(self.configuration.target, self.job, self._event_at)
            placement |= {"urls": list(self.engine.urls), "started": self.engine.replicas is not None}
            self.begin_ns = self.context.clock.now_ns()
            self.deadline.begin(self.begin_ns)
            self._supervised(meter)
        except WorkloadError as error:
            self.status, self.reason = "failed", str(error)
        except Interrupted:
            self.status, self.reason = "aborted", f"stopped by {self.context.stop.reason}"
        status, reason = self._judged()
        self._account()
        row = self.job.row(
            begin_ns=self.begin_ns,
            end_ns=self.context.clock.now_ns(),
            begin_utc=begin_utc,
            status=status,
            reason=reason,
            exit_code=self._exit_code(),
            placement=json.dumps(placement),
        )
        return Made(row=row, broken=self.broken, cure=self.cure)

    def _supervised(self, meter: Meter) -> None:
        engine = self.engine
        assert engine is not None
        with ExitStack() as stack:
            log = self.context.record.log_path(self.job.number).resolve().with_suffix(".fault.log")
            mark = f"{mark_of(self.context.record.path, self.job.number)}fault."
            breaking = stack.enter_context(FaultInjection(self.planned, engine, self._event_at, log, mark))
            self._prepare(replace_urls(engine, breaking.urls))
            stack.enter_context(self._scraper(engine))
            stack.callback(self.clients.close)
            meter.before_launch()
            if self.hosts is not None:
                self.hosts.before_launch()
            self.clients.start()
            stack.callback(meter.stop)
            if self.hosts is not None:
                stack.callback(self.hosts.stop)
                self.hosts.start(self.job.number, None, workers=self.clients.number)
            meter.start(self.job.number, self._pids, workers=self.planned.workers, groups=self._replica_pids)
            self._until_the_end(breaking)

    def _prepare(self, engine: Engine) -> None:
        """Prepare everything to be sent before sending begins."""
        base = self.context.folder
        schedule = make.build(self.serving, self.configuration, self.planned.seed, max(1, len(engine.urls)), base)
        quality = self.context.experiment.quality
        cluster = quality.cluster if quality is not None else ""
        record = str(self.context.record.manifest["id"])
        self.prompts = prompts_of(self.serving, self.configuration, base, self.planned.seed, self.job.number, cluster, record)
        planned = self.prompts.assign(schedule, planned=True)
        self.schedule = schedule = self.prompts.assign(schedule)
        self.load.mkdir(parents=True, exist_ok=True)
        make.write(schedule, self.load / "schedule.arrow")
        if self._open:
            self._write_arrivals(len(schedule))
        self._note_schedule(
            make.digest(planned, texts_identity(self.serving, self.prompts, made=self.context.experiment.evaluation is not None))
        )
        self.model = engine.target.model or self.serving.model
        options = {**engine.target.options, **budget_of(self.context.experiment, self.configuration)}
        target = engine.target.model_copy(update={"urls": engine.urls, "model": self.model, "options": options})
        job = {
            "record": record,
            "launch": self.job.number,
            "clients": self.clients.number,
            "own_orders": bool(self.clients.hosts),
            "folder": str(self.folder),
            "load": str(self.load),
            "serving": self.serving.model_dump(mode="json"),
            "configuration": asdict(self.configuration),
            "target": target.model_dump(mode="json"),
            "seed": self.planned.seed,
            "base": str(base.resolve()),
            "flush_s": 0.25,
            "open": self._open,
            "broken": self.planned.role == "fault",
            "keep_going": self.context.experiment.limits.keep_going,
        }
        self.clients.put("job.json", json.dumps(job))

    @property
    def _open(self) -> bool:
        """True if the due requests are known beforehand; in a closed loop they depend on the engine."""
        return self.serving.arrivals.process not in ("closed", "users", "single_stream", "multi_stream")

    def _write_arrivals(self, end: int) -> None:
        assert self.schedule is not None
        for batch in make.batches(self.schedule, self.job.number, end):
            self.writer.append_batch("arrivals", batch)

    def _note_schedule(self, digest: str) -> None:
        assert self.schedule is not None
        known = dict(self.context.record.manifest.get("schedules", {}))
        known[str(self.job.number)] = {"sha256": digest, "requests": len(self.schedule), "salted": True}
        self.context.record.note(schedules=known)

    def _scraper(self, engine: Engine) -> Any:
        target = engine.target
        urls = engine.replicas.replica_urls if engine.replicas is not None else engine.urls
        return Scraper(
            target.metrics,
            self.job.number,
            lambda row: self.writer.append("telemetry", row),
            options=target.options,
            urls=urls,
            api_key_env=target.api_key_env,
        )

    def _pids(self) -> tuple[int, ...]:
        engine = self.engine
        return (*self.clients.pids(), *(engine.replicas.pids() if engine is not None and engine.replicas is not None else ()))

    def _replica_pids(self) -> dict[str, tuple[int, ...]]:
        """Processes of each replica that assay started; the memory of the clients is none of the engine's."""
        replicas = self.engine.replicas if self.engine is not None else None
        return {} if replicas is None else {f"replica-{number}": replicas.pids(number) for number in range(len(replicas.replica_urls))}

    # ---- monitoring

    def _until_the_end(self, breaking: FaultInjection) -> None:
        while not self.clients.done:
            self.clients.poll()
            reports = self.clients.reports()
            self._step(reports, breaking)
            self._end_if_needed(reports)
            self.context.clock.sleep(POLL_S)
        if self.state == "load":
            self._event("load_end", {})
        self._note_answers(self.clients.reports())
        self._note_use()
        breaking.end()
        self.missed = breaking.missed
        self._show(self.clients.reports(), force=True)

    def _note_answers(self, reports: list[Mapping[str, Any]]) -> None:
        """Note the models and limits named in responses, if any."""
        answered: Counter[str] = Counter()
        limits: dict[str, str] = {}
        for report in reports:
            answered.update(report.get("models", {}))
            limits |= report.get("limits", {})
        if limits:
            self._event("answer_limits", limits)
        if answered:
            self._event("answer_models", {"asked": self.model, "answered": dict(answered)})

    def _note_use(self) -> None:
        """Note how busy each client on a host of its own was."""
        for report in self.clients.reports() if self.clients.hosts else ():
            if (host := self.clients.host(report["client"])) and report.get("use"):
                self._event("client_use", {"client": report["client"], "client_host": host.name, **report["use"]})

    def _step(self, reports: list[Mapping[str, Any]], breaking: FaultInjection) -> None:
        """Advance from loading to the cold requests to the load as the clients become ready."""
        states = [report.get("state", "") for report in reports]
        if self.state == "loading" and len(states) == self.clients.number and all(states):
            if not self.clients.read_clocks():
                raise WorkloadError("the clock of a client's host could not be read: its supervisor does not answer")
            self.clients.order("go")
            self.state = "cold"
        if self.state == "cold" and states and states[0] == "cold_done":
            self.t0_ns = self.context.clock.now_ns() + LEAD_NS
            self.clients.order("begin", self.t0_ns)
            self._event_at("load_begin", self.t0_ns, None, self.clients.offsets())
            breaking.begin(self.t0_ns + round(self.serving.arrivals.warm_up_s * NS_PER_S))
            self.state = "load"
        self.clients.keep_reading()
        self._show(reports)

    def _end_if_needed(self, reports: Sequence[Mapping[str, Any]]) -> None:
        stop = self.context.stop
        if stop.count > 1:
            self.clients.kill()
        if self.status:
            return
        self._note_cut_off()
        dead = [number for number in self.clients.dead if number not in self.cut_off]
        if stop.count:
            self.status, self.reason = "aborted", f"stopped by {stop.reason}"
        elif self.writer.error is not None:
            self.broken = files.explain(self.writer.error, self.context.record.path, "write the record")
            self.status, self.reason = "aborted", str(self.broken)
        elif (broken := self._client_cannot_write(dead)) is not None:
            self.broken = broken
            self.status, self.reason = "aborted", str(self.broken)
        elif self.engine is not None and (refused := next((report["gave_up"] for report in reports if report.get("gave_up")), None)):
            budget = budget_of(self.context.experiment, self.configuration)
            self.cure = redact(refusals.sentence(self.engine.urls[0], refused, _total(reports, "sent"), budget))
            self.status, self.reason = "failed", self.cure.partition("\n")[0]
        elif dead:
            self.status, self.reason = "failed", self._why_dead(dead[0])
        elif late := self.deadline.passed(self.context.clock.now_ns(), _total(reports, "done")):
            self.status, self.reason = "timeout", late
        if self.status:
            self.clients.stop()

    def _note_cut_off(self) -> None:
        """A host that dies amid the load costs its own requests only: the others' clients go on. Not if none is left."""
        for number in self.clients.cut_off if self.state == "load" else ():
            if number not in self.cut_off and len(self.clients.cut_off) < self.clients.number:
                self.cut_off.add(number)
                host = self.clients.host(number)
                assert host is not None
                why = redact(self.clients.endings[number].trouble)
                self._event("client_lost", {"client": number, "client_host": host.name, "why": why})

    def _why_dead(self, number: int) -> str:
        log, ending, host = self.clients.request(number).log, self.clients.endings[number], self.clients.host(number)
        if host is None or number not in self.clients.cut_off:
            why = watch.why_failed(ending, watch.tail(log), f"logs/{log.name}")
            return f"client process {number}{f' on {host.name}' if host else ''}: {why}"
        said = watch.explaining_line(watch.tail(log))
        return f"client process {number}: {host.name} was not reached or was lost, {ending.trouble}{f'; it said: {said}' if said else ''}"

    def _client_cannot_write(self, dead: Sequence[int]) -> RecordError | None:
        for number in dead:
            if self.clients.endings[number].exit_code == RecordError.exit_code:
                why = OSError(due.trouble(self.load / due.name(number)), "its client process could not write")
                return files.explain(why, self.context.record.path, "write the record")
        return None

    # ---- outcome

    def _judged(self) -> tuple[str, str]:
        if self.status:
            return self.status, redact(self.reason)
        worst = self._nothing_answered()
        if worst:
            return "failed", worst
        return "ok", f"the fault never struck: {self.missed}" if self.missed else ""

    def _nothing_answered(self) -> str:
        """Why no request succeeded; "" if any did."""
        reports = self.clients.reports()
        if not reports or any(report.get("ok") for report in reports) or not any(report.get("done") for report in reports):
            return ""
        counts = ", ".join(f"{number} {status}" for status, number in _failures(reports).most_common())
        last = next((str(report["error"]) for report in reports if report.get("error")), "")
        return redact(f"no request succeeded: {counts}" + (f"; the last error: {last}" if last else ""))

    def _account(self) -> None:
        """Write the rows that dead clients did not: every due request has exactly one outcome."""
        if self.schedule is None:
            return
        self._write_lost()
        if not self._open:
            self._write_arrivals(1 + last_request(self.context.record.path, self.job.number))
        self._note_sent()
        if not self.status:
            self._count_tokens()

    def _note_sent(self) -> None:
        """Record a digest of what was sent; of several clients also which did not send what one client would have sent."""
        ended = [report for report in self.clients.reports() if report["client"] not in self.clients.dead]
        if not ended or self.schedule is None:
            return
        known = dict(self.context.record.manifest["schedules"])
        sent = added(report["sent_digest"] for report in ended)
        if self.clients.number > 1:
            expected = resent.digests(self.load, self.context.record.path, self.job.number, self.schedule)
            sent["others"] = sorted(r["client"] for r in ended if r["sent_digest"] != expected.get(r["client"], resent.NOTHING))
        known[str(self.job.number)] = {**known[str(self.job.number)], "sent": sent}
        self.context.record.note(schedules=known)

    def _write_lost(self) -> None:
        assert self.schedule is not None
        now = self.context.clock.now_ns()
        clients = self.clients
        dead = {number: clients.endings[number].end_ns or clients.own_ns(number, now) for number in clients.dead}
        if not dead or self.state not in ("load", "cold"):
            return
        self.writer.flush()
        begins = {number: clients.own_ns(number, self.t0_ns) if self.t0_ns else 0 for number in dead}
        for row in lost_rows(self.context.record.path, self.job.number, self.schedule, dead, clients.number, begins, self.load):
            self.writer.append("requests", row)
        self.writer.flush()

    def _count_tokens(self) -> None:
        """Count tokens with the model's tokenizer, after all timing has ended."""
        if not self.serving.tokenizer or self.schedule is None or self.prompts is None:
            return
        from fireassay.traffic.prompts.token_counts import count

        path, launch = self.context.record.path, self.job.number
        for row in count(lambda: request_batches(path, launch), launch, self.schedule, self.prompts):
            self.writer.append("token_counts", row)

    def _exit_code(self) -> int | None:
        codes = [ending.exit_code for number, ending in self.clients.endings.items() if number not in self.cut_off]
        return next((code for code in codes if code != 0), 0) if codes else None

    # ---- reporting

    def _show(self, reports: list[Mapping[str, Any]], force: bool = False) -> None:
        now = self.context.clock.now_ns()
        if now - self.shown_ns < SHOW_NS and not force:
            return
        self.shown_ns = now
        self.context.show(
            LaunchProgress(
                number=self.job.number, planned=self.planned, elapsed_s=(now - self.begin_ns) / NS_PER_S, load=self._progress(reports, now)
            )
        )

    def _progress(self, reports: list[Mapping[str, Any]], now: int) -> LoadProgress:
        arrivals = self.serving.arrivals
        whole_s = arrivals.warm_up_s + arrivals.duration_s
        into_s = (now - self.t0_ns) / NS_PER_S if self.t0_ns else 0.0
        return LoadProgress(
            state=self.state,
            into_s=max(0.0, into_s),
            left_s=max(0.0, whole_s - into_s),
            due=_total(reports, "due"),
            sent=_total(reports, "sent"),
            done=_total(reports, "done"),
            ok=_total(reports, "ok"),
            failed=_failures(reports),
            in_flight=_total(reports, "in_flight"),
            tokens=_total(reports, "tokens"),
            offered=self.configuration.load if self.serving.rate else None,
            ttft_ms=_worst(reports, "ttft_ms"),
            tpot_ms=_worst(reports, "tpot_ms"),
            e2e_ms=_worst(reports, "e2e_ms"),
            lag_p99_ms=max((float(report["lag_ms_p99"]) for report in reports if report.get("lag_ms_p99") is not None), default=None),
        )

    def _event(self, kind: str, detail: Mapping[str, Any]) -> None:
        self._event_at(kind, self.context.clock.now_ns(), None, detail)

    def _event_at(self, kind: str, ns: int, replica: int | None, detail: Mapping[str, Any]) -> None:
        value = None if replica is None else float(replica)
        write_event(self.writer, self.job.number, kind, ns, detail, value=value)


def texts_identity(serving: Serving, prompts: Prompts, *, made: bool = False) -> str:
    """What determines the requests besides the schedule: settings, and the content of the files that they name.

    `made`: the prompts are in a file that the runner wrote for this run; where it lies means nothing.
    """
    settings = serving.model_dump(mode="json", include={"prompts", "task", "scenarios", "ignore_eos", "temperature"})
    if made:
        del settings["prompts"]["source"]
    if not serving.prompts.again:  # a key of later releases: equal requests keep their digest
        del settings["prompts"]["again"]
    return json.dumps({"settings": settings, "texts": prompts.describe()}, sort_keys=True, default=str)


def budget_of(experiment: Experiment, configuration: Configuration) -> Mapping[str, str | int]:
    """The option of the engine's requests that holds a configuration's budget of reasoning; none where it has none."""
    if configuration.steps is None or experiment.evaluation is None:
        return {}
    steps = experiment.evaluation.steps
    return {f"body.{steps.key}": steps.sent(configuration.steps)}


def replace_urls(engine: Engine, urls: Mapping[int, str]) -> Engine:
    """The engine with some replicas behind a proxy."""
    return replace(engine, urls=tuple(urls.get(number, url) for number, url in enumerate(engine.urls)))


def _total(reports: Sequence[Mapping[str, Any]], key: str) -> int:
    """A counter of all clients."""
    return sum(int(report.get(key, 0)) for report in reports)


def _failures(reports: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """Failed requests by status, of all clients."""
    failures: Counter[str] = Counter()
    for report in reports:
        failures.update(report.get("failed", {}))
    return failures


def _worst(reports: list[Mapping[str, Any]], key: str) -> dict[str, float]:
    """The largest percentiles among the clients, for display only."""
    merged: dict[str, float] = {}
    for report in reports:
        for name, value in (report.get(key) or {}).items():
            if value is not None:
                merged[name] = max(merged.get(name, 0.0), float(value))
    return merged


def check_plug_ins(task: str, targets: Sequence[Target]) -> None:
    """Check that the task and the dialects exist and support the given options.

    Raises:
        EnvironmentLacks: one does not exist; the message lists the existing ones.
        SpecError: a dialect does not know an option.
    """
    from fireassay.traffic.backends.support.bodies import check_options

    catalog.load("traffic.tasks", task)
    for target in targets:
        catalog.load("traffic.backends", target.backend)
    refuse_any([problem for target in targets for problem in check_options(target, task)], "the engines")
