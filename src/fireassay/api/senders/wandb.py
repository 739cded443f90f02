"""How does Weights & Biases get a record?  As offline runs: a run for the record and one for each configuration, in one group.

No network, no login: `wandb sync FOLDER` uploads them when the user wants that.  A summary holds each metric as {value, low, high, unit,
status, admissible, ...}, below `invalid/` or `provisional/` where it may not be quoted; the history the times of steps; the config what the
experiment asked, the verdict and the digest; the files the report and `assay-report/1`.
Ids are made from the digest, so that W&B knows a second upload.  Runs are written aside and then moved, the record's last: what an
interruption leaves is no run, and a record whose own run is there is left alone.
A run in the same folder that the training itself made (`training_runs`) is continued: values below `fireassay/` in its summary, the verdict in
its config.  Cannot tell, without a server: how it merges the two; `wandb sync` uploads them in the order of their begin.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from fireassay.api.senders.sender import Sender, Sent, training_note
from fireassay.metrics.metric import ALL
from fireassay.reports.documents.json_object import encode
from fireassay.reports.exports.export import Subject
from fireassay.reports.exports.support import tracked
from fireassay.reports.exports.support.training_runs import PREFIX, TrainingRun, training_runs
from fireassay.reports.exports.values import UNSEALED
from fireassay.units import NS_PER_S

VALUES: Final = "fireassay-values.json"  # in a run of the training
RUN: Final = re.compile(r"(?:offline-)?run-(?P<at>\d{8}_\d{6})-(?P<id>.+)")
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
    added = [(run, _added(subject, run, folder)) for run in training_runs(subject, "wandb")]
    notes = tuple(training_note(run.shown, why) for run, why in added if why != "")
    new = new or any(why is None for _, why in added)
    return Sent(where=str(folder), new=new, notes=(*notes, *(("`wandb sync` uploads the folders offline-run-* in it.",) if new else ())))


def _added(subject: Subject, training: TrainingRun, folder: Path) -> str | None:
    """Write the verdict as a continuation of a run that the training made.  None: written; empty: it was there; else why not."""
    own = [(path, found) for path in folder.iterdir() if (found := RUN.fullmatch(path.name)) and found["id"] == training.run]
    begun = [int(datetime.strptime(found["at"], "%Y%m%d_%H%M%S").timestamp()) * NS_PER_S for _, found in own]  # wandb's local time
    if why := min((training.foreign(at, at + NS_PER_S) for at in begun), default="it is not in this folder. Export to the training's"):
        return why
    values = encode({"record": asdict(subject.head), "values": [asdict(row) for row in training.rows]})
    if any(path.joinpath("files", VALUES).is_file() and path.joinpath("files", VALUES).read_text() == values for path, _ in own):
        return ""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fireassay-") as aside, _offline():
        _continue(subject, training, values, Path(aside))
        for path in Path(aside, "wandb").glob("offline-run-*"):
            path.rename(folder / path.name)
    return None


def _continue(subject: Subject, training: TrainingRun, values: str, folder: Path) -> None:
    import wandb

    with wandb.init(
        project=training.about.get("project"),
        entity=training.about.get("entity"),
        id=training.run,
        resume="allow",
        config=tracked.facts(subject.head),
        dir=str(folder),
        settings=wandb.Settings(**SETTINGS),
    ) as live:
        live.summary.update({f"{PREFIX}{tracked.marked(row.metric, row.standing)}": asdict(row) for row in training.rows})
        _save(live, VALUES, values)


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
            _save(live, name, content)


def _save(live: Any, name: str, content: str) -> None:
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
