"""Are nodes that Slurm lends tested with their links, and does the list drain them?  On a real cluster of two emulated nodes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fireassay.frames.fleet import fleet, link_rates, nodes_in
from fireassay.frames.record_data import from_record
from fireassay.kinds.fleet.drain import drain_list
from fireassay.record.reader import open_record
from fireassay.runners.experiment.run import run
from fireassay.spec.experiment import Experiment, Factor, Gates, Launches
from fireassay.spec.sections.workload import Launcher, Noise, Workload
from tests.fleet_made import drawn, fleet_record
from tests.launchers import slurm_commands
from tests.launchers.slurm_commands import two_nodes

pytestmark = [pytest.mark.deep, pytest.mark.skipif(bool(slurm_commands.why_not()), reason=slurm_commands.why_not())]


def test_lent_nodes_are_tested_and_the_health_check_drains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with two_nodes(tmp_path / "slurm") as conf:
        monkeypatch.setenv("SLURM_CONF", str(conf))
        asked = Experiment(
            name="fleet",
            workload=Workload(runner="fleet", script="fleet", arguments=("memory", "bandwidth", "pairs=all")),
            launcher=Launcher(kind="slurm", workers_per_node=1),
            factor=Factor(levels=(2,)),
            launches=Launches(per_configuration=1),
            gates=Gates(efficiency=None),
            noise=Noise(sentinel_s=0.0),
        )
        measured = from_record(open_record(run(asked, folder=tmp_path, root=tmp_path / "records")))
        assert nodes_in(measured) == ("n1", "n2")
        assert {link: any(values) for link, values in link_rates(measured, "bandwidth").items()} == {("n1", "n2"): True, ("n2", "n1"): True}
        (check := tmp_path / "check.sh").write_text(
            drain_list(fleet(fleet_record({"memory": drawn(16, slow={"n1": 0.2})})), ".sh", record="r", at="")
        )
        codes = [
            subprocess.run(["sh", str(check)], env={**os.environ, "SLURMD_NODENAME": node}, check=False).returncode for node in ("n1", "n2")
        ]
        assert codes == [1, 0]
        said = subprocess.run(["sinfo", "-N", "--noheader", "--format=%N %t %E"], capture_output=True, text=True, check=True).stdout
        states = dict(line.split(" ", 1) for line in said.splitlines())
        assert states["n1"].startswith("drain assay fleet: memory copy 2")
        assert states["n2"].startswith("idle")
