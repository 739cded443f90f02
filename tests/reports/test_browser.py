"""The page in a real browser: nothing is fetched, nothing is clipped, in narrow and wide windows, light and dark."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fireassay.reports.pages import comparison as comparison_page
from fireassay.reports.rows import comparison
from fireassay.reports.view import View, build
from fireassay.reports.writers import html
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.judge import judge
from tests import builders
from tests.reports.written import written
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

# Every text of a picture that ends outside its figure, or that covers another text of the same picture.
CLIPPED_OR_OVERLAPPING = """() => {
  const problems = [];
  for (const figure of document.querySelectorAll('figure')) {
    const frame = figure.getBoundingClientRect();
    const texts = [...figure.querySelectorAll('svg.marks text')].filter(t => t.textContent.trim());
    const boxes = texts.map(t => [t.textContent, t.getBoundingClientRect()]);
    for (const [text, box] of boxes)
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1)
        problems.push(`${figure.id}: "${text}" leaves the figure`);
    boxes.forEach(([one, a], i) => boxes.slice(i + 1).forEach(([other, b]) => {
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > 1 && down > 3) problems.push(`${figure.id}: "${one}" covers "${other}"`);
    }));
  }
  return problems;
}"""
SMALLEST_TEXT = """() => Math.min(...[...document.querySelectorAll('figure svg.marks text')]
  .filter(t => t.textContent.trim())
  .map(t => parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getBoundingClientRect().width
            / t.ownerSVGElement.viewBox.baseVal.width))"""
LOWEST_CONTRAST = """() => {
  const light = c => { const v = c.map(x => x / 255).map(x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
                       return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };
  const rgb = s => s.match(/[\\d.]+/g).map(Number);
  const ratios = [...document.querySelectorAll('.status, .absent, .interval, .quiet, figcaption')].map(e => {
    let b = e, back = [0, 0, 0, 0];
    while (b && (back.length === 4 && back[3] === 0)) { back = rgb(getComputedStyle(b).backgroundColor); b = b.parentElement; }
    const [x, y] = [light(rgb(getComputedStyle(e).color).slice(0, 3)), light(back.slice(0, 3))];
    return (Math.max(x, y) + .05) / (Math.min(x, y) + .05);
  });
  return Math.min(...ratios);
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium, without a network of its own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(QUIET))
        yield chromium
        chromium.close()


def wide_view() -> View:
    measured = builders.measured(levels=(1, 2, 4, 8, 16, 32), launches=3, steps=12, failed=True)
    return build(measured, judge(measured))


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, page: str, load: View, scenarios: View, hostile: View) -> dict[str, Path]:
    """The pages that are looked at: the synthetic record, one with many configurations, and loads."""
    folder = tmp_path_factory.mktemp("pages")
    made = {}
    texts = {
        "synthetic": page,
        "wide": written(wide_view(), "html"),
        "load": written(load, "html"),
        "scenarios": written(scenarios, "html"),
        "hostile": written(hostile, "html"),
        "panel": written(load, "html", page="panel"),
    }
    for name, text in texts.items():
        made[name] = folder / f"{name}.html"
        made[name].write_text(text, encoding="utf-8")
    return made


PICTURES = {"synthetic": 10, "wide": 10, "load": 10, "scenarios": 8, "panel": 2}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1600])
@pytest.mark.parametrize("name", PICTURES)
def test_the_page_can_be_read(browser: Any, pages: dict[str, Path], name: str, width: int, scheme: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    fetched: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: fetched.append(request.url))
    page.goto(pages[name].as_uri())

    assert said == []
    assert [url for url in fetched if url != pages[name].as_uri() and not url.startswith("data:")] == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    sizes = page.evaluate(
        "[...document.querySelectorAll('figure svg.marks')].map(s => s.getBoundingClientRect()).map(r => [r.width, r.height])"
    )
    assert len(sizes) == PICTURES[name]
    assert min(min(size) for size in sizes) > 90
    assert page.evaluate(CLIPPED_OR_OVERLAPPING) == []
    assert page.evaluate(SMALLEST_TEXT) >= 9.5
    assert page.evaluate(LOWEST_CONTRAST) >= 4.5
    page.close()


@pytest.mark.parametrize("width", [380, 1600])
def test_what_a_server_wrote_runs_nothing_and_widens_nothing(browser: Any, pages: dict[str, Path], width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    said: list[str] = []
    fetched: list[str] = []
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: fetched.append(request.url))
    page.goto(pages["hostile"].as_uri())
    assert said == []
    assert [url for url in fetched if url != pages["hostile"].as_uri() and not url.startswith("data:")] == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.close()


def test_light_and_dark_differ_and_follow_the_readers_choice(browser: Any, pages: dict[str, Path]) -> None:
    colours = {}
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        page.goto(pages["synthetic"].as_uri())
        colours[scheme] = page.evaluate(
            "['body', 'figure svg.marks text'].map(s => document.querySelector(s)).map(e => [getComputedStyle(e).backgroundColor, getComputedStyle(e).fill])"
        )
        page.close()
    assert colours["light"][0] != colours["dark"][0]
    assert colours["light"][1] != colours["dark"][1]


def test_a_fold_opens_without_scripts(browser: Any, pages: dict[str, Path]) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pages["synthetic"].as_uri())
    fold = page.locator("td.number details").first
    assert not fold.locator("dl").is_visible()
    fold.locator("summary").click()
    assert fold.locator("dl").is_visible()
    context.close()


def test_a_forced_comparison_does_not_widen_a_narrow_screen(browser: Any, tmp_path: Path) -> None:
    first, other = side("A", complete()), side("B", complete(efficiency={2: 0.99}))
    other = with_experiment(other, "B", "workload.arguments", ("--lr", "1"))
    view = comparison.build(compare([first, other], force=True), first.judgement.metrics)
    target = tmp_path / "comparison.html"
    target.write_text(html.write(comparison_page.page(view)), encoding="utf-8")
    page = browser.new_page(viewport={"width": 390, "height": 900})
    page.goto(target.as_uri())
    assert "EXPLORATORY" in page.inner_text("h1")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.close()
