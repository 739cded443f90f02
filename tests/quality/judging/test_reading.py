"""Is a reply read strictly: a judgement in the wanted form, or none, and never a loss or a tie by mistake?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.quality.judging.reading import MAX_LENGTH, reading, reason_of
from fireassay.quality.judging.rubric import Rubric

PAIRS = Rubric(form="pairs", criteria="x", scale=(0.0, 1.0), good=0.5, reference=False, sha256="")
SCALE = Rubric(form="scale", criteria="x", scale=(1.0, 5.0), good=4.0, reference=False, sha256="")
PARTS = Rubric(form="scale", criteria="x", scale=(0.0, 0.5), good=0.25, reference=False, sha256="")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"reason": "it is right", "choice": "first"}', 1.0),
        ('{"choice": "second"}', 0.0),
        ('  \n{"choice": "tie"}\n', 0.5),
        ('```json\n{"reason": "x", "choice": "tie"}\n```', 0.5),
        ('I think so. {"reason": "a \\"b\\" {c}", "choice": "first"} That is all.', 1.0),
        ('{"note": 1} {"choice": "first"}', 1.0),
    ],
)
def test_a_choice_is_read(text: str, value: float) -> None:
    assert reading(text, "stop", PAIRS).value == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "first",
        "The first answer is better.",
        '{"choice": "First"}',
        '{"choice": "a"}',
        '{"choice": ""}',
        '{"choice": null}',
        '{"choice": ["first"]}',
        '{"choice": 1}',
        '{"choice": "first", "choice": "second"}',
        '{"choice": "first"} {"choice": "first"}',
        '{"reason": "it says {"choice": "first"}", "choice": "second"}',
        '{"verdict": {"choice": "first"}}',
        '[{"choice": "first"}, {"choice": "second"}]',
        '{"choice": "first"',
        "{'choice': 'first'}",
        '{"choice": "first", "p": NaN}',
        "I cannot judge that.",
        "{" * 5000,
        '{"a":' * 2000,
    ],
)
def test_what_is_no_choice_is_none(text: str) -> None:
    found = reading(text, "stop", PAIRS)
    assert found.value is None
    assert found.why


@pytest.mark.parametrize(("text", "value"), [('{"rating": 4}', 4.0), ('{"rating": 5.0}', 5.0), ('{"reason": "", "rating": 1}', 1.0)])
def test_a_rating_is_read(text: str, value: float) -> None:
    assert reading(text, None, SCALE).value == value


@pytest.mark.parametrize(
    "text",
    [
        '{"rating": 0}',
        '{"rating": 6}',
        '{"rating": 3.5}',
        '{"rating": "4"}',
        '{"rating": true}',
        '{"rating": 1e999}',
        '{"rating": -4}',
        "4",
        "4/5",
    ],
)
def test_what_is_no_rating_of_the_scale_is_none(text: str) -> None:
    assert reading(text, "stop", SCALE).value is None


def test_a_fraction_is_read_on_a_scale_of_fractions() -> None:
    assert reading('{"rating": 0.25}', "stop", PARTS).value == 0.25


@pytest.mark.parametrize("end", ["length", "max_tokens"])
def test_a_reply_that_was_cut_says_nothing_though_it_can_be_read(end: str) -> None:
    assert reading('{"choice": "first"}', end, PAIRS).why == "cut at the token limit"


def test_a_filtered_reply_says_nothing() -> None:
    assert reading('{"choice": "first"}', "content_filter", PAIRS).value is None


@given(st.text(alphabet='{}[]":,choicefrstend \\1.0', max_size=200) | st.text(max_size=200))
def test_any_text_is_a_judgement_or_none(text: str) -> None:
    found = reading(text, "stop", PAIRS)
    assert found.value in (None, 0.0, 0.5, 1.0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"reason": " it is right ", "choice": "first"}', "it is right"),
        ('{"reason": "off the scale", "choice": "neither"}', "off the scale"),
        ('{"choice": "first"}', ""),
        ('{"reason": ["x"], "choice": "first"}', ""),
        ('{"reason": "x"}', ""),
        ('{"reason": "x", "choice": "first"} {"reason": "y", "choice": "tie"}', ""),
        ('{"reason": "x", "choice": "first"', ""),
        ("", ""),
        (f'{{"reason": "x", "choice": "first"}}{" " * MAX_LENGTH}', ""),
    ],
)
def test_the_reason_is_that_of_the_judgement(text: str, reason: str) -> None:
    assert reason_of(text, PAIRS) == reason


@given(st.text(max_size=60) | st.text('{}[]":,choiefrst ', max_size=60))
def test_no_text_makes_reading_its_reason_raise(text: str) -> None:
    assert isinstance(reason_of(text, PAIRS), str)
