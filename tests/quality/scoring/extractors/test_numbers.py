"""Is the first, the last, the marked, the boxed or the stated number found?"""

from __future__ import annotations

import pytest

from fireassay.quality.scoring.scoring import extractor

FOUND = {
    "first_number": [
        ("from 3 to 4", "3", "first_number"),
        ("the 1st of 12", "12", "first_number"),
        ("2\\frac{1}{2} cups", "2.5", "first_number"),
        (".5 or 1", "0.5", "first_number"),
        ("12/25/2020", "12", "first_number"),
    ],
    "last_number": [
        ("from 3 to 4", "4", "last_number"),
        ("1,2,3", "3", "last_number"),
        ("12/25/2020", "2020", "last_number"),
        ("1e999 m", "1e999", "last_number"),
        ("9/0", "9/0", "last_number"),
        ("4.0.", "4", "last_number"),
        ("1,23,45,678 rupees", "12345678", "last_number"),
    ],
    "hashes": [
        ("#### 1\n#### 2", "1", "hashes"),
        ("#### The answer is 3", "3", "hashes"),
        ("#### 2) Add\n#### 5 apples", "5", "hashes"),
        ("### 4", None, "none"),
        ("####\n4", None, "none"),
    ],
    "boxed": [
        ("\\boxed{\\boxed{5}}", "5", "boxed"),
        ("\\boxed{\\{1, 2\\}}", "\\{1, 2\\}", "boxed"),
        ("\\boxed{}", None, "none"),
        ("\\fbox{a} }", "a", "boxed"),
        ("\\boxed{1,000}", "1000", "boxed"),
    ],
    "final_number": [
        ("#### 1, or \\boxed{2}", "1", "hashes"),
        ("\\boxed{2} 3", "2", "boxed"),
        ("\\boxed{x} The answer is 4, not 5", "4", "stated"),
        ("the answer: $6", "6", "stated"),
        ("7 8", None, "none"),
        ("none", None, "none"),
    ],
}


@pytest.mark.parametrize(("name", "text", "answer", "rule"), [(name, *row) for name, rows in FOUND.items() for row in rows])
def test_the_surest_rule_counts(name: str, text: str, answer: str | None, rule: str) -> None:
    found = extractor(name).extract(text, ())
    assert (found.answer, found.rule) == (answer, rule)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("The answer is 2^10 = 1024.", "1024"),
        ("The answer is $2^{10}=1024$", "1024"),
        ("The answer is 5² = 25.", "25"),
        ("The answer is 10 squared = 100", "100"),
        ("The answer is 10^6.", None),
        ("The answer is $90^\\circ$.", "90"),
        ("The answer is 5!", "5"),
        ("So the area of the garden is 12 cm^2", "12"),
        ("一共3千万", None),
        ("5천만 원", None),
        ("约3百人", None),
        ("5百分点", "5"),
        ("정답은 1만 2천입니다", None),
        ("1万2千", None),
        ("3천 5명", None),
        ("It takes 1½", "1.5"),
        ("The answer is 1_000", None),
        ("The answer is 0x10", None),
        ("The answer is 10 x 3", None),
        ("So 3x = 12, and the answer is 3x = 12, x = 4", None),
        ("The answer is 20% of 50 = 10", None),
        ("The answer is 5, since 10 = 5 * 2", "5"),
        ("The answer is 5 because 10 / 5 = 2", "5"),
        ("The answer is 5 = 2 + 3", "5"),
        ("The answer is 1 hour 20 minutes", None),
        ("The answer is 5 dollars and 20 cents", None),
        ("The answer is 5 hours.", "5"),
        ("The answer is 2 and 3", None),
        ("The answer is 2 and that is all", "2"),
        ("La réponse est 2 et 3", None),
    ],
)
def test_a_part_of_a_power_or_of_a_number_in_parts_is_no_answer(text: str, answer: str | None) -> None:
    assert extractor("final_number").extract(text, ()).answer == answer
