"""What do tables of events say? Every rule of a step, without torch: a row is (kind, milliseconds, ...)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fireassay.steps import events as e
from fireassay.steps.events import COUNTS, GRADIENTS, PARAMETERS, TOO_LARGE, TRAINING, Fetched, Source
from fireassay.steps.reading import Steps

TRAINS = COUNTS | GRADIENTS
A, B = 1, 2  # optimizers


class Found:
    """What was found in the events; times in milliseconds."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []
        self.losses: list[tuple[int, Any]] = []
        self.ids: list[tuple[int, int, list[int]]] = []
        self.evaluations: list[tuple[int, int, int]] = []
        self.overlap: list[tuple[str, int, int, bool]] = []
        self.reasons: list[str] = []
        self.sizes: list[int] = []
        self.told: list[tuple[str, int, str]] = []

    def step(self, step: int, begin: int, end: int, data: Any, times: Any, pause: Any, exposed: Any, items: Any) -> None:
        self.steps.append({"step": step, "from": begin, "to": end, "data": data, "phases": times, "pause": pause, "items": items})

    def loss(self, step: int, loss: Any) -> None:
        self.losses.append((step, loss))

    def samples(self, epoch: int, step: int, ids: list[int]) -> None:
        self.ids.append((epoch, step, ids))

    def evaluation(self, step: int, begin: int, ns: int) -> None:
        self.evaluations.append((step, begin, ns))

    def evaluated(self, now: int, step: int, data: str, evaluation: Any) -> None:
        self.overlap.append((data, evaluation.samples, evaluation.trained_on, evaluation.same))

    def unknown_samples(self, now: int, step: int, reason: str) -> None:
        self.reasons.append(reason)

    def contents(self, what: str, step: int, contents: str) -> None:
        self.told.append((what, step, contents))

    def dataset(self, step: int, size: int) -> None:
        self.sizes.append(size)


def found(rows: Sequence[tuple[Any, ...]]) -> Found:
    out = Found()
    Steps(out).read(rows)
    return out


def source(size: int = 8, left: int = 2) -> Source:
    return Source((1, size), True, left, indexed=True, name=f"data of {size}", opened=1)


class View:
    """The rows of a data set are its ids."""

    number, below = 1, 1

    def rows(self, ids: list[int]) -> list[int]:
        return ids

    def alive(self) -> bool:
        return True


def batch(of: Source | None = None, ids: list[int] | None = None, items: float = 4.0) -> Fetched:
    return (items, ids, of, of or "iterator", [])


def forward(
    at: int, until: int, matches: Any = (), flags: int = TRAINS, unknown: bool = False, number: int = 0, module: int = 7
) -> list[Any]:
    return [(e.FORWARD, at, flags, matches, unknown, number, module), (e.FORWARDED, until)]


def backward(at: int, until: int, loss: Any = None, reached: Any = None) -> list[Any]:
    return [(e.BACKWARD, at, False, reached), (e.BACKWARDED, until, loss)]


def update(at: int, until: int, optimizer: int = A) -> list[Any]:
    return [(e.STEP, at, optimizer), (e.STEPPED, until)]


def test_a_step_with_a_loader() -> None:
    one = batch()
    out = found(
        [
            (e.BEGIN, 0, 0),
            (e.ASK, 0),
            (e.GOT, 2, one),
            *forward(3, 6, [(one, None)]),
            *backward(6, 10, 0.5),
            *update(11, 12),
            (e.ASK_TURN, 15),
        ]
    )
    assert out.steps == [{"step": 0, "from": 0, "to": 15, "data": 2, "phases": (3, 4, 1), "pause": None, "items": 4.0}]
    assert out.losses == [(0, 0.5)]


def test_accumulation_adds_batches_phases_and_losses() -> None:
    batches = [batch(), batch()]
    rows: list[Any] = [(e.BEGIN, 0, 0)]
    for number, one in enumerate(batches):
        at = 10 * number
        rows += [(e.ASK, at), (e.GOT, at + 1, one), *forward(at + 1, at + 4, [(one, None)]), *backward(at + 4, at + 9, 0.25)]
    out = found([*rows, *update(20, 21), (e.ASK_TURN, 25)])
    assert [(row["data"], row["phases"], row["items"]) for row in out.steps] == [(2, (6, 10, 1), 8.0)]
    assert out.losses == [(0, 0.5)]


def test_contents_are_told_of_the_step_that_trains_on_the_batch_and_of_no_other() -> None:
    """The second batch was fetched in the same step, and is never used."""
    one, other = batch(), batch()
    rows = [
        (e.BEGIN, 0, 0),
        (e.ASK, 0),
        (e.GOT, 1, one),
        (e.CONTENTS, 1, one, "digests"),
        (e.ASK, 2),
        (e.GOT, 3, other),
        (e.CONTENTS, 3, other, "no"),
    ]
    out = found([*rows, *forward(3, 4, [(one, None)]), *backward(4, 5), *update(5, 6), (e.ASK_TURN, 7)])
    assert out.told == [("batch_contents", 0, "digests")]


SCORED = 0  # flags of a pass in evaluation mode, without gradients


@pytest.mark.parametrize("loss", [False, True])  # whether the loss is a module too, which is never in evaluation mode
@pytest.mark.parametrize("flags", [TRAINS, GRADIENTS])  # the training goes on in training mode, or in evaluation mode
def test_a_batch_that_the_trained_module_scored_is_not_taken_for_the_next_training_batch(flags: int, loss: bool) -> None:
    """Trained without a loader; validated on one batch of a new iterator, which is never asked again. The next pass gets a tensor of unknown
    origin: the held-out batch is not it. 2 ms of the second step are the evaluation's, and 1 ms of its loss."""
    data = source(left=1)
    data.view = View()
    held_out = batch(data, [0, 1, 2, 3])
    first = [(e.BEGIN, 0, 0), (e.TRAINS, 0, {7}), *forward(0, 2, unknown=True), *backward(2, 4), *update(4, 5)]
    validated = [(e.ASK, 6), (e.GOT, 7, held_out), *forward(7, 8, [(held_out, None)], SCORED)]
    if loss:
        validated += forward(8, 9, [(held_out, None)], TRAINING, module=8)
    second = [*forward(9, 11, flags=flags, unknown=True), *backward(11, 13), *update(13, 14)]
    out = found([*first, (e.TURN, 5, 5, None, False), *validated, *second, (e.END, 20, True, None, True)])
    assert [row["items"] for row in out.steps] == [None, None]
    assert out.overlap == [("data of 8", 4, 0, False)]
    assert out.ids == []
    assert out.evaluations == [(1, 6, 2 + loss)]


def test_a_batch_that_another_module_saw_first_is_trained_on() -> None:
    """A teacher's outputs: the student gets a copy of the same batch."""
    one = batch(source(), [0, 1, 2, 3])
    rows = [(e.BEGIN, 0, 0), *forward(0, 1, unknown=True), *backward(1, 2), *update(2, 3), (e.ASK_TURN, 4), (e.GOT, 5, one)]
    rows += [*forward(5, 6, [(one, None)], SCORED, module=8), *forward(6, 7, unknown=True), *backward(7, 8), *update(8, 9)]
    assert [row["items"] for row in found([*rows, (e.END, 10, True, None, True)]).steps] == [None, 4.0]


def test_passes_of_a_closure_are_no_time_of_the_optimizer() -> None:
    """As LBFGS, which asks for passes itself; the second step is told by the optimizer that steps again."""
    rows: list[Any] = [(e.BEGIN, 0, 0)]
    for number in range(2):
        at = 10 * number
        if number:
            rows += [(e.UPDATE, at, A), (e.TURN, at, at, None, False)]
        inner = [*forward(at + 1, at + 3), *backward(at + 3, at + 6), *forward(at + 6, at + 7, flags=0)]
        rows += [(e.STEP, at, A), *inner, (e.STEPPED, at + 9)]
    out = found([*rows, (e.END, 30, True, None, True)])
    assert [(row["from"], row["to"], row["phases"]) for row in out.steps] == [(0, 10, (3, 3, 3)), (10, 19, (3, 3, 3))]


def test_a_batch_that_is_only_looked_at_is_an_evaluation_and_none_of_the_steps() -> None:
    one, held_out, next_one = batch(), (4.0, None, None, "held out", []), batch()
    out = found(
        [
            (e.BEGIN, 0, 0),
            (e.ASK, 0),
            (e.GOT, 1, one),
            *forward(1, 2, [(one, None)]),
            *backward(2, 3),
            *update(3, 4),
            (e.ASK_TURN, 4),
            (e.GOT, 6, held_out),
            *forward(6, 9, [(held_out, None)], flags=0),
            (e.ASK, 9),
            (e.GOT, 10, next_one),
            *forward(10, 11, [(next_one, None)]),
            *backward(11, 12),
            *update(12, 13),
            (e.ASK_TURN, 13),
        ]
    )
    assert out.evaluations == [(1, 4, 5)], "from its request to the next one"
    assert [(row["data"], row["phases"][0], row["pause"], row["items"]) for row in out.steps] == [(1, 1, None, 4.0), (1, 1, 5, 4.0)]


def test_a_held_out_batch_counts_once_if_the_loss_is_a_module_too() -> None:
    """As `criterion(model(x), y)` in a validation: two calls get the same batch, the second a module that is never in evaluation mode."""
    data = source(left=1)
    data.view = View()
    one, held_out, next_one = batch(), batch(data, [0, 1, 2, 3]), batch()
    rows = [(e.BEGIN, 0, 0), (e.ASK, 0), (e.GOT, 1, one), *forward(1, 2, [(one, None)]), *backward(2, 3), *update(3, 4)]
    rows += [(e.ASK_TURN, 4), (e.GOT, 6, held_out), *forward(6, 8, [(held_out, None)], SCORED)]
    rows += forward(8, 9, [(held_out, None)], TRAINING, module=8)
    rows += [(e.ASK, 9), (e.GOT, 10, next_one), *forward(10, 11, [(next_one, None)]), *backward(11, 12), *update(12, 13), (e.ASK_TURN, 13)]
    out = found(rows)
    assert [(row["data"], row["pause"]) for row in out.steps] == [(1, None), (1, 5)]
    assert out.overlap == [("data of 8", 4, 0, False)]
    assert out.evaluations == [(1, 4, 5)]


def test_a_teacher_that_looks_at_a_batch_that_is_trained_on_is_forward_time() -> None:
    one = batch()
    looks = forward(1, 4, [(one, None)], flags=TRAINING)
    out = found(
        [
            (e.BEGIN, 0, 0),
            (e.ASK, 0),
            (e.GOT, 1, one),
            *looks,
            *forward(4, 5, [(one, None)]),
            *backward(5, 6),
            *update(6, 7),
            (e.ASK_TURN, 7),
        ]
    )
    assert [(row["phases"], row["pause"]) for row in out.steps] == [((4, 1, 1), None)]
    assert out.evaluations == []


@pytest.mark.parametrize(("flags", "expected"), [(PARAMETERS, ((1, 1, 1), 6)), (PARAMETERS | TRAINING, ((6, 1, 1), None))])
def test_without_a_loader_the_mode_of_the_trained_module_tells_an_evaluation(flags: int, expected: Any) -> None:
    """Two looks of 3 and 2 ms with 1 ms between them."""
    trained = [(e.BEGIN, 0, 0), (e.TRAINS, 0, {7}), *forward(0, 1), *backward(1, 2), *update(2, 3)]
    looks = [(e.TURN, 3, 3, None, False), *forward(3, 6, flags=flags), *forward(7, 9, flags=flags)]
    out = found([*trained, *looks, *forward(9, 10), *backward(10, 11), *update(11, 12), (e.TURN, 12, 12, None, False)])
    assert (out.steps[1]["phases"], out.steps[1]["pause"]) == expected


def test_a_step_that_may_have_ended_ends_there_if_its_optimizer_steps_again() -> None:
    rows = [(e.BEGIN, 0, 0), *forward(0, 2), *backward(2, 3), *update(3, 4), (e.MAY_END, 5), *forward(5, 9), *backward(9, 10)]
    again = found([*rows, (e.UPDATE, 10, A), (e.TURN, 5, 10, None, True), *update(10, 12), (e.END, 12, True, None, True)])
    assert [(row["from"], row["to"], row["phases"]) for row in again.steps] == [(0, 5, (2, 1, 1)), (5, 12, (4, 1, 2))]
    other = found([*rows, (e.GOES_ON, 10), *update(10, 12, B), (e.END, 12, True, None, True)])
    assert [(row["from"], row["to"], row["phases"]) for row in other.steps] == [(0, 12, (6, 2, 3))]


def test_pauses_stop_the_phases_and_are_no_time_of_the_step() -> None:
    rows = [(e.BEGIN, 0, 0), (e.FORWARD, 1, TRAINS, (), False, 0, 7), (e.PAUSE, 2), (e.RESUME, 6, 2, 4), (e.FORWARDED, 7)]
    out = found([*rows, *backward(7, 8), *update(8, 9), (e.SET_ASIDE, 9, 3, None), (e.TURN, 12, 12, None, False)])
    assert [(row["phases"], row["pause"]) for row in out.steps] == [((2, 1, 1), 7)]


def test_the_last_step_ends_with_its_last_update() -> None:
    rows = [(e.BEGIN, 0, 0), *forward(0, 1), *backward(1, 2), *update(2, 3), (e.SET_ASIDE, 50, 40, None)]
    assert [(row["to"], row["pause"]) for row in found([*rows, (e.END, 60, True, None, True)]).steps] == [(3, None)]
    assert found([*rows, (e.END, 60, False, None, True)]).steps == []


@pytest.mark.parametrize(
    ("reached", "items", "reasons"),
    [({5}, [4.0], 0), ({3, 5}, [8.0], 0), (TOO_LARGE, [8.0], 1), (None, [8.0], 0)],
    ids=["the second", "both", "a large graph", "unknown roots"],
)
def test_of_several_passes_those_count_that_the_backward_pass_reaches(reached: Any, items: list[float], reasons: int) -> None:
    batches = [batch(), batch()]
    rows: list[Any] = [(e.BEGIN, 0, 0)]
    for number, one in enumerate(batches):
        rows += [(e.ASK, 0), (e.GOT, 0, one), *forward(1, 1, [(one, None)], number=3 + 2 * number)]
    out = found([*rows, *backward(2, 3, reached=reached), *update(3, 4), (e.ASK_TURN, 5)])
    assert [row["items"] for row in out.steps] == items
    assert len(out.reasons) == reasons


def test_copies_are_matched_by_order_and_an_epoch_that_ended_gives_the_size() -> None:
    of = source()
    rows: list[Any] = [(e.BEGIN, 0, 0)]
    for number in range(2):
        rows += [(e.ASK if not number else e.ASK_TURN, 10 * number), (e.GOT, 10 * number + 1, batch(of, [4 * number, 4 * number + 1]))]
        rows += [
            *forward(10 * number + 1, 10 * number + 2, unknown=True),
            *backward(10 * number + 2, 10 * number + 3),
            *update(10 * number + 3, 10 * number + 4),
        ]
    out = found([*rows, (e.ASK_TURN, 20), (e.RAN_OUT, 21, of, of)])
    assert out.ids == [(0, 0, [0, 1]), (0, 1, [4, 5])]
    assert out.sizes == [8]


def test_rows_of_a_batch_count_once_and_their_ids_are_told_once() -> None:
    of = source()
    one = batch(of, [0, 1, 2, 3])
    rows: list[Any] = [(e.BEGIN, 0, 0), (e.ASK, 0), (e.GOT, 0, one)]
    for part in (range(2), range(2, 4), range(2)):
        rows += [*forward(1, 1, [(one, part)]), *backward(1, 1)]
    out = found(
        [*rows, *update(2, 3), (e.TURN, 4, 4, None, False), *forward(4, 4, [(one, None)]), *backward(4, 4), *update(5, 6), (e.ASK_TURN, 7)]
    )
    assert [row["items"] for row in out.steps] == [4.0, 4.0], "trained on again in the next step"
    assert out.ids == [(0, 0, [0, 1]), (0, 0, [2, 3])]


def test_a_restarted_script_goes_on_with_the_numbers_of_its_step_and_epoch() -> None:
    of = source()
    one = batch(of, [0, 1, 2, 3])
    rows = [(e.BEGIN, 0, 0), (e.ASK, 0), (e.GOT, 0, one), (e.NUMBER, 0, 40, 5)]
    out = found([*rows, *forward(1, 2, [(one, None)]), *backward(2, 3), *update(3, 4), (e.ASK_TURN, 5)])
    assert [row["step"] for row in out.steps] == [40]
    assert out.ids == [(5, 40, [0, 1, 2, 3])]
