"""The trainers broken on purpose leave the evidence that a verdict needs, through the real probe, with two workers.

They all change one thing of the good trainer, which they load through broken/digits.py.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.launched import Launched

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def broken(repository: Path, folder: Path, name: str, *, epochs: int = 1) -> Launched:
    launch = Launched(folder / "launch=0000")
    script = repository / "examples" / name
    done = launch.run(script, "--epochs", str(epochs), workers=2)
    assert done.returncode == 0, done.stderr
    return launch


def hashes(launch: Launched) -> dict[int, int]:
    """Step -> number of different parameter hashes over the two ranks."""
    found: dict[int, set[str]] = {}
    for row in launch.table("fingerprints").iter_rows(named=True):
        if row["what"] == "parameter_hash":
            found.setdefault(row["step"], set()).add(row["text"])
    return {step: len(texts) for step, texts in sorted(found.items())}


def uses(launch: Launched) -> Counter[int]:
    return Counter(id for ids in launch.table("samples")["ids"].to_list() for id in ids)


def test_another_seed_on_a_rank_shows_at_step_zero(repository: Path, tmp_path: Path) -> None:
    launch = broken(repository, tmp_path, "broken/seed_mismatch.py")
    assert hashes(launch) == {0: 2, 1: 2, 2: 2, 4: 2, 5: 2}
    norms = [row for row in launch.table("fingerprints").iter_rows(named=True) if row["what"] == "grad_norm"]
    first = {row["value"] for row in norms if row["step"] == 0}
    assert len(norms) == 10
    assert len(first) == 1, "the averaged gradients agree, which is why only the hashes show this fault"


def test_gradients_that_are_never_averaged_show_after_the_first_step(repository: Path, tmp_path: Path) -> None:
    launch = broken(repository, tmp_path, "broken/unsynced.py")
    assert hashes(launch) == {0: 1, 1: 2, 2: 2, 4: 2, 5: 2}


def test_a_dropped_shard_shows_as_samples_that_nobody_used(repository: Path, tmp_path: Path) -> None:
    launch = broken(repository, tmp_path, "broken/dropped_shard.py")
    used = uses(launch)
    assert set(used.values()) == {1}
    assert len(used) == 5 * 2 * (256 // 3)  # two of three shards of 85 in each of five batches; 430 of 1280 are lost
    assert set(hashes(launch).values()) == {1}


def test_padding_shows_as_a_sample_used_twice(repository: Path, tmp_path: Path) -> None:
    launch = broken(repository, tmp_path, "broken/padding_duplicates.py")
    used = uses(launch)
    assert len(used) == 1277
    assert sorted(used.values())[-2:] == [1, 2]  # 1277 on two workers: one is repeated
    assert set(hashes(launch).values()) == {1}


def test_worse_accuracy_shows_in_the_scores_alone(repository: Path, tmp_path: Path) -> None:
    launch = broken(repository, tmp_path, "broken/worse_accuracy.py", epochs=4)
    examples = launch.table("examples")
    assert examples.height == 517
    assert examples["score"].mean() < 0.85  # the good trainer reaches 0.95 in as many epochs
    assert set(hashes(launch).values()) == {1}
    assert set(uses(launch).values()) == {4}
