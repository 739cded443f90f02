"""A restarted worker learns its step from the state that it restored, or says that nobody knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.instruments.recorder.restored_step import State, States, mark_of, recognise


def state(step: int | None, mark: str, updates: int | None = None, *, incarnation: int = 0) -> State:
    return State(incarnation=incarnation, step=step, mark=mark, updates=updates)


HISTORY = [state(0, "a"), state(10, "b"), state(20, "c")]


@pytest.mark.parametrize(("mark", "step"), [("a", 0), ("b", 10), ("c", 20)])
def test_parameters_of_one_noted_step_are_that_step(mark: str, step: int) -> None:
    found = recognise(HISTORY, mark, None)
    assert (found.step, found.by) == (step, "parameters")


def test_parameters_that_nobody_noted_are_no_step() -> None:
    found = recognise(HISTORY, "elsewhere", None)
    assert found.step is None
    assert "nor any observed checkpoint" in found.why


def test_parameters_that_no_update_changed_are_told_apart_by_the_optimizers_counter_or_not_at_all() -> None:
    # a warm-up whose first learning rate is 0 leaves the parameters as they were
    flat = [state(0, "a", 0), state(1, "a", 1), state(10, "b", 10)]
    assert recognise(flat, "a", 1).step == 1
    unknown = recognise(flat, "a", None)
    assert unknown.step is None
    assert "steps (0, 1)" in unknown.why


def test_parameters_saved_in_less_precision_are_known_by_the_optimizers_counter() -> None:
    # the first step after 7 skipped ones: steps are 7 ahead of updates
    counted = [state(7, "a", 0), state(17, "b", 10), state(27, "c", 20)]
    found = recognise(counted, "rounded", 15)
    assert (found.step, found.by) == (22, "updates")


def test_counters_that_do_not_agree_tell_nothing() -> None:
    # steps were skipped in between: which of the offsets holds is not known
    assert recognise([state(10, "a", 10), state(20, "b", 18)], "rounded", 15).step is None
    assert recognise([state(10, "a", 10)], "rounded", None).step is None  # it counts nothing
    assert recognise([state(10, "a", 10)], "rounded", 0).step is None  # a fresh optimizer: its state was not restored


def test_notes_of_a_worker_that_did_not_know_its_step_are_no_evidence() -> None:
    assert recognise([state(None, "a", 3)], "a", 3).step is None


@given(
    st.lists(st.tuples(st.integers(0, 50), st.sampled_from("abcdef"), st.none() | st.integers(0, 50)), max_size=8),
    st.sampled_from("abcdefg"),
    st.none() | st.integers(0, 60),
)
def test_a_step_is_told_only_on_evidence(notes: list[tuple[int, str, int | None]], mark: str, updates: int | None) -> None:
    history = [state(*one) for one in notes]
    found = recognise(history, mark, updates)
    if found.by == "parameters":
        assert any(one.mark == mark and one.step == found.step for one in history)
        others = {one.step for one in history if one.mark == mark and one.step != found.step}
        assert any(one.updates == updates for one in history if one.mark == mark and one.step == found.step) or not others
    elif found.by == "updates":
        assert updates is not None
        assert found.step is not None
        assert all(one.mark != mark for one in history)
        assert all(one.step == found.step - updates + one.updates for one in history if one.updates is not None)
    else:
        assert found.step is None
        assert found.why


# ---- on disk -----------------------------------------------------------------------------------------------------------

torch = pytest.importorskip("torch")


def model(value: float) -> Any:
    made = torch.nn.Linear(300, 5)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.fill_(value)
    return made


def test_a_rank_without_notes_of_its_own_learns_from_the_one_that_saves(tmp_path: Path) -> None:
    first = States(tmp_path, rank=0, incarnation=0)
    first.note(model(1.0), 10, saved=True)
    for rank in (0, 1):
        assert States(tmp_path, rank=rank, incarnation=1).restored(model(1.0)).step == 10
    assert States(tmp_path, rank=1, incarnation=1).restored(model(2.0)).step is None


def test_own_parts_are_known_by_own_notes(tmp_path: Path) -> None:
    # two ranks of a sharded model whose parts happen to be alike, at different steps
    States(tmp_path, rank=0, incarnation=0).note(model(1.0), 10)
    States(tmp_path, rank=1, incarnation=0).note(model(1.0), 20)
    assert [States(tmp_path, rank=rank, incarnation=1).restored(model(1.0)).step for rank in (0, 1)] == [10, 20]


def test_own_notes_of_this_incarnation_are_not_what_it_restored(tmp_path: Path) -> None:
    again = States(tmp_path, rank=0, incarnation=1)
    again.note(model(1.0), 5)
    assert again.restored(model(1.0)).step is None


@pytest.mark.parametrize("damage", ["\x00\xff garbage\n", '{"incarnation": 0, "step": 1', "[]\n", '{"step": 3}\n', ""])
def test_damaged_notes_are_passed_over(tmp_path: Path, damage: str) -> None:
    States(tmp_path, rank=0, incarnation=0).note(model(1.0), 10)
    with (tmp_path / "progress" / "rank=0.states").open("a", encoding="utf-8") as file:
        file.write(damage)
    found = States(tmp_path, rank=0, incarnation=1).restored(model(1.0))
    assert (found.step, found.by) == (10, "parameters")


def test_the_mark_sees_what_a_step_changes_and_draws_nothing() -> None:
    before, after = model(1.0), model(1.0)
    with torch.no_grad():
        after.weight += 1e-6
    assert mark_of(before) == mark_of(model(1.0)) != mark_of(after)
    generator = torch.random.get_rng_state()
    mark_of(before)
    assert torch.equal(torch.random.get_rng_state(), generator)
    assert bool((before.weight == 1.0).all())
