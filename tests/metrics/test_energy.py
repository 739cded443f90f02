"""How many joules does a run and an item take?"""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Absent
from fireassay.metrics.cost import ENERGY, ENERGY_PER_ITEM
from tests.handmade import Handmade
from tests.metrics.narrow import estimated

# ---- energy: counters of all devices; a modelled estimate is never added to them.


def made() -> Handmade:
    record = Handmade(levels=(1,), blocks=1)
    number = record.launch(workers=1)
    for device, joules in (("package-0", (0.0, 30.0, 70.0)), ("dram-0", (0.0, 2.0, 5.0))):
        for at, value in enumerate(joules):
            record.reading(number, device, "energy", value, at_s=at, unit="J")
    return record


def test_the_last_reading_of_every_device_is_added() -> None:
    assert estimated(ENERGY.compute(made().measured(), {})["workers=1"]).value == pytest.approx(75.0)


def test_counted_and_modelled_joules_are_never_added() -> None:
    record = made()
    record.reading(0, "workers", "energy", 1000.0, unit="J", method="modelled")
    value = estimated(ENERGY.compute(record.measured(), {})["workers=1"])
    assert value.value == pytest.approx(75.0)
    assert "method:counter" in value.signature


def test_a_model_is_called_a_model() -> None:
    record = Handmade(levels=(1,), blocks=1)
    record.reading(record.launch(workers=1), "workers", "energy", 1000.0, unit="J", method="modelled")
    assert "MODELLED, not measured" in estimated(ENERGY.compute(record.measured(), {})["workers=1"]).method


def test_without_counters_the_instrument_says_why() -> None:
    record = Handmade(levels=(1,), blocks=1)
    record.launch(workers=1)
    record.manifest["environment"]["before"]["energy"] = {"absent": "no RAPL here"}
    value = ENERGY.compute(record.measured(), {})["workers=1"]
    assert value == Absent(reason="not_measured", detail="no RAPL here")


# ---- energy_per_item: joules of the launch over its useful work.


def test_joules_are_divided_by_the_work_that_counted() -> None:
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1)
    made.steps(number, seconds=[1.0] * 5, items=6)
    made.reading(number, "GPU-1", "energy", 60.0, unit="J")
    assert estimated(ENERGY_PER_ITEM.compute(made.measured(), {})["workers=1"]).value == pytest.approx(2.0)


def test_without_energy_it_is_absent() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    assert isinstance(ENERGY_PER_ITEM.compute(made.measured(), {})["workers=1"], Absent)
