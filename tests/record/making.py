"""Small records for tests: made by the real writer and folder, with rows known beforehand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fireassay.clock import FakeClock
from fireassay.record.folder import RecordFolder, create
from fireassay.spec.experiment import Experiment, Factor, Launches
from fireassay.spec.sections.workload import Workload

Row = tuple[Any, ...]


def experiment(name: str = "digits") -> Experiment:
    """Two configurations, two launches each: four planned launches."""
    return Experiment(name=name, workload=Workload(script="train.py"), factor=Factor(levels=(1, 2)), launches=Launches(per_configuration=2))


def launch_row(launch: int, *, slot: int | None = None, attempt: int = 0, status: str = "ok") -> Row:
    """A row of the table `launches`."""
    return (
        launch,
        launch if slot is None else slot,
        attempt,
        "workers=1",
        1,
        0,
        0,
        "timed",
        7,
        1000,
        2000,
        "2026-01-01T00:00:00+00:00",
        status,
        "" if status == "ok" else "made to fail",
        0,
        0,
        "{}",
    )


def step_row(launch: int, step: int, rank: int = 0) -> Row:
    """A row of the table `steps`: 100 ns long, of which 40 are the forward pass."""
    return (launch, rank, 0, step, step * 100, step * 100 + 100, None, 40, None, None, None, None, 8.0, "monotonic")


def sample_row(launch: int, step: int) -> Row:
    """A row of the table `samples` with two ids."""
    return (launch, 0, 0, 0, step, [2 * step, 2 * step + 1])


def unfinished(root: Path, *, launches: int = 2, steps: int = 5, name: str = "digits") -> RecordFolder:
    """A record under way: every launch has ended, nothing is sealed."""
    folder = create(root, experiment(name), "plan-1", clock=FakeClock())
    for launch in range(launches):
        writer = folder.writer(launch)
        for step in range(steps):
            writer.append("steps", step_row(launch, step))
            writer.append("samples", sample_row(launch, step))
        writer.append("launches", launch_row(launch))
        writer.close()
        folder.log_path(launch).write_text(f"output of launch {launch}\n")
    return folder


def sealed(root: Path, *, launches: int = 2, steps: int = 5, name: str = "digits") -> Path:
    """A complete record with a seal."""
    folder = unfinished(root, launches=launches, steps=steps, name=name)
    folder.finish("complete")
    return folder.path
