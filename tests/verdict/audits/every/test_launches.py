"""Are there enough launches, and were they chosen and counted fairly?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import show
from fireassay.reports.answering import sure
from fireassay.spec.experiment import Launches
from fireassay.spec.sections.workload import Profile
from fireassay.stats.groups.launch_groups import groups
from fireassay.stats.intervals.intervals import log_t
from fireassay.verdict.audits.every import launches as audited
from tests.handmade import Handmade
from tests.verdict.making import add_steps, good, judged, rules_of

rules = rules_of(audited.AUDITS)

pytestmark = pytest.mark.slow


# ---- launches ----
# launches: too few, and those that did not end well, are named.


def test_five_launches_are_enough() -> None:
    assert rules(judged(good(blocks=5))) == {}


def test_fewer_than_five_launches_are_a_warning_for_each_configuration() -> None:
    judgement = judged(good(blocks=4))
    assert rules(judgement) == {"few_launches": ["workers=1", "workers=2"]}
    assert {finding.severity for finding in judgement.verdict.findings} == {"warning"}
    assert judgement.verdict.status == "GAIN"


def test_a_record_that_only_profiles_has_no_launches_too_few() -> None:
    made = good(blocks=1)
    made.experiment = made.experiment.model_copy(update={"profile": Profile(only=True)})
    made.rows["launches"] = [(*row[:7], "profile", *row[8:]) for row in made.rows["launches"]]
    assert "few_launches" not in rules(judged(made))


def test_a_failed_launch_is_named_with_its_reason_and_does_not_count() -> None:
    made = good()
    made.launch(workers=2, block=5, status="failed", reason="the script exited with 3")
    made.launch(workers=2, block=6, status="timeout", reason="no end after 60 s")
    judgement = judged(made)
    assert rules(judgement) == {"failed_launches": ["workers=2"]}
    (finding,) = judgement.verdict.findings
    assert finding.evidence == "2 launches did not succeed; the first (launch 10): the script exited with 3"
    assert judgement.verdict.status == "GAIN"


def test_an_aborted_launch_was_tried_again_and_is_not_named() -> None:
    made = good()
    made.launch(workers=2, block=0, status="aborted", reason="interrupted")
    assert rules(judged(made)) == {}


def test_a_launch_that_was_never_started_is_named() -> None:
    made = good()
    made.launch(workers=1, block=5, status="skipped", reason="the experiment's time was over")
    assert rules(judged(made)) == {"failed_launches": ["workers=1"]}


def test_when_a_launch_of_five_failed_four_are_too_few() -> None:
    made = good()
    made.rows["launches"][3] = (*made.rows["launches"][3][:12], "failed", "exit 1", *made.rows["launches"][3][14:])
    assert rules(judged(made)) == {"few_launches": ["workers=2"], "failed_launches": ["workers=2"]}


# ---- launch groups ----
# launch_groups: launches in two groups, or one far from the others.


def of(times: list[float]) -> Handmade:
    """One worker, a launch per time of a step in seconds."""
    made = good(levels=(1,), blocks=len(times), leave_out=("steps",))
    for number, step_s in enumerate(times):
        add_steps(made, number, 1, step_s)
    return made


def test_launches_round_one_value_give_no_finding() -> None:
    assert rules(judged(of([1.00, 1.02, 0.99, 1.01, 1.03]))) == {}


def test_two_groups_are_named_with_their_launches_and_a_way_on() -> None:
    judgement = judged(of([1.00, 1.40, 1.01, 1.41, 0.99]))
    (finding,) = [one for one in judgement.verdict.findings if one.rule == "launches_in_two_groups"]
    assert finding.severity == "warning"
    assert "2 near" in finding.evidence
    assert "3 near" in finding.evidence
    assert "(launches 0, 2, 4)" in finding.evidence
    assert "5 can miss a mode of up to 45 % of all launches, 29 one of 10 %" in finding.remedy


def test_an_outlying_launch_is_named_alone() -> None:
    judgement = judged(of([1.00, 1.01, 0.99, 1.005, 1.5]))
    (finding,) = [one for one in judgement.verdict.findings if one.rule == "outlying_launch"]
    assert "launch 4" in finding.evidence
    assert "one in 5" in finding.evidence


@pytest.mark.parametrize(
    ("times", "words"),
    [([1.00, 1.40, 1.01, 1.41, 0.99], "two groups"), ([1.00, 1.01, 0.99, 1.005, 1.5], "one far out"), ([1.0, 1.02, 0.99, 1.01, 1.03], "")],
)
def test_the_interval_carries_a_mark_wherever_it_is_written(times: list[float], words: str) -> None:
    value = judged(of(times)).results["step_time"]["workers=1"]
    assert isinstance(value, Estimate)
    assert show(value).interval.endswith(f"] ({words})" if words else "]")


# What a few launches cannot show is said of every interval of fewer than 5: 1 - 0.05^(1/3) = 63 %.


@pytest.mark.parametrize(("k", "unseen"), [(2, "78 %"), (3, "63 %"), (4, "53 %"), (5, "")])
def test_an_interval_of_a_few_launches_is_provisional_and_says_what_it_can_miss(k: int, unseen: str) -> None:
    found = [one.evidence for one in judged(of([1.00, 1.02, 0.99, 1.01, 1.03][:k])).verdict.findings if one.rule == "few_launches"]
    assert [f"provisional, as {k} can miss a mode of up to {unseen} of all launches" in evidence for evidence in found] == [True] * (k < 5)
    assert sure("95 %", k) == ("95 % intervals" if k == 5 else "provisional 95 % intervals")


def two_modes(rng: np.random.Generator, k: int) -> NDArray[np.float64]:
    """Logs of launches of which half are 1.5 times as slow; their mean is 0."""
    return (rng.random(k) < 0.5) * math.log(1.5) - 0.5 * math.log(1.5) + 0.02 * rng.normal(size=k)


def pareto(rng: np.random.Generator, k: int) -> NDArray[np.float64]:
    """Logs of values with a tail of index 2.5, less their mean 1/2.5."""
    return rng.exponential(1.0 / 2.5, size=k) - 1.0 / 2.5


@pytest.mark.parametrize("draw", [two_modes, pareto])
@pytest.mark.parametrize("experiments", [300, pytest.param(4000, marks=pytest.mark.deep)])
def test_wrong_intervals_of_few_launches_are_all_marked(draw: Callable[..., NDArray[np.float64]], experiments: int) -> None:
    """Of two modes about a quarter of the intervals of 3 launches are wrong, of a heavy tail a tenth: every one is provisional."""
    rng = np.random.default_rng([20261129, experiments])
    wrong, quiet = Counter[int](), Counter[int]()
    for k in (3, 8):
        for _ in range(experiments):
            values = np.exp(draw(rng, k))
            interval = log_t(values, 0.95)
            if not interval.low <= 1.0 <= interval.high:
                wrong[k] += 1
                quiet[k] += not (sure("95 %", k).startswith("provisional") or groups(values, smallest_effect=0.01))
    assert wrong[3] / experiments > 0.07
    assert quiet[3] == 0
    assert quiet[8] / experiments < (0.01 if draw is two_modes else 0.13)


# ---- looks ----
# looks: adaptive launches say what the looking cost, and whether it reached what was asked for.


def looked(*blocks: int, ended: str = "precision") -> Handmade:
    """A good record after looks at 97.5 %, for 95 % asked."""
    made = good()
    launches = made.experiment.launches.model_copy(update={"precision": 0.02})
    made.experiment = made.experiment.model_copy(update={"launches": launches})
    looks: list[dict[str, Any]] = [
        {"blocks": n, "confidence": 0.975, "enough": False, "widths": {}, "sentence": f"after {n} rounds: wide"} for n in blocks
    ]
    made.manifest |= {"looks": looks, "looks_ended": ended}
    return made


def test_a_fixed_number_of_launches_has_nothing_to_pay() -> None:
    assert rules(judged(good())) == {}


def test_intervals_that_became_narrow_are_no_warning() -> None:
    assert rules(judged(looked(5))) == {"looks": [None]}


# ---- cherry picked ----
# cherry_picked: one launch, launches left out, the best of several.

STATUS = 12  # column of launches


def test_a_record_that_holds_its_plan_is_clear() -> None:
    assert rules(judged(good())) == {}


def test_launches_of_the_plan_that_are_not_in_the_record_are_named() -> None:
    """Five blocks were planned; the two workers' launch of the last block is nowhere."""
    made = good()
    (gone,) = (row[0] for row in made.rows["launches"] if (row[4], row[5]) == (2, 4))
    made.rows = {table: [row for row in rows if row[0] != gone] for table, rows in made.rows.items()}
    judgement = judged(made)
    assert rules(judgement) == {"launches_missing": ["workers=2"], "few_launches": ["workers=2"]}
    finding = next(f for f in judgement.verdict.findings if f.rule == "launches_missing")
    assert finding.evidence.startswith("1 of 5 launches of the plan")


def test_a_failed_launch_is_not_missing() -> None:
    made = good()
    made.rows["launches"][3] = (*made.rows["launches"][3][:STATUS], "failed", "exit 1", *made.rows["launches"][3][14:])
    assert "launches_missing" not in rules(judged(made))


def test_launches_that_adaptive_launches_did_not_need_are_not_missing() -> None:
    """With precision the plan says 60 launches at most; 5 were enough."""
    made = good()
    made.experiment = made.experiment.model_copy(update={"launches": Launches(per_configuration=5, precision=0.02)})
    made.manifest |= {
        "looks": [{"blocks": 5, "confidence": 0.98, "widths": {}, "enough": True, "sentence": "narrow"}],
        "looks_ended": "precision",
    }
    assert "launches_missing" not in rules(judged(made))
    made.rows["launches"] = [row for row in made.rows["launches"] if (row[4], row[5]) != (2, 3)]
    assert rules(judged(made))["launches_missing"] == ["workers=2"], "the others have five rounds"


def test_an_interrupted_record_is_named_by_another_audit() -> None:
    made = good()
    made.rows["launches"] = made.rows["launches"][:8]
    assert "launches_missing" not in rules(judged(made, state="interrupted"))


def test_quiet_moments_that_were_picked_are_named_and_a_few_repetitions_are_not() -> None:
    made = good()
    for block in range(5):
        made.launch(workers=2, block=block, status="contaminated", reason="other programs used 60 %")
    assert rules(judged(made))["mostly_replaced"] == ["workers=2"]
    made.rows["launches"] = made.rows["launches"][:-1]  # four of five
    assert "mostly_replaced" not in rules(judged(made))


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ended", "said"),
    [("at_most", "launches.at_most was reached"), ("budget", "limits.experiment_timeout_s elapsed"), ("failed", "the launches failed")],
)
def test_intervals_that_stayed_wide_are_a_warning_with_the_reason(ended: str, said: str) -> None:
    findings = [found for found in judged(looked(5, 8, ended=ended)).verdict.findings if found.severity == "warning"]
    assert [found.rule for found in findings] == ["precision_not_reached"]
    assert findings[0].evidence == f"{said} before the intervals were as narrow as requested: after 8 rounds: wide"
