"""The plan: randomised complete blocks, equal everywhere, and nothing drawn later."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.spec.experiment import Experiment
from fireassay.spec.load import from_mapping
from fireassay.spec.plan import PLAN_COLUMNS, configuration_of, configurations, expected_seconds, plan, plan_table
from tests.spec.making import experiments, smallest

pytestmark = pytest.mark.slow


def asked(levels: list[int], launches: int, seed: int = 1, **sections: Any) -> Experiment:
    data = smallest(factor={"levels": levels}, launches={"per_configuration": launches, "seed": seed}, **sections)
    return from_mapping(data)


@given(experiments())
def test_each_block_holds_every_level_once(experiment: Experiment) -> None:
    timed = [launch for launch in plan(experiment) if launch.role == "timed"]
    for block in range(experiment.launches.per_configuration):
        inside = [launch for launch in timed if launch.block == block]
        assert sorted(launch.workers for launch in inside) == sorted(experiment.factor.levels)
        assert [launch.order for launch in inside] == list(range(len(inside)))


@given(experiments())
def test_slots_are_consecutive_and_faults_come_last(experiment: Experiment) -> None:
    launches = plan(experiment)
    assert [launch.slot for launch in launches] == list(range(len(launches)))
    roles = [launch.role for launch in launches]
    assert roles == sorted(roles, reverse=True)  # "timed" before "fault"
    planned_faults = sum(len(fault.levels) or 1 for fault in experiment.faults)
    assert roles.count("fault") == planned_faults


def test_launches_that_calibrate_communication_come_between_and_change_nothing_else() -> None:
    """Two of each configuration of two or more workers; the timed launches and the faults stay what they were."""
    faults = [{"kind": "kill"}]
    without = plan(asked([1, 2, 4], 3, faults=faults))
    launches = plan(asked([1, 2, 4], 3, faults=faults, workload={"script": "a", "calibrate_communication": 2}))
    assert [one.slot for one in launches] == list(range(len(launches)))
    assert [one.role for one in launches] == ["timed"] * 9 + ["communication"] * 4 + ["fault"]
    calibrating = [one for one in launches if one.role == "communication"]
    assert sorted(one.workers for one in calibrating) == [2, 2, 4, 4]
    assert [(one.block, one.order) for one in calibrating] == [(3, 0), (3, 1), (4, 0), (4, 1)]
    assert len({one.seed for one in calibrating}) == 2
    others = [one for one in launches if one.role != "communication"]
    assert [(one.configuration, one.seed, one.fault) for one in others] == [(one.configuration, one.seed, one.fault) for one in without]


@given(experiments())
def test_equal_experiments_have_equal_plans(experiment: Experiment) -> None:
    again = from_mapping(experiment.model_dump(by_alias=True))
    assert plan(again) == plan(experiment)


@given(experiments())
def test_a_block_shares_one_training_seed_that_every_library_takes(experiment: Experiment) -> None:
    launches = plan(experiment)
    seeds: dict[int, set[int]] = {}
    for launch in launches:
        assert 0 <= launch.seed < 2**31
        if launch.role == "timed":
            seeds.setdefault(launch.block, set()).add(launch.seed)
    assert all(len(inside) == 1 for inside in seeds.values())


@given(experiments())
def test_a_fault_hits_a_rank_that_exists_within_the_steps_asked_for(experiment: Experiment) -> None:
    allowed = {fault.within_steps for fault in experiment.faults}
    for launch in plan(experiment):
        if launch.fault is not None:
            assert 0 <= launch.fault.rank < launch.workers
            assert 1 <= launch.fault.delay_steps <= max(allowed)


def test_the_plan_follows_from_the_generator_that_python_promises_to_keep() -> None:
    # random.Random(7).random() gives 0.32383276483316237, 0.15084917392450192, 0.6509344730398537 (CPython and PyPy,
    # since 3.2). Seed: floor(0.3238... * 2**31). Order of [1, 2, 4]: last swaps with floor(0.1508 * 3) = 0: [4, 2, 1];
    # the second with floor(0.6509 * 2) = 1, itself.
    launches = plan(asked([1, 2, 4], 1, seed=7))
    assert [launch.workers for launch in launches] == [4, 2, 1]
    assert launches[0].seed == 695_425_567


def test_another_seed_gives_another_order_sooner_or_later() -> None:
    orders = {tuple(launch.workers for launch in plan(asked([1, 2, 4], 2, seed=seed))) for seed in range(40)}
    assert len(orders) > 10  # of 36 possible


def test_every_level_comes_equally_often_at_every_place() -> None:
    # 4 levels x 1000 blocks: 250 expected in each of 16 cells. Chi-square of a random latin arrangement has
    # (4 - 1)^2 = 9 degrees of freedom; 27.9 is exceeded once in a thousand (any table of chi-square).
    cells = Counter((launch.workers, launch.order) for launch in plan(asked([1, 2, 4, 8], 1000)))
    assert sum((count - 250) ** 2 / 250 for count in cells.values()) < 27.9
    assert len(cells) == 16


def test_every_order_of_a_block_comes_equally_often() -> None:
    # 3 levels x 1000 blocks: 6 orders, 166.7 expected of each; 5 degrees of freedom: 20.5 once in a thousand.
    launches = plan(asked([1, 2, 4], 1000))
    orders = Counter(tuple(launch.workers for launch in launches[3 * block : 3 * block + 3]) for block in range(1000))
    assert len(orders) == 6
    assert sum((count - 1000 / 6) ** 2 / (1000 / 6) for count in orders.values()) < 20.5


def test_more_launches_only_add_blocks_and_leave_the_faults_as_they_were() -> None:
    few, many = (plan(asked([1, 2, 4], launches, faults=[{}])) for launches in (3, 5))
    assert many[:9] == few[:9]
    assert (many[-1].fault, many[-1].seed) == (few[-1].fault, few[-1].seed)


def test_the_order_in_which_levels_are_written_changes_nothing() -> None:
    one, other = asked([1, 2, 4], 3), asked([4, 1, 2], 3)
    assert plan(one) == plan(other)


def test_a_fault_without_levels_is_planned_at_the_largest() -> None:
    (launch,) = (launch for launch in plan(asked([4, 1, 2], 1, faults=[{}])) if launch.role == "fault")
    assert (launch.workers, launch.configuration, launch.block) == (4, "workers=4", 1)


def test_the_table_shows_every_launch_under_its_headings() -> None:
    experiment = asked([1, 2], 2, faults=[{"within_steps": 1}])
    table = plan_table(experiment)
    assert len(table) == 5
    assert all(len(row) == len(PLAN_COLUMNS) for row in table)
    last = dict(zip(PLAN_COLUMNS, table[-1], strict=True))
    assert (last["slot"], last["block"], last["configuration"], last["role"]) == ("4", "2", "workers=2", "fault")
    assert last["fault"].endswith("1 step after checkpoint 1, signal KILL")
    assert {row[-1] for row in table[:-1]} == {""}


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_the_expected_time_counts_every_launch(one: float, two: float) -> None:
    # 3 timed launches of each, one fault launch at 2 workers.
    experiment = asked([1, 2], 3, faults=[{}])
    expected = expected_seconds(experiment, {"workers=1": one, "workers=2": two})
    assert expected == pytest.approx(3 * one + 4 * two)


def test_no_time_is_expected_where_one_is_unknown() -> None:
    assert expected_seconds(asked([1, 2], 3), {"workers=1": 1.0}) is None


def served(**more: object) -> Experiment:
    targets = [{"name": name, **more} for name in ("a", "b", "c")]
    return from_mapping(
        {
            "name": "x",
            "workload": {"runner": "serving"},
            "serving": {"concurrency": [8, 1, 4], "targets": targets, "scenarios": ["D(1,1)", "D(2,2)"]},
            "launches": {"per_configuration": 6},
        }
    )


def test_a_block_of_loads_holds_every_engine_scenario_and_load_once() -> None:
    experiment = served(urls=["http://h:1"])
    names = {one.name for one in configurations(experiment)}
    assert len(names) == 3 * 2 * 3
    assert "engine=a scenario=D(1,1) concurrency=8" in names
    for block in range(6):
        own = [one.configuration for one in plan(experiment) if one.block == block]
        assert sorted(own) == sorted(names)
    assert len({tuple(one.configuration for one in plan(experiment) if one.block == block) for block in range(6)}) == 6


def test_loads_of_an_engine_that_assay_starts_stay_together_in_a_block() -> None:
    experiment = served(command=["server", "{port}"])
    firsts = []
    for block in range(6):
        engines = [configuration_of(experiment, one).target for one in plan(experiment) if one.block == block]
        assert [engine for engine, _ in itertools.groupby(engines)] == list(dict.fromkeys(engines))
        firsts.append(engines[0])
    assert len(set(firsts)) > 1  # which engine comes first is random


def test_a_fault_under_load_hits_the_middle_load_of_each_engine_and_keeps_what_was_asked() -> None:
    experiment = from_mapping(
        {
            "name": "x",
            "workload": {"runner": "serving"},
            "serving": {
                "concurrency": [1, 4, 16],
                "targets": [{"name": "a", "command": ["s"], "replicas": 3}, {"name": "b", "command": ["s"]}],
            },
            "faults": [{"kind": "kill", "at_s": 1.5}, {"kind": "stop", "target": "a", "load": 16.0, "replica": 2}],
        }
    )
    faults = [one for one in plan(experiment) if one.role == "fault"]
    assert [one.configuration for one in faults] == ["engine=a concurrency=4", "engine=b concurrency=4", "engine=a concurrency=16"]
    assert all(one.fault is not None and one.fault.serving is not None for one in faults)
    assert [one.fault.rank < one.workers for one in faults if one.fault] == [True, True, True]
    assert faults[2].fault is not None
    assert faults[2].fault.rank == 2
