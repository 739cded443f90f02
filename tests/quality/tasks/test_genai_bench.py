"""Are prompts, skills, images and ratings of GenAI-Bench read as they are, in every public layout?"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fireassay.errors import SpecError
from fireassay.quality.tasks.genai_bench import FORMAT, Copy, copy_at, read
from tests.quality.tasks import genai_made as made


def means(copy: Copy) -> dict[str, float]:
    return {model: sum(sum(entry.ratings[model]) for entry in copy.entries) / (3 * len(copy.entries)) for model in copy.models}


def test_1600_prompts_have_the_known_means_and_skills(tmp_path: Path) -> None:
    copy = copy_at(made.as_json(tmp_path))
    assert (len(copy.entries), copy.models) == (1600, made.MODELS)
    assert sum(len(values) for entry in copy.entries for values in entry.ratings.values()) == 1600 * 6 * 3
    assert means(copy) == {name: 3.0 if index < 3 else pytest.approx(2.8) for index, name in enumerate(made.MODELS)}
    counted = Counter(skill for entry in copy.entries for skill in entry.skills)
    divisible = {name: 1600 // (index + 2) for index, name in enumerate((*made.BASIC, *made.ADVANCED))}
    assert {name: counted[name] for name in divisible} == divisible
    assert copy.entries[13].skills == (*made.skills(14)[0], *made.skills(14)[1], "advanced")
    first = copy.entries[0]
    assert (first.id, first.prompt, first.skills) == ("00001", "drawing 1", ())
    assert first.ratings == {name: tuple(values) for name, values in made.ratings(1).items()}


def plain(copy: Copy) -> list[tuple[int, str, frozenset[str], dict[str, tuple[float, ...]]]]:
    return [(int(entry.id), entry.prompt, frozenset(entry.skills), dict(entry.ratings)) for entry in copy.entries]


def test_every_layout_says_the_same(tmp_path: Path) -> None:
    expected = plain(copy_at(made.as_json(tmp_path / "json", 60)))
    for name, rows in (("new", made.rows(60)), ("old", made.older_rows(60))):
        lines = tmp_path / f"{name}.jsonl"
        lines.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        table = tmp_path / name
        table.mkdir()
        image = {"bytes": b"\xff\xd8\xff", "path": "1.jpeg"}
        pl.DataFrame([{**row, "DALLE_3": image} for row in rows]).write_parquet(table / "GenAI-Bench.parquet")
        assert plain(copy_at(lines)) == plain(copy_at(table)) == expected
    assert copy_at(tmp_path / "new").digest == copy_at(tmp_path / "new" / "GenAI-Bench.parquet").digest


def test_images_are_those_in_the_folder_of_the_model(tmp_path: Path) -> None:
    folder = made.as_json(tmp_path, 2)
    (folder / "SDXL_Turbo").mkdir()
    (folder / "SDXL_Turbo" / "00002.jpeg").write_bytes(b"")
    rows = [row.values for row in copy_at(folder).answers()]
    assert len(rows) == 2 * 6
    assert {row["image"] for row in rows} == {None, "SDXL_Turbo/00001.jpeg", "SDXL_Turbo/00002.jpeg"}
    assert rows[0] == {**rows[0], "id": "00001", "model": "DALLE_3", "skill": [], "human_rating": sum(made.ratings(1)["DALLE_3"]) / 3}


def test_the_prompts_are_a_task_of_images_with_their_skills(tmp_path: Path) -> None:
    (task,) = read(made.as_json(tmp_path, 30), {"size": "512x512"})
    assert (task.method, len(task.items), task.metrics, task.options["image_made.size"]) == ("images", 30, ("image_made",), "512x512")
    assert task.items[11].groups == {"skill": tuple(sorted(copy_at(tmp_path).entries[11].skills))}
    assert (task.items[0].groups, task.items[0].prompt, task.items[0].references) == ({}, "drawing 1", ("drawing 1",))
    assert set(task.files) == {"genai_image.json", "genai_skills.json"}
    assert "image_made.size" not in read(tmp_path, dict(FORMAT.options))[0].options


def test_a_copy_without_skills_or_ratings_is_asked_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "genai_image.json").write_text(json.dumps({"00001": {"prompt": "a cat"}}))
    (task,) = read(tmp_path, dict(FORMAT.options))
    assert [(item.id, item.prompt) for item in task.items] == [("00001", "a cat")]
    assert copy_at(tmp_path).models == ()


def test_a_rating_that_is_missing_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "genai_image.json").write_text(json.dumps({"1": {"prompt": "a cat", "models": {"A": [5, None, 4], "B": []}}}))
    copy = copy_at(tmp_path)
    assert copy.entries[0].ratings == {"A": (5.0, 4.0), "B": ()}
    assert [row.values["human_rating"] for row in copy.answers()] == [4.5, None]


def wrong(folder: Path, content: Any, skills: Any = None) -> str:
    (folder / "genai_image.json").write_text(content if isinstance(content, str) else json.dumps(content))
    if skills is not None:
        (folder / "genai_skills.json").write_text(json.dumps(skills))
    with pytest.raises(SpecError) as caught:
        copy_at(folder)
    return str(caught.value)


CAT = {"00001": {"prompt": "a cat", "models": {"A": [5]}}}


def test_what_is_no_copy_is_refused_with_its_place(tmp_path: Path) -> None:
    assert "an object of prompts" in wrong(tmp_path, [])
    assert "no prompt" in wrong(tmp_path, {})
    assert "'prompt'" in wrong(tmp_path, {"00001": {}})
    assert "twice" in wrong(tmp_path, '{"1": {"prompt": "a"}, "1": {"prompt": "b"}}')
    assert "an object of lists of ratings" in wrong(tmp_path, {"1": {"prompt": "a", "models": [5]}})
    for rating in (6, 0, True, "five", {}, 1e400):
        assert "ratings from 1 to 5" in wrong(tmp_path, {"1": {"prompt": "a", "models": {"A": [rating]}}}), rating
    assert "a list of ratings" in wrong(tmp_path, {"1": {"prompt": "a", "models": {"A": 5}}})


def test_skills_of_another_copy_are_refused(tmp_path: Path) -> None:
    assert "527 and with 1,600" in wrong(tmp_path, CAT, {"counting": [1, 700]})
    assert "numbers of prompts" in wrong(tmp_path, CAT, {"counting": ["x"]})
    assert "an object of lists" in wrong(tmp_path, CAT, ["counting"])


def test_a_table_with_broken_cells_is_refused(tmp_path: Path) -> None:
    for cell in ("[5, 4", "[5, 'x']", "high"):
        (tmp_path / "a.jsonl").write_text(json.dumps({"id": "1", "prompt": "a", "A_HumanRating": cell}))
        with pytest.raises(SpecError, match="rating"):
            copy_at(tmp_path / "a.jsonl")
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(SpecError, match="no Parquet"):
        copy_at(tmp_path / "a.parquet")


def test_a_folder_must_say_which_file_is_meant(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="genai_image.json"):
        copy_at(tmp_path)
    for name in ("a.jsonl", "b.parquet"):
        (tmp_path / name).write_text("")
    with pytest.raises(SpecError, match="2 tables"):
        copy_at(tmp_path)


@pytest.mark.parametrize("size", ["large", "512", "0x8", "512 x 512"])
def test_a_size_is_width_by_height(size: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="WIDTHxHEIGHT"):
        read(made.as_json(tmp_path, 1), {"size": size})
