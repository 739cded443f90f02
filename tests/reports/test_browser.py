"""The pages in a real browser: nothing is fetched, nothing is clipped, everything can be reached, sorted, filtered and copied."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fireassay.reports.build_view import build
from fireassay.reports.pages import comparison as comparison_page
from fireassay.reports.pages import comparison_view
from fireassay.reports.writers import html
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.judge import judge
from tests import builders
from tests.kinds.evaluation.imaged import pictured, rows
from tests.reports.writers.small import ANSWERED, PAGE
from tests.reports.written import written
from tests.tiers import some
from tests.verdict.comparing import complete, side, with_experiment

pytestmark = [pytest.mark.browser, pytest.mark.slow]

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

# Every text of a chart that ends outside its card, or that covers another text of the same panel.
CLIPPED_OR_OVERLAPPING = """() => {
  const problems = [];
  for (const chart of document.querySelectorAll('svg.ch')) {
    const card = chart.closest('.card'), frame = card.getBoundingClientRect();
    if (!chart.getBoundingClientRect().width) continue;
    const texts = [...chart.querySelectorAll('text')].filter(t => t.textContent.trim() && getComputedStyle(t).display !== 'none');
    // A family's line may be higher than its letters (Noto: 1.36 of their size, Liberation: 1.15); what is drawn is not.
    const drawn = t => { const b = t.getBoundingClientRect(), em = parseFloat(getComputedStyle(t).fontSize);
      const over = b.height < 2 * em ? Math.max(0, (b.height - 1.17 * em) / 2) : 0;
      return { left: b.left, right: b.right, width: b.width, top: b.top + over, bottom: b.bottom - over }; };
    const boxes = texts.map(t => [t.textContent, drawn(t)]).filter(([, b]) => b.width);
    for (const [text, box] of boxes)
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1)
        problems.push(`${card.id}: "${text}" leaves the card`);
    boxes.forEach(([one, a], i) => boxes.slice(i + 1).forEach(([other, b]) => {
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 3) problems.push(`${card.id}: "${one}" covers "${other}"`);
    }));
  }
  return problems;
}"""
# Text that contrasts less than AA asks for, with its ratio; backgrounds are opaque or transparent here.
PALE = """() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgb = s => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = s; canvas.fillRect(0, 0, 1, 1);
                     return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = c => { const v = c.map(x => x / 255).map(x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
                       return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
  const found = new Map(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode());) {
    const e = node.parentElement;
    if (!node.data.trim() || e.closest('svg, script, .vh, .skip, [hidden]') || !e.getClientRects().length) continue;
    let b = e, back = [255, 255, 255, 255];
    while (b) { const c = rgb(getComputedStyle(b).backgroundColor); if (c[3] > 250) { back = c; break; } b = b.parentElement; }
    const [x, y] = [light(rgb(getComputedStyle(e).color).slice(0, 3)), light(back.slice(0, 3))];
    const ratio = (Math.max(x, y) + .05) / (Math.min(x, y) + .05);
    if (ratio < 4.5) found.set(e.className + ' ' + node.data.trim().slice(0, 20), ratio);
  }
  return [...found];
}"""
# What a mouse can use and a keyboard cannot: links and buttons without a stop, scrolling regions that cannot be scrolled.
UNREACHABLE = """() => [...document.querySelectorAll('a, button, summary, input, .scroll')]
  .filter(e => e.getClientRects().length && e.tabIndex < 0).map(e => e.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium, without a network of its own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(QUIET))
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """The pages that are looked at: the synthetic record, one with many configurations, loads, comparisons, one of everything.

    Each is made where it is first looked at.
    """
    folder = tmp_path_factory.mktemp("pages")

    def of(view: str, **words: str) -> str:
        return written(request.getfixturevalue(view), "html", **words)

    texts: dict[str, Callable[[], str]] = {
        "synthetic": lambda: str(request.getfixturevalue("page")),
        "wide": _wide,
        "load": lambda: of("load"),
        "scenarios": lambda: of("scenarios"),
        "hostile": lambda: of("hostile"),
        "panel": lambda: of("load", page="panel"),
        "comparison": _comparison,
        "answered": lambda: html.write(ANSWERED),
        "small": lambda: html.write(PAGE),
        "images": lambda: _images(folder / "images"),
    }

    @cache
    def path(name: str) -> Path:
        (folder / f"{name}.html").write_text(texts[name](), encoding="utf-8")
        return folder / f"{name}.html"

    return path


def _wide() -> str:
    measured = builders.measured(levels=(1, 2, 4, 8, 16, 32), launches=3, steps=12, failed=True)
    return written(build(measured, judge(measured)), "html")


def _comparison() -> str:
    first, other = side("A", complete()), side("B", complete(efficiency={2: 0.99}))
    forced = compare([first, with_experiment(other, "B", "workload.arguments", ("--lr", "1"))], force=True)
    return html.write(comparison_page.page(comparison_view.build(forced, first.judgement.metrics)))


def _images(folder: Path) -> str:
    sides = {side: rows(folder, side, [(number * 7 + at) % 40 / 40 for number in range(40)], 50 * at) for at, side in enumerate("ab")}
    (folder / "b" / "7.png").unlink()
    measured = pictured(folder, sides)
    return written(build(measured, judge(measured)), "html")


@dataclass
class Opened:
    """A page in a window, and what it did."""

    page: Any
    said: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)


@pytest.fixture
def opened(browser: Any, pages: Callable[[str], Path]) -> Iterator[Any]:
    """Opens a page by name; its windows are closed afterwards."""
    contexts = []

    def open_page(name: str, width: int = 1440, **asked: Any) -> Opened:
        context = browser.new_context(viewport={"width": width, "height": 900}, accept_downloads=True, **asked)
        contexts.append(context)
        found = Opened(page=context.new_page())
        found.page.on("console", lambda message: found.said.append(message.text))
        found.page.on("pageerror", lambda error: found.said.append(str(error)))
        found.page.on("dialog", lambda dialog: found.said.append(dialog.message))
        found.page.on("request", lambda request: found.fetched.append(request.url))
        found.page.goto(pages(name).as_uri())
        return found

    yield open_page
    for context in contexts:
        context.close()


def fetched(found: Opened) -> list[str]:
    """What was requested besides the page itself."""
    return [url for url in found.fetched[1:] if not url.startswith(("data:", "blob:"))]


@pytest.mark.parametrize(("width", "scheme"), some([(360, "light"), (1024, "dark"), (1600, "light")], rows=True))
@pytest.mark.parametrize(
    "name",
    [pytest.param("synthetic", marks=pytest.mark.core), "wide", "load", "scenarios", "panel", "comparison", "answered", "small", "images"],
)
def test_the_page_can_be_read(opened: Any, name: str, width: int, scheme: str) -> None:
    found = opened(name, width, color_scheme=scheme)
    assert found.said == []
    assert fetched(found) == []
    assert found.page.evaluate("document.documentElement.scrollWidth") == width
    assert found.page.evaluate(CLIPPED_OR_OVERLAPPING) == []
    assert found.page.evaluate(PALE) == []
    assert found.page.evaluate(UNREACHABLE) == []


@pytest.mark.parametrize("family", ["DejaVu Sans", "Liberation Sans", "Noto Sans"])
@pytest.mark.parametrize("name", ["synthetic", "wide", "load", "scenarios", "panel", "comparison", "answered", "small", "images"])
def test_the_page_holds_with_any_sans_serif(opened: Any, name: str, family: str) -> None:
    """The narrowest window, and the widest, Arial's and the most spread of the common families: no reader chooses among them."""
    found = opened(name, 360)
    width = "(f => { const c = document.createElement('canvas').getContext('2d'); c.font = `40px '${f}', monospace`; return c.measureText('mmmiii').width; })"
    assert found.page.evaluate(f"{width}('{family}') !== {width}('no such family')"), (
        f"{family} is not installed: .ci/run names the packages"
    )
    found.page.add_style_tag(content=f"* {{font-family: '{family}' !important}}")
    assert found.page.evaluate("document.documentElement.scrollWidth") == 360
    assert found.page.evaluate(CLIPPED_OR_OVERLAPPING) == []


@pytest.mark.parametrize("name", ["hostile", "answered", "small"])
def test_what_a_record_says_stays_text_and_widens_nothing(opened: Any, name: str) -> None:
    found = opened(name, 380)
    assert found.said == []
    assert fetched(found) == []
    assert found.page.evaluate("document.documentElement.scrollWidth") == 380
    assert found.page.evaluate("document.scripts.length") == 1
    assert found.page.evaluate("[...document.links].every(link => link.getAttribute('href').startsWith('#'))")


def test_a_script_that_is_not_ours_does_not_run(opened: Any) -> None:
    found = opened("small")
    found.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.evil = 1\">')")
    found.page.evaluate("const s = document.createElement('script'); s.textContent = 'window.evil = 1'; document.body.append(s)")
    assert found.page.evaluate("window.evil") is None
    assert found.said  # the policy said no


def test_light_and_dark_differ_and_follow_the_readers_choice(opened: Any) -> None:
    looks = "['body', 'svg.ch text'].map(s => getComputedStyle(document.querySelector(s))).map(c => [c.backgroundColor, c.fill])"
    light, dark = (opened("synthetic", color_scheme=scheme).page.evaluate(looks) for scheme in ("light", "dark"))
    assert light[0][0] != dark[0][0]
    assert light[1][1] != dark[1][1]


def test_without_script_everything_is_there(opened: Any) -> None:
    page = opened("load", java_script_enabled=False).page
    fold = page.locator("#all details.big").first
    assert not fold.locator("table").first.is_visible()
    fold.locator("summary").first.click()
    assert fold.locator("table").first.is_visible()
    assert page.locator("svg.ch title").count() > 10
    assert page.locator(".copy, .find").count() == 0
    key = page.locator("#picture-load-curve .key input").first
    points = page.locator("#picture-load-curve .g1")
    assert points.first.is_visible()
    key.uncheck(force=True)
    assert not points.first.is_visible()


def test_a_view_is_chosen_without_script(opened: Any) -> None:
    page = opened("wide", java_script_enabled=False).page
    speedup, efficiency = page.locator("#picture-speedup .is-v1"), page.locator("#picture-speedup .is-v2")
    assert speedup.is_visible()
    assert not efficiency.is_visible()
    page.locator("#picture-speedup .seg label", has_text="Efficiency").click()
    assert efficiency.is_visible()
    assert not speedup.is_visible()


def column(page: Any, name: str, index: int) -> list[str]:
    """The visible texts of a table's column."""
    rows = page.locator(f"#table-{name} tbody tr:not([hidden])").all()
    return [row.locator("th, td").nth(index).inner_text().split()[0] for row in rows]


def test_a_table_is_sorted_and_filtered(opened: Any) -> None:
    page = opened("answered").page
    head = page.locator("#table-levels thead th").nth(1)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(page, "levels", 0) == ["256", "128", "64", "32", "16", "8", "4", "2", "1"]
    head.locator("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert column(page, "levels", 0)[0] == "1"
    page.locator("#table-levels .find").fill("128 1")
    assert column(page, "levels", 0) == ["128"]
    assert page.locator("#table-levels [role=status]").inner_text().strip() == "1 of 9"


def test_a_contact_sheet_is_sorted_and_filtered(opened: Any) -> None:
    page = opened("images").page
    tiles = page.locator("#table-worst tbody tr:not([hidden])")
    assert tiles.count() == 40
    first, second = (tiles.nth(place).bounding_box() for place in (0, 1))
    assert first["y"] == second["y"]
    assert first["x"] < second["x"]
    page.locator("#table-worst .find").fill("a red circle")
    assert tiles.count() == 8
    assert all(tile.is_visible() for tile in tiles.all())
    assert not page.locator("#table-worst tbody tr[hidden]").first.is_visible()
    page.locator("#table-worst thead th button", has_text=re.compile(r"^v")).click()
    scores = [float(tile.locator("td.n").first.inner_text().split()[-1]) for tile in tiles.all()]
    assert scores == sorted(scores)


def test_a_pair_is_side_by_side_at_every_width(opened: Any) -> None:
    for width in (360, 768, 1280):
        pair = opened("images", width).page.locator("#table-flips tbody tr").first.locator("img")
        before, after = (pair.nth(place).bounding_box() for place in (0, 1))
        assert abs(before["y"] - after["y"]) < 30
        assert before["x"] + before["width"] <= after["x"]
        assert after["x"] + after["width"] <= width


def test_hover_and_focus_say_the_number_its_interval_and_launches(opened: Any) -> None:
    page = opened("answered").page
    point = page.locator("#picture-efficiency .pt").first
    tip = page.locator("#tip")
    point.locator(".hit").hover()
    assert tip.is_visible()
    assert "60.0 %\n95 % interval [54.0, 66.0]\n5 launches" in tip.inner_text()
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    point.focus()
    assert tip.is_visible()
    assert page.locator("#level-2").get_attribute("class") == "hi"  # the row lights up with its mark


def test_a_link_leads_to_its_row_and_opens_the_fold_around_it(opened: Any) -> None:
    page = opened("answered").page
    page.locator("#answer .pt").first.click()
    assert page.evaluate("location.hash") == "#level-2"
    page = opened("synthetic").page
    assert not page.locator("#m-step_time").is_visible()
    page.evaluate("location.hash = 'm-step_time'")
    page.locator("#m-step_time").wait_for(state="visible")


def test_tables_and_charts_can_be_copied(opened: Any) -> None:
    found = opened("answered", permissions=["clipboard-read", "clipboard-write"])
    card = found.page.locator("#table-levels")
    card.locator(".copy", has_text="CSV").click()
    found.page.wait_for_function("document.querySelector('#table-levels .tools').textContent.includes('copied')")
    lines = found.page.evaluate("navigator.clipboard.readText()").splitlines()
    assert lines[0] == '"workers","step, ms","step, ms low","step, ms high"'.replace('"workers"', "workers")
    assert lines[2] == "2,100,90,110"
    card.locator(".copy", has_text="Markdown").click()
    found.page.wait_for_function("navigator.clipboard.readText().then(text => text.startsWith('|'))")
    assert "| 2 | 100 [90, 110] |" in found.page.evaluate("navigator.clipboard.readText()")
    found.page.locator("#sum-why .copy", has_text="PNG").click()
    found.page.wait_for_function("navigator.clipboard.read().then(items => items[0].types.includes('image/png'))")
    assert found.said == []


def test_printed_pages_open_their_folds_and_hide_their_controls(opened: Any) -> None:
    page = opened("load").page
    page.emulate_media(media="print")
    assert not page.locator(".tools").first.is_visible()
    assert not page.locator(".find").first.is_visible()
    assert page.locator("#all details.big table").first.is_visible()
