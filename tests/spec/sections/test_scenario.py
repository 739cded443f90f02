"""Is every form of genai-bench's grammar read, and everything else told with what was probably meant?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.errors import SpecError
from fireassay.spec.sections.scenario import MAX_TOKENS, parse, problem

FORMS = [
    ("N(480,240)/(300,150)", "N", (480, 240, 300, 150)),
    ("N(0,0)/(0,0)", "N", (0, 0, 0, 0)),
    ("U(50,100)/(200,300)", "U", (50, 100, 200, 300)),
    ("U(5,5)/(0,0)", "U", (5, 5, 0, 0)),
    ("U(1000,100)", "U", (1000, 100)),
    ("L(50,20)", "L", (50, 20)),
    ("L(50,20)/(300,150)", "L", (50, 20, 300, 150)),
    ("D(100,1000)", "D", (100, 1000)),
    ("D(007,1)", "D", (7, 1)),
    ("P(2000,500)/200", "P", (2000, 500, 200)),
    ("E(1024)", "E", (1024,)),
    ("R(1024,100)", "R", (1024, 100)),
    ("I(512,256)", "I", (512, 256)),
    ("I(2048,2048,2)", "I", (2048, 2048, 2)),
    ("A(500)", "A", (500,)),
    ("dataset", "dataset", ()),
]


@pytest.mark.parametrize(("text", "letter", "numbers"), FORMS)
def test_every_form_is_read(text: str, letter: str, numbers: tuple[int, ...]) -> None:
    one = parse(text)
    assert (one.text, one.letter, one.numbers) == (text, letter, numbers)
    assert problem(text) is None


def test_the_parts_of_a_form_have_names() -> None:
    assert parse("I(640,480)").images == (640, 480, 1)
    assert parse("I(640,480,3)").images == (640, 480, 3)
    assert parse("D(1,2)").images == (0, 0, 0)
    assert parse("P(2000,500)/200").prefix_tokens == 2000
    assert parse("D(1,2)").prefix_tokens == 0


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("d(100,100)", 'Write "D(100,100)".'),
        ("D(100, 100)", 'Write "D(100,100)".'),
        (" D(100,100)\n", 'Write "D(100,100)".'),
        ("D[100;100]", 'Write "D(100,100)".'),
        ("D(100.0,100)", 'Write "D(100,100)".'),
        ("Dataset", 'Write "dataset".'),
        ("N(480,240),(300,150)", 'Write "N(480,240)/(300,150)".'),
        ("N(480,240)(300,150)", 'Write "N(480,240)/(300,150)".'),
        ("U(200,100)/(10,20)", "Write U(100,200)/(10,20)."),
        ("datasets", 'For example "dataset".'),
        ("D(100)", 'For example "D(100,100)".'),
        ("D(100,100,100)", 'For example "D(100,100)".'),
        ("D(-1,100)", 'For example "D(100,100)".'),
        ("D(1.5,100)", 'For example "D(100,100)".'),
        ("D(100,100)x", 'For example "D(100,100)".'),
        ("D(100,١)", 'For example "D(100,100)".'),
        ("N(480,240)", 'For example "N(480,240)/(300,150)".'),
        ("N(480,240)/(300,150)/(1,2)", 'For example "N(480,240)/(300,150)".'),
        ("E(1,2)", 'For example "E(1024)".'),
        ("R(1)", 'For example "R(1024,100)".'),
        ("I(1)", 'For example "I(512,512)".'),
        ("I(1,2,3,4)", 'For example "I(512,512)".'),
        ("I(0,512)", "Write I(512,512)."),
        ("A()", 'For example "A(100)".'),
        ("P(1,2)", 'For example "P(2000,500)/200".'),
        ("U(0,10)", "The lower end is 1."),
        ("V(2)", "V (videos) cannot be sent."),
        ("Q(1,2)", ""),
        ("", ""),
    ],
)
def test_anything_else_is_told_with_what_was_probably_meant(text: str, fix: str) -> None:
    with pytest.raises(SpecError) as told:
        parse(text, "serving.scenarios[1]")
    (wrong,) = told.value.problems
    assert wrong.where == "serving.scenarios[1]"
    assert wrong.fix == fix


def test_a_form_of_no_letter_names_them_all() -> None:
    wrong = problem("Q(1)")
    assert wrong is not None
    assert wrong.allowed == (
        "one of N(480,240)/(300,150), U(50,100)/(200,300), L(50,20)/(300,150), D(100,100), P(2000,500)/200, E(1024), R(1024,100), I(512,512), A(100), dataset"
    )


@pytest.mark.parametrize("text", ["L(0,20)", "L(50,20)/(0,1)"])
def test_a_log_normal_length_has_a_mean(text: str) -> None:
    wrong = problem(text)
    assert wrong is not None
    assert wrong.allowed == "a mean of at least 1 token"


@pytest.mark.parametrize("text", [f"D({MAX_TOKENS + 1},1)", "I(100000,1001)", "D(" + "9" * 10_000 + ",1)"])
def test_slips_of_the_finger_are_too_large(text: str) -> None:
    wrong = problem(text)
    assert wrong is not None
    assert len(str(wrong)) < 300


@given(st.text(alphabet="NUDPERIAVdataset(),/0123456789 -.", max_size=30))
def test_reading_never_fails_otherwise(text: str) -> None:
    assert (problem(text) is None) == _reads(text)


@given(st.lists(st.integers(1, MAX_TOKENS), min_size=4, max_size=4))
def test_what_a_form_says_is_what_is_read(numbers: list[int]) -> None:
    a, b, c, d = numbers
    assert parse(f"N({a},{b})/({c},{d})").numbers == (a, b, c, d)


def _reads(text: str) -> bool:
    try:
        parse(text)
    except SpecError:
        return False
    return True
