"""A message says what is wrong, what was found and what to do, below the line of the file where there is one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireassay.errors import Excerpt, Problem, SpecError, refuse, refuse_any

VALUE = Problem(where="gates.efficiency", found='"high"', allowed="a number from 0 to 1.5")
UNKNOWN = Problem(where="launches.per", found="5", allowed="seed, per_configuration", wrong="not a key of [launches]")
FLAG = Problem(where="--workers", found="0", allowed="worker counts", fix="Write --workers 1,2.")


def placed(problem: Problem, line: int, text: str, part: str, *, exact: bool = True) -> Problem:
    """The problem with an excerpt that underlines a part of the text."""
    return replace(problem, excerpt=Excerpt(line=line, text=text, begin=text.index(part), end=text.index(part) + len(part), exact=exact))


def test_problems_of_a_file_stand_below_their_lines() -> None:
    problems = (placed(UNKNOWN, 5, "per = 5", "per"), placed(VALUE, 12, 'efficiency = "high"', '"high"'))
    assert str(SpecError(problems, "bad.toml")) == (
        "bad.toml: 2 keys are wrong\n"
        "   5 | per = 5\n"
        "     | ^^^ not a key of [launches]. Its keys: seed, per_configuration.\n"
        '  12 | efficiency = "high"\n'
        "     |              ^^^^^^ allowed: a number from 0 to 1.5."
    )


def test_what_the_line_does_not_show_is_told() -> None:
    found = placed(replace(VALUE, found="3 with 2 workers"), 1, "efficiency = 9", "9")
    assert "^ found 3 with 2 workers; allowed: a number" in str(SpecError((found,), "f"))
    missing = placed(replace(VALUE, found="nothing"), 1, "[gates]", "[gates]", exact=False)
    assert "^^^^^^^ gates.efficiency: found nothing; allowed: a number" in str(SpecError((missing,), "f"))


def test_two_problems_of_one_line_share_it() -> None:
    text = str(SpecError((placed(VALUE, 3, "[gates]", "[gates]"), placed(UNKNOWN, 3, "[gates]", "[gates]")), "f"))
    assert text.count("3 | [gates]") == 1


@pytest.mark.parametrize(
    ("problems", "source", "text"),
    [
        ((FLAG,), "the flags", "--workers: found 0; allowed: worker counts. Write --workers 1,2."),
        ((FLAG,), "x.toml and the flags", "x.toml and the flags: --workers: found 0; allowed: worker counts. Write --workers 1,2."),
        ((replace(FLAG, where="x.toml"),), "x.toml", "x.toml: found 0; allowed: worker counts. Write --workers 1,2."),
        ((replace(FLAG, allowed="", fix="\n  assay run"),), "the flags", "--workers: found 0\n  assay run"),
        ((replace(FLAG, allowed="", fix="Give one."),), "", "--workers: found 0. Give one."),
        (
            (FLAG, replace(FLAG, where="--seed", fix="")),
            "the flags",
            (
                "2 flags are wrong\n  --workers: found 0; allowed: worker counts. "
                "Write --workers 1,2.\n  --seed: found 0; allowed: worker counts."
            ),
        ),
        (
            (FLAG, VALUE),
            "the flags",
            (
                "2 problems\n  --workers: found 0; allowed: worker counts. Write --workers 1,2.\n"
                '  gates.efficiency: found "high"; allowed: a number from 0 to 1.5.'
            ),
        ),
    ],
)
def test_problems_without_a_line(problems: tuple[Problem, ...], source: str, text: str) -> None:
    assert str(SpecError(problems, source)) == text


def test_a_refusal_says_its_four_facts_once() -> None:
    error = refuse("--seconds", "0", "a number above 0", "Write --seconds 180.", source="the flags")
    assert str(error) == "--seconds: found 0; allowed: a number above 0. Write --seconds 180."
    assert error.source == "the flags"


def test_nothing_is_refused_without_a_problem() -> None:
    refuse_any(())
    with pytest.raises(SpecError, match="2 problems"):
        refuse_any((problem for problem in (VALUE, FLAG)), "a file")
