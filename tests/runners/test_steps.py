"""A job without an end, measured for a few steps: a complete launch, whoever sees its steps. Real launches, on two workers."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from fireassay.api.experiment_run import run
from fireassay.frames.record_data import from_record
from fireassay.launchers.support import supervisor
from fireassay.record.reader import Record, open_record
from fireassay.verdict.judge import judge
from tests.runners.making import experiment
from tests.tiers import some

pytestmark = [pytest.mark.torch, pytest.mark.slow]

HEAD = """
import os, itertools, torch, torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler
dist.init_process_group("gloo")
torch.manual_seed(1)
data = TensorDataset(torch.randn(256, 4), torch.randn(256, 1))
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
def train(x, y):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
"""
PLAIN = f"""{HEAD}
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=8, sampler=sampler, num_workers=1)
try:
    for epoch in itertools.count():
        sampler.set_epoch(epoch)
        for x, y in loader:
            train(x, y)
        if dist.get_rank() == 0:
            torch.save(model.state_dict(), "snapshot.pt")
finally:
    open("finally", "w").close()
"""
MARKED = f"""{HEAD}
from fireassay import probe
p = probe.start()
for x, y in p.steps(zip(*(itertools.repeat(torch.randn(8, n)) for n in (4, 1)))):
    with p.phase("optimizer"):
        train(x, y)
"""


def measured(folder: Path, source: str) -> Record:
    (folder / "train.py").write_text(source)
    asked = experiment(
        workload={"steps": 30, "warm_up_steps": 7}, factor={"levels": [2]}, launches={"per_configuration": 1}, launcher={"kind": "local"}
    )
    path = run(asked, folder=folder, root=folder / "records")
    assert supervisor.marked(f"{path.name}.") == []
    return open_record(path)


@pytest.mark.parametrize("source", some([PLAIN, MARKED]), ids=["unmodified", "marked"])
@pytest.mark.deep
def test_a_job_without_an_end_is_complete_after_its_steps(tmp_path: Path, source: str) -> None:
    record = measured(tmp_path, source)
    [row] = record.table("launches").to_dicts()
    assert (row["status"], row["reason"], row["exit_code"]) == ("ok", "", 0)
    made = record.table("steps").group_by("rank").agg(pl.len(), pl.col("step").max()).sort("rank")
    assert made.rows() == [(0, 37, 36), (1, 37, 36)]
    ends = record.table("events").filter(pl.col("kind") == "worker_end")
    assert ends["step"].to_list() == [37, 37]
    assert not (tmp_path / "finally").exists()  # nothing of a script's end is run in the middle of the job
    judgement = judge(from_record(record))
    assert [one for one in judgement.verdict.findings if one.severity in ("invalid", "fail")] == []
    assert judgement.results["step_time"]["workers=2"].n_trials > 0  # type: ignore[union-attr]
