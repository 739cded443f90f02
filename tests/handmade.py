"""Records written down by hand, row by row, so that a test's expected value can be worked out in its comment.

made = Handmade(levels=(1, 2), blocks=2)
number = made.launch(workers=2, block=0, wall_s=10.0)
made.steps(number, rank=0, seconds=[1.0, 1.0], items=8)
made.measured()
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from fireassay.frames.record_data import RecordData
from fireassay.record.tables import TABLES
from fireassay.spec.experiment import Experiment, Factor, Gates, Launches, Quality, Scaling
from fireassay.spec.plan import configuration_name
from fireassay.spec.sections.carbon import Carbon
from fireassay.spec.sections.energy import Energy
from fireassay.spec.sections.prices import Prices
from fireassay.spec.sections.workload import Workload
from tests.builders import frame

S = 1_000_000_000


class Handmade:
    """Rows of a record; `measured()` gives it to the metrics."""

    def __init__(
        self,
        *,
        levels: tuple[int, ...] = (1, 2),
        blocks: int = 2,
        quality: Quality | None = None,
        prices: float | Prices | None = None,
        gates: Gates | None = None,
        scaling: Scaling | None = None,
        energy: Energy | None = None,
        carbon: Carbon | None = None,
    ) -> None:
        self.experiment = Experiment(
            name="handmade",
            workload=Workload(script="train.py"),
            factor=Factor(levels=levels),
            launches=Launches(per_configuration=blocks),
            quality=quality,
            prices=prices
            if prices is None or isinstance(prices, Prices)
            else Prices(usd_per_worker_hour=prices, as_of=date(2026, 1, 1), source="test"),
            gates=gates or Gates(),
            scaling=scaling or Scaling(),
            energy=energy or Energy(),
            carbon=carbon,
        )
        self.rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
        self.begin: dict[int, int] = {}
        self.manifest: dict[str, Any] = {"environment": {"before": {}, "after": {}}, "reason": ""}

    def launch(
        self, *, workers: int, block: int = 0, wall_s: float = 10.0, role: str = "timed", status: str = "ok", reason: str = ""
    ) -> int:
        """A launch that begins at 1000 s times its number. Gives its number."""
        number = len(self.rows["launches"])
        begin = self.begin[number] = number * 1000 * S
        self.rows["launches"].append(
            (
                number,
                number,
                0,
                configuration_name(workers),
                workers,
                block,
                0,
                role,
                1,
                begin,
                begin + round(wall_s * S),
                "2026-01-01T00:00:00Z",
                status,
                reason,
                0,
                0,
                "{}",
            )
        )
        return number

    def steps(
        self,
        number: int,
        *,
        rank: int = 0,
        seconds: Sequence[float],
        first: int = 0,
        start_s: float = 0.0,
        incarnation: int = 0,
        items: float | None = None,
        checkpoint_s: float | None = None,
        phases_s: Mapping[str, float] | None = None,
    ) -> None:
        """Consecutive steps of one rank, the first one `start_s` after the launch began."""
        now = self.begin[number] + round(start_s * S)
        named = phases_s or {}
        phases = [round(named[p] * S) if p in named else None for p in ("data", "forward", "backward", "optimizer")]
        pause = None if checkpoint_s is None else round(checkpoint_s * S)
        for place, length in enumerate(seconds):
            end = now + round(length * S)
            self.rows["steps"].append((number, rank, incarnation, first + place, now, end, *phases, pause, None, items, "monotonic"))
            now = end

    def scores(
        self, number: int, scores: Iterable[float], *, metric: str = "accuracy", clusters: Sequence[str | None] | None = None
    ) -> None:
        """Scores of the examples 0, 1, 2 ..."""
        for example, score in enumerate(scores):
            cluster = clusters[example] if clusters is not None else None
            self.rows["examples"].append((number, 0, 0, metric, str(example), None, None, float(score), cluster))

    def samples(self, number: int, ids: Sequence[int], *, rank: int = 0, epoch: int = 0, step: int = 0, incarnation: int = 0) -> None:
        """The sample ids of one rank in one step."""
        self.rows["samples"].append((number, rank, incarnation, epoch, step, list(ids)))

    def fingerprint(self, number: int, what: str, value: float | str, *, rank: int = 0, step: int = 0, incarnation: int = 0) -> None:
        """A number or a hash."""
        text = value if isinstance(value, str) else None
        number_value = None if isinstance(value, str) else float(value)
        self.rows["fingerprints"].append((number, rank, incarnation, step, what, number_value, text))

    def event(
        self,
        number: int,
        kind: str,
        at_s: float,
        *,
        rank: int | None = None,
        incarnation: int | None = None,
        duration_s: float | None = None,
        step: int | None = None,
        value: float | None = None,
        detail: Mapping[str, Any] | None = None,
        host: str = "host",
    ) -> None:
        """Something that happened `at_s` after the launch began."""
        duration = None if duration_s is None else round(duration_s * S)
        at = self.begin[number] + round(at_s * S)
        self.rows["events"].append((number, at, duration, host, rank, incarnation, kind, step, value, json.dumps(detail or {})))

    def reading(
        self, number: int, device: str, counter: str, value: float, *, at_s: float = 0.0, unit: str = "s", method: str = "counter"
    ) -> None:
        """A counter reading."""
        at = self.begin[number] + round(at_s * S)
        self.rows["telemetry"].append((number, at, "host", device, counter, float(value), unit, method))

    def measured(self, *, state: str = "complete", sealed: bool = True) -> RecordData:
        """The record as metrics see it."""
        tables = {name: frame(name, rows) for name, rows in self.rows.items()}
        return RecordData(experiment=self.experiment, manifest=self.manifest, state=state, sealed=sealed, tables=tables)
