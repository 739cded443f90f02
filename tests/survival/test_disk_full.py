"""A full disk stops the experiment with a clear error; what was written stays readable, and is gone on with later."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from fireassay.errors import RecordError
from fireassay.instruments.reference_server.server import serving
from fireassay.instruments.reference_server.settings import Settings
from fireassay.launchers.support import supervisor
from fireassay.record.reader import open_record
from fireassay.record.seal import verify
from fireassay.record.streams import read_stream
from fireassay.runners.experiment.run import resume
from tests.survival.harness import DEADLINE_S, wait_for

COORDINATOR = Path(__file__).with_name("coordinator.py")

# Prints nothing; takes almost all of the space that is left, then marks steps until its record cannot be written.
SCRIPT = """
import os, time
from pathlib import Path
from fireassay import probe

ballast = Path(os.environ["BALLAST"])
with probe.start() as p:
    for step in p.steps(range(200)):
        p.log(loss=1.0, items=1)
        p.samples(range(500))
        time.sleep(0.005)
        if step == 20 and not ballast.exists() and os.environ["FILL"] == "1":
            time.sleep(1.2)  # two flushes of the steps so far
            space = os.statvfs(ballast.parent)
            ballast.write_bytes(bytes(space.f_bavail * space.f_frsize))
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here: {done.stderr.strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.survival
def test_what_was_written_before_the_disk_was_full_stays_readable_and_the_plan_is_completed_later(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    ballast = small_disk / "ballast"
    monkeypatch.setenv("BALLAST", str(ballast))
    monkeypatch.setenv("FILL", "1")
    experiment = {
        "name": "full",
        "workload": {"script": "train.py"},
        "factor": {"levels": [1]},
        "launches": {"per_configuration": 2},
        "launcher": {"kind": "plain"},
        "limits": {"grace_s": 0.5, "launch_timeout_s": 120.0},
    }
    done = subprocess.run(
        [sys.executable, str(COORDINATOR), "run", str(small_disk), str(tmp_path), json.dumps(experiment)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == RecordError.exit_code
    assert "the disk is full" in done.stderr
    assert "assay resume" in done.stderr
    [path] = (file for file in small_disk.iterdir() if file.is_dir())
    assert supervisor.marked(f"{path.name}.") == []

    record = open_record(path)
    assert record.state == "interrupted"
    assert record.table("steps")["step"].to_list()[:20] == list(range(20))

    ballast.unlink()
    monkeypatch.setenv("FILL", "0")
    resume(path)
    assert open_record(path).state == "complete"
    assert verify(path) == ()
    assert [row["status"] for row in open_record(path).table("launches").to_dicts()] == ["aborted", "ok", "ok"]


def written(stream: Path) -> bool:
    """Whether a stream holds a row already, not only its schema."""
    return any(batch.num_rows for batch in read_stream(stream).batches)


@pytest.mark.survival
@pytest.mark.slow
def test_a_load_ends_when_its_requests_cannot_be_written_any_more_and_is_made_again_later(small_disk: Path, tmp_path: Path) -> None:
    ballast = small_disk / "ballast"
    with serving(Settings(first_s=0.005, next_s=0.0005, truth="none")) as server:
        experiment = {
            "name": "full",
            "workload": {"runner": "serving", "work": "tokens"},
            "serving": {
                "model": "m",
                "scenarios": ["D(10,8)"],
                "rate": [50.0],
                "targets": [{"urls": [server.url]}],
                "arrivals": {"process": "constant", "duration_s": 2.5, "warm_up_s": 0.0, "drain_s": 2.0},
            },
            "launches": {"per_configuration": 2},
            "limits": {"grace_s": 2.0},
            "noise": {"sentinel_s": 0.0},
        }
        words = [sys.executable, str(COORDINATOR), "run", str(small_disk), str(tmp_path), json.dumps(experiment)]
        process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        stream = "*/streams/launch=0000/requests.client-0.arrows"
        wait_for(lambda: any(map(written, small_disk.glob(stream))) or process.poll() is not None, "a request's row")
        space = os.statvfs(small_disk)
        with suppress(OSError):  # the client writes meanwhile, so that there may be less: full is full
            ballast.write_bytes(bytes(space.f_bavail * space.f_frsize))
        _, told = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == RecordError.exit_code, told
        assert "the disk is full" in told
        assert "assay resume" in told
        [path] = (file for file in small_disk.iterdir() if file.is_dir())
        assert supervisor.marked(f"{path.name}.") == []

        record = open_record(path)
        assert record.state == "interrupted"
        kept = record.table("requests")
        assert kept.height > 0
        assert kept["request"].n_unique() == kept.height

        ballast.unlink()
        resume(path)
    record = open_record(path)
    assert record.state == "complete"
    assert verify(path) == ()
    assert record.table("launches").sort("launch")["status"].to_list() == ["aborted", "ok", "ok"]
    for launch in (1, 2):
        rows, due = (record.table(name).filter(pl.col("launch") == launch) for name in ("requests", "arrivals"))
        assert rows["request"].n_unique() == rows.height == due.height
