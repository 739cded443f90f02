"""A field that every item has each value of, equally often, holds sides that nobody named."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from fireassay.quality.tasks.answer_file import read
from fireassay.spec.sections.evaluation import Fields

Row = Mapping[str, Any]


def found(folder: Path, rows: Sequence[Row], **fields: Any) -> tuple[str, tuple[str, ...]] | None:
    path = folder / "answers.jsonl"
    path.write_text("".join(f"{json.dumps({'answer': 'a', 'reference': 'a', **row})}\n" for row in rows))
    return read(path, Fields(**{"id": "id", **fields})).pooled


def crossed(items: int = 10, **levels: Sequence[Any]) -> list[Row]:
    ((name, values),) = levels.items()
    return [{"id": f"p{item}", name: value} for item in range(items) for value in values]


def test_two_models_in_one_file_are_found(tmp_path: Path) -> None:
    assert found(tmp_path, crossed(model=("sd", "flux"))) == ("model", ("sd", "flux"))


def test_so_are_several_candidates_of_each(tmp_path: Path) -> None:
    assert found(tmp_path, crossed(model=("sd", "flux") * 9)) == ("model", ("sd", "flux"))


@pytest.mark.parametrize("values", [(1, 2, 3), ("1", "2", "3"), ("a", "a"), ("a", None), ("", "b"), [str(at) + "x" for at in range(21)]])
def test_seeds_equal_texts_and_texts_of_many_kinds_are_no_sides(tmp_path: Path, values: Sequence[Any]) -> None:
    assert found(tmp_path, crossed(seed=values)) is None


def test_texts_that_fall_on_items_by_chance_are_no_sides(tmp_path: Path) -> None:
    rows = [{"id": f"p{item}", "verdict": "good" if (item * answer) % 3 else "bad"} for item in range(10) for answer in (1, 2)]
    assert found(tmp_path, rows) is None


def test_a_field_in_use_is_not_named(tmp_path: Path) -> None:
    assert found(tmp_path, crossed(prompt=("a", "b")), prompt="other") == ("prompt", ("a", "b"))
    assert found(tmp_path, [{"id": f"p{item}", "answer": text} for item in range(9) for text in ("yes", "no")]) is None


def test_one_item_in_ten_may_lack_a_side(tmp_path: Path) -> None:
    rows = crossed(20, model=("sd", "flux"))
    assert found(tmp_path, [*rows[2:], {"id": "p0", "model": "sd"}, {"id": "p0", "model": "sd"}]) is not None
    assert found(tmp_path, [row for row in rows if (row["id"] in ("p0", "p1", "p2", "p3")) <= (row["model"] == "sd")]) is not None
    assert found(tmp_path, [{**row, "model": "sd"} if row["id"] in ("p0", "p1", "p2") else row for row in rows]) is None


def test_items_without_a_second_answer_have_no_sides(tmp_path: Path) -> None:
    assert found(tmp_path, [{"id": item, "model": "ab"[item % 2]} for item in range(10)]) is None
