"""Does the raters' server answer its own page alone, blinded and harmless?"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fireassay.api.rating import items
from fireassay.errors import SpecError
from tests.api.rating.study import PNG, TOKEN, Study, folder, running

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with running(folder(tmp_path / "study", 5)) as found:
        yield found


def test_a_rater_sees_no_name_of_a_side(study: Study) -> None:
    state = study.next("r1").json
    assert (state["done"], state["total"], state["number"], state["mode"]) == (0, 5, 0, "pairs")
    assert not any(name in json.dumps(state) for name in ("ann", "ben"))
    assert {text["text"].split()[0] for text in state["shown"]} == {"ALPHA", "BETA"}


def test_an_answer_is_kept_and_the_next_thing_comes_back(study: Study) -> None:
    reply = study.post("/answer", {"rater": "r1", "number": 0, "answer": "tie"})
    assert (reply.status, reply.json["number"], reply.json["done"]) == (200, 1, 1)
    assert study.sheet.kept == 1
    assert study.post("/undo", {"rater": "r1"}).json["number"] == 0
    assert study.sheet.kept == 0


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"rater": "r1", "number": 3, "answer": "tie"}, 409),
        ({"rater": "r1", "number": 0, "answer": "ann"}, 400),
        ({"rater": "r 1", "number": 0, "answer": "tie"}, 400),
        ({"rater": 1, "number": 0, "answer": "tie"}, 400),
        ({"rater": "r1", "number": "0", "answer": "tie"}, 404),
        ([1], 400),
        ("x" * 5000, 413),
    ],
)
def test_wrong_answers_keep_nothing(body: object, status: int, study: Study) -> None:
    assert study.post("/answer", body).status == status
    assert study.sheet.kept == 0


def test_another_page_can_neither_read_nor_write(study: Study) -> None:
    answer = {"rater": "r1", "number": 0, "answer": "tie"}
    assert study.next("r1", key="guess").status == 403
    assert study.post("/answer", answer, X_Assay_Key="guess").status == 403
    assert study.post("/answer", answer, Content_Type="text/plain").status == 415  # what a form of a foreign page can send
    assert study.post("/answer", answer, Host="evil.example").status == 421  # a name that resolves to 127.0.0.1
    assert study.ask("GET", f"/next?key={TOKEN}&rater=r1", headers={"Host": f"evil.example:{study.port}"}).status == 421
    assert study.ask("PUT", "/answer").status == 501
    assert study.sheet.kept == 0


def test_every_reply_forbids_what_the_page_does_not_need(study: Study) -> None:
    for path in ("/", "/page.js", "/page.css", f"/next?key={TOKEN}&rater=r1", "/nothing", f"/image/0/0?key={TOKEN}&rater=r1"):
        headers = study.ask("GET", path).headers
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")
        assert headers["X-Content-Type-Options"] == "nosniff"
    page = study.ask("GET", "/").content.decode()
    assert "http" not in page.replace("http-equiv", "")
    assert "<script>" not in page


@pytest.mark.parametrize(
    "path", ["/../items.jsonl", "/items.jsonl", "/image/../../items.jsonl", "/image/0/2", "/image/9/0", "/image/-1/0", "/%2e%2e/x"]
)
def test_no_file_is_found_by_its_path(path: str, study: Study) -> None:
    assert study.ask("GET", f"{path}?key={TOKEN}&rater=r1").status in (400, 404)


def test_images_are_sent_as_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "study"
    (path / "ann").mkdir(parents=True)
    (path / "ann" / "1.svg").write_bytes(PNG)  # its name says nothing
    row = {"item": "1", "prompt": EVIL, "sides": {"ann": {"image": "ann/1.svg"}, "ben": EVIL}}
    (path / "items.jsonl").write_text(json.dumps(row))
    with running(path) as study:
        state = study.next("r1").json
        assert {"text": EVIL} in state["shown"]
        (image,) = (one["image"] for one in state["shown"] if "image" in one)
        assert "ann" not in image
        reply = study.ask("GET", f"{image}?key={TOKEN}&rater=r1")
        assert (reply.status, reply.headers["Content-Type"], reply.content) == (200, "image/png", PNG)
        assert study.ask("GET", f"{image}?rater=r1").status == 403
        (path / "ann" / "1.svg").write_bytes(b"<svg xmlns='http://www.w3.org/2000/svg'/>")
        assert study.ask("GET", f"{image}?key={TOKEN}&rater=r1").status == 404


@pytest.mark.parametrize(
    ("image", "words"),
    [
        ("x.svg", "PNG, JPEG or WebP"),
        ("../out.png", "an image in the folder"),
        ("/etc/passwd", "an image in the folder"),
        ("link.png", "an image in the folder"),
        ("none.png", "an image in the folder"),
        ("a\0b", "an image in the folder"),
        ("pipe.png", "an image in the folder"),
    ],
)
def test_what_is_no_image_of_the_folder_is_refused(image: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "study"
    path.mkdir()
    (tmp_path / "out.png").write_bytes(PNG)
    (path / "x.svg").write_text("<svg onload='alert(1)'/>")
    (path / "link.png").symlink_to(tmp_path / "out.png")
    os.mkfifo(path / "pipe.png")
    (path / "items.jsonl").write_text(json.dumps({"item": "1", "sides": {"a": {"image": image}, "b": "x"}}))
    with pytest.raises(SpecError, match=words):
        items.read(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"item": "1", "sides": {"a": "x"}}\n{"item": "1", "sides": {"a": "y"}}', "again"),
        ('{"item": "1", "sides": ["x"]}', "sides by name"),
        ('{"item": "1", "sides": {"a": 3}}', "a text"),
        ('{"item": "a\\nb", "sides": {"a": "x"}}', "in one line"),
        ('{"item": "1"}', "no field 'sides'"),
        ("nothing", "JSON"),
    ],
)
def test_items_that_cannot_be_shown_are_named(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text(text)
    with pytest.raises(SpecError, match=words):
        items.read(tmp_path)


def test_a_table_of_items_has_a_column_for_each_side(tmp_path: Path) -> None:
    (tmp_path / "b.png").write_bytes(PNG)
    (tmp_path / "items.csv").write_text("item,prompt,a,b\n1,p,a text,image:b.png\n")
    (item,) = items.read(tmp_path)
    assert (item.sides["a"].text, item.sides["b"].type) == ("a text", "image/png")
