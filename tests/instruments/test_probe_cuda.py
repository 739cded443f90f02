"""GPU timing with a stand-in for torch.cuda: which events are recorded, and that nothing waits. It never saw a GPU."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from fireassay.clock import FakeClock
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink
from fireassay.steps import events
from fireassay.steps.reading import Steps


class Gpu:
    """A GPU that works off what it was given only when told to: `finish` lets everything queued so far complete."""

    def __init__(self) -> None:
        self.ms = 0.0  # GPU time at the end of the queue
        self.recorded = 0
        self.completed = 0
        self.synchronised = 0

    def work(self, ms: float) -> None:
        self.ms += ms

    def finish(self) -> None:
        self.completed = self.recorded


class Event:
    def __init__(self, gpu: Gpu) -> None:
        self._gpu = gpu

    def record(self) -> None:
        self._gpu.recorded += 1
        self._number, self._at = self._gpu.recorded, self._gpu.ms

    def query(self) -> bool:
        return self._gpu.completed >= self._number

    def synchronize(self) -> None:
        self._gpu.synchronised += 1
        self._gpu.finish()

    def elapsed_time(self, other: Event) -> float:
        assert self.query(), "elapsed_time of an event that has not completed would raise"
        assert other.query(), "elapsed_time of an event that has not completed would raise"
        return other._at - self._at


class Tensor:
    """A tensor on the GPU: reading it directly is an error."""

    is_cuda = True

    def __init__(self, gpu: Gpu, value: Any, is_cuda: bool = True) -> None:
        self._gpu, self.value, self.is_cuda = gpu, value, is_cuda
        self.shape, self.dtype = (), "float32"

    def detach(self) -> Tensor:
        return self

    def reshape(self, *_: object) -> Tensor:
        return self

    def copy_(self, other: Tensor, *, non_blocking: bool) -> None:
        assert non_blocking
        self.value = other.value

    def item(self) -> float:
        raise AssertionError("this would make the GPU wait")

    def tolist(self) -> Any:
        assert not self.is_cuda, "this would make the GPU wait"
        return self.value


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    gpu = Gpu()

    def pinned(shape: object, *, dtype: object, pin_memory: bool) -> Tensor:
        assert pin_memory
        return Tensor(gpu, None, is_cuda=False)

    cuda = SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True, Event=lambda enable_timing=False: Event(gpu))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda, empty=pinned, Tensor=type("Tensor", (), {})))
    return gpu


def recorder() -> tuple[Recorder, MemorySink]:
    sink = MemorySink()
    identity = Identity(launch=0, rank=0, workers=1, incarnation=0, seed=0, host="here")
    return Recorder(identity, sink, now=FakeClock().now_ns), sink


def train(p: Recorder, gpu: Gpu, steps: int) -> None:
    for _ in p.steps(range(steps)):
        with p.phase("forward"):
            gpu.work(2)
        with p.phase("backward"):
            gpu.work(3)
            with p.phase("optimizer"):
                gpu.work(1)
        gpu.work(10)  # unmarked
        p.log(loss=Tensor(gpu, 0.5))
        p.samples(Tensor(gpu, [1, 2]))


def test_phases_are_read_from_events_after_they_completed_and_the_loop_never_waits(gpu: Gpu) -> None:
    p, sink = recorder()
    train(p, gpu, 3)
    assert sink.of("steps") == []  # the GPU has not done anything yet
    assert gpu.synchronised == 0
    gpu.finish()
    train(p, gpu, 1)
    assert [row[3] for row in sink.of("steps")] == [0, 1, 2]
    assert gpu.synchronised == 0
    p.close()
    assert [row[3] for row in sink.of("steps")] == [0, 1, 2, 3]
    assert {row[7:10] for row in sink.of("steps")} == {(2_000_000, 3_000_000, 1_000_000)}
    assert {row[-1] for row in sink.of("steps")} == {"cuda_event"}


def test_losses_and_sample_ids_on_the_gpu_are_copied_without_waiting(gpu: Gpu) -> None:
    p, sink = recorder()
    train(p, gpu, 2)
    assert sink.of("fingerprints") == []
    p.close()
    assert [row[3:6] for row in sink.of("fingerprints")] == [(0, "loss", 0.5), (1, "loss", 0.5)]
    assert [row[3:] for row in sink.of("samples")] == [(0, 0, [1, 2]), (0, 1, [1, 2])]


def test_an_evaluation_inside_a_phase_is_cut_out_of_its_gpu_time(gpu: Gpu) -> None:
    p, sink = recorder()
    for _ in p.steps(range(1)):
        with p.phase("forward"):
            gpu.work(2)
            with p.evaluation(), p.phase("forward"):
                gpu.work(100)
            gpu.work(1)
    p.close()
    assert [row[7] for row in sink.of("steps")] == [3_000_000]


def test_unmarked_steps_stay_null_on_a_gpu(gpu: Gpu) -> None:
    p, sink = recorder()
    for _ in p.steps(range(2)):
        gpu.work(5)
    p.close()
    assert {row[7:10] for row in sink.of("steps")} == {(None, None, None)}


def test_an_error_of_the_gpu_ends_the_recording_and_is_left_to_the_training_to_raise(gpu: Gpu, capfd: pytest.CaptureFixture[str]) -> None:
    p, _ = recorder()
    turns = 0

    def broken(self: Event) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    with pytest.MonkeyPatch.context() as patch:
        for _ in p.steps(range(3)):
            patch.setattr(Event, "record", broken)
            with p.phase("forward"):
                turns += 1
    assert turns == 3
    assert not p.active
    assert capfd.readouterr().err.count("illegal memory access") == 1


def test_a_watched_model_in_host_memory_is_timed_by_the_host_even_if_cuda_was_started(gpu: Gpu) -> None:
    p, sink = recorder()
    weight = SimpleNamespace(device=SimpleNamespace(type="cpu"), numel=lambda: 3)
    p.watch(SimpleNamespace(parameters=lambda: [weight], named_parameters=lambda: [("weight", weight)], modules=list))
    for _ in p.steps(range(1)):
        with p.phase("forward"):
            pass
    assert [row[-1] for row in sink.of("steps")] == ["monotonic"]


class Observed:
    """Hooks that see what a test tells them."""

    items, batches, updated = 4.0, 1, False

    def __init__(self, p: Recorder) -> None:
        self.events: list[Any] = []
        self.reader = Steps(p.rows)
        p.observe(self)

    def paused(self, now: int) -> None:
        self.events.append((events.PAUSE, now))

    def resumed(self, now: int, since: int | None, ns: int) -> None:
        self.events.append((events.RESUME, now, since, ns))

    def set_aside(self, ns: int, since: int | None = None) -> None:
        raise AssertionError("no other work")

    def expect_work(self) -> None: ...

    def silence(self) -> None: ...

    def read(self) -> None:
        some, self.events = self.events, []
        self.reader.read(some)

    read_before_writing = close = read


def test_a_gpu_that_is_started_after_the_first_batch_was_asked_for_is_timed_by_events(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks see the batch before the script moves its model; the first forward pass tells where the model is."""
    torch = sys.modules["torch"]
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    p, sink = recorder()
    hooks = Observed(p)
    hooks.events += [(events.BEGIN, p.begin_outside(), 0), (events.ASK, 5), (events.GOT, 9, (4.0, None, None, "iterator", []))]
    watch = SimpleNamespace(model=object(), device="cuda", hashed=1, due=lambda _: False)
    monkeypatch.setattr(p, "watch", lambda model: setattr(p.model, "watching", watch))
    p.watched(object())
    phases = p.phases_beside
    assert phases is not None
    with phases["forward"]:
        gpu.work(7)
    hooks.events.append((events.TURN, 20, p.turned(20), None, False))
    hooks.read()
    assert sink.of("steps") == [], "the GPU has not said yet how long its phases took"
    p.close()
    (row,) = sink.of("steps")
    assert (row[6], row[7], row[-1]) == (4, 7_000_000, "cuda_event")
    assert [kind for *_, kind, _, _, _ in sink.of("events")] == ["first_step", "worker_end"], "nothing failed"
