"""What tests of imported timings share: the files that the tools wrote, how they are imported, and their times."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fireassay.clock import FakeClock
from fireassay.estimates.estimate import Estimate, Value
from fireassay.frames.record_data import RecordData, from_record
from fireassay.importers.support.base import Imported
from fireassay.importers.timings.support.importing import import_timings, recognised
from fireassay.record.reader import open_record
from fireassay.verdict.judge import Judgement, judge

FILES = Path(__file__).parent / "files"
TOOLS = {
    "pytest_benchmark": ("pytest_benchmark.json", "pytest_benchmark_saved.json", "pytest_benchmark_1.json"),
    "pyperf": ("pyperf.json", "pyperf_one.json"),
    "hyperfine": ("hyperfine.json", "hyperfine_parameters.json"),
    "google_benchmark": ("google_benchmark.json", "google_benchmark_aggregates.json"),
    "asv": ("asv.json", "asv_medians.json"),
}
EVERY = [(tool, file) for tool, names in TOOLS.items() for file in names]


def imported(root: Path, *files: Path | str, tool: str = "") -> tuple[Imported, ...]:
    paths = [FILES / file for file in files]
    return import_timings(tool or recognised(paths), paths, root, clock=FakeClock())


def one(root: Path, *files: Path | str) -> RecordData:
    (made,) = imported(root, *files)
    return from_record(open_record(made.path))


def times(measured: RecordData) -> dict[str, Value]:
    results: Judgement = judge(measured)
    return {name.removeprefix("benchmark="): value for name, value in results.results["trial_time"].items()}


def value_of(found: Value) -> float:
    assert isinstance(found, Estimate)
    return found.value


def changed(path: Path, file: str, change: Callable[[dict[str, Any]], object]) -> Path:
    document = json.loads((FILES / file).read_text())
    change(document)
    path.write_text(json.dumps(document))
    return path
