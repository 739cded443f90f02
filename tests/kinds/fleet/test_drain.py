"""Can Slurm, Kubernetes and a shell read what is handed to them?"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fireassay.frames.fleet import fleet
from fireassay.kinds.fleet.drain import drain_line, drain_list, kubectl
from tests.fleet_made import drawn, fleet_record

pytestmark = pytest.mark.slow
AT = "2026-11-30T20:00:00Z"


def made(suffix: str) -> str:
    return drain_list(fleet(fleet_record({"memory": {**drawn(16, slow={"n3": 0.2}), "n5": [None] * 7}})), suffix, record="r", at=AT)


def test_a_list_in_json_has_reason_evidence_and_commands() -> None:
    found: dict[str, Any] = json.loads(made(".json"))
    slow, silent = found["nodes"]
    assert (slow["node"], slow["rule"], slow["evidence"]["memory"]["slow"]) == ("n3", "slow_node", True)
    assert (silent["node"], silent["rule"], silent["evidence"]) == ("n5", "silent_node", {"memory": "Connection refused"})
    assert shlex.split(slow["slurm"])[:4] == ["scontrol", "update", "nodename=n3", "state=drain"]
    *words, patch = shlex.split(slow["kubernetes"]["condition"])
    assert words == ["kubectl", "patch", "node", "n3", "--subresource=status", "--type=strategic", "-p"]
    (condition,) = json.loads(patch)["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"], condition["lastTransitionTime"]) == (
        "FireassayUnfit",
        "True",
        "SlowNode",
        AT,
    )
    assert shlex.split(slow["kubernetes"]["taint"]) == [
        "kubectl",
        "taint",
        "nodes",
        "n3",
        "fireassay/unfit=slow_node:NoSchedule",
        "--overwrite",
    ]


def test_other_files_have_a_node_and_its_reason_per_line() -> None:
    lines = [line.split("\t") for line in made("").splitlines()]
    assert [line[0] for line in lines] == ["n3", "n5"]
    assert lines[0][1].startswith("memory copy ")


@pytest.mark.parametrize(("node", "code"), [("n3", 1), ("n4", 0)])
def test_the_health_check_drains_the_node_that_it_runs_on(tmp_path: Path, node: str, code: int) -> None:
    """scontrol is replaced by a program that writes down its words; tests/launchers/test_slurm_fleet.py has the real one."""
    (tmp_path / "scontrol").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/words\n')
    (tmp_path / "scontrol").chmod(0o755)
    (check := tmp_path / "check.sh").write_text(made(".sh"))
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURMD_NODENAME": node}
    assert subprocess.run(["sh", str(check)], env=environment, check=False).returncode == code
    said = (tmp_path / "words").read_text().splitlines() if code else []
    assert said[:3] == (["update", "nodename=n3", "state=drain"] if code else [])


def test_a_hostile_name_or_reason_stays_one_word() -> None:
    line = drain_line("n1; reboot", "it's $(reboot)\n")
    assert shlex.split(line) == ["scontrol", "update", "nodename=n1; reboot", "state=drain", "reason=assay fleet: it's $(reboot)\n"]
    patch = shlex.split(kubectl("n1", "silent_node", "it's $(reboot)\n'", AT)["condition"])[-1]
    assert json.loads(patch)["status"]["conditions"][0]["message"] == "it's $(reboot)\n'"
