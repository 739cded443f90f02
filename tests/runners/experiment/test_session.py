"""Several experiments are made in turn: what is recorded pairs block by block, and whatever happens to one, none is lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fireassay import catalog
from fireassay.clock import FakeClock
from fireassay.errors import Interrupted, RecordError, SpecError, WorkloadError
from fireassay.record.reader import Record, open_record
from fireassay.runners.experiment.context import Outcome, RunContext, Runner
from fireassay.runners.experiment.progress import RunProgress
from fireassay.runners.experiment.run import Member, order_of_members, resume, run_together
from tests.runners.making import InstantMaker, experiment

pytestmark = pytest.mark.slow


def never(_: RunContext) -> Outcome:
    raise AssertionError("a session makes the launches itself")


@pytest.fixture(autouse=True)
def instant(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner `training` makes instant launches."""
    InstantMaker.made.clear()
    InstantMaker.rules.clear()
    found = catalog.load
    runner = Runner(name="training", check=lambda *_: None, run=never, maker=InstantMaker)
    monkeypatch.setattr(catalog, "load", lambda kind, name: runner if kind == "runners" else found(kind, name))


def together(folder: Path, *labels: str, **changes: Any) -> list[Record]:
    members = [Member(experiment=experiment(name=label, **changes), folder=folder, label=label) for label in labels]
    return [open_record(path) for path in run_together(members, root=folder / "records", clock=FakeClock(), seed=3)]


def records(folder: Path) -> dict[str, Record]:
    found = [open_record(path) for path in (folder / "records").iterdir()]
    return {record.experiment.name: record for record in found}


def test_no_member_is_a_block_ahead_of_another(tmp_path: Path) -> None:
    together(tmp_path, "a", "b", launches={"per_configuration": 4})
    blocks = [block for _, block, _ in InstantMaker.made]
    assert blocks == sorted(blocks)
    assert Counter(InstantMaker.made) == {(member, block, "timed"): 2 for member in "ab" for block in range(4)}


def test_two_members_are_ordered_abba() -> None:
    for seed in range(20):
        for block in range(0, 10, 2):
            assert order_of_members(2, block + 1, seed) == order_of_members(2, block, seed)[::-1]


def test_the_first_member_is_random_and_depends_only_on_the_seed() -> None:
    firsts = Counter(order_of_members(2, 2 * block, 1)[0] for block in range(200))
    assert 70 <= firsts[0] <= 130  # 200 tosses: outside with probability 2e-5
    assert [order_of_members(3, block, 5) for block in range(6)] == [order_of_members(3, block, 5) for block in range(6)]
    assert {order_of_members(3, 0, seed) for seed in range(100)} == {(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)}


def test_over_two_blocks_every_member_has_the_same_mean_position() -> None:
    for members in (2, 3, 4):
        first, second = order_of_members(members, 6, 9), order_of_members(members, 7, 9)
        assert {first.index(member) + second.index(member) for member in range(members)} == {members - 1}


def test_every_manifest_names_the_session_and_the_index_in_it(tmp_path: Path) -> None:
    first, second = together(tmp_path, "a", "b")
    one, other = first.manifest["session"], second.manifest["session"]
    assert one["id"] == other["id"]
    assert [(s["arm"], s["arms"], s["label"], s["seed"]) for s in (one, other)] == [(0, 2, "a", 3), (1, 2, "b", 3)]
    assert (first.state, second.state) == ("complete", "complete")
    again = together(tmp_path / "again", "a", "b")
    assert again[0].manifest["session"]["id"] != one["id"]


def test_fault_launches_come_after_all_timed_ones(tmp_path: Path) -> None:
    together(tmp_path, "a", "b", faults=[{"kind": "kill"}])
    assert [role for _, _, role in InstantMaker.made] == ["timed"] * 8 + ["fault"] * 2


def test_a_member_with_more_blocks_continues_alone(tmp_path: Path) -> None:
    members = [
        Member(experiment=experiment(name=name, launches={"per_configuration": blocks}), folder=tmp_path, label=name)
        for name, blocks in (("short", 1), ("long", 3))
    ]
    run_together(members, root=tmp_path / "records", clock=FakeClock())
    assert [name for name, block, _ in InstantMaker.made if block > 0] == ["long"] * 4


def test_a_failing_member_is_reported_and_the_others_finish(tmp_path: Path) -> None:
    InstantMaker.rules.update({("bad", slot): "failed" for slot in range(10)})
    with pytest.raises(WorkloadError, match=r"^bad: no launch succeeded") as raised:
        together(tmp_path, "bad", "good", launches={"per_configuration": 3})
    found = records(tmp_path)
    assert (found["bad"].state, found["good"].state) == ("failed", "complete")
    assert found["good"].table("launches")["status"].to_list() == ["ok"] * 6
    assert str(found["good"].path) in str(raised.value)


def test_a_stop_interrupts_every_unfinished_member_and_each_can_be_resumed(tmp_path: Path) -> None:
    InstantMaker.rules["b", 2] = "stop"
    with pytest.raises(Interrupted, match="assay resume") as raised:
        together(tmp_path, "a", "b", launches={"per_configuration": 3})
    found = records(tmp_path)
    assert [found[name].state for name in "ab"] == ["interrupted", "interrupted"]
    assert all(str(found[name].path) in str(raised.value) for name in "ab")
    assert "ok" in found["a"].table("launches")["status"].to_list()


def test_a_member_finished_before_the_stop_is_complete(tmp_path: Path) -> None:
    InstantMaker.rules["long", 2] = "stop"
    members = [
        Member(experiment=experiment(name=name, launches={"per_configuration": blocks}), folder=tmp_path, label=name)
        for name, blocks in (("short", 1), ("long", 3))
    ]
    with pytest.raises(Interrupted):
        run_together(members, root=tmp_path / "records", clock=FakeClock())
    assert {name: record.state for name, record in records(tmp_path).items()} == {"short": "complete", "long": "interrupted"}


def test_a_record_that_cannot_be_written_ends_the_session_and_loses_nothing_of_the_others(tmp_path: Path) -> None:
    InstantMaker.rules["b", 1] = RecordError("the disk is full")
    with pytest.raises(RecordError, match="the disk is full"):
        together(tmp_path, "a", "b")
    found = records(tmp_path)
    assert [found[name].state for name in "ab"] == ["interrupted", "interrupted"]
    assert found["a"].table("launches").height >= 1


def test_resuming_one_member_keeps_the_session_and_lists_the_blocks_made_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    InstantMaker.rules["b", 2] = "stop"
    with pytest.raises(Interrupted):
        together(tmp_path, "a", "b", launches={"per_configuration": 3})
    InstantMaker.rules.clear()
    from fireassay.runners.experiment import launch_loop

    runner = Runner(name="training", check=lambda *_: None, run=lambda made: launch_loop.run(made, InstantMaker(made)), maker=InstantMaker)
    found = catalog.load
    monkeypatch.setattr(catalog, "load", lambda kind, name: runner if kind == "runners" else found(kind, name))
    left = records(tmp_path)["b"]
    resume(left.path, clock=FakeClock())
    again = open_record(left.path)
    assert again.state == "complete"
    assert again.manifest["session"] == {**left.manifest["session"], "alone": [1, 2]}


def test_progress_has_the_label_of_its_member(tmp_path: Path) -> None:
    told: list[RunProgress] = []
    members = [Member(experiment=experiment(name=name), folder=tmp_path, label=name) for name in "ab"]
    run_together(members, root=tmp_path / "records", clock=FakeClock(), on_progress=told.append)
    assert {(one.label, one.record.name[0]) for one in told} == {("a", "a"), ("b", "b")}


def test_a_runner_that_cannot_interleave_is_refused_before_any_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Runner(name="replay", check=lambda *_: None, run=never)
    monkeypatch.setattr(catalog, "load", lambda *_: whole)
    with pytest.raises(SpecError, match=r"workload.runner: found 'replay' \(member a\)"):
        together(tmp_path, "a", "b")
    assert not (tmp_path / "records").exists()
