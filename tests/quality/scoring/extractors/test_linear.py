"""Does the time for a text grow with its length, and not with its square?  Processor time, as a ratio: eight times the text."""

from __future__ import annotations

import time

import pytest

from fireassay import catalog
from fireassay.quality.scoring.items import Extractor
from fireassay.quality.scoring.scoring import extractor
from tests.quality.scoring.extractors.golden import ABCD, TONE

SMALL, TIMES = 1_500, 8  # a quadratic pattern takes 64 times as long
REPEATED = (
    "1", "1,", "1,111,", "1 ", "1/", "-", "$", "9th ", ".", "\\frac{1}{", "1e", "<think>", "</think>", "<think></think>", "\\boxed{", "{", "}",
    "\\boxed{}", "####", "#### ", "Answer: ", "answer ", "The answer is ", "answer\n", "A. x\n", "(A", "**", "*", " ", "\n", "\t", "A or ",
    "A is correct ", '"answer": [', '"answer":', "yes or ", "not yes ", "no ", "\nQ", "\r\n", "a", "A ", "A. ", "A.", "(", "\\", "\n ", "\n**",
    "```a\n", "```\n", "-$", "−", "answer: *", "the answer is positive or ", "(1) ", "**1** ", "1? ", "wait, 1 ", "yes and ",
)  # fmt: skip

WITHIN = (
    ("```\n", "\n", "\n```"),
    ("```\n", "x\n", "```"),
    ("\\boxed{", " ", "}"),
    ("Answer:", " ", "C"),
    ("#### ", "-", "1"),
    ("", "-", "1"),
)


def seconds(one: Extractor, text: str) -> float:
    """The least processor time of two."""
    times = []
    for _ in range(2):
        begin = time.process_time()
        one.extract(text, ABCD)
        times.append(time.process_time() - begin)
    return min(times)


@pytest.mark.deep
@pytest.mark.parametrize("name", catalog.names("quality.scoring.extractors"))
def test_eight_times_the_text_takes_about_eight_times_as_long(name: str) -> None:
    one = extractor(name)
    grown = {}
    for before, piece, after in (*(("", piece, "") for piece in REPEATED), *WITHIN):
        count = SMALL // len(piece)
        small, large = (f"{before}{piece * (count * times)}{after}" for times in (1, TIMES))
        # Below a millisecond the clock and the first call decide, not the text.
        ratio = seconds(one, large) / max(seconds(one, small), 1e-3)
        if ratio > 3 * TIMES:
            grown[before + piece] = ratio
    assert grown == {}


@pytest.mark.deep
@pytest.mark.parametrize("name", catalog.names("quality.scoring.extractors"))
def test_a_long_text_without_an_answer_is_read(name: str) -> None:
    for piece in ("-", "1,", "(", "\\boxed{", "A.", "####", " ", "```", "answer: "):
        one = extractor(name).extract(piece * (250_000 // len(piece)), TONE if name == "choice_text" else ABCD)
        assert (one.answer is None) == (one.rule == "none")
