"""Does the exporter of DCGM count the joules of GPUs?"""

from __future__ import annotations

from pathlib import Path

from fireassay.instruments.machine.energy.support.launch_energy import find
from tests.instruments.machine.energy_made import DCGM, around, serving


def test_dcgm_counts_each_gpu_once_whatever_pods_share_it(tmp_path: Path) -> None:
    with serving({"/metrics": DCGM}) as url:
        counters, _ = find(around(tmp_path, "dcgm", endpoint=f"{url}/metrics"))
        assert {counter.device: counter.read() for counter in counters} == {"GPU-aaaa1111": 5000.0, "GPU-bbbb2222": 7.0}
        one, _ = find(around(tmp_path, "dcgm", endpoint=f"{url}/metrics", environ={"CUDA_VISIBLE_DEVICES": "1"}))
        assert [counter.device for counter in one] == ["GPU-bbbb2222"]
