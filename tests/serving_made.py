"""Records of loads on servers: written down by hand, row by row, or made by a simulated engine with a seed.

By hand, so that a test's expected value can be worked out in its comment:

    made = ServingMade(concurrency=(1, 4), blocks=3)         # two configurations, "concurrency=1" and "concurrency=4"
    number = made.launch("concurrency=4", block=0)           # its load begins (t0) one second after the launch
    made.request(number, due_s=0.0, ttft_s=0.2, gap_s=0.05, tokens_out=10)
    made.request(number, due_s=1.0, status="5xx")
    made.event(number, "fault", 5.0, value=1)
    made.measured()                                          # what metrics, audits, gates and reports read

By a simulation, for whatever wants a plausible whole record (reports, audits, performance):

    simulated(rate=(5.0, 10.0), blocks=3, seconds=30.0, seed=1).measured()
    seal(simulated(...).measured(), root)                    # a sealed record on disk; gives its path

All times are seconds after t0 of the launch, those of a request after it was due, unless said otherwise.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.record.tables import TABLES
from fireassay.spec.experiment import Experiment, Gates, Launches, Quality
from fireassay.spec.plan import configurations, plan
from fireassay.spec.sections.carbon import Carbon
from fireassay.spec.sections.energy import Energy
from fireassay.spec.sections.faults import Fault
from fireassay.spec.sections.prices import Prices
from fireassay.spec.sections.serving import Arrivals, Objectives, Serving, Target
from fireassay.spec.sections.workload import Workload
from fireassay.traffic.parts import Kind
from tests.builders import frame

S = 1_000_000_000
SPACING_S = 1000  # launch n begins at n times this


def ns(seconds: float) -> int:
    """Seconds as whole nanoseconds."""
    return round(seconds * S)


class ServingMade:
    """Rows of a record about serving; `measured()` gives it to the metrics."""

    def __init__(
        self,
        *,
        concurrency: tuple[int, ...] = (),
        rate: tuple[float, ...] = (),
        process: str = "",
        replicas: int = 2,
        started: bool = False,
        engines: tuple[str, ...] = ("server",),
        blocks: int = 3,
        warm_up_s: float = 0.0,
        seconds: float = 10.0,
        objectives: Objectives | None = None,
        arrivals: Mapping[str, Any] | None = None,
        prices: float | Prices | None = None,
        quality: Quality | None = None,
        faults: tuple[Fault, ...] = (),
        gates: Gates | None = None,
        energy: Energy | None = None,
        carbon: Carbon | None = None,
        conditions: Mapping[str, Any] | None = None,
        name: str = "served",
        **serving: Any,
    ) -> None:
        """`process` defaults to closed with concurrency and to poisson with rate; `serving` sets further keys of [serving].

        `started`: by assay, so that replicas can be killed; else they are at URLs.
        """
        if not concurrency and not rate and not process:
            concurrency = (1,)
        timing = {
            "process": process or ("closed" if concurrency else "poisson"),
            "warm_up_s": warm_up_s,
            "duration_s": seconds,
            **({"requests": 1000} if process == "offline" else {}),
            **(arrivals or {}),
        }
        urls = tuple(f"http://127.0.0.1:{8000 + replica}" for replica in range(replicas))
        where: dict[str, Any] = {"command": ("serve", "{port}"), "replicas": replicas} if started else {"urls": urls}
        self.experiment = Experiment(
            name=name,
            workload=Workload(runner="serving", script="", work="requests"),
            serving=Serving(
                targets=tuple(Target(name=engine, **where) for engine in engines),
                concurrency=concurrency,
                rate=rate,
                arrivals=Arrivals.model_validate(timing),
                objectives=objectives or Objectives(),
                **{"model": "tiny", **serving},
            ),
            launches=Launches(per_configuration=blocks),
            quality=quality,
            prices=prices
            if prices is None or isinstance(prices, Prices)
            else Prices(usd_per_worker_hour=prices, as_of=date(2026, 1, 1), source="test"),
            faults=faults,
            gates=gates or Gates(),
            energy=energy or Energy(),
            carbon=carbon,
            conditions=dict(conditions or {}),
        )
        self.rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in TABLES}
        self.t0: dict[int, int] = {}  # launch -> monotonic ns of the load's begin
        self.manifest: dict[str, Any] = {
            "format_version": 3,
            "assay_version": "0.3.0",
            "id": "served-20260101T000000Z-abc123",
            "name": name,
            "created_utc": "2026-01-01T00:00:00Z",
            "state": "complete",
            "reason": "",
            "environment": {"before": {}, "after": {}},
            "schedules": {},
        }
        self._next: dict[int, int] = {}  # launch -> number of its next request

    @property
    def names(self) -> tuple[str, ...]:
        """The configurations, in order."""
        return tuple(one.name for one in configurations(self.experiment))

    def launch(
        self,
        configuration: str = "",
        *,
        block: int = 0,
        wall_s: float = 20.0,
        role: str = "timed",
        status: str = "ok",
        reason: str = "",
        begins_s: float = 1.0,
        load_s: float | None = None,
    ) -> int:
        """A launch whose load begins `begins_s` after it and lasts `load_s` (default: warm-up and duration). Its number."""
        number = len(self.rows["launches"])
        chosen = next(one for one in configurations(self.experiment) if one.name == (configuration or self.names[0]))
        begin = number * SPACING_S * S
        self.t0[number] = begin + ns(begins_s)
        self.rows["launches"].append(
            (
                number,
                number,
                0,
                chosen.name,
                chosen.workers,
                block,
                0,
                role,
                1,
                begin,
                begin + ns(wall_s),
                "2026-01-01T00:00:00Z",
                status,
                reason,
                0,
                0,
                "{}",
            )
        )
        assert self.experiment.serving is not None
        arrivals = self.experiment.serving.arrivals
        self.event(number, "load_begin", 0.0)
        self.event(number, "load_end", arrivals.warm_up_s + arrivals.duration_s if load_s is None else load_s)
        return number

    def request(
        self,
        launch: int,
        due_s: float,
        *,
        lag_s: float | None = 0.0,
        ttft_s: float | None = 0.1,
        gap_s: float = 0.05,
        at_s: Sequence[float] | None = None,
        kinds: Sequence[int] | None = None,
        chars: Sequence[int] | None = None,
        visible_s: float | None = None,
        done_s: float | None = None,
        tokens_out: int | None = 4,
        tokens_in: int | None = 100,
        chunks: int | None = None,
        status: str = "ok",
        http_status: int | None = None,
        phase: str = "main",
        kind: str = "normal",
        replica: int | None = 0,
        stream: int | None = None,
        session: int | None = None,
        turn: int | None = None,
        client: int = 0,
        connect_s: float | None = None,
        tokenize_s: float | None = None,
        prefill_s: float | None = None,
        cached: int | None = None,
        reasoning_tokens: int | None = None,
        finish_reason: str | None = "length",
        error: str | None = None,
        text: str | None = None,
        example: str | None = None,
        expected: str | None = None,
        asked_in: int | None = 100,
        asked_out: int | None = None,
        pause_s: float = 0.0,
        pause_kind: str = "none",
        follows: bool = False,
        logprobs: Sequence[float] = (),
        unsure_s: float | None = 0.0,
        request: int | None = None,
        planned: bool = True,
    ) -> int:
        """A request due at `due_s`, and its row of arrivals unless `planned` is False. Gives its number.

        A successful one bears text at `at_s` (after it was due), else at ttft_s and then every gap_s, one chunk per token
        unless `chunks` says how many there are.  `lag_s` None: never sent.  A failed one bears no text unless `at_s` is
        given; it ended at `done_s` (default 1 s after it was due).  `follows`: due when the request before it had ended.
        `unsure_s`: how unsure the time of each chunk is; None: not known.
        """
        number = self._next.get(launch, 0) if request is None else request
        self._next[launch] = number + 1
        due = self.t0[launch] + ns(due_s)
        sent = None if lag_s is None else due + ns(lag_s)
        times = at_s
        if times is None:
            count = (tokens_out or 0) if chunks is None else chunks
            good = status == "ok" and ttft_s is not None and count
            times = [(ttft_s or 0.0) + place * gap_s for place in range(count)] if good else []
        marks = list(kinds) if kinds is not None else [int(Kind.CONTENT)] * len(times)
        stamps = [round(t * S) for t in times]
        bearing = [t for t, mark in zip(stamps, marks, strict=True) if mark in (1, 2, 3)]
        seen = [t for t, mark in zip(stamps, marks, strict=True) if mark in (1, 3)]
        visible = ns(visible_s) if visible_s is not None else (seen[0] if seen else None)
        if done_s is None:
            done_s = max(times) if times else (1.0 if lag_s is not None or status != "unsent" else None)
        well = status == "ok"
        code = http_status if http_status is not None else {"ok": 200, "4xx": 400, "5xx": 500, "error": 200}.get(status)
        self.rows["requests"].append(
            (
                launch,
                number,
                client,
                phase,
                kind,
                stream,
                session,
                turn,
                replica if sent is not None else None,
                "lean" if sent is not None else "",
                due,
                sent,
                None if connect_s is None else ns(connect_s),
                due + ns(min(times)) if times else None,
                due + bearing[0] if bearing else None,
                due + visible if visible is not None else None,
                due + bearing[-1] if bearing else None,
                None if done_s is None else due + ns(done_s),
                status,
                code if sent is not None else None,
                error,
                finish_reason if well else None,
                tokens_in if well else None,
                tokens_out if well else None,
                reasoning_tokens,
                cached,
                [due - sent + t for t in stamps] if sent is not None else [],
                marks if sent is not None else [],
                (list(chars) if chars is not None else [4 if mark in (1, 2, 3) else 0 for mark in marks]) if sent is not None else [],
                400,
                40 * len(times),
                text,
                None,
                list(logprobs),
                None if tokenize_s is None else ns(tokenize_s),
                None if prefill_s is None else ns(prefill_s),
                [] if unsure_s is None or sent is None else [ns(unsure_s)] * len(times),
            )
        )
        if planned:
            self.arrival(
                launch,
                request=number,
                phase=phase,
                kind=kind,
                stream=stream,
                session=session,
                turn=turn,
                due_s=None if follows or phase == "cold" else due_s,
                pause_s=pause_s,
                pause_kind=pause_kind,
                tokens_in=asked_in,
                tokens_out=tokens_out if asked_out is None else asked_out,
                example=example,
                expected=expected,
            )
        return number

    def arrival(
        self,
        launch: int,
        *,
        request: int,
        phase: str = "main",
        kind: str = "normal",
        stream: int | None = None,
        session: int | None = None,
        turn: int | None = None,
        due_s: float | None = 0.0,
        pause_s: float = 0.0,
        pause_kind: str = "none",
        tokens_in: int | None = 100,
        tokens_out: int | None = 4,
        seed: int = 1,
        replica: int | None = None,
        example: str | None = None,
        expected: str | None = None,
    ) -> None:
        """A planned request; `request()` writes its own."""
        self.rows["arrivals"].append(
            (
                launch,
                request,
                phase,
                kind,
                stream,
                session,
                turn,
                None if due_s is None else ns(due_s),
                ns(pause_s),
                pause_kind,
                tokens_in,
                tokens_out,
                seed,
                replica,
                example,
                expected,
            )
        )

    def counted(
        self, launch: int, request: int, *, tokens_in: int | None = None, tokens_out: int | None = None, chunk_tokens: Sequence[int] = ()
    ) -> None:
        """Tokens by the tokenizer."""
        self.rows["token_counts"].append((launch, request, tokens_in, tokens_out, list(chunk_tokens)))

    def event(
        self,
        launch: int,
        kind: str,
        at_s: float,
        *,
        duration_s: float | None = None,
        value: float | None = None,
        rank: int | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        """Something that happened; `value` is the replica."""
        self.rows["events"].append(
            (
                launch,
                self.t0[launch] + ns(at_s),
                None if duration_s is None else ns(duration_s),
                "host",
                rank,
                None,
                kind,
                None,
                value,
                json.dumps(detail or {}),
            )
        )

    def reading(
        self, launch: int, device: str, counter: str, value: float, *, at_s: float = 0.0, unit: str = "1", method: str = "sampled"
    ) -> None:
        """A counter reading, for example ("replica-0", "kv_cache_used", 0.4)."""
        at = self.t0[launch] + ns(at_s)
        self.rows["telemetry"].append((launch, at, "host", device, counter, float(value), unit, method))

    def measured(self, *, state: str = "complete", sealed: bool = True) -> RecordData:
        """The record as metrics see it."""
        tables = {table: frame(table, rows) for table, rows in self.rows.items()}
        return RecordData(experiment=self.experiment, manifest=self.manifest, state=state, sealed=sealed, tables=tables)


def serving_measured(rows: Sequence[Mapping[str, Any]] = (), **made: Any) -> RecordData:
    """One launch of the first configuration per block, each with the same requests: `rows` holds the keys of `request`."""
    record = ServingMade(**made)
    for block in range(record.experiment.launches.per_configuration):
        number = record.launch(block=block)
        for row in rows:
            record.request(number, **row)
    return record.measured()


# ---- a simulated engine ------------------------------------------------------------------------------------------


def simulated(
    *,
    concurrency: tuple[int, ...] = (),
    rate: tuple[float, ...] = (),
    replicas: int = 2,
    slots: int = 8,
    prefill_s: float = 0.04,
    token_s: float = 0.01,
    tokens_out: int = 32,
    tokens_in: int = 100,
    blocks: int = 3,
    seconds: float = 20.0,
    warm_up_s: float = 2.0,
    failing: float = 0.0,
    canaries: float = 0.0,
    scored: float | None = None,
    lag_s: float = 0.0002,
    luck: float = 0.02,
    outage: tuple[float, float] | None = None,
    cold: int = 1,
    engines: tuple[str, ...] = ("server",),
    seed: int = 0,
    **made: Any,
) -> ServingMade:
    """Every block of every configuration, with a fault launch at the end if `outage` = (struck, back) is given, seconds
    after t0 + warm-up; the last replica is down then.

    An engine: `slots` requests at a time on each replica, the others wait in order; a request takes prefill_s, then token_s
    per token, both stretched by how full the replica is when it begins and by a little chance.  `failing`: share answered
    500.  `canaries`: share that carries a nonce, always answered rightly.  `scored`: share of reference answers that are
    right (asks for quality too).  `luck`: spread between launches.  About 30,000 requests per second of building.
    """
    if not concurrency and not rate:
        rate = (4.0, 8.0)
    if outage is not None:
        made = {"started": True, "faults": (Fault(kind="kill", at_s=outage[0], for_s=outage[1] - outage[0], replica=replicas - 1),), **made}
    if scored is not None:
        made = {"quality": Quality(metric="exact_match", margin=0.02), **made}
    record = ServingMade(
        concurrency=concurrency,
        rate=rate,
        replicas=replicas,
        blocks=blocks,
        seconds=seconds,
        warm_up_s=warm_up_s,
        engines=engines,
        **{"objectives": Objectives(ttft_s=0.5, tpot_s=0.05), "prices": 1.0, **made},
    )
    rng = np.random.default_rng(seed)
    engine = _Engine(
        record,
        rng,
        replicas=replicas,
        slots=slots,
        prefill_s=prefill_s,
        token_s=token_s,
        tokens_out=tokens_out,
        tokens_in=tokens_in,
        failing=failing,
        canaries=canaries,
        scored=scored,
        lag_s=lag_s,
        luck=luck,
        cold=cold,
    )
    for block in range(blocks):
        for one in configurations(record.experiment):
            engine.launch(one.name, one.load or 1.0, block=block, closed=bool(concurrency))
    if outage is not None:
        struck = (warm_up_s + outage[0], warm_up_s + outage[1])
        for target in engines:
            every = [one for one in configurations(record.experiment) if one.target == target]
            one = every[(len(every) - 1) // 2]
            engine.launch(one.name, one.load or 1.0, block=blocks, closed=bool(concurrency), outage=struck)
    return record


class _Engine:
    """Replicas with a few slots each, and a queue before them."""

    def __init__(self, record: ServingMade, rng: np.random.Generator, **how: Any) -> None:
        self.record, self.rng, self.how = record, rng, how

    def launch(self, configuration: str, load: float, *, block: int, closed: bool, outage: tuple[float, float] | None = None) -> None:
        """One launch with its cold requests, its load and its telemetry."""
        record, how = self.record, self.how
        assert record.experiment.serving is not None
        arrivals = record.experiment.serving.arrivals
        warm_up, length = arrivals.warm_up_s, arrivals.warm_up_s + arrivals.duration_s
        number = record.launch(configuration, block=block, wall_s=length + 12.0, begins_s=5.0, role="fault" if outage else "timed")
        for replica in range(how["replicas"]):
            record.event(number, "server_start", -4.9, value=replica)
            record.event(number, "server_ready", -3.0, value=replica, duration_s=1.9)
            for place in range(how["cold"]):
                record.request(
                    number,
                    -2.0 + 0.4 * replica + 0.1 * place,
                    phase="cold",
                    replica=replica,
                    asked_in=how["tokens_in"],
                    ttft_s=3 * how["prefill_s"],
                    gap_s=how["token_s"],
                    tokens_out=how["tokens_out"],
                    connect_s=0.0004,
                )
        if outage:
            struck, back = outage
            down = float(how["replicas"] - 1)
            fault = {"kind": "kill", "replica": int(down), "asked_ns": record.t0[number] + ns(struck)}
            record.event(number, "fault", struck, value=down, detail=fault)
            record.event(number, "replica_down", struck + 0.02, value=down)
            record.event(number, "fault_end", back, value=down, detail=fault)
            record.event(number, "replica_up", back + 0.5, value=down)
            outage = (struck, back + 0.5)
        stretch = float(np.exp(self.rng.normal(0.0, how["luck"])))
        due: list[tuple[float, int, int | None]] = []
        if closed:
            due = [(0.0, stream, stream) for stream in range(int(load))]
        else:
            gaps = self.rng.exponential(1.0 / load, size=int(2 * load * length + 50))
            due = [(float(t), place, None) for place, t in enumerate(accumulate(gaps)) if t < length]
        self._run(number, due, length, warm_up, stretch, outage)
        for second in range(int(length)):
            for replica in range(how["replicas"]):
                for counter, value in (("requests_running", 4.0), ("requests_waiting", 1.0), ("kv_cache_used", 0.25)):
                    record.reading(number, f"replica-{replica}", counter, value + 0.01 * second, at_s=second)
        record.manifest["schedules"][str(number)] = {"sha256": f"{number:064x}", "requests": record._next[number], "salted": True}

    def _run(
        self,
        number: int,
        due: list[tuple[float, int, int | None]],
        length: float,
        warm_up: float,
        stretch: float,
        outage: tuple[float, float] | None,
    ) -> None:
        record, how, rng = self.record, self.how, self.rng
        free = [[0.0] * how["slots"] for _ in range(how["replicas"])]
        heapq.heapify(due)
        turn = count = 0
        while due:
            at, _, stream = heapq.heappop(due)
            replica = turn % how["replicas"]
            turn += 1
            broken = outage is not None and replica == how["replicas"] - 1 and outage[0] <= at < outage[1]
            kind = "canary" if rng.random() < how["canaries"] else "normal"
            common: dict[str, Any] = {
                "replica": replica,
                "phase": "warm_up" if at < warm_up else "main",
                "stream": stream,
                "follows": stream is not None and at > 0.0,
                "lag_s": float(rng.exponential(how["lag_s"])),
                "asked_in": how["tokens_in"],
                "asked_out": how["tokens_out"],
                "kind": kind,
            }
            if broken or rng.random() < how["failing"]:
                status = "refused" if broken else "5xx"
                lasted = max(0.01, common["lag_s"] + 0.001)  # it ends after it was sent
                record.request(number, at, status=status, done_s=lasted, error="made to fail", **common)
                ended = at + lasted
            else:
                ended = self._serve(number, at, free[replica], stretch, common, count, outage if replica == how["replicas"] - 1 else None)
            count += 1
            if stream is not None and ended < length:
                heapq.heappush(due, (ended + 0.0002, stream, stream))

    def _serve(
        self,
        number: int,
        at: float,
        slots: list[float],
        stretch: float,
        common: dict[str, Any],
        count: int,
        outage: tuple[float, float] | None,
    ) -> float:
        record, how, rng = self.record, self.how, self.rng
        begins = max(at + common["lag_s"], heapq.heappop(slots))
        busy = 1.0 + 0.05 * sum(end > begins for end in slots)
        first = begins - at + how["prefill_s"] * stretch * busy * float(rng.gamma(20.0, 1 / 20.0))
        tokens = int(how["tokens_out"])
        gaps = how["token_s"] * stretch * busy * rng.gamma(20.0, 1 / 20.0, size=tokens - 1)
        at_s = [first, *(first + np.cumsum(gaps)).tolist()]
        ended = at + at_s[-1]
        heapq.heappush(slots, ended)
        if outage is not None and at < outage[0] < ended:
            record.request(number, at, status="reset", done_s=outage[0] - at, error="connection reset", **common)
            return outage[0]
        extra: dict[str, Any] = {"text": "word " * tokens}
        if common["kind"] == "canary":
            nonce = f"nonce-{number}-{count}"
            extra = {"text": f"{nonce} is what was asked", "expected": nonce}
        elif how["scored"] is not None:
            right = rng.random() < how["scored"]
            extra = {"text": "42" if right else "41", "expected": "42", "example": str(count % 50)}
        dressed = [first - 1e-4, *at_s, at_s[-1] + 1e-5, at_s[-1] + 2e-5, at_s[-1] + 3e-5]
        marks = [int(Kind.ROLE), *[int(Kind.CONTENT)] * tokens, int(Kind.FINISH), int(Kind.USAGE), int(Kind.DONE)]
        record.request(number, at, at_s=dressed, kinds=marks, tokens_out=tokens, tokens_in=how["tokens_in"], **common, **extra)
        return ended


def _in_slots(measured: RecordData) -> pl.DataFrame:
    """The launches, each in the slot that the plan has for it, where it has one."""
    slots = {(one.configuration, one.block, one.role): one.slot for one in plan(measured.experiment)}
    launches = measured.table("launches")
    keys = launches.select("configuration", "block", "role", "slot").iter_rows()
    found = [slots.get((name, block, role), slot) for name, block, role, slot in keys]
    return launches.with_columns(pl.Series("slot", found, dtype=launches.schema["slot"]))


def seal(measured: RecordData, root: Path) -> Path:
    """Write the record under `root` and seal it, through the same writer as a real run; gives its path."""
    from fireassay.clock import SystemClock
    from fireassay.record import folder
    from fireassay.record.seal import plan_signature

    record = folder.create(root, measured.experiment, plan_signature(measured.experiment), clock=SystemClock())
    for when, environment in measured.manifest.get("environment", {}).items():
        if environment is not None:  # of a job that was only watched
            record.set_environment(when, dict(environment))
    record.note(schedules=measured.manifest.get("schedules", {}))
    launches = measured.table("launches")["launch"].to_list()
    tables = {**measured.tables, "launches": _in_slots(measured)}
    parts = {name: table.partition_by("launch", as_dict=True) for name, table in tables.items()}
    for number in launches:
        writer = record.writer(number)
        for name in (*(name for name in TABLES if name != "launches"), "launches"):
            for row in parts[name][(number,)].iter_rows() if (number,) in parts[name] else ():
                writer.append(name, row)
        writer.close()
    record.finish("complete")
    return record.path
