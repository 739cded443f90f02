"""Are limits valid, and does every one of them change the signature?"""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from fireassay.errors import SpecError
from fireassay.quality.sandbox.tiers import Limits


def test_the_signature_names_every_limit() -> None:
    assert Limits().signature == "cpu:4|test_cpu:20|wall:20|memory:512|processes:4|file:4|output:16"


@pytest.mark.parametrize("name", [field.name for field in fields(Limits)])
def test_every_limit_moves_the_signature_and_is_above_0(name: str) -> None:
    assert replace(Limits(), **{name: 3}).signature != Limits().signature
    with pytest.raises(SpecError, match=f"{name}: found 0; allowed: a number above 0"):
        replace(Limits(), **{name: 0})
