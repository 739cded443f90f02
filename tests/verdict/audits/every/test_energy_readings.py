"""Joules that are a lower bound, and launches too short for the sensor."""

from __future__ import annotations

from fireassay.verdict.audits.every.energy_readings import AUDIT
from tests.handmade import Handmade


def made(*, wall_s: float, period_s: float, doubts: float) -> Handmade:
    record = Handmade(levels=(1,), blocks=1)
    number = record.launch(workers=1, wall_s=wall_s)
    record.reading(number, "GPU-1", "energy", 100.0, unit="J")
    record.reading(number, "GPU-1", "energy_doubts", doubts, unit="count")
    record.reading(number, "GPU-1", "sensor_period", period_s, method="sampled")
    return record


def rules(record: Handmade) -> list[str]:
    return [finding.rule for finding in AUDIT.examine(record.measured(), {})]


def test_enough_periods_and_no_doubt_is_fine() -> None:
    assert rules(made(wall_s=2.0, period_s=0.1, doubts=0)) == []


def test_fewer_than_twenty_periods_are_flagged() -> None:
    assert rules(made(wall_s=1.9, period_s=0.1, doubts=0)) == ["energy_window_short"]


def test_a_doubtful_counter_gives_a_lower_bound() -> None:
    assert rules(made(wall_s=60.0, period_s=0.1, doubts=2)) == ["energy_lower_bound"]


def test_without_energy_there_is_nothing_to_say() -> None:
    record = Handmade(levels=(1,), blocks=1)
    record.launch(workers=1)
    assert rules(record) == []
