"""looks: adaptive launches say what the looking cost, and whether it reached what was asked for."""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.estimates.estimate import Estimate
from tests.handmade import Handmade
from tests.verdict.making import good, judged, rules

pytestmark = pytest.mark.slow


def looked(*blocks: int, ended: str = "precision") -> Handmade:
    """A good record after looks at 97.5 %, for 95 % asked."""
    made = good()
    launches = made.experiment.launches.model_copy(update={"precision": 0.02})
    made.experiment = made.experiment.model_copy(update={"launches": launches})
    looks: list[dict[str, Any]] = [
        {"blocks": n, "confidence": 0.975, "enough": False, "widths": {}, "sentence": f"after {n} blocks: wide"} for n in blocks
    ]
    made.manifest |= {"looks": looks, "looks_ended": ended}
    return made


def test_a_fixed_number_of_launches_has_nothing_to_pay() -> None:
    assert rules(judged(good())) == {}


def test_the_confidence_that_pays_for_the_looking_is_said_and_every_interval_has_it() -> None:
    judgement = judged(looked(5, 8))
    (finding,) = [found for found in judgement.verdict.findings if found.rule == "looks"]
    assert finding.severity == "note"
    assert finding.evidence == (
        "launches were added until the intervals were narrow (2 interim analyses); every interval is computed at 97.5 %, so that 95 % coverage "
        "holds across all of them"
    )
    speedup = judgement.results["speedup"]["workers=2"]
    plain = judged(good()).results["speedup"]["workers=2"]
    assert isinstance(speedup, Estimate)
    assert isinstance(plain, Estimate)
    assert (speedup.confidence, plain.confidence) == (0.975, 0.95)
    assert speedup.low < plain.low < plain.high < speedup.high


@pytest.mark.parametrize(
    ("ended", "said"),
    [("at_most", "launches.at_most was reached"), ("budget", "limits.experiment_timeout_s elapsed"), ("failed", "the launches failed")],
)
def test_intervals_that_stayed_wide_are_a_warning_with_the_reason(ended: str, said: str) -> None:
    findings = [found for found in judged(looked(5, 8, ended=ended)).verdict.findings if found.severity == "warning"]
    assert [found.rule for found in findings] == ["precision_not_reached"]
    assert findings[0].evidence == f"{said} before the intervals were as narrow as requested: after 8 blocks: wide"


def test_intervals_that_became_narrow_are_no_warning() -> None:
    assert rules(judged(looked(5))) == {"looks": [None]}
