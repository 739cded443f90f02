"""How does the coordinator create, fill, resume and finish a record folder?

create() -> launch_folder(n), log_path(n), writer(n) ... -> finish("complete" | "failed")   sealed
-> finish("interrupted")           reopen() continues

How does the coordinator record its actions?  As rows of `launches` and `events`, in column order.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal

import tomli_w

from fireassay import __version__
from fireassay.clock import Clock
from fireassay.errors import RecordError
from fireassay.record import files, origin, seal
from fireassay.record.batch_writer import BatchWriter
from fireassay.record.declared import EVENTS, LAUNCHES, Table
from fireassay.record.live import heartbeat
from fireassay.record.manifest import hold, myself, release
from fireassay.record.reader import Record, open_record
from fireassay.record.secrets.redact import declare, redact_all, redact_environment, secret_values
from fireassay.record.tables import FORMAT_VERSION
from fireassay.record.unsealed import launch_folders, launch_name, read_launch
from fireassay.record.untrusted import paths
from fireassay.record.writer import StreamWriter
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import PlannedLaunch

begun: list[Path] = []  # records of this process, to be listed when it is stopped
sealed: list[Path] = []  # in this order; the command line exports them


class RecordFolder:
    """A record that this process is writing. Returned by `create` and `reopen`."""

    def __init__(self, path: Path, experiment: Experiment, manifest: dict[str, Any], *, sealed: bool = False) -> None:
        self.path = path
        self.experiment = experiment
        self.sealed = sealed
        self._manifest = manifest
        self._writers: dict[int, BatchWriter] = {}
        self._heartbeat: heartbeat.Heartbeat | None = None

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest as last written."""
        return self._manifest

    def launch_folder(self, launch: int) -> Path:
        """The folder for a launch's streams; created if missing."""
        return self._made(self.path / "streams" / launch_name(launch))

    def log_path(self, launch: int) -> Path:
        """The file for a launch's output; its folder is created if missing."""
        return self._made(self.path / "logs") / f"{launch_name(launch)}.log"

    def writer(self, launch: int) -> BatchWriter:
        """The coordinator's streams of a launch: the same writer on every call until it is closed."""
        writer_of_launch = self._writers.get(launch)
        if writer_of_launch is None or writer_of_launch.closed:
            writer_of_launch = self._writers[launch] = BatchWriter(self.launch_folder(launch), f"coordinator.pid={os.getpid()}")
        return writer_of_launch

    def set_environment(self, when: Literal["before", "after"], environment: dict[str, Any]) -> None:
        """Record the environment before the first or after the last launch in the manifest."""
        self._store(self._manifest | {"environment": self._manifest["environment"] | {when: environment}})

    def note(self, **entries: Any) -> None:
        """Write top-level entries of the manifest, such as `session`, `looks`, `looks_ended`.

        Raises:
            RecordError: the manifest could not be written.
        """
        self._store(self._manifest | entries)

    def beat(self, progress: Mapping[str, Any]) -> bool:
        """Tell whoever looks into the folder how far the run is; returns whether one of them asked it to stop."""
        if self._heartbeat is None and not self.sealed:
            with suppress(OSError):
                self._heartbeat = heartbeat.Heartbeat(self.path)
        if self._heartbeat is None:
            return False
        self._heartbeat.note(progress)
        return self._heartbeat.stop_requested

    def finished_launches(self) -> list[dict[str, Any]]:
        """The rows of the table `launches` so far, by launch number."""
        for writer in self._writers.values():
            writer.flush()
        tables = (read_launch(self.path, launch, "launches")[0] for launch in launch_folders(self.path))
        return [row for table in tables if table is not None for row in table.to_pylist()]

    def finish(self, state: Literal["complete", "failed", "interrupted"], reason: str = "") -> None:
        """End the experiment: seal a complete or failed record, leave an interrupted one open for `reopen`.

        Raises:
            RecordError: the disk is full or not writable; no measured data are lost, and `reopen` and `finish` can be retried.
        """
        if self.sealed:
            return
        for writer in self._writers.values():
            writer.close()
        ended = self._manifest | {"state": state, "reason": reason}
        try:
            if state != "interrupted":
                self._refuse_if_rows_were_lost(ended)
            if state == "interrupted":
                self._store(ended)
            else:
                self._seal(ended)
        finally:
            if self._heartbeat is not None:
                self._heartbeat.close()
                self._heartbeat = None
            release(self.path)

    def _refuse_if_rows_were_lost(self, ended: dict[str, Any]) -> None:
        """A record is not complete if the coordinator's rows did not reach the disk."""
        for writer in self._writers.values():
            if writer.error is not None:
                self._stay_interrupted(ended)
                raise files.explain(writer.error, self.path, "write the record")

    def _seal(self, ended: dict[str, Any]) -> None:
        try:
            self._manifest = seal.seal(self.path, ended)
        except (OSError, MemoryError) as error:
            self._stay_interrupted(ended)
            failed = error if isinstance(error, OSError) else OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
            raise files.explain(failed, self.path, "seal the record") from error
        except RecordError:  # an unreadable stream
            self._stay_interrupted(ended)
            raise
        self.sealed = True
        sealed.append(self.path)

    def _stay_interrupted(self, ended: dict[str, Any]) -> None:
        """After a failed sealing, free the space of the partial result and note it in the manifest if still possible."""
        if (self.path / "SEAL").exists():
            return
        with suppress(OSError, RecordError):
            files.remove_tree(self.path / f"tables{files.TEMPORARY}")
            self._store(ended | {"state": "interrupted", "reason": "the record could not be written"})

    def _made(self, folder: Path) -> Path:
        if self.sealed:
            raise RecordError(f"{self.path} is sealed; nothing can be added to it. Start a new experiment with `assay run`.")
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise files.explain(error, folder, "make the folder") from error
        return folder

    def _store(self, manifest: dict[str, Any]) -> None:
        manifest = manifest | {"origin": origin.mark(self.path, manifest)}
        try:
            files.replace(self.path / "manifest.json", seal.encode(manifest))
        except OSError as error:
            raise files.explain(error, self.path / "manifest.json", "write") from error
        self._manifest = manifest


def create(root: Path, experiment: Experiment, plan_signature: str, *, clock: Clock, name: str = "") -> RecordFolder:
    """Create a new record folder below `root`, which is created if missing. `name`: of the folder, which must not exist.

    Raises:
        RecordError: the root is a file or not writable, or the disk is full.
    """
    declare(experiment.secret_variables)
    now = clock.utc()
    try:
        root.mkdir(parents=True, exist_ok=True)
        identifier, path = _new_folder(root, f"{experiment.name}-{now:%Y%m%dT%H%M%SZ}")
        if name:
            path = path.rename(root / name)
    except OSError as error:
        raise files.explain(error, root, "create a record in", files.AGAIN) from error
    content, nulls = experiment_toml(experiment)
    manifest = {
        "format_version": FORMAT_VERSION,
        "assay_version": __version__,
        "id": identifier,
        "name": experiment.name,
        "created_utc": now.isoformat(timespec="seconds"),
        "state": "running",
        "reason": "",
        "plan_signature": plan_signature,
        "coordinator": myself(),
        "environment": {"before": None, "after": None},
        "nulls": nulls,
        **({"job": job} if (job := batch_job(os.environ)) else {}),
    }
    folder = RecordFolder(path, experiment, manifest)
    begun.append(path)
    try:
        (path / "streams").mkdir()
        hold(path)
        files.replace(path / "experiment.toml", content)
        folder._store(manifest)
    except OSError as error:
        raise files.explain(error, path, "create the record", files.AGAIN) from error
    return folder


def batch_job(environ: Mapping[str, str]) -> dict[str, str]:
    """The Slurm job around this process, by which it finds its record again when it is requeued; empty outside one."""
    names = {"job_id": "SLURM_JOB_ID", "cluster": "SLURM_CLUSTER_NAME"}
    found = {key: environ[name] for key, name in names.items() if environ.get(name)}
    return {"engine": "slurm", **found} if "job_id" in found else {}


def reopen(path: Path) -> RecordFolder:
    """Continue an interrupted record, or finish a sealing that a crash cut short.

    Raises:
        RecordError: not a record, or another process is still writing it.
    """
    record = open_record(path)
    _look_through(path)
    if record.sealed:
        seal.clear(path)  # a crash right after sealing may have left the streams
        return RecordFolder(path, record.experiment, dict(record.manifest), sealed=True)
    free = _take(path)
    record = open_record(path)  # reread: another process may have continued it before we got the lock
    owner = record.manifest["coordinator"]
    if not free or _is_written(path, record, owner):
        raise RecordError(f"{path} is still being written by process {owner['pid']} on {owner['host']}. Wait for it, or stop it first.")
    manifest = dict(record.manifest)
    manifest.pop("sealed", None)
    folder = RecordFolder(path, record.experiment, manifest)
    folder._store(manifest | {"state": "running", "reason": "", "coordinator": myself()})
    return folder


def _is_written(path: Path, record: Record, owner: Mapping[str, Any]) -> bool:
    """True if another process writes it. One on another host is watched for some seconds: it may have been killed just now."""
    me = myself()
    if record.manifest["state"] == "running" and owner["host"] != me["host"] and owner.get("boot_id") != me["boot_id"]:
        return heartbeat.read(path) is None or heartbeat.moves(path)
    return record.state == "running" and owner != me


def _look_through(path: Path) -> None:
    """Check an untrusted record before anything is written into it."""
    try:
        paths.refuse_all_but_plain_files(path)
    except OSError as error:
        raise files.explain(error, path, "go on with") from error


def _take(path: Path) -> bool:
    try:
        return hold(path)
    except OSError as error:
        raise files.explain(error, path, "go on with") from error


def experiment_toml(experiment: Experiment) -> tuple[bytes, list[str]]:
    """The experiment as TOML with secrets redacted, and the keys that are null against a non-null default."""
    content = experiment.model_dump(by_alias=True)
    content["workload"]["environment"] = redact_environment(content["workload"]["environment"])
    content = redact_all(content, secret_values({**os.environ, **experiment.workload.environment}))
    if experiment.serving is not None:
        del content["factor"]  # the loads are in [serving]
    nulls: list[str] = []
    if experiment.gates.efficiency is None:
        nulls.append("gates.efficiency")
    return tomli_w.dumps(_without_nulls(content)).encode(), nulls


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [_without_nulls(inner) for inner in value]
    return value


def _new_folder(root: Path, stem: str) -> tuple[str, Path]:
    """A new folder. mkdir itself is the test, so two coordinators never share one."""
    while True:
        identifier = secrets.token_hex(3)
        path = root / f"{stem}-{identifier}"
        try:
            path.mkdir()
        except FileExistsError:
            if not root.is_dir():
                raise
            continue
        return identifier, path


# ---- rows of the coordinator -----------------------------------------------------------------------------------------


# the outcome of a first attempt that succeeded, as far as a caller does not give it
_OUTCOME: Final = {"attempt": 0, "begin_utc": "", "status": "ok", "reason": "", "exit_code": None, "restarts": 0, "placement": "{}"}


def table_row(table: Table, **values: Any) -> tuple[Any, ...]:
    """A row in column order; columns without a value are null."""
    return tuple(values.get(name) for name in table.column_names)


def launch_row(planned: PlannedLaunch, **outcome: Any) -> dict[str, Any]:
    """A row of the table `launches`: the plan and its outcome."""
    row = {**_OUTCOME, **vars(planned), **outcome}
    return {name: row[name] for name in LAUNCHES.column_names}


def write_launch(writer: StreamWriter, row: Mapping[str, Any], path: Path) -> None:
    """Write a finished launch's row, and close the coordinator's streams of the launch.

    Raises:
        RecordError: the row could not be written.
    """
    writer.append("launches", table_row(LAUNCHES, **row))
    writer.close()
    check_written(writer, path)


def write_event(writer: StreamWriter, launch: int, kind: str, ns: int, detail: Mapping[str, Any], **rest: Any) -> None:
    """Append an event of the coordinator; it reaches the disk with the next flush."""
    event = {"launch": launch, "ns": ns, "host": platform.node(), "kind": kind, "detail": json.dumps(detail)}
    writer.append("events", table_row(EVENTS, **event, **rest))


def check_written(writer: StreamWriter, path: Path) -> None:
    """Check that everything the writer took has reached the disk. Raises RecordError: it has not."""
    if writer.error is not None:
        raise files.explain(writer.error, path, "write the record")
