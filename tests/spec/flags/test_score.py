"""The names of sides and of their record are those of the files, whole where they fit."""

from __future__ import annotations

import pytest

from fireassay.spec.flags.evaluate import _name
from fireassay.spec.sections.evaluation import answer_file

INT8 = "answers-llama-3.1-8b-int8-smoothquant-w8a8"


def test_a_side_has_the_whole_name_of_its_file() -> None:
    assert answer_file(f"{INT8}.jsonl", 0)["name"] == INT8
    assert len(answer_file("x" * 200 + ".jsonl", 0)["name"]) == 80


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (("bf16", "int8"), "bf16-vs-int8"),
        ((INT8, "answers-llama-3.1-8b-int4-awq-group128"), f"{INT8}-vs-int4-awq-group128"),
        (("y" * 80, "b", "c"), f"{'y' * 70}-vs-2-more"),
    ],
)
def test_a_record_is_named_after_its_files_or_the_first_and_how_many_more(files: tuple[str, ...], name: str) -> None:
    assert _name(files) == name
    assert len(name) <= 80
