"""Does a record's experiment give the same numbers here and now, and what differs before it is run again?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fireassay.api import experiment_run
from fireassay.api.experiment_run import Progress
from fireassay.api.sides import Watch, days, refuse_itself, side, unwatched, whole
from fireassay.api.trust import refuse_foreign
from fireassay.clock import SystemClock
from fireassay.errors import RecordError, refuse
from fireassay.frames.record_data import RecordData, from_record
from fireassay.launchers.support import interpreter
from fireassay.printable import remark
from fireassay.record import environment
from fireassay.record.secrets.redact import secret_values
from fireassay.runners.experiment.script import changed_file, script_identity, with_secrets
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import plan
from fireassay.verdict.comparison.comparability import differences_now
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.types import Mismatch, Side
from fireassay.verdict.reproduction import Reproduction, another_experiment, reproduction

MayRun = Callable[[Path, Experiment, Path], None]  # of a record, its experiment and the folder of its code
VERBS: Final = {"calls": "time", "collectives": "comm", "evaluation": "evaluate", "serving": "load"}  # others: run


def refuse_imported(measured: RecordData, name: str) -> None:
    """Refuse an imported record: assay does not have the program that made it."""
    if measured.foreign is not None:
        profile = measured.experiment.profile
        verb = "profile" if profile is not None and profile.only else VERBS.get(measured.kind.name, "run")
        raise RecordError(
            f"{name} was imported from {measured.foreign.get('title')}, so assay cannot run it again. Measure the same with `assay {verb}`, "
            "then compare the two: assay reproduce RECORD --against OTHER."
        )


def again(measured: RecordData) -> Experiment:
    """The experiment with the same seeds and as many blocks as were made, its secrets taken from this environment."""
    return with_secrets(fixed(measured))


def fixed(measured: RecordData) -> Experiment:
    """The experiment with a fixed number of blocks: an adaptive one ends where the record's did."""
    experiment = measured.experiment
    blocks = len(set(measured.timed["block"].to_list())) or experiment.launches.per_configuration
    if experiment.launches.adaptive:
        launches = experiment.launches.model_copy(update={"per_configuration": blocks, "precision": None, "budget_s": None})
        experiment = experiment.model_copy(update={"launches": launches})
    return experiment


def script_folder(measured: RecordData, given: Path | None) -> Path:
    """The folder of the script: the given one, as recorded, or the working directory."""
    if given is not None:
        return given
    recorded = Path(str(recorded_script(measured).get("folder") or "."))
    candidates = (recorded, Path.cwd())
    return next((folder for folder in candidates if script_identity(measured.experiment, folder)["sha256"] is not None), Path.cwd())


def recorded_script(measured: RecordData) -> dict[str, object]:
    """Which script was measured, as recorded."""
    return dict(measured.before.get("script") or {})


def changed_script(measured: RecordData, folder: Path, *, force: bool) -> str:
    """The path of the script if it has changed since, else "".

    Raises:
        SpecError: it has changed, which makes another experiment, and nobody insists.
    """
    then, now = recorded_script(measured), script_identity(measured.experiment, folder)
    if then.get("sha256") is None or now["sha256"] is None:
        return ""  # the runner refuses a missing script with its path
    changed = str(now["path"]) if then["sha256"] != now["sha256"] else changed_file(measured.manifest.get("environment"), now)
    if not changed:
        return ""
    if not force:
        raise refuse(
            "workload.script",
            f"{changed}, changed since the record was made",
            "the script as it was measured",
            "Give the folder of the old code with --folder, or run the changed script with --force.",
            source="the record to reproduce",
        )
    return changed


def reproduce(
    record: Path, root: Path, *, folder: Path | None = None, force: bool = False, on_progress: Progress | None = None
) -> tuple[Reproduction, Path]:
    """Run a record's experiment again with the same seeds; whether the two agree, and the new record.

    Args:
        record: a record that was made by this user on this machine.
        root: where the new record is made.
        folder: of the script; default: as recorded.
        force: run even if the script or another condition of identity has changed.
        on_progress: called several times a second.

    Raises:
        SpecError: the script has changed, or the record is foreign. RecordError: it was imported, or is damaged. Others as `run`.
    """
    first = side(record)
    other = run_again(record, first.measured, root, folder=folder, force=force, on_progress=on_progress)
    return reproduced(first, other, force=force), other


def run_again(
    record: Path,
    measured: RecordData,
    root: Path,
    *,
    folder: Path | None = None,
    force: bool = False,
    may_run: MayRun = refuse_foreign,
    on_progress: Progress | None = None,
) -> Path:
    """A new record of the same experiment; `may_run` raises if it may not be run. Raises as `reproduce`."""
    refuse_imported(measured, str(record))
    where = script_folder(measured, folder)
    if changed := changed_script(measured, where, force=force):
        remark(f"{changed} has changed since the record was made")
    may_run(record, measured.experiment, where)
    return experiment_run.run(again(measured), folder=where, root=root, on_progress=on_progress)


def reproduced(
    first: Side, other: Path, history: str | None = None, day_to_day: float | None = None, *, force: bool = False, watch: Watch = unwatched
) -> Reproduction:
    """Whether the other record reproduces the first. Raises SpecError: it is the first."""
    label = other.resolve().name
    second = side(other, label if label != first.label else f"{label} (again)", watch)
    refuse_itself((first, second), "--against")
    between = days(history, day_to_day, (first, second), (), watch)
    comparison = compare((first, second), force=True, days=between)
    return reproduction(comparison, first, second, force=force, days=between)


# ---- before it is run again ------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What would be run, and what differs now."""

    sealed: bool
    launches: int
    seconds: float  # that the timed launches of the record took
    script: str
    script_then: object  # SHA-256; None: not recorded
    script_now: object  # None: it is not there
    knows_conditions: bool
    differing: Sequence[tuple[Mismatch, bool]]  # and whether it refuses the comparison


def expected(path: Path, name: str, folder: Path | None, *, force: bool) -> Expected:
    """What running the record's experiment again would be.

    Raises:
        RecordError: it is not what was sealed: a changed record is no experiment to repeat.
    """
    record = whole(path)
    measured = from_record(record)
    refuse_imported(measured, name)
    where = script_folder(measured, folder)
    script = script_identity(fixed(measured), where)
    rows = measured.timed
    return Expected(
        sealed=record.sealed,
        launches=len(plan(fixed(measured))),
        seconds=float(((rows["end_ns"] - rows["begin_ns"]) / 1e9).sum()),
        script=str(script["path"]),
        script_then=recorded_script(measured).get("sha256"),
        script_now=changed_file(measured.manifest.get("environment"), script) or script["sha256"],
        knows_conditions=bool(measured.before),
        differing=[(one, another_experiment(one, force=force)) for one in _differing_now(measured, where)],
    )


def _differing_now(measured: RecordData, folder: Path) -> tuple[Mismatch, ...]:
    """The conditions of machine, software and script that differ from the recorded ones."""
    secrets, python = secret_values(measured.experiment.workload.environment), interpreter.other(measured.experiment.launcher)
    seen = environment.capture(secrets, folder=folder, python=python)
    doctor = environment.carried_fitness(SystemClock().utc())
    return differences_now(measured, {"doctor": doctor, **seen, "script": script_identity(fixed(measured), folder)})
