"""Which runs of a tracker did the record's training log to, and which values belong to each?

From the events `tracker_run` (`fireassay.instruments.tracker_runs`).  A run gets the values of its launches' configuration, and under their names
those of the whole record where the configuration has none; a run that several configurations share gets those of the whole record alone.
A record may come from a stranger: no address of it is ever opened, and whoever adds to a run first asks `foreign` whether it was the training's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from fireassay.metrics.metric import ALL
from fireassay.reports.exports.export import Subject
from fireassay.reports.exports.support import tracked
from fireassay.reports.exports.values import ValueRow

PREFIX: Final = "fireassay/"  # of the values in a run that has names of its own


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """A run that the training made."""

    run: str  # its id; of TensorBoard its folder
    about: dict[str, str]  # name, address, project, entity, as far as they are known
    launches: tuple[int, ...]
    begin_ns: int  # since 1970, of the first of these launches
    end_ns: int  # of the last
    rows: tuple[ValueRow, ...]

    @property
    def shown(self) -> str:
        """For messages."""
        name, address = self.about.get("name", ""), self.about.get("address", "")
        return f"{self.run}{f' ({name})' if name else ''}{f' at {address}' if address else ''}"

    @property
    def numbers(self) -> dict[str, float]:
        """Name -> number, as the run gets them."""
        return {f"{PREFIX}{name}": number for name, number in tracked.numbers(self.rows).items()}

    def foreign(self, begin_ns: int, end_ns: int | None) -> str:
        """Why a run of these times cannot be the training's; empty if it can."""
        if begin_ns <= self.end_ns and (end_ns is None or end_ns >= self.begin_ns):
            return ""
        return f"it was not written to while launch {self.launches[0]} ran"


def training_runs(subject: Subject, tracker: str) -> Iterator[TrainingRun]:
    """The runs of one tracker, by their first launch."""
    measured = subject.measured
    launches = {row["launch"]: row for row in measured.table("launches").iter_rows(named=True)}
    found: dict[str, tuple[dict[str, str], list[dict[str, Any]]]] = {}
    for launch, text in measured.table("events").filter(kind="tracker_run").sort("launch").select("launch", "detail").iter_rows():
        about = _read(text)
        if about.pop("tracker", "") == tracker and launch in launches and (run := about.pop("run", "")):
            rows = found.setdefault(run, (about, []))[1]
            rows += [launches[launch]] if launches[launch] not in rows else []
    for run, (about, rows) in found.items():
        keys = {row["configuration"] for row in rows}
        shown = (ALL, *(keys if len(keys) == 1 else ()))
        begins = [tracked.ns(row["begin_utc"]) for row in rows]
        yield TrainingRun(
            run=run,
            about=about,
            launches=tuple(row["launch"] for row in rows),
            begin_ns=min(begins),
            end_ns=max(begin + row["end_ns"] - row["begin_ns"] for begin, row in zip(begins, rows, strict=True)),
            rows=tuple({row.metric: row for key in shown for row in subject.values if row.configuration == key}.values()),
        )


def _read(text: str) -> dict[str, str]:
    try:
        detail = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return {str(name): value for name, value in detail.items() if isinstance(value, str)} if isinstance(detail, dict) else {}
