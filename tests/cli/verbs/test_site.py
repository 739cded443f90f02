"""`assay site` writes plain pages over all records, and only those that changed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fireassay.api.records.site import SitePage, opened
from fireassay.cli import main
from tests.api.records.several import again, broken

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("judged_once")]
EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One cache of verdicts for all tests here."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """Two records of one workload, one of another, a damaged one, and their site."""
    root = tmp_path_factory.mktemp("site")
    records = root / "records"
    again("unsynced", records, "aaaaaa", 1)
    again("unsynced", records, "bbbbbb", 2)
    again("worse_accuracy", records, "cccccc", 3)
    broken(records)
    assert main(["site", str(root / "public"), "--root", str(records), "--quiet"]) == 0
    return root


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return Path(shutil.copytree(made, tmp_path / "copy"))


def build(root: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["site", str(root / "public"), "--root", str(root / "records"), "--quiet"]) == 0
    return capsys.readouterr().out


def links(page: Path) -> list[str]:
    return re.findall(r'<a href="([^"#]+)', page.read_text())


@pytest.mark.deep
def test_every_link_leads_to_a_page_of_the_site(made: Path) -> None:
    pages = sorted((made / "public").rglob("*.html"))
    assert {str(page.relative_to(made / "public")) for page in pages} == {
        "compare.html",
        "compare/unsynced-bbbbbb.html",
        "index.html",
        "records/unsynced-aaaaaa.html",
        "records/unsynced-bbbbbb.html",
        "records/worse_accuracy-cccccc.html",
        "trends/training-unsynced.html",
    }
    for page in pages:
        for link in links(page):
            assert (page.parent / link).is_file(), f"{link} of {page.name}"
    assert set(links(made / "public" / "index.html")) >= {
        "records/worse_accuracy-cccccc.html",
        "compare/unsynced-bbbbbb.html",
        "trends/training-unsynced.html",
        "compare.html",
    }


def test_the_first_page_shows_verdicts_and_damage_but_no_folder_of_this_machine(made: Path) -> None:
    text = (made / "public" / "index.html").read_text()
    assert "gradients not synchronised at workers=2" in text
    assert "broken/manifest.json is damaged or foreign" in text
    assert str(made) not in text


def test_no_page_loads_anything_or_runs_a_foreign_script(made: Path) -> None:
    for page in (made / "public").rglob("*.html"):
        text = page.read_text()
        assert not re.search(r'(?:src|href)="(?:https?:)?//', text), page
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
        assert policy
        assert "default-src 'none'" in policy[1]


def test_nothing_changed_writes_nothing(copied: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fireassay.verdict.judge.judge", lambda measured: pytest.fail("judged again"))
    assert "0 pages written, 7 unchanged" in build(copied, capsys)


@pytest.mark.deep
def test_a_new_record_writes_its_pages_and_those_that_show_it(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again("worse_accuracy", copied / "records", "dddddd", 4)
    before = {page: page.stat().st_mtime_ns for page in (copied / "public").rglob("*.html")}
    # its page, its comparison, the first trend of its workload, and the two pages of all records
    assert "5 pages written, 5 unchanged" in build(copied, capsys)
    assert (copied / "public" / "trends" / "training-worse_accuracy.html").is_file()
    changed = {page.name for page, written in before.items() if page.stat().st_mtime_ns != written}
    assert changed == {"index.html", "compare.html"}


def test_pages_of_a_removed_record_go_and_other_files_stay(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    public = copied / "public"
    (public / "notes.html").write_text("mine")
    shutil.rmtree(next((copied / "records").glob("*-bbbbbb")))
    build(copied, capsys)
    assert {page.name for page in public.rglob("*.html")} == {
        *("index.html", "compare.html", "notes.html", "unsynced-aaaaaa.html", "worse_accuracy-cccccc.html")
    }


def test_a_page_that_was_removed_is_written_again(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = copied / "public" / "records" / "unsynced-aaaaaa.html"
    page.unlink()
    assert "1 pages written" in build(copied, capsys)
    assert page.is_file()


def test_a_folder_of_other_files_is_refused(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "index.html").write_text("mine")
    assert main(["site", str(tmp_path), "--root", str(made / "records")]) == 2
    assert "holds other files" in capsys.readouterr().err
    assert (tmp_path / "index.html").read_text() == "mine"


@pytest.mark.deep
def test_names_of_records_can_neither_leave_the_site_nor_run(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = tmp_path / "records"
    evil = again("worse_accuracy", records, "eeeeee", 5, name=EVIL)
    evil.rename(records / f"..{EVIL.replace('/', ' ')}")
    again("worse_accuracy", records, "ffffff", 6, name=EVIL)
    build(tmp_path, capsys)
    public = tmp_path / "public"
    for page in public.rglob("*.html"):
        assert "<script>alert" not in page.read_text(), page
        assert page.resolve().is_relative_to(public.resolve())
    assert len(list((public / "records").iterdir())) == 2


@pytest.mark.deep
def test_the_notes_of_the_site_cannot_remove_files_elsewhere(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contents = copied / "public" / ".assay-site.json"
    victim = copied / "victim.html"
    victim.write_text("mine")
    contents.write_text(json.dumps({"../victim.html": "x", "records/../../victim.html": "x"}))
    build(copied, capsys)
    assert victim.read_text() == "mine"


def test_a_record_that_cannot_be_judged_is_left_out_with_its_reason(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = again("unsynced", copied / "records", "abcdef", 7)
    (bad / "experiment.toml").write_text((bad / "experiment.toml").read_text() + "\n")
    assert main(["site", str(copied / "public"), "--root", str(copied / "records"), "--quiet"]) == 0
    assert "was changed" in capsys.readouterr().err
    assert not (copied / "public" / "records" / "unsynced-abcdef.html").exists()


def test_an_interrupted_site_is_made_again_and_not_taken_for_foreign_files(tmp_path: Path) -> None:
    begun = opened(tmp_path / "public")
    begun.write([SitePage(path="records/a.html", key="1", make=lambda: "a")], lambda _: None, lambda _: None)
    again_ = opened(tmp_path / "public")  # `close` was never reached
    again_.write([SitePage(path="records/a.html", key="1", make=lambda: "new")], lambda _: None, lambda _: None)
    assert (tmp_path / "public/records/a.html").read_text() == "new"
