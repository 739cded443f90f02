"""Which gradients are kept: those that the optimizer gets in its first step, before they are clipped, and once."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink
from fireassay.record.tables import TABLES

pytestmark = pytest.mark.torch
COLUMNS = TABLES["gradients"].column_names


def recorder(incarnation: int = 0) -> tuple[Recorder, MemorySink]:
    sink = MemorySink()
    who = Identity(launch=0, rank=0, workers=1, incarnation=incarnation, seed=0, host="here")
    return Recorder(who, sink), sink


def kept(sink: MemorySink) -> dict[str, dict[str, Any]]:
    """Those of the first step that has any; later steps have others (`test_later_steps.py`)."""
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in sink.of("gradients")]
    rows = [row for row in rows if row["step"] == min(one["step"] for one in rows)]
    assert len({row["parameter"] for row in rows}) == len(rows), "once"
    return {row["parameter"]: row for row in rows}


def train(p: Recorder, model: Any, update: Callable[[Any], None], *, steps: int = 3, passes: int = 1) -> Any:
    """Train on ones; what the optimizer got in the first step, by hand."""
    import torch

    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    got: dict[str, Any] = {}
    for step in p.steps(range(steps)):
        optimizer.zero_grad()
        for _ in range(passes):
            model(torch.ones(4, 3)).square().mean().backward()
        if step == 0:
            got = {name: one.grad.clone() for name, one in model.named_parameters() if one.grad is not None}
        update(optimizer)
    return got


def linear() -> Any:
    import torch

    torch.manual_seed(0)
    return torch.nn.Linear(3, 2)


def test_the_gradients_of_the_first_step_are_kept_whole() -> None:
    p, sink = recorder()
    model = linear()
    p.watch(model)
    right = train(p, model, lambda optimizer: optimizer.step(), passes=2)
    p.close()
    found = kept(sink)
    assert {name: row["sums"] for name, row in found.items()} == {name: one.double().flatten().tolist() for name, one in right.items()}
    assert {row["step"] for row in found.values()} == {0}
    assert {row["precision"] for row in found.values()} == {"float32"}


def test_they_are_kept_before_they_are_clipped() -> None:
    import torch

    p, sink = recorder()
    model = linear()
    p.watch(model)

    def clip_and_step(optimizer: Any) -> None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
        optimizer.step()

    right = train(p, model, clip_and_step)
    assert {name: row["sums"] for name, row in kept(sink).items()} == {name: one.double().flatten().tolist() for name, one in right.items()}


def touched() -> tuple[Any, ...]:
    import torch

    hooks = importlib.import_module("torch.optim.optimizer")._global_optimizer_pre_hooks
    return torch.nn.utils.clip_grad._clip_grads_with_norm_, torch.autocast.__enter__, len(hooks)


def test_what_was_touched_is_as_it_was_after_the_first_step_but_for_what_later_steps_need_and_all_after_the_end() -> None:
    import torch

    gc.collect()  # recorders of other tests would take their hooks out in the middle of this one
    before = touched()
    p, _ = recorder()
    model = linear()
    p.watch(model)
    assert touched()[1:] == (touched()[1], before[2] + 2)
    assert torch.autocast.__enter__ is not before[1]
    train(p, model, lambda optimizer: optimizer.step(), steps=1)
    assert touched()[1:] == (before[1], before[2] + 1)
    p.watch(model)
    p.watch(model)
    p.close()
    assert touched() == before


def test_a_hook_of_the_script_that_is_put_in_after_ours_ends_no_training() -> None:
    """torch goes through its hooks while they are called: taking one out then is an error in the script's own step."""
    import torch

    p, _ = recorder()
    model = linear()
    p.watch(model)
    seen: list[Any] = []
    own = importlib.import_module("torch.optim.optimizer").register_optimizer_step_pre_hook(lambda optimizer, *_: seen.append(optimizer))
    try:
        train(p, model, lambda optimizer: optimizer.step(), steps=3)
    finally:
        own.remove()
        p.close()
    assert len(seen) == 3
    assert isinstance(seen[0], torch.optim.SGD)


def test_an_optimizer_of_another_model_is_not_the_moment() -> None:
    import torch

    p, sink = recorder()
    model, other = linear(), linear()
    p.watch(model)
    another = torch.optim.SGD(other.parameters(), lr=0.5)
    other(torch.ones(1, 3)).sum().backward()
    another.step()
    torch.nn.utils.clip_grad_norm_(other.parameters(), 1.0)
    assert not kept(sink)
    train(p, model, lambda optimizer: optimizer.step(), steps=1)
    assert kept(sink)


@pytest.mark.parametrize("inside", [True, False])
def test_the_precision_is_that_of_the_computing(inside: bool) -> None:
    import torch

    p, sink = recorder()
    model = linear()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    if not inside:
        p.watch(model)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        if inside:
            p.watch(model)
        loss = model(torch.ones(4, 3)).float().square().mean()
    loss.backward()
    optimizer.step()
    assert {row["precision"] for row in kept(sink).values()} == {"bfloat16"}


def test_gradients_can_be_told_instead() -> None:
    import torch

    from fireassay.instruments.fingerprints.gradient_sketch import from_adam

    p, sink = recorder()
    model = linear()
    p.watch(model)
    optimizer = torch.optim.Adam(model.parameters())
    for step in p.steps(range(2)):
        optimizer.zero_grad()
        model(torch.ones(4, 3)).square().mean().backward()
        right = {name: one.grad.clone() for name, one in model.named_parameters() if one.grad is not None}
        if step == 0:
            with torch.no_grad():
                p.model.leave()
                optimizer.step()
                p.gradients(from_adam(optimizer, model))
            first = right
    found = kept(sink)
    for name, one in first.items():
        assert found[name]["sums"] == pytest.approx(one.double().flatten().tolist(), rel=1e-6)


def test_a_run_that_goes_on_has_no_first_gradient() -> None:
    p, sink = recorder(incarnation=1)
    model = linear()
    p.watch(model)
    train(p, model, lambda optimizer: optimizer.step())
    assert not kept(sink)


def test_the_time_is_the_probes_and_not_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that moves only while gradients are kept: the step's pause is that time, and so is what hashing cost."""
    sink, clock = MemorySink(), [0]
    who = Identity(launch=0, rank=0, workers=1, incarnation=0, seed=0, host="here")
    p = Recorder(who, sink, now=lambda: clock[0])

    def slow(*_: Any) -> list[Any]:
        clock[0] += 1000
        return []

    monkeypatch.setattr("fireassay.instruments.fingerprints.gradient_sketch.rows", slow)
    for _ in p.steps(range(1)):
        with p.phase("optimizer"):
            p.gradients({})
    p.close()
    (step,) = (dict(zip(TABLES["steps"].column_names, row, strict=True)) for row in sink.of("steps"))
    assert (step["checkpoint_ns"], step["optimizer_ns"]) == (1000, 0)
    assert [row[5] for row in sink.of("telemetry") if row[4] == "hash_total"] == [1000.0]


def test_what_cannot_be_kept_ends_neither_the_training_nor_the_recording(capsys: pytest.CaptureFixture[str]) -> None:
    p, sink = recorder()
    p.gradients({"w": "no tensor"})
    assert p.active
    assert "not compared with one worker's" in capsys.readouterr().err
    p.log(loss=1.0)
    assert sink.of("fingerprints")


def test_the_state_of_generators_and_optimizers_is_hashed_and_left_alone() -> None:
    import torch

    p, sink = recorder()
    model = torch.nn.Sequential(linear(), torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(2))
    p.watch(model, random="different")
    before = torch.get_rng_state()
    for _ in p.steps(range(1)):
        pass
    assert torch.equal(torch.get_rng_state(), before)
    said = {(row[3], row[4]): row[5] if row[6] is None else row[6] for row in sink.of("fingerprints")}
    assert said[0, "random_layers"] == 1.0
    assert said[0, "batch_layers"] == 1.0
    assert said[0, "random_state"] == "different"
    assert said[0, "random_hash"] == said[1, "random_hash"]
    assert (1, "optimizer_hash") not in said, "no optimizer has stepped"
    train(p, model, lambda optimizer: optimizer.step(), steps=3)
    p.close()
    said = {(row[3], row[4]): row[6] for row in sink.of("fingerprints")}
    assert said[2, "random_hash"] != said[1, "random_hash"], "dropout has drawn"
    assert (4, "optimizer_hash") in said


@pytest.mark.parametrize("kind", ["Adam", "LBFGS", "SGD"])
def test_the_hash_of_an_optimizer_sees_every_number_of_its_state(kind: str) -> None:
    import torch

    from fireassay.instruments.fingerprints.model_hash import optimizer_hash

    def made(nudge: float) -> str:
        model = linear()
        words: dict[str, Any] = {"momentum": 0.9} if kind == "SGD" else {}
        optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.1, **words)

        def loss() -> Any:
            optimizer.zero_grad()
            value = (model(torch.ones(4, 3)) + nudge).square().mean()
            value.backward()
            return value

        optimizer.step(loss)
        what, text = optimizer_hash(optimizer)
        assert what == "optimizer_hash"
        return text

    assert made(0.0) == made(0.0)
    assert made(0.0) != made(1e-3)


@pytest.mark.parametrize(
    ("script", "precision", "batches"),
    [
        ("accumulation", "float32", 4),
        ("mixed_precision", "bfloat16", 1),
        ("two_optimizers", "float32", 1),
        ("own_iterator", "float32", None),
    ],
)
def test_unmodified_scripts_leave_their_first_gradients(
    script: str, precision: str, batches: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.instruments.corpus import SCRIPTS, attached

    monkeypatch.setenv("WEIGHTS", str(tmp_path / "weights"))
    _, sink = attached(SCRIPTS / f"{script}.py")
    found = kept(sink)
    assert {row["precision"] for row in found.values()} == {precision}
    assert all(row["norm"] > 0.0 for row in found.values())
    told = [row[5] for row in sink.of("fingerprints") if row[4] == "accumulation"]
    assert told == ([] if batches is None else [float(batches)])


def test_of_a_model_on_a_gpu_both_generators_are_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the GPU's generator."""
    import torch

    from fireassay.instruments.fingerprints.model_hash import random_hashes

    state = [torch.zeros(16, dtype=torch.uint8)]
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda: state[0])
    before = dict(random_hashes("cuda"))
    state[0] = torch.ones(16, dtype=torch.uint8)
    after = dict(random_hashes("cuda"))
    assert before.keys() == {"random_hash", "random_hash_host"}
    assert before["random_hash"] != after["random_hash"]
    assert before["random_hash_host"] == after["random_hash_host"] == dict(random_hashes("cpu"))["random_hash"]
    assert dict(random_hashes("mps")) == {}
