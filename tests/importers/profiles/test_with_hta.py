"""HolisticTraceAnalysis finds the same shares in the same traces.

Needs HolisticTraceAnalysis, which the project does not. Last run on 2026-11-30: version 0.5.0, on these traces and on those of its own tests: equal on every
trace whose times are whole microseconds and that has no waits for events, which it counts as work (HTA#162).
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from fireassay.frames.training.profile_summary import summary
from fireassay.importers.profiles import chrome_trace
from tests.frames.training.communication.test_kernel_trace import GEMM, NEW, host, kernel, trace
from tests.importers.profiles.test_chrome_trace import written

pytestmark = [pytest.mark.deep, pytest.mark.slow]

ANALYSE = """
import json, logging, sys
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis

if __name__ == "__main__":
    analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir=sys.argv[2], include_last_profiler_step=True)
    row = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    overlap = analysis.get_comm_comp_overlap(visualize=False).iloc[0]
    print(json.dumps({**{key: float(value) for key, value in row.items()}, "overlap": float(overlap["comp_comm_overlap_pctg"])}))
"""


@pytest.mark.parametrize("seed", range(3))
def test_shares_are_those_of_holistic_trace_analysis(tmp_path: Path, seed: int) -> None:
    pytest.importorskip("hta")
    numbers = random.Random(seed)
    events = [host("aten::mm", 0, 5000, category="cpu_op")]
    for index in range(300):
        name, category = numbers.choice([(GEMM, "kernel"), (NEW, "kernel"), ("Memcpy HtoD (Pageable -> Device)", "gpu_memcpy")])
        begin = numbers.randrange(5000)
        launched = host("cudaLaunchKernel", begin, begin + 1, category="cuda_runtime", correlation=index)
        events += [
            launched,
            kernel(name, begin + 2, begin + 2 + numbers.randrange(1, 25), stream=7 + index % 5, category=category, correlation=index),
        ]
    path = written(tmp_path, "rank0.json", trace(events, distributedInfo={"backend": "nccl", "rank": 0, "world_size": 1}))
    script = tmp_path / "analyse.py"
    script.write_text(ANALYSE)
    done = subprocess.run([sys.executable, str(script), str(path), str(tmp_path)], capture_output=True, text=True, check=True)
    theirs = json.loads(done.stdout.strip().splitlines()[-1])
    (ours,) = (summary(capture.content)["whole"] for capture in chrome_trace.read(path))
    assert ours["window_ns"] / 1000 == theirs["kernel_time(us)"]
    assert ours["compute_ns"] / 1000 == theirs["compute_time(us)"]
    assert (ours["exposed_ns"] + ours["copy_ns"]) / 1000 == theirs["non_compute_time(us)"]
    assert ours["idle_ns"] / 1000 == theirs["idle_time(us)"]
    hidden = 100 * (ours["communication_ns"] - ours["exposed_ns"]) / ours["communication_ns"]
    assert hidden == pytest.approx(theirs["overlap"], abs=0.006)  # it rounds to two digits
