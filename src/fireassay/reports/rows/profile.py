"""How are profiled steps shown as text?  Lines made from a launch's summary.json."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import polars as pl

from fireassay.estimates.format import percent, reading
from fireassay.frames.record_data import RecordData
from fireassay.units import BYTES, SECONDS

PARTS: Final = (("compute_ns", "computing"), ("exposed_ns", "exposed communication"), ("copy_ns", "copies"), ("idle_ns", "idle"))
NO_OPERATOR: Final = "in no operator"  # on a processor, idle time is the script's own Python
ENGINE: Final = "autograd::engine::evaluate_function: "  # prefix of every node of a backward pass
WIDEST: Final = 60  # characters of a kernel's name


def of_record(measured: RecordData) -> tuple[dict[str, Any], ...]:
    """Each profiled launch: its outcome, each rank's report of its window, and the summaries of the traces."""
    launches = measured.table("launches").filter(pl.col("role") == "profile").sort("launch")
    if launches.height == 0:
        return ()
    events = measured.table("events").filter(pl.col("kind") == "profile").sort("launch", "rank")
    summaries = {summary["launch"]: summary for summary in measured.profiles}
    profiles = []
    for row in launches.iter_rows(named=True):
        windows = _windows(events.filter(pl.col("launch") == row["launch"]))
        left = {key: summaries.get(row["launch"], {}).get(key) or [] for key in ("ranks", "nsys")}
        profiles.append(
            {
                "launch": row["launch"],
                "configuration": row["configuration"],
                "status": row["status"],
                "reason": row["reason"],
                "windows": windows,
                "ranks": [_whole_steps(rank, windows) for rank in left["ranks"]],
                "nsys": left["nsys"],
            }
        )
    return tuple(profiles)


def _whole_steps(rank: dict[str, Any], windows: list[dict[str, Any]]) -> dict[str, Any]:
    """The rank without a step that was unfinished when its process ended; the trace holds its beginning."""
    kept = [window["kept"] for window in windows if window["rank"] == rank.get("rank")]
    return {**rank, "steps": rank["steps"][: kept[-1]]} if kept and "steps" in rank else rank


def _windows(events: pl.DataFrame) -> list[dict[str, Any]]:
    rows = events.select("rank", "value", "detail").iter_rows()
    return [{"rank": rank, "kept": int(value or 0), **json.loads(detail)} for rank, value, detail in rows]


def launch_lines(launch: Mapping[str, Any], *, most: int = 8) -> Iterator[str]:
    """A profiled launch, rank by rank; at most `most` rows of each list."""
    yield f"{launch['configuration']}, profiled (launch {launch['launch']}; its steps are slower than timed ones)"
    if launch["status"] != "ok":
        yield f"  {launch['status']}: {launch['reason']}"
    yield from (f"  {line}" for line in lacking(launch))
    for rank in launch["ranks"]:
        yield from (f"  {line}" for line in rank_lines(rank, most))
    for capture in launch["nsys"]:
        yield from (f"  {line}" for line in _capture(capture, most))


def lacking(launch: Mapping[str, Any]) -> Iterator[str]:
    """Why steps are missing, rank by rank."""
    yield from (line for window in launch["windows"] for line in _window(window))
    if not launch["windows"] and launch["status"] == "ok":
        yield "no step was seen: the script does not use torch, or marks no step and calls no optimizer or module of torch"


def _window(window: Mapping[str, Any]) -> Iterator[str]:
    requested = window["asked"]
    needed = requested["wait"] + requested["warm_up"] + requested["active"]
    if window["trouble"]:
        yield f"rank {window['rank']}: the profiler stopped: {window['trouble']}"
    elif window["seen"] < needed:
        yield (
            f"rank {window['rank']}: the script made {window['seen']} steps and {needed} are needed (wait {requested['wait']}, warm-up "
            f"{requested['warm_up']}, active {requested['active']}); {_kept(window['kept'])}. Train longer, or: --wait 0 --warm-up 1"
        )


def _kept(steps: int) -> str:
    return f"{steps} {'is' if steps == 1 else 'are'} kept"


def rank_lines(rank: Mapping[str, Any], most: int) -> Iterator[str]:
    """Summary of one rank's trace."""
    if rank["absent"]:
        yield f"{rank['file']}: {rank['absent']}"
        return
    steps = rank["steps"]
    whole = sum(step["window_ns"] for step in steps)
    if whole:
        parts = ", ".join(f"{name} {percent(sum(step[key] for step in steps) / whole)}" for key, name in parts_of(rank))
        count = f"{len(steps)} step{'s' if len(steps) != 1 else ''}"
        yield f"rank {rank['rank']}: {count} of {_time(whole / len(steps))} on average: {parts}"
    classes = [(name, ns) for name, ns in rank["classes"].items() if ns]
    total = sum(ns for _, ns in classes)
    if total:
        what = "kernels" if rank["on_device"] else "operators"
        shares = ", ".join(f"{name} {percent(ns / total)}" for name, ns in sorted(classes, key=lambda item: -item[1]))
        yield f"  {what} by kind: {shares}"
    if rank["on_device"]:
        yield from _rows("kernels by time", rank["kernels"], most)
    yield from _rows("operators by self time on the processor", rank["operators"], most)
    for device in rank["memory"]:
        since = " more than when the window began" if device["device"] == "cpu" else ""
        yield f"  memory: at most {reading(device['peak_bytes'], BYTES)}{since} on {device['device']}, {device['allocations']} allocations"
    if "allocator" in rank:
        held = rank["allocator"]
        yield (
            f"  allocator at the end: {reading(held['reserved_bytes'], BYTES)} reserved, {reading(held['in_use_bytes'], BYTES)} in use, "
            f"largest free block {reading(held['largest_free_bytes'], BYTES)}"
        )
        yield from (
            f"    {reading(block['bytes'], BYTES):>10}  {block['where']}" for block in held.get("largest", ())[:most] if block["where"]
        )
    if rank.get("snapshot"):
        yield f"  memory snapshot: {rank['snapshot']}, for https://pytorch.org/memory_viz (a pickle: open it there and load it nowhere else)"


def parts_of(rank: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(key, name) of the parts of a step that its trace shows: copies only with a device, communication only with several workers."""
    for key, name in PARTS:
        if key == "copy_ns" and not rank["on_device"]:
            continue
        if key == "exposed_ns" and rank.get("workers") in (None, 1) and not any(step[key] for step in rank["steps"]):
            continue
        yield key, NO_OPERATOR if key == "idle_ns" and not rank["on_device"] else name


def _rows(title: str, rows: list[Mapping[str, Any]], most: int) -> Iterator[str]:
    if not rows:
        return
    yield f"  {title}:"
    nodes: dict[str, tuple[float, int]] = {}  # a node of the backward pass and the engine's call of it share a row
    for row in rows:
        name = row["name"].removeprefix(ENGINE)
        ns, calls = nodes.get(name, (0, 0))
        nodes[name] = (ns + row["ns"], max(calls, row["calls"]))
    for name, (ns, calls) in sorted(nodes.items(), key=lambda item: -item[1][0])[:most]:
        shown = name if len(name) <= WIDEST else f"{name[: WIDEST - 1]}…"
        yield f"    {_time(ns):>10}  {calls:>6} ×  {shown}"


def _capture(capture: Mapping[str, Any], most: int) -> Iterator[str]:
    if capture["absent"]:
        yield f"nsys: {capture['absent']}"
    for name, rows in capture.get("reports", {}).items():
        yield from _rows(f"nsys {name}", rows, most)


def _time(ns: float) -> str:
    return reading(ns / 1e9, SECONDS)
