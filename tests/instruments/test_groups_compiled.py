"""May a script compile its DistributedDataParallel from outside while its collectives are timed?  It ended the training (torch 2.13)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.limits import PROCESS_S

pytestmark = [pytest.mark.torch]

# One rank is enough: the reducer puts its buckets together anew in the second pass, inside of what is compiled, and asks the group.
SCRIPT = """
import os, sys, time
import torch, torch.distributed as dist
from fireassay.instruments.hooks import process_groups
dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=0, world_size=1)
calls = process_groups.Calls(time.monotonic_ns)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
model = torch.nn.parallel.DistributedDataParallel(model, process_group=process_groups.timed_group(torch, dist.group.WORLD, calls))
compiled = torch.compile(model, backend="eager")
for _ in range(3):
    compiled(torch.randn(2, 4)).sum().backward()
print(sum(call.op == "all_reduce" for call in calls.taken(everything=True)))
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.deep
def test_a_compiled_data_parallel_model_trains_while_its_group_is_timed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, str(tmp_path / "meet")],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=PROCESS_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[-1]) >= 3, "one for each backward pass"
