"""Do the quality example's scripts write right questions, and weights that are rounded as they say?"""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fireassay import catalog
from fireassay.quality.scoring.items import Task
from fireassay.runners.evaluation import section, tasks_of
from fireassay.spec.load import load
from fireassay.spec.rules.experiment import notes
from tests.examples.test_serving import EXAMPLES, module

MAKE_ITEMS, MAKE_MODEL, NUMBERS, EXPERIMENT = "quality/make_items.py", "quality/make_model.py", "quality/numbers.toml", "quality.toml"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quality")
    module(MAKE_ITEMS).write(folder / "made")
    (folder / "numbers.toml").write_bytes((EXAMPLES / NUMBERS).read_bytes())
    return folder


def task(layout: str, path: Path, **options: str) -> Task:
    found = catalog.load("quality.tasks", layout)
    (one,) = found.read(path, {**found.options, **options})
    return one


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_there_are_200_choices_and_more_of_several_subjects_and_the_right_one_stands_anywhere(made: Path) -> None:
    asked = task("choices", made / "made" / "choices.jsonl")
    assert len(asked.items) >= 200
    subjects = Counter(item.groups["subject"] for item in asked.items)
    assert len(subjects) >= 5
    assert min(subjects.values()) >= 30
    places = Counter(item.references[0] for item in asked.items)
    assert set(places) == set("ABCD")
    assert max(places.values()) < 1.4 * len(asked.items) / 4, "who always says one letter gains nothing"


def test_every_question_has_four_different_choices_and_the_sums_are_right(made: Path) -> None:
    found = rows(made / "made" / "choices.jsonl")
    assert all(len(set(row["choices"])) == 4 for row in found)
    sums = [row for row in found if row["groups"]["subject"] == "sums"]
    for row in sums:
        a, b = map(int, re.findall(r"\d+", row["question"]))
        assert [int(text) == a + b for text in row["choices"]].index(True) == row["answer"]
    assert sums


def test_a_kind_has_no_second_member_among_the_choices(made: Path) -> None:
    kinds = {kind: set(words.split()) for kind, words in module(MAKE_ITEMS).KINDS.items()}
    asked = [row for row in rows(made / "made" / "choices.jsonl") if row["groups"]["subject"] == "kinds"]
    assert asked
    for row in asked:
        members = kinds[row["question"].rstrip("?").rpartition(" ")[2]]
        assert [text in members for text in row["choices"]].index(True) == row["answer"]
        assert sum(text in members for text in row["choices"]) == 1


def test_the_numbers_of_a_text_are_what_its_questions_ask(made: Path) -> None:
    for row in rows(made / "made" / "numbers.jsonl"):
        seen = [int(text) for text in re.findall(r"\d+", row["text"])]
        if row["kind"] == "sum":
            assert int(row["answer"]) == sum(seen)
        else:
            assert int(row["answer"]) == seen[{"year": 1, "amount": 2}[row["kind"]]]


def test_the_own_task_finds_the_last_number(made: Path) -> None:
    asked = task("file", made / "numbers.toml")
    assert Counter(item.groups["kind"] for item in asked.items) == {"year": 24, "amount": 24, "sum": 24}
    extractor = catalog.load("quality.scoring.extractors", asked.extractor)
    first = asked.items[0]
    assert extractor.extract(f"It was {first.references[0]}.", ()).answer == first.references[0]


def test_every_program_passes_its_own_checks_and_nothing_else_does(made: Path) -> None:
    asked = task("humaneval", made / "made" / "programs.jsonl")
    assert len(asked.items) >= 12
    for item in asked.items:
        space: dict[str, Any] = {}
        exec(item.prompt + item.references[0] + item.test, space)
        space["check"](space[item.entry_point])
        with pytest.raises(AssertionError):
            space["check"](lambda *_: None)


def test_equal_runs_write_equal_files(made: Path, tmp_path: Path) -> None:
    module(MAKE_ITEMS).write(tmp_path)
    for file in sorted(tmp_path.glob("*.jsonl")):
        assert file.read_bytes() == (made / "made" / file.name).read_bytes()


def test_the_experiment_compares_both_weights_on_the_same_items(made: Path) -> None:
    experiment = load(EXAMPLES / EXPERIMENT)
    evaluation, serving = section(experiment)
    assert [target.model for target in serving.targets] == ["quality/model", "quality/int8"]
    assert {target.replicas for target in serving.targets} == {2}
    assert notes(experiment, date(2027, 1, 1)) == (), "one pass needs no further launches, and no objective of speed"
    (asked,) = tasks_of(evaluation.model_copy(update={"data": "made/choices.jsonl"}), made)
    assert (len(asked.items), asked.max_tokens, asked.extractor) == (250, 8, "choice_letter")


def test_the_experiment_on_vllm_has_two_replicas_behind_a_router_and_enough_items(made: Path) -> None:
    from fireassay.verdict.evaluation_plan import Asked, evaluation_plan, refusals

    experiment = load(EXAMPLES / "quality_vllm_cpu.toml")
    evaluation, serving = section(experiment)
    assert [(target.name, target.replicas, bool(target.router)) for target in serving.targets] == [
        ("float32", 1, False),
        ("int8", 1, False),
        ("replicas", 2, True),
    ]
    (asked,) = tasks_of(evaluation.model_copy(update={"data": "made/choices.jsonl"}), made)
    assert (asked.method, len(asked.items)) == ("loglikelihood", 250)
    items = Asked(task=asked.name, items=250, clusters=None, characters=1, most_tokens=0, choices=1000)
    assert list(refusals(experiment, evaluation_plan(experiment, (items,)))) == []


def test_a_package_that_is_missing_is_named() -> None:
    assert module(MAKE_MODEL).missing({"json": "json", "no_such_module_here": "its-package"}) == ["its-package"]


@pytest.mark.deep
@pytest.mark.torch
def test_rounded_weights_are_multiples_of_their_rows_step_and_vectors_stay(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    source, out = tmp_path / "model", tmp_path / "int8"
    source.mkdir()
    (source / "config.json").write_text("{}")
    generator = torch.Generator().manual_seed(0)
    matrix, vector = torch.randn(16, 32, generator=generator), torch.randn(16, generator=generator)
    matrix[3] = 0.0  # a row without a step
    save_file({"a.weight": matrix, "b.weight": vector}, source / "model.safetensors")
    module(MAKE_MODEL).rounded(source, out, 8)
    found = load_file(out / "model.safetensors")
    assert torch.equal(found["b.weight"], vector)
    assert (out / "config.json").read_text() == "{}"
    assert torch.equal(found["a.weight"][3], matrix[3])
    live = [row for row in range(16) if row != 3]
    steps = (matrix.abs().amax(dim=1, keepdim=True) / 127)[live].numpy()
    apart = (found["a.weight"] - matrix)[live].abs().numpy()
    assert np.all(apart <= 0.5001 * steps)
    assert float(apart.max()) > 0.0
    times = found["a.weight"][live].numpy() / steps
    assert np.allclose(times, np.round(times), atol=1e-3)
