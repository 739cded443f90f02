"""How does Weights & Biases get a record?  As offline runs: a run for the record and one for each configuration, in one group.

No network, no login: `wandb sync FOLDER` uploads them when the user wants that.  A summary holds each metric as {value, low, high, unit,
status, admissible, ...}, below `invalid/` or `provisional/` where it may not be quoted; the history the times of steps; the config what the
experiment asked, the verdict and the digest; the files the report and `assay-report/1`.
Ids are made from the digest, so that W&B knows a second upload.  Runs are written aside and then moved, the record's last: what an
interruption leaves is no run, and a record whose own run is there is left alone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final

from fireassay.api.senders.sender import Sender, Sent
from fireassay.metrics.metric import ALL
from fireassay.reports.exports.export import Subject
from fireassay.reports.exports.support import tracked
from fireassay.reports.exports.values import UNSEALED

OWN: Final = {"WANDB_MODE": "offline", "WANDB_ERROR_REPORTING": "false", "WANDB_SILENT": "true"}
SETTINGS: Final = {  # nothing of this machine or of the working directory
    "mode": "offline",
    "reinit": "create_new",  # a run of the user's own goes on
    "console": "off",
    "silent": True,
    "disable_git": True,
    "save_code": False,
    "x_disable_stats": True,
    "x_disable_meta": True,
    "x_disable_machine_info": True,
    "x_save_requirements": False,
}


def send(subject: Subject, _: Path, destination: str) -> Sent:
    """Raises what wandb raises, and OSError."""
    folder = Path(destination or ".").absolute() / "wandb"
    runs = {_id(subject, run.configuration): run for run in tracked.runs(subject)}
    new = not any(folder.glob(f"offline-run-*-{next(iter(runs))}"))
    if new:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fireassay-") as aside, _offline():
            for made, run in runs.items():
                _write(subject, run, made, Path(aside))
            for made in reversed(runs):
                _place(made, Path(aside, "wandb"), folder)
    return Sent(where=str(folder), new=new, notes=("`wandb sync` uploads the folders offline-run-* in it.",) if new else ())


def _place(made: str, aside: Path, folder: Path) -> None:
    for old in folder.glob(f"offline-run-*-{made}"):  # of an interrupted export
        shutil.rmtree(old)
    for path in aside.glob(f"offline-run-*-{made}"):
        path.rename(folder / path.name)


def _id(subject: Subject, configuration: str) -> str:
    head = subject.head
    return hashlib.sha256(f"{head.record if head.digest == UNSEALED else head.digest}/{configuration}".encode()).hexdigest()[:16]


@contextmanager
def _offline() -> Iterator[None]:
    """Whatever the user's environment says: a key is not needed and not read."""
    before = _replaced(OWN)
    try:
        yield
    finally:
        _replaced(before)


def _replaced(by: Mapping[str, str]) -> dict[str, str]:
    """W&B's variables before they were replaced."""
    before = {name: value for name, value in os.environ.items() if name.startswith("WANDB_")}
    for name in before:
        del os.environ[name]
    os.environ.update(by)
    return before


def _write(subject: Subject, run: tracked.Run, made: str, folder: Path) -> None:
    import wandb

    head = subject.head
    with wandb.init(
        project=subject.options.get("project") or "fireassay",
        id=made,
        name=run.title,
        group=head.record,
        job_type=head.kind,
        notes=tracked.note(head),
        tags=[word for word in (head.status, head.standing) if word],
        config={"configuration": run.configuration, **run.labels, **tracked.facts(head), **_asked(subject, run)},
        dir=str(folder),
        settings=wandb.Settings(**SETTINGS),
    ) as live:
        for step, values in _steps(run, head.standing):
            live.log(values, step=step)
        live.summary.update({tracked.marked(row.metric, row.standing): asdict(row) for row in run.rows})
        for name, content in tracked.files(run, subject).items():
            Path(live.dir, name).write_text(content, encoding="utf-8")
            live.save(f"{live.dir}/{name}", base_path=live.dir, policy="end")


def _asked(subject: Subject, run: tracked.Run) -> dict[str, str]:
    return tracked.settings(subject.measured.experiment) if run.configuration == ALL else {}


def _steps(run: tracked.Run, standing: str) -> list[tuple[int, dict[str, float]]]:
    """The history: by step, because W&B wants them to ascend."""
    rows: dict[int, dict[str, float]] = {}
    for curve in run.curves:
        name = f"{tracked.marked(tracked.STEP_TIME, standing)}/launch_{curve.launch}"
        for step, seconds in zip(curve.steps, curve.seconds, strict=True):
            rows.setdefault(step, {})[name] = seconds
    return sorted(rows.items())


SENDER = Sender(
    name="wandb",
    title="Weights & Biases",
    summary="offline runs for `wandb sync`: summaries with bounds, config, step curves, the report",
    options={"project": "name of the project (fireassay)"},
    needs="wandb",
    extra="wandb",
    send=send,
)
