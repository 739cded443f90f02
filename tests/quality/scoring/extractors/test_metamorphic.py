"""Which changes to a text must leave its answer as it is?"""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay import catalog
from fireassay.quality.scoring.extractors.choices import field_value
from fireassay.quality.scoring.extractors.numbers import normalised as canonical
from fireassay.quality.scoring.extractors.numbers import unboxed
from fireassay.quality.scoring.items import Extraction
from fireassay.quality.scoring.scoring import extractor
from tests.quality.scoring.extractors.golden import ABCD, GOLDEN, TONE, Golden

NAMES = catalog.names("quality.scoring.extractors")
CHOICES = {"choice_letter": ABCD, "choice_text": TONE}
FOUND = [row for row in GOLDEN if row.answer is not None]
ANY = st.text(max_size=200) | st.text(alphabet=string.ascii_letters[:8] + "ABCD0123456789 .,:$#\\{}()[]*\n\r-/<>|\"'", max_size=200)
PIECES = [
    "Answer: ",
    "A",
    "b.",
    "(C)",
    "<think>",
    "</think>",
    "####",
    "1,234",
    "\\boxed{",
    "}",
    "yes",
    "positive",
    "\n",
    "Question:",
    " is ",
    '"answer": ',
    "{",
]
MADE = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=40).map("".join)
WORDS = st.text(alphabet=string.ascii_letters + " .,\n0123456789()", max_size=120)
STOPS = st.sampled_from(
    ["\nQuestion:", "\n\nQ:", "\nUser:", "\n**Question 2:**", "\n### Instruction:", "<|im_end|>", "</s>", "<|endoftext|>"]
)
WHOLE = "whole"  # leaves out nothing but reasoning


def found(row: Golden, text: str) -> Extraction:
    return extractor(row.extractor).extract(text, row.choices)


def normalised(name: str, written: str) -> str | None:
    """What an extractor makes of the place that it found."""
    if name in ("last_number", "first_number", "hashes", "final_number"):
        return canonical(written) or unboxed(written)
    if name == "boxed":
        return unboxed(written)
    if name == "json_field":
        return field_value(written)
    if name == "yes_no":
        return {"true": "yes", "correct": "yes", "false": "no", "incorrect": "no"}.get(written.lower(), written.lower())
    if name == "choice_letter":
        return written.upper()
    return written.lower() if name == "choice_text" else written


@given(row=st.sampled_from(FOUND), stop=STOPS, rest=WORDS)
def test_what_follows_a_stop_changes_nothing(row: Golden, stop: str, rest: str) -> None:
    if row.extractor != WHOLE:
        assert found(row, row.text + stop + rest) == found(row, row.text)


@given(row=st.sampled_from(FOUND), question=WORDS, other=st.sampled_from(FOUND))
def test_an_appended_few_shot_example_changes_nothing(row: Golden, question: str, other: Golden) -> None:
    # A closing tag without its opening one says that the prompt opened it: everything before is reasoning.
    if row.extractor != WHOLE and ("</" not in other.text or "<think>" in other.text):
        text = f"{row.text}\n\nQuestion: {question}\nAnswer: {other.text}"
        assert found(row, text) == found(row, row.text)


@given(row=st.sampled_from(GOLDEN), before=st.text(" \t\n", max_size=6), after=st.text(" \t\n", max_size=6))
def test_white_space_around_a_text_changes_nothing(row: Golden, before: str, after: str) -> None:
    assert found(row, before + row.text + after).answer == row.answer


@given(row=st.sampled_from(GOLDEN))
def test_line_ends_of_another_system_change_nothing(row: Golden) -> None:
    there = found(row, row.text.replace("\n", "\r\n")).answer
    assert (there.replace("\r\n", "\n") if there else there) == row.answer


@given(row=st.sampled_from(FOUND), reasoning=WORDS)
def test_reasoning_in_front_changes_nothing(row: Golden, reasoning: str) -> None:
    if "think" not in row.text.lower():
        assert found(row, f"<think>{reasoning}\nThe answer is D. #### 9</think>{row.text}").answer == row.answer


@given(row=st.sampled_from(GOLDEN), reasoning=WORDS)
def test_reasoning_without_an_end_is_no_answer(row: Golden, reasoning: str) -> None:
    if "think" not in row.text.lower():
        assert found(row, f"<think>{reasoning}\n{row.text}").answer is None


@given(
    letter=st.sampled_from("ABCD"),
    wording=st.sampled_from(["Answer: {}", "The answer is ({}).", "{}", "{}.", "({})", "Option {} is correct."]),
)
def test_pleasantries_around_a_letter_change_nothing(letter: str, wording: str) -> None:
    text = f"Sure, I can help!\n{wording.format(letter)}\nLet me know if you have any other questions."
    assert extractor("choice_letter").extract(text, ABCD).answer == letter


@given(value=st.integers(-(10**9), 10**9))
def test_pleasantries_around_a_stated_number_change_nothing(value: int) -> None:
    text = f"Great question! Here are 3 steps.\nThe final answer is {value:,}.\nI have 2 more examples if you like."
    assert extractor("final_number").extract(text, ()).answer == str(value)


@given(
    value=st.integers(0, 10**12),
    places=st.integers(0, 4),
    money=st.sampled_from(["", "$", "€"]),
    tail=st.sampled_from(["", ".", "%", " km", "\n"]),
)
def test_grouping_currency_units_and_zeros_change_no_number(value: int, places: int, money: str, tail: str) -> None:
    zeros = f".{'0' * places}" if places else ""
    for written in (f"{value}", f"{value:,}", f"{value:,}".replace(",", "{,}"), f"{value:,}".replace(",", "\u202f")):
        for name in ("last_number", "first_number", "final_number"):
            assert extractor(name).extract(f"It costs {money}{written}{zeros}{tail}", ()).answer == str(value)


@given(value=st.integers(1, 10**6), sign=st.sampled_from("-−－"))
def test_every_minus_sign_is_one(value: int, sign: str) -> None:
    assert extractor("last_number").extract(f"x = {sign}{value}", ()).answer == f"-{value}"


@given(value=st.fractions(0, 10**6, max_denominator=10**4))
def test_a_fraction_is_its_decimal_number(value: object) -> None:
    once = canonical(str(value))
    assert once is not None
    assert canonical(once) == once


@given(
    row=st.sampled_from(
        [row for row in FOUND if row.extractor in ("choice_letter", "last_number", "choice_text", "yes_no", "final_number")]
    )
)
def test_bold_type_changes_nothing(row: Golden) -> None:
    one = found(row, row.text)
    bold = f"{row.text[: one.begin]}**{row.text[one.begin : one.end]}**{row.text[one.end :]}"
    assert found(row, bold).answer == row.answer


@given(choice=st.sampled_from(TONE), case=st.sampled_from([str.upper, str.lower, str.title]))
def test_case_changes_no_choice(choice: str, case: object) -> None:
    assert callable(case)
    assert extractor("choice_text").extract(case(choice), TONE).answer == choice.strip()
    assert extractor("yes_no").extract(case("yes"), ()).answer == "yes"


@given(row=st.sampled_from(FOUND))
def test_an_answer_is_its_own_answer(row: Golden) -> None:
    assert row.answer is not None
    asked = {"hashes": "#### {}", "boxed": "\\boxed{{{}}}", "json_field": '{{"answer": "{}"}}'}.get(row.extractor, "{}").format(row.answer)
    assert found(row, asked).answer == row.answer


@given(row=st.sampled_from(FOUND))
def test_the_place_holds_the_answer(row: Golden) -> None:
    one = found(row, row.text)
    assert normalised(row.extractor, row.text[one.begin : one.end]) == row.answer


@pytest.mark.parametrize("name", NAMES)
@given(text=ANY | MADE)
def test_no_text_is_an_error_and_the_place_is_in_the_text(name: str, text: str) -> None:
    one = extractor(name).extract(text, CHOICES.get(name, ()))
    assert 0 <= one.begin <= one.end <= len(text)
    assert (one.answer is None) == (one.rule == "none")
    if one.answer is not None:
        assert one.answer.strip()
        written = text[one.begin : one.end]
        expected = one.answer.lower() if name == "choice_text" else one.answer
        assert normalised(name, written) == expected


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u00a0", "<think>", "</think>", "<think></think>", "<|im_end|>42 C yes"])
def test_a_text_without_content_is_no_answer(name: str, text: str) -> None:
    one = extractor(name).extract(text, CHOICES.get(name, ()))
    assert one.answer is None or (name in ("whole", "code") and "im_end" in text)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "text", ["\ud800", "A\ud800", "\x00", "１２", "٣", "𝟙", "ﬁ", "İ yes", "\u2028C\u2029", "1" * 5000, f"1e{'9' * 9}", "9/0"]
)
def test_odd_characters_and_huge_numbers_are_read(name: str, text: str) -> None:
    one = extractor(name).extract(text, CHOICES.get(name, ()))
    assert one.begin <= one.end
