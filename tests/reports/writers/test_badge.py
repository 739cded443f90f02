"""A badge says status, number and interval in one line that anybody can read and nobody can break."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from fireassay.reports.page import Answer, Mark, Page, Tone
from fireassay.reports.pages.gate import page
from fireassay.reports.writers.badge import FILLS, LABEL_FILL, MOST, OTHER, write
from tests.reports.pages.test_gate import gate, row
from tests.reports.writers.small import EVIL, PAGE

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def badge(word: str, headline: str, tone: Tone = "bad") -> str:
    return write(Page(title="", sections=(), answer=Answer(mark=Mark(word=word, tone=tone), headline=headline)))


@pytest.mark.parametrize(
    ("headline", "shown"),
    [
        ("7.0 % [3.2, 11.0] slower than main, margin 5 %", "FAIL 7.0 % [3.2, 11.0] slower than main"),
        ("+0.7 % [-21, 28] against main: the margin of 5 % lies inside", "FAIL +0.7 % [-21, 28] against main"),
        ("no answer, and no number", "FAIL no answer, and no number"),
        (f"1.5 [1.4, 1.6] {'x' * 50}", "FAIL 1.5 [1.4, 1.6]…"),
        (f"{'x' * 45} 1.50 [1.44, 1.66] of {'y' * 90}", f"FAIL {'x' * 45} 1.50 [1.44, 1.66]…"),
    ],
)
def test_the_number_has_its_interval_and_neither_is_cut(headline: str, shown: str) -> None:
    label, text = texts(badge("fail", headline))
    assert (label, text) == ("assay", shown)
    assert len(text) <= 2 * MOST


def test_a_gate_has_the_digest_of_its_record_in_the_title_which_a_screen_reader_reads() -> None:
    root = ElementTree.fromstring(write(page(gate(row(1.08, "regression"), seals=["b" * 64, "c" * 64]))))
    title = root.find(f"{SVG}title")
    assert title is not None
    assert title.text == root.get("aria-label")
    assert str(title.text).startswith("assay: FAIL 8.0 % [")
    assert str(title.text).endswith(f"(sha256 {'c' * 64})")
    assert root.get("role") == "img"
    assert [one for one in root.iter() if "id" in one.attrib] == [], "two badges on one page would share it"


def test_text_of_a_stranger_stays_text() -> None:
    for made in (badge(EVIL, EVIL), write(replace(PAGE, answer=None, mark=None, lead="", title=EVIL))):
        root = ElementTree.fromstring(made)
        assert {one.tag.removeprefix(SVG) for one in root.iter()} == {"svg", "title", "rect", "path", "g", "text"}
        assert {name for one in root.iter() for name in one.attrib if name.startswith("on") or "href" in name} == set()
        assert "\x1b" not in made


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2.1."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_white_can_be_read_on_every_colour() -> None:
    for fill in (*FILLS.values(), LABEL_FILL, OTHER):
        assert 1.05 / (luminance(fill) + 0.05) >= 4.5, fill


def test_what_is_inadmissible_looks_like_nothing_else() -> None:
    colours = {tone: FILLS[tone] for tone in ("good", "bad", "open", "void")}
    assert len(set(colours.values())) == 4
    assert FILLS["void"] in badge("INVALID", "an audit found it inadmissible", "void")
