"""How do `fireassay.run` and the command line run an experiment with judging at hand?

The runner alone cannot decide whether an interval is narrow enough (`launches.precision`) or a launch was
disturbed (`noise.repeat`), so it receives functions that can.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fireassay.clock import Clock
    from fireassay.runners.experiment.progress import RunProgress
    from fireassay.spec.experiment import Experiment


def run(
    experiment: Experiment,
    *,
    folder: Path | None = None,
    root: Path = Path("records"),
    on_progress: Callable[[RunProgress], None] | None = None,
    clock: Clock | None = None,
) -> Path:
    """Execute an experiment and return the path of its sealed record.

    Args:
        experiment: what to run.
        folder: base of the workload's script; default: the working directory.
        root: parent of the record folder.
        on_progress: called several times a second.
        clock: default: the system clock.

    Raises:
        SpecError, EnvironmentLacks: it cannot be started; no record was made.
        WorkloadError: no launch succeeded; the record says why.
        Interrupted: stopped by a signal; `resume` continues.
        RecordError: the record can no longer be written; its content so far stays readable.
    """
    from fireassay.cli.support.interim_analysis import advice
    from fireassay.runners.experiment import run as base

    return base.run(experiment, folder=folder, root=root, on_progress=on_progress, clock=clock, advice=advice())


def resume(
    path: Path, *, force: bool = False, on_progress: Callable[[RunProgress], None] | None = None, clock: Clock | None = None
) -> Path:
    """Continue an interrupted record; see `fireassay.runners.experiment.run.resume`."""
    from fireassay.cli.support.interim_analysis import advice
    from fireassay.runners.experiment import run as base

    return base.resume(path, force=force, on_progress=on_progress, clock=clock, advice=advice())
