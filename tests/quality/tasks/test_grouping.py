"""Is the field named that groups items, and no other?"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fireassay.quality.tasks.support.grouping import grouping

Row = dict[str, object]


def rows(count: int, **fields: Callable[[int], object]) -> list[Row]:
    return [{"id": index, "answer": "yes", **{name: of(index) for name, of in fields.items()}} for index in range(count)]


USED = ("id", "answer")


@pytest.mark.parametrize(
    ("made", "named"),
    [
        (rows(300, passage=lambda i: f"p{i // 10}"), ("passage", 30)),
        (rows(300, passage=lambda i: i // 10), ("passage", 30)),
        (rows(300, subject=lambda i: f"s{i % 5}", passage=lambda i: f"p{i // 10}"), ("passage", 30)),
        (rows(300, Subject=lambda i: f"s{i % 5}"), ("Subject", 5)),
        (rows(300, scene=lambda i: f"s{i // 10}", split=lambda i: f"{i % 2}"), ("scene", 30)),
        (rows(300, label=lambda i: f"{i % 2}"), None),  # two labels are no groups
        (rows(300, passage=lambda i: f"p{i}"), None),  # each its own
        (rows(300, model=lambda _: "m"), None),
        (rows(300, passage=lambda i: f"p{i // 10}" if i else None), None),  # not every row has one
        (rows(300, right=lambda i: i % 3 == 0), None),
        (rows(300, score=lambda i: i % 20 / 7), None),
        (rows(300, id=lambda i: i // 10), None),  # used otherwise
        ([], None),
    ],
)
def test_the_field_that_groups_items_is_named(made: list[Row], named: tuple[str, int] | None) -> None:
    assert grouping(made, USED) == named
