"""What is shown of a profile?  Where the time of a step goes, rank by rank, what takes most of it, and how to open the traces.

A profiled launch is told in lines made from its summary.json.
"""

from __future__ import annotations

import json
import posixpath
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import polars as pl

from fireassay.estimates.format import count, percent, reading, scale_for
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.profile_summary import windows_of
from fireassay.printable import some
from fireassay.reports.answering import clipped, noted_doubts
from fireassay.reports.page import Answer, Blocks, Bullet, Bullets, Head, Line, Mark, Page, Prose, Section, Table, Words
from fireassay.reports.page import Cell as TableCell
from fireassay.reports.words import NO_OPERATOR
from fireassay.units import BYTES, SECONDS

PARTS: Final = (("compute_ns", "computing"), ("exposed_ns", "exposed communication"), ("copy_ns", "copies"), ("idle_ns", "idle"))
HIDDEN: Final = "hidden"  # key of the share of communication that computing covers
COVERED: Final = "exposed: communication that no computing covers; hidden: the covered share of communication"
ENGINE: Final = "autograd::engine::evaluate_function: "  # prefix of every node of a backward pass
WIDEST: Final = 60  # characters of a kernel's name
MAX_RANKS: Final = 8
MAX_NAMES: Final = 5  # kernels or operators
MAX_NAME_LENGTH: Final = 60
SLOWER: Final = "profiled steps are slower than timed ones"
SHOWN: Final = 8  # rows per list


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
        summary = summaries.get(row["launch"], {})
        imported = _imported(summary, measured)
        left = {key: summary.get(key) or [] for key in ("ranks", "nsys")}
        profiles.append(
            {
                "launch": row["launch"],
                "configuration": row["configuration"],
                "status": row["status"],
                "reason": row["reason"],
                "windows": windows,
                "ranks": left["ranks"] if imported else [_whole_steps(rank, windows) for rank in left["ranks"]],
                "nsys": left["nsys"],
                **imported,
            }
        )
    return tuple(profiles)


def _imported(summary: Mapping[str, Any], measured: RecordData) -> dict[str, Any]:
    """Of traces of another tool: its title, and the doubts and gaps of its files."""
    if not summary.get("imported"):
        return {}
    foreign = measured.foreign or {}
    gaps = [f"not in the files: {sentence}" for sentence in foreign.get("missing") or ()]
    return {"imported": str(summary["imported"]), "notes": [*map(str, foreign.get("doubts") or ()), *gaps]}


def _whole_steps(rank: dict[str, Any], windows: list[dict[str, Any]]) -> dict[str, Any]:
    """The rank without a step that was unfinished when its process ended; the trace holds its beginning. Its other events are no step."""
    rank = {**rank, "whole": None}
    kept = [window["kept"] for window in windows if window["rank"] == rank.get("rank")]
    return {**rank, "steps": rank["steps"][: kept[-1]]} if kept and "steps" in rank else rank


def _windows(events: pl.DataFrame) -> list[dict[str, Any]]:
    rows = events.select("rank", "value", "detail").iter_rows()
    return [{"rank": rank, "kept": int(value or 0), **json.loads(detail)} for rank, value, detail in rows]


def launch_lines(launch: Mapping[str, Any], *, most: int = 8) -> Iterator[str]:
    """A profiled launch, rank by rank; at most `most` rows of each list."""
    how = f"imported from {launch['imported']}" if launch.get("imported") else f"profiled (launch {launch['launch']}"
    yield f"{launch['configuration']}, {how}; its steps are slower than timed ones" + ("" if launch.get("imported") else ")")
    if launch["status"] != "ok":
        yield f"  {launch['status']}: {launch['reason']}"
    yield from (f"  {line}" for line in lacking(launch))
    for rank in launch["ranks"]:
        yield from (f"  {line}" for line in rank_lines(rank, most))
    for capture in launch["nsys"]:
        yield from (f"  {line}" for line in _capture(capture, most))


def lacking(launch: Mapping[str, Any]) -> Iterator[str]:
    """Why steps are missing, rank by rank."""
    yield from launch.get("notes") or ()
    yield from (line for window in launch["windows"] for line in _window(window))
    if not launch["windows"] and launch["status"] == "ok" and not launch.get("imported"):
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
    yield from _rank_head(rank)
    classes = [(name, ns) for name, ns in rank["classes"].items() if ns]
    total = sum(ns for _, ns in classes)
    if total:
        what = "kernels" if rank["on_device"] else "operators"
        shares = ", ".join(f"{name} {percent(ns / total)}" for name, ns in sorted(classes, key=lambda item: -item[1]))
        yield f"  {what} by kind: {shares}"
    if rank["on_device"]:
        yield from _rows("kernels by time", rank["kernels"], most)
    yield from _rows(
        "operators by self time on the processor" if rank.get("torch", True) else "events by self time", rank["operators"], most
    )
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


def _rank_head(rank: Mapping[str, Any]) -> Iterator[str]:
    """The parts of the mean step or of the whole trace; of a trace that knows none, its threads and categories."""
    named = f"rank {rank['rank']}" + (f" ({rank['device']})" if rank.get("device") else "")
    if steps := windows_of(rank):
        whole = sum(step["window_ns"] for step in steps)
        parts = ", ".join(f"{name} {percent(sum(step[key] for step in steps) / whole)}" for key, name in parts_of(rank))
        span = (
            f"{count(len(steps), 'steps')} of {_time(whole / len(steps))} on average"
            if rank["steps"]
            else f"{_time(whole)}, no step marked"
        )
        yield f"{named}: {span}: {parts}"
        if (hidden := hidden_share(rank)) is not None:
            yield f"  communication: {percent(sum(step['communication_ns'] for step in steps) / whole)}, {percent(hidden)} of it hidden by computing"
    elif rank.get("threads"):
        yield f"{named}: {_time(rank['whole']['window_ns'])}; the trace names neither operators nor kernels: threads and categories only"
        yield from _rows("threads by busy time", rank["threads"], SHOWN)
        yield from _rows("categories by busy time", rank["categories"], SHOWN)


def hidden_share(rank: Mapping[str, Any]) -> float | None:
    """Communication that computing covers, as a share of all communication; None if there is none."""
    total = sum(step["communication_ns"] for step in windows_of(rank))
    return 1.0 - sum(step["exposed_ns"] for step in windows_of(rank)) / total if total else None


def parts_of(rank: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(key, name) of the parts of a step that its trace shows: copies only with a device, communication only with several workers."""
    for key, name in PARTS:
        if key == "copy_ns" and not rank["on_device"]:
            continue
        if key == "exposed_ns" and rank.get("workers") in (None, 1) and not any(step[key] for step in windows_of(rank)):
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


def answer(report: Mapping[str, Any]) -> Answer:
    """The largest part of a step, and where the traces are."""
    ranks, troubles = list(_ranks(report)), _troubles(report)
    threads = list(_threads(report))
    known = bool(ranks or threads)
    headline = _headline(ranks[0]) if ranks else _of_threads(*threads[0]) if threads else (troubles or ["no step was kept"])[0]
    slower = [f"{SLOWER}."] if ranks else []
    return Answer(
        mark=Mark(word="profiled", tone="good") if known else Mark(word="nothing profiled", tone="open"),
        headline=headline,
        lines=(*_traces(report), noted_doubts([*(f"{text}." for text in troubles[0 if known else 1 :]), *slower])),
        record=f"{report['record']}, {count(len(report['launches']), 'profiled launches')}; --full shows every list of every rank",
    )


def brief(report: Mapping[str, Any]) -> tuple[Section, ...]:
    """The parts of a step by rank, then what takes most of the time on the first."""
    ranks = list(_ranks(report))
    if not ranks:
        bullets = tuple(bullet for _, rank in islice(_threads(report), 1) for bullet in _busiest(rank))
        return (Section(key="brief-1", title="", role="answer", content=(Bullets(items=bullets),)),) if bullets else ()
    blocks: tuple[Table | Bullets, ...] = (_parts(ranks[:MAX_RANKS], len(ranks)), Bullets(items=tuple(_largest(ranks[0][1]))))
    return tuple(Section(key=f"brief-{index}", title="", role="answer", content=(block,)) for index, block in enumerate(blocks, 1))


def _ranks(report: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The ranks that left whole steps, or a trace of operators or kernels, with their configuration."""
    for launch in report["launches"]:
        for rank in launch["ranks"]:
            if not rank["absent"] and sum(step["window_ns"] for step in windows_of(rank)):
                yield str(launch["configuration"]), rank


def _threads(report: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The traces that know threads only, with their configuration."""
    for launch in report["launches"]:
        yield from ((str(launch["configuration"]), rank) for rank in launch["ranks"] if not rank["absent"] and rank.get("threads"))


def _of_threads(where: str, rank: Mapping[str, Any]) -> str:
    busiest, whole = rank["threads"][0], rank["whole"]["window_ns"]
    share = percent(busiest["ns"] / whole) if whole else "none"
    return (
        f"{clipped(str(busiest['name']), MAX_NAME_LENGTH)} is busy in {share} of {_time(whole)} ({clipped(str(rank['file']), 40)}); "
        "computing, communication and idle time are unknown: the trace names neither operators nor kernels"
    )


def _busiest(rank: Mapping[str, Any]) -> Iterator[Bullet]:
    """The busiest threads, then the categories and names of events that take most of their time."""
    for what, key in (("thread", "threads"), ("category", "categories"), ("event", "operators")):
        for row in rank[key][:3]:
            name = clipped(str(row["name"]).removeprefix(f"{what} "), MAX_NAME_LENGTH)  # an unnamed thread is called by its number
            text = f"{what} {name} ({count(row['calls'], 'events')})"
            yield Bullet(title=_time(row["ns"]), text=text)


def _shares(rank: Mapping[str, Any]) -> dict[str, float]:
    steps = windows_of(rank)
    whole = sum(step["window_ns"] for step in steps)
    shares = {key: sum(step[key] for step in steps) / whole for key, _ in parts_of(rank)}
    hidden = hidden_share(rank)
    return shares if hidden is None else {**shares, HIDDEN: hidden}


def _step(rank: Mapping[str, Any]) -> float:
    """Seconds of a step on average, or of the trace."""
    steps = windows_of(rank)
    return float(sum(step["window_ns"] for step in steps)) / len(steps) / 1e9


def _headline(found: tuple[str, Mapping[str, Any]]) -> str:
    where, rank = found
    shares, names = _shares(rank), dict(parts_of(rank))
    largest = max(names, key=lambda key: shares[key])
    steps = count(len(rank["steps"]), "steps") if rank["steps"] else "no step marked"
    span = f"{'a step' if rank['steps'] else 'the trace'} of {reading(_step(rank), SECONDS)}"
    return f"{names[largest]} takes {percent(shares[largest])} of {span} at {where}, rank {rank['rank']} ({steps})"


def _parts(ranks: Sequence[tuple[str, Mapping[str, Any]]], total: int) -> Table:
    shares = [_shares(rank) for _, rank in ranks]
    names = {key: name for _, rank in ranks for key, name in parts_of(rank)}
    names |= {HIDDEN: "hidden"} if any(HIDDEN in share for share in shares) else {}
    names |= {"exposed_ns": "exposed"} if "exposed_ns" in names else {}
    shown = [key for key in (*dict(PARTS), HIDDEN) if key in names]
    scale = scale_for(SECONDS, [_step(rank) for _, rank in ranks])
    rows = tuple(
        (
            Words(text=clipped(str(rank.get("device") or where), 24)),
            int(rank["rank"]),
            Words(text=reading(_step(rank), SECONDS, scale).removesuffix(scale.after)),
            *(_percent(share.get(key)) for key in shown),
        )
        for (where, rank), share in zip(ranks, shares, strict=True)
    )
    what = "step" if any(rank["steps"] for _, rank in ranks) else "trace"
    heads = ("configuration", "rank", f"{what}, {scale.label}", *(f"{names[key]}, %" for key in shown))
    left = (f"{count(total - len(ranks), 'more ranks')}: --full",) if total > len(ranks) else ()
    notes = (*left, *((COVERED,) if HIDDEN in shown else ()))
    return Table(name="parts", heads=tuple(Head(text=text) for text in heads), rows=rows, stub=2, notes=notes)


def _percent(share: float | None) -> TableCell:
    return None if share is None else Words(text=percent(share).removesuffix(" %"))


def _largest(rank: Mapping[str, Any]) -> Iterator[Bullet]:
    """The kernels, else the operators, that take most of the time."""
    what, rows = ("kernel", rank["kernels"]) if rank["on_device"] and rank["kernels"] else ("operator", rank["operators"])
    for row in sorted(rows, key=lambda row: -row["ns"])[:MAX_NAMES]:
        calls = count(row["calls"], "calls")
        yield Bullet(title=reading(row["ns"] / 1e9, SECONDS), text=f"{what} {clipped(str(row['name']), MAX_NAME_LENGTH)} ({calls})")


def _traces(report: Mapping[str, Any]) -> Iterator[Line]:
    yield from (Line(label="traces", text=_not_kept(launch)) for launch in report["launches"] if launch.get("imported"))
    files = [f"{launch['folder']}/{rank['file']}" for launch in _own(report) for rank in launch["ranks"]]
    files += [f"{launch['folder']}/{part['file']}" for launch in report["launches"] for part in launch["nsys"] if part["file"]]
    if files:
        folders = {file.rpartition("/")[0] for file in files}
        where = f"in {folders.pop()}" if len(folders) == 1 else f"below {posixpath.commonpath(folders)}"
        yield Line(label="traces", text=f"{count(len(files), 'files')} {where}, for https://ui.perfetto.dev")


def _own(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The launches whose traces are in the record."""
    return [launch for launch in report["launches"] if not launch.get("imported")]


def _not_kept(launch: Mapping[str, Any]) -> str:
    names = list(dict.fromkeys(str(rank["file"]) for rank in launch["ranks"]))
    return f"{count(len(names), 'files')} ({launch['imported']}): {some([clipped(name, 40) for name in names], 3)}; not kept in the record"


def _troubles(report: Mapping[str, Any]) -> list[str]:
    """Why steps or traces are missing."""
    found = [
        f"{launch['configuration']}: {launch['status']}: {launch['reason']}" for launch in report["launches"] if launch["status"] != "ok"
    ]
    found += [line for launch in report["launches"] for line in lacking(launch)]
    return [*found, *(f"{rank['file']}: {rank['absent']}" for launch in report["launches"] for rank in launch["ranks"] if rank["absent"])]


def page(report: Mapping[str, Any]) -> Page:
    """The page of a record's profiled launches."""
    return Page(
        title=str(report["record"]),
        sections=(*brief(report), *_sections(report)),
        answer=answer(report),
        footer=(f"record: {report['record']}",),
        properties={"verb": "profile"},
    )


def _sections(report: Mapping[str, Any]) -> Iterator[Section]:
    for index, launch in enumerate(report["launches"], 1):
        head, *lines = launch_lines(launch, most=SHOWN)
        yield Section(key=f"profile-{index}", title=head, content=(Prose(text="\n".join(lines), weight="code"),))
    yield Section(key="charts", title="Charts", role="exhibit", content=lambda: _charts(report))
    if lines := list(_how_to_open(report)):
        yield Section(key="traces", title="Traces", content=(Prose(text="\n".join(lines), weight="code"),))


def _charts(report: Mapping[str, Any]) -> Blocks:
    """The parts of the mean step of each rank, for formats that show charts."""
    from fireassay.reports.charts.steps import profiled

    return profiled((str(launch["configuration"]), launch) for launch in report["launches"])


def _how_to_open(report: Mapping[str, Any]) -> Iterator[str]:
    traces = [f"{launch['folder']}/{rank['file']}" for launch in _own(report) for rank in launch["ranks"]]
    captures = [f"{launch['folder']}/{part['file']}" for launch in report["launches"] for part in launch["nsys"] if part["file"]]
    yield from (f"trace: {path}" for path in (*traces, *captures))
    if traces:
        yield "open it: https://ui.perfetto.dev (Open trace file), chrome://tracing, or with TensorBoard:"
        yield f"    pip install torch-tb-profiler && tensorboard --logdir {shlex.quote(traces[0].rpartition('/')[0])}"
    if captures:
        yield f"open it: nsys-ui {shlex.quote(captures[0])}"
