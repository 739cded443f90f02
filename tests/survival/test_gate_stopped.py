"""A gate that is stopped: the base's tree is gone, what was measured is kept and said, and nothing goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fireassay.launchers.support import supervisor
from tests.cli.verbs.test_gate import git
from tests.survival.harness import DEADLINE_S, wait_for

STUBBORN = """\
import signal, time
from pathlib import Path
here = Path("WHERE")
signal.signal(signal.SIGTERM, lambda *_: (here / "asked").touch())
(here / "ready").touch()
while True:
    time.sleep(0.1)
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """main holds a script that does not want to end."""
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "work.py").write_text(STUBBORN.replace("WHERE", str(tmp_path)))
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "base")):
        git(folder, *words)
    return folder


def gate(folder: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "fireassay", "gate", "main", "--quiet", *words, "--", sys.executable, "work.py"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.survival
@pytest.mark.parametrize(
    ("first", "second", "why"), [(signal.SIGINT, signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, signal.SIGINT, "a termination signal")]
)
def test_a_stopped_gate_says_what_is_kept_and_leaves_no_tree(
    repository: Path, tmp_path: Path, first: signal.Signals, second: signal.Signals, why: str
) -> None:
    process = gate(repository)
    wait_for((tmp_path / "ready").exists, "the command")
    process.send_signal(first)
    wait_for((tmp_path / "asked").exists, "the question whether it would end")
    process.send_signal(second)
    out, err = process.communicate(timeout=DEADLINE_S)

    assert (process.returncode, out) == (130, "")
    assert f"stopped by {why}: undecided. What was measured is kept in records/gates" in " ".join(err.split())
    assert "resume" not in err
    records = sorted((repository / "records" / "gates").iterdir())
    assert [path.name.rsplit("-", 2)[0] for path in records] == ["work-base", "work-change"]
    assert [supervisor.marked(f"{path.name}.") for path in records] == [[], []]
    assert git(repository, "worktree", "list").count("\n") == 0


@pytest.mark.survival
def test_a_gate_that_is_stopped_while_it_sets_up_ends_what_it_started(repository: Path, tmp_path: Path) -> None:
    line = f"(sleep 0.1; echo $$ > {tmp_path}/setup; exec sleep {int(DEADLINE_S)}) & wait"
    process = gate(repository, "--setup", line)
    wait_for((tmp_path / "setup").exists, "the setup")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=DEADLINE_S / 2)  # much earlier than the setup would end
    assert process.returncode == 130
    assert "stopped by a termination signal" in err
    assert git(repository, "worktree", "list").count("\n") == 0
    assert not (repository / "records").exists()
