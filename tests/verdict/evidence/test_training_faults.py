"""Eleven faults of distributed training, each injected and each named; and no alarm in 100 trainings that are right.

The trainings are simulated (`tests/verdict/training_simulated.py`); the truth is which line of the trainer was changed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from fireassay.frames.record_data import RecordData
from fireassay.verdict.evidence.divergence import Diagnosis
from fireassay.verdict.evidence.gradient_faults import diagnose
from tests.tiers import some
from tests.verdict.training_simulated import RIGHT, Simulation, Trainer, contiguous, one_dropped, one_twice, padded, skewed

pytestmark = pytest.mark.torch
SAMPLES = 61

UNTOLD = replace(RIGHT, mean_of_means=True, tells_denominator=False)
FAULTS: dict[str, tuple[Trainer, str]] = {
    "unequal shards": (replace(RIGHT, mean_of_means=True), "unequal_shards"),
    "unequal shards, not told": (UNTOLD, "unequal_shards"),
    "skewed shards": (replace(RIGHT, shards=skewed, mean_of_means=True), "unequal_shards"),
    "skewed shards, not told": (replace(UNTOLD, shards=skewed), "unequal_shards"),
    "dropped shard": (replace(RIGHT, shards=one_dropped), "samples_lost"),
    "duplicated shard": (replace(RIGHT, shards=one_twice), "shard_read_twice"),
    "sampler padding": (replace(RIGHT, shards=padded, mean_of_means=True), "samples_duplicated_by_padding"),
    "no_sync left on": (replace(RIGHT, reduces=lambda name: False), "gradients_not_synchronised"),
    "seed mismatch": (replace(RIGHT, seeds=lambda rank: rank), "replica_seed_mismatch"),
    "same dropout, declared": (replace(RIGHT, dropout=0.1, states=lambda rank: 100, declares="different"), "same_random_numbers"),
    "same dropout": (replace(RIGHT, dropout=0.1, states=lambda rank: 100), "same_random_numbers"),
    "one parameter unreduced": (replace(RIGHT, passes=2, reduces=lambda name: name != "6.bias"), "parameter_not_reduced"),
}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads of a small product wait for each other longer than they work."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def trained(trainer: Trainer, workers: int, *, dtype: str = "float32", samples: int = SAMPLES) -> RecordData:
    """One worker, right, and so many, as the trainer does it."""
    made = Simulation(levels=(1, workers), samples=samples, dtype=dtype)
    made.launch(replace(RIGHT, dropout=trainer.dropout, declares=trainer.declares, passes=trainer.passes), workers=1)
    made.launch(trainer, workers=workers)
    return made.made.measured()


def named(measured: RecordData, workers: int) -> Diagnosis:
    found = diagnose(measured)
    assert found["workers=1"] is None
    diagnosis = found[f"workers={workers}"]
    assert diagnosis is not None
    return diagnosis


@pytest.mark.parametrize("workers", [2, 3, 4])
@pytest.mark.parametrize("fault", sorted(FAULTS))
@pytest.mark.parametrize("dtype", some(["float32", "float64"]))
def test_a_fault_gets_its_name(fault: str, workers: int, dtype: str) -> None:
    trainer, name = FAULTS[fault]
    if fault == "sampler padding" and SAMPLES % workers == 0:
        pytest.skip("nothing to pad")
    diagnosis = named(trained(trainer, workers, dtype=dtype), workers)
    assert diagnosis.fault == name, diagnosis
    assert diagnosis.severity == ("warning" if fault == "same dropout" else "fail")


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_a_fault_of_a_thousand_samples_gets_its_name(fault: str) -> None:
    trainer, name = FAULTS[fault]
    assert named(trained(trainer, 4, samples=1001), 4).fault == name


@pytest.mark.parametrize("workers", [2, 3, 4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("called", some(["1 / workers", "workers", "1 / accumulated batches", "accumulated batches"], 2))
def test_a_scaled_loss_is_named_with_its_factor(called: str, workers: int, dtype: str) -> None:
    passes = 5  # so that no two factors are equal
    factor = {"1 / workers": 1 / workers, "workers": workers, "1 / accumulated batches": 1 / passes}.get(called, passes)
    trainer = replace(RIGHT, scale=float(factor), passes=passes, tells_denominator=False)
    diagnosis = named(trained(trainer, workers, dtype=dtype), workers)
    assert diagnosis.fault == "gradient_scaled"
    assert f"which is {called}, and points the same way" in diagnosis.evidence


def test_a_scale_without_a_name_is_told_as_a_number() -> None:
    diagnosis = named(trained(replace(RIGHT, scale=1.7, tells_denominator=False), 2), 2)
    assert diagnosis.fault == "gradient_scaled"
    assert "is 1.7 times one worker's, and points" in diagnosis.evidence


def test_the_padded_samples_and_the_lost_ones_are_counted() -> None:
    assert "3 samples used more than once" in named(trained(FAULTS["sampler padding"][0], 4), 4).evidence  # 61 -> 64
    lost = named(trained(FAULTS["dropped shard"][0], 3), 3).evidence
    assert lost.startswith(f"{SAMPLES - sum(map(len, one_dropped(list(range(SAMPLES)), 3)))} of 61 samples used by no")
    assert "ranks 0 and 1 used the same samples" in named(trained(FAULTS["duplicated shard"][0], 3), 3).evidence


def test_a_weight_that_bfloat16_cannot_show_is_wrong_in_the_ledger() -> None:
    """N = 1001 on 4: 1 - 1001/(4 x 251) = 0.00299; in bfloat16 the gradients do not differ enough to be seen."""
    trainer = replace(RIGHT, mean_of_means=True)
    diagnosis = named(trained(trainer, 4, dtype="bfloat16", samples=1001), 4)
    assert (diagnosis.fault, diagnosis.layer) == ("unequal_shards", "ledger")
    assert "that is off by 0.00299" in diagnosis.evidence
    untold = diagnose(trained(replace(trainer, tells_denominator=False), 4, dtype="bfloat16", samples=1001))
    assert untold["workers=4"] is None


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_another_order_of_sums_is_rounding_and_no_fault(workers: int) -> None:
    made = Simulation(levels=(1, workers), blocks=2)
    order = random.Random(3)
    for block in range(2):
        made.launch(RIGHT, workers=1, block=block)
        made.launch(RIGHT, workers=workers, block=block, order=order)
    diagnosis = named(made.made.measured(), workers)
    assert diagnosis.fault == "nondeterministic_within_rounding"
    assert diagnosis.severity == "note"


def test_a_gradient_that_is_wrong_otherwise_is_said_to_differ() -> None:
    """A parameter that every rank zeroes: no ledger and no hash shows it."""
    made = Simulation(levels=(1, 2), dtype="float64")
    made.launch(RIGHT, workers=1)
    made.launch(RIGHT, workers=2)
    made.made.rows["gradients"] = [
        (*row[:8], [0.0] * len(row[8]), *row[9:]) if row[0] == 1 and row[4] == "2.bias" else row for row in made.made.rows["gradients"]
    ]
    diagnosis = named(made.made.measured(), 2)
    assert (diagnosis.fault, diagnosis.severity) == ("gradient_differs", "fail")
    assert "the gradient of 2.bias" in diagnosis.evidence


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_gradients_that_are_averaged_in_half_precision_are_said_to_be(kind: str) -> None:
    import torch

    made = Simulation(levels=(1, 2))
    made.launch(RIGHT, workers=1)
    made.launch(RIGHT, workers=2)
    made.made.rows["gradients"] = [
        (*row[:8], torch.tensor(row[8]).to(getattr(torch, kind)).tolist(), *row[9:]) if row[0] == 1 else row
        for row in made.made.rows["gradients"]
    ]
    diagnosis = named(made.made.measured(), 2)
    assert (diagnosis.fault, diagnosis.severity) == ("reduced_in_less_precision", "warning")
    assert diagnosis.evidence.endswith(f"the ranks' gradients were averaged in {kind}")


def test_dropout_that_differs_is_no_fault_and_its_gradients_are_not_judged() -> None:
    right = replace(RIGHT, dropout=0.1)
    assert diagnose(trained(right, 3))["workers=3"] is None
    assert diagnose(trained(replace(right, declares="different"), 3))["workers=3"] is None
    alike = replace(right, declares="equal", states=lambda rank: 100)
    assert diagnose(trained(alike, 3, samples=60))["workers=3"] is None
    apart = named(trained(replace(right, declares="equal"), 3), 3)
    assert apart.fault == "random_numbers_differ"


def test_without_ids_a_scale_is_still_a_fault_and_another_gradient_is_not() -> None:
    blind = replace(RIGHT, tells_ids=False, tells_denominator=False)
    made = Simulation(levels=(1, 2))
    made.launch(blind, workers=1)
    made.launch(replace(blind, scale=0.5), workers=2)
    assert named(made.made.measured(), 2).fault == "gradient_scaled"
    made = Simulation(levels=(1, 2))
    made.launch(blind, workers=1)
    made.launch(replace(blind, shards=skewed, mean_of_means=True), workers=2)
    assert named(made.made.measured(), 2).severity == "note"


def test_an_optimizer_that_averages_by_itself_is_no_fault() -> None:
    """The gradients that it gets are each rank's own, but the parameters stay equal."""
    made = Simulation(levels=(1, 2))
    made.launch(RIGHT, workers=1)
    number = made.launch(RIGHT, workers=2)
    made.made.rows["gradients"] = [
        (*row[:8], [x + 0.5 for x in row[8]], *row[9:]) if row[0] == number and row[1] == 1 else row for row in made.made.rows["gradients"]
    ]
    assert diagnose(made.made.measured())["workers=2"] is None


@pytest.mark.parametrize("tenth", some(range(10)))
def test_there_is_no_alarm_in_100_trainings_that_are_right(tenth: int) -> None:
    """Random numbers of workers, shards of any skew, orders of samples and sums, both precisions, accumulation or not."""
    for seed in range(10 * tenth, 10 * tenth + 10):
        numbers = random.Random(seed)
        workers, dtype = numbers.choice((2, 3, 4)), numbers.choice(("float32", "float64"))
        cuts = sorted(numbers.sample(range(1, SAMPLES), workers - 1))

        def cut(order: list[int], workers: int, cuts: list[int] = cuts) -> list[list[int]]:
            return [order[a:b] for a, b in zip([0, *cuts], [*cuts, len(order)], strict=True)] if workers > 1 else [order]

        trainer = replace(
            RIGHT, shards=numbers.choice((contiguous, cut)), passes=numbers.choice((1, 2)), tells_denominator=numbers.random() < 0.5
        )
        made = Simulation(levels=(1, workers), dtype=dtype)
        made.launch(replace(trainer, shards=contiguous), workers=1, order=numbers)
        made.launch(trainer, workers=workers, order=numbers)
        assert diagnose(made.made.measured()) == {"workers=1": None, f"workers={workers}": None}, seed
