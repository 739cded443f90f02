"""Who is the wrong one, if every other side is far from the reference?  The slow tests ask engines: tests/runners/evaluating/test_forcing.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fireassay.frames.evaluation.forced import Side, doubted, tail_kl

PROFILE = np.random.default_rng(1).pareto(0.5, 400)  # few tokens are far
OTHER = np.random.default_rng(2).pareto(0.5, 400)


def side(name: str, kl: np.ndarray = PROFILE, **more: Any) -> Side:
    given: dict[str, Any] = {
        "replica": None,
        "floor": False,
        "nature": "corrupt",
        "items": tuple(("task", str(n // 10)) for n in range(len(kl))),
    }
    rest = {"bound": False, "tail": tail_kl(kl[~np.isnan(kl)]), "agreement": 1.0, "nll_change": 0.0, "same_top": kl, "nll_changes": kl}
    return Side(configuration=name, kl=kl, **(rest | given | more))


REFERENCE = side("a", floor=True, nature="identical")


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([], ""),
        ([side("b", nature="rounded")], ""),
        ([side("b")], "either"),
        ([side("b"), side("c", 0.0 * PROFILE, nature="identical")], ""),
        ([side("b"), side("c", PROFILE / 4.0, nature="rounded")], ""),  # close to the reference, which so has a witness
        ([side("b"), side("c", 1e6 * (1.0 + OTHER), nature="rounded")], "either"),  # 8 bits hide more than one weight
        ([side("b"), side("c"), side("d", 1e6 * (1.0 + OTHER), nature="coarser")], "reference"),
        ([side("b"), side("c", OTHER), side("d", 1e6 * (1.0 + OTHER), nature="coarser")], ""),
        ([side("b"), side("c")], "reference"),
        ([side("b"), side("c", PROFILE * 1.01 + 1e-3)], "reference"),
        ([side("b"), side("c", OTHER)], ""),
        ([side("b"), side("c", PROFILE[:390])], ""),  # other texts were compared
        ([side("b"), side("c", np.where(PROFILE[7] == PROFILE, np.nan, PROFILE))], "reference"),
        ([side("b"), side("c", np.full(400, np.nan))], ""),
    ],
)
def test_the_reference_is_doubted_where_all_others_differ_alike(others: list[Side], expected: str) -> None:
    assert doubted([REFERENCE, *others]) == expected


def test_replicas_of_another_engine_have_one_voice_and_those_of_the_reference_each_their_own() -> None:
    """One file of weights for all replicas of an engine."""
    assert doubted([REFERENCE, side("b", replica=0), side("b", replica=1)]) == "either"
    assert doubted([REFERENCE, side("a", replica=1), side("a", replica=2)]) == "reference"
    assert doubted([REFERENCE, side("a", replica=1), side("b", replica=0), side("b", replica=1)]) == "reference"


def test_nothing_compared_is_no_doubt() -> None:
    assert doubted([]) == ""
