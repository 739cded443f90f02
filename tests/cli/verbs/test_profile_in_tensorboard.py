"""TensorBoard's profile plug-in opens the traces that `assay profile` writes, and finds their steps and ranks.

Needs torch-tb-profiler, which the project does not: `pip install torch-tb-profiler tensorboard`. Last run on 2026-11-30: torch-tb-profiler 0.4.3,
torch 2.13.0, two ranks over gloo.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fireassay.cli import main

pytestmark = [pytest.mark.deep, pytest.mark.slow]

TRAIN = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    optimizer.zero_grad()
    model(torch.randn(8, 16)).square().mean().backward()
    optimizer.step()
dist.destroy_process_group()
"""
# the plug-in's own loader; it starts processes, which import their main module again
LOAD = """
import json, sys
from torch_tb_profiler import io
from torch_tb_profiler.profiler.loader import RunLoader

if __name__ == "__main__":
    with io.Cache() as cache:
        run = RunLoader("launch", sys.argv[1], cache).load()
    found = {}
    for (worker, _), profile in run.profiles.items():
        if hasattr(profile, "overview"):  # the profile of all ranks together has none
            steps = profile.overview["steps"]
            found[worker] = {
                "views": [view.display_name for view in profile.views],
                "columns": [column["name"] for column in steps["columns"] if "name" in column],
                "steps": [row[0] for row in steps["rows"]],
            }
    print(json.dumps(found))
"""


def test_the_plug_in_opens_every_rank_and_its_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch_tb_profiler")
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(TRAIN)
    Path("load.py").write_text(LOAD)
    assert main(["profile", "--workers", "2", "--wait", "1", "--warm-up", "1", "--active", "3", "--quiet", "--", "train.py"]) == 0
    (folder,) = Path("records").glob("*/traces/launch=0000")
    loaded = subprocess.run([sys.executable, "load.py", str(folder)], capture_output=True, text=True, check=True)
    found = json.loads(loaded.stdout.strip().splitlines()[-1])
    summary = json.loads((folder / "summary.json").read_text())
    assert sorted(found) == ["rank=0", "rank=1"]
    for rank in summary["ranks"]:
        opened = found[f"rank={rank['rank']}"]
        assert {"Overview", "Operator", "Trace", "Memory"} <= set(opened["views"])
        assert {"Communication", "CPU Exec"} <= set(opened["columns"])
        assert len(opened["steps"]) == len(rank["steps"]) == 3
