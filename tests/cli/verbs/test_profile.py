"""`assay profile` runs a script once, keeps the traces of some steps and says what they show."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fireassay import catalog
from fireassay.api import experiment_run
from fireassay.cli import main
from fireassay.cli.support import judged
from fireassay.errors import WorkloadError
from fireassay.record.reader import open_record
from fireassay.record.seal import verify
from fireassay.runners.experiment.progress import RunProgress
from fireassay.spec.experiment import Experiment

WORDS = ["profile", "--launcher", "plain", "--quiet", "--wait", "1", "--warm-up", "1", "--active", "2", "--full"]
TRAIN = """
import torch
torch.manual_seed(0)
data = torch.utils.data.TensorDataset(torch.randn({batches} * 4, 8), torch.randn({batches} * 4, 1))
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in torch.utils.data.DataLoader(data, batch_size=4):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def only_record() -> Path:
    [path] = Path("records").iterdir()
    return path


@pytest.mark.torch
def test_an_unmodified_script_is_profiled_and_nothing_of_it_is_timed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("train.py").write_text(TRAIN.format(batches=8))
    assert main([*WORDS, "--", "train.py"]) == 0
    told = capsys.readouterr().out
    assert "rank 0: 2 steps of" in told
    assert "aten::addmm" in told
    assert "memory: at most" in told
    path = only_record()
    trace = path / "traces" / "launch=0000" / "rank=0.pt.trace.json.gz"
    assert f"trace: {trace}" in told
    assert "perfetto" in told
    assert "tensorboard --logdir" in told
    assert list(verify(path)) == []
    record = open_record(path)
    assert record.table("launches")["role"].to_list() == ["profile"]
    assert record.table("steps").height == 8  # seen, and never timed
    capsys.readouterr()
    main(["report", str(path), "--json"])
    rows = json.loads(capsys.readouterr().out)["metrics"]
    assert {row.get("value") for row in rows if row["metric"] == "step_time"} == {None}


@pytest.mark.deep
@pytest.mark.torch
def test_a_script_of_too_few_steps_is_told_and_what_was_got_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    Path("train.py").write_text(TRAIN.format(batches=3))
    assert main([*WORDS, "--json", "--", "train.py"]) == 0
    (launch,) = json.loads(capsys.readouterr().out)["launches"]
    (window,) = launch["windows"]
    assert (window["seen"], window["kept"]) == (3, 1)
    assert launch["ranks"][0]["file"] == "rank=0.pt.trace.json.gz"


def test_what_was_profiled_before_the_script_failed_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def failing(experiment: Experiment, *, on_progress: Callable[[RunProgress], None], **_: object) -> Path:
        on_progress(RunProgress(record=Path("records/x"), plan=(), rows=(), running=None, seconds_left=None))
        raise WorkloadError("the script failed")

    asked = {"wait": 1, "warm_up": 1, "active": 2, "tool": "torch"}
    window = {"rank": 0, "kept": 2, "seen": 8, "asked": asked, "trouble": "", "file": "rank=0.pt.trace.json.gz"}
    launch = {"configuration": "workers=1", "launch": 0, "status": "failed", "reason": "exit code 3", "folder": "f"}
    monkeypatch.setattr(experiment_run, "run", failing)
    told = {"record": "records/x", "launches": [{**launch, "ranks": [], "nsys": [], "windows": [window]}]}
    monkeypatch.setattr(judged, "profile_of", lambda path: told if path == Path("records/x") else {})
    Path("train.py").write_text("pass")
    assert main([*WORDS, "--", "train.py"]) == 5
    said = capsys.readouterr()
    assert "failed: exit code 3" in said.out
    assert "record: records/x" in said.out
    assert "the script failed" in said.err


def test_a_script_without_torch_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("train.py").write_text("pass")
    assert main([*WORDS, "--", "train.py"]) == 4
    assert "no step was seen: the script does not use torch" in " ".join(capsys.readouterr().out.split())
    assert open_record(only_record()).state == "complete"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--active", "9", "--", "train.py"], "--active: found 9"),
        (["--tool", "perf", "--", "train.py"], "--tool: found"),
        (["--", "nowhere.py"], "nowhere.py"),
        ([], "train.py"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_starts(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("train.py").write_text("pass")
    assert main(["profile", *words]) == 2
    assert said in capsys.readouterr().err
    assert not Path("records").exists()


def test_too_few_steps_are_told_with_what_would_be_enough() -> None:
    from fireassay.cli.support.judged import kept, output

    asked = {"wait": 5, "warm_up": 2, "active": 3, "tool": "torch"}
    window = {"rank": 0, "kept": 0, "seen": 4, "asked": asked, "trouble": "", "file": ""}
    told = {
        "record": "records/x",
        "launches": [
            {
                "configuration": "workers=1",
                "launch": 2,
                "status": "ok",
                "reason": "",
                "folder": "f",
                "ranks": [],
                "nsys": [],
                "windows": [window],
            }
        ],
    }
    assert not kept(told)
    text = " ".join(catalog.load("reports.writers", "terminal").write(output(told).page()).split())
    assert "made 4 steps and 10 are needed" in text
    assert "--wait 0" in text
