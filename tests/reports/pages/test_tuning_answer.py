"""The answer of a tuning: the settings to use, or that today's stay, with the changes of the last round."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireassay.reports.pages.tuning import page
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.sessions import Days
from fireassay.verdict.tuning import Round, Standing, Tuned
from tests.reports.pages.screens import EVIL, flat, harmless, plots, screen
from tests.verdict.comparing import complete, side

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found() -> Tuned:
    sides = (side("today", complete()), side("x = 2", complete(efficiency={2: 0.99})))
    standing = Standing(label="x = 2", settings={"x": 2}, gain=1.1, low=1.0, high=1.2, out="", goes_on=True, record="b")
    return Tuned(
        rounds=(Round(blocks=3, metric="step_time", standings=(standing,)),),
        final=compare(sides, force=True, days=Days(assumed=1e-6)),
        sides=sides,
        records=("a", "b"),
        adopted={"x": 2},
        sentence="use x = 2: throughput 1.10 times [1.07, 1.13] that of today.",
        left_out=3,
    )


def test_better_settings_are_named_with_the_change_of_the_last_round(found: Tuned) -> None:
    shown = page(found, "tune")
    assert screen(shown)[0].startswith("BETTER SETTINGS  tune: Use x = 2: throughput 1.10 times [1.07, 1.13]")
    assert "settings x = 2" in flat(shown)
    assert "not tried - 3 combinations not tried" in flat(shown)
    (plot,) = plots(shown)
    assert plot.rows[0].name == "throughput"


def test_nothing_better_stays_and_no_setting_steers_the_terminal(found: Tuned) -> None:
    assert screen(page(replace(found, adopted=None, final=None, sentence="keep today's settings."), "tune"))[0].startswith("STAY  tune: ")
    harmless(page(replace(found, sentence=EVIL, adopted={EVIL: EVIL}), EVIL))
