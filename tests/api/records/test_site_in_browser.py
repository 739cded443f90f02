"""The site in a real browser: tables, links, any two records, and runs in flight that move."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from fireassay.api.records import served
from fireassay.api.records.site import written
from fireassay.cli import main
from fireassay.clock import FakeClock
from fireassay.record.folder import RecordFolder, create
from fireassay.reports.site import side_by_side
from tests.api.records.several import again
from tests.limits import PROCESS_S
from tests.record.making import experiment, launch_row

pytestmark = [pytest.mark.browser, pytest.mark.slow]
QUIET = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update")
PATIENCE_MS = 60_000
RUNNING = "section#running, section:has(#running)"
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(QUIET))
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two records of one workload, and one whose name is markup."""
    root = tmp_path_factory.mktemp("site")
    again("unsynced", root / "records", "aaaaaa", 1)
    again("unsynced", root / "records", "bbbbbb", 2)
    again("worse_accuracy", root / "records", "cccccc", 3, name=EVIL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(root / "cache"))
        assert main(["site", str(root / "public"), "--root", str(root / "records"), "--quiet"]) == 0
    return root


class Watched:
    """A page with what it said and fetched."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.said: list[str] = []
        self.fetched: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.on("request", lambda request: self.fetched.append(request.url))


@pytest.fixture
def watched(browser: Any) -> Iterator[Watched]:
    one = Watched(browser)
    yield one
    one.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_pages_fit_fetch_nothing_and_say_nothing(browser: Any, site: Path, width: int, scheme: str) -> None:
    one = Watched(browser, viewport={"width": width, "height": 900}, color_scheme=scheme)
    for name in ("index", "compare", "trends/training-unsynced", "compare/unsynced-bbbbbb"):
        address = (site / "public" / f"{name}.html").as_uri()
        one.page.goto(address)
        assert one.page.evaluate("document.documentElement.scrollWidth") == width, name
        assert [url for url in one.fetched if url.partition("#")[0] != address and not url.startswith("data:")] == []
        one.fetched.clear()
    assert one.said == []
    one.context.close()


def test_the_table_leads_to_a_record_and_back(watched: Watched, site: Path) -> None:
    watched.page.goto((site / "public" / "index.html").as_uri())
    watched.page.get_by_role("link", name="unsynced-bbbbbb").first.click()
    assert "gradients not synchronised" in watched.page.content().replace("_", " ")
    watched.page.get_by_role("link", name="All records").click()
    watched.page.get_by_role("link", name="the previous one").first.click()
    assert watched.page.url.endswith("compare/unsynced-bbbbbb.html")
    assert watched.said == []


def test_any_two_records_stand_side_by_side_without_a_verdict(watched: Watched, site: Path) -> None:
    page = watched.page
    page.goto((site / "public" / "compare.html").as_uri())
    assert page.locator("#assay-side-by-side code").inner_text() == "assay compare unsynced-aaaaaa unsynced-bbbbbb", (
        "the newest pair of a workload"
    )
    page.get_by_label("Record A", exact=True).select_option(index=0)
    assert EVIL in page.locator("#assay-side-by-side table").inner_text(), "markup in a name stays text"
    heads = page.locator("#assay-side-by-side thead a").all_inner_texts()
    assert heads[1] == "unsynced-bbbbbb"
    row = page.locator("#assay-side-by-side tr", has_text="Step time, workers=1").first
    assert len(row.locator("td .interval").all()) == 2
    page.reload()
    assert page.locator("#assay-side-by-side thead a").all_inner_texts() == heads, "the address keeps the choice"
    assert "not a verdict" in page.inner_text("main")
    assert watched.said == []


def test_without_script_the_table_is_there_and_the_choice_names_the_command(browser: Any, site: Path) -> None:
    one = Watched(browser, java_script_enabled=False)
    one.page.goto((site / "public" / "index.html").as_uri())
    assert len(one.page.locator("tbody tr", has_text="training").all()) >= 3
    one.page.get_by_role("link", name="Two records side by side").click()
    assert "assay compare A B" in one.page.inner_text("main")
    one.context.close()


# ---- served ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def flight(site: Path) -> Iterator[RecordFolder]:
    """A run of four launches that has begun."""
    folder = create(site / "records", experiment("flight"), "", clock=FakeClock())
    yield folder
    if folder.path.exists():
        shutil.rmtree(folder.path)


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """The server of the site, in a thread of this process."""
    pages = served.Site(root=site / "records", cache=site / "cache" / "assay" / "verdicts", title="Records", clock=FakeClock())
    listener = served.listening("127.0.0.1", 0)
    server = served.server(served.application(pages, served.hosts_of("127.0.0.1", exposed=False)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    server.should_exit = True
    thread.join(PROCESS_S)


def test_a_run_in_flight_moves_without_reloading_until_it_ends(watched: Watched, flight: RecordFolder, address: str) -> None:
    from playwright.sync_api import expect

    page = watched.page
    page.clock.install()
    page.goto(address)
    assert "0 of 4" in page.inner_text(RUNNING)
    page.evaluate("window.sameDocument = true")
    flight.writer(0).append("launches", launch_row(0))
    flight.writer(0).close()
    page.clock.run_for(2500)
    running = page.locator(RUNNING)
    expect(running).to_contain_text("1 of 4", timeout=PATIENCE_MS)
    assert page.evaluate("window.sameDocument") is True
    flight.finish("interrupted")
    page.clock.run_for(2500)
    expect(running).to_contain_text("None.", timeout=PATIENCE_MS)
    expect(page.locator("main")).to_contain_text("1 of 4: assay resume", timeout=PATIENCE_MS)
    assert page.evaluate("window.sameDocument") is None, "a record has ended: the whole page is new"
    assert watched.said == []
    assert [url for url in watched.fetched if not url.startswith((address, "data:"))] == []


def test_the_command_that_compares_is_safe_to_paste_whatever_a_folder_is_called(watched: Watched, tmp_path: Path) -> None:
    item = side_by_side.Item(record="", group="g", date="", verdict="PASS", headline="", page="records/a.html", metrics={})
    page = side_by_side.filled(written(side_by_side.page()), [replace(item, record=name) for name in ("$(reboot)", "it's", "vit-8f0b5f")])
    (tmp_path / "compare.html").write_text(page)
    for other, shown in (("it's", r"'it'\''s'"), ("vit-8f0b5f", "vit-8f0b5f")):
        watched.page.goto((tmp_path / "compare.html").as_uri() + f"?{other}#{urlencode({'a': '$(reboot)', 'b': other})}")
        assert watched.page.locator("#assay-side-by-side code").inner_text() == f"assay compare '$(reboot)' {shown}"
