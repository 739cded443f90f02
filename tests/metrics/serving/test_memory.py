"""Memory of an engine: its replicas added up, each source for itself, and only what was read in the window."""

from __future__ import annotations

import pytest

from fireassay.metrics.serving.memory import GPUS, METRICS, OF_DEVICE, OF_HOST, REPORTED
from tests.metrics.serving.values import absent, estimate, every_second
from tests.serving_made import ServingMade

GIB = float(1 << 30)
SOURCES = {OF_DEVICE: "device_memory", OF_HOST: "memory_proportional", REPORTED: "memory_reported"}


def loaded() -> tuple[ServingMade, int]:
    """Window [2, 9]."""
    made = ServingMade(rate=(1.0,), blocks=1, warm_up_s=2.0)
    number = made.launch()
    for second in range(10):
        made.request(number, float(second), phase="warm_up" if second < 2 else "main")
    return made, number


@pytest.mark.parametrize("metric", SOURCES, ids=lambda metric: metric.name)
def test_the_largest_reading_of_each_replica_is_added_up(metric: object) -> None:
    """4 GiB of one and 3 of the other; 9 GiB were read before the window, and a launch's own sum is no replica's."""
    made, number = loaded()
    for device, at_s, value in (
        *(("replica-0", 1.0, 9.0), ("replica-0", 3.0, 2.0), ("replica-0", 5.0, 4.0)),
        *(("replica-1", 6.0, 3.0), ("launch", 5.0, 99.0)),
    ):
        made.reading(number, device, SOURCES[metric], value * GIB, at_s=at_s, unit="B")  # type: ignore[index]
    assert estimate(metric, made).value == pytest.approx(7.0 * GIB)  # type: ignore[arg-type]


def test_gpus_are_read_by_nvml_or_by_an_exporter_and_not_by_both() -> None:
    made, number = loaded()
    for device, method, value in (("gpu-0", "sampled", 10.0), ("gpu-1", "sampled", 5.0), ("GPU-7f", "scraped", 10.0)):
        made.reading(number, device, "memory_used", value * GIB, at_s=5.0, unit="B", method=method)
    assert estimate(GPUS, made).value == pytest.approx(15.0 * GIB)


def test_an_exporter_alone_counts() -> None:
    made, number = loaded()
    made.reading(number, "GPU-7f", "memory_used", 10.0 * GIB, at_s=5.0, unit="B", method="scraped")
    assert estimate(GPUS, made).value == pytest.approx(10.0 * GIB)


def test_one_source_says_nothing_of_another() -> None:
    made, number = loaded()
    made.reading(number, "replica-0", "memory_reported", GIB, at_s=5.0, unit="B", method="scraped")
    assert estimate(REPORTED, made).value == pytest.approx(GIB)
    for metric in (OF_DEVICE, OF_HOST, GPUS):
        assert absent(metric, made).reason == "not_measured"


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_an_engine_of_which_nothing_was_read_has_a_reason_and_no_zero(metric: object) -> None:
    assert "serving.targets" in absent(metric, every_second()).detail  # type: ignore[arg-type]
