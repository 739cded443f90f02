"""Sound trainings that were said to be wrong."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from fireassay.frames.training.parallel_evidence import hashes, uneven
from fireassay.verdict.judge import examine
from tests.launched import run as run_script
from tests.limits import TRAININGS_S
from tests.once import once
from tests.verdict.planted.judged import measured

TRAININGS = Path(__file__).with_name("trainings")
JOINED = {"join_four_short.py": 64, "join_one_short.py": 16}  # samples that rank 0 has less
AUDITED = ("batch_statistics", "gradients", "losses", "modes", "replicas", "sample_weights", "samples", "training_state", "uneven_steps")


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each on one and on two workers."""
    runs = [f"{TRAININGS / name}:{workers}" for name in JOINED for workers in (1, 2)]

    def train(folder: Path) -> None:
        done = run_script("-m", "tests.verdict.planted.several", folder, *runs, workers=2, limit_s=TRAININGS_S)
        assert done.returncode == 0, done.stderr[-4000:]

    return once(tmp_path_factory, "joined", train)


@pytest.mark.torch
@pytest.mark.deep
@pytest.mark.parametrize("name", JOINED)
def test_uneven_ranks_under_join_are_compared_at_the_start_and_at_the_end_only(name: str, joined: Path) -> None:
    """256 samples a rank in batches of 16, three epochs: 48 steps, and on rank 0 three times `short` / 16 less."""
    record = measured(joined, name, 2)
    assert uneven(record) == {1: (48 - 3 * JOINED[name] // 16, 48)}
    (finding,) = examine(record, *AUDITED)
    assert (finding.rule, finding.severity, finding.configuration) == ("uneven_steps", "note", "workers=2")
    compared = hashes(record).filter(pl.col("launch") == 1)
    assert compared["step"].to_list() == [0, 48]
    assert compared["agree"].all()
