"""Answers that are images: scored once decoded, kept as a digest and a small copy, and none without a reason."""

from __future__ import annotations

import base64
import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image

from fireassay.errors import Interrupted, SpecError, WorkloadError
from fireassay.frames.record_data import RecordData
from fireassay.record.images import thumbnails
from fireassay.record.reader import open_record
from fireassay.record.seal import verify
from fireassay.runners.answers import check
from fireassay.runners.evaluating import pictures
from fireassay.runners.experiment import run as running
from fireassay.spec.load import from_mapping
from fireassay.verdict.judge import judge
from tests.answered import scored
from tests.instruments.images.tiny_models import digest
from tests.runners.evaluating import colour_model

COLOURS = ("red", "lime", "blue", "yellow", "aqua")


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures.models, "load", colour_model.load)


def stored(path: Path, colour: str, size: tuple[int, int] = (20, 10)) -> bytes:
    """A file with an image of this colour; its bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    into = BytesIO()
    Image.new("RGB", size, colour).save(into, "PNG")
    path.write_bytes(into.getvalue())
    return into.getvalue()


def images(folder: Path, side: str, colours: Sequence[str] = COLOURS) -> list[dict[str, Any]]:
    """A row for each colour that is asked for, and the image that answers it."""
    rows = []
    for number, (wanted, given) in enumerate(zip(COLOURS * 9, colours, strict=False)):
        stored(folder / side / f"{number}.png", given)
        rows.append({"id": number, "prompt": f"a wall in {wanted}", "image": f"{side}/{number}.png"})
    return rows


def made(folder: Path, sides: Mapping[str, Sequence[Mapping[str, Any]]], **more: Any) -> RecordData:
    words = {"metrics": ["clipscore"], "options": {"clipscore.model": "colours"}, **more}
    return scored(folder, sides, fields={"image": "image", **words.pop("fields", {})}, **words)


def outcomes(measured: RecordData) -> list[str]:
    return measured.table("answers").sort("launch", "item")["outcome"].to_list()


def test_each_image_is_scored_against_its_prompt(tmp_path: Path) -> None:
    measured = made(tmp_path, {"a": images(tmp_path, "a", ("red", "red", "blue", "red", "aqua"))})
    scores = measured.table("scores").sort("item")["score"].to_list()
    assert scores == pytest.approx([2.5, 0.0, 2.5, 2.5 / 2**0.5, 2.5])  # red and yellow: 45 degrees
    assert set(outcomes(measured)) == {"ok"}


def test_the_record_keeps_digest_size_and_a_small_copy_under_the_seal(tmp_path: Path) -> None:
    content = stored(tmp_path / "deep" / "x.png", "red", (800, 400))
    measured = made(tmp_path, {"a": [{"id": "x", "prompt": "red", "image": "deep/x.png"}]})
    (row,) = measured.table("images").to_dicts()
    sha = digest(content)
    assert {
        name: row[name] for name in ("task", "item", "repetition", "name", "sha256", "format", "bytes", "width", "height", "thumbnail")
    } == {
        "task": "answers",
        "item": "x",
        "repetition": 0,
        "name": "deep/x.png",
        "sha256": sha,
        "format": "PNG",
        "bytes": len(content),
        "width": 800,
        "height": 400,
        "thumbnail": f"{sha}.jpg",
    }
    path = next((tmp_path / "records").iterdir())
    kept = Image.open(BytesIO(thumbnails.read(path, 0, row["thumbnail"])))
    assert (kept.format, kept.size) == ("JPEG", (256, 128))
    assert verify(path) == ()
    archive = path / thumbnails.name_of(0)
    archive.write_bytes(archive.read_bytes().replace(b"JFIF", b"JFIX", 1))
    assert any(problem.startswith("images/launch=0000.zip: was changed") for problem in verify(path))


def test_the_answer_is_the_images_digest_whatever_its_name(tmp_path: Path) -> None:
    sides = {"a": images(tmp_path, "a"), "b": images(tmp_path, "b", ("red", "lime", "blue", "yellow", "red"))}
    table = made(tmp_path, sides).table("answers").sort("item")
    a, b = (table.filter(pl.col("text").str.starts_with(side))["answer"].to_list() for side in "ab")
    assert a[:4] == b[:4]
    assert a[4] != b[4]
    assert all(answer.startswith("sha256:") for answer in a)


BAD = {
    "missing.png": "there_is_none",
    "empty.png": b"",
    "text.png": b"hello",
    "cut.png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
    "vector.svg": b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
}


def test_what_is_no_image_has_no_score_and_a_reason(tmp_path: Path) -> None:
    rows = images(tmp_path, "a")
    for name, content in BAD.items():
        if isinstance(content, bytes):
            (tmp_path / "a" / name).write_bytes(content)
        rows.append({"id": name, "prompt": "red", "image": f"a/{name}"})
    rows.append({"id": "outside", "prompt": "red", "image": "/etc/passwd"})
    rows += [{"id": name, "prompt": "red", "image": value} for name, value in (("null", None), ("blank", ""))]
    measured = made(tmp_path, {"a": rows})
    found = dict(measured.table("answers").select("item", "outcome").iter_rows())
    said = {
        "missing.png": "no score: 'a/missing.png': No such file or directory",
        "empty.png": "no score: not an image: an empty file",
        "text.png": "no score: not an image: neither PNG, JPEG, WEBP, GIF nor BMP",
        "vector.svg": "no score: not an image: SVG and HTML are programs, and are not run",
        "outside": "no score: '/etc/passwd' is outside the folder of the file of answers; the images must be below it",
        "null": "missing",
        "blank": "missing",
    }
    assert {name: found[name] for name in said} == said
    assert found["cut.png"].startswith("no score: not an image: ")
    assert measured.table("scores").height == len(COLOURS)
    kept = measured.table("images")
    assert set(kept.filter(pl.col("width").is_null())["item"]) == {"empty.png", "text.png", "cut.png", "vector.svg"}
    assert judge(measured).verdict.status == "INVALID"
    evidence = " ".join(finding.evidence for finding in judge(measured).verdict.findings)
    assert "2 of 13 items were not answered (2 missing); 6 of 13 items have no score (item " in evidence


def test_several_images_of_an_item_are_repetitions(tmp_path: Path) -> None:
    rows = [{**row, "id": 0, "prompt": "red"} for row in images(tmp_path, "a")]
    table = made(tmp_path, {"a": rows}).table("images").sort("repetition")
    assert table["repetition"].to_list() == [0, 1, 2, 3, 4]


def test_data_in_the_file_is_an_image_too(tmp_path: Path) -> None:
    content = stored(tmp_path / "x.png", "red")
    url = f"data:image/png;base64,{base64.b64encode(content).decode()}"
    measured = made(tmp_path, {"a": [{"id": 0, "prompt": "red", "image": url}]})
    assert measured.table("scores")["score"].to_list() == pytest.approx([2.5])
    assert measured.table("answers")["text"].to_list() == [f"data:image/png;base64, {len(url)} characters"]


def test_a_field_of_references_is_what_the_images_are_to_show(tmp_path: Path) -> None:
    rows = [{**row, "reference": ["blue", "red"]} for row in images(tmp_path, "a", ("red",))]
    assert made(tmp_path, {"a": rows}).table("scores")["score"].to_list() == pytest.approx([2.5])


def test_images_against_reference_images(tmp_path: Path) -> None:
    rows = images(tmp_path, "a", ("red", "red"))
    wanted = [{**row, "gold": name} for row, name in zip(rows, ("a/0.png", "blue.png"), strict=True)]
    stored(tmp_path / "blue.png", "blue")
    words = {"options": {"clipscore.model": "colours", "clipscore.against": "image"}, "fields": {"reference": "gold"}}
    measured = made(tmp_path, {"a": wanted}, **words)
    assert measured.table("scores").sort("item")["score"].to_list() == pytest.approx([2.5, 0.0])
    first = measured.before["evaluation"]["tasks"]["answers"]["reference_images"]
    stored(tmp_path / "blue.png", "red")
    assert made(tmp_path, {"a": wanted}, **words).before["evaluation"]["tasks"]["answers"]["reference_images"] != first
    (tmp_path / "blue.png").write_bytes(b"none")
    assert outcomes(made(tmp_path, {"a": wanted}, **words))[1].startswith("no score: reference image 'blue.png': not an image")


def test_a_reference_image_that_changes_meanwhile_is_an_error(tmp_path: Path) -> None:
    stored(tmp_path / "x.png", "red")
    rows = [{"id": 0, "prompt": "red", "image": "x.png", "reference": "x.png"}]
    references = pictures.References(folder=tmp_path, digests={"x.png": "another"})
    from fireassay.quality.rows import Asked
    from fireassay.quality.scoring.items import Item

    asked = Asked(item=Item(id="0", prompt="", references=("x.png",)), repetition=0, outcome="ok", text=rows[0]["image"], extraction=None)
    with thumbnails.Thumbnails() as kept, pytest.raises(WorkloadError, match=r"'x\.png' has changed"):
        pictures.Gallery(tmp_path, (), references, kept).judged([asked])


def test_few_images_are_decoded_at_once_and_their_rows_are_those_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = images(tmp_path, "a", COLOURS * 3)
    together = made(tmp_path / "x", {"a": rows_in(tmp_path, rows)})
    for name, value in (("IMAGES", 2), ("PIXELS", 300)):
        monkeypatch.setattr(pictures, name, value)
        apart = made(tmp_path / name, {"a": rows_in(tmp_path, rows)})
        assert apart.table("scores").drop("launch").equals(together.table("scores").drop("launch"))
        monkeypatch.undo()
        monkeypatch.setattr(pictures.models, "load", colour_model.load)


def rows_in(folder: Path, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows with their images as data, so that they can be scored from any folder."""
    return [
        {**row, "image": f"data:image/png;base64,{base64.b64encode((folder / str(row['image'])).read_bytes()).decode()}"} for row in rows
    ]


def refused(folder: Path, rows: Sequence[Mapping[str, Any]], **more: Any) -> str:
    with pytest.raises(SpecError) as caught:
        made(folder, {"a": rows}, **more)
    return str(caught.value)


def test_addresses_stop_reading(tmp_path: Path) -> None:
    said = refused(tmp_path, [{"id": 0, "prompt": "red", "image": "https://example.org/a.png"}])
    assert "the address" in said
    assert "Download the images first." in said


def test_images_none_of_which_is_there_are_looked_for_elsewhere(tmp_path: Path) -> None:
    said = refused(tmp_path, [{"id": 0, "prompt": "red", "image": "images/a.png"}])
    assert "1 images of which none is there, the first 'images/a.png'" in said
    assert f"paths of images below {tmp_path}" in said


def test_scores_of_texts_do_not_read_images_nor_the_other_way_round(tmp_path: Path) -> None:
    rows = images(tmp_path, "a")
    assert "one of clipscore, hpsv2, image_reward, pickscore, vqascore" in refused(tmp_path, rows, metrics=["exact_match"], options={})
    with pytest.raises(SpecError, match="It reads images: name the field of their paths with --image"):
        scored(tmp_path, {"a": [{"id": 0, "answer": "x", "reference": "y"}]}, metrics=["clipscore"])


def test_a_file_without_the_field_or_without_prompts_says_so(tmp_path: Path) -> None:
    stored(tmp_path / "x.png", "red")
    assert "no field 'image'" in refused(tmp_path, [{"id": 0, "prompt": "red", "picture": "x.png"}])
    said = refused(tmp_path, [{"id": 0, "image": "x.png"}])
    assert "no field 'reference'" in said
    assert "texts that the images are to show (--reference)" in said


def test_a_csv_names_images_too(tmp_path: Path) -> None:
    into = io.StringIO()
    writer = csv.DictWriter(into, ["id", "prompt", "image"])
    writer.writeheader()
    writer.writerows(images(tmp_path, "a"))
    (tmp_path / "a.csv").write_text(into.getvalue())
    experiment = from_mapping(mapping("a.csv"))
    check(experiment, tmp_path)
    path = running.run(experiment, folder=tmp_path, root=tmp_path / "records")
    assert open_record(path).table("scores").height == 5


def mapping(file: str) -> dict[str, Any]:
    return {
        "name": "images",
        "workload": {"runner": "answers", "work": "items"},
        "launches": {"per_configuration": 1},
        "noise": {"sentinel_s": 0.0},
        "evaluation": {
            "answers": [{"name": "a", "path": file}],
            "metrics": ["clipscore"],
            "options": {"clipscore.model": "colours"},
            "fields": {"id": "id", "image": "image"},
        },
    }


def test_an_interrupted_launch_leaves_no_copies_and_can_be_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in images(tmp_path, "a")))
    opened: list[str] = []

    def stopping(folder: Any, name: str) -> bytes:
        opened.append(name)
        if len(opened) == 3:
            os.kill(os.getpid(), 2)
        return original(folder, name)

    original = pictures.ImageFolder.read
    monkeypatch.setattr(pictures.ImageFolder, "read", stopping)
    with pytest.raises(Interrupted):
        running.run(from_mapping(mapping("a.jsonl")), folder=tmp_path, root=tmp_path / "records")
    (path,) = (tmp_path / "records").iterdir()
    assert not (path / "images").exists()
    monkeypatch.setattr(pictures.ImageFolder, "read", original)
    running.resume(path)
    assert open_record(path).table("images").height == 5
    assert verify(path) == ()
