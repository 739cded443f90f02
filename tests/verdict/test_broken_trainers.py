"""Every trainer that is broken on purpose gets the finding that names its fault, and the good one gets none.

The stored records are real (tests/records/make.py says how they were made).  The good trainer is trained again here, through the whole of
assay; the broken ones are in tests/examples/test_broken.py.
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from fireassay.frames.record_data import RecordData, from_record
from fireassay.record.reader import open_record
from fireassay.record.seal import verify
from fireassay.runners.experiment.run import run
from fireassay.verdict.judge import Judgement, judge
from tests.builders import replayed
from tests.launchers.helpers import recorded
from tests.records.make import HERE, REPOSITORY, TRAINERS, experiment
from tests.tiers import some
from tests.verdict.judging import concluded
from tests.verdict.making import gate, wrong

# What must be found in workers=2, and nothing else of severity fail or invalid.
FAULTS = {
    "seed_mismatch": ["replica_seed_mismatch"],
    "unsynced": ["gradients_not_synchronised"],
    "dropped_shard": ["samples_lost"],
    "padding_duplicates": ["samples_duplicated_by_padding"],
    "worse_accuracy": [],  # replicas agree and every sample is used once: only the quality gate can tell
}


@cache
def stored(name: str) -> Judgement:
    return concluded(from_record(open_record(HERE / name)))


def check(name: str, judgement: Judgement) -> None:
    """The right finding, in the right configuration, and the status that follows from it."""
    assert wrong(judgement) == FAULTS[name]
    if FAULTS[name]:
        assert [f.configuration for f in judgement.verdict.findings if f.severity == "fail"] == ["workers=2"]
        assert judgement.verdict.status == "FAIL"
        assert judgement.verdict.dimensions["workers=2"]["correctness"].status == "FAIL"
    for recommendation in judgement.verdict.recommendations:
        assert recommendation.configuration != "workers=2"


@pytest.mark.parametrize("name", sorted(TRAINERS))
def test_a_stored_record_is_intact_and_names_its_script(name: str) -> None:
    assert verify(HERE / name) == ()
    assert open_record(HERE / name).experiment.workload.script == TRAINERS[name][0]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_broken_trainer_gets_the_finding_that_names_its_fault_and_only_that(name: str) -> None:
    check(name, stored(name))


@pytest.mark.slow
def test_accuracy_below_the_margin_fails_the_quality_gate_and_is_never_recommended() -> None:
    judgement = stored("worse_accuracy")
    assert gate(judgement, "quality", 2).status == "FAIL"
    assert gate(judgement, "quality", 2).sentence.startswith("quality degraded")
    assert judgement.verdict.dimensions["workers=2"]["correctness"].status == "FAIL"
    assert [f.configuration for f in judgement.verdict.findings if f.rule == "quality_degraded"] == ["workers=2"]


@pytest.mark.slow
def test_the_good_trainer_gets_no_finding_and_holds_its_quality() -> None:
    judgement = stored("good")
    assert wrong(judgement) == []
    assert gate(judgement, "quality", 2).status == "PASS"


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> RecordData:
    """The good trainer's record, written again by a replay: nothing in one is random."""
    root = tmp_path_factory.mktemp("again")
    return from_record(open_record(run(replayed(open_record(HERE / "good").experiment, HERE / "good"), root=root)))


@pytest.mark.slow
def test_the_good_trainer_gets_no_finding_in_a_replay(again: RecordData) -> None:
    assert again.sealed
    assert wrong(judge(again)) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", some(range(20), 2))
def test_the_good_trainer_gets_no_finding_in_20_orders(seed: int, again: RecordData) -> None:
    """Launches have other numbers and blocks each time, and ranks other numbers."""
    judgement = concluded(relabelled(again, random.Random(seed)))
    assert wrong(judgement) == []
    assert gate(judgement, "quality", 2).status == "PASS"


def relabelled(measured: RecordData, numbers: random.Random) -> RecordData:
    """The same launches in another order of time: launch numbers, blocks and ranks are permuted."""
    launches = measured.table("launches")
    new_launch = shuffled(launches["launch"].to_list(), numbers)
    new_block = shuffled(sorted(set(launches["block"].to_list())), numbers)
    flip = numbers.random() < 0.5
    tables = {}
    for name, table in measured.tables.items():
        changed = [pl.col("launch").replace(new_launch)]
        if "rank" in table.columns:
            both = launches.filter(pl.col("workers") == 2)["launch"].to_list()
            other = pl.when(pl.col("launch").is_in(both) & flip).then(1 - pl.col("rank")).otherwise(pl.col("rank"))
            changed.append(other.cast(pl.Int32).alias("rank"))
        if name == "launches":
            changed.append(pl.col("block").replace(new_block))
        tables[name] = table.with_columns(changed)
    return RecordData(
        experiment=measured.experiment, manifest=measured.manifest, state=measured.state, sealed=measured.sealed, tables=tables
    )


def shuffled(old: list[int], numbers: random.Random) -> dict[int, int]:
    return dict(zip(old, numbers.sample(old, len(old)), strict=True))


@pytest.mark.deep
@pytest.mark.torch
@pytest.mark.slow
def test_the_good_trainer_that_runs_now_gets_no_finding(tmp_path: Path) -> None:
    path = recorded(experiment("good", launches=1, epochs=1), folder=REPOSITORY, root=tmp_path)
    assert wrong(judge(from_record(open_record(path)))) == []
