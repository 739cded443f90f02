"""The probe's recording, on a clock that stands still unless told otherwise. Column order: record/tables.py."""

from __future__ import annotations

import inspect
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from fireassay import probe
from fireassay.clock import FakeClock
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink, identity_from
from fireassay.probe import Probe
from fireassay.record.streams import to_batch
from fireassay.record.tables import TABLES

MS = 1_000_000


class Rig:
    """A recorder with a fake clock and rows kept in memory."""

    def __init__(self, rank: int = 0) -> None:
        self.clock = FakeClock(ns=1_000 * MS)
        self.sink = MemorySink()
        identity = Identity(launch=3, rank=rank, workers=2, incarnation=1, seed=11, host="here")
        self.p = Recorder(identity, self.sink, now=self.clock.now_ns)

    def spend(self, ms: float) -> None:
        self.clock.advance(ms / 1000)

    def rows(self, table: str) -> list[dict[str, Any]]:
        return [dict(zip(TABLES[table].column_names, row, strict=True)) for row in self.sink.of(table)]

    def loader(self, batches: int, wait_ms: float) -> Iterator[int]:
        for number in range(batches):
            self.spend(wait_ms)
            yield number


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_a_step_begins_before_its_batch_is_awaited_and_ends_when_the_next_is_asked_for(rig: Rig) -> None:
    for _ in rig.p.steps(rig.loader(2, wait_ms=2), epoch=4):
        for name, ms in (("forward", 5), ("backward", 7), ("optimizer", 1)):
            with rig.p.phase(name):
                rig.spend(ms)
        rig.spend(3)
    first, second = rig.rows("steps")
    assert (first["launch"], first["rank"], first["incarnation"], first["step"]) == (3, 0, 1, 0)
    assert first["begin_ns"] == 1_000 * MS
    assert first["end_ns"] - first["begin_ns"] == (2 + 5 + 7 + 1 + 3) * MS
    assert second["begin_ns"] == first["end_ns"]
    times = [first[f"{phase}_ns"] for phase in ("data", "forward", "backward", "optimizer")]
    assert times == [2 * MS, 5 * MS, 7 * MS, 1 * MS]
    assert first["method"] == "monotonic"


def test_what_was_not_marked_is_null_and_never_zero(rig: Rig) -> None:
    for _ in rig.p.steps(range(1)):
        with rig.p.phase("forward"):
            pass
    (step,) = rig.rows("steps")
    assert step["forward_ns"] == 0
    unseen = ("backward_ns", "optimizer_ns", "checkpoint_ns", "exposed_comm_ns", "items")
    assert [step[column] for column in unseen] == [None] * 5


def test_a_phase_inside_another_takes_its_time_away_from_the_outer(rig: Rig) -> None:
    for _ in rig.p.steps(range(1)):
        with rig.p.phase("backward"):
            rig.spend(4)
            with rig.p.phase("optimizer"):
                rig.spend(2)
            rig.spend(1)
    (step,) = rig.rows("steps")
    assert (step["backward_ns"], step["optimizer_ns"]) == (5 * MS, 2 * MS)


def test_phases_entered_several_times_in_a_step_add_up(rig: Rig) -> None:
    for _ in rig.p.steps(range(2)):
        for _ in range(3):  # three micro-batches
            with rig.p.phase("forward"):
                rig.spend(2)
    assert [step["forward_ns"] for step in rig.rows("steps")] == [6 * MS, 6 * MS]


def test_a_checkpoint_inside_a_step_is_a_pause_and_an_event(rig: Rig) -> None:
    for _ in rig.p.steps(range(2)):
        with rig.p.phase("optimizer"):
            rig.spend(1)
        with rig.p.checkpoint_save():
            rig.spend(9)
    first = rig.rows("steps")[0]
    assert (first["checkpoint_ns"], first["end_ns"] - first["begin_ns"]) == (9 * MS, 10 * MS)
    saved = [event for event in rig.rows("events") if event["kind"] == "checkpoint_save"]
    assert [(event["step"], event["duration_ns"]) for event in saved] == [(1, 9 * MS), (2, 9 * MS)]
    assert rig.sink.checkpoints == 2


def test_a_checkpoint_before_the_optimizer_of_its_step_holds_one_step_less(rig: Rig) -> None:
    for number in rig.p.steps(range(2)):
        if number == 1:
            with rig.p.checkpoint_save():
                rig.spend(1)
        with rig.p.phase("optimizer"):
            rig.spend(1)
    assert [event["step"] for event in rig.rows("events") if event["kind"] == "checkpoint_save"] == [1]


def test_evaluation_inside_a_step_is_not_training_and_neither_are_phases_marked_in_it(rig: Rig) -> None:
    for _ in rig.p.steps(range(1)):
        with rig.p.phase("forward"):
            rig.spend(2)
            with rig.p.evaluation():
                with rig.p.phase("forward"):  # the evaluation calls the same function
                    rig.spend(50)
                with rig.p.checkpoint_save():  # and keeps the best model: part of the one pause
                    rig.spend(5)
            rig.spend(1)
    (step,) = rig.rows("steps")
    assert (step["forward_ns"], step["checkpoint_ns"]) == (3 * MS, 55 * MS)
    assert step["end_ns"] - step["begin_ns"] - step["checkpoint_ns"] == 3 * MS


def test_a_checkpoint_that_raised_was_not_saved(rig: Rig) -> None:
    with pytest.raises(OSError, match="disk"), rig.p.checkpoint_save():
        raise OSError("disk full")
    assert rig.rows("events") == []
    assert rig.p.active


def test_steps_are_numbered_through_all_epochs_and_go_on_after_a_checkpoint(rig: Rig) -> None:
    for epoch in (2, 3):
        for _ in rig.p.steps(range(2), epoch=epoch, start=40):
            rig.p.samples([epoch])
    assert [step["step"] for step in rig.rows("steps")] == [40, 41, 42, 43]
    assert [(row["epoch"], row["step"]) for row in rig.rows("samples")] == [(2, 40), (2, 41), (3, 42), (3, 43)]
    assert rig.sink.steps == 44


@pytest.mark.parametrize(
    ("marks", "counted"),
    [
        (("forward", "backward", "optimizer"), 1),  # the break came after the optimizer: the step is finished
        (("forward",), 1),  # a script that never marks its optimizer: what was marked must do
        ((), 0),  # the loop was left before anything happened to the batch
    ],
)
def test_a_step_cut_by_break_counts_if_it_was_finished(rig: Rig, marks: tuple[str, ...], counted: int) -> None:
    for _ in rig.p.steps(range(5)):
        for name in marks:
            with rig.p.phase(name):  # type: ignore[arg-type]
                rig.spend(1)
        break
    rig.spend(1000)  # what comes after the loop is in no step
    rig.p.close()
    steps = rig.rows("steps")
    assert len(steps) == counted
    assert all(step["end_ns"] - step["begin_ns"] == len(marks) * MS for step in steps)


def test_a_step_cut_by_an_exception_before_its_optimizer_is_not_counted(rig: Rig) -> None:
    def training() -> None:
        for number in rig.p.steps(range(5)):
            with rig.p.phase("backward"):
                if number == 2:
                    raise RuntimeError("out of memory")
            with rig.p.phase("optimizer"):
                rig.spend(1)

    with pytest.raises(RuntimeError, match="out of memory"), rig.p:
        training()
    assert [step["step"] for step in rig.rows("steps")] == [0, 1]
    end = rig.rows("events")[-1]
    assert (end["kind"], json.loads(end["detail"])) == ("worker_end", {"error": "RuntimeError"})


def test_a_step_cut_by_a_failure_is_not_counted_where_no_optimizer_is_marked(rig: Rig) -> None:
    for number in rig.p.steps(range(5)):
        with rig.p.phase("forward"):
            rig.spend(1)
        if number == 2:
            rig.p.end("os._exit(1)")  # as a handler of SIGTERM does while other ranks are waited for
            break
    assert [step["step"] for step in rig.rows("steps")] == [0, 1]


@pytest.mark.parametrize("caught", [False, True])
def test_a_step_cut_by_an_exception_is_not_counted_where_no_optimizer_is_marked(rig: Rig, caught: bool) -> None:
    """The loop drops its iterator before anybody hears of the exception. One that the script catches does not end it."""

    def training() -> None:
        for number in rig.p.steps(range(5)):
            with rig.p.phase("forward"):
                rig.spend(1)
            if number == 2:
                raise RuntimeError("out of memory")

    def all_of_it() -> None:
        with rig.p:
            try:
                training()
            except RuntimeError:
                if not caught:
                    raise
            rig.spend(1000)

    if caught:
        all_of_it()
    else:
        with pytest.raises(RuntimeError, match="out of memory"):
            all_of_it()
    steps = rig.rows("steps")
    assert [step["step"] for step in steps] == ([0, 1, 2] if caught else [0, 1])
    assert all(step["end_ns"] - step["begin_ns"] == MS for step in steps)
    assert rig.sink.steps == len(steps)
    end = rig.rows("events")[-1]
    assert (end["kind"], end["step"]) == ("worker_end", len(steps))


def test_what_is_marked_after_a_loop_that_was_left_is_no_part_of_its_step(rig: Rig) -> None:
    """Steps are told in their order, before the checkpoint that holds them."""
    for start in (0, 10):
        for _ in rig.p.steps(range(5), start=start):
            with rig.p.phase("forward"):
                rig.spend(1)
            break
        rig.spend(50)
        rig.p.example("a", 1.0)
        with rig.p.phase("forward"):
            rig.spend(50)
        with rig.p.checkpoint_save():
            rig.spend(50)
    rig.p.close()
    found = [(row["step"], row["forward_ns"], row["checkpoint_ns"]) for row in rig.rows("steps")]
    assert found == [(0, MS, None), (10, MS, None)]
    kinds = [(row["kind"], row["step"]) for row in rig.rows("events")]
    assert kinds == [("first_step", 0), ("checkpoint_save", 1), ("checkpoint_save", 11), ("worker_end", 11)]


def test_an_exception_of_the_loader_passes_through_untouched(rig: Rig) -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise KeyError("row 7")

    steps = rig.p.steps(broken())
    assert next(steps) == 1
    with pytest.raises(KeyError, match="row 7"):
        next(steps)
    assert len(rig.rows("steps")) == 1
    assert rig.p.active


def test_loss_is_that_of_the_parameters_before_the_step(rig: Rig) -> None:
    for number in rig.p.steps(range(2)):
        rig.p.log(loss=2.0 - number, grad_norm=0.5, items=32)
    logged = [(row["step"], row["what"], row["value"]) for row in rig.rows("fingerprints")]
    assert logged == [(0, "loss", 2.0), (0, "grad_norm", 0.5), (1, "loss", 1.0), (1, "grad_norm", 0.5)]
    assert [step["items"] for step in rig.rows("steps")] == [32.0, 32.0]


def test_the_first_step_and_the_useful_work_of_rank_zero_are_events(rig: Rig) -> None:
    for _ in rig.p.steps(range(3), start=20):
        rig.spend(4)
    rig.p.useful_work(1280)
    kinds = [(e["kind"], e["step"], e["value"], e["duration_ns"]) for e in rig.rows("events")]
    assert kinds == [("first_step", 20, None, 4 * MS), ("useful_work", None, 1280.0, None)]
    other = Rig(rank=1)
    other.p.useful_work(1280)
    assert other.rows("events") == []


def test_examples_are_recorded_as_text_with_their_score(rig: Rig) -> None:
    rig.p.example("q-1", True, prediction=3, target=3)
    rig.p.examples([7, 8], [0.5, 0.25], targets=["a", "b"], metric="f1")
    rows = [tuple(row.values())[3:] for row in rig.rows("examples")]
    assert rows == [("accuracy", "q-1", "3", "3", 1.0, None), ("f1", "7", None, "a", 0.5, None), ("f1", "8", None, "b", 0.25, None)]


def test_examples_come_with_the_cluster_that_they_share(rig: Rig) -> None:
    rig.p.example(1, 1.0, cluster="passage 1")
    rig.p.examples([2, 3, 4], [1, 0, 1], cluster=[7, 7, None])
    rig.p.examples([5, 6], [1, 0], cluster="all of one user")
    shared = ["passage 1", "7", "7", None, "all of one user", "all of one user"]
    assert [row["cluster"] for row in rig.rows("examples")] == shared


def test_examples_of_unequal_length_end_the_recording_and_say_why(rig: Rig, capfd: pytest.CaptureFixture[str]) -> None:
    rig.p.examples([1, 2], [0.5])
    rig.p.examples([1, 2], [0.5])
    said = capfd.readouterr().err
    assert said.count("training continues") == 1
    assert "probe.examples: ValueError: 2 ids, but 1, 2, 2, 2 scores, predictions, targets, clusters" in said
    assert rig.rows("examples") == []  # the beginning of a held-out set must not pass for all of it
    assert not rig.p.active


def test_an_error_inside_the_probe_ends_the_recording_and_not_the_training(rig: Rig, capfd: pytest.CaptureFixture[str]) -> None:
    trained = []
    for number in rig.p.steps(range(4)):
        with rig.p.phase("forward"):
            trained.append(number)
        if number == 1:
            rig.p.log(loss="not a number")
    rig.p.close()
    assert trained == [0, 1, 2, 3]
    said = capfd.readouterr().err
    assert said.count("assay:") == 1
    assert "not a number" in said
    assert [event["kind"] for event in rig.rows("events")][-1] == "probe_error"
    assert rig.sink.closed


def test_a_misspelt_phase_is_said_once_and_not_timed(rig: Rig, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in rig.p.steps(range(3)):
        with rig.p.phase("foward"):  # type: ignore[arg-type]
            pass
    said = capfd.readouterr().err
    assert said.count("'foward'; allowed: forward, backward, optimizer") == 1
    assert len(rig.rows("steps")) == 3


def test_marking_a_phase_allocates_nothing(rig: Rig) -> None:
    assert rig.p.phase("forward") is rig.p.phase("forward")


def test_an_inner_with_does_not_close_the_probe_of_the_outer(rig: Rig) -> None:
    with rig.p:
        with rig.p:
            pass
        assert rig.p.active
    assert not rig.p.active


def test_every_row_that_the_probe_writes_fits_its_table(rig: Rig) -> None:
    with rig.p:
        rig.p.begin(5000.0, 1000)
        rig.p.dataset(4)
        for batch in rig.p.steps([[1, 2], [3, 4]]):
            with rig.p.phase("forward"):
                rig.p.samples(batch)
            rig.p.log(loss=1.0)
        with rig.p.evaluation():
            rig.p.example(1, 1)
        rig.p.useful_work(4)
    for table, rows in itertools.groupby(sorted(rig.sink.rows, key=lambda row: row[0]), key=lambda row: row[0]):
        assert to_batch(table, [row for _, row in rows]) is not None, table
    assert {name for name, _ in rig.sink.rows} == set(TABLES) - {
        "launches",
        "trials",
        "answers",
        "scores",
        "divergence",
        "images",
        "ratings",
        "preferences",
        "replies",
        "arrivals",
        "requests",
        "token_counts",
        "gradients",  # of a model and its optimizer: tests/instruments/fingerprints/test_first_gradients.py
        "collectives",  # these are seen by hooks: tests/instruments/test_attach.py
        "communication",
        "waits",
        "clocks",  # with several hosts only: tests/instruments/recorder/test_clock_pings.py
        "inventory",  # torch's own list: tests/instruments/recorder/test_flight_recorder.py
    }


def test_the_idle_and_the_recording_probe_have_the_same_surface() -> None:
    public = [name for name in vars(Probe) if not name.startswith("_") and callable(getattr(Probe, name))]
    assert {"steps", "phase", "watch", "examples", "close"} <= set(public)
    for name in public:
        idle, recording = (inspect.signature(getattr(kind, name)) for kind in (Probe, Recorder))
        assert list(idle.parameters) == list(recording.parameters), name


def test_the_idle_probe_hands_out_the_loaders_own_iterator_and_does_nothing() -> None:
    loader = iter([1, 2])
    idle = Probe()
    assert idle.steps(loader) is loader
    with idle, idle.phase("forward"), idle.checkpoint_save(), idle.checkpoint_load(), idle.evaluation():
        idle.samples([1])
        idle.log(loss=object())
    assert (idle.active, idle.seed, idle.rank, idle.workers) == (False, 0, 0, 1)


def test_identity_comes_from_the_launcher_and_defaults_to_one_worker() -> None:
    assert identity_from({}).workers == 1
    environ = {"RANK": "3", "WORLD_SIZE": "4", "TORCHELASTIC_RESTART_COUNT": "2", "FIREASSAY_LAUNCH": "9", "FIREASSAY_SEED": "5"}
    found = identity_from(environ)
    assert (found.rank, found.workers, found.incarnation, found.launch, found.seed) == (3, 4, 2, 9, 5)


@pytest.mark.parametrize("name", ["steps", "log", "samples", "phase", "useful_work"])
def test_a_method_that_a_report_names_says_how_to_come_by_a_probe(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"p = probe.start\(\), then p.{name}\("):
        getattr(probe, name)
    with pytest.raises(AttributeError, match="has no attribute 'stepz'"):
        getattr(probe, "stepz")  # noqa: B009


def test_an_evaluation_records_its_score_with_the_steps_finished_so_far(rig: Rig) -> None:
    for step, _ in enumerate(rig.p.steps(range(2))):
        with rig.p.phase("optimizer"):
            rig.spend(5)
        rig.p.evaluate(10 * step, 0.5 + step / 4, name="top1", samples=64 * step)
    rig.p.evaluate(99, 0.875)
    first, second, last = (row for row in rig.rows("events") if row["kind"] == "score")
    assert (first["step"], first["value"], json.loads(first["detail"])) == (
        0,
        0.5,
        {"name": "top1", "source": "script", "samples": 0.0, "steps": 1},
    )
    assert (second["step"], second["value"], second["ns"]) == (10, 0.75, 1_010 * MS)
    assert json.loads(last["detail"]) == {"name": "accuracy", "source": "script", "steps": 2}


def test_an_evaluation_before_training_has_no_steps(rig: Rig) -> None:
    rig.p.evaluate(0, 0.1)
    (row,) = (row for row in rig.rows("events") if row["kind"] == "score")
    assert json.loads(row["detail"]) == {"name": "accuracy", "source": "script"}
