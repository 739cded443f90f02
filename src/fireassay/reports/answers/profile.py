"""What is the answer of a profile, on one screen?  Where the time of a step goes, rank by rank, and what takes most of it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fireassay.estimates.format import count, percent, reading, scale_for
from fireassay.reports.answering import shortened
from fireassay.reports.answers.changes import doubts
from fireassay.reports.page import Answer, Bullet, Bullets, Head, Line, Mark, Section, Table, Words
from fireassay.reports.page import Cell as TableCell
from fireassay.reports.rows.profile import PARTS, lacking, parts_of
from fireassay.units import SECONDS

MOST_RANKS: Final = 8
MOST_NAMES: Final = 5  # kernels or operators
LONGEST_NAME: Final = 60
SLOWER: Final = "profiled steps are slower than timed ones"


def answer(report: Mapping[str, Any]) -> Answer:
    """The largest part of a step, and where the traces are."""
    ranks, troubles = list(_ranks(report)), _troubles(report)
    return Answer(
        mark=Mark(word="profiled", tone="good") if ranks else Mark(word="nothing profiled", tone="open"),
        headline=_headline(ranks[0]) if ranks else (troubles or ["no step was kept"])[0],
        lines=(*_traces(report), doubts([*(f"{text}." for text in troubles[0 if ranks else 1 :]), *([f"{SLOWER}."] if ranks else [])])),
        record=f"{report['record']}, {count(len(report['launches']), 'profiled launches')}; --full shows every list of every rank",
    )


def brief(report: Mapping[str, Any]) -> tuple[Section, ...]:
    """The parts of a step by rank, then what takes most of the time on the first."""
    ranks = list(_ranks(report))
    if not ranks:
        return ()
    blocks: tuple[Table | Bullets, ...] = (_parts(ranks[:MOST_RANKS], len(ranks)), Bullets(items=tuple(_largest(ranks[0][1]))))
    return tuple(Section(key=f"brief-{index}", title="", role="answer", content=(block,)) for index, block in enumerate(blocks, 1))


def _ranks(report: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The ranks that left whole steps, with their configuration."""
    for launch in report["launches"]:
        for rank in launch["ranks"]:
            if not rank["absent"] and sum(step["window_ns"] for step in rank["steps"]):
                yield str(launch["configuration"]), rank


def _shares(rank: Mapping[str, Any]) -> dict[str, float]:
    whole = sum(step["window_ns"] for step in rank["steps"])
    return {key: sum(step[key] for step in rank["steps"]) / whole for key, _ in parts_of(rank)}


def _step(rank: Mapping[str, Any]) -> float:
    """Seconds of a step on average."""
    return float(sum(step["window_ns"] for step in rank["steps"])) / len(rank["steps"]) / 1e9


def _headline(found: tuple[str, Mapping[str, Any]]) -> str:
    where, rank = found
    shares = _shares(rank)
    largest = max(shares, key=lambda key: shares[key])
    name = dict(parts_of(rank))[largest]
    steps = count(len(rank["steps"]), "steps")
    return f"{name} takes {percent(shares[largest])} of a step of {reading(_step(rank), SECONDS)} at {where}, rank {rank['rank']} ({steps})"


def _parts(ranks: Sequence[tuple[str, Mapping[str, Any]]], total: int) -> Table:
    shares = [_shares(rank) for _, rank in ranks]
    names = {key: name for _, rank in ranks for key, name in parts_of(rank)}
    shown = [key for key, _ in PARTS if key in names]
    scale = scale_for(SECONDS, [_step(rank) for _, rank in ranks])
    rows = tuple(
        (
            Words(text=shortened(where, 24)),
            int(rank["rank"]),
            Words(text=reading(_step(rank), SECONDS, scale).removesuffix(scale.after)),
            *(_percent(share.get(key)) for key in shown),
        )
        for (where, rank), share in zip(ranks, shares, strict=True)
    )
    heads = ("configuration", "rank", f"step, {scale.label}", *(f"{names[key]}, %" for key in shown))
    left = (f"{count(total - len(ranks), 'more ranks')}: --full",) if total > len(ranks) else ()
    return Table(name="parts", heads=tuple(Head(text=text) for text in heads), rows=rows, stub=2, notes=left)


def _percent(share: float | None) -> TableCell:
    return None if share is None else Words(text=percent(share).removesuffix(" %"))


def _largest(rank: Mapping[str, Any]) -> Iterator[Bullet]:
    """The kernels, else the operators, that take most of the time."""
    what, rows = ("kernel", rank["kernels"]) if rank["on_device"] and rank["kernels"] else ("operator", rank["operators"])
    for row in sorted(rows, key=lambda row: -row["ns"])[:MOST_NAMES]:
        calls = count(row["calls"], "calls")
        yield Bullet(title=reading(row["ns"] / 1e9, SECONDS), text=f"{what} {shortened(str(row['name']), LONGEST_NAME)} ({calls})")


def _traces(report: Mapping[str, Any]) -> Iterator[Line]:
    files = [f"{launch['folder']}/{rank['file']}" for launch in report["launches"] for rank in launch["ranks"]]
    files += [f"{launch['folder']}/{part['file']}" for launch in report["launches"] for part in launch["nsys"] if part["file"]]
    if files:
        folders = {file.rpartition("/")[0] for file in files}
        where = f"in {folders.pop()}" if len(folders) == 1 else f"below {posixpath.commonpath(folders)}"
        yield Line(label="traces", text=f"{count(len(files), 'files')} {where}, for https://ui.perfetto.dev")


def _troubles(report: Mapping[str, Any]) -> list[str]:
    """Why steps or traces are missing."""
    found = [
        f"{launch['configuration']}: {launch['status']}: {launch['reason']}" for launch in report["launches"] if launch["status"] != "ok"
    ]
    found += [line for launch in report["launches"] for line in lacking(launch)]
    return [*found, *(f"{rank['file']}: {rank['absent']}" for launch in report["launches"] for rank in launch["ranks"] if rank["absent"])]
