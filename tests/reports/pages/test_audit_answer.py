"""The answer of an audit: a line for each pitfall with its evidence, and the smallest measurement that settles all of it."""

from __future__ import annotations

from dataclasses import replace

from fireassay.reports.page import Bullets
from fireassay.reports.pages.pitfalls import MAX_TOLD, page
from tests.reports.pages.screens import EVIL, flat, harmless, screen
from tests.reports.pages.test_pitfalls import sheet


def test_the_first_line_counts_what_was_fallen_into_not_said_and_clear() -> None:
    assert screen(page(sheet()))[0] == "UNSOUND  6 times as fast: 2 pitfalls, 1 not said, 20 clear"


def test_each_pitfall_has_its_evidence_and_next_names_the_smallest_measurement() -> None:
    made = sheet()
    text = flat(page(made))
    fallen = [pitfall for pitfall in made.pitfalls if pitfall.state == "fallen into"]
    for pitfall in fallen:
        assert f"✗ {pitfall.title} {pitfall.findings[0].evidence[:40]}" in text
    assert "? not said cold start in the numbers" in text
    assert "next measure in the same launches: time of the strongest baseline in every launch" in text


def test_many_pitfalls_fit_the_screen_and_the_last_are_named() -> None:
    made = sheet()
    fallen = made.pitfalls[0]
    many = tuple(
        replace(fallen, title=f"pitfall {n}", findings=(replace(fallen.findings[0], evidence="evidence " * 40),)) for n in range(20)
    )
    shown = page(replace(made, pitfalls=many))
    assert "✗ also pitfall 2, " in flat(shown)
    short = page(replace(made, pitfalls=tuple(replace(one, findings=(fallen.findings[0],)) for one in many)))
    assert f"✗ also pitfall {MAX_TOLD}, " in flat(short)
    (section,) = short.of_role("answer")
    assert isinstance(section.blocks[0], Bullets)
    assert len(section.blocks[0].items) == MAX_TOLD + 1


def test_a_sound_claim_is_one_line_and_no_claim_steers_the_terminal() -> None:
    made = sheet()
    clear = tuple(pitfall for pitfall in made.pitfalls if pitfall.state == "clear")
    sound = page(replace(made, status="sound", pitfalls=clear, quantities=(), otherwise=()))
    assert screen(sound)[0] == "SOUND  6 times as fast: 0 pitfalls, 20 clear"
    harmless(page(sheet(EVIL)))
