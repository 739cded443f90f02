"""Does a job that assay did not start leave a record that the judge reads, and is it marked as observed?"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fireassay.clock import SystemClock
from fireassay.errors import RecordError
from fireassay.frames.record_data import from_record
from fireassay.importers.observed.attached import is_attached, seal_attached
from fireassay.instruments import injected
from fireassay.instruments.injected import own_job
from fireassay.instruments.injected.own_job import begin, script_of, without_rank
from fireassay.record.lookup import resolve
from fireassay.record.reader import open_record
from fireassay.verdict.judge import judge
from tests.limits import PROCESS_S

SOURCE = Path(injected.__file__).resolve().parents[3]
WORDS = ["python", "-u", "train.py", "--epochs", "3"]
LOOP = """
import os, sys, torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
torch.distributed.init_process_group("gloo")
model = DistributedDataParallel(nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(40):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
    if len(sys.argv) > 1 and step == 20 and os.environ["RANK"] == "1":
        os.kill(os.getpid(), 9)
torch.distributed.destroy_process_group()
"""


@pytest.fixture(autouse=True)
def released() -> Iterator[None]:
    """A test's places are given up, as by the end of a worker."""
    yield
    while own_job._KEPT:
        os.close(own_job._KEPT.pop())


def place(root: Path, rank: int, workers: int, incarnation: int = 0, words: list[str] = WORDS, **more: str) -> Path:
    numbers = {"RANK": rank, "WORLD_SIZE": workers, "TORCHELASTIC_RESTART_COUNT": incarnation}
    return begin({"FIREASSAY_RECORD": str(root / "job"), **{name: str(value) for name, value in numbers.items()}, **more}, words)


def trained(root: Path, workers: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    (root / "train.py").write_text(LOOP)
    variables = injected.into({**os.environ, "FIREASSAY_RECORD": str(root / "records" / "job"), "OMP_NUM_THREADS": "1"})
    engine = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(workers)]
    return subprocess.run(
        [*engine, "train.py", *arguments], cwd=root, env=variables, capture_output=True, text=True, timeout=PROCESS_S, check=False
    )


def test_ranks_of_a_start_meet_in_one_folder_and_a_second_start_gets_its_own(tmp_path: Path) -> None:
    first = {place(tmp_path, rank, 2) for rank in (0, 1)}
    second = {place(tmp_path, rank, 2) for rank in (1, 0)}
    assert [folder.name for folder in (*first, *second)] == ["workers=2.start=0", "workers=2.start=1"]


def test_a_restarted_rank_returns_to_the_newest_start(tmp_path: Path) -> None:
    for _ in range(2):
        place(tmp_path, 0, 1)
    assert place(tmp_path, 0, 1, incarnation=1).name == "workers=1.start=1"


def test_another_number_of_workers_and_another_command_do_not_mix(tmp_path: Path) -> None:
    assert place(tmp_path, 0, 1).name == "workers=1.start=0"
    assert place(tmp_path, 1, 2).name == "workers=2.start=0"
    assert place(tmp_path, 0, 2, words=[*WORDS, "--lr", "1"]).parents[1].name == "job-2"


def test_the_default_folder_is_one_per_job_and_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torchrun = {"RANK": "0", "WORLD_SIZE": "2", "SLURM_JOB_ID": "17", "TORCHELASTIC_RUN_ID": "none"}
    one = begin({**torchrun}, WORDS)
    other = begin({**torchrun, "RANK": "1"}, WORDS)
    next_job = begin({**torchrun, "SLURM_JOB_ID": "18"}, WORDS)
    assert one == other
    assert one.parents[1] != next_job.parents[1]
    assert one.parents[2] == tmp_path / "records"
    assert one.parents[1].name.startswith("attached-train-")


@pytest.mark.parametrize(
    ("words", "script"),
    [(["-u", "a.py", "-m", "x"], "a.py"), (["-X", "dev", "-m", "pkg.train"], "pkg.train"), (["-c", "pass"], ""), ([], "")],
)
def test_the_script_is_found_in_the_command_line(words: list[str], script: str) -> None:
    assert script_of(words) == script


def test_the_old_launcher_s_local_rank_is_no_part_of_the_command() -> None:
    assert without_rank(["a.py", "--local_rank=1", "--local-rank", "1", "--lr", "1"]) == ["a.py", "--lr", "1"]


def test_a_running_job_is_refused_and_its_rows_stay(tmp_path: Path) -> None:
    place(tmp_path, 0, 1)
    with pytest.raises(RecordError, match=r"still being written by a running job \(rank 0 on "):
        seal_attached(tmp_path / "job", clock=SystemClock())
    assert is_attached(tmp_path / "job")


def test_a_damaged_place_is_named(tmp_path: Path) -> None:
    folder = place(tmp_path, 0, 1)
    (folder / "place.rank=0.inc=0.json").write_text("{")
    with pytest.raises(RecordError, match=r"place.rank=0.inc=0.json is damaged"):
        seal_attached(tmp_path / "job", clock=SystemClock())


@pytest.mark.parametrize(("key", "value"), [("begin_utc", float("nan")), ("begin_ns", 1 << 80), ("rank", -1), ("host", 3)])
def test_a_place_that_no_worker_wrote_is_refused(tmp_path: Path, key: str, value: object) -> None:
    file = place(tmp_path, 0, 1) / "place.rank=0.inc=0.json"
    released_now()
    file.write_text(json.dumps({**json.loads(file.read_text()), key: value}))
    with pytest.raises(RecordError, match="is not as a worker wrote it"):
        seal_attached(tmp_path / "job", clock=SystemClock())


def test_a_secret_of_the_command_line_is_not_written_down(tmp_path: Path) -> None:
    folder = place(tmp_path, 0, 1, words=["python", "train.py", "--api-key", "correct-horse-battery", "--lr", "1"])
    written = "".join(file.read_text() for file in folder.parents[1].rglob("*.json"))
    assert "correct-horse-battery" not in written
    assert '"train.py", "--api-key", "[redacted]", "--lr", "1"' in written


def test_ranks_that_never_came_and_killed_ones_fail_the_launch(tmp_path: Path) -> None:
    place(tmp_path, 0, 2)
    place(tmp_path, 0, 1)
    released_now()
    record = open_record(seal_attached(tmp_path / "job", clock=SystemClock()))
    reasons = record.table("launches").sort("launch")["reason"].to_list()
    assert reasons == ["1 of 2 ranks were never seen, the first is rank 1", "rank 0 was killed: its rows end without a last word"]
    assert place(tmp_path, 0, 1).parents[1].name == "job-2"  # nothing is added to a sealed record


def released_now() -> None:
    while own_job._KEPT:
        os.close(own_job._KEPT.pop())


def test_the_commands_in_messages_can_be_pasted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "my records"
    place(root, 0, 1)
    assert capsys.readouterr().err.endswith(f"assay report '{root}/job'\n")
    for name in ("latest", "job"):
        with pytest.raises(RecordError, match=f"`assay report '{root}/job'` makes them a record"):
            resolve(name, root)


def test_a_folder_that_cannot_be_made_says_which_variable_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FIREASSAY_RECORD", str(tmp_path / "file"))
    monkeypatch.delenv("FIREASSAY_LAUNCH_DIR", raising=False)
    own_job.arm_quietly()
    assert "Not a directory. Set FIREASSAY_RECORD to a folder" in capsys.readouterr().err


def test_the_path_file_arms_a_worker_and_nothing_else(tmp_path: Path) -> None:
    code = f"import os, site; site.addsitedir({str(Path(injected.__file__).parent)!r}); print(os.environ.get('FIREASSAY_LAUNCH_DIR'))"
    variables = {"PYTHONPATH": str(SOURCE), "FIREASSAY_ATTACH": "1", "PATH": os.environ["PATH"]}
    for more, start in (({"RANK": "0"}, "workers=1.start=0"), ({}, "None")):
        done = subprocess.run(
            [sys.executable, "-S", "-c", code],
            env=variables | more,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PROCESS_S,
            check=True,
        )
        assert done.stdout.strip().endswith(start)


@pytest.mark.torch
def test_starts_with_1_and_2_workers_are_one_observed_record(tmp_path: Path) -> None:
    for workers in (1, 2):
        done = trained(tmp_path, workers)
        assert done.returncode == 0, done.stderr
    assert f"assay report {tmp_path / 'records' / 'job'}" in done.stderr
    record = open_record(seal_attached(tmp_path / "records" / "job", clock=SystemClock()))
    assert record.sealed
    assert [path.name for path in (tmp_path / "records").iterdir()] == ["job"]
    measured = from_record(record)
    assert measured.table("launches").select("launch", "workers", "status").rows() == [(0, 1, "ok"), (1, 2, "ok")]
    assert dict(measured.table("steps").group_by("launch").len().iter_rows()) == {0: 40, 1: 80}
    assert measured.manifest["observed"]["by"] == "attach"
    verdict = judge(measured).verdict
    assert "observed" in {finding.rule for finding in verdict.findings if finding.severity == "warning"}
    assert "observed in the order of the job's own starts" in verdict.sentence


@pytest.mark.torch
@pytest.mark.survival
def test_a_killed_rank_loses_at_most_its_last_moments(tmp_path: Path) -> None:
    done = trained(tmp_path, 2, "kill")
    assert done.returncode != 0
    assert str(-signal.SIGKILL) in done.stderr
    record = open_record(seal_attached(tmp_path / "records" / "job", clock=SystemClock()))
    (launch,) = record.table("launches").to_dicts()
    assert launch["status"] == "failed"
    assert launch["reason"].startswith(("rank 0 left with", "rank 1 was killed", "rank 0 was killed"))
    assert json.loads(launch["placement"])["launcher"] == "none of assay"
