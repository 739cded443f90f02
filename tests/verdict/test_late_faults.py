"""What is wrong beyond the first gradient gets its own name, on two ranks and on four; and nothing is found in 200 trainings that are
right.

The trainings are simulated (`tests/verdict/ranks_simulated.py`) and recorded by the real probe; each fault is one line of the trainer.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from fireassay.frames.record_data import RecordData
from fireassay.frames.training.correctness.later_gradients import compared_later
from fireassay.kinds.training.layers import layers
from fireassay.verdict.evidence import gradient_faults
from fireassay.verdict.evidence.gradient_faults import diagnose
from fireassay.verdict.judge import examine
from fireassay.verdict.judging import Evidence
from fireassay.verdict.types import Finding
from tests.tiers import some
from tests.verdict.ranks_simulated import Rank, Ranks, Trainer, adam, dropping, momentum, network, normalised, plain

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads of a small product wait for each other longer than they work."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def odd_rate(rank: Rank, _: int) -> None:
    if rank.workers > 1:
        rank.optimizer.param_groups[0]["lr"] *= 1 + rank.number


def rate_since_five(rank: Rank, step: int) -> None:
    if rank.workers > 1 and step == 5 and rank.last:
        rank.optimizer.param_groups[0]["lr"] *= 3


def restored(rank: Rank, _: int) -> None:
    """Rank 0 alone goes on with an older run's momentum."""
    import torch

    if rank.workers > 1 and rank.number == 0:
        for parameter in rank.model.parameters():
            parameter.grad = torch.ones_like(parameter)
        values = [parameter.detach().clone() for parameter in rank.model.parameters()]
        active, rank.probe.model.later_steps.armed = rank.probe.model.later_steps.armed, False  # type: ignore[union-attr]
        over, rank.probe.model.first_gradients.over = rank.probe.model.first_gradients.over, True  # type: ignore[union-attr]
        rank.optimizer.step()
        rank.probe.model.later_steps.armed = active  # type: ignore[union-attr]
        rank.probe.model.first_gradients.over = over  # type: ignore[union-attr]
        with torch.no_grad():
            for parameter, value in zip(rank.model.parameters(), values, strict=True):
                parameter.copy_(value)


def flipped(rank: Rank, step: int) -> None:
    """One bit of one weight, after the third step."""
    import torch

    if rank.workers > 1 and step == 2 and rank.last:
        with torch.no_grad():
            rank.model[-1].weight.view(torch.int32)[0, 1] ^= 1 << 22


def reloaded(rank: Rank, step: int) -> None:
    """All weights, on one rank."""
    import torch

    if rank.workers > 1 and step == 2 and rank.last:
        with torch.no_grad():
            for parameter in rank.model.parameters():
                parameter.mul_(0.5)


def evaluating(rank: Rank, step: int) -> None:
    if rank.workers > 1 and step == 4 and rank.number == 0:
        rank.model.eval()


RIGHT = Trainer()
PARTED = {
    "learning rate by rank": (replace(RIGHT, begins=odd_rate), "learning_rate_differs_by_rank"),
    "learning rate by rank, later": (replace(RIGHT, before=rate_since_five, steps=16), "learning_rate_differs_by_rank"),
    "state on rank 0 alone": (replace(RIGHT, begins=restored), "optimizer_states_differ"),
    "momentum on rank 0 alone": (replace(RIGHT, begins=restored, optimizer=momentum), "optimizer_states_differ"),
    "flipped weight": (replace(RIGHT, stepped=flipped), "parameters_changed_on_one_rank"),
    "flipped weight, momentum": (replace(RIGHT, stepped=flipped, optimizer=momentum), "parameters_changed_on_one_rank"),
    "flipped weight, no state": (replace(RIGHT, stepped=flipped, optimizer=plain), "parameters_changed_on_one_rank"),
    "model changed on one rank": (replace(RIGHT, stepped=reloaded), "parameters_changed_on_one_rank"),
    "model changed on one rank, no state": (replace(RIGHT, stepped=reloaded, optimizer=plain), "parameters_changed_on_one_rank"),
    "not synchronised later": (replace(RIGHT, reduces=lambda step: step < 3), "gradients_not_synchronised"),
    "not synchronised at all": (replace(RIGHT, reduces=lambda step: False), "gradients_not_synchronised"),
}
SILENT = {
    "no number at the end": (replace(RIGHT, loss=lambda rank, step, loss: float("nan") if step >= 6 else loss), "loss_not_finite", "fail"),
    "infinite for a step": (
        replace(RIGHT, loss=lambda rank, step, loss: float("inf") if (rank, step) == (1, 6) else loss),
        "loss_not_finite",
        "warning",
    ),
    "a rank that evaluates, dropout": (replace(RIGHT, model=dropping, before=evaluating), "mode_differs_by_rank", "fail"),
    "a rank that evaluates, statistics": (
        replace(RIGHT, model=normalised, before=evaluating, sends_buffers=True),
        "mode_differs_by_rank",
        "fail",
    ),
    "a rank that evaluates, no matter": (replace(RIGHT, before=evaluating), "mode_differs_by_rank", "note"),
    "statistics nobody sends": (replace(RIGHT, model=normalised, sends_buffers=False), "batch_statistics_drift", "warning"),
    "statistics without a wrapper": (replace(RIGHT, model=normalised), "batch_statistics_drift", "warning"),
    "scaled after the first step": (replace(RIGHT, scale=lambda step, workers: 1.0 / workers if step else 1.0), "gradient_scaled", "fail"),
    "scaled later": (replace(RIGHT, scale=lambda step, workers: float(workers) if step >= 4 else 1.0), "gradient_scaled", "fail"),
    "scaled later, clipped": (
        replace(RIGHT, scale=lambda step, workers: float(workers) if step >= 2 else 1.0, clip=0.05),
        "gradient_scaled",
        "fail",
    ),
    "clipped before the reduction": (replace(RIGHT, clip_locally=0.05), "clipped_before_reduction", "fail"),
    "clipped before the reduction, no matter": (replace(RIGHT, clip_locally=50.0), "clipped_before_reduction", "warning"),
}


@cache
def recorded(trainer: Trainer, workers: int, *, base: Trainer | None = None) -> RecordData:
    """One worker, right, and so many, as the trainer does it; the same record for the same training."""
    made = Ranks(levels=(1, workers))
    made.launch(base or trainer, workers=1)
    made.launch(trainer, workers=workers)
    return made.measured()


def right_beside(trainer: Trainer) -> Trainer:
    """The one worker of a record: its losses and its gradients are right."""
    return replace(trainer, scale=RIGHT.scale, clip_locally=None, loss=RIGHT.loss)


def found(measured: RecordData) -> list[Finding]:
    """Everything that is found about whether a training is right."""
    every = ("batch_statistics", "gradients", "losses", "modes", "replicas", "sample_weights", "samples", "training_state")
    return [one for name in every for one in examine(measured, name)]


@pytest.mark.parametrize("workers", some([2, 4]))
@pytest.mark.parametrize("fault", PARTED)
def test_what_parted_the_replicas_is_named(fault: str, workers: int) -> None:
    trainer, name = PARTED[fault]
    measured = recorded(trainer, workers, base=right_beside(trainer))
    (finding,) = found(measured)
    assert (finding.rule, finding.severity, finding.configuration) == (name, "fail", f"workers={workers}"), finding
    assert ("DDP" in finding.remedy) == (name == "gradients_not_synchronised")
    by_layer = {one.layer: one for one in layers(Evidence(data=measured, results={}, findings=(finding,), gates=()))[f"workers={workers}"]}
    assert by_layer["hashes"].state == "fail"
    assert finding.rule in by_layer["hashes"].sentence


@pytest.mark.parametrize("workers", some([2, 4]))
@pytest.mark.parametrize("fault", SILENT)
def test_what_passed_in_silence_is_named(fault: str, workers: int) -> None:
    trainer, name, severity = SILENT[fault]
    measured = recorded(trainer, workers, base=right_beside(trainer))
    (finding,) = found(measured)
    assert (finding.rule, finding.severity, finding.configuration) == (name, severity, f"workers={workers}"), finding


def evidence(fault: str, workers: int) -> str:
    trainer = (PARTED | {name: (one, rule) for name, (one, rule, _) in SILENT.items()})[fault][0]
    return found(recorded(trainer, workers, base=right_beside(trainer)))[0].evidence


def test_the_evidence_says_which_rank_which_step_and_which_values() -> None:
    assert "learning rate in step 0 of launch 1 is 0.001 on rank 0, 0.002 on rank 1;" in evidence("learning rate by rank", 2)
    assert "0.001 on ranks 0, 1, 2, 0.003 on rank 3;" in evidence("learning rate by rank, later", 4)
    assert "after 0 steps of launch 1 (rank 0 unlike the other 3), before the parameters do" in evidence("state on rank 0 alone", 4)
    flip = evidence("flipped weight", 4)
    assert flip.startswith("4.weight of 6 parameters is not the same on all ranks after 4 steps of launch 1 (rank 3 unlike the other 3)")
    assert "all were after 2, and the gradients of steps 2, 3 are equal" in flip
    assert "(rank" not in evidence("flipped weight", 2), "of two nobody can tell which"
    assert "nan on rank 0 in step 6 of launch 1, and not finite in 6 of 12 steps, including the last" in evidence("no number at the end", 2)
    assert "(rank 0: eval; ranks 1, 2, 3: train)" in evidence("a rank that evaluates, dropout", 4)
    assert "gradient of step 1 of launch 1 is 0.25 times one worker's, which is 1 / workers" in evidence("scaled after the first step", 4)
    assert "and was to clip to 0.05, and then all ranks stepped with the same" in evidence("clipped before the reduction", 2)


def right_at_random(numbers: random.Random) -> tuple[Trainer, int]:
    """Any training that is right."""
    model = numbers.choice((network, network, normalised, dropping))
    steps = numbers.choice((6, 8, 12))
    return Trainer(
        model=model,
        steps=steps,
        optimizer=numbers.choice((adam, momentum, plain)),
        seed=numbers.randrange(10**6),
        dtype=numbers.choice(("float32", "float32", "float64")),
        passes=numbers.choice((1, 1, 2)),
        clip=numbers.choice((None, 0.05, 10.0)),
        schedule=numbers.random() < 0.5,
        batch=numbers.choice((24, 48)),
        skips=tuple(numbers.sample(range(1, steps - 1), 2)) if numbers.random() < 0.3 else (),
        sends_buffers=True if model is normalised else numbers.choice((None, True, False)),
    ), numbers.choice((2, 3, 4))


@pytest.mark.parametrize("twentieth", some(range(20)))
def test_nothing_is_found_in_200_trainings_that_are_right(twentieth: int) -> None:
    """Batch normalisation that is sent, dropout, schedules, accumulation, clipping, steps that a scaler skips, shards."""
    for seed in range(10 * twentieth, 10 * twentieth + 10):
        numbers = random.Random(seed)
        trainer, workers = right_at_random(numbers)
        measured = recorded(trainer, workers)
        if numbers.random() < 0.2 and trainer.model is network:
            measured = sharded(measured, workers)
        assert [one for one in found(measured) if one.severity != "note"] == [], (seed, trainer)
        named = diagnose(measured)[f"workers={workers}"]
        assert named is None or named.severity == "note"


def sharded(measured: RecordData, workers: int) -> RecordData:
    """The record that fully_shard leaves: every rank tells of its own part, whose hashes and norms are its own."""
    import polars as pl

    prints, gradients = measured.table("fingerprints"), measured.table("gradients")
    parted = pl.col("launch") == 1
    renamed = {"parameter_hash": "parameter_shard_hash", "optimizer_hash": "optimizer_shard_hash"}
    own = pl.when(parted & pl.col("what").is_in([*renamed])).then(pl.col("text") + pl.col("rank").cast(pl.String))
    prints = prints.filter(~(parted & pl.col("what").is_in(["parameter_hashes", "parameter_names", "clip_norm", "clip_limit"])))
    prints = prints.with_columns(text=own.otherwise(pl.col("text")))
    prints = prints.with_columns(what=pl.when(parted).then(pl.col("what").replace(renamed)).otherwise(pl.col("what")))
    part = pl.when(parted).then(pl.col("rank")).otherwise(pl.col("part")).cast(pl.Int32)
    parts = pl.when(parted).then(workers).otherwise(pl.col("parts")).cast(pl.Int32)
    norm = pl.when(parted).then(pl.col("norm") / workers**0.5).otherwise(pl.col("norm"))
    sums = pl.when(parted).then(pl.col("sums").list.eval(pl.element() / workers)).otherwise(pl.col("sums"))
    tables = dict(measured.tables) | {
        "fingerprints": prints,
        "gradients": gradients.with_columns(part=part, parts=parts, norm=norm, sums=sums),
    }
    return RecordData(experiment=measured.experiment, manifest=measured.manifest, state="complete", sealed=True, tables=tables)


@pytest.mark.parametrize(
    ("scale", "unclipped", "spread", "turn", "name"),
    [
        (1.125, 1.125, 0.0384, 0.00941, None),  # measured: sound digits, four workers, step 30 of 60
        (0.9858, 1.0616, 0.0182, 0.00266, None),  # likewise, and what clipping makes of it
        (1.0616, 0.9858, 0.0182, 0.00266, None),
        (1.125, 1.125, 0.0384, math.nan, None),  # sharded: only the spread says how far they have parted
        (1.125, 1.125, 0.0001, 0.000001, "gradient_scaled"),  # nothing has parted: it is a factor
        (2.0, 2.0, 0.0384, 0.00941, "gradient_scaled"),
        (0.5, 0.5, 0.0384, 0.045, "gradient_scaled"),
        (0.25, 0.25, 0.0384, math.nan, "gradient_scaled"),
        (0.5, 1.01, 0.0001, 0.000001, "clipping_differs"),
    ],
)
def test_rounding_that_has_grown_is_no_factor(
    monkeypatch: pytest.MonkeyPatch, scale: float, unclipped: float, spread: float, turn: float, name: str | None
) -> None:
    """Two sound trainings part by rounding: their gradients turn, and grow or shrink about as much as they turn."""
    measured = replace(recorded(RIGHT, 4))  # a copy: a record keeps what was found in it
    later = next(one for one in compared_later(measured) if one.later.workers == 4 and one.later.step > 4)
    made = replace(later, scale=scale, unclipped=unclipped, spread=spread, turn=turn)
    monkeypatch.setattr(gradient_faults, "compared_later", lambda _: (made,))
    assert [one.rule for one in found(measured)] == ([name] if name else [])
