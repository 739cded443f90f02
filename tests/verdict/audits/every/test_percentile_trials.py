"""percentile_trials: ceil(ln(0.025)/ln(p)) trials at least: 36, 72, 368 and 3688 for p90, p95, p99 and p99.9."""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.verdict.audits.every.percentile_trials import AUDIT
from fireassay.verdict.claims.pitfalls import of_record
from tests.verdict.claiming import LATENCY, NOTHING, claim, found
from tests.verdict.making import good


def latency(**changes: object) -> dict[str, object]:
    return {key: value for key, value in {**LATENCY, **changes}.items() if value is not NOTHING}


@pytest.mark.parametrize(("statistic", "least"), [("p90", 36), ("p95", 72), ("p99", 368), ("p999", 3688)])
def test_one_trial_less_than_the_least_is_inadmissible(statistic: str, least: int) -> None:
    few, enough = (claim(numbers=[latency(statistic=statistic, trials=n)]) for n in (least - 1, least))
    assert found(few) == {"too_few_trials": "invalid"}
    assert found(enough) == {}


def test_a_percentile_without_its_trials_is_left_open() -> None:
    assert found(claim(numbers=[latency(trials=NOTHING)])) == {"trials_unsaid": "note"}


@pytest.mark.slow
def test_a_record_that_refused_its_percentiles_has_nothing_to_examine() -> None:
    made = good()
    states = {pitfall.name: pitfall for pitfall in of_record(made.measured())}
    assert states["percentile_trials"].state == "not examined"
    assert states["percentile_trials"].reason.startswith("no tail percentile is shown")


@pytest.mark.parametrize(("trials", "rules"), [(367, ["too_few_trials"]), (368, [])])
def test_a_percentile_that_is_shown_on_too_few_trials_is_inadmissible(trials: int, rules: list[str]) -> None:
    shown = Estimate(value=1.0, low=0.9, high=1.1, unit="s", confidence=0.95, n_launches=5, n_trials=trials, method="m", signature="s")
    found_here = tuple(AUDIT.examine(good().measured(), {"step_time_p99": {"workers=1": shown}}))
    assert [finding.rule for finding in found_here] == rules
