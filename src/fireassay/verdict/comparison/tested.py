"""How is the paired t-test of two sides' scores put into words?  The margin decides."""

from __future__ import annotations

from typing import Final

from fireassay.estimates.format import percent
from fireassay.stats.comparing.paired_test import SIGNIFICANT, PairedTest

TEST: Final = "paired t-test"


def words_of_p(test: PairedTest | None, *, margin: bool) -> str:
    """p, whether it is significant and what that means, and the relative drop; "" without a test.

    "paired t-test p = 0.21 (t = -1.25, 800 items): no significant difference, which is no evidence of equality; relative drop 0.5 %; the margin decides"
    """
    if test is None:
        return ""
    level = f"{100 * SIGNIFICANT:g} %"
    found = f"a significant difference at {level}" if test.significant else "no significant difference, which is no evidence of equality"
    drop = (
        ""
        if test.relative_drop is None
        else f"; relative {'drop' if test.relative_drop >= 0.0 else 'gain'} {percent(abs(test.relative_drop), 3)}"
    )
    return (
        f"{TEST} {p_words(test.p)} (t = {test.t:.2f}, {test.items:,} items): {found}{drop}; {'the' if margin else 'only a'} margin decides"
    )


def p_words(p: float) -> str:
    """ "p = 0.0046"; "p < 0.0001"."""
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"
