"""How does the folder of a job with FIREASSAY_ATTACH=1 become a sealed record?  (`instruments/injected/own_job.py` says what it holds.)

Each start of the job is a launch; starts with other numbers of workers are further configurations. The rows are those that the hooks wrote,
with the launch's number filled in. The record takes the folder's place once it is sealed and whole.
The manifest's `observed` says what an experiment would have and this lacks: a random order, repetitions, one machine state for all.
Cannot tell: the exit code of the job; a launch counts as failed if a rank left with an exception, was killed, or was never seen.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fireassay.clock import Clock
from fireassay.errors import RecordError
from fireassay.importers.support.base import new_record, record_name
from fireassay.instruments import stuck
from fireassay.instruments.injected.own_job import ATTACHED, COMMAND, PLACE, START, script_of
from fireassay.instruments.recorder.clock_pings import boot_id
from fireassay.record import files
from fireassay.record.environment import capture
from fireassay.record.folder import RecordFolder, launch_row, write_launch
from fireassay.record.live.progress import read_progress
from fireassay.record.manifest import has_seal
from fireassay.record.messages import END_MARK
from fireassay.record.staging import staged
from fireassay.record.streams import read_stream
from fireassay.record.tables import TABLES
from fireassay.record.untrusted import memory_bound, paths
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import PlannedLaunch, plan

if TYPE_CHECKING:
    import pyarrow as pa

QUIET_S: Final = 120.0  # a worker on another host without a lock and without rows for so long counts as ended
MAX_FACTS: Final = 1 << 20
NUMBERS: Final = {"rank": 1 << 31, "incarnation": 1 << 31, "pid": 1 << 31, "begin_ns": 1 << 63, "begin_utc": 1 << 37}  # below these
LIMITS: Final = (
    "observed, not an experiment: the job's own starts in their own order",
    "no random order and no repetition in rounds, so that a drift of the machine is not told from the number of workers",
)


@dataclass(frozen=True, kw_only=True)
class Start:
    """One start of the job."""

    folder: Path
    workers: int
    places: tuple[Mapping[str, Any], ...]  # what its workers said of themselves

    @property
    def first(self) -> Mapping[str, Any]:
        """The place of its lowest rank that began first."""
        return min(self.places, key=lambda place: (place["incarnation"], place["rank"]))


def is_attached(path: Path) -> bool:
    """True if the folder holds a job's rows and no record yet."""
    return (path / ATTACHED / COMMAND).is_file() and not has_seal(path)


def seal_attached(path: Path, *, clock: Clock) -> Path:
    """Seal an ended job's folder as a record in its place.

    Raises:
        RecordError: the job still runs, the folder is damaged, or the record cannot be written; the rows stay as they are.
    """
    path = path.resolve()
    paths.refuse_all_but_plain_files(path)
    starts = sorted(_starts(path), key=lambda start: float(start.first["begin_utc"]))
    if not starts:
        raise RecordError(f"{path} holds no start of a job: no worker has begun. Is RANK set in its environment, as torchrun does?")
    for start in starts:
        if alive := [place for place in start.places if _runs(start.folder, place)]:
            who = ", ".join(f"rank {place['rank']} on {place['host']}" for place in alive[:4])
            raise RecordError(f"{path} is still being written by a running job ({who}). Wait for its end; `assay watch` shows it now.")
    with staged(path.parent) as staging, new_record(staging, _experiment(path, starts), clock, path.name) as record:
        _fill(record, starts)
        aside = path.with_name(f"{path.name}.rows")
        files.rename(path, aside)
        try:
            files.rename(record.path, path)
        except OSError:
            files.rename(aside, path)
            raise
        files.remove_tree(aside)
    return path


def _starts(path: Path) -> Iterator[Start]:
    for folder in sorted((path / ATTACHED).iterdir()):
        if match := START.fullmatch(folder.name):
            names = sorted(file.name for file in folder.iterdir() if PLACE.fullmatch(file.name))
            places = tuple(_about(path, f"{ATTACHED}/{folder.name}/{name}") for name in names)
            if places:
                yield Start(folder=folder, workers=int(match[1]), places=places)


def _about(path: Path, name: str) -> Mapping[str, Any]:
    kinds = {"rank": int, "incarnation": int, "pid": int, "host": str, "begin_ns": int, "begin_utc": float, "words": list, "folder": str}
    try:
        about = json.loads(paths.read(path, name, MAX_FACTS))
    except ValueError as error:
        raise RecordError(f"{path / name} is damaged: {error}. Restore it from a copy.") from None
    wrong = not isinstance(about, dict) or any(not isinstance(about.get(key), kind) for key, kind in kinds.items())
    if wrong or any(not 0 <= about[key] < most for key, most in NUMBERS.items()):
        raise RecordError(f"{path / name} is not as a worker wrote it. Restore it from a copy.")
    return dict(about)


def _runs(folder: Path, place: Mapping[str, Any]) -> bool:
    """True if the worker of this place may still write."""
    file = folder / f"place.rank={place['rank']}.inc={place['incarnation']}.json"
    with file.open("r+b") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            pass
    if boot_id() and boot_id() == place.get("boot_id"):
        return False  # locks of one machine are certain
    streams = list(folder.glob(f"*.rank={place['rank']}.inc={place['incarnation']}.pid={place['pid']}.arrows"))
    return not all(map(_has_ended, streams)) and time.time() - max(map(_written, streams), default=0.0) < QUIET_S


def _written(file: Path) -> float:
    return file.stat().st_mtime


def _has_ended(stream: Path) -> bool:
    with stream.open("rb") as opened:
        opened.seek(-min(len(END_MARK), opened.seek(0, os.SEEK_END)), os.SEEK_END)
        return opened.read() == END_MARK


def _experiment(path: Path, starts: Sequence[Start]) -> Experiment:
    command = starts[0].first
    words = [str(word) for word in command["words"]]
    script = script_of(words)
    after = words[words.index(script) + 1 :] if script else []
    module = script in words[1:] and words[words.index(script) - 1] == "-m"
    counts = Counter(start.workers for start in starts)
    return Experiment.model_validate(
        {
            "name": record_name(path.name, "attached", 0, 1),
            "workload": {"runner": "training", "script": f"-m {script}" if module else script or "job", "arguments": after},
            "factor": {"levels": sorted(counts)},
            "launches": {"per_configuration": max(counts.values())},
            "gates": {"efficiency": "none"},
        }
    )


def _fill(record: RecordFolder, starts: Sequence[Start]) -> None:
    planned = {(item.workers, item.block): item for item in plan(record.experiment) if item.role == "timed"}
    seen: Counter[int] = Counter()
    for number, start in enumerate(starts):
        slot = planned[start.workers, seen[start.workers]]
        seen[start.workers] += 1
        _launch(record, number, start, slot)
    hosts = sorted({str(place["host"]) for start in starts for place in start.places})
    if boot_id() and all(place.get("boot_id") == boot_id() for start in starts for place in start.places):  # sealed where it ran
        record.set_environment("before", capture(folder=Path(str(starts[0].first["folder"]))))
    record.note(observed={"by": "attach", "limits": list(LIMITS), "hosts": hosts, "job": starts[0].first.get("job", {})})
    record.finish("complete")


def _launch(record: RecordFolder, number: int, start: Start, planned: PlannedLaunch) -> None:
    """Copy a start's rows and write its launch."""
    import pyarrow as pa

    writer = record.writer(number)
    ends: dict[tuple[int, int], str] = {}  # (rank, incarnation) -> its error; "" for none
    last_ns, first_host = int(start.first["begin_ns"]), start.first["host"]
    for file in sorted(start.folder.glob("*.arrows")):
        table = file.name.partition(".")[0]
        if table not in TABLES:
            continue
        memory_bound.check_stream(file)
        for batch in read_stream(file).batches:
            at = batch.schema.get_field_index("launch")
            if at >= 0:
                column = pa.array([number] * batch.num_rows, batch.schema.field(at).type)
                batch = batch.set_column(at, batch.schema.field(at), column)
            writer.append_batch(table, batch)
            if table == "events":
                last_ns = max([last_ns, *_times(batch, first_host)])
                ends.update(_ends(batch))
        writer.flush()
    status, reason = _outcome(start, ends)
    if status != "ok":
        known = {place["rank"]: read_progress(start.folder / "progress" / f"rank={place['rank']}.bin") for place in start.places}
        ranks = {rank: progress for rank, progress in known.items() if progress is not None}
        reason = ". ".join(filter(None, (reason, stuck.places(record.path, number, ranks))))
    placement = json.dumps({"launcher": "none of assay", "hosts": sorted({str(place["host"]) for place in start.places})})
    row = launch_row(
        planned,
        launch=number,
        begin_ns=start.first["begin_ns"],
        end_ns=last_ns,
        begin_utc=datetime.fromtimestamp(float(start.first["begin_utc"]), UTC).isoformat(),
        status=status,
        reason=reason,
        restarts=max(int(place["incarnation"]) for place in start.places),
        placement=placement,
    )
    write_launch(writer, row, record.path)


def _times(batch: pa.RecordBatch, host: str) -> list[int]:
    return [row["ns"] for row in batch.select(["ns", "host"]).to_pylist() if row["host"] == host]


def _ends(batch: pa.RecordBatch) -> Iterator[tuple[tuple[int, int], str]]:
    for row in batch.select(["rank", "incarnation", "kind", "detail"]).to_pylist():
        if row["kind"] == "worker_end":
            error = ""
            with suppress(ValueError, AttributeError):  # of a stranger's rows
                error = str(json.loads(row["detail"] or "{}").get("error") or "")
            yield (row["rank"], row["incarnation"]), error


def _outcome(start: Start, ends: Mapping[tuple[int, int], str]) -> tuple[str, str]:
    """Status and reason."""
    last = {place["rank"]: place["incarnation"] for place in sorted(start.places, key=lambda place: int(place["incarnation"]))}
    missing = sorted(set(range(start.workers)) - set(last))
    if missing:
        return "failed", f"{len(missing)} of {start.workers} ranks were never seen, the first is rank {missing[0]}"
    for rank, incarnation in sorted(last.items()):
        if (rank, incarnation) not in ends:
            return "failed", f"rank {rank} was killed: its rows end without a last word"
        if error := ends[rank, incarnation]:
            return "failed", f"rank {rank} left with {error}"
    return "ok", ""
