"""A synthetic record and judgement with numbers known beforehand, for tests of everything that reads them.

    1, 2 and 4 workers x 5 launches x 43 steps (3 of them warm-up), then one fault launch at 4 workers.
    Steady step time: 100, 55 and 40 ms, times 1 + 0.02 (block - 2), times a ripple of at most 1 % with a fixed pattern;
    launches of 2 and 4 workers have a luck of their own of at most 1.5 %, so that their speedups scatter.
    Every step does 256 items in all; 40 scored examples, of which 38, 38 and 37 are right in every launch.

Nothing is random and nothing is measured: two calls give equal objects.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cache
from itertools import chain, islice, repeat, zip_longest
from pathlib import Path
from typing import Any

import polars as pl

from fireassay import catalog
from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import ALL, LAST, Better, Dimension, Metric
from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.tables import TABLES
from fireassay.spec.experiment import Experiment, Factor, Launches, Quality
from fireassay.spec.plan import PlannedLaunch, configuration_name, plan
from fireassay.spec.sections.faults import Fault
from fireassay.spec.sections.prices import Prices
from fireassay.spec.sections.workload import Workload
from fireassay.verdict.judge import Judgement
from fireassay.verdict.types import DimensionResult, Finding, GateResult, Recommendation, Verdict

LEVELS = (1, 2, 4)
STEP_MS = {1: 100.0, 2: 55.0, 4: 40.0}
PHASES = {"data_ns": 0.10, "forward_ns": 0.30, "backward_ns": 0.40, "optimizer_ns": 0.15}  # the rest is unknown
GLOBAL_BATCH = 256
WARMUP = 3
RIGHT = {1: 38, 2: 38, 4: 37}
EXAMPLES = 40
MS = 1_000_000
S = 1_000_000_000


def experiment(*, launches: int = 5, levels: tuple[int, ...] = LEVELS, faults: bool = True) -> Experiment:
    """The experiment that the synthetic record answers."""
    return Experiment(
        name="synthetic",
        workload=Workload(script="train.py", arguments=("--epochs", "3"), work="samples"),
        factor=Factor(levels=levels),
        launches=Launches(per_configuration=launches, seed=7),
        quality=Quality(metric="accuracy", margin=0.02),
        prices=Prices(usd_per_worker_hour=0.5, as_of=date(2026, 1, 1), source="a price list made up for tests"),
        faults=(Fault(levels=(max(levels),)),) if faults else (),
    )


def replayed(made: Experiment, path: Path) -> Experiment:
    """The experiment that replays a stored record from `path`."""
    workload = made.workload.model_copy(update={"runner": "replay", "script": str(path)})
    return made.model_copy(update={"workload": workload})


def step_ms(workers: int) -> float:
    """Steady step time by worker count: Amdahl beyond the table."""
    return STEP_MS.get(workers, 100.0 * (0.2 + 0.8 / workers))


def ripple(step: int, rank: int = 0) -> float:
    """A fixed pattern within 1 %: no random numbers in a test record."""
    return 0.01 * math.sin(1.7 * step + 0.9 * rank)


def launch_factor(planned: PlannedLaunch) -> float:
    """How a launch differs from its configuration: a drift over the blocks, and luck where there are several workers."""
    luck = (0.0, 0.01, -0.015, 0.012, -0.007)[(planned.block * 2) % 5] if planned.workers > 1 else 0.0
    return (1.0 + 0.02 * (planned.block - 2)) * (1.0 + luck * planned.workers / 4)


def environment(*, changed: bool = True) -> dict[str, Any]:
    """Two snapshots of a machine; the load differs, the rest is equal."""
    before = {
        "host": {"name": "bench-01", "kernel": "6.18", "cpu_model": "Xeon <Platinum>", "cpu_count": 2},
        "load": {"1min": 0.25, "steal_ticks": 9},
        "python": {"version": "3.11.7", "packages": {"torch": "2.13.0", "numpy": "2.4.6"}},
        "git": {"commit": "0123456789abcdef", "dirty": False},
        "gpus": [],
    }
    after = json.loads(json.dumps(before))
    if changed:
        after["load"] = {"1min": 1.75, "steal_ticks": 12}
    return {"before": before, "after": after}


def measured(
    *,
    launches: int = 5,
    levels: tuple[int, ...] = LEVELS,
    steps: int = 40,
    faults: bool = True,
    failed: bool = False,
    environments: Mapping[str, Any] | None = None,
) -> RecordData:
    """The synthetic record as metrics see it; `failed` adds a timed launch that failed."""
    asked = experiment(launches=launches, levels=levels, faults=faults)
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
    now = 100 * S
    for number, planned in enumerate(plan(asked)):
        now = _launch(rows, number, planned, now, steps) + S
    if failed:
        _failed(rows, len(plan(asked)), levels, now)
    return RecordData(
        experiment=asked,
        manifest={
            "format_version": 1,
            "assay_version": "0.1.0",
            "id": "synthetic-20260101T000000Z-abc123",
            "name": asked.name,
            "created_utc": "2026-01-01T00:00:00Z",
            "state": "complete",
            "reason": "",
            "environment": environment() if environments is None else environments,
        },
        state="complete",
        sealed=True,
        tables={name: frame(name, rows[name]) for name in TABLES},
    )


def frame(table: str, rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    """Rows in the column order of `fireassay.record.tables` as a frame in exactly the record's types."""
    return _frame(table, rows) if rows else _empty(table)


@cache
def _empty(table: str) -> pl.DataFrame:
    return _frame(table, ())


def _frame(table: str, rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    import pyarrow as pa

    schema = arrow_schema(table)
    columns = [
        *islice(chain(zip_longest(*rows), repeat((None,) * len(rows))), len(schema))
    ]  # rows turned; a short one lacks its last columns
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)]
    made = pl.from_arrow(pa.Table.from_arrays(arrays, schema=schema))
    assert isinstance(made, pl.DataFrame)
    return made


def _launch(rows: dict[str, list[tuple[Any, ...]]], number: int, planned: PlannedLaunch, begin: int, steps: int) -> int:
    """Append one launch; gives the monotonic time of its end."""
    started = begin + 3 * S
    events = rows["events"]
    for rank in range(planned.workers):
        events.append((number, started, None, "bench-01", rank, 0, "worker_start", None, None, "{}"))
    if planned.role == "fault":
        end = _broken_steps(rows, number, planned, begin, started, steps)
    else:
        end = _steps(rows, number, planned, started, range(steps + WARMUP), 0)
        _results(rows, number, planned, steps + WARMUP)
    end += S // 2
    restarts = int(planned.role == "fault")
    utc = f"2026-01-01T00:{number:02d}:00Z"
    rows["launches"].append(
        (
            number,
            planned.slot,
            0,
            planned.configuration,
            planned.workers,
            planned.block,
            planned.order,
            planned.role,
            planned.seed,
            begin,
            end,
            utc,
            "ok",
            "",
            0,
            restarts,
            '{"hosts": ["bench-01"]}',
        )
    )
    return end


def _steps(rows: dict[str, list[tuple[Any, ...]]], number: int, planned: PlannedLaunch, begin: int, steps: range, incarnation: int) -> int:
    """Append steps on every rank; rank 0 is the slowest by 2 %. Gives the end of the last step."""
    now = begin
    level = step_ms(planned.workers) * (launch_factor(planned) if planned.role == "timed" else 1.0)
    for place, step in enumerate(steps):
        slow = 3.0 - 0.5 * place if place < WARMUP else 1.0
        full = round(level * slow * (1.0 + ripple(step)) * MS)
        for rank in range(planned.workers):
            own = full if rank == 0 else round(full * 0.98)
            phases = [round(own * share) for share in PHASES.values()]
            items = GLOBAL_BATCH / planned.workers
            rows["steps"].append((number, rank, incarnation, step, now, now + own, *phases, None, None, items, "monotonic"))
        loss = 2.0 * math.exp(-0.05 * step)
        rows["fingerprints"].append((number, 0, incarnation, step + 1, "loss", loss, None))
        now += full
    return now


def _broken_steps(rows: dict[str, list[tuple[Any, ...]]], number: int, planned: PlannedLaunch, begin: int, started: int, steps: int) -> int:
    """Steps to 26, checkpoint after 20, rank killed, 0.5 s to detect, 2.5 s to restart, 0.25 s to reload, again from 20."""
    planned_fault = planned.fault
    assert planned_fault is not None
    stop, saved = min(26, steps - 5), min(20, steps - 10)
    killed = _steps(rows, number, planned, started, range(stop), 0)
    detail = json.dumps({"signal": planned_fault.signal, "pid": 4242})
    host, rank, events = "bench-01", planned_fault.rank, rows["events"]
    events.append((number, started + 2 * S, 20 * MS, host, 0, 0, "checkpoint_save", saved, None, "{}"))
    events.append((number, killed, None, host, rank, 0, "fault", stop, None, detail))
    for gone in range(planned.workers):
        events.append((number, killed + S // 2, None, host, gone, 0, "worker_gone", None, None, "{}"))
    for fresh in range(planned.workers):
        events.append((number, killed + 3 * S, None, host, fresh, 1, "worker_start", None, None, "{}"))
    events.append((number, killed + 3 * S, S // 4, host, 0, 1, "checkpoint_load", saved, None, "{}"))
    return _steps(rows, number, planned, killed + 3 * S + S // 4, range(saved, steps + WARMUP), 1)


def _results(rows: dict[str, list[tuple[Any, ...]]], number: int, planned: PlannedLaunch, steps: int) -> None:
    """Scores, parameter hashes, the sample ledger's size and the instrument's own cost."""
    right = RIGHT.get(planned.workers, 37)
    for example in range(EXAMPLES):
        hit = example < right
        rows["examples"].append((number, 0, 0, "accuracy", f"digit-{example}", "3" if hit else "8", "3", 1.0 if hit else 0.0))
    for rank in range(planned.workers):
        for step in (0, 1, 2, 4, 8, 16, steps):
            rows["fingerprints"].append((number, rank, 0, step, "parameter_hash", None, f"{planned.seed:x}-{step}"))
        rows["telemetry"].append((number, 0, "bench-01", "probe", "cost_per_step", 4000.0, "ns", "self"))
    rows["fingerprints"].append((number, 0, 0, 0, "dataset_size", 1280.0, None))


def _failed(rows: dict[str, list[tuple[Any, ...]]], number: int, levels: tuple[int, ...], begin: int) -> None:
    workers = max(levels)
    rows["launches"].append(
        (
            number,
            2,
            1,
            configuration_name(workers),
            workers,
            0,
            2,
            "timed",
            11,
            begin,
            begin + 2 * S,
            "2026-01-01T00:59:00Z",
            "failed",
            "the script exited with 3: ModuleNotFoundError: no module named <script>",
            3,
            0,
            "{}",
        )
    )


# ---------------------------------------------------------------------------------------------------------- judgement


def metric(name: str, title: str, unit: str, dimension: Dimension, *, better: Better = "lower", primary: bool = False) -> Metric:
    """A metric that computes nothing: its values are given. One of ours stands where it stands in reports."""
    declared: Metric | None = catalog.load_all("metrics").get(name)
    return Metric(
        name=name,
        title=title,
        unit=unit,
        kind="cost",
        better=better,
        dimension=dimension,
        formula=f"how {name} is made",
        compute=lambda _measured, _results: {},
        primary=primary,
        shown=declared.shown if declared else (),
        rank=declared.rank if declared else LAST,
    )


def estimate(value: float, half: float, unit: str, *, k: int = 5) -> Estimate:
    """value -+ half, with k launch values spread evenly over the interval."""
    spread = [0.0] if k == 1 else [-1.0 + 2.0 * i / (k - 1) for i in range(k)]
    one = k == 1
    return Estimate(
        value=value,
        low=-math.inf if one else value - half,
        high=math.inf if one else value + half,
        unit=unit,
        confidence=0.95,
        n_launches=k,
        n_trials=40 * k,
        method=f"Student t on {k} launch values",
        signature=f"made|k:{k}|v:1",
        launch_values=tuple(value + half * s for s in spread),
    )


def exact(value: float, unit: str) -> Estimate:
    """A complete count."""
    return Estimate(
        value=value,
        low=value,
        high=value,
        unit=unit,
        confidence=1.0,
        n_launches=5,
        n_trials=200,
        method="counted completely",
        signature="made|exact|v:1",
    )


REFERENCE = Absent(reason="not_applicable", detail="this is the reference that the others are compared with")
NO_COUNTER = Absent(reason="not_measured", detail="this machine has no energy counter (RAPL, NVML)")
NO_FAULT = Absent(reason="not_measured", detail="no fault launch was asked for at this worker count")


def _catalogue() -> Iterator[tuple[Metric, tuple[Value, ...]]]:
    """Every metric with its values at 1, 2 and 4 workers; a single value belongs to the whole experiment."""
    s, usd = "s", "USD"
    e = estimate
    yield (
        metric("quality", "Quality", "score", "correctness", better="higher", primary=True),
        (e(0.95, 0.011, "score"), e(0.95, 0.011, "score"), e(0.925, 0.012, "score")),
    )
    yield (
        metric("quality_difference", "Quality against the base", "score", "correctness", better="higher"),
        (REFERENCE, e(0.0, 0.012, "score"), e(-0.025, 0.014, "score")),
    )
    yield metric("samples_lost", "Samples lost", "count", "correctness"), tuple(exact(0.0, "count") for _ in LEVELS)
    yield (
        metric("replicas_agree", "Replicas agree", "fraction", "correctness", better="higher"),
        (Absent(reason="not_applicable", detail="one worker has no replica to agree with"), exact(1.0, "fraction"), exact(1.0, "fraction")),
    )
    yield (metric("step_time", "Step time", s, "performance", primary=True), (e(0.100, 0.003, s), e(0.055, 0.002, s), e(0.040, 0.0015, s)))
    yield (metric("wall_time", "Wall time", s, "performance", primary=True), (e(8.05, 0.2, s), e(6.0, 0.15, s), e(5.4, 0.1, s)))
    yield (
        metric("throughput", "Throughput", "1/s", "performance", better="higher"),
        (e(2560.0, 76.0, "1/s"), e(4655.0, 160.0, "1/s"), e(6400.0, 240.0, "1/s")),
    )
    yield (
        metric("speedup", "Speedup", "ratio", "performance", better="higher", primary=True),
        (e(1.0, 0.0, "ratio"), e(1.82, 0.05, "ratio"), e(2.50, 0.10, "ratio")),
    )
    yield (
        metric("efficiency", "Parallel efficiency", "fraction", "performance", better="higher", primary=True),
        (e(1.0, 0.0, "fraction"), e(0.909, 0.025, "fraction"), e(0.625, 0.025, "fraction")),
    )
    yield (
        metric("karp_flatt", "Karp-Flatt serial fraction", "fraction", "performance"),
        (Absent(reason="undefined", detail="not defined for the base"), e(0.10, 0.03, "fraction"), e(0.20, 0.02, "fraction")),
    )
    yield metric("serial_fraction", "Serial fraction", "fraction", "performance"), (e(0.17, 0.03, "fraction"),)
    yield (
        metric("amdahl_ceiling", "Amdahl ceiling", "ratio", "performance", better="higher"),
        (
            Estimate(
                value=5.9,
                low=5.0,
                high=math.inf,
                unit="ratio",
                confidence=0.95,
                n_launches=5,
                n_trials=10,
                method="1 / serial_fraction",
                signature="made|ceiling|v:1",
            ),
        ),
    )
    for phase, share in (("data", 0.10), ("forward", 0.30), ("backward", 0.40), ("unknown", 0.05)):
        yield (
            metric(f"{phase}_time", f"{phase.capitalize()} time", s, "performance"),
            tuple(e(share * STEP_MS[w] / 1e3, share * STEP_MS[w] / 40e3, s) for w in LEVELS),
        )
    yield (
        metric("optimizer_time", "Optimizer time", s, "performance"),
        tuple(Absent(reason="not_measured", detail='no optimizer phase was marked; use p.phase("optimizer")') for _ in LEVELS),
    )
    yield (
        metric("cost", "Cost of a run", usd, "cost", primary=True),
        (e(0.00112, 0.00003, usd), e(0.00167, 0.00004, usd), e(0.00300, 0.00006, usd)),
    )
    yield (
        metric("cost_per_item", "Cost per item", "USD/item", "cost"),
        (e(8.333e-7, 2.1e-8, "USD/item"), e(1.04e-6, 3e-8, "USD/item"), e(1.852e-6, 4e-8, "USD/item")),
    )
    yield (
        metric("items_per_dollar", "Items per dollar", "items/USD", "cost", better="higher"),
        (e(1_200_000.0, 31_000.0, "items/USD"), e(961_538.0, 25_000.0, "items/USD"), e(540_000.0, 12_000.0, "items/USD")),
    )
    yield metric("energy", "Energy of a run", "J", "cost", primary=True), tuple(NO_COUNTER for _ in LEVELS)
    yield (
        metric("training_goodput", "Training goodput", "fraction", "reliability", better="higher"),
        tuple(e(0.62 - 0.05 * i, 0.01, "fraction") for i in range(3)),
    )
    for name, title, seconds in (
        ("time_to_detect", "Time to detect", 0.5),
        ("time_to_restart", "Time to restart", 2.5),
        ("time_to_reload", "Time to reload", 0.25),
        ("time_to_recompute", "Time to recompute", 0.42),
    ):
        yield metric(name, title, s, "reliability"), (NO_FAULT, NO_FAULT, e(seconds, 0.0, s, k=1))
    yield (metric("recovery_time", "Recovery time", s, "reliability", primary=True), (NO_FAULT, NO_FAULT, e(3.67, 0.0, s, k=1)))
    yield metric("steps_lost", "Steps lost", "steps", "reliability"), (NO_FAULT, NO_FAULT, exact(6.0, "steps"))
    yield (
        metric("instrument_overhead", "Instrument's own cost per step", "fraction", "performance"),
        tuple(e(4e-6 / (STEP_MS[w] / 1e3), 2e-6, "fraction") for w in LEVELS),
    )


def verdict() -> Verdict:
    """The verdict on the synthetic record: 4 workers lose quality and efficiency, 2 are recommended."""
    passed = {
        "correctness": DimensionResult(status="PASS", sentence="every sample used once, replicas equal, quality held"),
        "performance": DimensionResult(status="PASS", sentence="efficiency 91 % [88, 93] is above 70 %"),
        "cost": DimensionResult(status="PASS", sentence="$0.00167 a run; energy was not measured"),
        "reliability": DimensionResult(status="NOT_MEASURED", sentence="no fault launch at this worker count"),
    }
    broken = {
        "correctness": DimensionResult(status="FAIL", sentence="accuracy fell by 0.025 [0.011, 0.039], margin 0.02"),
        "performance": DimensionResult(status="FAIL", sentence="efficiency 62 % [60, 65] is below 70 %"),
        "cost": DimensionResult(status="INCONCLUSIVE", sentence="no price was given for the second worker pair"),
        "reliability": DimensionResult(status="PASS", sentence="recovered from SIGKILL in 3.67 s, 6 steps lost"),
    }
    return Verdict(
        status="FAIL",
        findings=(
            Finding(
                rule="launches_unequal",
                severity="note",
                configuration=None,
                evidence="one launch took 9 % longer than the others",
                remedy="look at the load before and after",
            ),
            Finding(
                rule="quality_degraded",
                severity="fail",
                configuration="workers=4",
                evidence="accuracy fell by 0.025, more than the margin of 0.02",
                remedy="scale the learning rate | warm up",
            ),
        ),
        gates=(
            GateResult(gate="efficiency", configuration="workers=2", status="PASS", sentence="91 % [88, 93] ≥ 70 %"),
            GateResult(gate="efficiency", configuration="workers=4", status="FAIL", sentence="62 % [60, 65] < 70 %"),
            GateResult(gate="quality_held", configuration="workers=4", status="FAIL", sentence="loses more than 0.02"),
        ),
        dimensions={"workers=1": passed, "workers=2": passed, "workers=4": broken},
        recommendations=(
            Recommendation(goal="recommended", configuration="workers=2", sentence="the largest admissible one"),
            Recommendation(goal="cheapest", configuration="workers=1", sentence="$0.00112 a run"),
            Recommendation(goal="under deadline", configuration=None, sentence="no deadline was asked for"),
        ),
        sentence="On 2 workers train.py runs 1.82 times [1.77, 1.87] as fast as on 1 with accuracy held; 4 workers FAIL.",
    )


def judgement() -> Judgement:
    """The hand-made judgement of `measured()`."""
    results: dict[str, Mapping[str, Value]] = {}
    metrics: dict[str, Metric] = {}
    for made, values in _catalogue():
        keys = [ALL] if len(values) == 1 else [configuration_name(level) for level in LEVELS]
        metrics[made.name] = made
        results[made.name] = dict(zip(keys, values, strict=True))
    return Judgement(results=results, verdict=verdict(), metrics=metrics)


def without(made: Judgement, *names: str) -> Judgement:
    """The judgement with some metrics absent everywhere."""
    gone = Absent(reason="not_measured", detail="left out by the test")
    results = {name: dict.fromkeys(values, gone) if name in names else values for name, values in made.results.items()}
    return replace(made, results=results)
