"""Do the examples of docs/how-to/read-a-record.md run, and do all readers give the same answer?"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fireassay.clock import FakeClock
from fireassay.record.folder import create
from fireassay.record.seal import verify
from fireassay.record.writer import StreamWriter
from tests.docs.blocks import Block, blocks
from tests.limits import PROCESS_S
from tests.record.making import experiment, launch_row

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "read-a-record.md"
MS = 1_000_000
# Steps last 1, 2, 3, 4 and 5 times these milliseconds on each rank; the mean is 3 times those of the slowest rank.
RANKS = (("workers=1", "timed", (8,)), ("workers=2", "timed", (4, 5)), ("workers=2", "fault", (90, 90)))
ANSWER = ["workers=1 24.0", "workers=2 15.0"]


def make(root: Path) -> Path:
    """A sealed record with one launch of each configuration and one under a fault, written by one stream per rank."""
    folder = create(root, experiment(), "plan-1", clock=FakeClock())
    for launch, (configuration, role, ranks) in enumerate(RANKS):
        row = list(launch_row(launch))
        row[3], row[4], row[7] = configuration, len(ranks), role
        folder.writer(launch).append("launches", tuple(row))
        for rank, ms in enumerate(ranks):
            writer = StreamWriter(folder.launch_folder(launch), f"rank={rank}.inc=0.pid={rank + 1}")
            for step in range(5):
                begin, end = step * 100 * MS, (step * 100 + (step + 1) * ms) * MS
                phases = (None, 40, None, None, None, None)
                writer.append("steps", (launch, rank, 0, step, begin, end, *phases, 8.0, "monotonic"))
            writer.close()
    folder.finish("complete")
    return folder.path


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which `records/` holds that record."""
    folder = tmp_path_factory.mktemp("page")
    assert verify(make(folder / "records")) == ()
    return folder


def run(block: Block, session: Path) -> str:
    program = [sys.executable, "-c"] if block.language == "python" else ["bash", "-euc"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [*program, block.text], cwd=session, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=PROCESS_S
    )
    assert done.returncode == 0, f"line {block.line}: {done.stderr}"
    return done.stdout


RUNNABLE = [block for block in blocks(PAGE) if block.language != "text"]


@pytest.mark.deep
@pytest.mark.parametrize("block", RUNNABLE, ids=lambda block: f"line {block.line}")
def test_every_block_runs_and_every_reader_gives_the_same_answer(block: Block, session: Path) -> None:
    if "ssh-keygen" in block.text and shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    said = run(block, session)
    if "configuration" in block.text:
        assert said.splitlines()[-2:] == ANSWER
    elif block.language == "sh":
        assert "INTACT" in said
        assert "manifest.json: OK" in said or "signed by me@example.org" in said


def test_the_page_shows_the_three_promised_readers_and_assays_own() -> None:
    text = "\n".join(block.text for block in RUNNABLE)
    for reader in ("import polars", "import duckdb", "import pandas", "fireassay.open("):
        assert reader in text
