"""Is the extractor that reads the answers found from their form alone?"""

from __future__ import annotations

import pytest

from fireassay.quality.scoring.reading import form_of, reading


@pytest.mark.parametrize(
    ("texts", "reference", "likely"),
    [
        (["3 + 4 = 7, so the answer is 12."] * 20, "12", "final_number"),
        (["12"] * 20, "12", "whole"),
        (["The answer is (C)."] * 20, "C", "choice_letter"),
        (["Yes, because it is red."] * 20, "no", "yes_no"),  # whether it is right is not looked at
        (["I cannot help with that."] * 20, "12", "whole"),  # none reads it
        (["about 5 or 6 apples"] * 12 + ["it is 7"] * 8, "12", "last_number"),  # the careful one reads too few
    ],
)
def test_the_form_of_the_references_says_which_extractor_reads(texts: list[str], reference: str, likely: str) -> None:
    found = reading(texts, [[reference]] * len(texts))
    assert found is not None
    assert found.likely == likely


def test_texts_without_a_form_need_no_choice() -> None:
    assert form_of([["Paris"], ["12"]]) is None
    assert form_of([[]]) is None
    assert reading(["the capital is Paris"], [["Paris"]]) is None
    assert reading([None, None], [["12"], ["13"]]) is None
