"""Ctrl-C on the command line: once ends the launch in its own way, twice at once; either way the next step is told."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fireassay.launchers.support import supervisor
from fireassay.record.reader import open_record
from tests.survival.harness import DEADLINE_S, wait_for

STUBBORN = """\
import signal, time
from pathlib import Path
signal.signal(signal.SIGTERM, lambda *_: Path("asked").touch())
Path("ready").touch()
while True:
    time.sleep(0.1)
"""


@pytest.mark.survival
@pytest.mark.parametrize(("grace_s", "presses"), [(0.5, 1), (3600, 2)])
def test_ctrl_c_ends_a_script_that_does_not_want_to_end(tmp_path: Path, grace_s: float, presses: int) -> None:
    (tmp_path / "train.py").write_text(STUBBORN)
    (tmp_path / "stubborn.toml").write_text(
        'name = "stubborn"\nworkload = { script = "train.py" }\nfactor = { levels = [1] }\nlauncher = { kind = "plain" }\n'
        f"limits = {{ grace_s = {float(grace_s)} }}\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "fireassay", "run", "stubborn.toml"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for((tmp_path / "ready").exists, "the script")
    process.send_signal(signal.SIGINT)
    wait_for((tmp_path / "asked").exists, "the question whether it would end")
    for _ in range(presses - 1):
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=DEADLINE_S)

    [record] = (tmp_path / "records").iterdir()
    assert process.returncode == 130
    assert supervisor.marked(f"{record.name}.") == []
    assert out == ""
    assert "[1/5] workers=1 round 0 aborted after " in err
    told = "".join(line for line in err.splitlines(keepends=True) if not line.startswith(("note: ", "record ", "[1/5]")))
    assert told == f"assay: stopped by Ctrl-C; measured data are kept. Continue with:\n\n    assay resume records/{record.name}\n"
    assert open_record(record).state == "interrupted"
    assert open_record(record).table("launches")["reason"].to_list() == ["stopped by Ctrl-C"]
