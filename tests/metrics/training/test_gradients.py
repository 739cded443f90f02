"""Are the first gradients those of one worker?"""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.frames.training.correctness.first_gradients import First, Gradient, firsts
from fireassay.metrics.training.correctness import GRADIENT_ERROR, GRADIENT_SCALE
from fireassay.spec.experiment import Scaling
from tests.handmade import Handmade
from tests.metrics.gradients_made import Named, add
from tests.metrics.narrow import absence, estimated

# ---- gradient_error: the largest relative error of a parameter against one worker; or the reason why nothing is compared.

RIGHT: Named = {"w": [3.0, 4.0], "b": [0.5]}


OTHER: Named = {"w": [3.0, 4.5], "b": [0.5]}  # 0.5 of 5


def value(made: Handmade, name: str = "workers=2") -> Value:
    return GRADIENT_ERROR.compute(made.measured(), {})[name]


def reason(alone: dict[str, Any], two: dict[str, Any], **asked: Any) -> str:
    made = Handmade(levels=(1, 2), blocks=1, **asked)
    add(made, [RIGHT], **alone)
    add(made, [RIGHT, RIGHT], **two)
    return absence(value(made)).detail


def test_the_worst_parameter_of_the_worst_block_is_the_value() -> None:
    made = Handmade(levels=(1, 2), blocks=2)
    for block in range(2):
        add(made, [RIGHT], block=block)
        add(made, [OTHER, OTHER] if block else [RIGHT, RIGHT], block=block)
    found = estimated(value(made))
    assert found.value == found.low == found.high == pytest.approx(0.1, rel=1e-15)
    assert "w, of 2 parameters, in float64, first step, launch 3 against launch 2" in found.method
    assert isinstance(value(made, "workers=1"), Absent)


def test_the_coarser_precision_of_both_sides_counts() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    add(made, [RIGHT], precision="float64")
    add(made, [OTHER, OTHER], precision="bfloat16")
    assert "in bfloat16" in estimated(value(made)).method


def test_a_parameter_without_a_gradient_counts_as_zero() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    add(made, [RIGHT])
    add(made, [{"w": [3.0, 4.0], "b": []}] * 2)
    assert estimated(value(made)).value == 1.0


def test_incomparable_gradients_give_the_reason() -> None:
    assert "other parameters" in reason({"start": "a"}, {"start": "b"})
    assert "not hashed" in reason({}, {"start": ""})
    assert "other samples" in reason({"ids": range(8)}, {"ids": range(1, 9)})
    assert "belong to another step" in reason({}, {"step": 1})
    assert "another number of items" in reason({"ids": None}, {"ids": None, "items": 16.0}, scaling=Scaling(mode="strong"))
    assert "call probe.samples" in reason({"ids": None}, {"ids": None}, scaling=Scaling(mode="weak"))


def test_without_one_worker_or_without_gradients_there_is_nothing() -> None:
    made = Handmade(levels=(2, 4), blocks=1)
    add(made, [RIGHT, RIGHT])
    alone, none = absence(value(made)), absence(value(made, "workers=4"))
    assert "no launch of one worker" in alone.detail
    assert "probe.watch" in none.detail


def test_a_rank_without_gradients_is_said() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    add(made, [RIGHT])
    add(made, [RIGHT, {}])
    assert "only 1 of 2 ranks" in absence(value(made)).detail


def test_a_later_incarnation_is_no_first_step() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    add(made, [RIGHT])
    number = add(made, [RIGHT, RIGHT])
    made.rows["gradients"].append((number, 0, 1, 0, "w", 2, "float64", 9.0, [9.0, 0.0], 0, 1, None))
    assert estimated(value(made)).value == 0.0


def test_ranks_with_other_parameters_are_no_replicas() -> None:
    """The stages of a pipeline: nothing is apart, and nothing is compared."""
    made = Handmade(levels=(1, 2), blocks=1)
    add(made, [RIGHT])
    add(made, [{"w": [3.0, 4.0]}, {"b": [0.5]}])
    assert [first.apart() for first in firsts(made.measured())] == [(), ()]
    assert "or other parameters" in absence(value(made)).detail


def parts(made: Handmade, held: list[tuple[int, list[float], int]], **asked: Any) -> None:
    """A launch of which every rank holds (part, sums, start) of w, in two parts."""
    number = add(made, [{} for _ in held], start="", **asked)
    for rank, (part, sums, start) in enumerate(held):
        norm = float(sum(x * x for x in sums) ** 0.5)
        made.rows["gradients"].append((number, rank, 0, 0, "w", 1, "float64", norm, sums, part, 2, start))


def sharded(held: list[tuple[int, list[float], int]]) -> Value:
    made = Handmade(levels=(1, len(held)), blocks=1)
    number = add(made, [{}], start="")
    made.rows["gradients"].append((number, 0, 0, 0, "w", 2, "float64", 5.0, [3.0, 4.0], 0, 1, -7))
    parts(made, held)
    return value(made, f"workers={len(held)}")


def test_the_parts_of_a_sharded_model_are_added_up() -> None:
    assert estimated(sharded([(0, [3.0, 0.0], 2**63 - 10), (1, [0.0, 4.0], 3 - 2**63)])).value == 0.0
    assert estimated(sharded([(0, [3.0, 0.0], -3), (1, [0.0, 4.5], -4)])).value == pytest.approx(0.1, rel=1e-15)


def test_replicas_of_a_part_count_once_and_are_compared() -> None:
    held = [(0, [3.0, 0.0], -3), (1, [0.0, 4.0], -4)]
    assert estimated(sharded([*held, *held])).value == 0.0
    made = Handmade(levels=(4,), blocks=1)
    parts(made, [*held, (0, [3.0, 0.0], -3), (1, [0.0, 4.5], -4)])
    (first,) = firsts(made.measured())
    assert first.apart() == ("w",)
    assert first.sharded


def test_a_sharded_model_that_began_otherwise_or_lacks_a_part_is_not_compared() -> None:
    assert "other parameters" in absence(sharded([(0, [3.0, 0.0], -3), (1, [0.0, 4.0], -5)])).detail
    assert absence(sharded([(0, [3.0, 0.0], -3), (0, [3.0, 0.0], -3)])).detail == "not all parts of w were kept"


def test_parts_with_norms_and_without_sums_give_a_whole_norm() -> None:
    of_rank = {rank: {"weight": Gradient(norm=norm, sums=(), part=rank, parts=2)} for rank, norm in enumerate((3.0, 4.0))}
    first = First(launch=0, configuration="workers=2", workers=2, block=0, step=0, precision="float32", of_rank=of_rank)
    assert first.own == {"weight": Gradient(norm=5.0, sums=())}


def idle(*, begun: int = -4, of_alone: float | None = None) -> Value:
    """A sharded model of w and of u, which the first step does not use: of it each rank hashed its own part, and says that it is the
    whole.
    """
    made = Handmade(levels=(1, 2), blocks=1)
    number = add(made, [{}], start="")
    sums = [] if of_alone is None else [of_alone]
    made.rows["gradients"].append((number, 0, 0, 0, "w", 2, "float64", 5.0, [3.0, 4.0], 0, 1, -7))
    made.rows["gradients"].append((number, 0, 0, 0, "u", len(sums), "float64", of_alone, sums, 0, 1, 11))
    parts(made, [(0, [3.0, 0.0], -3), (1, [0.0, 4.0], begun)])
    sharded_run = max(row[0] for row in made.rows["gradients"])
    for rank, start in enumerate((5, 6)):
        made.rows["gradients"].append((sharded_run, rank, 0, 0, "u", 0, "", None, [], 0, 1, start))
    return value(made)


def test_a_part_without_a_gradient_is_no_sign_of_other_parameters() -> None:
    assert estimated(idle()).value == 0.0
    assert estimated(idle(of_alone=5.0)).value > 0.1
    assert "other parameters" in absence(idle(begun=-5)).detail


def test_without_any_gradient_the_hashes_of_whole_parameters_are_used() -> None:
    for hashed, word in (("", "not hashed"), ("start", "")):
        made = Handmade(levels=(1, 2), blocks=1)
        for held in ([11], [5, 6]):
            number = add(made, [{} for _ in held], start=hashed)
            for rank, start in enumerate(held):
                made.rows["gradients"].append((number, rank, 0, 0, "u", 0, "", None, [], 0, 1, start))
        found = value(made)
        assert not isinstance(found, Absent) or "began with other" not in found.detail, hashed
        assert not word or (isinstance(found, Absent) and word in found.detail)


def test_the_samples_of_all_steps_until_the_optimizers_first_count() -> None:
    """A script whose steps are the passes of an accumulation."""
    found = []
    for last in (8, 9):
        made = Handmade(levels=(1, 2), blocks=1)
        for workers, ids in ((1, range(8)), (2, range(8))):
            number = add(made, [RIGHT] * workers, ids=ids, step=1)
            made.samples(number, [last if workers == 2 else 8], rank=0, step=1)
        found.append(value(made))
    assert isinstance(found[0], Estimate)
    assert isinstance(found[1], Absent)
    assert "other samples" in found[1].detail


# ---- gradient_scale: the factor between the gradients, over all parameters.


@pytest.mark.parametrize("factor", [1.0, 0.5, 2.0])
def test_the_factor_is_found_exactly(factor: float) -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    add(made, [{"w": [3.0, 4.0], "b": [0.5]}])
    add(made, [{"w": [3.0 * factor, 4.0 * factor], "b": [0.5 * factor]}] * 2)
    assert estimated(GRADIENT_SCALE.compute(made.measured(), {})["workers=2"]).value == factor


def test_a_shorter_one_that_points_elsewhere_has_its_projection() -> None:
    """g* = (3, 4), g = (3, 0): 9/25."""
    made = Handmade(levels=(1, 2), blocks=1)
    add(made, [{"w": [3.0, 4.0]}])
    add(made, [{"w": [3.0, 0.0]}] * 2)
    assert estimated(GRADIENT_SCALE.compute(made.measured(), {})["workers=2"]).value == pytest.approx(9 / 25, rel=1e-15)


def test_a_gradient_of_zero_has_no_factor() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    add(made, [{"w": [0.0, 0.0]}])
    add(made, [{"w": [1.0, 0.0]}] * 2)
    values = GRADIENT_SCALE.compute(made.measured(), {})
    assert isinstance(values["workers=1"], Absent)
    assert absence(values["workers=2"]).reason == "undefined"
