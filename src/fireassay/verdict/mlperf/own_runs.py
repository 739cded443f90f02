"""What would MLPerf's logs say of a record of assay's own?  Lines of a training; minima of a load.

A training gives the lines that its record knows: set-up and start, seed, evaluations (`evaluated_scores`), end: that of the last
evaluation, without one that of the launch.  Which benchmark, division and hyperparameters it had, it does not know; the benchmark and
division may be stated.  A load gives duration, counts and early stopping of
its scenario; seeds, accuracy run and LoadGen itself are not its own, so a pass of these minima is no valid result.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import polars as pl

from fireassay.estimates.format import count, given
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.evaluated_scores import evaluated_scores, training_starts
from fireassay.record.mllog import EVENT, Entry, Log, restored
from fireassay.spec.sections.scenario import SAMPLES, SECONDS, requirements
from fireassay.stats.models.queueing import floor, least_passes
from fireassay.verdict.audits.serving.standards import mlperf_launches
from fireassay.verdict.evidence.sent_requests import planned, serving_of
from fireassay.verdict.mlperf.types import MlperfCheck, Rule, rule, unchecked

RULES = "inference_rules.adoc"
NOT_OURS = (
    ("LoadGen", "the load comes from LoadGen", "assay's own client sent it"),
    ("seeds", "the seeds of the round", "assay draws arrivals and samples with its own seed"),
    ("accuracy run", "an accuracy run of the whole data set", "a load is no accuracy run: assay evaluate"),
    ("compliance tests", "TEST01, TEST04 or TEST06 of the model", "need LoadGen's sample library"),
    ("power", "optional", "read by the record's own meters, not by a PTDaemon"),
)


def kept_logs(measured: RecordData) -> list[Log]:
    """The log of each launch of an imported record; empty: it has none."""
    events = measured.table("events").filter(pl.col("kind") == EVENT)
    return [restored(rows["detail"].to_list()) for _, rows in events.group_by("launch", maintain_order=True)]


# ---- a training ------------------------------------------------------------------------------------------------------


def own_logs(measured: RecordData, benchmark: str = "", division: str = "") -> list[Log]:
    """The lines that each timed launch of an own training can give."""
    launches = measured.table("launches").sort("launch")
    return [_own_log(measured, row, benchmark, division) for row in launches.iter_rows(named=True) if row["role"] == "timed"]


def _own_log(measured: RecordData, launch: dict[str, Any], benchmark: str, division: str) -> Log:
    number, file = int(launch["launch"]), f"launch={launch['launch']}"
    begin_ms = _epoch_ms(str(launch["begin_utc"] or ""))
    start_ns = training_starts(measured).filter(pl.col("launch") == number)["start_ns"]
    entries: list[Entry] = []

    def put(key: str, value: Any, seconds: float, **metadata: Any) -> None:
        line = len(entries) + 1
        entries.append(
            Entry(
                key=key,
                value=value,
                metadata={"file": "fireassay", "lineno": line, **metadata},
                time_ms=begin_ms + 1000.0 * seconds,
                file=file,
                line=line,
            )
        )

    set_up_s = (start_ns[0] - launch["begin_ns"]) / 1e9 if len(start_ns) and start_ns[0] is not None else 0.0
    if division:
        put("submission_division", division, 0.0)
    if benchmark:
        put("submission_benchmark", benchmark, 0.0)
    put("init_start", None, 0.0)
    put("seed", launch["seed"], 0.0)
    put("init_stop", None, set_up_s)
    put("run_start", None, set_up_s)
    put("block_start", None, set_up_s, samples_count=0)
    last_s = (launch["end_ns"] - launch["begin_ns"]) / 1e9 if launch["end_ns"] is not None else None
    for score in evaluated_scores(measured).filter(pl.col("launch") == number).sort("since_s").iter_rows(named=True):
        at = set_up_s + score["since_s"]
        amount = {"samples_count": score["samples"]} if score["samples"] is not None else {}
        put("block_stop", None, at, **amount)
        put("eval_start", None, at, **amount)
        put("eval_accuracy", score["score"], at, **amount, step_num=score["step"], metric=score["name"])
        put("eval_stop", None, at, **amount)
        last_s = at
    if last_s is not None:
        put("run_stop", None, last_s, status="success" if launch["status"] == "ok" else "aborted")
    return Log(file=file, entries=tuple(entries))


def _epoch_ms(text: str) -> float:
    """Milliseconds since the epoch; 0 if the record does not say when."""
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000.0


# ---- a load ----------------------------------------------------------------------------------------------------------


def judge_load(measured: RecordData, name: str) -> MlperfCheck | None:
    """The minima of the scenario of an own load, of every launch; None: its arrivals are no scenario of MLPerf."""
    process = serving_of(measured).arrivals.process
    required = requirements(process)
    if required is None:
        return None
    launches = mlperf_launches(measured)
    rules = [one for row in launches.iter_rows(named=True) for one in _load_rules(measured, process, required.percentile, row)]
    rules += _samples(measured)
    rules = rules or [rule("launches", False, "a successful launch", "none", source=RULES)]
    rules += [unchecked(what, needed, reason, RULES) for what, needed, reason in NOT_OURS]
    return MlperfCheck(
        suite="inference",
        title=f"MLPerf minima of {required.name}, {name}",
        round="",
        division="",
        benchmark="",
        scenario=required.name,
        files=launches.height,
        rules=tuple(rules),
        score=None,
        notes=("the minima alone: a load of assay's own client is no MLPerf result",),
    )


def _samples(measured: RecordData) -> Iterator[Rule]:
    """Whether different samples were sent: of one sample again and again the answer may be cached (what TEST04 looks for)."""
    rows = planned(measured, "example")
    if not rows.height:
        return
    different = rows["example"].n_unique() if rows["example"].null_count() == 0 else rows.height
    found = f"{different:,} different in {rows.height:,} requests"
    yield rule("samples differ", different > 1 or rows.height == 1, "more than one sample", found, source="compliance TEST04")


def _load_rules(measured: RecordData, process: str, percentile: float | None, row: dict[str, Any]) -> Iterator[Rule]:
    where = f"launch {row['launch']}, {row['configuration']}"
    seconds = float(row["seconds"] or 0.0)
    yield rule("duration", seconds >= SECONDS, f">= {SECONDS:g} s", f"{given(seconds, 5)} s", where, RULES)
    if percentile is None:
        yield rule("samples", row["requests"] >= SAMPLES, f">= {SAMPLES:,}", f"{row['requests']:,}", where, RULES)
        return
    if process != "server":
        needed = floor(percentile)
        required = f">= {needed:,} queries for p{100 * percentile:g}"
        yield rule("early stopping", row["queries"] >= needed, required, f"{row['queries']:,}", where, RULES)
        return
    bounded = bool(serving_of(measured).objectives.any)
    yield rule("latency bound", bounded, "serving.objectives", "set" if bounded else "none set", where, RULES)
    if bounded:
        needed = least_passes(row["late"], percentile) + row["late"]
        required = f">= {needed:,} queries with {row['late']:,} late"
        yield rule("early stopping", row["queries"] >= needed, required, f"{count(row['queries'], 'queries')}", where, RULES)
