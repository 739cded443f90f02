"""Which words describe a fleet's tests?"""

from __future__ import annotations

import pytest

from fireassay.errors import SpecError
from fireassay.spec.fleet import DEFAULT, FIND_SHARE, fleet_arguments


def test_the_words_are_tests_and_the_slowness_to_find() -> None:
    assert fleet_arguments(("disk", "find=0.1", "matrix")) == (("disk", "matrix"), 0.1)
    assert fleet_arguments(()) == (DEFAULT, FIND_SHARE)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("disks",), "Did you mean"),
        (("disk", "disk"), "every test once"),
        (("find=x",), "between 0 and 1"),
        (("find=1",), "between 0 and 1"),
    ],
)
def test_other_words_are_refused(words: tuple[str, ...], why: str) -> None:
    with pytest.raises(SpecError, match=why):
        fleet_arguments(words)
