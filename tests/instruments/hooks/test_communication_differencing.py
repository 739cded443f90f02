"""Synchronising takes turns in a real training of two ranks: which steps go without, what is put back, what is made alone."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from fireassay.instruments.hooks.communication_differencing import LENGTH, MAX_BLOCKS, WARM, is_free
from fireassay.record.tables import TABLES
from tests.instruments import two_ranks

KINDS = ("plain", "flags")


def test_blocks_take_turns_after_the_warm_up_and_not_for_ever() -> None:
    """Ten steps with; four without, four with, and so on; after fifty blocks without none more."""
    free = [step for step in range(WARM + 2 * LENGTH * MAX_BLOCKS + 1000) if is_free(step)]
    assert free[:9] == [10, 11, 12, 13, 18, 19, 20, 21, 26]
    assert len(free) == LENGTH * MAX_BLOCKS == 200
    assert free[-1] == WARM + 2 * LENGTH * MAX_BLOCKS - LENGTH - 1


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """Kind -> what each rank left."""
    folder = tmp_path_factory.mktemp("turns")
    two_ranks.run("tests.instruments.taking_turns", folder)
    return {kind: [json.loads((folder / f"{kind}.{rank}").read_text()) for rank in (0, 1)] for kind in KINDS}


def of(left: dict[str, Any], table: str) -> list[dict[str, Any]]:
    names = TABLES[table].column_names
    return [dict(zip(names, row, strict=True)) for name, row in left["rows"] if name == table]


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
class TestOfTwoRanks:
    @pytest.mark.deep
    def test_the_steps_without_are_marked_and_send_no_gradients(self, found: Any, kind: str) -> None:
        """Also where the script sets DDP's flag itself before every forward pass."""
        for left in found[kind]:
            marked = [row["step"] for row in of(left, "communication") if row["method"] == "unsynchronised"]
            assert marked == [10, 11, 12, 13, 18, 19, 20, 21]
            sent = Counter(row["step"] for row in of(left, "collectives") if row["op"] == "all_reduce" and row["phase"] == "")
            assert not set(marked) & set(sent)
            assert {14, 15, 16, 17, 22} <= set(sent)
            assert [row["step"] for row in of(left, "steps")] == list(range(23))

    def test_the_models_of_the_ranks_stay_equal(self, found: Any, kind: str) -> None:
        """Each rank has data of its own: without putting back what steps alone have learnt they would differ."""
        one, other = found[kind]
        assert one["weights"] == other["weights"]

    def test_the_collectives_of_the_step_before_are_made_alone(self, found: Any, kind: str) -> None:
        """Before each block: as many, as large, and numbered on, so that calls of the ranks still belong together."""
        for left in found[kind]:
            rows = of(left, "collectives")
            together = [row for row in rows if row["step"] == 9 and row["op"] != "barrier" and row["phase"] == ""]
            alone = [row for row in rows if row["phase"] == "replay"]
            told = [row for row in of(left, "communication") if row["method"] == "replay"]
            assert len(told) == 2
            assert {row["step"] for row in alone} == {None}
            assert len(alone) == 2 * len(together) > 0
            assert sum(row["bytes"] for row in together) == told[0]["bytes"] == told[1]["bytes"]
            assert max(row["end_ns"] - row["begin_ns"] for row in alone[: len(together)]) <= told[0]["total_ns"]
            numbers = [(row["group"], row["call"]) for row in rows]
            assert len(numbers) == len(set(numbers))

    def test_what_it_takes_is_set_aside(self, found: Any, kind: str) -> None:
        for left in found[kind]:
            aside = {row["step"]: row["duration_ns"] for row in of(left, "events") if row["kind"] == "calibration"}
            assert sorted(aside) == [10, 14, 18, 22]
            for row in of(left, "steps"):
                assert (row["checkpoint_ns"] or 0) >= aside.get(row["step"], 0)

    def test_the_script_finds_everything_as_it_was(self, found: Any, kind: str) -> None:
        for left in found[kind]:
            assert left["flag"] is True
            assert left["taken_out"]


@pytest.mark.torch
@pytest.mark.parametrize("asked", ["1", ""])
def test_only_a_launch_that_is_told_to_takes_turns(monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    """The hooks put it in, and take it out with themselves."""
    import torch

    from fireassay.instruments import attach
    from fireassay.instruments.recorder import singleton
    from fireassay.instruments.recorder.recorder import Recorder
    from fireassay.instruments.recorder.sink import Identity, MemorySink

    recorder = Recorder(Identity(launch=0, rank=0, workers=2, incarnation=0, seed=0, host="here"), MemorySink())
    monkeypatch.setattr(singleton, "recorder", lambda: recorder)
    monkeypatch.setenv("FIREASSAY_CALIBRATE_COMMUNICATION", asked)
    parallel = torch.nn.parallel.DistributedDataParallel
    before = parallel.forward
    attach._attach(torch)
    try:
        assert (parallel.forward is not before) == (asked == "1")
    finally:
        attach.detach()
    assert parallel.forward is before
