"""The digits example: the same training with and without assay, a complete ledger, and a restart that loses nothing."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from fireassay.record.live.progress import read_progress
from fireassay.spec.load import load
from tests.launched import Launched, run, started
from tests.limits import PROCESS_S
from tests.once import once

pytestmark = [pytest.mark.torch, pytest.mark.deep]

EPOCHS = 4  # of five steps: enough for one checkpoint, which holds the final weights


def weights(scratch: Path) -> dict[str, bytes]:
    import torch

    model = torch.load(scratch / "checkpoint.pt", weights_only=True)["model"]
    return {name: tensor.numpy().tobytes() for name, tensor in model.items()}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `digits_bare_and_recorded.py` filled."""

    def train_all(folder: Path) -> None:
        options = ("--epochs", str(EPOCHS), "--seed", "5")
        done = run("-m", "tests.examples.digits_bare_and_recorded", folder, *options, workers=2)
        assert done.returncode == 0, done.stderr

    return once(tmp_path_factory, "digits", train_all)


@pytest.fixture(scope="module")
def launch(trained: Path) -> Launched:
    """The recorded launch with two workers."""
    return Launched(trained / "launch=0002")


@pytest.mark.parametrize("workers", [1, 2])
def test_final_weights_are_bit_identical_with_and_without_assay(workers: int, trained: Path) -> None:
    assert weights(trained / f"bare-{workers}") == weights(trained / f"recorded-{workers}")
    recorded = Launched(trained / f"launch={workers:04}")
    assert recorded.table("steps").height == workers * EPOCHS * 5


def test_every_training_image_is_used_once_per_epoch_and_every_other_one_scored_once(launch: Launched) -> None:
    trained: set[int] = set()
    for epoch in range(EPOCHS):
        uses = Counter(id for row in launch.table("samples").iter_rows(named=True) if row["epoch"] == epoch for id in row["ids"])
        assert len(uses) == 1280
        assert set(uses.values()) == {1}
        trained = set(uses)
    scored = [int(id) for id in launch.table("examples")["example"]]
    assert len(scored) == len(set(scored)) == 517
    assert trained.isdisjoint(scored)


def test_replicas_are_equal_from_step_zero_and_every_phase_was_seen(launch: Launched) -> None:
    prints = launch.table("fingerprints")
    hashes = [row for row in prints.iter_rows(named=True) if row["what"] == "parameter_hash"]
    assert sorted({row["step"] for row in hashes}) == [0, 1, 2, 4, 8, 16, 20]
    assert len(hashes) == 2 * 7
    assert len({(row["step"], row["text"]) for row in hashes}) == 7
    assert {"parameter_hash", "parameters", "dataset_size", "loss", "grad_norm", "optimizer_hash"} <= set(prints["what"])
    steps = launch.table("steps")
    assert steps.select("data_ns", "forward_ns", "backward_ns", "optimizer_ns", "items").null_count().sum_horizontal()[0] == 0
    assert steps["items"].sum() == EPOCHS * 1280
    kinds = Counter(launch.table("events")["kind"])
    assert (kinds["checkpoint_save"], kinds["evaluation"], kinds["useful_work"], kinds["worker_end"]) == (2, 2, 1, 2)


@pytest.mark.deep
@pytest.mark.slow
def test_a_killed_worker_costs_steps_and_not_the_result(repository: Path, tmp_path: Path) -> None:
    launch = Launched(tmp_path / "launch=0000")
    launch.folder.mkdir()
    own = {"FIREASSAY_LAUNCH_DIR": str(launch.folder), "FIREASSAY_FLUSH_S": "0.05"}
    script = repository / "examples" / "digits" / "train.py"
    command = (script, "--epochs", "8", "--scratch", tmp_path / "scratch")  # 40 steps, with a checkpoint after 20
    with started(*command, workers=2, options=("--max-restarts", "2"), **own) as job:
        os.kill(_pid_after_steps(launch, 25), signal.SIGKILL)
        _, errors = job.communicate(timeout=PROCESS_S)
        assert job.returncode == 0, errors
    steps = launch.table("steps")
    again = steps.filter(steps["incarnation"] == 1)
    assert again["step"].min() == 20  # from the checkpoint before the kill
    assert again["step"].max() == 39
    losses: dict[tuple[int, int], set[float]] = {}
    for row in launch.table("fingerprints").iter_rows(named=True):
        if row["what"] == "loss":
            losses.setdefault((row["rank"], row["step"]), set()).add(row["value"])
    assert len(losses) == 2 * 40
    assert all(len(values) == 1 for values in losses.values()), "a step done again gave another loss"


def _pid_after_steps(launch: Launched, steps: int) -> int:
    """The process number of rank 1 once it has finished so many steps."""
    deadline = time.monotonic() + PROCESS_S
    while time.monotonic() < deadline:
        progress = read_progress(launch.folder / "progress" / "rank=1.bin")
        if progress is not None and progress.steps >= steps:
            return progress.pid
        time.sleep(0.002)
    raise AssertionError(f"rank 1 never finished {steps} steps")


def test_the_experiment_file_is_valid_and_its_script_is_there(repository: Path) -> None:
    experiment = load(repository / "examples" / "digits.toml")
    assert experiment.factor.levels == (1, 2, 4)
    assert all(256 % level == 0 for level in experiment.factor.levels)
    assert (repository / "examples" / experiment.workload.script).is_file()
    assert experiment.faults[0].levels == (2,)
