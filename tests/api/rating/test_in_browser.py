"""Raters in a real browser: 50 pairs by keys, a reload in between, two raters at once, and nothing is lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fireassay.quality.tasks.ratings_file import read
from fireassay.spec.sections.evaluation import Evaluation
from fireassay.spec.sections.ratings import Ratings
from tests.api.rating.study import PNG, Study, folder, running

pytestmark = [pytest.mark.browser, pytest.mark.slow]
QUIET = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update")
PATIENCE_MS = 60_000
EVIL = "<img src=x onerror='document.title=1'><script>document.title=2</script>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(QUIET))
        yield chromium
        chromium.close()


class Rater:
    """A rater at a page, who prefers the side whose text begins with `likes`."""

    def __init__(self, browser: Any, study: Study, code: str, likes: str) -> None:
        self.page, self.likes, self.errors = browser.new_context().new_page(), likes, list[str]()
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.page.goto(f"{study.address}&rater={code}")
        self.waits_for(0)

    def waits_for(self, done: int) -> None:
        """Until the page shows what comes after so many answers."""
        self.page.wait_for_selector(f"body[data-done='{done}']", timeout=PATIENCE_MS)

    def answers(self, done: int) -> None:
        """The next one, after `done` answers."""
        first = self.page.locator("#shown pre").first.inner_text()
        self.page.keyboard.press("ArrowLeft" if first.startswith(self.likes) else "ArrowRight")
        self.waits_for(done + 1)


def choices(path: Path) -> dict[tuple[str, str], str]:
    """(rater, item) -> the side that was chosen."""
    found = read(path / "ratings.csv", Evaluation(ratings=Ratings(form="pairs")))
    return {(one.rater, one.item): {"first": one.first, "second": one.second}.get(str(one.outcome), "tie") for one in found.choices}


def test_fifty_pairs_a_reload_and_two_raters_at_once(browser: Any, tmp_path: Path) -> None:
    path = folder(tmp_path / "study", 50)
    with running(path) as study:
        one, two = Rater(browser, study, "r1", "ALPHA"), Rater(browser, study, "r2", "BETA")
        for done in range(50):
            one.answers(done)
            two.answers(done)
            if done == 20:
                one.page.reload()
                one.waits_for(21)
        assert "everything is rated" in one.page.locator("#prompt").inner_text()
        assert one.errors + two.errors == []
    found = choices(path)
    assert len(found) == 100
    assert {side for (rater, _), side in found.items() if rater == "r1"} == {"ann"}
    assert {side for (rater, _), side in found.items() if rater == "r2"} == {"ben"}


def test_a_tie_an_undo_and_a_restart(browser: Any, tmp_path: Path) -> None:
    path = folder(tmp_path / "study", 4)
    with running(path) as study:
        rater = Rater(browser, study, "r1", "ALPHA")
        rater.page.keyboard.press("ArrowDown")
        rater.waits_for(1)
        rater.page.keyboard.press("u")
        rater.waits_for(0)
        rater.answers(0)
        rater.page.get_by_role("button", name="tie").click()
        rater.waits_for(2)
    with running(path) as study:
        again = browser.new_context().new_page()
        again.goto(f"{study.address}&rater=r1")
        again.wait_for_selector("body[data-done='2']", timeout=PATIENCE_MS)
    assert sorted(choices(path).values()) == ["ann", "tie"]


def test_hostile_texts_are_shown_and_do_nothing(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "study"
    path.mkdir()
    (path / "b.png").write_bytes(PNG)
    (path / "items.jsonl").write_text(json.dumps({"item": "1", "prompt": EVIL, "sides": {EVIL: EVIL, "b": {"image": "b.png"}}}))
    with running(path) as study:
        page, asked = browser.new_context().new_page(), list[str]()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{study.address}&rater=r1")
        page.wait_for_selector("#shown img", timeout=PATIENCE_MS)
        assert page.locator("#shown img").evaluate("image => image.decode().then(() => image.naturalWidth)") == 1
        assert page.locator("#shown pre").inner_text() == EVIL
        assert page.locator("#prompt").inner_text() == EVIL
        assert page.title() == "Rate"
        assert all(url.startswith(f"http://127.0.0.1:{study.port}/") for url in asked)


def test_ratings_are_given_by_digits(browser: Any, tmp_path: Path) -> None:
    path = folder(tmp_path / "study", 3)
    with running(path, "long") as study:
        page = browser.new_context().new_page()
        page.goto(f"{study.address}&rater=r1")
        for done in range(6):
            page.wait_for_selector(f"body[data-done='{done}']", timeout=PATIENCE_MS)
            page.keyboard.press(str(done % 5 + 1))
        page.wait_for_selector("body[data-done='6']", timeout=PATIENCE_MS)
    found = read(path / "ratings.csv", Evaluation(ratings=Ratings(form="long")))
    assert sorted(text for side in found.sides.values() for text in side.answers.texts if text) == ["1", "1", "2", "3", "4", "5"]
