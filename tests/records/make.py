"""Where do the stored records come from?  Real launches of the digits trainer, good and broken on purpose, and of a search, kept small.

    python -m tests.records.make [NAME ...]

`before`, `after`, `engines` and `steps` are those of docs/exercises.md. Each experiment is run for real, and the record is then written again
(`runners/replay`) without the environment of the machine: `tests/verdict/test_broken_trainers.py` judges the copies in milliseconds, and
runs the experiments live in its slow form.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from fireassay.clock import SystemClock
from fireassay.record import folder as record_folder
from fireassay.record.reader import open_record
from fireassay.record.seal import plan_signature
from fireassay.runners import replay
from fireassay.runners.experiment.context import RunContext, StopRequest
from fireassay.runners.experiment.run import run
from fireassay.spec.experiment import Experiment, Factor, Launches, Quality
from fireassay.spec.load import load
from fireassay.spec.plan import plan
from fireassay.spec.sections.energy import Energy
from fireassay.spec.sections.prices import Prices
from fireassay.spec.sections.program import Program
from fireassay.spec.sections.workload import Launcher, Limits, Workload
from tests.builders import replayed
from tests.docs.session import prepare

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]

# name -> script, launches per configuration (a broken replica shows in one launch; a verdict on quality needs three), epochs
TRAINERS = {
    "good": ("examples/digits/train.py", 3, 3),
    "seed_mismatch": ("examples/broken/seed_mismatch.py", 1, 1),
    "unsynced": ("examples/broken/unsynced.py", 1, 1),
    "dropped_shard": ("examples/broken/dropped_shard.py", 1, 2),
    "padding_duplicates": ("examples/broken/padding_duplicates.py", 1, 2),
    "worse_accuracy": ("examples/broken/worse_accuracy.py", 3, 3),
}


# What the exercises judge: the page has the script and the load, and the commands that these repeat.
READERS = {"before": "0", "after": "2"}
SERVED = ("engines", "steps")
EXERCISES = (*READERS, *SERVED)

# name -> words for the sharded index of examples/programs
PROGRAMS = {"nearest_shard": ("--nearest-shard",)}

# name -> experiment of examples/
FILES = {"target": "examples/target.toml"}

# name -> words for the sharded index of examples/programs


def experiment(name: str, *, levels: tuple[int, ...] = (1, 2), launches: int | None = None, epochs: int | None = None) -> Experiment:
    """One and two workers, a few epochs; the margin is that of examples/digits.toml."""
    script, usual, many = TRAINERS[name]
    return Experiment(
        name=name.replace("_", "-"),
        workload=Workload(script=script, arguments=("--seed", "{seed}", "--epochs", str(epochs or many)), work="samples"),
        factor=Factor(levels=levels),
        launches=Launches(per_configuration=launches or usual),
        quality=Quality(metric="accuracy", margin=0.01),
        prices=Prices.model_validate({"usd_per_worker_hour": 0.04, "date": "2026-11-01", "source": "assumed"}),
        energy=Energy(source="none"),
        limits=Limits(launch_timeout_s=120.0),
    )


def measure(name: str, root: Path) -> Path:
    """Run the experiment for real; the path of its sealed record."""
    if name in PROGRAMS:
        return run(sharded(name), folder=REPOSITORY, root=root)
    if name in FILES:
        return run(load(REPOSITORY / FILES[name]), folder=REPOSITORY / "examples", root=root)
    if name not in EXERCISES:
        return run(experiment(name), folder=REPOSITORY, root=root)
    root.mkdir(parents=True)
    prepare(REPOSITORY / "docs" / "exercises.md", root)
    if name == "steps":
        subprocess.run([sys.executable, "make_sums.py"], cwd=root, check=True)
    return run(load(root / f"{name}.toml") if name in SERVED else exercise(name), folder=root, root=root / "records")


def exercise(name: str) -> Experiment:
    """The training of the exercises, with data read in its own process or in two others."""
    return Experiment(
        name=name,
        workload=Workload(script="train.py", arguments=("--readers", READERS[name])),
        factor=Factor(levels=(1, 2)),
        launches=Launches(per_configuration=4),
        quality=Quality(metric="accuracy", margin=0.03),
        prices=Prices.model_validate({"usd_per_worker_hour": 0.04, "date": "2026-11-01", "source": "assumed"}),
        launcher=Launcher(threads_per_worker=1),
    )


def sharded(name: str) -> Experiment:
    """The sharded index of the exercises."""
    return Experiment(
        name=name.replace("_", "-"),
        workload=Workload(
            runner="program", script="examples/programs/sharded_index.py", arguments=("{workers}", "{out}", *PROGRAMS[name]), work="queries"
        ),
        factor=Factor(levels=(1, 2)),
        program=Program(items=400.0, rankings="{out}/rankings.jsonl"),
        quality=Quality(metric="recall_at_10", margin=0.01),
        prices=Prices.model_validate({"usd_per_worker_hour": 0.04, "date": "2026-11-01", "source": "assumed"}),
        energy=Energy(source="none"),
    )


def copy_without_machine(source: Path, root: Path) -> Path:
    """The same launches in a new sealed record that says nothing about the machine but its processor."""
    found = open_record(source)
    record = record_folder.create(root, found.experiment, plan_signature(found.experiment), clock=SystemClock())
    environment = found.manifest["environment"]["before"]
    asked = {"evaluation": environment["evaluation"]} if "evaluation" in environment else {}
    record.set_environment("before", {"cpu": environment.get("cpu", {}), **asked})
    context = RunContext(
        experiment=replayed(found.experiment, source),
        folder=REPOSITORY,
        record=record,
        plan=plan(found.experiment),
        clock=SystemClock(),
        stop=StopRequest(),
    )
    outcome = replay.run(context)
    assert outcome.state == "complete", outcome
    record.finish("complete")
    return record.path


def main(names: list[str]) -> None:
    """Measure, and replace the stored copies."""
    for name in names or [*TRAINERS, *EXERCISES, *PROGRAMS, *FILES]:
        with tempfile.TemporaryDirectory() as folder:
            made = copy_without_machine(measure(name, Path(folder) / "records"), Path(folder) / "copies")
            shutil.rmtree(HERE / name, ignore_errors=True)
            shutil.move(made, HERE / name)
        print(HERE / name)


if __name__ == "__main__":
    main(sys.argv[1:])
