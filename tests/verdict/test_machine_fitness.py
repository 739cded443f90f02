"""Is a machine called fit, noisy or unfit by its readings, and is what it does not say held against it?"""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.stats.comparing.aa_test import Alike, Rate
from fireassay.stats.series.trend import Drift
from fireassay.verdict.fitness import Check, examine, whole

RATE = Rate(value=0.0, low=0.0, high=0.4, comparisons=944, windows=6)
GOOD = Alike(
    launches=60,
    noise_floor=0.01,
    noise_floor_apart=0.02,
    false_alarms=RATE,
    false_alarms_apart=RATE,
    minimum_detectable_effect=0.02,
    spread=0.01,
)
CLOCK = {"step_s": 1e-8, "read_s": 5e-8, "sleep_overshoot_s": 1e-4, "wall_drift_ppm": 3.0}
CONTEXT: dict[str, Any] = {
    "cpu.governors": ["performance"],
    "cpu.turbo": "off",
    "cpu.smt": "off",
    "host.aslr": "full",
    "memory.swap_total_bytes": 0,
    "memory.swap_free_bytes": 0,
}
SHARES = dict.fromkeys(("foreign", "steal", "pressure_cpu", "pressure_io", "pressure_memory", "throttled"), 0.0)


def checks(**changes: Any) -> dict[str, Check]:
    given = {
        "found": GOOD,
        "trend": None,
        "memory": 0.0,
        "launches": 60,
        "clock": CLOCK,
        "context": CONTEXT,
        "shares": SHARES,
        "seconds": 60.0,
    }
    return {check.name: check for check in examine(**{**given, **changes})}


def test_a_quiet_machine_is_fit_and_nothing_is_to_be_mended() -> None:
    found = checks()
    assert whole(tuple(found.values())) == "fit"
    assert [check.mend for check in found.values() if check.mend] == []


@pytest.mark.parametrize(
    ("name", "changes", "fitness"),
    [
        ("steal", {"shares": {**SHARES, "steal": 0.02}}, "noisy"),
        ("steal", {"shares": {**SHARES, "steal": 0.2}}, "unfit"),
        ("other programs", {"shares": {**SHARES, "foreign": 0.3}}, "noisy"),
        ("throttling", {"shares": {**SHARES, "throttled": 0.01}}, "noisy"),
        ("governor", {"context": {**CONTEXT, "cpu.governors": ["performance", "powersave"]}}, "noisy"),
        ("swap", {"context": {**CONTEXT, "memory.swap_total_bytes": 4096}}, "noisy"),
        ("clock step", {"clock": {**CLOCK, "step_s": 0.01}}, "unfit"),
        ("wall clock", {"clock": {**CLOCK, "wall_drift_ppm": -500.0}}, "noisy"),
        ("autocorrelation", {"memory": 0.6}, "noisy"),
    ],
)
def test_each_reading_has_its_limit_and_its_mend(name: str, changes: dict[str, Any], fitness: str) -> None:
    found = checks(**changes)
    assert found[name].fitness == fitness
    assert found[name].mend
    assert whole(tuple(found.values())) == fitness


def test_a_drift_counts_only_where_it_is_certain() -> None:
    drifting = {"per_hour": 3.0, "low": 1.0, "high": 5.0, "over_the_run": 0.05}
    assert checks(trend=Drift(p_value=0.2, **drifting))["drift"].fitness == "fit"
    certain = checks(trend=Drift(p_value=0.001, **drifting))["drift"]
    assert certain.fitness == "noisy"
    assert certain.evidence.endswith("from the first launch to the last")  # no hour was looked at


def test_false_alarms_count_only_where_chance_does_not_explain_them() -> None:
    certain = Rate(value=0.4, low=0.1, high=0.7, comparisons=944, windows=6)
    assert checks()["false alarms"].fitness == "fit"
    bad = Alike(**{**GOOD.__dict__, "false_alarms": certain})
    assert checks(found=bad)["false alarms"].fitness == "noisy"


@pytest.mark.parametrize(
    ("launches", "seconds", "advice"),
    [(10, 60.0, "assay doctor --seconds"), (2, 180.0, "end other programs"), (0, 300.0, "end other programs")],
)
def test_more_time_is_advised_only_where_it_would_do(launches: int, seconds: float, advice: str) -> None:
    """A machine that made two launches in three minutes needs another remedy than three minutes."""
    assert advice in checks(found=None, memory=None, launches=launches, seconds=seconds)["A/A test"].mend


def test_a_machine_that_says_nothing_is_unknown_and_not_unfit() -> None:
    found = examine(None, None, None, 0, {}, {}, {}, 60.0)
    assert {check.fitness for check in found} == {"unknown"}
    assert whole(found) == "unknown"
