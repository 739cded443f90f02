"""Is a limited task a sample of the whole, the same everywhere?"""

from __future__ import annotations

from fireassay.quality.scoring.items import Item, Task
from fireassay.quality.tasks.support.prompts import sampled

ITEMS = tuple(Item(id=f"{'capital' if number < 100 else 'river'}-{number}", prompt=str(number)) for number in range(200))


def task(items: tuple[Item, ...] = ITEMS) -> Task:
    return Task(name="places", items=items, metrics=("exact_match",), method="generation")


def ids(made: Task) -> list[str]:
    return [item.id for item in made.items]


def test_a_sample_of_an_ordered_file_holds_items_of_all_its_parts_in_the_files_order() -> None:
    drawn = sampled(task(), 40)
    assert len(drawn.items) == 40
    assert 10 <= sum(name.startswith("capital") for name in ids(drawn)) <= 30  # 20 expected; outside with 3 of 10,000 seeds
    assert [int(item.prompt) for item in drawn.items] == sorted(int(item.prompt) for item in drawn.items)
    assert drawn.sample == "40 of 200 by SHA-256 of id, seed 0"


def test_the_order_of_the_file_draws_no_other_items_and_a_larger_sample_holds_a_smaller_one() -> None:
    assert set(ids(sampled(task(), 40))) == set(ids(sampled(task(ITEMS[::-1]), 40)))
    assert set(ids(sampled(task(), 40))) < set(ids(sampled(task(), 41)))


def test_the_first_items_are_taken_if_they_are_asked_for() -> None:
    first = sampled(task(), 3, first=True)
    assert ids(first) == ["capital-0", "capital-1", "capital-2"]
    assert first.sample == "the first 3 of 200"


def test_a_limit_that_leaves_nothing_out_is_no_sample() -> None:
    assert sampled(task(), 200) == sampled(task(), 99_999) == sampled(task(), None) == task()
    assert sampled(task(), 200).sample == ""
