"""Memory and use of devices: every row by its own method, beside what is there."""

from __future__ import annotations

from dataclasses import replace

from fireassay.estimates.format import percent
from fireassay.reports.machine_use_table import machine_use_table
from fireassay.reports.page import said
from tests.metrics.training.test_machine_use import profile, trained
from tests.reports.conftest import judged


def test_ranks_gpus_and_the_host_stand_beside_what_is_there() -> None:
    made = trained()
    for number in range(3):
        for device, counter, value in (
            *(("rank-0/host", "memory_peak", 4e8), ("rank-0/cuda:0", "memory_reserved_peak", 20e9)),
            *(("rank-0/cuda:0", "memory_device_total", 80e9), ("gpu-0", "memory_used", 25e9), ("gpu-0", "memory_total", 80e9)),
            *(("gpu-0", "utilisation", 0.75), ("launch", "memory_proportional", 1e9)),
            *(("memory", "used", 6e9), ("memory", "total", 24e9)),
        ):
            made.reading(number, device, counter, value, at_s=30.0, unit="B", method="sampled")
    (table,) = machine_use_table(judged(made))
    rows = [tuple(said(cell).text if cell is not None else "" for cell in row) for row in table.rows]
    assert rows == [
        ("rank 0", "resident peak, VmHWM", "400 MB", "", ""),
        ("rank 0 cuda:0", "reserved peak, torch", "20 GB", "80 GB", percent(0.25)),
        ("gpu-0", "used peak, NVML", "25 GB", "80 GB", percent(25 / 80)),
        ("gpu-0", "busy, NVML", "", "", percent(0.75)),
        ("all processes", "Pss sum, samples", "1 GB", "", ""),
        ("host", "used, all programs", "6 GB", "24 GB", percent(0.25)),
    ]


def test_a_profile_has_rows_of_its_own() -> None:
    made = trained()
    number = made.launch(workers=2, block=3, role="profile")
    view = judged(made)
    with_profile = replace(view, measured=replace(view.measured, profiles=(profile(number, (0.1, 0.3)),)))
    (table,) = machine_use_table(with_profile)
    assert [said(row[0]).text for row in table.rows] == ["rank 0", "rank 1"]
    assert {said(row[1]).text for row in table.rows} == {"device busy, profile"}


def test_a_record_without_readings_has_no_table() -> None:
    assert machine_use_table(judged(trained())) == ()
