"""Scripts that know nothing of assay: what is seen of them, and that they do not notice."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fireassay.record.streams import to_batch
from fireassay.record.tables import TABLES
from tests import forked_ranks
from tests.instruments.corpus import RUNS
from tests.limits import TRAININGS_S

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.deep]


@dataclass(frozen=True)
class Truth:
    """What a script does, counted by hand: steps, those with data, passes without an optimizer, units of work, ids, evaluations."""

    steps: int
    data: int = 0  # steps in which a loader was asked
    items: int = 0
    ids: int = 0
    evaluations: int = 0  # followed by more training
    epochs: int = 1
    forward: int | None = None  # steps with a module's call, where not all


ALONE = {
    "plain_loop": Truth(steps=12, data=12, items=192, ids=192, evaluations=2, epochs=3),
    "accumulation": Truth(steps=6, data=6, items=96, ids=96),
    "mixed_precision": Truth(steps=10, data=10, items=80, ids=80),
    "closure": Truth(steps=6),
    "two_optimizers": Truth(steps=8, data=8, items=128, ids=128, epochs=2),
    "own_iterator": Truth(steps=10),
    "one_batch": Truth(steps=12, data=1, items=12 * 16, ids=16),
    "teacher": Truth(steps=16, data=16, items=128, ids=128, epochs=2),
    "compiled": Truth(steps=8, data=8, items=128, ids=128, epochs=2),
    "checkpointed": Truth(steps=6, data=6, items=48, ids=48),
    "hf_trainer": Truth(steps=8, data=8, items=64, ids=64, evaluations=1, epochs=2),
    "iterable": Truth(steps=10, data=10, items=80, evaluations=1),
    "stepped_by_closure": Truth(steps=6, data=6, items=48, ids=48),
    "with_accelerate": Truth(steps=8, data=8, items=128, ids=128, epochs=2),
}
if importlib.util.find_spec("lightning") is not None:  # the check before training, and the first epoch's
    ALONE["lightning_trainer"] = Truth(steps=16, data=16, items=128, ids=128, evaluations=2, epochs=2)
TOGETHER = {
    "ddp": Truth(steps=4, data=4, items=64, ids=64, epochs=2),
    "fsdp2": Truth(steps=4, data=4, items=32, ids=32),
    "by_hand": Truth(steps=8),
}
PHASES = ("data_ns", "forward_ns", "backward_ns", "optimizer_ns")


@dataclass(frozen=True)
class Seen:
    """What was recorded of a script on one rank."""

    rows: list[tuple[str, list[Any]]]

    def of(self, table: str) -> list[dict[str, Any]]:
        names = TABLES[table].column_names
        return [dict(zip(names, row, strict=True)) for name, row in self.rows if name == table]


def run(folder: Path, names: list[str], *, workers: int) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FIREASSAY_")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", *forked_ranks.command(workers, "tests.instruments.corpus", str(folder), *names)],
        env={**environment, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=TRAININGS_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alone")
    run(folder, list(ALONE), workers=1)
    return folder


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("together")
    run(folder, list(TOGETHER), workers=2)
    return folder


def seen(folder: Path, name: str, rank: int = 0) -> Seen:
    return Seen(json.loads((folder / f"{name}.rows.{rank}").read_text())["rows"])


def same_weights(folder: Path, name: str, ending: str = "") -> None:
    """Bit for bit, and the script itself gives the same twice: else the comparison would say nothing."""
    import torch

    bare, attached, again = (torch.load(folder / f"{name}.{run}{ending}", weights_only=True) for run in RUNS)
    assert equal(bare, again), "the script itself does not repeat"
    assert equal(bare, attached)


def equal(one: Any, other: Any) -> bool:
    import torch

    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(torch.equal(one, other))


def fits(found: Seen) -> set[str]:
    """Every row fits its table; the tables that have some."""
    tables = {name for name, _ in found.rows}
    for table in tables:
        assert to_batch(table, [tuple(row) for name, row in found.rows if name == table]) is not None
    return tables


def check(found: Seen, truth: Truth) -> None:
    steps = found.of("steps")
    assert [row["step"] for row in steps] == list(range(truth.steps))
    counts = {phase: sum(row[phase] is not None for row in steps) for phase in PHASES}
    assert counts == {"data_ns": truth.data, "forward_ns": truth.steps, "backward_ns": truth.steps, "optimizer_ns": truth.steps}
    assert sum(row["items"] or 0 for row in steps) == truth.items
    assert all(row["items"] is None for row in steps) == (truth.items == 0), "unknown work is null, never 0"
    samples = found.of("samples")
    assert sum(len(row["ids"]) for row in samples) == truth.ids
    for epoch in range(truth.epochs if truth.ids else 0):
        used = Counter(id for row in samples if row["epoch"] == epoch for id in row["ids"])
        assert set(used.values()) == {1}
        assert sum(used.values()) == truth.ids // truth.epochs
    assert sum(row["kind"] == "evaluation" for row in found.of("events")) == truth.evaluations
    assert len([row for row in found.of("fingerprints") if row["what"] == "loss"]) == truth.steps
    for row in steps:
        parts = sum(row[phase] or 0 for phase in (*PHASES, "checkpoint_ns"))
        assert 0 < parts <= row["end_ns"] - row["begin_ns"]
    for one, other in pairwise(steps):
        assert one["end_ns"] <= other["begin_ns"]


@pytest.mark.parametrize("name", ALONE)
def test_a_script_of_one_process_is_seen_and_does_not_notice(alone: Path, name: str) -> None:
    same_weights(alone, name)
    check(seen(alone, name), ALONE[name])
    assert "communication" not in fits(seen(alone, name))


@pytest.mark.parametrize("name", TOGETHER)
def test_a_script_of_two_ranks_is_seen_on_both_and_does_not_notice(together: Path, name: str) -> None:
    hashes = []
    for rank in (0, 1):
        same_weights(together, name, f".{rank}")
        found = seen(together, name, rank)
        check(found, TOGETHER[name])
        assert {"collectives", "communication", "waits"} <= fits(found)
        prints = [row for row in found.of("fingerprints") if row["what"] in ("parameter_hash", "parameter_shard_hash")]
        assert [row["step"] for row in prints] == [step for step in (0, 1, 2, 4, 8) if step <= TOGETHER[name].steps]
        hashes.append([row["text"] for row in prints])
    assert (hashes[0] == hashes[1]) == (name != "fsdp2"), "replicas agree, shards do not"
    first = [[(row["parameter"], row["sums"]) for row in seen(together, name, rank).of("gradients")] for rank in (0, 1)]
    assert first[0]
    assert (first[0] == first[1]) == (name != "fsdp2"), (
        "what the optimizer gets has been averaged, and is each rank's part of a sharded model"
    )


SIZES = {"plain_loop": 64, "accumulation": 96, "mixed_precision": 80, "teacher": 64, "checkpointed": 48, "hf_trainer": 32, "closure": None}


@pytest.mark.parametrize("name", SIZES)
def test_the_size_of_the_data_is_told_where_an_epoch_was_read_to_its_end(alone: Path, name: str) -> None:
    told = [row["value"] for row in seen(alone, name).of("fingerprints") if row["what"] == "dataset_size"]
    assert told == ([] if SIZES[name] is None else [SIZES[name]])


@pytest.mark.parametrize("name", ALONE)
def test_what_measuring_took_of_a_step_is_told(alone: Path, name: str) -> None:
    found = seen(alone, name)
    told = {row["counter"]: row["value"] for row in found.of("telemetry")}
    assert 0 < told["cost_per_step"] < sum(row["end_ns"] - row["begin_ns"] for row in found.of("steps"))
    assert 1 <= told["own_steps"] <= ALONE[name].steps
    assert told["memory_peak"] > 50e6


def test_the_loss_is_the_number_whose_gradients_were_asked_for(alone: Path) -> None:
    """Before the gradient scaler, and summed over the batches of a step."""
    scaled = [row["value"] for row in seen(alone, "mixed_precision").of("fingerprints") if row["what"] == "loss"]
    assert scaled[3] == float("inf")
    assert all(0 < value < 20 for place, value in enumerate(scaled) if place != 3)
    assert all(0 < row["value"] < 5 for row in seen(alone, "accumulation").of("fingerprints") if row["what"] == "loss")


@pytest.mark.parametrize("name", TOGETHER)
def test_every_collective_has_the_same_number_on_every_rank(together: Path, name: str) -> None:
    calls = [
        [(row["group"], row["call"], row["op"], row["bytes"]) for row in seen(together, name, rank).of("collectives")] for rank in (0, 1)
    ]
    assert sorted(calls[0]) == sorted(calls[1])
    wanted = {"ddp": "all_reduce", "by_hand": "all_reduce", "fsdp2": "reduce_scatter"}[name]
    assert sum(op == wanted for _, _, op, _ in calls[0]) >= TOGETHER[name].steps
    for row in seen(together, name).of("collectives"):
        assert row["end_ns"] is None or row["end_ns"] >= row["begin_ns"]


def test_exposed_communication_is_part_of_its_step_and_told_by_two_methods_or_three(together: Path) -> None:
    found = seen(together, "ddp")
    steps = {row["step"]: row for row in found.of("steps")}
    told = {(row["step"], row["method"]): row for row in found.of("communication")}
    assert {method for _, method in told} == {"engine", "group", "ddp_logging"}
    for step, row in steps.items():
        assert 0 <= row["exposed_comm_ns"] <= row["backward_ns"]
        assert told[step, "group"]["exposed_ns"] == row["exposed_comm_ns"]
        assert told[step, "group"]["total_ns"] > 0


@pytest.mark.parametrize("name", TOGETHER)
def test_what_communication_took_is_told_by_phase_and_is_part_of_it(together: Path, name: str) -> None:
    for rank in (0, 1):
        found = seen(together, name, rank)
        steps, waits = {row["step"]: row for row in found.of("steps")}, found.of("waits")
        assert {row["step"] for row in waits if row["phase"] == "backward"} == set(steps)
        for row in waits:
            assert min(row["asking_ns"], row["waiting_ns"]) >= 0
            if row["phase"] != "between":
                assert row["asking_ns"] + row["waiting_ns"] <= steps[row["step"]][f"{row['phase']}_ns"]
        # who reduces by hand does so after the backward pass, in no phase
        assert any(row["phase"] == "between" for row in waits) == (name == "by_hand")


@pytest.mark.parametrize(
    ("name", "flops"),
    [
        ("plain_loop", 2 * 16 * (2 * 8 * 16 + 3 * 16 * 3)),  # the first layer needs no gradient of its input
        ("accumulation", 4 * 2 * 4 * 2 * 8),
        ("ddp", 2 * 2 * 8 * (2 * 8 * 16 + 3 * 16 * 3)),
        ("fsdp2", 2 * 8 * (2 * 8 * 16 + 3 * 16)),
    ],
)
def test_the_operations_of_a_step_are_those_of_its_products(alone: Path, together: Path, name: str, flops: int) -> None:
    """Batch x 2 x weights for the forward pass, as much again for each gradient; the other ranks the same."""
    (told,) = [row for row in seen(alone if name in ALONE else together, name).of("events") if row["kind"] == "flops"]
    assert told["value"] == flops, told["detail"]


def test_a_compiled_script_is_not_counted_and_says_why(alone: Path) -> None:
    (told,) = [row for row in seen(alone, "compiled").of("events") if row["kind"] == "flops"]
    assert told["value"] is None
    assert "torch.compile" in told["detail"]
