"""What would MLPerf's logs say of a training of assay's own?

A training gives the lines that its script prints (as mlperf-logging's logger does), and for the keys that it does not print those that the
record knows: set-up and start, seed, evaluations (`evaluated_scores`), end: that of the last evaluation, without one that of the launch.
Hyperparameters, cleared caches and data sizes only the script can state; benchmark and division the command line too.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from heapq import merge
from typing import Any, Final

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.frames.training.evaluated_scores import evaluated_scores, training_starts
from fireassay.record.mllog import EVENT, SCORES, Entry, Log, finite, restored

OURS: Final = "fireassay"  # the source file of lines that the record adds
BEHIND: Final = ("block_start", "eval_stop", "run_start", "run_stop")  # of ours, behind what was printed in that millisecond


def kept_logs(measured: RecordData) -> list[Log]:
    """The log of each launch of an imported record; empty: it has none."""
    events = measured.table("events").filter(pl.col("kind") == EVENT)
    return [restored(rows["detail"].to_list()) for _, rows in events.group_by("launch", maintain_order=True)]


def own_logs(measured: RecordData, printed: Mapping[int, Log], benchmark: str = "", division: str = "") -> list[Log]:
    """The lines of each timed launch of an own training: what its script printed, and for keys that it did not print what the record knows."""
    launches = measured.table("launches").filter(pl.col("role") == "timed").sort("launch")
    return [
        _own_log(measured, row, printed.get(row["launch"], Log(file="")), benchmark, division) for row in launches.iter_rows(named=True)
    ]


def _own_log(measured: RecordData, launch: dict[str, Any], printed: Log, benchmark: str, division: str) -> Log:
    file, logged = f"launch={launch['launch']}", {entry.key for entry in printed.entries}
    added: list[Entry] = []

    def put(key: str, value: Any, time_ms: float, /, **metadata: Any) -> None:
        if key not in logged:
            metadata = {"file": OURS, "lineno": len(added) + 1, **metadata}
            added.append(Entry(key=key, value=value, metadata=metadata, time_ms=time_ms, file=file))

    begin_ms = _epoch_ms(str(launch["begin_utc"] or ""))
    starts = training_starts(measured).filter(pl.col("launch") == launch["launch"])["start_ns"].drop_nulls()
    start_ms = begin_ms + ((starts[0] - launch["begin_ns"]) / 1e6 if len(starts) else 0.0)
    ready = printed.first("run_start") or printed.first("init_stop")
    ready_ms = ready.time_ms if ready else start_ms
    for key, value in (("submission_division", division), ("submission_benchmark", benchmark)):
        if value:
            put(key, value, begin_ms)
    put("init_start", None, begin_ms)
    put("seed", launch["seed"], begin_ms)
    put("init_stop", None, ready_ms)
    put("run_start", None, ready_ms)
    last_ms, before = None, 0.0
    in_epoch = finite(printed.value("train_samples"))
    for at_ms, value, metadata in _printed_scores(printed) or _known_scores(measured, launch["launch"], start_ms):
        amount = _amounts(metadata, in_epoch)
        put("block_start", None, ready_ms if last_ms is None else last_ms, samples_count=before)
        put("block_stop", None, at_ms, **amount)
        put("eval_start", None, at_ms, **amount)
        put("eval_accuracy", value, at_ms, **{**metadata, **amount})
        put("eval_stop", None, at_ms, **amount)
        last_ms, before = at_ms, amount.get("samples_count", before)
    if last_ms is None and launch["end_ns"] is not None:
        last_ms = begin_ms + (launch["end_ns"] - launch["begin_ns"]) / 1e6
    if last_ms is not None:
        put("run_stop", None, last_ms, status="success" if launch["status"] == "ok" else "aborted")
    entries = merge(added, printed.entries, key=lambda entry: (entry.time_ms, entry.file == file and entry.key in BEHIND))
    return Log(file=file, entries=tuple(entries), broken=printed.broken)


def _printed_scores(printed: Log) -> list[tuple[float, Any, Mapping[str, Any]]]:
    """(ms, score, metadata) of the evaluations that a script printed as such lines."""
    return [(entry.time_ms, entry.value, entry.metadata) for entry in printed.entries if entry.key in SCORES]


def _known_scores(measured: RecordData, launch: int, start_ms: float) -> list[tuple[float, Any, Mapping[str, Any]]]:
    """Likewise, of those that the record knows."""
    scores = evaluated_scores(measured).filter(pl.col("launch") == launch).sort("since_s")
    return [
        (
            start_ms + 1000.0 * row["since_s"],
            row["score"],
            {"step_num": row["step"], "metric": row["name"], "samples_count": row["samples"]},
        )
        for row in scores.iter_rows(named=True)
    ]


def _amounts(metadata: Mapping[str, Any], in_epoch: float | None) -> dict[str, float]:
    """Samples and epochs so far, each also from the other."""
    samples, epochs = (finite(metadata.get(key)) for key in ("samples_count", "epoch_num"))
    if in_epoch:
        samples = epochs * in_epoch if samples is None and epochs is not None else samples
        epochs = samples / in_epoch if epochs is None and samples is not None else epochs
    return {key: value for key, value in (("samples_count", samples), ("epoch_num", epochs)) if value is not None}


def _epoch_ms(text: str) -> float:
    """Milliseconds since the epoch; 0 if the record does not say when."""
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000.0
