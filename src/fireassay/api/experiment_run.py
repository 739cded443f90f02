"""How does an experiment run with judging at hand?

The runner alone cannot decide whether an interval is narrow enough (`launches.precision`) or a launch was disturbed (`noise.repeat`), so
it receives functions that can.

With `serving.search`, a pilot first finds between which rates an engine stops meeting its objectives, in short loads, one per rate:
doubling the rate until the objectives are missed, then bisecting between the last two.  Pilot loads are records of their own and enter
no result.  The experiment then runs at rates around the range found, in blocks like any other, and the capacity comes from it alone:
estimating it from the data that chose the rates would bias it.

How does a record stand for an experiment to repeat?  Every condition is kept but those that the flags change.

assay load 5c07aa --concurrency 40,48,56
assay run 5c07aa --launches 9

How long will an experiment take, and which differences can it show?
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from fireassay.api.interim_analysis import advice
from fireassay.api.trust import refuse_foreign
from fireassay.clock import Clock, SystemClock
from fireassay.errors import RecordError, WorkloadError, refuse
from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import given
from fireassay.frames.record_data import RecordData, from_record
from fireassay.metrics.results import LazyResults
from fireassay.printable import remark, shell_word
from fireassay.record.environment import carried_fitness
from fireassay.record.folder import batch_job
from fireassay.record.lookup import record_folders, resolve
from fireassay.record.manifest import has_seal, read_manifest
from fireassay.record.reader import judged_from, open_record
from fireassay.record.seal import plan_signature
from fireassay.runners.experiment import run as runner
from fireassay.runners.experiment.progress import RunProgress
from fireassay.runners.experiment.script import with_secrets
from fireassay.spec.experiment import Experiment
from fireassay.spec.flags.of_verb import Stored
from fireassay.spec.kind import kind_of
from fireassay.spec.load import to_toml
from fireassay.spec.plan import expected_seconds
from fireassay.spec.toml_file import parse
from fireassay.units import NS_PER_S
from fireassay.verdict.power import Expectation, foresee

PILOT_S: Final = 8.0  # longest pilot load
DOUBLINGS: Final = 14
HALVINGS: Final = 3
AROUND: Final = (0.7, 0.85, 1.0, 1.15, 1.3)  # of the rate found

Progress = Callable[[RunProgress], None]
Meets = Callable[[float], bool | None]  # whether a rate meets the objectives; None: undecided


def run(
    experiment: Experiment,
    *,
    folder: Path | None = None,
    root: Path = Path("records"),
    on_progress: Progress | None = None,
    clock: Clock | None = None,
    stop_early: bool = False,
) -> Path:
    """Execute an experiment and return the path of its sealed record.

    Args:
        experiment: what to run.
        folder: base of the workload's script; default: the working directory.
        root: parent of the record folder.
        on_progress: called several times a second.
        clock: default: the system clock.
        stop_early: end after the first launches if they show that the others cannot answer (nothing distributed, no step, no score).

    Raises:
        SpecError, EnvironmentLacks: it cannot be started; no record was made.
        WorkloadError: no launch succeeded, or `stop_early` ended it; the record says why.
        Interrupted: stopped by a signal; `resume` continues.
        RecordError: the record can no longer be written; its content so far stays readable.
    """
    return runner.run(experiment, folder=folder, root=root, on_progress=on_progress, clock=clock, advice=advice(stop_early=stop_early))


def resume(
    path: Path, *, force: bool = False, trusted: bool = False, on_progress: Progress | None = None, clock: Clock | None = None
) -> Path:
    """Continue an interrupted record, if it is the user's own or `trusted`; see `fireassay.runners.experiment.run.resume`."""
    if kind_of(open_record(path).experiment).observes:
        raise RecordError(f"{path} is of a job that was watched, not run: nothing can be resumed. Show it: assay report {shell_word(path)}")
    if not trusted:
        refuse_foreign(path, *recorded(path))
    return runner.resume(path, force=force, on_progress=on_progress, clock=clock, advice=advice())


def requeued(experiment: Experiment, root: Path, environ: Mapping[str, str]) -> Path | None:
    """The record that an earlier start of this Slurm job made of the experiment; None: the job was not requeued, or it made none.

    The oldest that is not finished, as a script may run an experiment twice; else the newest.
    """
    if environ.get("SLURM_RESTART_COUNT", "0") in ("", "0"):
        return None
    job, signature = batch_job(environ), plan_signature(experiment)
    found = []
    for path in sorted(record_folders(root), key=lambda path: path.stat().st_mtime):
        with suppress(RecordError):
            manifest = read_manifest(path)
            if (manifest.get("job"), manifest.get("plan_signature"), manifest.get("name")) == (job, signature, experiment.name):
                found.append(path)
    return next((path for path in found if not has_seal(path)), found[-1] if found else None)


def recorded(path: Path) -> tuple[Experiment, Path]:
    """The experiment of a record, and the folder of its script, as `resume` would run it."""
    record = open_record(path)
    return record.experiment, folder_of(record.manifest)


# ---- the rates of a load that searches them ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Range:
    """The largest rate that met the objectives and the smallest that did not; None: none."""

    meets: float | None
    misses: float | None

    @property
    def middle(self) -> float:
        """The assumed capacity: the geometric mean of both rates."""
        if self.meets is None or self.misses is None:
            return self.meets or self.misses or 0.0
        return math.sqrt(self.meets * self.misses)


def search(begin: float, meets: Meets) -> Range:
    """Double or halve from `begin` until the answer changes, then bisect the range on a log scale a few times."""
    good, bad, rate = None, None, begin
    for _ in range(DOUBLINGS):
        met = meets(rate)
        if met is None:
            break
        good, bad = (rate, bad) if met else (good, rate)
        if good is not None and bad is not None:
            break
        rate = rate * 2.0 if met else rate / 2.0
    for _ in range(HALVINGS if good is not None and bad is not None else 0):
        assert good is not None
        assert bad is not None
        middle = math.sqrt(good * bad)
        met = meets(middle)
        if met is None:
            break
        good, bad = (middle, bad) if met else (good, middle)
    return Range(meets=good, misses=bad)


def ranged(experiment: Experiment, folder: Path, root: Path, on_progress: Progress | None = None) -> Experiment:
    """The experiment at rates around its engine's capacity; unchanged if it requests no search.

    Raises:
        Interrupted: stopped by a signal. Others as `fireassay.run`.
        WorkloadError: the pilot could not be judged.
    """
    serving = experiment.serving
    if serving is None or not serving.search:
        return experiment
    span = search(min(serving.rate), lambda rate: _meets(experiment, rate, folder, root, on_progress))
    if span.middle <= 0.0:
        raise WorkloadError("the search found no rate that could be judged. `assay report` shows why, for each of the pilot records")
    rates = tuple(sorted({float(f"{share * span.middle:.3g}") for share in AROUND}))
    bounds = f"between {_rate_words(span.meets)} and {_rate_words(span.misses)}"
    remark(f"search: the objectives stop being met {bounds} requests/s; measuring at {', '.join(map(given, rates))}")
    return experiment.model_copy(update={"serving": serving.model_copy(update={"rate": rates, "search": False})})


def _rate_words(rate: float | None) -> str:
    return "no rate tried" if rate is None else given(rate, 3)


def _meets(experiment: Experiment, rate: float, folder: Path, root: Path, on_progress: Progress | None) -> bool | None:
    """True if a short load attains the objectives, ignoring its interval: this only locates a range."""
    try:
        path = run(pilot(experiment, rate), folder=folder, root=root, on_progress=on_progress)
    except WorkloadError:  # every request failed, so no objective was met
        return False
    measured = from_record(open_record(path))
    value = next(iter(LazyResults(measured)["slo_attainment"].values()))
    assert experiment.serving is not None
    return value.value >= experiment.serving.objectives.attainment if isinstance(value, Estimate) else None


def pilot(experiment: Experiment, rate: float) -> Experiment:
    """One short launch at one rate on the first engine, under its own name."""
    serving = experiment.serving
    assert serving is not None
    arrivals = serving.arrivals.model_copy(update={"duration_s": min(PILOT_S, serving.arrivals.duration_s)})
    update = {"rate": (float(f"{rate:.4g}"),), "search": False, "arrivals": arrivals, "scenarios": serving.scenarios[:1]}
    if serving.targets:
        update["targets"] = serving.targets[:1]
    return experiment.model_copy(
        update={
            "name": f"{experiment.name[:73]}-pilot",
            "serving": serving.model_copy(update=update),
            "faults": (),
            "quality": None,
            "launches": experiment.launches.model_copy(update={"per_configuration": 1, "precision": None}),
        }
    )


ADDRESS: Final = re.compile(r"://|=|:\d+$")  # in what is never a record's name


def stored(text: str | None, root: Path) -> Stored | None:
    """The experiment of the record that the text names; None if it names a file, or no record."""
    if text is None or Path(text).is_file() or text.endswith((".toml", ".py")):
        return None
    try:
        path = resolve(text, root)
    except RecordError:
        return None  # reported as a missing file, which it is too
    record = open_record(path)
    return Stored(data=tomllib.loads(to_toml(with_secrets(record.experiment))), folder=folder_of(record.manifest), record=path)


def recorded_load(words: Sequence[str], root: Path) -> Stored | None:
    """The load of the record that a single address names; None if it is an address.

    Raises:
        SpecError: the record is no load, or another program sent it.
    """
    if len(words) != 1 or ADDRESS.search(words[0]):
        return None
    try:
        path = resolve(words[0], root)
        manifest = read_manifest(path)
    except RecordError:  # then it is taken for an address, and the message is about addresses
        return None
    data = parse(path / "experiment.toml")[0]
    _refuse_others(words[0], data, manifest)
    return Stored(data=data, folder=folder_of(manifest), record=path)


def _refuse_others(name: str, data: Mapping[str, Any], manifest: Mapping[str, Any]) -> None:
    allowed = "an address, or a record of a load that assay sent"
    if "serving" not in data:
        raise refuse("URL", f"{name}, a record without a load", allowed, f"Repeat it with assay run {name}.", source="the flags")
    if manifest.get("foreign"):
        raise refuse("URL", f"{name}, whose load another program sent", allowed, source="the flags")


def folder_of(manifest: Mapping[str, object]) -> Path:
    """The folder of the script as recorded, if it still exists; else the working directory."""
    environment = manifest.get("environment")
    before = environment.get("before") if isinstance(environment, dict) else None
    script = before.get("script") if isinstance(before, dict) else None
    recorded = Path(str(script.get("folder"))) if isinstance(script, dict) and script.get("folder") else Path()
    return recorded if recorded.is_dir() else Path()


@dataclass(frozen=True, kw_only=True)
class Foreseen:
    """What an experiment will take and can show."""

    seconds: float | None  # None: no complete record ran this workload at all these levels
    differences: Sequence[Expectation]


def foreseen(experiment: Experiment, root: Path, detect: float | None = None) -> Foreseen:
    """The time and the detectable differences of an experiment, by the newest record of the same workload and the last `assay doctor`.

    Args:
        detect: also the number of launches that show a change of this size.
    """
    earlier = earlier_record(experiment, root)
    results = None if earlier is None else LazyResults(earlier)
    floor = carried_fitness(SystemClock().utc()).get("noise_floor")  # between interleaved launches
    noise_floor = float(floor) if isinstance(floor, int | float) else None
    differences = foresee(experiment, earlier, results, noise_floor, detect)
    return Foreseen(seconds=None if earlier is None else _expected_seconds(experiment, earlier), differences=differences)


def earlier_record(experiment: Experiment, root: Path) -> RecordData | None:
    """The newest complete record that ran the same workload."""
    for path in sorted(record_folders(root), key=lambda path: path.stat().st_mtime, reverse=True):
        try:
            record = open_record(path)
            if record.state == "complete" and _same_work(record.experiment, experiment):
                with judged_from(path):
                    return from_record(record)
        except RecordError:
            continue
    return None


def _same_work(earlier: Experiment, experiment: Experiment) -> bool:
    """The same program; for serving, the same traffic on the same engines, whatever the loads and objectives."""
    free = {"concurrency", "rate", "search", "objectives", "client"}
    serving, earlier_serving = (
        None if candidate.serving is None else candidate.serving.model_dump(exclude=free) for candidate in (experiment, earlier)
    )
    return earlier.workload == experiment.workload and serving == earlier_serving


def _expected_seconds(experiment: Experiment, earlier: RecordData) -> float | None:
    """From the median seconds of a launch by configuration."""
    seconds = (pl.col("end_ns") - pl.col("begin_ns")) / NS_PER_S
    ended = earlier.table("launches").filter(pl.col("status") == "ok")
    return expected_seconds(experiment, dict(ended.group_by("configuration").agg(seconds.median()).iter_rows()))
