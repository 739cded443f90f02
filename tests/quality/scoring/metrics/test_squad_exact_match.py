"""Exact match against the official script of SQuAD 2.0."""

from __future__ import annotations

import pytest

from tests.quality.scoring.metrics.squad import ITEMS
from tests.quality.scoring.scored import items, metric


@pytest.mark.parametrize(("answer", "references", "exact"), [row[:3] for row in ITEMS])
def test_it_is_that_of_the_official_script(answer: str, references: tuple[str, ...], exact: float) -> None:
    assert items("squad_exact_match", [answer], [references]) == [exact]


def test_compatible_letters_are_the_same_on_request() -> None:
    found = [items("squad_exact_match", ["ﬁne", "1９", "Ⅳ"], [["fine"], ["19"], ["iv"]], nfkc=nfkc) for nfkc in (False, True)]
    assert found == [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    assert "nfkc:yes" in metric("squad_exact_match", nfkc=True).prepared.signature
