"""Which images are shown: those that lost most, then those that score worst, and candidates with the best first."""

from __future__ import annotations

import json
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest
from PIL import Image

from fireassay.errors import RecordError
from fireassay.frames.evaluation import images
from fireassay.frames.evaluation.flipped import flipped
from tests.kinds.evaluation.imaged import pictured, record_of, rows

A, B = "answers=a", "answers=b"


def test_the_worst_lost_most_and_of_equal_losses_scores_least(tmp_path: Path) -> None:
    before, after = (0.9, 0.8, 0.5, 0.7, 0.2), (0.9, 0.3, 0.0, 0.8, 0.2)  # losses 0, 0.5, 0.5, a gain, 0
    measured = pictured(tmp_path, {"a": rows(tmp_path, "a", before), "b": rows(tmp_path, "b", after, 50)})
    worst = images.worst(measured, B, "b", 9)
    assert [row.item for row in worst] == ["p2", "p1", "p4", "p0", "p3"]
    assert [row.change for row in worst] == pytest.approx([-0.5, -0.5, 0.0, 0.0, 0.1])
    assert [row.score for row in worst] == [0.0, 0.3, 0.2, 0.9, 0.8]
    assert (worst[0].image.name, worst[0].prompt, worst[0].side) == ("b/2.png", "a blue circle", "b")
    assert [row.item for row in images.worst(measured, B, "b", 2)] == ["p2", "p1"]


def test_a_single_side_is_sorted_by_its_score(tmp_path: Path) -> None:
    measured = pictured(tmp_path, {"a": rows(tmp_path, "a", (0.9, 0.1, 0.5))})
    worst = images.worst(measured, A, "a", 9)
    assert [(row.item, row.score, row.change) for row in worst] == [("p1", 0.1, None), ("p2", 0.5, None), ("p0", 0.9, None)]


def test_of_a_score_where_lower_is_better_a_rise_is_a_loss(tmp_path: Path) -> None:
    sides = {"a": rows(tmp_path, "a", (0.1, 0.1, 0.9)), "b": rows(tmp_path, "b", (0.1, 0.4, 0.2), 50)}
    measured = pictured(tmp_path, sides, given={"lower_is_better": ["v"]})
    worst = images.worst(measured, B, "b", 9)
    assert [row.item for row in worst] == ["p1", "p0", "p2"]
    assert [row.score for row in worst] == [0.4, 0.1, 0.2]
    assert [row.change for row in worst] == pytest.approx([-0.3, 0.0, 0.7])


def test_an_image_says_what_every_score_and_every_rating_says_of_it(tmp_path: Path) -> None:
    made = rows(tmp_path, "a", (0.9, 0.1), rating=(4.0, 2.0), w=(0.25, 0.75))
    measured = pictured(tmp_path, {"a": made}, fields=("w", "rating"), given={"scales": {"*": "0,1", "rating": "1,5"}})
    shown = images.image_shown(measured, A, "answers", "p1")
    assert shown is not None
    assert [value for _, value in shown.scores] == [0.1, 0.75, 2.0]


def test_changed_items_have_the_images_of_both_sides(tmp_path: Path) -> None:
    measured = pictured(tmp_path, {"a": rows(tmp_path, "a", (0.9, 0.5)), "b": rows(tmp_path, "b", (0.9, 0.1), 50)})
    (flip,) = flipped((measured, A), (measured, B), "b")
    assert flip.images is not None
    before, after = flip.images
    assert (before.name, after.name, before.format, before.width, before.height) == ("a/1.png", "b/1.png", "PNG", 96, 64)
    assert before.sha256 != after.sha256
    with Image.open(BytesIO(after.copy())) as copy:
        assert copy.size == (96, 64)


def test_texts_have_no_images(tmp_path: Path) -> None:
    from tests.answered import rows as texts
    from tests.answered import scored

    measured = scored(tmp_path, {"a": texts(["yes", "no"]), "b": texts(["no", "no"])})
    assert not images.have_images(measured)
    assert images.worst(measured, B, "b", 9) == []
    assert list(images.every_image(measured)) == []
    assert [flip.images for flip in flipped((measured, A), (measured, B), "b")] == [None]


def test_an_image_that_is_missing_says_why_and_keeps_the_score_of_its_file(tmp_path: Path) -> None:
    made = rows(tmp_path, "a", (0.9, 0.1, 0.2))
    (tmp_path / "a" / "1.png").unlink()
    (tmp_path / "a" / "2.png").write_bytes(b"<svg onload='alert(1)'/>")
    measured = pictured(tmp_path, {"a": made})
    worst = images.worst(measured, A, "a", 9)
    assert [(row.item, row.image.missing) for row in worst] == [("p1", "nothing was decoded"), ("p2", "nothing was decoded"), ("p0", "")]
    assert [bool(row.image.sha256) for row in worst] == [False, True, True]  # nothing was read of the first
    for row in worst[:2]:
        with pytest.raises(RecordError, match="nothing was decoded"):
            row.image.copy()


def test_a_copy_that_changed_is_not_given(tmp_path: Path) -> None:
    measured = pictured(tmp_path, {"a": rows(tmp_path, "a", (0.9, 0.1))})
    archive = record_of(tmp_path) / "images" / "launch=0000.zip"
    archive.write_bytes(archive.read_bytes().replace(b"JFIF", b"JFIX", 1))
    with pytest.raises(RecordError, match="changed after it was sealed"):
        images.worst(measured, A, "a", 1)[0].image.copy()


def test_candidates_are_ordered_by_their_score_and_items_by_their_best(tmp_path: Path) -> None:
    made = []
    for number, scores in enumerate([(0.2, 0.9, 0.9), (0.5, 0.1, None), (0.3, 0.4, 0.6)]):
        for row in rows(tmp_path, f"c{number}", scores, 10 * number):
            made.append({**row, "id": f"p{number}", "prompt": f"item {number}"})
    measured = pictured(tmp_path, {"a": made}, best_of={"candidates": 3})
    shown = list(images.candidates(measured, A, "a", 9))
    assert [row.item for row in shown] == ["p1", "p2", "p0"]
    names = [[image.name for image in row.images] for row in shown]
    assert names == [["c1/0.png", "c1/1.png", "c1/2.png"], ["c2/2.png", "c2/1.png", "c2/0.png"], ["c0/1.png", "c0/2.png", "c0/0.png"]]
    assert [row.best for row in shown] == [0.5, 0.6, 0.9]
    assert [row.mean for row in shown] == pytest.approx([0.3, 13 / 30, 2 / 3])
    assert shown[0].images[2].scores == ()
    assert [row.item for row in images.candidates(measured, A, "a", 1)] == ["p1"]


def test_every_image_is_listed_with_its_score(tmp_path: Path) -> None:
    measured = pictured(tmp_path, {"a": rows(tmp_path, "a", (0.9, 0.1)), "b": rows(tmp_path, "b", (0.8, None), 50)})
    listed = [(name, row["item"], row["score"], image.name) for name, row, image in images.every_image(measured)]
    assert listed == [(A, "p0", 0.9, "a/0.png"), (A, "p1", 0.1, "a/1.png"), (B, "p0", 0.8, "b/0.png"), (B, "p1", None, "b/1.png")]
    assert json.dumps(listed)


def test_rows_that_a_strangers_record_holds_many_times_count_once(tmp_path: Path) -> None:
    measured = pictured(tmp_path, {"a": rows(tmp_path, "a", (0.9, 0.1))})
    doubled = {name: pl.concat([measured.table(name)] * 50) for name in ("images", "scores")}
    hostile = replace(measured, tables={**measured.tables, **doubled})
    assert len(list(images.every_image(hostile))) == 2
    assert [row.item for row in images.worst(hostile, A, "a", 9)] == ["p1", "p0"]


def test_a_task_of_texts_beside_one_of_images_keeps_its_texts(tmp_path: Path) -> None:
    measured = pictured(tmp_path, {"a": rows(tmp_path, "a", (0.9, 0.5)), "b": rows(tmp_path, "b", (0.9, 0.1), 50)})
    other = pl.when(pl.col("item") == "p1").then(pl.lit("texts")).otherwise("task").alias("task")
    moved = {name: measured.table(name).with_columns(other) for name in ("answers", "scores")}
    mixed = replace(measured, tables={**measured.tables, **moved, "images": measured.table("images").filter(pl.col("item") == "p0")})
    (flip,) = flipped((mixed, A), (mixed, B), "b")
    assert (flip.task, flip.images, flip.after) == ("texts", None, "b/1.png")
