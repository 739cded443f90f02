"""Did the ranks, and one worker, get the same contents for the same samples?

From digests of rows in the steps 0, 1, 2, 4, 8, ... (`fireassay.instruments.fingerprints.batch_contents`). A sample's contents are those of
the fetched batch and those of what modules were called with, each tensor for itself; by its id they are compared between launches.
Random augmentation gives equal ids other contents: then nothing that needs equal batches is compared.
Cannot tell: calls whose rows are not those of the batch, in its order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import polars as pl

from fireassay.frames.record_tables import RecordTables, effective_steps, once_per_record

BATCH, INPUT, CHANGE = "batch_contents", "input_contents", "input_change"
SAME_NOISE: Final = 1e-3  # of its largest element; a sum and its difference round
FEW: Final = 8  # samples that show whether contents are random
PART: Final = 0.1  # of a rank's samples: fewer other contents are no fault of the rank
Part = tuple[str, int, int]  # the called module, or "" for the batch as fetched; the tensor's place; elements of a row
Same = Literal["same", "different", "partly", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One sample in one step on one rank."""

    rank: int
    step: int
    parts: Mapping[Part, str]


@once_per_record
def told(measured: RecordTables) -> Mapping[int, Mapping[tuple[int, int], tuple[dict[str, Any], ...]]]:
    """launch -> (step, rank) -> what was recorded there, in order; the batches first."""
    rows = effective_steps(measured.table("fingerprints").filter(pl.col("what").is_in([BATCH, INPUT])))
    found: dict[int, dict[tuple[int, int], list[dict[str, Any]]]] = {}
    for launch, step, rank, text in rows.sort("what", maintain_order=True).select("launch", "step", "rank", "text").iter_rows():
        found.setdefault(launch, {}).setdefault((step, rank), []).append(json.loads(text))
    return {launch: {key: tuple(parts) for key, parts in of.items()} for launch, of in found.items()}


def likeness(measured: RecordTables, launch: int, workers: int) -> tuple[Same, bool]:
    """Whether the ranks of a launch got the same rows in every recorded step, and whether those were the same in all of these steps."""
    steps: dict[int, dict[int, str]] = {}
    for (step, rank), parts in told(measured).get(launch, {}).items():
        called = [part["tensors"] for part in parts if "module" in part] or [part["tensors"] for part in parts]
        steps.setdefault(step, {})[rank] = json.dumps(called)
    whole = [set(of.values()) for of in steps.values() if len(of) == workers]
    if not whole:
        return "unknown", False
    kinds = max(len(texts) for texts in whole)
    if kinds == 1 and len(whole) == 1:  # of one step it cannot be told from a benchmark's one batch
        return "same", True
    return "same" if kinds == 1 else "different" if kinds == workers else "partly", len(whole) > 1 and len(set.union(*whole)) == kinds


@once_per_record
def samples(measured: RecordTables) -> Mapping[int, Mapping[int, tuple[Seen, ...]]]:
    """launch -> sample -> where it was seen."""
    found: dict[int, dict[int, list[Seen]]] = {}
    for launch, of in told(measured).items():
        for (step, rank), parts in of.items():
            for id, contents in _by_id(parts):
                found.setdefault(launch, {}).setdefault(id, []).append(Seen(rank=rank, step=step, parts=contents))
    return {launch: {id: tuple(seen) for id, seen in of_id.items()} for launch, of_id in found.items()}


def parts(measured: RecordTables, launch: int) -> tuple[Part, ...]:
    """What is known of a launch's samples."""
    return tuple(sorted({part for entries in samples(measured).get(launch, {}).values() for seen in entries for part in seen.parts}))


def _by_id(parts: Sequence[dict[str, Any]]) -> Iterator[tuple[int, Mapping[Part, str]]]:
    batches = [part for part in parts if "module" not in part]
    ids = [id for batch in batches for id in batch.get("ids", ())]
    if not ids or any("ids" not in batch for batch in batches):
        return
    columns: dict[Part, list[str]] = {}
    for part in parts:
        for place, rows in enumerate(part["tensors"]):
            size = part.get("sizes", ())[place : place + 1]
            columns.setdefault((part.get("module", ""), place, *(size or [0])), []).extend(rows)
    aligned = {key: rows for key, rows in columns.items() if len(rows) == len(ids)}
    for index, id in enumerate(ids):
        yield id, {key: rows[index] for key, rows in aligned.items()}


@dataclass(frozen=True, kw_only=True)
class Other:
    """How the contents of the same samples differ between a launch and one worker's, in one part."""

    part: Part
    different: Mapping[int, int]  # rank -> samples with other contents
    compared: Mapping[int, int]  # rank -> samples
    steps: Mapping[int, int]  # rank -> steps in which they were compared

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks with other contents."""
        return tuple(rank for rank in sorted(self.compared) if self.different[rank] > PART * self.compared[rank])

    @property
    def equal(self) -> tuple[int, ...]:
        """The ranks whose contents are those of one worker, and not by chance: in several steps."""
        return tuple(rank for rank in sorted(self.compared) if not self.different[rank] and self.steps[rank] > 1)


def others(measured: RecordTables, launch: int, alone: int, *, until: int | None = None) -> tuple[Other, ...]:
    """The parts in which the contents of a launch's samples, up to a step, are not those of one worker's launch."""
    known, right = samples(measured).get(launch, {}), samples(measured).get(alone, {})
    counts: dict[Part, tuple[dict[int, int], dict[int, int], dict[int, set[int]]]] = {}
    for id in known.keys() & right.keys():
        for seen in known[id]:
            if until is not None and seen.step > until:
                continue
            for part, text in seen.parts.items():
                if texts := {other.parts[part] for other in right[id] if part in other.parts}:
                    different, compared, steps = counts.setdefault(part, ({}, {}, {}))
                    different[seen.rank] = different.get(seen.rank, 0) + (text not in texts)
                    compared[seen.rank] = compared.get(seen.rank, 0) + 1
                    steps.setdefault(seen.rank, set()).add(seen.step)
    every = (
        Other(part=part, different=different, compared=compared, steps={rank: len(of) for rank, of in steps.items()})
        for part, (different, compared, steps) in sorted(counts.items())
    )
    return tuple(other for other in every if other.ranks)


def same_rows(measured: RecordTables, launch: int, alone: int, until: int) -> bool:
    """True if all rows up to a step are one worker's, in whatever order (a collate function may sort them)."""
    first, second = (
        sorted(
            json.dumps([rows[index] for rows in part["tensors"] if len(rows) > index])
            for (step, _), parts in told(measured).get(each, {}).items()
            for part in parts
            if step <= until and "module" in part
            for index in range(len(part["tensors"][0]))
        )
        for each in (launch, alone)
    )
    return bool(first) and first == second


def drawn_alike(measured: RecordTables, launch: int, workers: int) -> str:
    """Where the random numbers of all ranks' samples come from, if their states are equal in every recorded step and samples are random."""
    steps: dict[int, set[str]] = {}
    ranks: dict[int, set[int]] = {}
    for (step, rank), parts in told(measured).get(launch, {}).items():
        steps.setdefault(step, set()).update(part.get("drawn", "") for part in parts if "module" not in part)
        ranks.setdefault(step, set()).add(rank)
    whole = [steps[step] for step, of in ranks.items() if len(of) == workers]
    kinds = {text.partition(" ")[0] for states in whole for text in states}
    if len(whole) < 2 or len(kinds) != 1 or any(len(states) != 1 for states in whole):
        return ""
    (kind,) = kinds
    return "" if kind == "global" and len(set.union(*whole)) == 1 else kind  # nothing draws from them


def between_ranks(measured: RecordTables, launch: int) -> tuple[Part, int, int] | None:
    """(part, other samples, compared samples) if ranks give the same ids other contents, though each keeps its own: an order of their own."""
    counts: dict[Part, tuple[int, int, int]] = {}
    for entries in samples(measured).get(launch, {}).values():
        for part in {part for seen in entries for part in seen.parts}:
            of_rank: dict[int, list[str]] = {}
            for seen in entries:
                if part in seen.parts:
                    of_rank.setdefault(seen.rank, []).append(seen.parts[part])
            if any(len(set(texts)) > 1 for texts in of_rank.values()):
                return None
            other, compared, kept = counts.get(part, (0, 0, 0))
            apart = len({texts[0] for texts in of_rank.values()}) > 1
            again = any(len(texts) > 1 for texts in of_rank.values())
            counts[part] = (other + apart, compared + (len(of_rank) > 1), kept + again)
    for part, (other, compared, kept) in sorted(counts.items()):
        if kept >= FEW and compared >= FEW and other > PART * compared:
            return part, other, compared
    return None


def repeats(measured: RecordTables, launch: int, part: Part) -> Literal["random", "fixed", "unknown"]:
    """Whether a sample that a launch saw again had the same contents."""
    again = [
        len({seen.parts[part] for seen in every}) > 1
        for entries in samples(measured).get(launch, {}).values()
        if len(every := [seen for seen in entries if part in seen.parts]) > 1
    ]
    return "random" if any(again) else "fixed" if len(again) >= FEW else "unknown"


def same_noise(measured: RecordTables, launch: int, workers: int) -> int:
    """The recorded steps in which the script added the same numbers to the batch of every rank; 0 if it did not in all, or added a constant."""
    rows = measured.table("fingerprints").filter((pl.col("launch") == launch) & (pl.col("what") == CHANGE))
    steps: dict[int, list[list[float]]] = {}
    for step, text in effective_steps(rows).sort("step", "rank").select("step", "text").iter_rows():
        steps.setdefault(step, []).append(json.loads(text))
    whole = [added for added in steps.values() if len(added) == workers]
    varied = len(whole) > 1 and not all(_near(whole[0][0], added[0]) for added in whole[1:])
    return len(whole) if varied and all(_near(added[0], other) for added in whole for other in added[1:]) else 0


def _near(first: Sequence[float], second: Sequence[float]) -> bool:
    return len(first) == len(second) and max(abs(a - b) for a, b in zip(first, second, strict=True)) <= SAME_NOISE * max(map(abs, first))


def words_of(part: Part) -> str:
    """A part in words."""
    module, place, _ = part
    if module.startswith("target of "):
        return f"the {module}"
    if module:
        return f"input {place + 1} of {module}"
    usually = ("inputs", "labels")
    return f"tensor {place + 1} of the batch{f', usually the {usually[place]}' if place < len(usually) else ''}"
