"""The plain launcher starts N workers together, restarts them together, and needs no torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.errors import SpecError
from fireassay.launchers import plain
from fireassay.spec.experiment import Experiment, Factor
from fireassay.spec.sections.workload import Launcher, Workload
from tests.launchers.helpers import request, run

# One write per worker: several would be mixed with those of the others.
SAYS = """import os
names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RESTART_COUNT")
os.write(1, (" ".join(os.environ[name] for name in names) + "\\n").encode())
"""


def test_every_worker_knows_its_rank_and_the_size(tmp_path: Path) -> None:
    asked = request(tmp_path, SAYS, workers=3)
    run(plain, asked)
    assert sorted(asked.log.read_text().splitlines()) == ["0 3 0 0", "1 3 1 0", "2 3 2 0"]


def test_the_workers_share_a_run_id_as_torchrun_gives_one(tmp_path: Path) -> None:
    asked = request(tmp_path, "import os\nos.write(1, os.environ['TORCHELASTIC_RUN_ID'].encode() + b'\\n')\n", workers=2)
    run(plain, asked)
    assert asked.log.read_text().splitlines() == [asked.mark] * 2


def test_one_failure_restarts_all_workers_as_often_as_allowed(tmp_path: Path) -> None:
    fails_in_first = SAYS + "import sys, time\nif os.environ['TORCHELASTIC_RESTART_COUNT'] == '0':\n"
    fails_in_first += "    sys.exit(7) if os.environ['RANK'] == '1' else time.sleep(600)\n"
    asked = request(tmp_path, fails_in_first, workers=2, max_restarts=1)
    assert run(plain, asked).exit_code == 0
    told = sorted(asked.log.read_text().splitlines())
    assert "1 2 1 0" in told  # rank 0 of the first start may have been ended before it could speak
    assert [line for line in told if line.endswith("1")] == ["0 2 0 1", "1 2 1 1"]


def test_too_many_failures_give_the_exit_code_of_the_first_to_fail(tmp_path: Path) -> None:
    fails = "import os, sys, time\nsys.exit(7) if os.environ['RANK'] == '1' else time.sleep(600)\n"
    assert run(plain, request(tmp_path, fails, workers=2, max_restarts=1)).exit_code == 7


def test_a_signal_is_told_as_shells_tell_it(tmp_path: Path) -> None:
    dies = "import os\nos.kill(os.getpid(), 9)\n"
    assert run(plain, request(tmp_path, dies)).exit_code == 128 + 9


def test_the_arguments_arrive_as_they_are(tmp_path: Path) -> None:
    asked = request(tmp_path, "import sys\nprint(sys.argv[1:])\n", arguments=("a b", "", "--x={y}"))
    run(plain, asked)
    assert asked.log.read_text() == "['a b', '', '--x={y}']\n"


def test_several_nodes_are_refused_with_the_launcher_that_can() -> None:
    experiment = Experiment(
        name="x",
        workload=Workload(script="train.py"),
        factor=Factor(levels=(2,)),
        launcher=Launcher(kind="plain", nodes=2, rendezvous_endpoint="host:1"),
    )
    with pytest.raises(SpecError, match="launcher.nodes: found 2") as caught:
        plain.check(experiment)
    assert '"local"' in str(caught.value)
