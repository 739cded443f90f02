"""The trainers broken on purpose leave the evidence that a verdict needs, and get the finding that names their fault.

Each is run here with two workers through the whole of assay, or, for the one whose fault is in its scores alone, through the
probe.  They all change one thing of the good trainer, which they load through broken/digits.py.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from assay.metrics.measured import Measured, from_record
from assay.record.reader import open_record
from assay.runners.base import run
from assay.verdict.diagnosis import diagnose
from assay.verdict.judge import judge
from tests.handmade import Handmade
from tests.launched import Launched
from tests.launched import run as run_script
from tests.records.make import experiment
from tests.verdict.test_broken_trainers import check

pytestmark = [pytest.mark.torch, pytest.mark.slow]

Tables = dict[str, pl.DataFrame]


def judged(repository: Path, folder: Path, script: str) -> Tables:
    """What the trainer left in its first epoch; its finding is the right one, and the only one."""
    name = Path(script).stem
    record = open_record(run(experiment(name, levels=(2,)), folder=repository, root=folder))
    check(name, judge(from_record(record)))
    return {"fingerprints": record.table("fingerprints"), "samples": record.table("samples").filter(epoch=0)}


def hashes(tables: Tables) -> dict[int, int]:
    """Step -> number of different parameter hashes over the two ranks."""
    found: dict[int, set[str]] = {}
    for row in tables["fingerprints"].iter_rows(named=True):
        if row["what"] == "parameter_hash":
            found.setdefault(row["step"], set()).add(row["text"])
    return {step: len(texts) for step, texts in sorted(found.items())}


def uses(tables: Tables) -> Counter[int]:
    return Counter(id for ids in tables["samples"]["ids"].to_list() for id in ids)


def test_another_seed_on_a_rank_shows_at_step_zero(repository: Path, tmp_path: Path) -> None:
    left = judged(repository, tmp_path, "broken/seed_mismatch.py")
    assert hashes(left) == {0: 2, 1: 2, 2: 2, 4: 2, 5: 2}
    norms = [row for row in left["fingerprints"].iter_rows(named=True) if row["what"] == "grad_norm"]
    first = {row["value"] for row in norms if row["step"] == 0}
    assert len(norms) == 10
    assert len(first) == 1, "the averaged gradients agree, which is why only the hashes show this fault"


def test_gradients_that_are_never_averaged_show_after_the_first_step(repository: Path, tmp_path: Path) -> None:
    left = judged(repository, tmp_path, "broken/unsynced.py")
    assert hashes(left) == {0: 1, 1: 2, 2: 2, 4: 2, 5: 2}


def test_a_dropped_shard_shows_as_samples_that_nobody_used(repository: Path, tmp_path: Path) -> None:
    left = judged(repository, tmp_path, "broken/dropped_shard.py")
    used = uses(left)
    assert set(used.values()) == {1}
    assert len(used) == 5 * 2 * (256 // 3)  # two of three shards of 85 in each of five batches; 430 of 1280 are lost
    assert set(hashes(left).values()) == {1}


def test_padding_shows_as_a_sample_used_twice(repository: Path, tmp_path: Path) -> None:
    left = judged(repository, tmp_path, "broken/padding_duplicates.py")
    used = uses(left)
    assert len(used) == 1277
    assert sorted(used.values())[-2:] == [1, 2]  # 1277 on two workers: one is repeated
    assert set(hashes(left).values()) == {1}


def test_worse_accuracy_shows_in_the_scores_alone(repository: Path, tmp_path: Path) -> None:
    launch = Launched(tmp_path / "launch=0000")
    done = launch.run(repository / "examples/broken/worse_accuracy.py", "--epochs", "4", workers=2)
    assert done.returncode == 0, done.stderr
    examples, left = launch.table("examples"), {name: launch.table(name) for name in ("fingerprints", "samples")}
    assert examples.height == 517
    assert examples["score"].mean() < 0.85  # the good trainer reaches 0.95 in as many epochs
    assert set(hashes(left).values()) == {1}
    assert set(uses(left).values()) == {4}


# ---- faults that show in the first gradient, beside one worker's: all trainers in one start of torch ------------------


SEVERAL = {
    "digits/train.py": None,
    "broken/scaled_loss.py": "gradient_scaled",
    "broken/unequal_shards.py": "unequal_shards",
    "broken/shard_read_twice.py": "shard_read_twice",
    "broken/same_dropout.py": "same_random_numbers",
    "broken/unreduced_parameter.py": "parameter_not_reduced",
}


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("several")
    done = run_script("-m", "tests.examples.several_trainers", folder, *SEVERAL, workers=2)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("script", SEVERAL)
def test_a_trainer_is_named_by_what_it_left_beside_one_worker(script: str, several: Path) -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    made.launch(workers=1)
    launch = Launched(several / f"launch={1 + list(SEVERAL).index(script):04d}")
    made.launch(workers=2)
    tables = dict(made.measured().tables)
    for name in ("steps", "samples", "fingerprints", "gradients"):
        own = launch.table(name).with_columns(launch=pl.lit(1, dtype=pl.Int32))
        tables[name] = pl.concat([Launched(several / "launch=0000").table(name), own])
    measured = Measured(
        experiment=made.experiment, manifest=made.manifest, state="complete", sealed=True, tables=tables
    )
    found = diagnose(measured)
    assert found["workers=1"] is None
    diagnosis = found["workers=2"]
    assert (None if diagnosis is None else diagnosis.fault) == SEVERAL[script], diagnosis
    if diagnosis is not None and diagnosis.fault == "gradient_scaled":
        assert "is 0.5 times one worker's, which is 1 / workers" in diagnosis.evidence
    if diagnosis is not None and diagnosis.fault == "parameter_not_reduced":
        assert diagnosis.evidence.startswith("the gradient of 8.bias is not the same")
