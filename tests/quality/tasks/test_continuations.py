"""Are texts and choices read as they are, and is an invalid line named?"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import SpecError
from fireassay.quality.scoring.likelihoods import right_choices
from fireassay.quality.tasks.choices import CONTINUATIONS


def written(folder: Path, *rows: Any) -> Path:
    path = folder / "texts.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return path


def test_a_given_text_is_the_only_choice(tmp_path: Path) -> None:
    path = written(
        tmp_path, {"prompt": "2+2= ", "continuation": " 4\n", "id": 9, "cluster": "sums"}, "", {"prompt": "a", "continuation": "b"}
    )
    (task,) = CONTINUATIONS.read(path, {})
    assert [(item.id, item.prompt, item.choices, right_choices(item)) for item in task.items] == [
        ("9", "2+2= ", (" 4\n",), ("0",)),
        ("2", "a", ("b",), ("0",)),
    ]
    assert (task.name, task.method, task.metrics, task.cluster) == ("texts", "loglikelihood", ("bits_per_byte", "perplexity"), "cluster")
    assert task.files == {"texts.jsonl": sha256(path.read_bytes()).hexdigest()}


@pytest.mark.parametrize(
    ("choices", "label", "right"),
    [([" 3", " 4"], 1, "1"), ([" 3", " 4"], "4", "1"), ([" 1", " 0"], 1, "1"), ([" 1", " 0"], "1", "0"), ([" B", " A"], 0, "0")],
)
def test_a_label_is_an_index_or_a_text(choices: list[str], label: object, right: str, tmp_path: Path) -> None:
    (task,) = CONTINUATIONS.read(written(tmp_path, {"prompt": "q", "choices": choices, "label": label}), {})
    assert right_choices(task.items[0]) == (right,)
    assert task.metrics == ("acc", "acc_norm")


GOOD = {"prompt": "q", "continuation": " a"}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ((GOOD, "{"), "line 2.*no JSON"),
        ((GOOD, "[]"), "line 2"),
        ((GOOD, {"prompt": "q"}), "line 2.*either continuation, or choices"),
        ((GOOD, {**GOOD, "choices": ["a", "b"]}), "line 2.*either continuation, or choices"),
        (({"prompt": "q", "choices": ["a"], "label": 0},), "line 1.*two texts or more"),
        (({"prompt": "q", "choices": ["a", "b"], "label": 2},), "line 1.*an index from 0 to 1"),
        (({"prompt": "q", "choices": ["a", "b"], "label": True},), "line 1.*an index from 0 to 1"),
        (({"prompt": "q", "choices": ["a", "b"]},), "line 1.*an index from 0 to 1"),
        (({"prompt": "", "continuation": "a"},), "line 1.*not empty"),
        ((GOOD, {"prompt": "q", "choices": ["a", "b"], "label": 0}), "one kind"),
        (({**GOOD, "id": 1}, {**GOOD, "id": "1"}), "each id once"),
        ((), "an empty file"),
    ],
)
def test_an_invalid_line_is_named(rows: tuple[Any, ...], words: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=f"(?s){words}"):
        CONTINUATIONS.read(written(tmp_path, *rows), {})
