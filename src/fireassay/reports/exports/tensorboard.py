"""How does TensorBoard show a record?  As event files: a run for the record and one for each configuration.

A scalar for each value and each of its bounds, at step 0, with its unit, verdict and digest as the tag's description; a curve for the steps
of each launch; the verdict and everything that is not measured as a text; the configurations in the HParams tab, with status and digest.
A folder that the training itself wrote to (`training_runs`) gets a file with the verdict and its values, below `fireassay/`.
Scalars have 32 bits: TensorBoard's default reader drops others without a word (tensorboard/data/server/data_compat.rs), so the description
states the number itself.  Names: `fireassay.reports.exports.support.tracked`.

An event file is a sequence of TFRecords (length, checksum, content, checksum), each an `Event`.  Messages and field numbers:
tensorboard/compat/proto/{event,summary,tensor}.proto and plugins/hparams/{api,plugin_data}.proto of TensorBoard 2.21; the checksum is
CRC-32C, masked (tensorflow/core/lib/io/record_writer.h).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

import numpy as np

from fireassay.metrics.metric import ALL
from fireassay.reports.exports.export import Added, Export, Exported, Subject
from fireassay.reports.exports.support import tracked
from fireassay.reports.exports.support.protobuf import block, double, text, whole
from fireassay.reports.exports.support.training_runs import PREFIX, TrainingRun, training_runs
from fireassay.reports.exports.values import Head, ValueRow
from fireassay.units import NS_PER_S

FLOAT, STRING = 1, 7  # tensorboard.DataType
SCALAR, TENSOR = 1, 2  # tensorboard.DataClass
TEXT_HPARAM: Final = 1  # tensorboard.hparams.DataType
SUCCESS: Final = 1  # tensorboard.hparams.Status
EVENTS: Final = re.compile(r"events\.out\.tfevents\.(\d{1,12})\.")  # when it was begun, in seconds since 1970
SHOWN: Final = ("status", "standing", "digest")  # of the record, in the HParams tab


def files(subject: Subject) -> Exported:
    """The event files, one in each run's folder."""
    at = tracked.ns(subject.head.created_utc) / NS_PER_S
    runs = tuple(tracked.runs(subject))
    name = f"events.out.tfevents.{int(at):010d}.fireassay"
    made: dict[str, bytes] = {}
    for run in runs:
        whole_record = run.configuration == ALL
        summaries = (*(_experiment(subject, runs) if whole_record else ()), *_session(run, subject.head), *_scalars(run.rows, subject.head))
        events = (
            _event(at, file_version="brain.Event:2"),
            *(_event(at, summary=one) for one in summaries),
            *_curves(run, at, subject.head),
        )
        file = name if whole_record else f"{_folder(run.title)}/{name}"
        made[file if file not in made else f"{len(made)} {file}"] = b"".join(map(_record, events))
    return Exported(files=made, added=tuple(_added(run, at, subject.head) for run in training_runs(subject, "tensorboard")))


def _added(run: TrainingRun, at: float, head: Head) -> Added:
    """Another event file in a folder that the training wrote to: TensorBoard shows the files of a folder as one run, and reads this one last."""
    summaries = (_text(f"{PREFIX}verdict", tracked.note(head)), *_scalars(run.rows, head, PREFIX))
    events = (_event(at, file_version="brain.Event:2"), *(_event(at, summary=one) for one in summaries))

    def foreign(names: Iterable[str]) -> str:
        begun = [int(match[1]) * NS_PER_S for match in map(EVENTS.match, names) if match and ".fireassay" not in match.string]
        return min((run.foreign(begin, begin + NS_PER_S) for begin in begun), default="it holds no event file")

    name = f"events.out.tfevents.9999999999.fireassay.{_folder(head.record)}"
    return Added(folder=run.run, name=name, content=b"".join(map(_record, events)), foreign=foreign)


def _folder(title: str) -> str:
    """A run's name, which is its folder's, without what a file system or TensorBoard takes for something else."""
    return re.sub(r"[^\w=+.,@ -]", "_", title).strip(". ")[:200] or "_"


# ---- what is shown ---------------------------------------------------------------------------------------------------


def _scalars(rows: Iterable[ValueRow], head: Head, prefix: str = "") -> Iterator[bytes]:
    for row in rows:
        for tag, number in tracked.numbers([row]).items():
            yield _scalar(
                f"{prefix}{tag}", number, f"{number!r} {row.unit}: {row.title}, {_worth(row)}; record SHA-256 {head.digest}. {row.method}"
            )


def _worth(row: ValueRow) -> str:
    """The verdict on a value, and its interval's confidence."""
    sure = "" if row.confidence is None else f", interval of {row.confidence:.0%} confidence"
    return f"{row.status}{f', {row.standing} ({row.reason})' if row.standing else ''}{sure}"


def _curves(run: tracked.Run, at: float, head: Head) -> Iterator[bytes]:
    for curve in run.curves:
        tag = f"{tracked.marked(tracked.STEP_TIME, head.standing)}/launch {curve.launch}"
        said = f"seconds of each step, as measured, without an interval; {head.status}; record SHA-256 {head.digest}"
        for step, seconds in zip(curve.steps, curve.seconds, strict=True):
            yield _event(at, summary=_scalar(tag, seconds, said), step=step)
            said = ""  # the first is enough


def _experiment(subject: Subject, runs: Sequence[tracked.Run]) -> Iterator[bytes]:
    """The verdict, what every run is compared by, and the settings."""
    head = subject.head
    labels = dict.fromkeys(name for run in runs for name in run.labels)
    tags = dict.fromkeys(tag for run in runs for tag in tracked.numbers(run.rows))
    infos = [block(4, text(1, name), whole(4, TEXT_HPARAM)) for name in (*labels, *SHOWN)]
    metrics = [block(5, block(1, text(2, tag))) for tag in tags]
    yield _hparams("experiment", block(2, text(1, tracked.note(head)), text(6, head.name), *infos, *metrics))
    yield _text("fireassay/verdict", tracked.note(head))
    why = ((row.metric, row.configuration, f"{row.standing}: {row.reason}") for row in subject.values if row.value is None)
    yield _text("fireassay/not measured", _markdown(("metric", "configuration", "why"), why))
    yield _text("fireassay/experiment", _markdown(("key", "value"), tracked.settings(subject.measured.experiment).items()))


def _session(run: tracked.Run, head: Head) -> Iterator[bytes]:
    """A row of the HParams tab."""
    if run.configuration == ALL and not any(row.value is not None for row in run.rows):
        return
    at = tracked.ns(head.created_utc) / NS_PER_S
    shown: Mapping[str, str] = {**run.labels, **{name: str(getattr(head, name)) for name in SHOWN}}
    values = [block(1, text(1, name), block(2, text(3, value))) for name, value in shown.items()]
    yield _hparams("session_start_info", block(3, *values, text(4, run.configuration), double(5, at)))
    yield _hparams("session_end_info", block(4, whole(1, SUCCESS), double(2, at)))


def _markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table for the text tab, which sanitises the HTML that it makes of it."""
    plain = ([re.sub(r"[|`<\s]+", " ", cell) for cell in row] for row in (heads, ["---"] * len(heads), *rows))
    return "\n".join(f"| {' | '.join(row)} |" for row in plain)


# ---- messages --------------------------------------------------------------------------------------------------------


def _scalar(tag: str, number: float, description: str) -> bytes:
    metadata = block(9, block(1, text(1, "scalars")), text(3, description), whole(4, SCALAR))
    return block(1, text(1, tag), metadata, _tensor(number))


def _tensor(number: float) -> bytes:
    with np.errstate(over="ignore"):  # beyond 32 bits is shown as infinite
        return block(8, whole(1, FLOAT), block(2), block(5, np.float32(number).tobytes()))


def _text(tag: str, content: str) -> bytes:
    metadata = block(9, block(1, text(1, "text")), whole(4, TENSOR))
    return block(1, text(1, tag), metadata, block(8, whole(1, STRING), block(2), text(8, content)))


def _hparams(what: str, content: bytes) -> bytes:
    """A message of the plugin, whose tensor says nothing."""
    metadata = block(9, block(1, text(1, "hparams"), block(2, content)), whole(4, TENSOR))
    return block(1, text(1, f"_hparams_/{what}"), metadata, _tensor(0.0))


def _event(at: float, *, file_version: str = "", summary: bytes = b"", step: int = 0) -> bytes:
    content = text(3, file_version) if file_version else block(5, summary)
    return double(1, at) + whole(2, step) + content


def _record(content: bytes) -> bytes:
    """A TFRecord."""
    length = struct.pack("<Q", len(content))
    return length + _masked(length) + content + _masked(content)


def _masked(content: bytes) -> bytes:
    crc = 0xFFFFFFFF
    table = _table()
    for byte in content:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF)


@cache
def _table() -> tuple[int, ...]:
    """CRC-32C (Castagnoli), a byte at a time."""

    def entry(value: int) -> int:
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        return value

    return tuple(map(entry, range(256)))


EXPORT = Export(
    name="tensorboard",
    title="TensorBoard",
    summary="event files: scalars with bounds, step curves, HParams, the verdict as a text",
    files=files,
)
