"""A claim's file: what is accepted, and what is said about what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import Problem, SpecError
from fireassay.spec.claim import Claim, Number, load_claim
from fireassay.spec.keys import keys

SMALLEST: dict[str, Any] = {"claim": {"text": "fast", "source": "a slide"}, "number": [{"metric": "speedup", "value": 8}]}


def problems(**sections: Any) -> tuple[Problem, ...]:
    with pytest.raises(SpecError) as caught:
        Claim.model_validate(SMALLEST | sections)
    return caught.value.problems


def only(**sections: Any) -> Problem:
    (problem,) = problems(**sections)
    return problem


def test_the_smallest_claim_says_nothing_else() -> None:
    (number,) = Claim.model_validate(SMALLEST).number
    said = number.model_dump(exclude_unset=True)
    assert said == {"metric": "speedup", "value": 8.0}
    silent = [name for name in Number.model_fields if name not in said and name != "conditions"]
    assert {getattr(number, name) for name in silent} == {None}


def test_a_claim_is_frozen() -> None:
    with pytest.raises(Exception, match="frozen"):
        Claim.model_validate(SMALLEST).number[0].value = 9.0  # type: ignore[misc]


def test_a_misspelt_key_is_named_with_the_closest_one() -> None:
    problem = only(number=[{"metric": "speedup", "value": 8, "lunches": 5}])
    assert problem.where == "number[0].lunches"
    assert problem.fix == "Did you mean launches?"


def test_a_key_of_another_section_is_sent_home() -> None:
    assert only(quality={"metric": "accuracy", "synchronised": True}).fix == "Did you mean number[].synchronised?"


@pytest.mark.parametrize(
    ("number", "where", "words"),
    [
        ({"statistic": "average"}, "number[0].statistic", "one of mean, median"),
        ({"launches": 0}, "number[0].launches", "a whole number from 1"),
        ({"workers": "8"}, "number[0].workers", "Write 8, without quotes."),
        ({"value": "8x"}, "number[0].value", "a number"),
        ({"warm_up_excluded": "yes"}, "number[0].warm_up_excluded", "true or false"),
        ({"baseline": {"kind": "serial"}}, "number[0].baseline.kind", "one of best_serial"),
        ({"launches": 10**400}, "number[0].launches", "a whole number from 1"),
        ({"interval": {}}, "number[0].interval", "low, high or both"),
        ({"value": "85 %"}, "number[0].value", 'Write 85, without the unit, and unit = "%".'),
        ({"value": "7,6"}, "number[0].value", "Write 7.6, with a point."),
        ({"interval": {"low": "8 %", "high": 9}}, "number[0].interval.low", "Write 8, without the unit."),
        ({"value": float("nan")}, "number[0].value", "a number"),
    ],
)
def test_a_wrong_value_is_told_with_what_is_allowed(number: dict[str, Any], where: str, words: str) -> None:
    problem = only(number=[{"metric": "speedup", "value": 8} | number])
    assert problem.where == where
    assert words in str(problem)


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, float("nan"), float("inf")])
def test_a_condition_is_one_plain_value(value: object) -> None:
    problem = only(conditions={"baseline": {"batch": value}})
    assert problem.where == "conditions.baseline.batch"
    assert problem.allowed == "text, a number or true/false"


def test_conditions_keep_their_types() -> None:
    side = {"batch": 256, "rate": 0.5, "compile": True, "precision": "fp16"}
    assert Claim.model_validate(SMALLEST | {"conditions": {"baseline": side}}).conditions.baseline == side
    assert type(Claim.model_validate(SMALLEST | {"conditions": {"baseline": side}}).conditions.baseline["compile"]) is bool


@pytest.mark.parametrize(
    ("sections", "where"),
    [
        ({"number": [{"metric": "m", "value": 8, "interval": {"low": 9, "high": 10}}]}, "number[0].interval"),
        ({"number": [{"metric": "m", "value": 8, "interval": {"high": 7}}]}, "number[0].interval"),
        ({"number": [{"metric": "m", "value": 8, "launches": 5, "planned_launches": 4}]}, "number[0].planned_launches"),
        ({"prediction": {"workers": 8, "measured_up_to": 8}}, "prediction.workers"),
        ({"number": []}, "number"),
        ({"number": [{"metric": "m", "value": 8}] * 501}, "number"),
    ],
)
def test_what_contradicts_itself_is_refused(sections: dict[str, Any], where: str) -> None:
    problem = only(**sections)
    assert problem.where == where
    assert problem.allowed


def test_all_problems_are_told_at_once_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "claim.toml"
    file.write_text('[claim]\ntext = "x"\n\n[[number]]\nmetric = "m"\nvalue = "8"\nlunches = 2\n')
    with pytest.raises(SpecError) as caught:
        load_claim(file)
    text = str(caught.value)
    assert f"{file}: 3 keys are wrong\n" in text
    for part in ("  1 | [claim]", "claim.source: found nothing", '  6 | value = "8"', "not a key of [[number]]. Did you mean launches?"):
        assert part in text


@pytest.mark.parametrize(
    "text", ["x = ", "[claim", "\x00", "x = 1" + "0" * 5000, "x = " + "{a=" * 3000], ids=["open", "half", "zero", "huge", "deep"]
)
def test_a_file_that_is_no_toml_is_told_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "claim.toml").write_text(text)
    with pytest.raises(SpecError):
        load_claim(tmp_path / "claim.toml")


def test_a_missing_file_is_told_as_a_claims(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="a TOML file that describes a claim"):
        load_claim(tmp_path / "claims.toml")


def test_something_that_is_no_table_is_told_so() -> None:
    with pytest.raises(SpecError) as caught:
        Claim.model_validate([1])  # type: ignore[arg-type]
    assert caught.value.problems[0].where == "the claim"


def test_every_key_has_a_description() -> None:
    bare = [path for path, key in keys(Claim).items() if not key.description and not path.endswith(("[]", ".*"))]
    assert bare == []
