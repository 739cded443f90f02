"""Images of an evaluation on its page, and named in every other format; nothing of a hostile record does anything."""

from __future__ import annotations

import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fireassay.frames.evaluation.flipped import flipped
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation import image_tables
from fireassay.record.images import thumbnails
from fireassay.reports.build_view import build
from fireassay.reports.documents import comparison
from fireassay.reports.documents.record import DOCUMENT
from fireassay.reports.page import Images, Table, Words
from fireassay.reports.pages.comparison_view import flips_brief, flips_table
from fireassay.reports.view import View
from fireassay.reports.writers.support import album
from fireassay.verdict.judge import judge
from tests.kinds.evaluation import imaged
from tests.kinds.evaluation.imaged import record_of, rows
from tests.reports.documents.conforming import conforming
from tests.reports.written import content, written

BEFORE, AFTER = (0.9, 0.8, 0.5, 0.7, 0.2), (0.9, 0.3, 0.0, 0.8, 0.2)


class Seen(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def launch_of(measured: RecordData, configuration: str) -> int:
    """The number of its only launch, which is drawn."""
    return next(row["launch"] for row in measured.table("launches").iter_rows(named=True) if row["configuration"] == configuration)


def view_of(measured: RecordData) -> View:
    return build(measured, judge(measured))


def compared(folder: Path) -> RecordData:
    return imaged.pictured(folder, {"a": rows(folder, "a", BEFORE), "b": rows(folder, "b", AFTER, 50)})


def test_a_page_shows_the_pair_of_each_change_and_a_sheet_of_the_worst(tmp_path: Path) -> None:
    text = written(view_of(compared(tmp_path)), "html")
    pairs, sheet = (re.search(f'id="table-{name}".*?</table>', text, re.DOTALL) for name in ("flips", "worst"))
    assert pairs is not None
    assert sheet is not None
    assert [image["alt"] for image in Seen(pairs[0]).of("img")] == ["a/1.png", "b/1.png", "a/2.png", "b/2.png", "a/3.png", "b/3.png"]
    assert [image["alt"] for image in Seen(sheet[0]).of("img")] == [f"b/{number}.png" for number in (2, 1, 4, 0, 3)]
    assert all((image["src"] or "").startswith("data:image/jpeg;base64,") for image in Seen(text).of("img"))
    assert (Seen(sheet[0]).of("img")[0]["width"], Seen(sheet[0]).of("img")[0]["height"]) == ("96", "64")
    assert "11 images: small copies from the record" in text


def test_other_formats_name_files_and_digests(tmp_path: Path) -> None:
    view = view_of(compared(tmp_path))
    digest = hashlib.sha256((tmp_path / "b" / "2.png").read_bytes()).hexdigest()[:12]
    for form in ("markdown", "terminal"):
        text = " ".join(str(content(view, form)).split())
        assert re.search(rf"b/2\.png \|? ?\(?.*{digest}", text), form
        assert "data:image" not in text


def test_json_lists_name_digest_size_and_score_of_every_image(tmp_path: Path) -> None:
    made = rows(tmp_path, "a", (0.9, None, 0.5))
    (tmp_path / "a" / "2.png").unlink()
    document = conforming(DOCUMENT, str(content(view_of(imaged.pictured(tmp_path, {"a": made})), "json")))
    images = document["images"]
    assert [(one["item"], one["score"], one["image"]["name"], one["image"]["width"]) for one in images] == [
        ("p0", 0.9, "a/0.png", 96),
        ("p1", None, "a/1.png", 96),
        ("p2", 0.5, "a/2.png", None),
    ]
    assert [bool(one["image"]["sha256"]) for one in images] == [True, True, False]
    assert images[0]["image"]["bytes"] == (tmp_path / "a" / "0.png").stat().st_size
    assert images[2]["image"]["missing"] == "nothing was decoded"


def test_of_candidates_the_chosen_one_is_marked(tmp_path: Path) -> None:
    made = [{**row, "id": "p0", "prompt": "a"} for row in rows(tmp_path, "a", [0.1 * number for number in range(1, 10)] * 2)]
    made += [{**row, "id": "p1", "prompt": "b"} for row in rows(tmp_path, "b", [0.3] * 18, 40)]
    view = view_of(imaged.pictured(tmp_path, {"a": made}, best_of={"candidates": 9}))
    (table,) = image_tables.candidates(view)
    assert isinstance(table, Table)
    strip = table.rows[1][1]
    assert isinstance(strip, Images)
    assert (len(strip.shots), strip.left) == (12, 6)
    assert [shot.mark is not None for shot in strip.shots] == [True] + [False] * 11
    assert (strip.shots[0].name, strip.shots[0].caption) == ("a/8.png", ("0.900",))
    assert image_tables.worst(view) == ()
    text = written(view, "html")
    assert len([one for one in Seen(text).of("figure") if "chosen" in (one.get("class") or "")]) == 2
    assert "chosen 0.900 a/8.png" in " ".join(str(content(view, "terminal")).split())


HOSTILE = ('"><img src=x onerror=alert(1)>.png', "'--></style><script>alert(1)<.png", "a b&c`|\u202e.png", "%2e%2e%2fetc.png")


def test_hostile_names_prompts_and_files_stay_text(tmp_path: Path) -> None:
    made = rows(tmp_path, "a", (0.9, 0.8, 0.7, 0.6, 0.5, 0.4))
    for row, name in zip(made, HOSTILE, strict=False):
        (tmp_path / "a" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "a" / name).write_bytes((tmp_path / str(row["image"])).read_bytes())
        row |= {"image": f"a/{name}", "prompt": f"{name}<svg onload=alert(1)>"}
    made[4]["image"] = "../../etc/passwd"
    (tmp_path / "a" / "5.png").write_bytes(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>")
    text = written(view_of(imaged.pictured(tmp_path, {"a": made})), "html")
    seen = Seen(text)
    assert len(seen.of("script")) == 1
    assert len(seen.of("img")) == 4
    assert all((image["src"] or "").startswith("data:image/jpeg;base64,") for image in seen.of("img"))
    assert not any(name.startswith("on") for _, attributes in seen.tags for name in attributes)
    assert text.count("no image: nothing was decoded") == 2
    assert "img-src data:;" in text


def test_an_archive_that_changed_is_said_and_shows_nothing(tmp_path: Path) -> None:
    measured = compared(tmp_path)
    archive = record_of(tmp_path) / thumbnails.name_of(launch_of(measured, "answers=b"))
    archive.write_bytes(archive.read_bytes() + b"x")
    text = written(view_of(measured), "html")
    assert {image["alt"] for image in Seen(text).of("img")} == {"a/1.png", "a/2.png", "a/3.png"}
    assert "8 images cannot be shown, the first: " in text
    assert "it was changed after it was sealed" in text


def test_beyond_its_limit_a_page_names_images_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = compared(tmp_path)
    monkeypatch.setattr(album.Album.__init__, "__defaults__", (5_000,))
    text = written(view_of(measured), "html")
    assert 0 < len(Seen(text).of("img")) < 11
    assert sum(len(image["src"] or "") for image in Seen(text).of("img")) < 5_000 * 4 / 3 + 500
    assert "only named: a page holds at most" in text


def test_an_evaluation_of_texts_has_no_sheet(tmp_path: Path) -> None:
    from tests.answered import rows as texts
    from tests.answered import scored

    view = view_of(scored(tmp_path, {"a": texts(["yes", "no"]), "b": texts(["no", "no"])}))
    assert (image_tables.worst(view), image_tables.candidates(view)) == ((), ())
    text = written(view, "html")
    assert "<img" not in text
    assert 'id="worst"' not in text
    assert "images" not in DOCUMENT.of(view)


def test_two_records_show_images_of_their_own(tmp_path: Path) -> None:
    first, second = (tmp_path / name for name in ("first", "second"))
    before = imaged.pictured(first, {"a": rows(first, "a", BEFORE)})
    after = imaged.pictured(second, {"a": rows(second, "a", AFTER, 50)})
    flips = flipped((before, "answers=a"), (after, "answers=a"), "second")
    cells = flips_table(flips).rows[0][-2:]
    assert all(isinstance(cell, Images) for cell in cells)
    copies = [shot.copy() for cell in cells if isinstance(cell, Images) for shot in cell.shots if shot.copy is not None]
    assert len(set(copies)) == 2
    assert [head.text for head in flips_table(flips).heads] == ["Item", "Score", "Asked", "Answer of the reference side", "Answer"]
    assert [cell.text for cell in flips_brief(flips, 1).rows[0][-2:] if isinstance(cell, Words)] == ["a/1.png", "a/1.png"]
    found = comparison.Flip.of(flips[0])
    assert found["image_before"]["sha256"] == hashlib.sha256((first / "a" / "1.png").read_bytes()).hexdigest()
    assert found["image_after"]["sha256"] == hashlib.sha256((second / "a" / "1.png").read_bytes()).hexdigest()
