"""One small experiment for the engines of clusters, and assay ended while it waits or runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import tomli_w

from fireassay.record.reader import Record
from fireassay.spec.experiment import Experiment, Factor, Launches
from fireassay.spec.sections.workload import Launcher, Limits, Noise, Workload
from tests.launchers import quick_torchrun
from tests.launchers.helpers import until
from tests.limits import PROCESS_S

RANKS = (
    "import os, sys; e = os.environ; "
    "sys.stdout.write(f\"rank {{e['RANK']}} of {{e['WORLD_SIZE']}} {{e['FIREASSAY_HOST']}} {{e.get('{node}')}}\\n\")"
)
LONG = "import pathlib, time; pathlib.Path('begun').touch(); time.sleep(1e4)"


def experiment(kind: str, *, levels: tuple[int, ...] = (1, 2), **launcher: object) -> Experiment:
    return Experiment(
        name="cluster",
        workload=Workload(script="train.py"),
        factor=Factor(levels=levels),
        launches=Launches(per_configuration=1),
        launcher=Launcher(kind=kind, **launcher),  # type: ignore[arg-type]
        limits=Limits(launch_timeout_s=PROCESS_S, grace_s=1.0),
        noise=Noise(sentinel_s=0.0),
    )


def logs(record: Record) -> dict[int, str]:
    """What the workers of each count said."""
    rows = record.table("launches").to_dicts()
    return {row["workers"]: (record.path / f"logs/launch={row['launch']:04d}.log").read_text() for row in rows}


def ended(folder: Path, how: signal.Signals, launcher: Mapping[str, object], begun: Callable[[], object]) -> bytes:
    """Start assay with two endless workers, end it by a signal once they have begun; what it said."""
    (folder / "train.py").write_text(LONG)
    tables = {"workload": {"script": "train.py"}, "factor": {"levels": [2]}, "launches": {"per_configuration": 1}}
    more = {"limits": {"grace_s": 1}, "noise": {"sentinel_s": 0}, "launcher": {"python": quick_torchrun.python(folder), **launcher}}
    (folder / "e.toml").write_text(tomli_w.dumps({"name": "c", **tables, **more}))
    process = subprocess.Popen([sys.executable, "-m", "fireassay", "run", "e.toml"], cwd=folder, stderr=subprocess.PIPE)
    until(lambda: begun() or process.poll() is not None, "a worker")
    process.send_signal(how)
    said = process.communicate(timeout=PROCESS_S)[1]
    if how is signal.SIGTERM:
        assert b"assay resume" in said
    return said


def alive(folder: Path) -> list[int]:
    """Processes that work in the folder, or whose words name it."""
    return [
        int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and int(path.name) != os.getpid() and _of(path, folder)
    ]


def _of(process: Path, folder: Path) -> bool:
    try:
        return str(folder).encode() in (process / "cmdline").read_bytes() or Path(os.readlink(process / "cwd")) == folder
    except OSError:
        return False
